"""Nearest-neighbour graphs of rows, as sparse matrices; never n by n.

Labels spread over such a graph by solving, for all classes at once,

    (I - α S) F = L        S  (n, n)  normalised graph, eigenvalues in [-1, 1]
                           L  (n, N)  what is known at the start

by conjugate gradients: for α < 1 the left side is positive definite, and its condition
at most (1 + α) / (1 - α).
"""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from unseen.core.linalg import to_unit
from unseen.core.neighbours import neighbours


def near_neighbours(
    rows: np.ndarray, k: int, *, cell_size: int = 200, n_near: int = 8
) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`neighbours` would, nearly: for rows too many for all pairs.

    Some rows are centres of cells; a row looks for its neighbours in the cells nearest
    to the centre of its own. With as many near cells as there are cells it is exact.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    n, squares = len(rows), np.einsum("ij,ij->i", rows, rows)
    centres = rows[::cell_size]
    near = neighbours(centres, n_near, centres)[1]  # each with itself
    home = neighbours(rows, 1, centres)[1][:, 0]
    members = [np.flatnonzero(home == cell) for cell in range(len(centres))]
    distances, numbers = np.full((n, k), np.inf), np.zeros((n, k), dtype=np.intp)
    for cell, own in enumerate(members):
        others = np.concatenate([members[other] for other in near[cell]])
        far = squares[others] - 2 * rows[own] @ rows[others].T
        far[own[:, None] == others] = np.inf
        width = min(k, len(others) - 1)
        best = np.argpartition(far, width - 1, axis=1)[:, :width]
        found = np.take_along_axis(far, best, axis=1) + squares[own][:, None]
        distances[own, :width] = np.sqrt(np.maximum(found, 0))
        numbers[own, :width] = others[best]
    order = np.argsort(distances, axis=1, kind="stable")
    return (
        np.take_along_axis(distances, order, axis=1),
        np.take_along_axis(numbers, order, axis=1),
    )


def gaussian(distances: np.ndarray) -> np.ndarray:
    """Return exp(-d² / median d²), the weight of a neighbour at distance d.

    If more than half of the distances are zero, the mean stands for the median.
    """
    squares = distances * distances
    scale = (np.median(squares) or squares.mean()) if squares.size else 0.0
    return np.exp(-squares / scale) if scale > 0 else np.ones_like(squares)


def graph(
    weights: np.ndarray, numbers: np.ndarray, n_columns: int | None = None
) -> sparse.csr_array:
    """Return the directed graph with these weights to these neighbours."""
    n, k = numbers.shape
    starts = np.arange(0, n * k + 1, k) if k else np.zeros(n + 1, dtype=np.intp)
    shape = n, n if n_columns is None else n_columns
    return sparse.csr_array((weights.ravel(), numbers.ravel(), starts), shape=shape)


def symmetric_normalised(W: sparse.csr_array) -> sparse.csr_array:
    """Return D^-1/2 W D^-1/2 with D the row sums; rows without weight stay zero."""
    roots = sparse.diags_array(inverse_roots(np.asarray(W.sum(axis=1)).ravel()))
    return sparse.csr_array(roots @ W @ roots)


def inverse_roots(degrees: np.ndarray) -> np.ndarray:
    """Return d^-1/2, and 0 for a node without weight."""
    return np.where(degrees > 0, 1 / np.sqrt(np.maximum(degrees, 1e-300)), 0.0)


def propagate(
    S: Any, L: np.ndarray, alpha: float, *, tol: float = 1e-6, max_iter: int = 500
) -> np.ndarray:
    """Solve (I - alpha S) F = L for all columns of L at once.

    S is symmetric, with eigenvalues in [-1, 1]; ``tol`` is the largest residual of a
    column, in lengths of that column of L. A column of zeros stays one.
    """
    F, R = np.zeros(L.shape), L.astype(np.float64)
    P, squares = R.copy(), np.einsum("ij,ij->j", R, R)
    enough = tol**2 * squares
    for _ in range(max_iter):
        if (squares <= enough).all():
            return F
        AP = P - alpha * (S @ P)
        curvature = np.einsum("ij,ij->j", P, AP)
        step = np.divide(
            squares, curvature, out=np.zeros_like(squares), where=squares > 0
        )
        F += step * P
        R -= step * AP
        before, squares = squares, np.einsum("ij,ij->j", R, R)
        P *= np.divide(squares, before, out=np.zeros_like(squares), where=before > 0)
        P += R
    warnings.warn(
        f"All max_iter={max_iter} steps of conjugate gradients used at alpha={alpha}; "
        "the labels are nearly settled. Take a smaller alpha.",
        ConvergenceWarning,
        stacklevel=2,
    )
    return F


def smoothness(S: Any, F: np.ndarray) -> float:
    """Return tr Fᵀ(I - S)F: how much labels differ along the edges of the graph."""
    return float(np.einsum("ij,ij->", F, F - S @ F))


def cosine_graph(distances: np.ndarray, numbers: np.ndarray) -> sparse.csr_array:
    """Return the graph of neighbours of unit rows, by cosines, none below 0."""
    return graph(np.maximum(1 - distances**2 / 2, 0), numbers)


def nearest_cosines(rows: np.ndarray, k: int) -> sparse.csr_array:
    """Return (W + Wᵀ)/2k with W the cosines of each row's k nearest."""
    W = cosine_graph(*neighbours(to_unit(rows), k))
    return sparse.csr_array((W + W.T) / (2 * k))
