"""The rounds of anchored self-training: class means that the pile may move.

    B  (n, r)   rows of the pile, whitened        Z  (N, r)  prototypes
    m  (N, r)   class means, at first Z           v  (r,)    their prior variances

    L_ic = b_i·m_c - |m_c|²/2 + log π_c,   R = softmax(L)
    m_c = (Σ_i R_ic b_i + κ_c Z_c / v) / (Σ_i R_ic + κ_c / v)

κ_c is κ, or as much more as keeps m_c within the radius. At rate 1 this is EM; what
it maximises,

    J = Σ_i log Σ_c exp L_ic + prior_rows Σ_c log π_c - κ/2 Σ_cj (m - Z)²_cj / v_j

never falls. Scores L and posteriors R, rows by classes, belong to a pass over the rows
(rows/holders.py): memory keeps them, others hold labels and margins only, and

    Σ_i R_i   Σ_i R_ic b_i   Σ_i log Σ_c exp(L_ic + log π_c)

One pass ends a round and begins the next. A round that keeps a share only sums the kept
rows in a second one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from unseen.class_table import Competition
from unseen.rows.holders import Holder
from unseen.rows.labelling import Labelling, Selection, look_at, margin


def gaussian_scores(B: np.ndarray, m: np.ndarray, q: np.ndarray | float = 1.0):
    """Return Σ q b m - Σ q m²/2 for every row and class."""
    return B @ (m * q).T - np.sum(q * m * m, axis=1) / 2


def checked_prior(prior, competition: Competition) -> np.ndarray | None:
    """Return known class sizes as shares of the distinct classes, or None."""
    if prior is None:
        return None
    if isinstance(prior, str):
        return np.full(len(competition), 1 / len(competition))
    n_classes = len(competition.columns)
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape != (n_classes,) or not (prior > 0).all():
        raise ValueError(
            f"class_prior has shape {prior.shape}; give one positive number for each "
            f"of the {n_classes} competing classes."
        )
    return competition.merge(prior) / prior.sum()


class Means(NamedTuple):
    """What scores rows: class means, and how far each direction is trusted."""

    m: np.ndarray
    q: np.ndarray | float = 1.0


class Totals(NamedTuple):
    """What a look adds up over all rows."""

    sizes: np.ndarray  # Σ R
    labels: np.ndarray  # rows of each label
    log_likelihood: float
    counts: Any  # Σ R, or of labels if they are hard; 0 if R is kept
    sums: Any  # Σ R b, likewise


class AnchoredLearner:
    """The model in the middle of learning from a pile: class means move."""

    def __init__(
        self,
        B: Holder,
        competition: Competition,
        Z: np.ndarray,
        variances: np.ndarray,
        *,
        own_rows: np.ndarray,
        kappa: float,
        radius: float | None,
        soft: bool,
        prior_rows: float | None,
        class_prior: np.ndarray | None,
        q: np.ndarray | float = 1.0,
    ):
        self.B, self.competition, self.Z = B, competition, Z
        self.variances, self.own_rows = variances, own_rows
        self.kappa, self.radius, self.soft = kappa, radius, soft
        self.prior_rows, self.class_prior = prior_rows, class_prior
        self.log_prior = np.zeros(len(Z))
        self.movement, self.n_held = 0.0, 0
        self.n_rows = len(B)
        self._sample = B.sample(sample_step(self.n_rows))
        self._look(Means(Z, q))

    @property
    def m(self) -> np.ndarray:
        """Class means, as learned so far."""
        return self.means.m

    def labelling(self, ranking: Any = margin) -> Labelling:
        """Return the labels under the present means; rows are ranked by margin.

        Estimated class sizes steer who is trusted, but do not judge what is reported.
        Sizes that are known do judge.
        """
        return self._labelling

    def known_prior(self) -> np.ndarray:
        """Return the log prior that known class sizes impose, else zeros."""
        if self.class_prior is None:
            return np.zeros(len(self.Z))
        return self.log_prior

    def refit(self, selection: Selection) -> float:
        """Take anchored means of the kept rows; return -J."""
        counts, sums = self.totals.counts, self.totals.sums
        if self.B.keeps or selection.kept is not None:
            arguments = self.means, self.log_prior, self.soft
            _, (counts, sums) = self.B.run(
                sum_posteriors, *arguments, states=[selection.kept]
            )
        self._update_prior(self.totals.sizes)
        means = Means(self._anchored_means(sums, counts))
        if self.class_prior is not None:
            self.log_prior = balanced(self._log_sizes(means), self.class_prior)
        self._look(means)
        return -self.J()

    def _look(self, means: Means) -> None:
        """Label all rows by these means."""
        self.means = means
        priors = self.log_prior, self.known_prior()
        # Memory keeps the posteriors, and sums them when it is known of which rows.
        state, totals = self.B.run(look, means, *priors, self.soft, not self.B.keeps)
        self.totals = Totals(*totals)
        self._labelling = self.B.labelling(state, self.totals.labels)

    def _log_sizes(self, means: Means) -> Callable[[np.ndarray], np.ndarray]:
        def sizes(log_prior: np.ndarray) -> np.ndarray:
            _, (total,) = self.B.run(log_sizes, means, log_prior)
            return total.log - np.log(self.n_rows)

        return sizes

    def _update_prior(self, sizes: np.ndarray) -> None:
        if self.class_prior is None and self.prior_rows is not None:
            sizes = sizes + self.prior_rows
            self.log_prior = np.log(np.maximum(sizes, 1e-300) / sizes.mean())

    def _anchored_means(self, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the MAP means; raise κ per class until they stay within the radius.

        Raising κ is what the multiplier of the constraint does: the answer is the
        exact constrained maximum.
        """
        pull = sums - counts[:, None] * self.Z
        rows = (counts + self.own_rows)[:, None]
        kappa = np.full(len(self.Z), float(self.kappa))
        self.n_held = 0
        if self.radius is not None:
            far = self._distance(pull, rows, kappa) > self.radius
            self.n_held = int(far.sum())
            if far.any():
                kappa[far] = self._sufficient(pull[far], rows[far])
        step = pull / np.maximum(rows + kappa[:, None] / self.variances, 1e-300)
        self.movement = float(np.mean(step**2 / self.variances))
        return self.Z + step

    def _distance(self, pull, rows, kappa) -> np.ndarray:
        """Return |m - Z|², every direction by its variance, under each class's κ."""
        step = pull / np.maximum(rows + kappa[:, None] / self.variances, 1e-300)
        return np.mean(step**2 / self.variances, axis=1)

    def _sufficient(self, pull, rows) -> np.ndarray:
        """Return the κ that just keeps each class in reach, by Newton's method.

        The distance is f(κ) = mean a / (b + κ)². As for the radius of a trust region,
        1/√f is nearly linear in κ and concave, so that steps from the near side never
        pass the root, and few suffice.
        """
        a, b = pull**2 * self.variances, rows * self.variances
        kappa = np.full(len(pull), max(float(self.kappa), 1e-6))
        for _ in range(100):
            share = a / (b + kappa[:, None]) ** 2
            f = share.mean(axis=1)
            slope = (share / (b + kappa[:, None])).mean(axis=1)  # -f' / 2
            step = (np.sqrt(f / self.radius) - 1) * f / slope
            kappa += np.maximum(step, 0)
            if (step <= 1e-12 * kappa).all():
                break
        return kappa

    def J(self) -> float:  # noqa: N802, the name in the objective
        """Return what the rounds maximise, at the present means."""
        log_shares = self.log_prior - np.log(len(self.Z))
        steps = (self.m - self.Z) ** 2 * (
            self.kappa / self.variances + self.own_rows[:, None]
        )
        # The look had the prior in it, but for its constant.
        fit = self.totals.log_likelihood - self.n_rows * np.log(len(self.Z))
        prior = 0.0
        if self.class_prior is None and self.prior_rows is not None:
            prior = self.prior_rows * log_shares.sum()
        return float(fit + prior - steps.sum() / 2)

    def mean_confidence(self, temperatures: np.ndarray) -> np.ndarray:
        """Return the mean posterior of labels at each temperature.

        Of likelihoods alone, over a sample: two thousand rows tell.
        """
        L = gaussian_scores(self._sample, *self.means)
        behind = L - L.max(axis=1, keepdims=True)
        return np.array(
            [np.mean(1 / np.exp(behind / t).sum(axis=1)) for t in temperatures]
        )

    def final(self, temperature: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the class number of every row and its tempered posterior."""
        arguments = self.means, self.known_prior(), temperature
        state, (sizes,) = self.B.run(temper, *arguments)
        labelling = self.B.labelling(state, sizes)
        return labelling.codes, labelling.strength

    def note(self) -> str:
        """Say how far class means have moved."""
        held = f", {self.n_held} held back" if self.n_held else ""
        return (
            f"Class means moved {np.sqrt(self.movement):.2f} of their prototypes' "
            f"spread{held}."
        )


def posteriors(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return softmax(S) and log Σ exp S of every row, by one exponential."""
    best = S.max(axis=1, keepdims=True)
    R = np.exp(S - best)
    total = R.sum(axis=1, keepdims=True)
    R /= total
    return R, (best + np.log(total))[:, 0]


def sample_step(n_rows: int) -> int:
    """Return how many rows apart those of a sample of two thousand are."""
    return -(-n_rows // 2000)


def balanced(
    log_shares: Callable[[np.ndarray], np.ndarray], shares: np.ndarray, n_iter: int = 50
) -> np.ndarray:
    """Return the log prior under which soft labels have the given class shares.

    ``log_shares`` returns the logarithm of what they have under a log prior.
    """
    log_prior = np.zeros(len(shares))
    for _ in range(n_iter):
        step = np.log(shares) - log_shares(log_prior)
        log_prior += step
        if np.abs(step).max() < 1e-6:
            break
    return log_prior - log_prior.mean()


# ---- what is done to a block ---------------------------------------------------------


def scores_of(block: np.ndarray, kept: dict, means: Means) -> np.ndarray:
    """Return the scores of a block, which are kept until the means move."""
    if kept.get("means") is not means:
        kept.clear()
        kept["means"], kept["L"] = means, gaussian_scores(block, *means)
    return kept["L"]


def look(block, kept, means, log_prior, known, soft, summed):
    """Label a block; return its state and its part of the totals."""
    L, n_classes = scores_of(block, kept, means), len(log_prior)
    S = L + log_prior
    kept["R"], evidence = posteriors(S)
    R, state = kept["R"], look_at(S, margin, L + known)
    labels = np.bincount(state.codes, minlength=n_classes)
    counts, sums = weighted(R, block, soft) if summed else (0.0, 0.0)
    return state, (R.sum(axis=0), labels, evidence.sum(), counts, sums)


def sum_posteriors(block, kept, means, log_prior, soft, chosen):
    """Return the sums of the chosen rows of a block, by their posterior."""
    R = kept.get("R")
    if R is None:
        block, chosen = (block, None) if chosen is None else (block[chosen], None)
        R = softmax(gaussian_scores(block, *means) + log_prior, axis=1)
    if chosen is not None:
        R = np.where(chosen[:, None], R, 0)
    return None, weighted(R, block, soft)


def weighted(R, block, soft) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ R and Σ R b, or of labels alone."""
    if not soft:
        R = np.eye(R.shape[1])[R.argmax(axis=1)] * (R.max(axis=1) > 0)[:, None]
    return R.sum(axis=0), R.T @ block


def temper(block, kept, means, prior, temperature):
    """Return label and tempered posterior of each row of a block."""
    L = scores_of(block, kept, means) + prior
    best = softmax(L / temperature, axis=1).max(axis=1)
    state = look_at(L, lambda scores: best)
    return state, (np.bincount(state.codes, minlength=L.shape[1]),)


class LogSum(NamedTuple):
    """The logarithm of numbers that add up; sizes of rare classes would be zero."""

    log: np.ndarray

    def __add__(self, other: LogSum) -> LogSum:  # type: ignore[override]
        """Return the logarithm of both together."""
        return LogSum(np.logaddexp(self.log, other.log))


def log_sizes(block, kept, means, log_prior):
    """Return the logarithm of the soft class sizes of a block."""
    S = scores_of(block, kept, means) + log_prior
    return None, (LogSum(logsumexp(S - logsumexp(S, axis=1, keepdims=True), axis=0)),)
