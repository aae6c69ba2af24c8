"""Small symmetric systems, which sweeps and rounds solve by the thousand.

For matrices of a hundred rows BLAS multiplies several times faster than it solves with
a triangle, and the checks of general solvers take as long as the work: the Cholesky
factor is inverted, and all else is products.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg


def solve_positive(K: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return K⁻¹ right for a symmetric positive K in float64.

    >>> import numpy as np
    >>> from unseen._linalg import solve_positive
    >>> solve_positive(np.diag([2.0, 4.0]), np.array([[1.0], [1.0]]))
    array([[0.5 ],
           [0.25]])
    """
    root = inverse_factor(K)
    return root.T @ (root @ right)


def inverse_positive(K: np.ndarray) -> np.ndarray:
    """Return K⁻¹, exactly symmetric, for a symmetric positive K in float64."""
    root = inverse_factor(K)
    return root.T @ root


def inverse_factor(K: np.ndarray) -> np.ndarray:
    """Return L⁻¹ of K = L Lᵀ."""
    L, failed = linalg.lapack.dpotrf(K.T, lower=1)
    if failed:
        raise linalg.LinAlgError("The matrix of a step is not positive definite.")
    return linalg.lapack.dtrtri(L, lower=1, overwrite_c=1)[0]


def plus_diagonal(K: np.ndarray, ridge: float) -> np.ndarray:
    """Return K + ridge I; K itself is changed."""
    K.flat[:: len(K) + 1] += ridge
    return K
