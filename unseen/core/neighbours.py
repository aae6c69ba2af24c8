"""Nearest neighbours among rows: all pairs are looked at, while that takes minutes.

The search is scikit-learn's, in float32; distances of those found are made in float64.
What would take too long or not fit in memory is refused before any work.
"""

from __future__ import annotations

import numpy as np

from unseen.core.sums import row_blocks

MEMORY_LIMIT = 4e9  # bytes: what a laptop can spare
MOST_WORK = 2e13  # multiplications for all pairs: minutes of one core
SLACK = 8  # more than k are looked at in float64: what rounding may have swapped


def check_memory(method: str, needed: float, what: str) -> None:
    """Raise ``MemoryError`` if a method needs more bytes than a laptop can spare."""
    if needed > MEMORY_LIMIT:
        raise MemoryError(
            f"{method} would need about {needed / 1e9:.1f} GB for {what}; it stops at "
            f"{MEMORY_LIMIT / 1e9:.0f} GB. Adapt to a sample of the rows and predict "
            "the others, or choose a method that needs less."
        )


def neighbours(
    rows: np.ndarray, k: int, others: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and numbers of each row's k nearest others, nearest first.

    Fewer than k if there are not that many others, of equally near ones the first. By
    default the others are the rows themselves, each without itself.
    """
    from sklearn.neighbors import NearestNeighbors  # slow to import

    alone, among = others is None, rows if others is None else others
    k = min(k, len(among) - alone)
    if k < 1:
        return np.zeros((len(rows), 0)), np.zeros((len(rows), 0), dtype=np.intp)
    work = float(len(rows)) * len(among) * rows.shape[1]
    if work > MOST_WORK:
        raise ValueError(
            f"The neighbours of {len(rows):,} rows with {rows.shape[1]:,} numbers each "
            f"take about {work / 2e10 / 60:,.0f} minutes of one core. Adapt to a "
            "sample of the rows and predict the others."
        )
    centre = among.mean(axis=0, dtype=np.float64)
    scale = max(abs(M - c).max() for M, c in zip(among.T, centre, strict=True)) or 1.0
    # Centred and of ordinary size: squares keep their digits in float32.
    A = ((among - centre) / scale).astype(np.float32)
    B = A if alone else ((rows - centre) / scale).astype(np.float32)
    wanted = min(k + SLACK + alone, len(among))  # a row may find itself
    search = NearestNeighbors(n_neighbors=wanted, algorithm="brute").fit(A)
    numbers = search.kneighbors(B, return_distance=False)
    return by_distance(rows, among, numbers, k, alone, scale)


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
        order = np.argsort(squares, axis=1, kind="stable")[:, :k]
        near = np.take_along_axis(squares, order, axis=1)
        distances[here] = np.sqrt(near) * scale
        chosen[here] = np.take_along_axis(found, order, axis=1)
    return distances, chosen
