"""How a map learns from self-labelled rows, and stays near what it was.

    B  (n, p)   self-labelled rows on the axes, centred    Y  (n, N)  their labels, 0/1
    A  (N, k)   codes of the candidate classes             W* the map before

    label_fit   min_W  |B W Aᵀ - Y|² + lam |B W - Y A|² + mu |W - W*|²
    row_map     min_W  lam |B W - Y A|² + mu |W - W*|²
    class_map   min_W  lam |B - Y A Wᵀ|² + mu |W - W*|²

The pulls to the prototype of the label and to the map before are the paper's two
baselines. Each takes the map before, the codes and the sums of the chosen rows, and
returns the map and the objective.
"""

import numpy as np
from scipy import linalg

from unseen.core.linalg import solve_ridge, to_unit
from unseen.core.outcome import LinearScorer, nearest_scorer
from unseen.core.sums import Sums


def label_fit(
    before: np.ndarray, A: np.ndarray, sums: Sums, lam: float, mu: float
) -> tuple[np.ndarray, float]:
    """BᵀB W (AᵀA + lam I) + mu W = (1 + lam) BᵀY A + mu W*, by division."""
    G, S = sums.gram, sums.class_sums.T
    # AᵀA + lam I has at most N values other than lam: a thin SVD tells all.
    _, sizes, Q = linalg.svd(A, full_matrices=False)
    values, U = linalg.eigh(G)
    values = np.maximum(values, 0)[:, None]
    right = U.T @ ((1 + lam) * S @ A + mu * before)
    inside = right @ Q.T  # in the span of the codes, and outside of it
    solved = inside / (values * (sizes**2 + lam) + mu)
    outside = (right - inside @ Q) / (values * lam + mu)
    W = U @ (solved @ Q + outside)
    fit = W @ A.T
    labels = np.vdot(G @ fit, fit) - 2 * np.vdot(S, fit) + sums.n_rows
    near = lam * misfit(sums, A, W) + mu * linalg.norm(W - before) ** 2
    return W, float(labels + near)


def row_map(
    before: np.ndarray, A: np.ndarray, sums: Sums, lam: float, mu: float
) -> tuple[np.ndarray, float]:
    """(lam BᵀB + mu I) W = lam BᵀY A + mu W*."""
    target = sums.class_sums.T @ A
    W = solve_ridge(lam * sums.gram, mu, lam * target + mu * before)
    near = lam * misfit(sums, A, W) + mu * linalg.norm(W - before) ** 2
    return W, float(near)


def misfit(sums: Sums, A: np.ndarray, W: np.ndarray) -> float:
    """Return |B W - Y A|², from sums."""
    lengths, target = np.einsum("ij,ij->i", A, A), sums.class_sums.T @ A
    return np.vdot(sums.gram @ W - 2 * target, W) + sums.counts @ lengths


def class_map(
    before: np.ndarray, A: np.ndarray, sums: Sums, lam: float, mu: float
) -> tuple[np.ndarray, float]:
    """(lam Aᵀ N A + mu I) Wᵀ = lam Aᵀ YᵀB + mu W*ᵀ, N the class counts."""
    C, AtA = sums.class_sums, A.T @ (A * sums.counts[:, None])
    W = solve_ridge(lam * AtA, mu, lam * A.T @ C + mu * before.T).T
    near = np.trace(sums.gram) - 2 * np.vdot(C.T @ A, W) + np.vdot(W @ AtA, W)
    return W, float(lam * near + mu * linalg.norm(W - before) ** 2)


def nearest_prototype(Z: np.ndarray, metric: str) -> LinearScorer:
    """Return what scores the nearest prototype best, or that of the largest cosine."""
    if metric == "euclidean":
        return nearest_scorer(Z)
    return LinearScorer(to_unit(Z), np.zeros(len(Z)))
