"""EM-Dirichlet: clusters of soft labels on the simplex (Martin et al., CVPR 2024).

    z  (n, N)   softmax of scaled logits: a row of text similarities each
    u  (n, N)   which cluster a row belongs to        π = mean of u
    α  (N, N)   one Dirichlet distribution per cluster

    min  -Σ_ik u_ik log Dir(z_i | α_k) + Σ_ik u_ik log u_ik - w n Σ_k π_k log π_k

    u ← softmax(log Dir(z | α) + w (log π + 1))        hard: argmax, no entropy of u
    α ← the root of a quadratic bound of each log Γ    (MM: never raises the sum)

The last term is large when clusters are many, so w asks for few. At the end clusters
get the names of classes by the best one-to-one assignment.
"""

from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln, log_softmax, softmax, xlogy

from unseen.core.around import Relabelled, estimator_of
from unseen.core.params import AtLeast0, Count, Positive
from unseen.core.start import Start
from unseen.progress import counted


def em_dirichlet(
    start: Start,
    *,
    labels: Literal["soft", "hard"] = "soft",
    few_classes: AtLeast0 | None = 0.0,
    scale: Positive = 0.3,
    n_rounds: Count = 20,
    n_steps: Count = 1000,
) -> Relabelled:
    """EM-Dirichlet: clusters the soft labels themselves, and names the clusters.

    It looks at the rows only through the scores of the start. Labels of rounds are
    those of clusters as they began; the last round's are named by the assignment.

    Parameters
    ----------
    labels : {'soft', 'hard'}, default='soft'
        Whether a row belongs to clusters by shares or to one.
    few_classes : float or None, default=0.0
        w, how much fewer clusters are preferred. ``None`` is the authors' value,
        a fifth of the number of classes, rounded down. It was set for a few rows of
        five of the classes; where rows of all classes are there, it empties most.
    scale : float, default=0.3
        Times the logits of the start before the softmax; of CLIP's 100 that makes the
        authors' 30.
    n_rounds : int, default=20
    n_steps : int, default=1000
        Of α, in a round, at most: a cluster whose α has settled takes no more.

    Notes
    -----
    After the authors' public program, written anew, with its numbers of rounds and
    steps. New rows go to the nearest of the class means of the labelled rows.

    References
    ----------
    S. Martin, Y. Huang, F. Shakeri, J.-C. Pesquet, I. Ben Ayed, "Transductive
    zero-shot and few-shot CLIP", CVPR 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import EMDirichlet
    >>> rng = np.random.default_rng(0)
    >>> texts, truth = rng.normal(size=(3, 20)), np.repeat([0, 1, 2], 40)
    >>> X = texts[truth] + 0.8 * rng.normal(size=(120, 20))
    >>> model = EMDirichlet.from_prototypes(texts, n_steps=50).adapt(X)
    >>> bool((model.labels_ == truth).mean() > 0.95)
    True
    """
    log_z = log_softmax(scale * start.logits.astype(np.float64), axis=1)
    z, N = np.exp(log_z), log_z.shape[1]
    w = float(N // 5 if few_classes is None else few_classes)
    hard = labels == "hard"
    u, alpha, rounds = z, np.ones((N, N)), []
    for number in counted("rounds", range(n_rounds)):
        alpha = update_alpha(alpha, u, log_z, n_steps)
        before, scores = u, cluster_scores(log_z, alpha, u, w)
        u = np.eye(N)[scores.argmax(axis=1)] if hard else softmax(scores, axis=1)
        value = objective(u, log_z, alpha, w, hard=hard)
        if number == n_rounds - 1:
            order = name_clusters(u, z)
            u, scores = u[:, order], scores[:, order]
        rounds.append(start.round(before, u, value))
    return Relabelled(scores, rounds)


def cluster_scores(log_z, alpha, u, w) -> np.ndarray:
    """Return log Dir(z | α) + w (log π + 1); an empty cluster stays empty."""
    scores = log_dirichlet(log_z, alpha)
    if w:
        with np.errstate(divide="ignore"):
            scores += w * (np.log(u.mean(axis=0)) + 1)
    return scores


def log_dirichlet(log_z: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the log density of every row under every cluster, (n, N)."""
    constant = gammaln(alpha.sum(axis=1)) - gammaln(alpha).sum(axis=1)
    return log_z @ (alpha - 1).T + constant


def update_alpha(alpha, u, log_z, n_steps: int) -> np.ndarray:
    """Take steps of each cluster's α; a cluster without rows keeps its own.

    With a the present value and ȳ the mean of log z in the cluster: log Γ(α + 1) lies
    below a parabola of curvature c, log Γ(Σ α) above a line, and c α² + b α = 1.
    """
    sizes = u.sum(axis=0)
    mean = u.T @ log_z / np.maximum(sizes, 1e-300)[:, None]
    result, moving = alpha.copy(), np.flatnonzero(sizes > 1e-12)
    for _ in range(n_steps):
        a = result[moving]
        slope = digamma(a + 1)
        c = np.abs(2 * (slope * a - gammaln(a + 1)) / a**2)
        b = slope - digamma(a.sum(axis=1, keepdims=True)) - c * a - mean[moving]
        new = np.maximum((np.sqrt(b**2 + 4 * c) - b) / (2 * c), 1e-10)
        result[moving] = new
        moving = moving[np.abs(new / a - 1).max(axis=1) > 1e-5]
        if not len(moving):
            break
    return result


def objective(u, log_z, alpha, w, *, hard: bool) -> float:
    """Return what the steps lower."""
    shares = u.mean(axis=0)
    value = -np.vdot(u, log_dirichlet(log_z, alpha))
    value -= w * len(u) * xlogy(shares, shares).sum()
    return float(value if hard else value + xlogy(u, u).sum())


def name_clusters(u: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return, for every class, the cluster that gets its name: the best one to one."""
    sizes = np.maximum(u.sum(axis=0), 1e-300)
    fit = z.T @ u / sizes  # classes by clusters
    return linear_sum_assignment(fit, maximize=True)[1]


EMDirichlet = estimator_of(em_dirichlet, "EMDirichlet")
