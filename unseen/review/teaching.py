"""The model learns from the answers: ``adapt(given=answers)``, as everywhere else.

    X  (n, d)   features of all rows, as they were labelled by
    P  (K, d)   where classes start: what their names say, or, where nobody noted the
                names, the mean of the rows that have their label now

Many rows are met on their main axes and without neighbours, so that learning again
takes a second or two. Labels by names that come out otherwise for that reason alone
stay: there it is done twice, with the answers and without, and what differs is what
they taught.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unseen.core.given import NONE_OF_THESE
from unseen.review.answers import ModelLabels
from unseen.trust.asking import suggest

if TYPE_CHECKING:
    from unseen.transduction.guided_mixture import GuidedMixture

__all__ = ["Learning", "RefusedError", "Stop", "Teacher", "moves"]

MANY, AXES = 4_000, 128  # rows from which on they are met on that many axes
GRACE = 5.0  # seconds that a thread has to come to an end
Stop = Callable[..., None]


@dataclass
class Teacher:
    """Teaches by adapting to all rows; given labels stay as they are.

    ``start`` is fitted to the prototypes of names; without it classes start at the mean
    of the rows that have their label now.
    """

    X: np.ndarray
    start: GuidedMixture | None = None

    def __post_init__(self) -> None:
        # Slow to import, so not when somebody waits for the first answer.
        from unseen.transduction.guided_mixture import GuidedMixture

        self.learner = GuidedMixture
        units = self.X / np.maximum(np.linalg.norm(self.X, axis=1, keepdims=True), 1e-9)
        self.many, self.axes = len(units) >= MANY, None
        if self.many and units.shape[1] > AXES:
            self.axes = main_axes(units, AXES)
            units = units @ self.axes
        self.units = np.ascontiguousarray(units)
        self._unanswered: tuple[np.ndarray, ModelLabels] | None = None
        if self.many and self.start is not None:  # or the first time would take longer
            self._without(np.arange(len(self.units)))

    def teach(
        self,
        current: ModelLabels,
        given: Mapping[int, str],
        renames: Sequence[tuple[str, str]] = (),
    ) -> ModelLabels:
        """Learn from given labels ("" for none of the classes) and label all rows.

        ``renames`` are old and new names of classes, in order.
        """
        if self.start is None:
            renames = ()  # the labels that it starts from have their new names
        # Rows without a label, and whom nobody gave one, take no part.
        part = current.labels != ""
        part[list(given)] = True
        rows = np.flatnonzero(part)
        new = self._adapted(current, rows, given, renames)
        if self.many and self.start is not None:
            other = new.labels != self._without(rows).renamed(renames).labels
            columns = zip(current, new, strict=True)
            new = ModelLabels(*(np.where(other, now, was) for was, now in columns))
        for row, name in given.items():
            new.labels[row], new.reliability[row] = name, 1.0
        return new

    def suggest(
        self, current: ModelLabels, n: int, given: Collection[int]
    ) -> list[int]:
        """Return the rows to ask for, as ``unseen.suggest`` chooses them."""
        known = dict.fromkeys(given, NONE_OF_THESE)  # whatever their labels are
        doubt = current.reliability
        return suggest(self.units, n, reliability=doubt, given=known).tolist()

    def _without(self, rows: np.ndarray) -> ModelLabels:
        """Return what names alone come to; it is kept for the next time."""
        known = self._unanswered
        if known is None or not np.array_equal(known[0], rows):
            self._unanswered = known = rows, self._adapted(None, rows, {}, ())
        return known[1]

    def _adapted(
        self,
        current: ModelLabels | None,
        rows: np.ndarray,
        given: Mapping[int, str],
        renames: Sequence[tuple[str, str]],
    ) -> ModelLabels:
        """Label some rows by what was given; the others belong to no class."""
        P, parameters = self._prototypes(current)
        first_names = names_before(P.index, renames)
        named = {*first_names, *given.values()} - {""}
        if len(named) < 2:
            raise ValueError(
                f"There {'is one class' if named else 'is no class'}, and nothing to "
                "learn apart. Name at least two."
            )
        if self.many:
            parameters = parameters | {"n_neighbors": 0}
        learner = self.learner(**parameters)
        if len(P):
            learner.fit_prototypes(P)
        place = {row: i for i, row in enumerate(rows.tolist())}
        answers = {
            place[row]: first_names.get(name, name) or NONE_OF_THESE
            for row, name in given.items()
        }
        learner.adapt(self.units[rows], given=answers or None)
        chances = learner.predict_proba(self.units[rows])
        return spread(len(self.units), rows, learner, chances).renamed(renames)

    def _prototypes(self, current: ModelLabels | None) -> tuple[pd.DataFrame, dict]:
        """Return where classes start, and the parameters of what learns."""
        if self.start is not None:
            P = self.start.class_embeddings_
            P = P if self.axes is None else P @ self.axes
            return pd.DataFrame(P, index=self.start.classes_), self.start.get_params()
        assert current is not None  # labels are the only start there is
        rows = np.flatnonzero(current.labels != "")
        weights = np.maximum(np.nan_to_num(current.reliability, nan=1.0), 1e-3)[rows]
        return class_means(self.units[rows], current.labels[rows], weights), {}


def main_axes(units: np.ndarray, n_axes: int) -> np.ndarray:
    """Return the main axes of the second moments of rows, one per column."""
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


def class_means(
    rows: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> pd.DataFrame:
    """Return the weighted mean of every class's rows, by name."""
    codes, names = pd.factorize(labels, sort=True)
    totals = np.zeros((len(names), rows.shape[1]))
    np.add.at(totals, codes, rows * weights[:, None])
    sizes = np.bincount(codes, weights, len(names))
    return pd.DataFrame(totals / sizes[:, None], index=list(names))


