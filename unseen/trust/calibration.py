"""What calibration is made of: pure functions from scores to what may be believed.

    F   (n, N)  scores of the answer            F0  (n, N)  scores before any adapting
    g           handicap of seen classes         T           temperature
    p_i = softmax(F_i / T)

None of them looks at a class that is truly unseen: calibrated.py calls them with rows
of seen classes that were held out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_softmax, logsumexp, softmax

from unseen.trust.metrics import Trade

TEMPERATURES = np.geomspace(1 / 64, 256, 113)
LEVELS = 1001  # quantiles that are kept


class Answer(NamedTuple):
    """What a model says of rows: labels, scores, and the scores before adapting."""

    codes: np.ndarray
    F: np.ndarray
    F0: np.ndarray


def row_spread(F: np.ndarray) -> float:
    """Return the standard deviation of scores around their row's mean."""
    spread = float(np.sqrt(np.mean((F - F.mean(axis=1, keepdims=True)) ** 2)))
    return spread if spread > 0 else 1.0


def log_mean_exp(F: np.ndarray) -> np.ndarray:
    """Return log mean exp of each row: unlike a sum, it knows no number of classes."""
    return logsumexp(F, axis=1) - np.log(F.shape[1])


# ---- the handicap of seen classes ----------------------------------------------------


def best_handicap(trades: list[Trade]) -> float:
    """Return the handicap with the best mean H over folds; the smallest of equals."""
    most = max(float(trade.lead.max(initial=0)) for trade in trades)
    handicaps = np.linspace(0, most, 401)
    mean = np.mean([trade.harmonic_means(handicaps) for trade in trades], axis=0)
    return float(handicaps[mean.argmax()])


# ---- probabilities -------------------------------------------------------------------


def best_temperature(F: np.ndarray, codes: np.ndarray) -> float:
    """Return the temperature at which the true classes are likeliest."""
    own = np.arange(len(F)), codes
    found = [log_softmax(F / T, axis=1)[own].mean() for T in TEMPERATURES]
    return float(TEMPERATURES[int(np.argmax(found))])


def label_evidence(
    codes: np.ndarray, F: np.ndarray, F0: np.ndarray, T: float, T0: float
) -> np.ndarray:
    """Return what speaks for each label, one column per kind of evidence.

    Logits of the label's posterior after and before adapting, whether both agree, the
    class means of these three, the log size of the class among the others, and the
    margin to the next class.
    """
    rows = np.arange(len(F))
    after = logit_of(log_softmax(F / T, axis=1)[rows, codes])
    before = logit_of(log_softmax(F0 / T0, axis=1)[rows, codes])
    agree = (F0.argmax(axis=1) == codes).astype(float)
    sizes = np.bincount(codes, minlength=F.shape[1])
    others = F.copy()
    others[rows, codes] = -np.inf
    margin = (F[rows, codes] - others.max(axis=1)) / T if F.shape[1] > 1 else after
    own = np.column_stack([after, before, agree])
    sums = np.zeros((F.shape[1], 3))
    np.add.at(sums, codes, own)
    means = sums[codes] / sizes[codes][:, None]
    return np.column_stack([own, means, log_relative_sizes(codes), np.arcsinh(margin)])


def log_relative_sizes(codes: np.ndarray) -> np.ndarray:
    """Return the log size of every row's class, the mean class that is used being 0."""
    sizes = np.bincount(codes)
    return np.log(sizes[codes] / sizes[sizes > 0].mean())


def logit_of(log_p: np.ndarray) -> np.ndarray:
    """Return log p / (1 - p), no further than ±12."""
    p = np.clip(np.exp(log_p), np.exp(-12.0), 1 - np.exp(-12.0))
    return np.log(p) - np.log1p(-p)


class Weights(NamedTuple):
    """A small logistic model: evidence is centred, scaled and weighed."""

    mean: np.ndarray
    scale: np.ndarray
    coef: np.ndarray
    intercept: float

    def probability(self, evidence: np.ndarray) -> np.ndarray:
        """Return the probability of every row."""
        return expit((evidence - self.mean) / self.scale @ self.coef + self.intercept)


