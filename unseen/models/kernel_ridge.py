"""Prototypes by kernel ridge, and what they are worth by leaving classes out.

S  (M, q)   embeddings of the seen classes      C  (M, r)  their class means
k           a kernel on embeddings, linear or RBF; several tables: averaged

α = (k(S, S) + λI)⁻¹ C          so that a class with embedding t has the
Z = k(T, S) α                   prototype k(t, S) α
e_c = α_c / [(k + λI)⁻¹]_cc     what is missed when class c is left out
PRESS = mean e²                 chooses λ, and is the variance of a class mean
                                around its prototype

Several kernels, each with its λ, are averaged: prototypes as well as left-out errors.
To choose one of them would hang on differences of a hundredth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from unseen.core.classes import unit_tables
from unseen.core.linalg import inverse_positive

RIDGES = 10.0 ** np.arange(-2.5, 2.01, 0.25)
INTERCEPT = 100.0  # added to every kernel: a mean that is hardly shrunk


class EmbeddingScale(NamedTuple):
    """Unit rows, less their mean over seen classes, over their RMS; table by table."""

    widths: tuple[int, ...]
    means: list[np.ndarray]
    sizes: list[float]

    @classmethod
    def of(cls, embeddings: np.ndarray, widths: tuple[int, ...]) -> EmbeddingScale:
        """Measure the seen embeddings."""
        units = unit_tables(embeddings, widths)
        means = [table.mean(axis=0) for table in units]
        squares = [np.sum((t - m) ** 2) for t, m in zip(units, means, strict=True)]
        sizes = [float(np.sqrt(square / len(embeddings))) or 1.0 for square in squares]
        return cls(widths, means, sizes)

    def __call__(self, embeddings: np.ndarray) -> list[np.ndarray]:
        """Return the scaled tables."""
        units = unit_tables(embeddings, self.widths)
        scaled = zip(units, self.means, self.sizes, strict=True)
        return [(table - mean) / size for table, mean, size in scaled]


def kernel(name: str, left: list[np.ndarray], right: list[np.ndarray]) -> np.ndarray:
    """Return the mean kernel over the tables: inner products, or exp(-distance²/2).

    Plus a constant, which lets the ridge fit its own mean. Centring alone would not
    do: centred means of seen classes sum to nothing, so the others would give away a
    class that is left out.
    """
    parts = []
    for a, b in zip(left, right, strict=True):
        inner = a @ b.T
        if name == "rbf":
            squares = np.sum(a * a, axis=1)[:, None] + np.sum(b * b, axis=1) - 2 * inner
            inner = np.exp(-np.maximum(squares, 0) / 2)
        parts.append(inner)
    return np.mean(parts, axis=0) + INTERCEPT


class RidgeFit(NamedTuple):
    """The ridge that leaving classes out chose, α, and what is missed of each class."""

    ridge: float
    weights: np.ndarray
    left_out: np.ndarray


def fit_ridge(S: list[np.ndarray], C: np.ndarray, name: str) -> RidgeFit:
    """Choose the ridge of a kernel by PRESS, the mean squared left-out error.

    With K = U diag(l) Uᵀ every ridge is a division, and the squared length of a
    left-out error needs products of the size of the number of classes only.
    """
    K = kernel(name, S, S)
    values, U = linalg.eigh(K)
    rotated = U.T @ C
    products = rotated @ rotated.T
    press = []
    for ridge in RIDGES:
        D = U / (values + ridge)
        diagonal = np.einsum("ij,ij->i", D, U)
        squares = np.einsum("ij,ij->i", D @ products, D) / diagonal**2
        press.append(np.mean(squares))
    ridge = float(RIDGES[np.argmin(press)])
    inverse = inverse_positive(K + ridge * np.eye(len(C)))
    weights = inverse @ C
    return RidgeFit(ridge, weights, weights / np.diag(inverse)[:, None])


def average_prototypes(
    weights: dict[str, np.ndarray], T: list[np.ndarray], S: list[np.ndarray]
) -> np.ndarray:
    """Return the mean over the kernels of ``k(T, S) @ weights``."""
    return np.mean([kernel(name, T, S) @ W for name, W in weights.items()], axis=0)


def explained_share(press: float, C: np.ndarray) -> float:
    """Return 1 - PRESS / (PRESS of predicting the mean of the other classes)."""
    M = len(C)
    by_mean = float(np.mean((C - C.mean(axis=0)) ** 2)) * (M / (M - 1)) ** 2
    return 1 - press / by_mean if by_mean else 0.0
