"""Class names become prototypes through the named classes that a classifier knows.

    W  (M, p)   rows of an image classifier's head, one per class it was taught
    S  (M, q)   texts of their names, as vectors      T  (N, q)  texts of our names
    k           a kernel on texts; two tables: word vectors, and ImageNet's tree

The rows, centred and of unit length, are prototypes of M classes with a name. Nodes of
the tree above them ("dog", "truck") are classes too, with the mean row of their
members. A kernel ridge learns the way from name to prototype,

    Z = k(T, S) α,    α = (k(S, S) + λI)⁻¹ C

where kernel and λ are chosen by leaving out each of the M classes (without the nodes
above, which would give it away). The classes left out also say on which scale cosines
are to be read: softmax(scale · cos) is honest there. All this depends on the encoders
alone, so it is kept in the cache.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from unseen.models.kernel_ridge import (
    EmbeddingScale,
    explained_share,
    fit_ridge,
    kernel,
    unit,
)
from unseen.naming.nouns import N_CLASSES, nouns
from unseen.photos.kept import (
    DamagedFileError,
    cache_folder,
    find_kept,
    keep,
    read_kept,
    set_aside,
)

__all__ = ["NameMap", "cosines", "learn_map", "named_prototypes"]

MAP = 1  # raise it when the map would change for the same encoders
LISTS, OFFERED = 100, 10  # lists of left-out classes, and names in each
SUFFIX = ".safetensors"


class Learned(NamedTuple):
    """What is kept: the ridge, and what leaving classes out said."""

    alpha: np.ndarray
    kernel: str
    ridge: float
    explained: float
    cosine_scale: float


class NameMap:
    """The way from names to prototypes, learned from a classifier's own classes.

    Parameters
    ----------
    head : array of shape (1000, n_features)
        Rows of the classifier's last layer.
    text : TextEncoder
    tree : bool
        Use places in ImageNet's tree beside the texts.
    kernels : sequence of str
        To choose from.

    Attributes
    ----------
    learned : Learned
    """

    def __init__(
        self, head: np.ndarray, text: Any, tree: bool, kernels: Sequence[str]
    ) -> None:
        C, texts, places = named_prototypes(head)
        self.text, self.tree = text, tree
        seen, self.widths = self._tables(texts, places)
        self.scale = EmbeddingScale.of(seen[:N_CLASSES], self.widths)
        self.seen = self.scale(seen)
        self.learned = kept_or_learned(self.seen, C, tuple(kernels))

    def __call__(
        self, texts: Sequence[str], places: Sequence[Sequence[int]], names: list[str]
    ) -> np.ndarray:
        """Return the prototypes of names, by their texts and places."""
        own, _widths = self._tables(texts, places)
        tables = without_the_unknown(self.scale(own), own, self.widths, names)
        return kernel(self.learned.kernel, tables, self.seen) @ self.learned.alpha

    def _tables(self, texts, places) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return word vectors, and the tree's beside them, with their widths."""
        vectors = np.asarray(self.text.encode(texts), dtype=np.float64)
        if not self.tree:
            return vectors, (vectors.shape[1],)
        rows = nouns().vectors(places)
        return np.hstack([vectors, rows]), (vectors.shape[1], rows.shape[1])


def learn_map(seen: list[np.ndarray], C: np.ndarray, kernels: tuple) -> Learned:
    """Learn the ridge from the tables of known names to their prototypes."""
    leaves = slice(N_CLASSES)
    chosen = fit_ridge([table[leaves] for table in seen], C[leaves], kernels)
    K = kernel(chosen.kernel, seen, seen) + chosen.ridge * np.eye(len(C))
    return Learned(
        alpha=linalg.solve(K, C, assume_a="pos"),
        kernel=chosen.kernel,
        ridge=chosen.ridge,
        explained=explained_share(chosen.variance, C[leaves]),
        cosine_scale=measure_scale(C[leaves], C[leaves] - chosen.left_out),
    )


