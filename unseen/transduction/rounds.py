"""Self-training, the loop: label, rank, keep a growing share, refit.

Any model takes part through a *learner*, the model in the middle of learning
from one pile:

    competition           who competes: the names of the classes, by number
    labelling(ranking)    label and rank all rows; a ``rows.Labelling``
    refit(selection)      learn from the rows of a ``rows.Selection``, anchored to what
                          it was; returns the value of what the refit lowers
    note()                optional: what else is to be said of the round, in words

Where the rows are, in memory, in a file or on a cluster, is no matter here.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unseen._progress import counted
from unseen._threads import one_thread
from unseen.models.given import GivenRows
from unseen.rows.labelling import (
    Labelling,
    Ranking,
    Rounding,
    Selection,
    best_score,
)

# Turns rate * n_predicted, of all classes, into numbers of rows.
ROUNDING: dict[str, Rounding] = {
    "floor": np.floor,
    "nearest": lambda rows: np.floor(rows + 0.5),
    "at_least_one": lambda rows: np.maximum(1, np.floor(rows)),
}
PAPER_RATES = (0.4, 0.6, 0.8, 1.0)


class Learner(Protocol):
    """A model learning from a pile; see the head of this file."""

    competition: Any  # its ``names`` are the classes, by number

    def labelling(self, ranking: Ranking) -> Labelling:
        """Label every row, and say by ``ranking`` of its scores how sure that is."""

    def refit(self, selection: Selection) -> float:
        """Learn from these rows under their labels; return the objective."""


@dataclass(frozen=True, eq=False, repr=False)
class Round:
    """What one round of self-training did.

    Attributes
    ----------
    rate : float
        Share of each predicted class that was kept.
    selected : ndarray of shape (n_competing,)
        Rows kept of each competing class.
    n_changed : int
        Rows whose reported label differs from the round before.
    objective : float
        Value of what the refit lowers, after it.
    labels : ndarray of shape (n_samples,) or None
        Labels after the round; not kept where the pile is larger than memory.
    note : str
        What the model has to say of the round, if anything.
    n_rows : int or None
        Rows of the pile.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.transduction.rounds import Round
    >>> print(Round(0.5, np.array([2, 1]), 1, 0.0, None, n_rows=6))
    Kept 3 of 6 rows (rate 0.5); 1 label changed.
    """

    rate: float
    selected: np.ndarray
    n_changed: int
    objective: float
    labels: np.ndarray | None
    note: str = ""
    n_rows: int | None = None

    @property
    def n_selected(self) -> int:
        """Rows kept in all."""
        return int(self.selected.sum())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>"

    def __str__(self) -> str:
        n_rows = self.n_rows if self.labels is None else len(self.labels)
        message = (
            f"Kept {self.n_selected:,} of {n_rows:,} rows (rate "
            f"{self.rate:g}); {self.n_changed:,} "
            f"{'label' if self.n_changed == 1 else 'labels'} changed."
        )
        return f"{message} {self.note}".rstrip()


def self_train(
    learner: Learner,
    rates: Sequence[float] | np.ndarray,
    *,
    how_many: Rounding,
    ranking: Ranking = best_score,
    tol: float | None = None,
    given: GivenRows | None = None,
) -> list[Round]:
    """Run one round per rate and return what each did.

    Parameters
    ----------
    learner : Learner
    rates : sequence of float
    how_many : callable
        Turns ``rate * n_predicted`` of the classes into numbers of rows.
    ranking : callable, default=best_score
        Turns scores into the reliability of each row's label.
    tol : float, default=None
        Once every row is kept, stop when at most this share of labels changes.
    given : GivenRows, optional
        Rows whose labels are certain: always kept, under these labels.
    """
    competition = learner.competition
    rounds: list[Round] = []

    def look() -> Labelling:
        labelling = learner.labelling(ranking)
        return labelling if given is None else labelling.holding(given.codes)

    labelling = look()
    n_rows = len(labelling)
    # The refits are small: more threads would only wait for each other.
    with one_thread():
        for rate in counted("self-training", list(rates)):
            selection = labelling.selection(rate, how_many)
            objective = learner.refit(selection)
            before, labelling = labelling, look()
            n_changed = labelling.n_other(before)
            rounds.append(
                Round(
                    rate=float(rate),
                    selected=competition.count(selection.counts),
                    n_changed=n_changed,
                    objective=objective,
                    labels=labelling.named(competition.names),
                    note=learner.note() if hasattr(learner, "note") else "",
                    n_rows=n_rows,
                )
            )
            if tol is not None and rate == 1 and n_changed <= tol * n_rows:
                break
    return rounds


def checked_rates(rates: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the rates as an array, or say which of them is no share."""
    rates = np.asarray(rates, dtype=np.float64)
    outside = rates[~((rates > 0) & (rates <= 1))] if rates.ndim == 1 else rates
    if rates.ndim != 1 or len(outside):
        raise ValueError(
            f"rates={rates.tolist()} must be a list of shares in (0, 1]"
            + (f"; {outside[0]} is not." if rates.ndim == 1 else ".")
        )
    return rates
