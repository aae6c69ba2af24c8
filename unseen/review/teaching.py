"""The model learns from the answers: ``adapt(given=answers)``, as everywhere else.

    X  (n, d)   features of all rows, as they were labelled by
    P  (K, d)   where classes start: what their names say, or, where nobody noted the
                names, the mean of the rows that have their label now

Large piles are met on their main axes and without neighbours, so that learning again
takes a second or two. Labels by names that come out otherwise for that reason alone
stay: there it is done twice, with the answers and without, and what differs is what
they taught.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pandas as pd

from unseen.asking.suggest import suggest
from unseen.models.given import NONE_OF_THESE
from unseen.review.answers import Model

if TYPE_CHECKING:
    from unseen.transduction.guided_mixture import GuidedMixture

__all__ = ["PileTeacher", "Taught", "Teacher"]

LARGE, AXES = 4_000, 128  # rows from which on a pile is met on that many axes


class Taught(NamedTuple):
    """What the model says after it learned, and how long that took."""

    model: Model
    seconds: float


class Teacher(Protocol):
    """What a review needs of a model."""

    def teach(
        self,
        current: Model,
        given: Mapping[int, str],
        renames: Sequence[tuple[str, str]] = (),
    ) -> Taught:
        """Learn from given labels ("" for none of the classes) and label all rows.

        ``renames`` are old and new names of classes, in order.
        """

    def suggest(self, current: Model, n: int, taken: Collection[int]) -> list[int]:
        """Return the rows whose labels would help most."""


@dataclass
class PileTeacher:
    """Teaches by adapting to the pile; given labels stay as they are.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    start : GuidedMixture, optional
        Fitted to the prototypes of names; without, classes start at the mean of the
        rows that have their label now.

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
    start: GuidedMixture | None = None

    def __post_init__(self) -> None:
        # Slow to import, so not in the first lesson.
        from unseen.transduction.guided_mixture import GuidedMixture

        self.learner = GuidedMixture
        units = self.X / np.maximum(np.linalg.norm(self.X, axis=1, keepdims=True), 1e-9)
        self.large, self._axes = len(units) >= LARGE, np.eye(0)
        if self.large and units.shape[1] > AXES:
            self._axes = main_axes(units, AXES)
            units = units @ self._axes
        self.rows = np.ascontiguousarray(units)
        self._alone: tuple[object, np.ndarray, Model] | None = None
        if self.large and self.start is not None:  # or the first lesson would wait
            self._without(None, np.arange(len(self.rows)))

    def teach(
        self,
        current: Model,
        given: Mapping[int, str],
        renames: Sequence[tuple[str, str]] = (),
    ) -> Taught:
        """Learn from given labels ("" for none of the classes) and label all rows."""
        started = time.monotonic()
        if self.start is None:
            renames = ()  # the labels that it starts from have their new names
        # Rows without a label, and whom nobody gave one, take no part.
        part = current.labels != ""
        part[list(given)] = True
        new = self._adapted(current, np.flatnonzero(part), given, renames)
        if self.large and self.start is not None:
            before = renamed(self._without(current, np.flatnonzero(part)), renames)
            columns = zip(current, new, strict=True)
            other = new.labels != before.labels
            new = Model(*(np.where(other, now, was) for was, now in columns))
        for row, name in given.items():
            new.labels[row], new.reliability[row] = name, 1.0
        return Taught(new, time.monotonic() - started)

    def _without(self, current: Model | None, rows: np.ndarray) -> Model:
        """Return what comes out without any answer; it is kept for the next lesson."""
        of = self.start or current
        kept = self._alone
        if kept is None or kept[0] is not of or not np.array_equal(kept[1], rows):
            self._alone = kept = of, rows, self._adapted(current, rows, {}, ())
        return kept[2]

    def _adapted(self, current: Model | None, rows, given, renames) -> Model:
        """Label some rows with what was given; the others belong to no class."""
        P, parameters = self._prototypes(current)
        own = names_before(P.index, renames)
        named = {*own, *given.values()} - {""}
        if len(named) < 2:
            raise ValueError(
                f"There {'is one class' if named else 'is no class'}, and nothing to "
                "learn apart. Name at least two."
            )
        if self.large:
            parameters = parameters | {"n_neighbors": 0}
        learner = self.learner(**parameters)
        if len(P):
            learner.fit_prototypes(P)
        place = np.cumsum(np.isin(np.arange(len(self.rows)), rows)) - 1
        answered = {
            int(place[row]): own.get(name, name) or NONE_OF_THESE
            for row, name in given.items()
        }
        pile = self.rows[rows]
        learner.adapt(pile, given=answered or None)
        chances = learner.predict_proba(pile)
        return renamed(spread(len(self.rows), rows, learner, chances), renames)

    def _prototypes(self, current: Model | None) -> tuple[pd.DataFrame, dict]:
        """Return where classes start, and the parameters of what learns."""
        if self.start is not None:
            P = self.start.class_embeddings_
            P = P @ self._axes if self._axes.size else P
            return pd.DataFrame(P, index=self.start.classes_), self.start.get_params()
        assert current is not None  # labels are the only start there is
        rows = np.flatnonzero(current.labels != "")
        weights = np.nan_to_num(current.reliability, nan=1.0)
        weights = np.maximum(weights, 1e-3)[rows]
        return class_means(self.rows[rows], current.labels[rows], weights), {}

    def suggest(self, current: Model, n: int, taken: Collection[int]) -> list[int]:
        """Return the rows to ask for, as ``unseen.suggest`` chooses them."""
        given = dict.fromkeys(taken, NONE_OF_THESE)  # whatever was said of them
        doubt = current.reliability
        return suggest(self.rows, n, reliability=doubt, given=given).tolist()


