"""Nearest neighbours by all pairs, in strips of rows that threads share.

As fast as one product ``X @ X.T`` in float32; who calls makes the distances of those
found in float64.
"""

from __future__ import annotations

import numpy as np

from unseen._threads import each, strips

BLOCK = 4096  # others that a strip meets at a time


def by_all_pairs(rows, others, k: int, own: np.ndarray | None) -> np.ndarray:
    """Return the numbers of the k nearest others of every row, in no order.

    ``own`` are the numbers of the rows among the others, if they are there.
    |x - y|² = |x|² - 2 (x·y - |y|²/2): nearest is where the bracket is largest.
    """
    half = np.einsum("ij,ij->i", others, others) / 2
    minus = np.full((len(rows), 1), -1, dtype=np.float32)
    rows, others = np.hstack([rows, minus]), np.column_stack([others, half])
    numbers = np.empty((len(rows), k), dtype=np.intp)

    def search(here: slice) -> None:
        numbers[here] = best_of_strip(rows[here], others, k, cut(own, here))

    # As many rows as keep the scores of a block in the cache.
    each(search, strips(len(rows), BLOCK, 2**20))
    return numbers


def cut(own: np.ndarray | None, which) -> np.ndarray | None:
    """Return some of the rows' numbers, if they have any."""
    return None if own is None else own[which]


def best_of_strip(X, others, k: int, own: np.ndarray | None) -> np.ndarray:
    """Return the numbers of the k others with the largest products, for a few rows.

    Once k are known, few others of a block are better than the worst of them; only
    those are sorted in.
    """
    best = np.full((len(X), k), -np.inf, dtype=np.float32)
    numbers = np.zeros((len(X), k), dtype=np.intp)
    room = np.empty((len(X), min(BLOCK, len(others))), dtype=np.float32)
    for start in range(0, len(others), BLOCK):
        stop = min(start + BLOCK, len(others))
        S = np.matmul(X, others[start:stop].T, out=room[:, : stop - start])
        if own is not None:
            mine = np.flatnonzero((own >= start) & (own < stop))
            S[mine, own[mine] - start] = -np.inf
        if not start and stop > k:
            numbers = np.argpartition(S, -k, axis=1)[:, -k:]
            best = np.take_along_axis(S, numbers, axis=1)
            continue
        better = np.flatnonzero(S > best.min(axis=1, keepdims=True))
        row, column = np.divmod(better, stop - start)
        counts = np.bincount(row, minlength=len(X))
        # The better ones of every row side by side, after the best so far.
        place = k + np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        values = np.full((len(X), k + counts.max()), -np.inf, dtype=np.float32)
        which = np.zeros(values.shape, dtype=np.intp)
        values[:, :k], which[:, :k] = best, numbers
        values[row, place], which[row, place] = S[row, column], start + column
        top = np.argpartition(values, -k, axis=1)[:, -k:]
        best = np.take_along_axis(values, top, axis=1)
        numbers = np.take_along_axis(which, top, axis=1)
    return numbers
