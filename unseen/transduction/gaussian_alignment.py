"""ADAPT, transductive: one Gaussian per class, one covariance (Zhang et al. 2025).

    U  (n, r)   rows at unit length             q  (n, N)   soft labels of the start
    t  (N, r)   prototypes at unit length       l  (n, N)   logits of the start, 100 cos

    bank    of class c: of the rows with label c, those L with the least entropy of q;
            V (M, r) all banks, Y (M, N) q_ic for a row of bank c, 0 elsewhere
    μ_c  =  α (Σ_bank q_ic u_i + Σ_i q_ic u_i) / (Σ_bank q_ic + Σ_i q_ic) + (1 - α) t_c;
            t_c for an empty bank
    S    =  covariance of the bank's rows less their μ
    Q    =  r ((M - 1) S + tr S · I)⁻¹

    g    =  log softmax(U Q μᵀ - ½ diag(μ Q μᵀ)) + s/2M · (U Vᵀ) Y
    score = log(prior) + g / s

One pass, nothing is repeated. The prior is l itself, as in the authors' program, where
it stands for a soft label; or q.
"""

from typing import Literal

import numpy as np
from scipy.special import entr, log_softmax

from unseen.core.around import Relabelled, estimator_of
from unseen.core.linalg import to_unit
from unseen.core.outcome import rank_within
from unseen.core.params import Count, Positive, Share
from unseen.core.start import Start


def gaussian_alignment(
    start: Start,
    *,
    bank_size: Count = 6,
    alpha: Share = 0.9,
    scale: Positive = 60.0,
    prior: Literal["logits", "probabilities"] = "logits",
) -> Relabelled:
    """ADAPT: Gaussian discriminant analysis from the clearest rows of each class.

    Parameters
    ----------
    bank_size : int, default=6
        L, clear rows per class that make the covariance and count twice in the means.
    alpha : float in [0, 1], default=0.9
        How far means move from the prototypes to the rows.
    scale : float, default=60.0
        s, what divides the Gaussians' log-likelihood.
    prior : {'logits', 'probabilities'}, default='logits'
        What the likelihood is multiplied with: the start's logits where they are
        positive, as cosines of CLIP are, or its soft labels.

    Notes
    -----
    It does what the authors' public program does for all rows at once. Theirs has a
    ``scale`` of its own for every data set, 10 to 100; ours is their median. A prior
    of soft labels, and the floor of the logits, are ours. New rows go to the nearest
    of the class means of the labelled rows.

    References
    ----------
    Y. Zhang, Y. Kim, Y.-G. Choi, H. Kim, H. Liu, S. Hong, "Backpropagation-free
    test-time adaptation via probabilistic Gaussian alignment", NeurIPS 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import GaussianAlignment
    >>> rng = np.random.default_rng(0)
    >>> texts, truth = rng.normal(size=(3, 20)), np.repeat([0, 1, 2], 40)
    >>> X = texts[truth] + 0.8 * rng.normal(size=(120, 20))
    >>> model = GaussianAlignment.from_prototypes(texts).adapt(X)
    >>> bool((model.labels_ == truth).mean() > 0.95)
    True
    """
    U, t = (to_unit(M.astype(np.float64)) for M in (start.rows, start.prototypes))
    logits = start.logits.astype(np.float64)
    log_q = log_softmax(logits, axis=1)
    q = np.exp(log_q)
    bank, labels = clearest(q, bank_size)
    V, Y = U[bank], np.zeros((len(bank), len(t)))
    Y[np.arange(len(bank)), labels] = q[bank, labels]
    mu = class_means(U, q, V, Y, t, alpha)
    g = log_softmax(gaussian_logits(U, mu, precision(V - mu[labels])), axis=1)
    g += scale / (2 * len(V)) * (U @ V.T) @ Y
    by_logits = prior == "logits"
    scores = (np.log(np.maximum(logits, 1e-12)) if by_logits else log_q) + g / scale
    note = f"{len(V):,} clear rows of {len(np.unique(labels)):,} classes."
    return Relabelled(scores, [start.round(start.scores, scores, note=note)])


def clearest(q: np.ndarray, bank_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of all banks and their labels."""
    labels = q.argmax(axis=1)
    order, place, _ = rank_within(labels, -entr(q).sum(axis=1))
    bank = np.sort(order[place < bank_size])
    return bank, labels[bank]


def class_means(U, q, V, Y, t, alpha: float) -> np.ndarray:
    """Return μ: rows by their soft labels, those of the bank twice, and prototypes."""
    sums, weights = q.T @ U + Y.T @ V, q.sum(axis=0) + Y.sum(axis=0)
    moved = alpha * sums / np.maximum(weights, 1e-300)[:, None] + (1 - alpha) * t
    return np.where((Y > 0).any(axis=0)[:, None], moved, t)


def precision(around: np.ndarray) -> np.ndarray:
    """Return Q, the inverse covariance of rows around their means, held round."""
    M, r = around.shape
    centred = around - around.mean(axis=0)
    scatter = centred.T @ centred
    trace = np.trace(scatter) / max(M - 1, 1)
    if trace <= 1e-12:  # one row, or equal ones
        return np.eye(r)
    return r * np.linalg.inv(scatter + trace * np.eye(r))


def gaussian_logits(U: np.ndarray, mu: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return log-likelihoods of rows but for what is the same for every class."""
    W = mu @ Q
    return U @ W.T - np.sum(W * mu, axis=1) / 2


GaussianAlignment = estimator_of(gaussian_alignment, "GaussianAlignment")
