"""Nearest neighbours among rows: exact for as many as can be, else by faiss.

All pairs are looked at, by scikit-learn, while that takes minutes. Beyond that, a
navigable small-world graph (HNSW) of faiss finds nearly all, an extra: ``pip install
unseen[scale]``. Some rows are searched exactly as well, and a warning says if too many
neighbours are missed. Not the very same in every run where threads build the graph.

Distances of those found are made in float64. What would not fit in memory is refused
before any work.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from unseen.core.sums import row_blocks

MEMORY_LIMIT = 4e9  # bytes: what a laptop can spare
MOST_WORK = 2e13  # multiplications for all pairs: minutes of one core
SLACK = 8  # more than k are looked at in float64: what rounding may have swapped
LINKS, BREADTH = 32, 96  # of the graph: per row, and to search


class MissedNeighboursWarning(UserWarning):
    """An approximate search found fewer of the true neighbours than it should.

    Methods that look for neighbours warn of it, beyond about 200,000 rows.

    Examples
    --------
    >>> import warnings
    >>> import unseen
    >>> warnings.simplefilter("error", unseen.MissedNeighboursWarning)  # rather stop
    """


def check_memory(method: str, needed: float, what: str) -> None:
    """Raise ``MemoryError`` if a method needs more bytes than a laptop can spare."""
    if needed > MEMORY_LIMIT:
        raise MemoryError(
            f"{method} would need about {needed / 1e9:.1f} GB for {what}; it stops at "
            f"{MEMORY_LIMIT / 1e9:.0f} GB. Adapt to a sample of the rows and predict "
            "the others, or choose a method that needs less."
        )


def faiss():
    """Return the module, or None if it is not installed."""
    try:
        import faiss
    except ModuleNotFoundError:
        return None
    return faiss


def neighbours(
    rows: np.ndarray, k: int, others: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and numbers of each row's k nearest others, nearest first.

    Fewer than k if there are not that many others, of equally near ones the first. By
    default the others are the rows themselves, each without itself.
    """
    alone, among = others is None, rows if others is None else others
    k = min(k, len(among) - alone)
    if k < 1:
        return np.zeros((len(rows), 0)), np.zeros((len(rows), 0), dtype=np.intp)
    find = affordable_search(len(rows), rows.shape[1], len(among))
    centre = among.mean(axis=0, dtype=np.float64)
    scale = max(abs(M - c).max() for M, c in zip(among.T, centre, strict=True)) or 1.0
    # Centred and of ordinary size: squares keep their digits in float32.
    A = ((among - centre) / scale).astype(np.float32)
    B = A if alone else ((rows - centre) / scale).astype(np.float32)
    wanted = min(k + SLACK + alone, len(among))  # a row may find itself
    return by_distance(rows, among, find(B, A, wanted), k, alone, scale)


def affordable_search(n: int, p: int, n_others: int) -> Callable:
    """Return how neighbours are found; refuse, with an estimate, what takes too long.

    The same for what does not fit.
    """
    work = float(n) * n_others * p
    if work <= MOST_WORK:
        return by_all_pairs
    if faiss() is None:
        raise ImportError(
            f"The neighbours of {n:,} rows with {p:,} numbers each take about "
            f"{work / 2e10 / 60:,.0f} minutes of one core. Install faiss with "
            "pip install 'unseen[scale]', which finds nearly all of them sooner, or "
            "adapt to a sample of the rows."
        )
    # Rows in float32, twice, and links both ways.
    check_memory("The search", 8.0 * n_others * (p + LINKS), f"{n_others:,} rows")
    return by_graph


def by_all_pairs(rows: np.ndarray, others: np.ndarray, k: int) -> np.ndarray:
    """Return the numbers of the k nearest others."""
    from sklearn.neighbors import NearestNeighbors  # slow to import

    found = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(others)
    return found.kneighbors(rows, return_distance=False)


def by_graph(rows: np.ndarray, others: np.ndarray, k: int) -> np.ndarray:
    """Return the numbers of nearly the k nearest others, by faiss; -1 for none."""
    graph = faiss().IndexHNSWFlat(others.shape[1], LINKS)
    graph.hnsw.efConstruction = 64
    graph.hnsw.efSearch = max(BREADTH, 4 * k)
    graph.add(others)
    numbers = graph.search(rows, k)[1]
    some = slice(None, None, -(-len(rows) // 500))  # these are searched exactly, too
    true = by_all_pairs(rows[some], others, k)
    pairs = zip(numbers[some], true, strict=True)
    share = np.mean([len(np.intersect1d(one, other)) / k for one, other in pairs])
    if share < 0.95:
        warnings.warn(
            f"The approximate search misses about {1 - share:.0%} of the neighbours. "
            "Adapt to a sample of the rows if that is too many.",
            MissedNeighboursWarning,
            stacklevel=2,
        )
    return numbers


def by_distance(rows, among, numbers, k, alone: bool, scale: float) -> tuple:
    """Return the k nearest of some candidates by distances in float64."""
    distances = np.empty((len(rows), k))
    chosen = np.empty((len(rows), k), dtype=np.intp)
    for here in row_blocks(len(rows), numbers.shape[1] * rows.shape[1]):
        found = np.sort(numbers[here], axis=1)
        apart = np.subtract(among[found], rows[here, None], dtype=np.float64) / scale
        squares = np.einsum("ijk,ijk->ij", apart, apart)
        if alone:
            squares[found == np.arange(len(rows))[here, None]] = np.inf
        squares[found < 0] = np.inf
        order = np.argsort(squares, axis=1, kind="stable")[:, :k]
        near = np.take_along_axis(squares, order, axis=1)
        distances[here] = np.sqrt(near) * scale
        chosen[here] = np.take_along_axis(found, order, axis=1)
    return distances, chosen
