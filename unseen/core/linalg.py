"""Linear algebra: unit rows, small ridges, leading eigenvectors.

A few eigenvectors of a large matrix come from a block Lanczos iteration.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import ThreadpoolController

DOUBLE = np.dtype(np.float64)
ROUNDING = 1e-14  # share of the largest eigenvalue that smaller ones drown in


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")  # finding it takes a while


def one_thread() -> AbstractContextManager:
    """Hold BLAS to one thread: in small products its threads only wait."""
    return _blas().limit(limits=1)


# ---- rows of unit length -----------------------------------------------------------


def row_lengths(X: np.ndarray) -> np.ndarray:
    """Return ``|x|`` of every row in float64, 1 for a row of zeros.

    Rows whose squares leave the range of their type are measured after scaling.
    """
    smallest = np.finfo(X.dtype).tiny
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # One inner product per row: matmul hands them to BLAS, einsum would not.
        squares = np.matmul(X[:, None, :], X[:, :, None])[:, 0, 0]
    lengths = np.sqrt(squares, dtype=np.float64)
    if not smallest < squares.min(initial=1) <= squares.max(initial=1) < np.inf:
        odd = np.flatnonzero(~(np.isfinite(squares) & (squares > smallest)))
        largest = np.abs(X[odd]).max(axis=1, initial=0).astype(np.float64)
        scale = np.where(largest > 0, largest, 1)
        with np.errstate(invalid="ignore", over="ignore"):  # infinite: noticed later
            lengths[odd] = scale * np.linalg.norm(X[odd] / scale[:, None], axis=1)
        lengths = np.where(lengths <= smallest, 1, lengths)
    return lengths


def inverse_lengths(X: np.ndarray) -> np.ndarray:
    """Return ``1 / |x|`` for every row, 1 for a row of zeros."""
    return (1 / row_lengths(X)).astype(X.dtype)


def to_unit(X: np.ndarray) -> np.ndarray:
    """Return the rows at unit length; a row of zeros stays."""
    # Divided, so that rows of one number become exactly 1 or -1 and tie as they should,
    # in float64, which has room for the length of any float32 row.
    lengths, units = row_lengths(X)[:, None], np.empty_like(X)
    return np.divide(X, lengths, out=units, dtype=np.float64, casting="same_kind")


def nonzero(lengths: np.ndarray) -> np.ndarray:
    """Return the lengths with 1 in place of 0."""
    return np.where(lengths > 0, lengths, 1)


# ---- small symmetric systems -------------------------------------------------------


def solve_positive(K: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return K⁻¹ right for a symmetric positive K, or for a stack of them."""
    return np.linalg.solve(regular(K), right)


def inverse_positive(K: np.ndarray) -> np.ndarray:
    """Return K⁻¹, exactly symmetric, for one symmetric positive K or a stack."""
    inverse = np.linalg.inv(regular(K))
    return (inverse + transposed(inverse)) / 2


def transposed(stack: np.ndarray) -> np.ndarray:
    """Return the transpose of a matrix, or of every one of a stack."""
    return stack.swapaxes(-1, -2)


def regular(K: np.ndarray) -> np.ndarray:
    """Return K and, as it may be singular, as much more as rounding."""
    largest = np.abs(K).max(axis=(-2, -1))
    if not np.isfinite(largest).all():
        raise ValueError(
            "A step of the solver met numbers out of range. Scale X to ordinary "
            "numbers, or keep unit_rows=True."
        )
    return plus_diagonal(K.copy(), ROUNDING * nonzero(largest)[..., None])


def solve_ridge(K: np.ndarray, ridge: float, right: np.ndarray) -> np.ndarray:
    """Return (K + ridge I)⁻¹ right for a symmetric K without negative eigenvalues.

    Where the ridge is lost in the rounding of K, directions that K hardly has count as
    if it had as much of them as rounding lets it know.
    """
    factor, failed = linalg.lapack.dpotrf(plus_diagonal(K.copy(), ridge), lower=1)
    if not failed and (factor.diagonal() ** 2 > ROUNDING * np.abs(K).max()).all():
        return linalg.lapack.dpotrs(factor, right, lower=1)[0]
    values, vectors = linalg.eigh(K)
    values = np.maximum(values, ROUNDING * max(values[-1], 0)) + ridge
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
    return vectors @ ((vectors.T @ right) * inverse[:, None])


def solve_on_axes(
    gram: np.ndarray, target: np.ndarray, ridge: float, *, diagonal: bool
) -> np.ndarray:
    """Return (gram + ridge I)⁻¹ target; on principal axes the inverse is a division."""
    if diagonal:
        return target / (np.diag(gram) + ridge)[:, None]
    return solve_ridge(gram, ridge, target)


