"""Class sizes: how even they are, and labels that keep to sizes."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax


def evenness(shares: np.ndarray, n_rows: int) -> float:
    """Return the number of classes that would be as uneven if even, as a share.

    The exponential of the entropy of the shares, corrected for few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.transduction.anchored_sizes import evenness
    >>> round(evenness(np.array([0.5, 0.5, 0.0, 0.0]), 10**9), 6)
    0.5
    """
    there = shares[shares > 1e-12]
    entropy = -np.sum(there * np.log(there)) + (len(there) - 1) / (2 * n_rows)
    return min(1.0, float(np.exp(entropy)) / len(shares))


def transported(
    S: np.ndarray, log_sizes: np.ndarray, shares: np.ndarray, pull: float, n_steps: int
) -> np.ndarray:
    """Return log sizes under which soft labels have nearly the given shares.

    Unbalanced transport: ``pull`` is ρ. Sizes that are known (ρ = ∞) are met exactly.
    """
    u, steps = log_sizes, n_steps if np.isfinite(pull) else 50
    weight = pull / (1 + pull) if np.isfinite(pull) else 1.0
    for _ in range(steps):
        found = softmax(S + u, axis=1).mean(axis=0)
        lack = np.log(shares) - np.log(np.maximum(found, 1e-300))
        step = weight * lack - (1 - weight) * u
        u = u + step
        if np.abs(step).max() < 1e-6:
            break
    return u - u.mean()
