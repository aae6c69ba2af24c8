"""Self-training, the loop: label, rank, keep a growing share, refit.

Any model takes part through a *pupil*, the model in the middle of learning
from one pile:

    competition           who competes: the names of the score columns
    scores()              (n_rows, n_classes), by which rows are labelled and ranked
    refit(rows, labels)   learn from self-labelled rows, anchored to what it was;
                          returns the value of what the refit lowers
    answer()              (n_rows, n_classes), the scores its final labels follow
    note()                optional: what else is to be said of the round, in words
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

# Turns rate * n_predicted into a number of rows.
ROUNDING: dict[str, Callable[[float], int]] = {
    "floor": math.floor,
    "nearest": lambda rows: math.floor(rows + 0.5),
    "at_least_one": lambda rows: max(1, math.floor(rows)),
}
PAPER_RATES = (0.4, 0.6, 0.8, 1.0)


class Pupil(Protocol):
    """A model learning from a pile; see the head of this file."""

    competition: Any  # its ``names`` are the score columns

    def scores(self) -> np.ndarray:
        """Return the scores that label and rank the rows."""

    def refit(self, rows: np.ndarray, labels: np.ndarray) -> float:
        """Learn from these rows under these labels; return the objective."""

    def answer(self) -> np.ndarray:
        """Return the scores that the reported labels follow."""


@dataclass(frozen=True, eq=False)
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
    labels : ndarray of shape (n_samples,)
        Labels after the round.
    note : str
        What the model has to say of the round, if anything.
    """

    rate: float
    selected: np.ndarray
    n_changed: int
    objective: float
    labels: np.ndarray
    note: str = ""

    @property
    def n_selected(self) -> int:
        """Rows kept in all."""
        return int(self.selected.sum())

    def __str__(self) -> str:
        told = (
            f"Kept {self.n_selected:,} of {len(self.labels):,} rows (rate "
            f"{self.rate:g}); {self.n_changed:,} labels changed."
        )
        return f"{told} {self.note}".rstrip()


def self_train(
    pupil: Pupil,
    rates: Sequence[float] | np.ndarray,
    *,
    how_many: Callable[[float], int],
    ranking: Callable[[np.ndarray], np.ndarray] | None = None,
    tol: float | None = None,
) -> list[Round]:
    """Run one round per rate and return what each did.

    Parameters
    ----------
    pupil : Pupil
    rates : sequence of float
    how_many : callable
        Turns ``rate * n_predicted`` into a number of rows.
    ranking : callable, default=None
        Turns scores into the reliability of each row's label; by default the score
        of the label itself.
    tol : float, default=None
        Once every row is kept, stop when at most this share of labels changes.
    """
    ranking = ranking or best_score
    names = pupil.competition.names
    rounds: list[Round] = []
    reported = pupil.answer().argmax(axis=1)
    # The refits are small: more threads would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        for rate in rates:
            rows, labels = most_reliable(pupil.scores(), rate, how_many, ranking)
            objective = pupil.refit(rows, labels)
            before, reported = reported, pupil.answer().argmax(axis=1)
            rounds.append(
                Round(
                    rate=float(rate),
                    selected=np.bincount(labels, minlength=len(names)),
                    n_changed=int((before != reported).sum()),
                    objective=objective,
                    labels=names[reported],
                    note=pupil.note() if hasattr(pupil, "note") else "",
                )
            )
            settled = tol is not None and rounds[-1].n_changed <= tol * len(reported)
            if settled and rate == 1:
                break
    return rounds


def record_answer(model: Any, pupil: Pupil, rounds: list[Round]) -> Any:
    """Leave on the model what its pupil says of the pile; return the model."""
    answer = pupil.answer()
    model.labels_ = pupil.competition.names[answer.argmax(axis=1)]
    model.reliability_ = rank_share(answer)
    model.rounds_ = rounds
    return model


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


def best_score(scores: np.ndarray) -> np.ndarray:
    """Return each row's largest score."""
    return scores.max(axis=1)


def margin(scores: np.ndarray) -> np.ndarray:
    """Return by how much each row's largest score leads the second."""
    if scores.shape[1] < 2:
        return scores.max(axis=1)
    second, first = np.partition(scores, -2, axis=1)[:, -2:].T
    return first - second


def most_reliable(
    scores: np.ndarray,
    rate: float,
    how_many: Callable[[float], int],
    ranking: Callable[[np.ndarray], np.ndarray] = best_score,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to trust and their labels, a share of each predicted class."""
    labels = scores.argmax(axis=1)
    order, place, sizes = rank_within(labels, ranking(scores))
    quota = np.array([how_many(rate * int(size)) for size in sizes])
    kept = np.sort(order[place < quota[labels[order]]])
    return kept, labels[kept]


def rank_within(
    labels: np.ndarray, reliability: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order rows by class, most reliable first; ties keep the order of the rows.

    Returns (order, place of each ordered row in its class, size of each class).
    """
    order = np.lexsort((-reliability, labels))
    sizes = np.bincount(labels)
    first = np.cumsum(sizes) - sizes
    place = np.arange(len(labels)) - first[labels[order]]
    return order, place, sizes


def rank_share(scores: np.ndarray) -> np.ndarray:
    """Return 1 for the most reliable row of a predicted class, falling to 1/n_c.

    A round at rate r trusts, up to rounding, the rows above 1 - r.
    """
    labels = scores.argmax(axis=1)
    order, place, sizes = rank_within(labels, best_score(scores))
    share = np.empty(len(labels))
    share[order] = 1 - place / sizes[labels[order]]
    return share