def plus_diagonal(K: np.ndarray, ridge: Any) -> np.ndarray:
    """Return K + ridge I; K itself is changed. K may be a stack, ridge (n, 1) then."""
    np.einsum("...ii->...i", K)[...] += ridge
    return K


def right_factor(A: np.ndarray, ridge: float) -> np.ndarray:
    """Return A (AᵀA + ridge I)⁻¹; for no ridge the pseudo-inverse, transposed."""
    if not ridge:
        return linalg.pinv(A).T
    # = (AAᵀ + ridge I)⁻¹ A, and classes are fewer than dimensions
    return solve_ridge(A @ A.T, ridge, A)


def row_space(A: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what the rows of A span, as columns; one at least.

    Few classes span few of many dimensions, and what is learned lies there.
    """
    _, sizes, Vt = linalg.svd(A, full_matrices=False)
    return Vt[: max(1, int(np.sum(sizes > 1e-9 * sizes[0])))].T


# ---- leading eigenvectors ----------------------------------------------------------


def leading_eigenvectors(
    S: np.ndarray, k: int, dtype: Any = DOUBLE
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues, falling, and their eigenvectors.

    Signs are fixed: the entry of largest magnitude is positive. Few of a large matrix
    come from a block Lanczos iteration in the precision ``dtype``, others, and those
    that no gaps part, from LAPACK in float64; the answers agree.
    """
    p, single = len(S), np.dtype(dtype).itemsize == 4
    # Where it is sooner done than LAPACK, which works in float64 always: measured on
    # one thread, p from 700 to 2,048.
    few = p >= 640 and k <= p // (8 if single else 16)
    block = 8 if p <= 2048 else 16
    found = block_lanczos(S.astype(dtype), k, block=block) if few else None
    if found is None:
        found = linalg.eigh(S, subset_by_index=[p - k, p - 1], check_finite=False)
    return np.maximum(found[0][::-1], 0), with_fixed_signs(found[1][:, ::-1])


def with_fixed_signs(vectors: np.ndarray) -> np.ndarray:
    """Return columns whose entry of largest magnitude is positive."""
    return vectors * signs_of(vectors)


def signs_of(vectors: np.ndarray) -> np.ndarray:
    """Return the sign of the entry of largest magnitude of each column."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return np.where(largest[0] < 0, -1, 1)


def block_lanczos(
    S: np.ndarray, k: int, *, block: int = 16
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the k largest eigenpairs of S, rising, or None where it cannot.

    A Krylov space grows by ``block`` columns at a time, each new block made orthogonal
    to all before; S in its basis Q is the band matrix T. The residual of an
    eigenvector Q u is |R u'|, with R the last triangular factor and u' the last
    entries of u: the iteration stops when all are below ``tol`` times the largest
    eigenvalue. Gives up when the space stops growing (S of low rank), and where it has
    grown beyond what eigenvalues with gaps between them take: the cost is bounded.

    ``tol`` is 1e-10, or 1e-7 where S is float32: its own error. Then all but T is
    float32, which halves the cost.
    """
    p, dtype = len(S), S.dtype
    tol, noise = {8: (1e-10, 1e-14), 4: (1e-7, 2e-6)}[dtype.itemsize]
    first, most = 2 * k + 8 * block, min(p - block, 3 * k + 16 * block)
    Q = np.empty((p, most + block), dtype=dtype, order="F")
    T = np.zeros((most + block, most + block))
    start = np.random.default_rng(0).standard_normal((p, block)).astype(dtype)
    V = linalg.qr(start, mode="economic", check_finite=False)[0]
    size, largest = 0, 0.0
    while size + block <= most:
        recent = slice(max(size - block, 0), size + block)
        newest = slice(size, size + block)
        Q[:, newest] = V
        size += block
        W = S @ V
        H = Q[:, recent].T @ W  # three blocks of the recurrence, then all again
        T[recent, newest], T[newest, recent] = H, H.T
        largest = max(largest, np.abs(H).max())
        W -= Q[:, recent] @ H
        W -= Q[:, :size] @ (Q[:, :size].T @ W)
        V, R = linalg.qr(W, mode="economic", overwrite_a=True, check_finite=False)
        if np.abs(np.diag(R)).min() <= noise * largest:
            return None  # the new directions are rounding noise
        if size >= first and (size - first) % (2 * block) < block:
            # All eigenvectors by divide and conquer come sooner than some by bisection.
            values, U = linalg.eigh(T[:size, :size], driver="evd", check_finite=False)
            values, U = values[-k:], U[:, -k:]
            residual = linalg.norm(R @ U[-block:], axis=0).max() / values[-1]
            if residual <= tol:
                vectors = Q[:, :size] @ U.astype(dtype, copy=False)
                return values, vectors.astype(np.float64, copy=False)
            if residual > 1e-2:  # noise alike in all directions leaves 5e-2
                return None
    return None
