"""StatA: class statistics anchored to texts (Zanella, Fuchs et al., CVPR 2025).

    U  (n, r)   rows at unit length             q  (n, N)   soft labels of the start
    t  (N, r)   prototypes at unit length       z  (n, N)   soft labels
    μ, s  (N, r)   mean and variances of each class; at first t, and for every class
                   s₀ = Σ_ic z_ic (u_i - t_c)² / n

    z ← softmax(log q + w ℓ + (W + Wᵀ) z / 2k)     five times; W: cosines of k nearest
        ℓ_ic = -½ Σ_j (u_ij - μ_cj)²/s_cj - ½ Σ_j log s_cj
    β_c = n_c / (n_c + a)                          n_c rows have label c
    μ_c ← unit(β_c unit(Σ_i z_ic u_i) + (1 - β_c) t_c)
    s_c ← β_c (variances of class c around μ_c) + (1 - β_c) (s₀ + (t_c - μ_c)²)

A class without rows keeps its prototype, so absent classes do little harm.
"""

import numpy as np
from scipy.special import log_softmax, softmax

from unseen.core.around import Relabelled, estimator_of
from unseen.core.linalg import to_unit
from unseen.core.params import AtLeast0, Count, Positive
from unseen.core.start import Start
from unseen.progress import counted
from unseen.transduction.graph import nearest_cosines

SMALLEST = 1e-8  # variance of a feature


def stata(
    start: Start,
    *,
    anchor: Positive = 1.0,
    likelihood_weight: AtLeast0 = 0.02,
    n_neighbors: Count = 3,
    n_rounds: Count = 10,
) -> Relabelled:
    """StatA: a mixture whose means and variances are anchored to the prototypes.

    Parameters
    ----------
    anchor : float, default=1.0
        a, what a prototype is worth in rows.
    likelihood_weight : float, default=0.02
        w, what the mixture counts.
    n_neighbors : int, default=3
        k; neighbours count 1/2k each way.
    n_rounds : int, default=10
        A fixed number, as in the authors' program.

    Notes
    -----
    After the authors' public program, written anew, with its defaults. Variances are
    held above a floor, so that a constant feature is no error. New rows go to the
    nearest of the class means of the labelled rows.

    References
    ----------
    M. Zanella, C. Fuchs, C. De Vleeschouwer, I. Ben Ayed, "Realistic test-time
    adaptation of vision-language models", CVPR 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import StatA
    >>> rng = np.random.default_rng(0)
    >>> texts, truth = rng.normal(size=(3, 20)), np.repeat([0, 1, 2], 40)
    >>> X = texts[truth] + 0.8 * rng.normal(size=(120, 20))
    >>> model = StatA.from_prototypes(texts).adapt(X)
    >>> bool((model.labels_ == truth).mean() > 0.95)
    True
    """
    A = nearest_cosines(start.rows, n_neighbors)
    texts = log_softmax(start.logits.astype(np.float64), axis=1)
    U, t = to_unit(start.rows), to_unit(start.prototypes).astype(np.float64)
    z, rounds = np.exp(texts), []
    first = np.maximum(scatter(U, z, t).sum(axis=0) / len(U), SMALLEST)
    mu, s = t, np.tile(first, (len(t), 1))
    for number in counted("rounds", range(n_rounds + 1)):
        before = z
        fixed = texts + likelihood_weight * likelihood(U, mu, s)
        for _ in range(5):
            scores = fixed + A @ z
            z = softmax(scores, axis=1)
        rounds.append(start.round(before, z))
        if number < n_rounds:  # the last round only labels
            mu, s = anchored(U, z, t, first, anchor)
    return Relabelled(scores, rounds)


def likelihood(U: np.ndarray, mu: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return ℓ, (n, N)."""
    inverse, scaled = (1 / s).astype(U.dtype), (mu / s).astype(U.dtype)
    constant = np.sum(mu**2 / s + np.log(s), axis=1)
    return -((U * U) @ inverse.T - 2 * (U @ scaled.T) + constant) / 2


def scatter(U: np.ndarray, z: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Σ_i z_ic (u_i - μ_c)², a row per class, from moments."""
    z = z.astype(U.dtype)
    return z.T @ (U * U) - 2 * mu * (z.T @ U) + z.sum(axis=0)[:, None] * mu**2


def anchored(U, z, t, first, anchor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return μ and s: those of the rows, as far as a class has rows."""
    sizes = np.bincount(z.argmax(axis=1), minlength=len(t))
    beta = (sizes / (sizes + anchor))[:, None]
    sums = (z.T.astype(U.dtype) @ U).astype(np.float64)
    mu = to_unit(beta * to_unit(sums) + (1 - beta) * t)
    own = scatter(U, z, mu) / np.maximum(z.sum(axis=0), 1e-300)[:, None]
    s = beta * own + (1 - beta) * (first + (t - mu) ** 2)
    return mu, np.maximum(s, SMALLEST)


StatA = estimator_of(stata, "StatA")
