"""What any method for names alone has to beat: the names themselves, k-means, EM.

All start at cosines of rows and prototypes, each kind less its own mean (``centred``),
or at the answer of the estimator as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from unseen.core.around import Start
from unseen.core.linalg import to_unit
from unseen.transduction.transducer import START, Outcome, Transducer, as_round

SHARPNESS = 20.0  # of centred cosines, for a softmax
MAX_ROUNDS = 30
SMALLEST = 1e-9


class Baseline(Transducer):
    """Base of the baselines.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
    centred : bool, default=True
        Whether rows and prototypes are centred and brought to unit length first; else
        they are compared as the estimator compares them.
    prototypes : array, DataFrame or None, default=None
    """

    _parameter_constraints: dict = {**START, "centred": ["boolean"]}

    def __init__(self, estimator=None, *, centred=True, prototypes=None):
        self.estimator = estimator
        self.centred = centred
        self.prototypes = prototypes

    def _compared(self, start: Start) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, prototypes and scores of the start."""
        rows, prototypes = (
            M.astype(np.float64) for M in (start.rows, start.prototypes)
        )
        if not self.centred:
            return rows, prototypes, start.logits.astype(np.float64)
        rows = to_unit(rows - rows.mean(axis=0))
        prototypes = to_unit(prototypes - prototypes.mean(axis=0))
        return rows, prototypes, SHARPNESS * rows @ prototypes.T


class NamesAlone(Baseline):
    """The start's own answer."""

    def _transduce(self, start: Start) -> Outcome:
        scores = self._compared(start)[2]
        return Outcome(scores, [as_round(start.scores, scores, start.candidates)])


class KMeans(Baseline):
    """Means of the rows by their labels, labels by the nearest mean, until they stay.

    A class without rows keeps the mean it had, at first its prototype.
    """

    def _transduce(self, start: Start) -> Outcome:
        rows, means, scores = self._compared(start)
        rounds: list[Any] = []
        for _ in range(MAX_ROUNDS):
            before, labels = scores, scores.argmax(axis=1)
            sizes = np.bincount(labels, minlength=len(means))
            sums = np.zeros_like(means)
            np.add.at(sums, labels, rows)
            own = sums / np.maximum(sizes, 1)[:, None]
            means = np.where(sizes[:, None] > 0, own, means)
            scores = rows @ means.T - np.sum(means**2, axis=1) / 2
            rounds.append(as_round(before, scores, start.candidates))
            if rounds[-1].n_changed == 0:
                break
        return Outcome(scores, rounds)


class PlainEM(Baseline):
    """A Gaussian mixture with one variance and free sizes, from the soft labels."""

    def _transduce(self, start: Start) -> Outcome:
        rows, _, scores = self._compared(start)
        length = np.mean(np.sum(rows**2, axis=1))
        rounds: list[Any] = []
        for _ in range(MAX_ROUNDS):
            before, R = scores, softmax(scores, axis=1)
            sizes = np.maximum(R.sum(axis=0), SMALLEST)
            means = R.T @ rows / sizes[:, None]
            squares = np.sum(means**2, axis=1)
            variance = (length - sizes @ squares / len(rows)) / rows.shape[1]
            scores = (rows @ means.T - squares / 2) / max(variance, SMALLEST)
            scores += np.log(sizes)
            rounds.append(as_round(before, scores, start.candidates))
            if rounds[-1].n_changed == 0:
                break
        return Outcome(scores, rounds)
