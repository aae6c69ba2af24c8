"""SynC: synthesized classifiers (Changpinyo, Chao, Gong & Sha, CVPR 2016).

Rows are samples. The fast form: phantom classes stand at the seen ones.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    A  (M, q)           seen class embeddings, of unit length
    W  (p, M)           one classifier per seen class                   coef_
    K(a, A_c)           exp(-sharpness |a - A_c|² / median²), rows summing to 1

    min_W  loss(X W) + lam / 2 |W|²
    φ(a) = K(a, A) K(A, A)⁺,     score(x, a) = x W φ(a)

With n rows, signs I = ±1 (+ for the own class) and y the own class, the loss is

    one_vs_other   1/(n M) Σ_ic max(0, 1 - I_ic x_i W_c)²
    structured     1/n Σ_i max_c (|A_c - A_y| + x_i W_c - x_i W_y)
    squared        1/(n M) Σ_ic (I_ic - x_i W_c)²

The maximum is smoothed to  smoothing · log Σ_c exp(· / smoothing).  The median is
that of the distances between seen classes, so that it does not change with those who
compete; the paper's also looks at the unseen.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist, pdist
from scipy.special import logsumexp

from unseen.core.linalg import solve_on_axes
from unseen.core.on_axes import Seen
from unseen.core.params import Count, Positive
from unseen.core.sums import label_products
from unseen.models.relative_codes import (
    Loss,
    RelativeCodesClassifier,
    minimise_loss,
    squared_hinge,
)


@dataclass(eq=False, repr=False)
class SynC(RelativeCodesClassifier):
    """Synthesized classifiers: those of the seen classes, combined by similarity.

    Choose it for many, finely graded classes, where the neighbours of a class say
    more than its single attributes. It needs the rows, but for ``loss='squared'``,
    which needs only sums.

    Parameters
    ----------
    lam : float, default=1e-5
        Ridge on the classifiers.
    sharpness : float, default=1.0
        How fast similarity falls with distance.
    loss : {'one_vs_other', 'structured', 'squared'}, default='one_vs_other'
        What the classifiers of the seen classes minimise.
    smoothing : float, default=0.1
        Width of the corner of the structured loss.
    max_iter : int, default=300
        Steps of L-BFGS at most; not for ``'squared'``.
    tol : float, default=1e-3
        Stop when no derivative is larger than this share of the largest at the start.
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_seen)
        Classifiers of the seen classes, on the principal axes.
    history_ : list of float
        Objective at the start and after every step.
    n_iter_ : int
        Steps made; 1, the solve, for ``'squared'``.
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    Notes
    -----
    In ``SelfTraining`` the refit is that of ``ESZSL`` with the codes φ in place of
    embeddings: the map learns the labels of the rows, near to what it was.

    References
    ----------
    S. Changpinyo, W.-L. Chao, B. Gong, F. Sha, "Synthesized classifiers for
    zero-shot learning", CVPR 2016.

    Examples
    --------
    >>> from unseen import SynC, load_data
    >>> data = load_data("photos-200")
    >>> model = SynC(loss="squared").fit(data.X_seen, data.y_seen,
    ...                                  class_embeddings=data.class_embeddings)
    >>> model.coef_.shape
    (199, 200)
    """

    lam: Positive = 1e-5
    _: KW_ONLY
    sharpness: Positive = 1.0
    loss: Literal["one_vs_other", "structured", "squared"] = "one_vs_other"
    smoothing: Positive = 0.1
    max_iter: Count = 300
    tol: Positive = 1e-3

    _adapt_parameters = frozenset({"sharpness", "per_domain_centering"})

    def _needs_rows(self) -> bool:
        return self.loss != "squared"

    def _learn(self, seen: Seen) -> None:
        self._phantoms, M = seen.A, len(seen.A)
        self.history_: list[float] = []
        if self.loss == "squared":
            XtX, XtY, *_ = label_products(seen.sums, "signed")
            ridge = self.lam * seen.sums.n_rows * M / 2
            self.coef_ = solve_on_axes(XtX, XtY, ridge, diagonal=seen.diagonal)
            self.n_iter_ = 1  # one solve
            return
        loss = squared_hinge(seen.codes, M)
        if self.loss == "structured":
            loss = structured(seen.codes, cdist(seen.A, seen.A), self.smoothing)
        self.coef_, self.history_ = minimise_loss(
            loss, seen.B, np.eye(M), self.lam, max_iter=self.max_iter, tol=self.tol
        )
        self.n_iter_ = len(self.history_) - 1

    def _embed(self, A):
        return combine_phantoms(A, self._phantoms, self.sharpness)


def combine_phantoms(A: np.ndarray, S: np.ndarray, sharpness: float) -> np.ndarray:
    """Return φ = K(A, S) K(S, S)⁺: how classifiers of S make those of A."""
    distances = pdist(S)
    median = np.median(distances[distances > 0]) if distances.any() else 1.0

    def similar(to):
        K = -sharpness * cdist(to, S, "sqeuclidean") / median**2
        return np.exp(K - logsumexp(K, axis=1, keepdims=True))

    return similar(A) @ linalg.pinv(similar(S), rtol=1e-8)


def structured(codes: np.ndarray, margins: np.ndarray, smoothing: float) -> Loss:
    """Return the smoothed structured loss; see the head."""
    rows = np.arange(len(codes))
    wanted = margins[codes]

    def loss(F):
        V = (wanted + F - F[rows, codes][:, None]) / smoothing
        total = logsumexp(V, axis=1, keepdims=True)
        G = np.exp(V - total) / len(F)
        G[rows, codes] -= 1 / len(F)
        return float(smoothing * total.mean()), G

    return loss