def main_axes(units: np.ndarray, n_axes: int) -> np.ndarray:
    """Return the main axes of the second moments of rows."""
    from scipy.linalg import eigh

    moments = (units.T @ units).astype(np.float64)
    last = len(moments) - 1
    axes = eigh(moments, subset_by_index=[last - n_axes + 1, last])[1]
    return axes.astype(units.dtype)


def names_before(names, renames: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the first name of every class by what it is called after the renames.

    >>> from unseen.review.teaching import names_before
    >>> names_before(["cat", "dog"], [("cat", "pet"), ("pet", "tom")])
    {'tom': 'cat', 'dog': 'dog'}
    """
    before: dict[str, str] = {}
    for name in names:
        called = name
        for old, new in renames:
            called = new if called == old else called
        before.setdefault(called, name)
    return before


def renamed(model: Model, renames: Sequence[tuple[str, str]]) -> Model:
    """Return an answer with the names that classes have by now."""
    for old, new in renames:
        model = model.renamed(old, new)
    return model


def class_means(
    rows: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> pd.DataFrame:
    """Return the mean of every class's rows, by name."""
    codes, names = pd.factorize(labels, sort=True)
    totals = np.zeros((len(names), rows.shape[1]))
    np.add.at(totals, codes, rows * weights[:, None])
    sizes = np.bincount(codes, weights, len(names))
    return pd.DataFrame(totals / sizes[:, None], index=list(names))


def spread(n: int, rows: np.ndarray, learner, chances: np.ndarray) -> Model:
    """Return the answer for all rows; those that took no part belong to no class."""
    labels, second = np.full(n, "", object), np.full(n, "", object)
    reliability = np.ones(n)
    names = np.asarray(learner.competing_classes_, dtype=object)
    labels[rows] = np.asarray(learner.labels_, dtype=object)
    reliability[rows] = learner.reliability_
    order = np.argsort(-chances, axis=1, kind="stable")
    first, then = names[order[:, 0]], names[order[:, 1]]
    second[rows] = np.where(first == labels[rows], then, first)
    return Model(labels, reliability, second)
