"""The dictionary step: least squares under a bound on every atom's length.

    C  (n_samples, d)   codes, met only through CᵀC and CᵀX
    D  (d, n_features)  dictionary, one atom per row

    min_D  |X - C D|²   subject to   |D_i|² ≤ 1 for every atom i

By ADMM to convergence, as the paper says, or by the authors' 49 steps. Both take and
return stacks of problems, one per leading index.
"""

import warnings

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from unseen.core.linalg import inverse_positive, transposed


def solve_by_admm(
    CtC: np.ndarray, CtX: np.ndarray, D: np.ndarray, *, dtype=None, steps=None
) -> np.ndarray:
    """Solve by the alternating direction method of multipliers, starting at D.

    Works in the eigenbasis of CᵀC, where any ρ costs one division, and keeps ρ in
    balance: it doubles when the two copies disagree by more than ten times what
    the projected copy moves, and halves in the opposite case. Stops when both are
    below ``tol`` relative to the dictionary; returns the projected copy. Always in
    float64: ``dtype`` stands for a common signature. How many steps it took is added
    to the list ``steps``.
    """
    tol, max_steps = 1e-8, 10_000
    values, basis = np.linalg.eigh(CtC)
    values = np.maximum(values, 0)[..., None]  # rounding may leave less
    target = transposed(basis) @ CtX
    rho = max(values.mean(), np.finfo(float).tiny)
    R, U = shorten(D), np.zeros_like(CtX)
    for step in range(1, max_steps + 1):
        # D = (CᵀC + ρI)⁻¹ (CᵀX + ρ (R - U))
        right = target + rho * (transposed(basis) @ (R - U))
        D = basis @ (right / (values + rho))
        previous, R = R, shorten(D + U)
        U += D - R
        disagreement, movement = linalg.norm(D - R), linalg.norm(R - previous)
        if max(disagreement, movement) <= tol * max(linalg.norm(R), 1e-300):
            if steps is not None:
                steps.append(step)
            return R
        if step % 10 == 0 and disagreement > 10 * movement:
            rho, U = 2 * rho, U / 2
        elif step % 10 == 0 and movement > 10 * disagreement:
            rho, U = rho / 2, 2 * U
    warnings.warn(
        f"ADMM used all its {max_steps} steps; its copies of the dictionary still "
        f"differ by {disagreement:.1e} (tol={tol:.1e}).",
        ConvergenceWarning,
        stacklevel=2,
    )
    return R


# The authors' penalties: 1, shrinking by 0.999.
RHO = 0.999 ** np.arange(49)


def solve_by_reference_admm(
    CtC: np.ndarray, CtX: np.ndarray, D: np.ndarray, *, dtype=np.float64, steps=None
) -> np.ndarray:
    """Take the authors' ADMM steps: ρ = 1 shrinking by 0.999, at most 49 of them.

    Stops when the mean over atoms of (mean change of an atom)² is at most 1e-12,
    and returns the copy that was not projected. The steps are taken in ``dtype``.

    Each problem of a stack is solved to the same bits as alone: a step of one is so
    short that threads mostly wait for each other between its products.
    """
    powers, weights = shrinking_inverses(CtC, dtype)
    CtX, D = CtX.astype(dtype, copy=False), np.broadcast_to(D, CtX.shape).astype(dtype)
    n, d, p = D.shape
    ones, enough = np.ones(p, dtype=dtype), 1e-12 * d * p**2
    total = D @ ones
    G, cut = D, np.zeros((n, 1), dtype=dtype)  # D + U, and the share that is too long
    found, places = np.empty(D.shape), np.arange(n)
    for rho, weight in zip(RHO.tolist(), weights, strict=True):
        # Projecting leaves R = G - cut G, and the new U = cut G: R - U = G - 2 cut G.
        right = G * (rho * (1 - 2 * cut))[..., None]
        right += CtX
        D = (weight @ powers).reshape(-1, d, d) @ right
        G = D + G * cut[..., None] if cut.any() else D
        cut = 1 - 1 / np.sqrt(np.maximum(np.einsum("nij,nij->ni", G, G), 1))
        before, total = total, D @ ones
        moves = np.array([moved @ moved > enough for moved in total - before])
        if not moves.all():
            found[places[~moves]] = D[~moves]
            if not moves.any():
                break
            kept = (a[moves] for a in (places, powers, CtX, D, G, cut, total))
            places, powers, CtX, D, G, cut, total = kept
    else:
        found[places] = D
    if steps is not None:
        steps.append(int(np.flatnonzero(RHO == rho)[0]) + 1)
    return found


def shrinking_inverses(CtC: np.ndarray, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return powers (n, k, d²) and weights (49, k): weights @ powers = (CᵀC + ρI)⁻¹.

    All 49 penalties lie within 2.5 % of the middle one, and with H its inverse

        (CᵀC + ρI)⁻¹ = Σ_k (ρ₀ - ρ)^k H^(k+1)

    gains 1.6 digits a term, since |H| ≤ 1/ρ₀: far cheaper than 49 factorisations.
    """
    middle = (RHO[0] + RHO[-1]) / 2
    shrink = (RHO[0] - middle) / middle
    n_terms = int(np.ceil(np.log(np.finfo(dtype).eps) / np.log(shrink)))
    powers = np.empty((len(CtC), n_terms, *CtC.shape[1:]), dtype=dtype)
    powers[:, 0] = inverse_positive(CtC + middle * np.eye(CtC.shape[-1]))
    for k in range(1, n_terms):
        np.matmul(powers[:, k - 1], powers[:, 0], out=powers[:, k])
    weights = (middle - RHO)[:, None] ** np.arange(n_terms)
    return powers.reshape(len(CtC), n_terms, -1), weights.astype(dtype, copy=False)


def shorten(D: np.ndarray) -> np.ndarray:
    """Return D with every atom longer than 1 cut to length 1."""
    return D / np.maximum(np.linalg.norm(D, axis=-1, keepdims=True), 1)


DICTIONARY_SOLVERS = {"admm": solve_by_admm, "reference": solve_by_reference_admm}