def measure_scale(C: np.ndarray, Z: np.ndarray) -> float:
    """Return the scale on which cosines of classes with left-out prototypes are honest.

    Of many short lists of classes, each class has to be found by the prototype that
    was made for it without it; the scale makes that likeliest.
    """
    rng = np.random.default_rng(0)
    lists = [rng.choice(len(C), OFFERED, replace=False) for _ in range(LISTS)]
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
    rows = unit(np.asarray(rows, dtype=np.float64))
    return unit(rows - rows.mean(axis=0)) if len(rows) > 1 else rows


def kept_or_learned(seen: list[np.ndarray], C: np.ndarray, kernels: tuple) -> Learned:
    """Return what was learned from these very tables before, or learn and keep it."""
    try:
        folder = cache_folder("maps")
    except ImportError:  # a plain install can name photos, and has no cache
        return learn_map(seen, C, kernels)
    stem = f"{_digest([*seen, C], f'{MAP} {kernels}')[:32]}-"
    for path in find_kept(folder, stem, SUFFIX):
        try:
            return unpack(read_kept(path))
        except DamagedFileError:
            set_aside(path, "It is learned again.")
    learned = learn_map(seen, C, kernels)
    try:
        keep(folder, stem, SUFFIX, pack(learned))
    except OSError as error:
        warnings.warn(
            f"{folder}: what was learned from the names cannot be kept "
            f"({error.strerror}). The next run learns it again.",
            stacklevel=2,
        )
    return learned


def _digest(tables: list[np.ndarray], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for table in tables:
        digest.update(f"{table.shape} {table.dtype}".encode())
        digest.update(np.ascontiguousarray(table).data)
    return digest.hexdigest()


def pack(learned: Learned) -> bytes:
    """Return what was learned as the content of a file."""
    from safetensors.numpy import save

    words = {k: repr(v) for k, v in learned._asdict().items() if k != "alpha"}
    return save({"alpha": learned.alpha}, metadata=words | {"kernel": learned.kernel})


def unpack(content: bytes) -> Learned:
    """Return what :func:`pack` was given."""
    import json

    from safetensors.numpy import load

    length = int.from_bytes(content[:8], "little")
    words = json.loads(content[8 : 8 + length])["__metadata__"]
    numbers = {key: float(words[key]) for key in ("ridge", "explained", "cosine_scale")}
    return Learned(load(content)["alpha"], words["kernel"], **numbers)


def named_prototypes(head: np.ndarray) -> tuple[np.ndarray, list[str], list[list[int]]]:
    """Return prototypes, texts and places of ImageNet's classes and nodes above.

    Parameters
    ----------
    head : array of shape (1000, n_features)
        Rows of the classifier's last layer.

    Returns
    -------
    prototypes : ndarray
        Rows less their mean at unit length; for nodes, the mean of their members'.
    texts : list of str
        All words of every class.
    places : list of list of int
        Where each is in the tree.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.photos.prototypes import named_prototypes
    >>> C, texts, places = named_prototypes(np.eye(1000, 3))
    >>> len(C), texts[207], places[207]
    (1849, 'golden retriever', [207])
    """
    head = np.asarray(head, dtype=np.float64)
    if len(head) != N_CLASSES:
        raise ValueError(
            f"The head has {len(head)} rows. Give an encoder that was taught the "
            f"{N_CLASSES} classes of ImageNet."
        )
    tree = nouns()
    C = unit(head - head.mean(axis=0))
    means = [C[tree.members[node]].mean(axis=0) for node in tree.inner]
    kept = [*range(N_CLASSES), *tree.inner]
    return np.vstack([C, *means]), [tree.words[k] for k in kept], [[k] for k in kept]


def without_the_unknown(
    tables: list[np.ndarray], own: np.ndarray, widths: tuple[int, ...], names: list[str]
) -> list[np.ndarray]:
    """Put a name where the average is, in each table that does not know it.

    One that no table knows is an error: its prototype would be made of nothing.
    """
    known = [
        np.any(part != 0, axis=1)
        for part in np.split(own, np.cumsum(widths)[:-1], axis=1)
    ]
    nowhere = ~np.any(known, axis=0)
    if nowhere.any():
        lost = ", ".join(repr(names[i]) for i in np.flatnonzero(nowhere)[:3])
        raise ValueError(
            f"Nothing is known of {lost}. Describe such a class in plain English words."
        )
    return [np.where(k[:, None], t, 0.0) for k, t in zip(known, tables, strict=True)]