def weigh(evidence: list[np.ndarray], yes: list[np.ndarray]) -> Weights:
    """Learn the weights of evidence from folds, which count the same each."""
    from sklearn.linear_model import LogisticRegression  # slow to import

    all_of, target = np.vstack(evidence), np.concatenate(yes).astype(int)
    share = np.concatenate([np.full(len(y), 1 / len(y)) for y in yes])
    mean = np.average(all_of, axis=0, weights=share)
    scale = np.sqrt(np.average((all_of - mean) ** 2, axis=0, weights=share))
    scale = np.where(scale > 1e-9, scale, 1.0)
    if target.min() == target.max():  # nothing to tell apart: a safe constant
        n = len(target)
        p = (target.sum() + 1) / (n + 2)
        return Weights(mean, scale, np.zeros(len(mean)), float(np.log(p / (1 - p))))
    weights = share * len(target) / len(yes)
    model = LogisticRegression(C=1.0, max_iter=1000)
    model.fit((all_of - mean) / scale, target, sample_weight=weights)
    return Weights(
        mean, scale, model.coef_[0].astype(float), float(model.intercept_[0])
    )


# ---- sets ----------------------------------------------------------------------------


def conformal_levels(P: list[np.ndarray], codes: list[np.ndarray]) -> np.ndarray:
    """Return the quantiles of 1 - p(true class), every class of every fold alike.

    Entry k of ``LEVELS`` is the threshold whose sets hold the true class in that share
    of cases. Classes count the same, for it is they that are exchangeable.
    """
    misses, weights = [], []
    for p, truth in zip(P, codes, strict=True):
        sizes = np.bincount(truth)
        misses.append(1 - p[np.arange(len(p)), truth])
        weights.append(1 / sizes[truth])
    miss, weight = np.concatenate(misses), np.concatenate(weights)
    order = np.argsort(miss, kind="stable")
    # One class more, the one to come, may miss by any amount: it counts as missed.
    reach = np.cumsum(weight[order]) / (weight.sum() + 1)
    place = np.searchsorted(reach, np.linspace(0, 1, LEVELS) - 1e-12)
    return np.append(miss[order], 1.0)[place]


# ---- all of it, for rows of one kind -------------------------------------------------


class Calibration(NamedTuple):
    """What was learned of rows of one kind, pure or mixed."""

    temperature: float
    start_temperature: float
    weights: Weights
    levels: np.ndarray

    def reliability(self, answer: Answer) -> np.ndarray:
        """Return the probability that each label is right."""
        T, T0 = self.temperature, self.start_temperature
        return self.weights.probability(label_evidence(*answer, T, T0))

    def quantile(self, coverage: float) -> float:
        """Return the threshold of 1 - p whose sets have a coverage."""
        return float(self.levels[int(np.ceil(coverage * (LEVELS - 1) - 1e-9))])


def learn_calibration(found: list[tuple[Answer, np.ndarray]]) -> Calibration:
    """Learn temperatures, weights of evidence and quantiles from answers.

    Each comes with its true codes. Temperatures are geometric means over answers.
    """
    T = mean_temperature([(answer.F, truth) for answer, truth in found])
    T0 = mean_temperature([(answer.F0, truth) for answer, truth in found])
    evidence = [label_evidence(*answer, T, T0) for answer, _ in found]
    right = [a.codes == truth for a, truth in found]
    P = [softmax(a.F / T, axis=1) for a, _ in found]
    levels = conformal_levels(P, [truth for _, truth in found])
    return Calibration(T, T0, weigh(evidence, right), levels)


def mean_temperature(scored: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the geometric mean of the best temperatures."""
    best = [best_temperature(F, truth) for F, truth in scored]
    return float(np.exp(np.mean(np.log(best))))


def left_out_coverages(
    found: list[tuple[Answer, np.ndarray]], coverage: float = 0.9
) -> np.ndarray:
    """Return the coverage of sets on each fold's rows, by what the others say."""
    shares = []
    for number, (answer, truth) in enumerate(found):
        others = learn_calibration(found[:number] + found[number + 1 :] or found)
        p = softmax(answer.F / others.temperature, axis=1)
        own = p[np.arange(len(p)), truth]
        least = 1 - others.quantile(coverage)
        shares.append(np.mean((own >= least) | (own == p.max(axis=1))))
    return np.array(shares)
