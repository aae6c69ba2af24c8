"""Class names become prototypes through the named classes that a classifier knows.

    W  (M, p)   rows of an image classifier's head, one per class it was taught
    S  (2M, q)  texts that name these classes, and texts that say what they are
    T  (N, q)   texts of our names
    k           (1 - TREE) exp(-|s - t|²) + TREE exp(-|place - place|²) + constant

The rows, centred and of unit length, are prototypes C of M classes. Each has two ways
to be named: its words ("microwave, microwave oven") and what WordNet says it is
("kitchen appliance that cooks food ..."), so that a *kitchen* is near to what belongs
there. A kernel ridge learns the way from name to prototype,

    Z = k(T, S) α,    α = (k(S, S) + λI)⁻¹ [C; C]

A class may be explained by one of our names: a vase is *an open jar of glass*. Where
the tree says little of the name, its prototype is drawn to the mean of such classes.

Texts and places are less their mean over the M classes, over their RMS. The constants
were chosen by two things: leaving out ImageNet's own classes, a branch of the tree of
up to 12 at a time (of ten classes drawn at random the right one is then found by its
name for 72 % of them; ``studies/left_out_names.py``), and the labels of the
development sets of photos, so that figures on those sets are optimistic. The scale
on which cosines are read rests on classes left out alone: softmax(scale · cos) is
honest there. The map depends on the encoders alone, so it is kept in the cache.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from unseen.cache import Cache
from unseen.core.linalg import inverse_positive, to_unit
from unseen.models.kernel_ridge import INTERCEPT
from unseen.naming.nouns import N_CLASSES, nouns
from unseen.naming.reading import Reading

TREE = 0.3  # the weight of places beside texts
MENTIONED = 0.5  # the weight of classes explained by a name, where the tree is silent


class Learned(NamedTuple):
    """What is kept: the ridge, and the scale that leaving classes out showed."""

    alpha: np.ndarray
    cosine_scale: float


def scaling(known: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return what takes the mean of known rows from others, over the RMS of these.

    A row of nothing is put where the average is.
    """
    mean = known.mean(axis=0)
    around = known - mean
    size = float(np.sqrt(np.vdot(around, around) / len(known))) or 1.0
    return lambda rows: np.where(
        rows.any(axis=1, keepdims=True), (rows - mean) / size, 0.0
    )


class NameMap:
    """The way from names to prototypes, learned from a classifier's own classes.

    ``head`` holds the rows of the classifier's last layer, (1000, n_features), ``tree``
    is the weight of places in ImageNet's tree beside texts.
    """

    def __init__(self, head: np.ndarray, text: Any, tree: float = TREE) -> None:
        C, named, described = named_prototypes(head)
        self.text, self.tree, self.C = text, tree, C
        names, glosses = self._vectors(named), self._vectors(described)
        self.words = scaling(names)
        self.seen = np.vstack([self.words(names), scaling(glosses)(glosses)])
        leaves = nouns().vectors([[leaf] for leaf in range(N_CLASSES)])
        self.places = scaling(leaves)
        self.seen_places = self.places(leaves)
        self.learned = kept_or_learned(self.seen, self.seen_places, C, tree)

    def __call__(self, texts: Sequence[str], readings: Sequence[Reading]) -> np.ndarray:
        """Return the prototypes of names, by their texts and readings."""
        vectors = self._vectors(texts)
        known = [reading.known for reading in readings]
        places = nouns().vectors([reading.place for reading in readings], known)
        lost = ~(vectors.any(axis=1) | places.any(axis=1))
        if lost.any():  # its prototype would be made of nothing
            names = ", ".join(repr(readings[i].name) for i in np.flatnonzero(lost)[:3])
            raise ValueError(
                f"The encoder does not know {names}. Describe it in English."
            )
        by_text = near(self.words(vectors), self.seen)
        by_place = near(self.places(places), self.seen_places)
        K = with_places(by_text, by_place, self.tree)
        Z = (K + INTERCEPT) @ self.learned.alpha
        return drawn_to(Z, self.C, readings) if self.tree else Z

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        return to_unit(np.asarray(self.text.encode(texts), dtype=np.float64))


def drawn_to(Z: np.ndarray, C: np.ndarray, readings: Sequence[Reading]) -> np.ndarray:
    """Draw prototypes to the classes that WordNet explains by their names.

    The less the tree says of a name, the more: by MENTIONED at most.
    """
    Z = Z.copy()
    for row, reading in enumerate(readings):
        classes = nouns().mentioning(reading.noun) if reading.noun else []
        weight = MENTIONED * (1 - (reading.known if reading.place else 0))
        if classes and weight > 0:
            kind = to_unit(C[classes].mean(axis=0)[None])[0]
            Z[row] += weight * (np.linalg.norm(Z[row]) * kind - Z[row])
    return Z


