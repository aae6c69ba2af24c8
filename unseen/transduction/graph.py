"""Nearest-neighbour graphs of a pile, as sparse matrices; never n by n."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from unseen.statistics import inverse_lengths


def neighbours(rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and numbers of each row's k nearest others, nearest first.

    Exact, in float32; fewer than k if there are not that many others.

    >>> import numpy as np
    >>> from unseen.transduction.graph import neighbours
    >>> neighbours(np.array([[0.0], [1.0], [3.0]]), 1)[1]
    array([[1], [0], [1]])
    """
    k = min(k, len(rows) - 1)
    if k < 1:
        return np.zeros((len(rows), 0)), np.zeros((len(rows), 0), dtype=np.intp)
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(rows)
    distances, numbers = search.kneighbors()  # of the rows themselves, each left out
    return distances.astype(np.float64), numbers


def graph(weights: np.ndarray, numbers: np.ndarray) -> sparse.csr_array:
    """Return the directed graph with these weights to these neighbours."""
    n, k = numbers.shape
    starts = np.arange(0, n * k + 1, k) if k else np.zeros(n + 1, dtype=np.intp)
    return sparse.csr_array((weights.ravel(), numbers.ravel(), starts), shape=(n, n))


def symmetric_normalised(W: sparse.csr_array) -> sparse.csr_array:
    """Return D^-1/2 W D^-1/2 with D the row sums; rows without weight stay zero."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    roots = np.where(degrees > 0, 1 / np.sqrt(np.maximum(degrees, 1e-300)), 0.0)
    return sparse.csr_array(sparse.diags_array(roots) @ W @ sparse.diags_array(roots))


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Return the rows at unit length; zero rows stay zero."""
    return rows * inverse_lengths(rows)[:, None]
