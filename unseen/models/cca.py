"""CCA: canonical correlation between rows and the embeddings of their classes.

Rows are samples.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    A  (M, q)           seen class embeddings: unit length, centred over the rows
    P  (p, k), R (q, k) projections                  x_weights_, embedding_weights_
    ρ  (k,)             canonical correlations                    correlations_

    max  corr(X P_j, Y A R_j)   for j = 1 … k, each uncorrelated with those before

With C_xx, C_aa and C_xa the covariances and regularised roots L of the first two,
the SVD of L_x⁻¹ C_xa L_a⁻ᵀ gives P, R and ρ. Classes are told apart by the cosine
between projections weighted by ρ^power:

    score(x, a) = (x P D) · (a R D) / |a R D|,   D = diag(ρ^power)

A row's own length is left in: it changes no argmax, and long projections are those
the model is sure of.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from unseen.core.base import Seen, ZeroShotClassifier
from unseen.core.linalg import row_space, to_unit
from unseen.core.params import AT_LEAST_0, COUNT, ON_AXES, POSITIVE
from unseen.core.sums import Sums
from unseen.models.refits import row_map


class CCA(ZeroShotClassifier):
    """Canonical correlation analysis: rows and classes meet where they correlate.

    Choose it for embeddings with many related dimensions, such as word vectors.

    Parameters
    ----------
    regularisation : float, default=0.1
        Added to both covariances, in units of their mean variance.
    n_components : int or None, default=None
        Canonical directions k to keep; ``None`` keeps all there are, one fewer
        than seen classes.
    power : float, default=1.0
        Directions are weighted by their correlation to this power.
    n_axes : int or 'all', default=500
        Principal axes the features are reduced to, at most as many as there are.
    whitening : float or None, default=None
        Make the scatter inside classes round first, with this much shrinkage, and
        scale rows to unit mean square; see ``WithinClassWhitener``. Try 0.1.
    unit_rows : bool, default=True
        Scale every row of X to unit length.
    per_domain_centering : bool, default=True
        ``adapt`` centres by the means of the rows and of the competing classes.

    Attributes
    ----------
    x_weights_ : ndarray of shape (n_axes, n_components)
    embedding_weights_ : ndarray of shape (n_dims, n_components)
    correlations_ : ndarray of shape (n_components,)
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    References
    ----------
    A. Lazaridou, E. Bruni, M. Baroni, "Is this a wampimuk?", ACL 2014.

    Examples
    --------
    >>> from unseen import CCA, load_data
    >>> data = load_data("digits")
    >>> model = CCA().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> len(model.correlations_)
    6
    """

    _adapt_parameters = frozenset({"per_domain_centering", "power"})
    _parameter_constraints: dict = {
        "regularisation": POSITIVE,
        "n_components": [*COUNT, None],
        "power": AT_LEAST_0,
        **ON_AXES,
    }

    _refit = staticmethod(row_map)

    def __init__(
        self,
        regularisation=0.1,
        *,
        n_components=None,
        power=1.0,
        n_axes=500,
        whitening=None,
        unit_rows=True,
        per_domain_centering=True,
    ):
        self.regularisation = regularisation
        self.n_components = n_components
        self.power = power
        self.n_axes = n_axes
        self.whitening = whitening
        self.unit_rows = unit_rows
        self.per_domain_centering = per_domain_centering

    def _learn(self, seen: Seen) -> None:
        P, R, rho = solve_cca(seen.sums, seen.A, self.regularisation)
        k = min(self.n_components or len(rho), len(rho), len(seen.A) - 1)
        self.x_weights_, self.embedding_weights_ = P[:, :k], R[:, :k]
        self.correlations_ = rho[:k]

    @property
    def coef_(self) -> np.ndarray:  # type: ignore[override]
        """The map of rows: their projections, weighted by ``power``."""
        return self.x_weights_ * self.correlations_**self.power

    def _embed(self, A):
        R = self.embedding_weights_ * self.correlations_**self.power
        return to_unit(A @ R)

    def _score(self, P, Z):
        return Z @ P.T, np.zeros(len(Z))


def solve_cca(
    sums: Sums, A: np.ndarray, regularisation: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return projections of rows and embeddings, and their correlations."""
    n, q = sums.n_rows, A.shape[1]
    basis = row_space(A)  # elsewhere nothing correlates
    A = A @ basis
    C_xx = sums.gram / n
    C_aa = A.T @ (A * sums.counts[:, None]) / n
    C_xa = sums.class_sums.T @ A / n
    L_x = regular_root(C_xx, regularisation, len(C_xx))
    L_a = regular_root(C_aa, regularisation, q)
    half = linalg.solve_triangular(L_x, C_xa, lower=True)
    whitened = linalg.solve_triangular(L_a, half.T, lower=True).T
    U, rho, Vt = linalg.svd(whitened, full_matrices=False)
    P = linalg.solve_triangular(L_x, U, lower=True, trans="T")
    R = linalg.solve_triangular(L_a, Vt.T, lower=True, trans="T")
    return P, basis @ R, np.minimum(rho, 1)


def regular_root(C: np.ndarray, regularisation: float, n_dims: int) -> np.ndarray:
    """Return L with L Lᵀ = C + regularisation · mean variance · I.

    The mean is over ``n_dims`` dimensions, of which C may leave out some without any.
    """
    try:
        return linalg.cholesky(ridged(C, regularisation, n_dims), lower=True)
    except linalg.LinAlgError:  # equal rows: all there is in C is rounding
        values, axes = linalg.eigh(C)
        C = (axes * np.maximum(values, 0)) @ axes.T
        return linalg.cholesky(ridged(C, regularisation, n_dims), lower=True)


def ridged(C: np.ndarray, regularisation: float, n_dims: int) -> np.ndarray:
    """Return C + regularisation · mean variance · I; I alone where nothing varies."""
    ridge = regularisation * max(np.trace(C), 0) / n_dims
    return C + (ridge or 1.0) * np.eye(len(C))