def spread(n: int, rows: np.ndarray, learner, chances: np.ndarray) -> ModelLabels:
    """Return the labels of all rows; those that took no part belong to no class."""
    labels, second = np.full(n, "", object), np.full(n, "", object)
    reliability = np.ones(n)
    names = np.asarray(learner.competing_classes_, dtype=object)
    labels[rows] = np.asarray(learner.labels_, dtype=object)
    reliability[rows] = learner.reliability_
    order = np.argsort(-chances, axis=1, kind="stable")
    first, then = names[order[:, 0]], names[order[:, 1]]
    second[rows] = np.where(first == labels[rows], then, first)
    return ModelLabels(labels, reliability, second)


# ---- on a thread ---------------------------------------------------------------------


class RefusedError(ValueError):
    """What was asked makes no sense; the message says what would."""


class Learning:
    """Prepares a teacher and has it teach.

    ``prepare`` makes the teacher, on a thread; it gets a function to call now and then,
    which raises when the review ends.
    """

    def __init__(self, prepare: Callable[[Stop], Teacher] | None) -> None:
        self.teacher: Teacher | None = None  # not ready
        # Its state is "idle", "running", "done" or "failed", with what it came to.
        self.last: dict[str, Any] = {"state": "idle"}
        # Why nothing can be learned now; "" if it can.
        self.hindrance = "Nobody said how these labels were made."
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        if prepare is not None:
            self.hindrance = "Getting ready to learn ..."
            self._on_thread(self._prepare, prepare)

    def start(self, learn: Callable[[Teacher], dict[str, Any]], given: int) -> None:
        """Start to learn from some answers; ``learn`` returns what that changes.

        While it is learning, nothing else is started.
        """
        if self.teacher is None:
            raise RefusedError(self.hindrance)
        if self.last["state"] != "running":
            self.last = {"state": "running", "given": given}
            self._on_thread(self._learn, self.teacher, learn, given)

    def stop(self) -> bool:
        """Ask the thread to end; return whether it has, within a few seconds."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join(GRACE)
        return self._thread is None or not self._thread.is_alive()

    def _on_thread(self, work: Callable[..., None], *given: Any) -> None:
        self._thread = threading.Thread(target=work, args=given, daemon=True)
        self._thread.start()

    def _prepare(self, prepare: Callable[[Stop], Teacher]) -> None:
        def stop(*progress: int) -> None:
            if self._ends.is_set():
                raise RefusedError("The review has ended.")

        try:
            self.teacher, self.hindrance = prepare(stop), ""
        except Exception as error:  # the page works without, and says why
            self.hindrance = message_of(error)

    def _learn(
        self, teacher: Teacher, learn: Callable[[Teacher], dict[str, Any]], given: int
    ) -> None:
        started = time.monotonic()
        try:
            changes = learn(teacher)
            seconds = round(time.monotonic() - started, 2)
            self.last = {"state": "done", "seconds": seconds, "given": given, **changes}
        except Exception as error:  # it must reach the page, whatever it is
            self.last = {"state": "failed", "reason": message_of(error)}


def message_of(error: Exception) -> str:
    """Return the message of an error in a line, or what kind it is."""
    return " ".join(str(error).split()) or type(error).__name__


def moves(before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """Return how many labels changed, and from what to what, most frequent first."""
    other = np.flatnonzero(before != after)
    counts = Counter((str(before[i]), str(after[i])) for i in other)
    most = [{"old": old, "new": new, "n": n} for (old, new), n in counts.most_common()]
    return {"changed": len(other), "moves": most}
