"""Wide rows: fewer rows than features, summed in the space the rows span.

    X  (n, p)   rows, n far below p; as they come or scaled to unit length
    K  (n, n)   X Xᵀ = L Lᵀ, or U diag(s²) Uᵀ where rows depend on each other
    Q  (p, r)   Xᵀ L⁻ᵀ or Xᵀ U / s, an orthonormal basis of the span; never formed
    C  (n, r)   X Q = L or U s, the rows in it

Whatever is learned from sums of rows lies in their span, so a solver that is given the
sums of C answers as if it had those of X, with r numbers per row in place of p: n² p
multiplications and n² numbers where XᵀX takes n p² and p². ``lift`` brings directions
back: Q V = Xᵀ (L⁻ᵀ V).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from unseen._linalg import inverse_lengths
from unseen._threads import each, strips
from unseen.rows.gram import tile_of, tile_places, whole_gram

__all__ = ["Span", "is_wide", "span_of"]

SMALLEST_WIDE = 512  # features: below, XᵀX is cheap whatever the rows
WELL = 1e-6  # least over largest eigenvalue of what a triangle is good enough for
NOISE = {4: 1e-5, 8: 1e-13}  # of a row's square by bytes of a number: rounding


@dataclass(frozen=True, eq=False)
class Span:
    """The space that rows span.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows as given, not copied.
    weights : ndarray of shape (n_rows, n_dims)
        Columns that mix the rows to the basis: ``Q = Xᵀ weights``.
    """

    X: np.ndarray
    weights: np.ndarray

    @property
    def n_features(self) -> int:
        """Features of the rows."""
        return self.X.shape[1]

    def lift(self, V: np.ndarray) -> np.ndarray:
        """Return vectors of the span, one a column, in the space of the features."""
        mixed = (self.weights @ V).astype(self.X.dtype)
        lifted = np.empty((self.n_features, V.shape[1]))

        def fill(here: slice) -> None:
            lifted[here] = self.X[:, here].T @ mixed

        each(fill, strips(self.n_features, len(self.X)))
        return lifted


def is_wide(n_rows: int, n_features: int) -> bool:
    """Tell whether rows are so few that their span is the cheaper place.

    Examples
    --------
    >>> from unseen.rows.span import is_wide
    >>> is_wide(30, 50_000), is_wide(7_000, 4_096)
    (True, False)
    """
    return n_features >= SMALLEST_WIDE and 2 * n_rows <= n_features


def products(X: np.ndarray) -> np.ndarray:
    """Return X Xᵀ in float64, one half multiplied out and mirrored."""
    places = tile_places(len(X))
    return whole_gram(each(tile_of, [X.T] * len(places), places), len(X))


def span_of(X: np.ndarray, *, unit_rows: bool = False) -> tuple[Span, np.ndarray]:
    """Return the span of rows, and the rows in it.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    unit_rows : bool, default=False
        Scale each row to unit length first.

    Returns
    -------
    span : Span
    coordinates : ndarray of shape (n_rows, n_dims)

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.span import span_of
    >>> X = np.array([[3.0, 0, 4, 0], [6.0, 0, 8, 0]])  # two rows, one direction
    >>> span, C = span_of(X)
    >>> C.shape, np.allclose(C @ span.lift(np.eye(1)).T, X)
    ((2, 1), True)
    """
    with np.errstate(all="ignore"):  # what is not finite shows in the squares
        K = products(X)
    scale = inverse_lengths(X).astype(np.float64) if unit_rows else np.ones(len(X))
    K *= np.outer(scale, scale)
    if not np.isfinite(K).all():
        return Span(X, np.zeros((len(X), 1))), np.full((len(X), 1), np.nan)
    # Rounding of n x n numbers has eigenvalues of about the root of n times theirs.
    noise = NOISE[X.dtype.itemsize] * np.trace(K) / len(X) * np.sqrt(len(X))
    mixing, coordinates = triangular_basis(K, noise) or eigen_basis(K, noise)
    return Span(X, scale[:, None] * mixing), coordinates


def triangular_basis(K, noise: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (L⁻ᵀ, L) of K = L Lᵀ, or None where rows may be less than independent.

    Several times cheaper than eigenvectors, and any basis of the span will do.
    """
    L, failed = linalg.lapack.dpotrf(K, lower=1)
    if failed:
        return None
    size = np.abs(K).sum(axis=0).max()
    inverse_condition, _ = linalg.lapack.dpocon(L, size, uplo="L")
    if inverse_condition < WELL or inverse_condition * size <= noise:
        return None  # its product is at most the least eigenvalue
    return linalg.lapack.dtrtri(L, lower=1)[0].T, L


def eigen_basis(K, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (U / s, U s) of K = U diag(s²) Uᵀ without what is rounding.

    All eigenvectors come soonest by divide and conquer.
    """
    values, U = linalg.eigh(K, driver="evd", check_finite=False)
    kept = values > noise
    if not kept.any():  # all rows are zero: one direction, which no row has
        return np.zeros((len(K), 1)), np.zeros((len(K), 1))
    roots, U = np.sqrt(values[kept]), U[:, kept]
    return U / roots, U * roots
