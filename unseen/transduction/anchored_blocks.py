"""The rounds of anchored self-training where the pile is larger than memory.

The equations are those of anchored_pupil.py. Scores L and posteriors R, rows by
classes, are never held: a pass works them out block by block and leaves labels and
margins with the block, and these sums:

    Σ_i R_i   Σ_i R_ic b_i   Σ_i log Σ_c exp(L_ic + log π_c)

One pass ends a round and begins the next. A round that keeps a share only needs a
second one, over the kept rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from unseen.rows.holders import BlockRows, Chosen, Looked, RowState, small_codes
from unseen.transduction.anchored_pupil import (
    AnchoredPupil,
    confidences,
    gaussian_scores,
    posteriors,
    sample_step,
)
from unseen.transduction.rounds import margin


class Totals(NamedTuple):
    """What a pass adds up over all rows."""

    sizes: np.ndarray  # Σ R
    counts: np.ndarray  # Σ R, or of labels if they are hard
    sums: np.ndarray  # Σ R b, likewise
    log_likelihood: float
    labels: np.ndarray  # rows of each label


class BlockState(NamedTuple):
    """What stays with a block: labels that are reported, labels that teach, margins."""

    answer: np.ndarray
    codes: np.ndarray
    reliability: np.ndarray


class LookedAt(NamedTuple):
    """Scores that the pass before has looked at already."""

    looked: Looked

    def look(self, ranking: Any) -> Looked:
        """Return what was found; rows are ranked by margin."""
        return self.looked


class AnchoredBlockPupil(AnchoredPupil):
    """The model in the middle of learning from a pile it cannot hold."""

    B: BlockRows  # type: ignore[assignment]

    def _begin(self, q: np.ndarray | float) -> None:
        self.q = q
        self._look()

    def scores(self) -> Any:
        """Return labels and margins under the estimated class sizes."""
        return LookedAt(Looked(self.B, self.states, self.totals.labels))

    def answer(self) -> Any:
        """Return the labels that are reported."""
        states = self.B.each(reported, self.states)
        return LookedAt(Looked(self.B, states, self.totals.labels))

    def refit(self, rows: Chosen, labels: None) -> float:  # type: ignore[override]
        """Take anchored means of the kept rows; return -J."""
        sums, counts = self.totals.sums, self.totals.counts
        if rows.kept is not None:
            _, (sums, counts) = self.B.run(
                gather, self._linear(), self.log_prior, self.soft, states=[rows.kept]
            )
        self._update_prior(self.totals.sizes)
        self.m, self.q = self._anchored_means(sums, counts), 1.0
        if self.class_prior is not None:
            self.log_prior = self._balanced(self.class_prior)
        self._look()
        return -self.J()

    def mean_confidence(self, temperatures: np.ndarray) -> np.ndarray:
        """Return the mean posterior of labels at each temperature, over a sample."""
        arguments = self._linear(), temperatures, sample_step(len(self.B))
        _, (total, n) = self.B.run(confidence, *arguments, states=[self.B.starts])
        return total / n

    def final(self, temperature: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the class number of every row and its tempered posterior."""
        prior = self.known_prior()
        states, _ = self.B.run(posterior, self._linear(), prior, temperature)
        looked = Looked(self.B, states, self.totals.labels)
        return looked.codes(), looked.reliability()

    def _linear(self) -> tuple[np.ndarray, np.ndarray | float]:
        return self.m, self.q

    def _look(self) -> None:
        arguments = self._linear(), self.log_prior, self.known_prior(), self.soft
        self.states, totals = self.B.run(look, *arguments)
        self.totals = Totals(*totals)
        self._evidence = self.totals.log_likelihood

    def _balanced(self, shares: np.ndarray, n_iter: int = 50) -> np.ndarray:
        """Return the log prior under which soft labels have the given class shares."""
        log_prior = np.zeros(len(shares))
        for _ in range(n_iter):
            states, _ = self.B.run(log_sizes, self._linear(), log_prior)
            size = logsumexp(self.B.gather(states), axis=0)
            step = np.log(shares * len(self.B)) - size
            log_prior += step
            if np.abs(step).max() < 1e-6:
                break
        return log_prior - log_prior.mean()


# ---- what is done to a block --------------------------------------------------------


def look(block, linear, log_prior, known, soft):
    """Label a block; return its state and its part of the totals."""
    L = gaussian_scores(block, *linear)
    S, n_classes = L + log_prior, len(log_prior)
    R, evidence = posteriors(S)
    codes = S.argmax(axis=1)
    sizes = R.sum(axis=0)
    used = R if soft else np.eye(n_classes)[R.argmax(axis=1)]
    state = BlockState(
        small_codes((L + known).argmax(axis=1), n_classes),
        small_codes(codes, n_classes),
        margin(S),
    )
    return state, Totals(
        sizes,
        used.sum(axis=0),
        used.T @ block,
        evidence.sum(),
        np.bincount(codes, minlength=n_classes),
    )


def gather(block, linear, log_prior, soft, kept):
    """Return the sums of the kept rows of a block, by their posterior."""
    block = block[kept]
    R = softmax(gaussian_scores(block, *linear) + log_prior, axis=1)
    if not soft:
        R = np.eye(R.shape[1])[R.argmax(axis=1)]
    return None, (R.T @ block, R.sum(axis=0))


def confidence(block, linear, temperatures, step, start):
    """Add up the posteriors of labels, over every ``step``-th row of the pile."""
    L = gaussian_scores(block[-start % step :: step], *linear)
    return None, (confidences(L, temperatures).sum(axis=1), len(L))


def posterior(block, linear, prior, temperature):
    """Return label and tempered posterior of each row of a block."""
    L = gaussian_scores(block, *linear) + prior
    best = softmax(L / temperature, axis=1).max(axis=1)
    return RowState(small_codes(L.argmax(axis=1), L.shape[1]), best), (0,)


def log_sizes(block, linear, log_prior):
    """Return the log of the soft class sizes of a block, as its state."""
    S = gaussian_scores(block, *linear) + log_prior
    return logsumexp(S - logsumexp(S, axis=1, keepdims=True), axis=0), (0,)


def reported(state):
    """Return the labels of a block that are reported."""
    return RowState(state.answer, state.reliability)
