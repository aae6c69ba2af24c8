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
from sys import stderr
from typing import Any, Protocol

import numpy as np

from unseen._progress import progress_bar
from unseen._threads import one_thread
from unseen.rows.holders import Looked

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
    labels : ndarray of shape (n_samples,) or None
        Labels after the round; not kept where the pile is larger than memory.
    note : str
        What the model has to say of the round, if anything.
    n_rows : int or None
        Rows of the pile.
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

    def __str__(self) -> str:
        n_rows = self.n_rows if self.labels is None else len(self.labels)
        told = (
            f"Kept {self.n_selected:,} of {n_rows:,} rows (rate "
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
    competition = pupil.competition
    rounds: list[Round] = []
    reported = reported_labels(pupil.answer())
    shown = not isinstance(reported, np.ndarray) and stderr.isatty()
    # The refits are small: more threads would only wait for each other.
    with (
        one_thread(),
        progress_bar("self-training", len(rates), shown=shown) as advance,
    ):
        for rate in rates:
            rows, labels, selected = trusted(pupil.scores(), rate, how_many, ranking)
            objective = pupil.refit(rows, labels)
            before, reported = reported, reported_labels(pupil.answer())
            n_changed, n_rows = n_different(before, reported)
            rounds.append(
                Round(
                    rate=float(rate),
                    selected=competition.count(selected),
                    n_changed=n_changed,
                    objective=objective,
                    labels=named(competition.names, reported),
                    note=pupil.note() if hasattr(pupil, "note") else "",
                    n_rows=n_rows,
                )
            )
            advance()
            if tol is not None and rate == 1 and n_changed <= tol * n_rows:
                break
    return rounds


def record_answer(model: Any, pupil: Pupil, rounds: list[Round]) -> Any:
    """Leave on the model what its pupil says of the pile; return the model."""
    answer = pupil.answer()
    if isinstance(answer, np.ndarray):
        codes, score = answer.argmax(axis=1), best_score(answer)
    else:
        looked = answer.look(best_score)
        codes, score = looked.codes(), looked.reliability()
    model.labels_ = pupil.competition.names[codes]
    model.reliability_ = share_by_rank(codes, score)
    model.rounds_ = rounds
    return model


# ---- scores in memory, or in blocks (rows.holders) --------------------------------


def reported_labels(answer: Any) -> Any:
    """Return the class number of every row, or what stands for it block by block."""
    if isinstance(answer, np.ndarray):
        return answer.argmax(axis=1)
    return answer.look(best_score)


def trusted(scores: Any, rate: float, how_many, ranking) -> tuple[Any, Any, np.ndarray]:
    """Return the rows to trust, their labels, and how many there are of each class."""
    if isinstance(scores, np.ndarray):
        rows, labels = most_reliable(scores, rate, how_many, ranking)
        return rows, labels, np.bincount(labels, minlength=scores.shape[1])
    chosen = scores.look(ranking).most_reliable(rate, how_many)
    return chosen, None, chosen.counts


def n_different(before: Any, after: Any) -> tuple[int, int]:
    """Return how many labels differ, and of how many."""
    if isinstance(after, Looked):
        return after.n_other(before), len(after.rows)
    return int((before != after).sum()), len(after)


def named(names: np.ndarray, reported: Any) -> np.ndarray | None:
    """Return labels by name; None in blocks, where a list per round would be large."""
    return None if isinstance(reported, Looked) else names[reported]


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
    order = np.argsort(-reliability, kind="stable")
    small = labels.astype(np.min_scalar_type(labels.max(initial=0)))  # a radix sort
    order = order[np.argsort(small[order], kind="stable")]
    sizes = np.bincount(labels)
    first = np.cumsum(sizes) - sizes
    place = np.arange(len(labels)) - first[labels[order]]
    return order, place, sizes


def rank_share(scores: np.ndarray) -> np.ndarray:
    """Return 1 for the most reliable row of a predicted class, falling to 1/n_c.

    A round at rate r trusts, up to rounding, the rows above 1 - r.
    """
    return share_by_rank(scores.argmax(axis=1), best_score(scores))


def share_by_rank(labels: np.ndarray, reliability: np.ndarray) -> np.ndarray:
    """Return the same from labels and how reliable each is."""
    order, place, sizes = rank_within(labels, reliability)
    share = np.empty(len(labels))
    share[order] = 1 - place / sizes[labels[order]]
    return share
