"""Until the last of them is a function (see core/around.py): methods as classes.

A method file provides ``_transduce``: from a :class:`~unseen.core.around.Start` to the
scores of the rows and what happened round by round.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real

import numpy as np

from unseen.core.around import Relabelled, Relabelling, Start
from unseen.core.base import Round
from unseen.core.classes import Candidates
from unseen.core.params import HasMethods, Interval
from unseen.transduction.memory import SEARCH, affordable_search

Outcome = Relabelled
START: dict = {"estimator": [HasMethods(["fit", "predict"]), None]}
# Of a mixture that the neighbours of a row have a say in.
MIXTURE: dict = {
    **SEARCH,
    "likelihood_weight": [Interval(Real, 0, None, closed="left")],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "n_rounds": [Interval(Integral, 1, None, closed="left")],
}


class Transducer(Relabelling):
    """Base of the methods that relabel rows and are classes still."""

    def _search(self, rows: np.ndarray) -> str:
        """Choose how the neighbours of rows are found, and leave it to be read."""
        name = type(self).__name__
        self.neighbor_search_ = affordable_search(name, self.neighbors, rows)
        return self.neighbor_search_

    @abstractmethod
    def _transduce(self, start: Start) -> Relabelled:
        """Relabel the rows."""

    def _relabel(self, start: Start) -> Relabelled:
        return self._transduce(start)


def keep_unreached(F: np.ndarray, start: Start) -> tuple[np.ndarray, int]:
    """As ``Start.keep_unreached``."""
    return start.keep_unreached(F)


def as_round(
    before: np.ndarray,
    scores: np.ndarray,
    candidates: Candidates,
    *,
    objective: float = float("nan"),
    note: str = "",
) -> Round:
    """As ``Start.round``."""
    labels = scores.argmax(axis=1)
    return Round(
        rate=1.0,
        selected=candidates.count(np.bincount(labels, minlength=len(candidates))),
        n_changed=int((before.argmax(axis=1) != labels).sum()),
        objective=objective,
        labels=candidates.names[labels],
        note=note,
    )
