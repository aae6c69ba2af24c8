"""OTTER: labels by optimal transport to a class prior (Shin et al., NeurIPS 2024).

    C  (n, N)   costs, minus the log probabilities of the start
    P  (n, N)   the plan: how much of row i goes to class c
    ν  (N,)     the class prior                       ε   entropic regularisation

    min_P  Σ P C + ε Σ P log P      P 1 = 1/n,   Pᵀ1 = ν

The dual has one number per class, is concave and smooth, and its gradient is the
prior less the class shares of the plan (Sinkhorn's iteration climbs it too):

    max_g  ν·g - ε mean_i log Σ_c exp((g_c - C_ic)/ε),    label = argmax_c g_c - C_ic
"""

import warnings
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from unseen.core.around import Relabelled, estimator_of
from unseen.core.classes import Candidates
from unseen.core.outcome import LinearScorer
from unseen.core.params import Numbers, Positive
from unseen.core.start import Start


def otter(
    start: Start,
    *,
    class_prior: Literal["uniform"] | Numbers = "uniform",
    regularisation: Positive = 0.1,
) -> Relabelled:
    """OTTER gives each class as many rows as its prior says, at the least cost.

    The answer leans on the prior. If it is right, much of the bias of a start goes; if
    it is wrong, rows are dealt to classes they do not belong to. The default says that
    all classes have the same size: it ruins the labels where some are absent.

    Parameters
    ----------
    class_prior : 'uniform' or array of shape (n_candidates,), default='uniform'
        Sizes of the candidate classes that you *know*.
    regularisation : float, default=0.1
        ε, in units of log probability; near 0 the plan is the exact optimal transport.

    Notes
    -----
    The authors solve the transport exactly, by default to equal sizes, and else take
    the prior as given or estimate it from labelled rows.

    References
    ----------
    C. Shin, J. Zhao, S. Cromp, H. Vishwakarma, F. Sala, "OTTER: effortless label
    distribution adaptation of zero-shot models", NeurIPS 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import OTTER
    >>> rng = np.random.default_rng(0)
    >>> texts, truth = rng.normal(size=(3, 20)), np.repeat([0, 1, 2], 40)
    >>> X = texts[truth] + 0.8 * rng.normal(size=(120, 20)) + 0.8 * texts[0]
    >>> model = OTTER.from_prototypes(texts).adapt(X)
    >>> np.bincount(model.labels_)
    array([40, 40, 40])
    """
    S, scorer = start.contrast()
    L = log_softmax(S.astype(np.float64), axis=1)
    prior = shares(class_prior, start.candidates)
    g = transport_prices(L, prior, regularisation)
    scores = L + g
    cost = -np.vdot(softmax(scores / regularisation, axis=1), L) / len(L)
    note = f"Shares from {prior.min():.1%} to {prior.max():.1%}."
    done = start.round(L, scores, cost, note)
    if scorer is not None:
        scorer = LinearScorer(scorer.coef, scorer.intercept + g)
    return Relabelled(scores, [done], scorer)


def shares(class_prior, candidates: Candidates) -> np.ndarray:
    """Return class sizes as shares of the distinct classes."""
    if isinstance(class_prior, str):
        return np.full(len(candidates), 1 / len(candidates))
    prior, n_classes = np.asarray(class_prior, float), len(candidates.columns)
    if prior.shape != (n_classes,) or not (prior > 0).all():
        raise ValueError(
            f"class_prior has shape {prior.shape}; give one positive number for each "
            f"of the {n_classes} competing classes."
        )
    return np.bincount(candidates.column, weights=prior) / prior.sum()


def transport_prices(L: np.ndarray, prior: np.ndarray, epsilon: float) -> np.ndarray:
    """Return g, what is added to each class's log probabilities."""
    # For ε falling from 4 by halves: every answer is the next one's start.
    g, tol = np.zeros(len(prior)), 1e-4  # of a share: a row in ten thousand
    steps = max(0, int(np.ceil(np.log2(4 / epsilon))))
    for e in epsilon * 2.0 ** np.arange(steps, -1, -1):
        found = minimize(
            negative_dual,
            g,
            args=(L, prior, e),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 500, "gtol": tol / 4, "ftol": 0.0},
        )
        g = found.x - found.x.mean()
    error = np.abs(found.jac).max()
    if error > tol:
        warnings.warn(
            f"The plan misses the class prior by {error:.1e} in a class. Raise "
            f"regularisation={epsilon:g}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return g


def negative_dual(g, L, prior, epsilon) -> tuple[float, np.ndarray]:
    """Return minus the dual at g, and minus its gradient."""
    S = (L + g) / epsilon
    total = logsumexp(S, axis=1, keepdims=True)
    value = epsilon * total.mean() - prior @ g
    return float(value), np.exp(S - total).mean(axis=0) - prior


OTTER = estimator_of(otter, "OTTER")
