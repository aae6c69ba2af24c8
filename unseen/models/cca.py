"""CCA: canonical correlation between rows and the embeddings of their classes.

Rows are samples.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    A  (M, q)           seen class embeddings: unit length, centred over the rows
    P  (p, k), R (q, k) projections                  x_weights_, embedding_weights_
    ρ  (k,)             canonical correlations                    correlations_

    max  corr(X P_j, Y A R_j)   for j = 1 … k, each uncorrelated with those before

With C_xx and C_aa the regularised covariances and C_xa that between both, the SVD

    C_xx^-½ C_xa C_aa^-½ = U diag(ρ) Vᵀ,   P = C_xx^-½ U,   R = C_aa^-½ V

and classes are told apart by the cosine between projections weighted by ρ^power:

    score(x, a) = (x P D) · (a R D) / |a R D|,   D = diag(ρ^power)

A row's own length is left in: it changes no argmax, and long projections are those
the model is sure of.
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import linalg

from unseen.core.linalg import row_space, to_unit
from unseen.core.on_axes import OnAxes, Seen
from unseen.core.params import AtLeast0, Count, Positive
from unseen.core.sums import Sums, inverse_root
from unseen.models.refits import row_map


@dataclass(eq=False, repr=False)
class CCA(OnAxes):
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
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.

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
    >>> data = load_data("photos-200")
    >>> model = CCA().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> len(model.correlations_)
    199
    """

    regularisation: Positive = 0.1
    _: KW_ONLY
    n_components: Count | None = None
    power: AtLeast0 = 1.0

    _adapt_parameters = frozenset({"per_domain_centering", "power"})
    _refit = staticmethod(row_map)

    def _learn(self, seen: Seen) -> None:
        P, R, rho = solve_cca(seen.sums, seen.A, self.regularisation)
        k = min(self.n_components or len(rho), len(rho), len(seen.A) - 1)
        self.x_weights_, self.embedding_weights_ = P[:, :k], R[:, :k]
        self.correlations_ = rho[:k]

    @property
    def coef_(self) -> np.ndarray:
        """The map of rows: their projections, weighted by ``power``."""
        return self.x_weights_ * self.correlations_**self.power

    def _embed(self, A):
        R = self.embedding_weights_ * self.correlations_**self.power
        return to_unit(A @ R)


def solve_cca(
    sums: Sums, A: np.ndarray, regularisation: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return projections of rows and embeddings, and their correlations."""
    n, q = sums.n_rows, A.shape[1]
    basis = row_space(A)  # elsewhere nothing correlates
    A = A @ basis
    C_xx, C_aa = sums.gram / n, A.T @ (A * sums.counts[:, None]) / n
    root_x = inverse_root(C_xx, regularisation, len(C_xx))
    root_a = inverse_root(C_aa, regularisation, q)
    U, rho, Vt = linalg.svd(
        root_x @ (sums.class_sums.T @ A / n) @ root_a, full_matrices=False
    )
    return root_x @ U, basis @ root_a @ Vt.T, np.minimum(rho, 1)
