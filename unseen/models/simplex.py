"""Codes on the simplex: an embedding as a mixture of a few others.

    φ(a) = argmin_z  |a - z S|² / 2 + softness / 2 |z|²,   z ≥ 0, Σ z = 1

S (M, q) are the others, a (q,) the embedding.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

__all__ = ["onto_simplex", "simplex_codes"]


def simplex_codes(
    A: np.ndarray, S: np.ndarray, softness: float, *, max_iter=10_000, tol=1e-12
) -> np.ndarray:
    """Return φ(a) for every row of A by accelerated projected gradient.

    Centring A and S alike changes nothing, for codes sum to 1.
    """
    H = S @ S.T + softness * np.eye(len(S))
    target = A @ S.T
    values = linalg.eigvalsh(H)
    largest, root = values[-1], np.sqrt(max(values[0], softness) / values[-1])
    momentum = (1 - root) / (1 + root)  # right for a strongly convex problem
    Z = ahead = np.full((len(A), len(S)), 1 / len(S))
    for _ in range(max_iter):
        before, Z = Z, onto_simplex(ahead - (ahead @ H - target) / largest)
        ahead = Z + momentum * (Z - before)
        if np.abs(Z - before).max() <= tol:
            break
    return Z


def onto_simplex(V: np.ndarray) -> np.ndarray:
    """Return the nearest point of the simplex to each row."""
    falling = -np.sort(-V, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    kept = (falling * np.arange(1, V.shape[1] + 1) > excess).sum(axis=1)
    level = np.take_along_axis(excess, kept[:, None] - 1, axis=1) / kept[:, None]
    return np.maximum(V - level, 0)
