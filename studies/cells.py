"""Cells of the plan ``names``: rows, and a prototype per class, but no seen class.

The class table that a column names says how the prototypes come about:

    names         a .npz with rows X, labels y and one vector per class name, P
    domains       the same, classes grouped by the column ``domain`` of a CSV beside it;
                  a domain's prototype is the mean of its names
    lite0, …      a folder of photos, encoded; names become prototypes as ``unseen
                  label`` makes them
    lite0 gap 1   the same photos; prototypes are their class means, moved by noise of
                  that many lengths of a centred mean, and by one shift for all
    any other     a set with seen classes: some of them are held out, at random, and
                  their prototypes come from a ridge over the others' class means

Truth is used for gaps and sets with seen classes to *make* a case, never by a method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from unseen.core.linalg import to_unit
from unseen.experiments.sources import Source

if TYPE_CHECKING:
    from unseen.data import ZeroShotData

KINDS = ("full", "half absent", "Zipf", "ten rows per class", "20 % foreign")
MORE_KINDS = ("three quarters absent", "uneven")
LARGEST = 1500  # rows of a pile
HELD_OUT = 4  # one of so many seen classes is held out


class Cell(NamedTuple):
    """Rows, their classes as numbers of prototypes, and rows of no such class."""

    X: np.ndarray
    y: np.ndarray
    prototypes: np.ndarray
    foreign: np.ndarray


def make_cell(source: Source, part: str, seed: int) -> Cell:
    """Make a cell; what it draws, it draws anew for every seed."""
    rng = np.random.default_rng([7, seed])
    path = Path(source.path)
    if part in ("names", "domains"):
        X, y, P = named_rows(path, part == "domains")
        foreign = (
            named_rows(Path(source.foreign), False)[0] if source.foreign else X[:0]
        )
        return Cell(X, y, P, foreign)
    if path.is_dir() and not source.about:
        encoder, _, noise = part.partition(" gap ")
        X, y, P = named_photos(path, encoder)
        if noise:
            P = across_a_gap(X, y, float(noise), rng)
        foreign = named_photos(Path(source.foreign), encoder)[0]
        return Cell(X, y, P, foreign)
    return held_out(source.load(part), rng)


@lru_cache(maxsize=4)
def named_rows(path: Path, domains: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read encoded texts with the vectors of their class names."""
    with np.load(path, allow_pickle=False) as stored:
        X = stored["X"].astype(np.float32)
        if "P" not in stored.files:  # rows of no class
            return X, np.full(len(X), -1), np.zeros((0, X.shape[1]))
        y, P = stored["y"].astype(np.intp), stored["P"].astype(np.float64)
        classes = stored["classes"].astype(str) if domains else None
    if domains:
        table = pd.read_csv(path.with_name(f"{path.name.split('_')[0]}_classes.csv"))
        of = table.set_index("class").loc[classes, "domain"]
        groups, numbers = np.unique(of.to_numpy(str), return_inverse=True)
        units = to_unit(P)
        P = np.array([units[numbers == k].mean(axis=0) for k in range(len(groups))])
        y = numbers[y]
    return X, y, P


