"""What SynC and JLSE share: classes placed among the seen ones, and one minimiser.

X  (n_samples, p)   rows of seen classes on p axes, centred
Z  (M, k)           codes φ of the seen classes
W  (p, k)           the map                                         coef_

min_W  loss(X W Zᵀ) + lam / 2 |W|²
"""

import warnings
from collections.abc import Callable

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from unseen.core.base import ZeroShotClassifier
from unseen.core.on_axes import OnAxes
from unseen.models.refits import label_fit

# From the scores of rows to the loss and its derivative by the scores.
Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


class RelativeCodesClassifier(OnAxes):
    """Base of those whose codes say where an embedding stands among the seen ones.

    Codes are made from embeddings centred by the seen mean, whatever the domain;
    with ``per_domain_centering`` the codes themselves are centred by ``adapt``.
    """

    _refit = staticmethod(label_fit)

    def _needs_rows(self) -> bool:
        return True

    def _codes(self, candidates, own_mean):
        codes = super()._codes(candidates, False)
        return codes - codes.mean(axis=0) if own_mean else codes

    def _describe(self, unlabelled, rows, name):
        # Where an embedding stands among the seen ones cannot be told from rows.
        return ZeroShotClassifier._describe(self, unlabelled, rows, name)


def squared_hinge(codes: np.ndarray, n_classes: int) -> Loss:
    """Return the loss of one class against each other; see the head."""
    signs = 2 * np.eye(n_classes)[codes] - 1

    def loss(F):
        slack = np.maximum(1 - signs * F, 0)
        return float(np.vdot(slack, slack) / F.size), -2 / F.size * signs * slack

    return loss


def minimise_loss(
    loss: Loss, X: np.ndarray, Z: np.ndarray, lam: float, *, max_iter: int, tol: float
) -> tuple[np.ndarray, list[float]]:
    """Minimise  loss(X W Zᵀ) + lam / 2 |W|²  by L-BFGS; return W and the history.

    Steps are made in V, with W = (scale ∘ V) Rᵀ: there the squared loss would be
    round (nearly so, if the columns of X are correlated), and few steps do.
    """
    from scipy.optimize import minimize

    values, R = linalg.eigh(Z.T @ Z)
    squares = np.einsum("ij,ij->j", X, X)
    curvature = 2 / (len(X) * len(Z)) * np.outer(squares, np.maximum(values, 0))
    scale = 1 / np.sqrt(curvature + lam)
    ZR = Z @ R

    def objective(v):
        W = scale * v.reshape(scale.shape)
        value, G = loss(X @ W @ ZR.T)
        slope = scale * (X.T @ G @ ZR + lam * W)
        return value + lam / 2 * np.vdot(W, W), slope.ravel()

    value, slope = objective(start := np.zeros(scale.size))
    steepest, history = np.abs(slope).max(), [value]
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: history.append(intermediate_result.fun),
        options={
            "maxiter": max_iter,
            "maxfun": 4 * max_iter,
            "gtol": tol * steepest,
            "ftol": 1e-12,
        },
    )
    if found.status == 1:
        warnings.warn(
            f"All max_iter={max_iter} steps used; the largest derivative is still "
            f"{np.abs(found.jac).max() / steepest:.1e} of that at the start "
            f"(tol={tol:.1e}). Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return scale * found.x.reshape(scale.shape) @ R.T, [float(v) for v in history]
