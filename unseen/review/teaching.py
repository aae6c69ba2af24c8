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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unseen.core.given import NONE_OF_THESE
from unseen.core.linalg import leading_eigenvectors, to_unit
from unseen.review.answers import ModelLabels

if TYPE_CHECKING:
    from unseen.transduction.guided_mixture import GuidedMixture

MANY, AXES = 4_000, 128  # rows from which on they are met on that many axes
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
        units = to_unit(self.X)
        self.many, self.axes = len(units) >= MANY, None
        if self.many and units.shape[1] > AXES:
            moments = (units.T @ units).astype(np.float64)
            self.axes = leading_eigenvectors(moments, AXES)[1].astype(units.dtype)
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
        first = np.asarray(P.index, object)
        now = ModelLabels(first, first, first).renamed(renames).labels
        first_names = dict(zip(now[::-1], first[::-1], strict=True))  # by those of now
        named = {*first_names, *given.values()} - {""}
        if len(named) < 2:
            raise ValueError(
                f"There {'is one class' if named else 'is no class'}, and nothing "
                "to learn apart. Name at least two."
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
        order = np.argsort(-learner.predict_proba(self.units[rows]), kind="stable")
        best, then = np.asarray(learner.competing_classes_, object)[order[:, :2]].T
        n = len(self.units)
        new = ModelLabels(np.full(n, "", object), np.ones(n), np.full(n, "", object))
        new.labels[rows] = np.asarray(learner.labels_, dtype=object)
        new.reliability[rows] = learner.reliability_
        new.second[rows] = np.where(best == new.labels[rows], then, best)
        return new.renamed(renames)

    def _prototypes(self, current: ModelLabels | None) -> tuple[pd.DataFrame, dict]:
        """Return where classes start, and the parameters of what learns."""
        if self.start is not None:
            P = self.start.class_embeddings_
            P = P if self.axes is None else P @ self.axes
            return pd.DataFrame(P, index=self.start.classes_), self.start.get_params()
        assert current is not None  # labels are the only start there is
        rows = np.flatnonzero(current.labels != "")
        weights = np.maximum(np.nan_to_num(current.reliability, nan=1.0), 1e-3)[rows]
        weighted = pd.DataFrame(self.units[rows] * weights[:, None])
        total = weighted.groupby(current.labels[rows]).sum()
        return total.div(pd.Series(weights).groupby(current.labels[rows]).sum(), 0), {}


# ---- on a thread ---------------------------------------------------------------------


class Learning:
    """Prepares a teacher on a thread and has it teach.

    ``prepare`` gets a function to call now and then, which raises when the review ends.
    """

    def __init__(self, prepare: Callable[[Stop], Teacher]) -> None:
        self._ends = threading.Event()
        self._thread = ThreadPoolExecutor(1)
        self._prepared = self._thread.submit(prepare, self._go_on)
        self._lesson: Future | None = None

    @property
    def hindrance(self) -> str:
        """Why nothing can be learned now; "" if it can."""
        if not self._prepared.done():
            return "Getting ready to learn ..."
        return reason_of(self._prepared)

    @property
    def teacher(self) -> Teacher | None:  # noqa: D102
        return None if self.hindrance else self._prepared.result()

    @property
    def last(self) -> dict[str, Any]:
        """What the last lesson came to; its ``state`` says how far it is."""
        if self._lesson is None:
            return {"state": "idle"}
        if not self._lesson.done():
            return {"state": "running"}
        if reason := reason_of(self._lesson):
            return {"state": "failed", "reason": reason}
        return {"state": "done", **self._lesson.result()}

    def start(self, learn: Callable[[Teacher], dict[str, Any]]) -> None:
        """Start to learn, unless it does; ``learn`` tells what has changed."""
        if self.hindrance:
            raise ValueError(self.hindrance)
        if self.last["state"] != "running":
            self._lesson = self._thread.submit(learn, self._prepared.result())

    def stop(self) -> bool:
        """Ask the thread to end; return whether it has, within a few seconds."""
        self._ends.set()
        self._thread.shutdown(wait=False)
        return not wait([self._lesson or self._prepared], timeout=5.0).not_done

    def _go_on(self, *progress: int) -> None:
        if self._ends.is_set():
            raise ValueError("The review has ended.")


def reason_of(job: Future) -> str:
    """Return why a job failed, in a line; "" if it has not."""
    error = job.exception()
    return "" if error is None else " ".join(str(error).split()) or type(error).__name__