@lru_cache(maxsize=4)
def named_photos(path: Path, encoder: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Encode a folder of photos; sub-folders are the classes, their names all we know.

    Features are kept in the user's cache, so that only the first time takes long.
    """
    from unseen.photos import NamedPhotos, encode_folder

    photos = encode_folder(path, encoder=encoder)
    names, y = np.unique(
        [Path(photo).parts[0] for photo in photos.paths], return_inverse=True
    )
    # Names that no dictionary has are part of the case: nobody describes them here.
    named = NamedPhotos(encoder).fit(names.tolist(), allow_unknown=True)
    prototypes = named.prototypes_
    return np.asarray(photos.features()), y, np.asarray(prototypes, dtype=np.float64)


def across_a_gap(X, y, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Return class means, off by noise and all by one shift, as texts of CLIP are.

    Half of the noise lies in the span of the means, half anywhere.
    """
    units = to_unit(X)
    means = np.array([units[y == k].mean(axis=0) for k in range(y.max() + 1)])
    centred = means - means.mean(axis=0)
    length = root_mean_square(centred)
    inside = rng.normal(size=(len(means), len(means))) @ centred
    anywhere = rng.normal(size=centred.shape)
    shift = rng.normal(size=centred.shape[1])
    off = inside / root_mean_square(inside) + anywhere / root_mean_square(anywhere)
    moved = noise * off / np.sqrt(2) + 2 * shift / np.linalg.norm(shift)
    return means + length * moved


def held_out(data: ZeroShotData, rng: np.random.Generator) -> Cell:
    """Hold out seen classes; a ridge over the others tells where they should be."""
    shuffled = rng.permutation(np.unique(data.y_seen))
    n = max(2, len(shuffled) // HELD_OUT)
    held, known = shuffled[:n], shuffled[n:]
    X, labels = data.X_seen, data.y_seen
    table = data.class_embeddings
    means, foreign, rows = [], [], []
    for name in known:
        own = to_unit(X[labels == name])
        means.append(own.mean(axis=0))
        foreign.append(own[:10])
    for name in held:
        rows.append(rng.permutation(np.flatnonzero(labels == name))[: LARGEST // n])
    A = to_unit(table.loc[[*known, *held]].to_numpy(np.float64))
    prototypes = ridge_prototypes(A[: len(known)], np.array(means), A[len(known) :])
    y = np.repeat(np.arange(n), [len(own) for own in rows])
    return Cell(X[np.concatenate(rows)], y, prototypes, np.concatenate(foreign))


def ridge_prototypes(A: np.ndarray, means: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Map B as A is mapped to the means, the strength by leaving classes out."""
    centre, middle = A.mean(axis=0), means.mean(axis=0)
    A, B = A - centre, B - centre
    scale = root_mean_square(A)
    K, L = A @ A.T / scale**2, B @ A.T / scale**2
    best = (np.inf, np.zeros_like(means))
    for strength in 10.0 ** np.arange(-2.5, 2.1, 0.25):
        inverse = np.linalg.inv(K + strength * np.eye(len(K)))
        weights = inverse @ (means - middle)
        error = float(np.mean((weights / np.diag(inverse)[:, None]) ** 2))
        if error < best[0]:
            best = error, weights
    return L @ best[1] + middle


def piles(
    cell: Cell, seed: int, kinds: Sequence[str] = KINDS
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield each kind of pile with its rows and classes; -1 is a foreign row's."""
    n_classes = len(cell.prototypes)
    for number, kind in enumerate(kinds):
        rng = np.random.default_rng([number, seed])
        own = [rng.permutation(np.flatnonzero(cell.y == c)) for c in range(n_classes)]
        order = rng.permutation(n_classes)
        if kind == "half absent":
            own = [own[c] for c in order[: max(2, n_classes // 2)]]
        elif kind == "three quarters absent":
            own = [own[c] for c in order[: max(2, n_classes // 4)]]
        elif kind == "uneven":  # a third of the classes keep all, the others five
            own = [
                own[c][: None if 3 * k < n_classes else 5] for k, c in enumerate(order)
            ]
        elif kind == "Zipf":
            power = 1.0 if n_classes <= 30 else 0.7  # with many, most would vanish
            sizes = [len(own[c]) / (k + 1) ** power for k, c in enumerate(order)]
            own = [
                own[c][: max(2, round(m))] for c, m in zip(order, sizes, strict=True)
            ]
        elif kind == "ten rows per class":
            own = [rows[:10] for rows in own]
        rows = np.concatenate(own)
        X, y = cell.X[rows], cell.y[rows]
        if kind == "20 % foreign":
            if not len(cell.foreign):
                continue
            strange = rng.permutation(cell.foreign)[: len(y) // 4]
            X = np.concatenate([X, strange.astype(X.dtype)])
            y = np.concatenate([y, np.full(len(strange), -1)])
        mixed = rng.permutation(len(y))[:LARGEST]
        yield kind, X[mixed], y[mixed]


def root_mean_square(M: np.ndarray) -> float:
    """Return the root of the mean squared length of rows."""
    return float(np.sqrt(np.mean(np.sum(M * M, axis=1))))
