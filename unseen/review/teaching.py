"""The model learns from the answers.

    X  (n, d)   features of all rows, as they were labelled by
    P  (K, d)   where classes start: what their names say, or the mean of their rows

A given row counts as three in the mean of its class, and keeps its label. Adapting
alone would change labels too, so it is done twice, with the answers and without: what
comes out otherwise is what they taught. Labels that were doubtful may change as well,
others not. So one slip of a finger moves little; held inside the rounds, it changed a
sixth of the demo's labels.

Large piles are met on their main axes, so that learning again takes seconds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd

from unseen.review.answers import Model

__all__ = ["PileTeacher", "Taught", "Teacher"]

GIVEN = 3.0  # rows that a given one counts as
DOUBTFUL = 0.7  # labels less reliable than this may change without an answer
LARGE, AXES = 4_000, 128  # rows from which on a pile is met on that many axes
PER_QUESTION = 20  # doubtful rows that one question stands for


class Taught(NamedTuple):
    """What the model says after it learned, and how long that took."""

    model: Model
    seconds: float


class Teacher(Protocol):
    """What a review needs of a model."""

    def teach(self, current: Model, given: Mapping[int, str]) -> Taught:
        """Learn from given labels ("" for none of the classes) and label all rows."""

    def suggest(self, current: Model, n: int, taken: Collection[int]) -> list[int]:
        """Return the rows whose labels would help most."""


@dataclass
class PileTeacher:
    """Teaches by adapting class means to the pile; given labels stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.review.answers import Model
    >>> from unseen.review.teaching import PileTeacher
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(["a", "b"], 50).astype(object)
    >>> X = np.where(truth == "a", 3, -3)[:, None] + rng.normal(size=(100, 5))
    >>> start = np.repeat(["a", "b", "a"], [40, 50, 10]).astype(object)
    >>> current = Model(start, np.full(100, 0.6), np.repeat("", 100))
    >>> taught = PileTeacher(X).teach(current, {99: "b"})
    >>> bool((taught.model.labels == truth).all())
    True
    """

    X: np.ndarray

    def __post_init__(self) -> None:
        # Slow to import, so not in the first lesson.
        from sklearn.cluster import KMeans

        from unseen.transduction.guided_mixture import GuidedMixture

        self.clusterer, self.learner = KMeans, GuidedMixture
        self._before: tuple[Model, Model] | None = None  # labels, learned from alone
        units = self.X / np.maximum(np.linalg.norm(self.X, axis=1, keepdims=True), 1e-9)
        if len(units) >= LARGE and units.shape[1] > AXES:
            units = on_axes(units, AXES)
        self.rows = np.ascontiguousarray(units)

    def teach(self, current: Model, given: Mapping[int, str]) -> Taught:
        """Learn from given labels ("" for none of the classes) and label all rows."""
        started = time.monotonic()
        if self._before is None or self._before[0] is not current:
            self._before = current, self._adapted(current, {})
        before, after = self._before[1], self._adapted(current, given)
        other = before.labels != after.labels  # what the answers taught
        doubtful = current.reliability < DOUBTFUL
        other |= doubtful & (after.reliability > current.reliability)
        columns = zip(current, after, strict=True)
        new = Model(*(np.where(other, told, old) for old, told in columns))
        for row, name in given.items():
            new.labels[row], new.reliability[row] = name, 1.0
        return Taught(new, time.monotonic() - started)

    def _adapted(self, current: Model, given: Mapping[int, str]) -> Model:
        """Label all rows, from class means in which given rows count for more."""
        labels, weights = known_labels(current, given)
        rows = np.flatnonzero(labels != "")
        P = class_means(self.rows[rows], labels[rows], weights[rows])
        if len(P) < 2:
            raise ValueError(
                f"There {'is one class' if len(P) else 'is no class'}, and nothing to "
                "learn apart. Name at least two."
            )
        learner = self.learner.from_prototypes(
            P, n_neighbors=0 if len(self.rows) >= LARGE else 5
        )
        learner.adapt(self.rows[rows])
        return spread(current, rows, learner, learner.predict_proba(self.rows[rows]))

    def suggest(self, current: Model, n: int, taken: Collection[int]) -> list[int]:
        """Return doubtful rows that are unlike each other."""
        free = np.setdiff1d(np.arange(len(self.rows)), np.fromiter(taken, int))
        doubt = np.nan_to_num(current.reliability[free])
        free = free[np.argsort(doubt, kind="stable")[: PER_QUESTION * n]]
        if len(free) <= n:
            return free.tolist()
        clusters = self.clusterer(n, n_init=1, random_state=0).fit(self.rows[free])
        far = clusters.transform(self.rows[free])
        return [int(free[row]) for row in dict.fromkeys(far.argmin(axis=0))]


def on_axes(units: np.ndarray, n_axes: int) -> np.ndarray:
    """Return rows on the main axes of their second moments."""
    from scipy.linalg import eigh

    moments = (units.T @ units).astype(np.float64)
    last = len(moments) - 1
    axes = eigh(moments, subset_by_index=[last - n_axes + 1, last])[1]
    return units @ axes.astype(units.dtype)


def known_labels(
    current: Model, given: Mapping[int, str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return what is known of every row, and how far to trust it."""
    labels = current.labels.copy()
    weights = np.nan_to_num(current.reliability, nan=1.0)
    for row, name in given.items():
        labels[row], weights[row] = name, GIVEN
    return labels, np.maximum(weights, 1e-3)


def class_means(
    rows: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> pd.DataFrame:
    """Return the mean of every class's rows, by name."""
    codes, names = pd.factorize(labels, sort=True)
    totals = np.zeros((len(names), rows.shape[1]))
    np.add.at(totals, codes, rows * weights[:, None])
    sizes = np.bincount(codes, weights, len(names))
    return pd.DataFrame(totals / sizes[:, None], index=list(names))


def spread(current: Model, rows: np.ndarray, learner, chances: np.ndarray) -> Model:
    """Return the answer for all rows; those that took no part belong to no class."""
    n = len(current.labels)
    labels, second = np.full(n, "", object), np.full(n, "", object)
    reliability = np.ones(n)
    names = np.asarray(learner.classes_, dtype=object)
    labels[rows] = np.asarray(learner.labels_, dtype=object)
    reliability[rows] = learner.reliability_
    order = np.argsort(-chances, axis=1, kind="stable")
    first, then = names[order[:, 0]], names[order[:, 1]]
    second[rows] = np.where(first == labels[rows], then, first)
    return Model(labels, reliability, second)
