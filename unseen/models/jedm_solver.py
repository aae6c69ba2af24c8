"""The sweeps of JEDM over the seen classes: equations (2) to (7), on sums only.

Letters as in jedm.py. Given alpha and beta of shape (n, 1, 1), a sweep solves n
problems in one go, each to the same bits as alone.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from unseen._linalg import (
    inverse_positive,
    plus_diagonal,
    right_factor,
    solve_positive,
    transposed,
)
from unseen._progress import counted
from unseen.models.dictionary import DICTIONARY_SOLVERS
from unseen.models.products import Products


class Codes(NamedTuple):
    """CᵀC, CᵀX and CᵀY of the present codes."""

    CtC: np.ndarray
    CtX: np.ndarray
    CtY: np.ndarray


def update_codes(s: Products, D, Z, alpha, ridge) -> Codes:
    """Equation (4), as products: C = X P + Y Q."""
    K = D @ transposed(D) + alpha * (transposed(Z) @ Z)
    K_inverse = inverse_positive(plus_diagonal(K, ridge)) if ridge else pinvh(K)
    P, Q = transposed(D) @ K_inverse, alpha * Z @ K_inverse
    CtX = transposed(P) @ s.XtX + transposed(Q) @ s.XtY.T
    CtY = transposed(P) @ s.XtY + transposed(Q) @ s.YtY
    CtC = CtX @ P + CtY @ Q
    return Codes((CtC + transposed(CtC)) / 2, CtX, CtY)


def update_compatibility(codes: Codes, right, gamma) -> np.ndarray:
    """Equation (6): V = (CᵀC + gamma I)⁻¹ CᵀY right.

    With ``right`` = A (AᵀA + ridge I)⁻¹. With that times Aᵀ, which has a column per
    class and no longer one per dimension, it is the prototypes V Aᵀ that come out.
    """
    target = codes.CtY @ right
    if np.all(gamma):
        ridge = gamma if np.ndim(gamma) == 0 else gamma[..., 0]
        return solve_positive(plus_diagonal(codes.CtC.copy(), ridge), target)
    return pinvh(codes.CtC) @ target


def pinvh(K) -> np.ndarray:
    """Return the pseudo-inverse of a symmetric matrix, or of every one of a stack."""
    return linalg.pinvh(K) if K.ndim == 2 else np.stack([*map(linalg.pinvh, K)])


def objective(s: Products, codes: Codes, D, Z, alpha, beta) -> float | np.ndarray:
    """Equation (2)."""
    if codes.CtC.ndim == 3:
        shape = (len(codes.CtC), 1, 1)
        each = [np.broadcast_to(a, (*shape[:1], *a.shape[-2:])) for a in (D, Z)]
        weights = (np.broadcast_to(a, shape)[:, 0, 0] for a in (alpha, beta))
        parts = zip(*codes, *each, *weights, strict=True)
        return np.array([objective(s, Codes(*p[:3]), *p[3:]) for p in parts])
    reconstruction = (
        np.trace(s.XtX) - 2 * np.vdot(codes.CtX, D) + np.vdot(codes.CtC, D @ D.T)
    )
    labels = np.trace(s.YtY) - 2 * np.vdot(codes.CtY, Z.T) + np.vdot(codes.CtC, Z.T @ Z)
    return float(reconstruction + alpha * labels + beta * np.vdot(Z, Z))


def solve_jedm(
    s: Products,
    A,
    D,
    V,
    *,
    alpha,
    beta,
    embedding_ridge,
    code_ridge,
    dictionary,
    max_iter,
    tol,
    reference_order,
):
    """Alternate the three updates; return D, V and the objective after each sweep.

    The paper sweeps C, V, D. The authors' program makes C once and sweeps V, D, C,
    which is the same chain of updates, looked at one step later.
    """
    solve_dictionary = DICTIONARY_SOLVERS[dictionary]
    right = right_factor(A, embedding_ridge)
    to_classes = right @ A.T
    Z = A @ V.T
    codes = update_codes(s, D, Z, alpha, code_ridge)
    history = [objective(s, codes, D, Z, alpha, beta)]
    for sweep in counted("sweeps", range(max_iter)):
        if sweep and not reference_order:
            codes = update_codes(s, D, Z, alpha, code_ridge)
        learned_from = codes
        Z = transposed(update_compatibility(codes, to_classes, beta / alpha))
        D = solve_dictionary(codes.CtC, codes.CtX, D, dtype=s.dtype)
        if reference_order:
            codes = update_codes(s, D, Z, alpha, code_ridge)
        history.append(objective(s, codes, D, Z, alpha, beta))
        drop = history[-2] - history[-1]
        if tol and drop <= tol * abs(history[0]):
            break
    else:
        if tol:
            warnings.warn(
                f"All max_iter={max_iter} sweeps used; the last still lowered the "
                f"objective by {drop:.1e} to {history[-1]:.4g} (tol={tol:.1e}). "
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
    # The sweeps know V by its prototypes only: made whole once, at the end.
    return D, update_compatibility(learned_from, right, beta / alpha), history