def near(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return exp(-distance²) of all pairs of rows."""
    squares = np.sum(left**2, axis=1)[:, None] + np.sum(right**2, axis=1)
    return np.exp(-np.maximum(squares - 2 * left @ right.T, 0))


def with_places(texts: np.ndarray, places: np.ndarray, tree: float) -> np.ndarray:
    """Mix kernels: a class has one place, and two texts."""
    return (1 - tree) * texts + tree * np.tile(places, (1, 2))


def learn_map(
    seen: np.ndarray, places: np.ndarray, C: np.ndarray, tree: float
) -> Learned:
    """Learn the ridge from texts and places of known classes to their prototypes."""
    K = with_places(near(seen, seen), np.tile(near(places, places), (2, 1)), tree)
    inverse = inverse_positive(K + INTERCEPT + 0.5 * np.eye(len(K)))
    alpha = inverse @ np.vstack([C, C])
    Z = left_out(inverse, alpha, C, branches(12))
    return Learned(alpha.astype(np.float32).astype(np.float64), measure_scale(C, Z))


def left_out(
    inverse: np.ndarray, alpha: np.ndarray, C: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """Return the prototypes by their words of classes whose whole group is left out.

    What a ridge misses of rows that are left out together, from the inverse Q and
    α of all: the solution of Q[rows, rows] e = α[rows].
    """
    Z = np.empty_like(C)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        rows = np.concatenate([members, members + len(C)])
        missed = np.linalg.solve(inverse[np.ix_(rows, rows)], alpha[rows])
        Z[members] = C[members] - missed[: len(members)]
    return Z


def branches(most: int) -> np.ndarray:
    """Return for every class the widest node above it with at most so many classes."""
    tree = nouns()
    found = []
    for leaf in range(N_CLASSES):
        small = [n for n in tree.lineages[leaf] if len(tree.members[n]) <= most]
        found.append(max(small, key=lambda node: (len(tree.members[node]), -node)))
    return np.array(found)


def measure_scale(C: np.ndarray, Z: np.ndarray) -> float:
    """Return the scale on which cosines of classes with left-out prototypes are honest.

    Of 100 lists of ten classes, each class has to be found by the prototype that was
    made for it without it; the scale makes that likeliest.
    """
    rng = np.random.default_rng(0)
    lists = [rng.choice(len(C), 10, replace=False) for _ in range(100)]
    scores = np.stack([cosines(C[rows], Z[rows]) for rows in lists])
    own = np.einsum("ijj->ij", scores)

    def surprise(log_scale: float) -> float:
        scale = np.exp(log_scale)
        return float(np.mean(logsumexp(scale * scores, axis=2) - scale * own))

    found = minimize_scalar(surprise, bounds=(0, 5), method="bounded")
    return float(np.exp(found.x))


def cosines(X: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    """Return cosines of photos and prototypes, both less their means."""
    return centred(X) @ centred(prototypes).T


def centred(rows: np.ndarray) -> np.ndarray:
    """Return unit rows less their mean, at unit length again; one row as it is."""
    rows = to_unit(np.asarray(rows, dtype=np.float64))
    return to_unit(rows - rows.mean(axis=0)) if len(rows) > 1 else rows


def kept_or_learned(
    seen: np.ndarray, places: np.ndarray, C: np.ndarray, tree: float
) -> Learned:
    """Return what was learned from these very tables before, or learn and keep it."""
    kept = Cache("maps")
    # The 3 is to be raised when the map would change for the same encoders.
    digest = hashlib.sha256(f"3 {tree}".encode())
    for table in (seen, places, C):
        digest.update(f"{table.shape} {table.dtype}".encode())
        digest.update(np.ascontiguousarray(table).data)
    key = digest.digest()
    if scale := kept.picture(key):
        alpha = kept.vectors([key]).reshape(-1, C.shape[1])
        return Learned(alpha.astype(np.float64), float(scale))
    learned = learn_map(seen, places, C, tree)
    scale = str(learned.cosine_scale).encode()
    kept.add([key], learned.alpha.reshape(1, -1), [scale])
    return learned


def named_prototypes(head: np.ndarray) -> tuple[np.ndarray, list[str], list[str]]:
    """Return prototypes of ImageNet's classes (1000, n_features), names and glosses."""
    head = np.asarray(head, dtype=np.float64)
    if len(head) != N_CLASSES:
        raise ValueError(
            f"The head has {len(head)} rows. Give an encoder that was taught the "
            f"{N_CLASSES} classes of ImageNet."
        )
    tree = nouns()
    C = to_unit(head - head.mean(axis=0))
    return C, tree.words[:N_CLASSES], tree.glosses[:N_CLASSES]
