"""Which rows have which label, how sure that is, and which of them to trust.

A look at the pile leaves these numbers with every row:

    codes        class number by which a row may be trusted
    reliability  how sure that is; the larger, the surer
    reported     class number that is told to the user, mostly the same
    strength     score of that, where rows are ranked by score; else as reliability

Of every predicted class the share ``rate`` with the largest reliability is trusted;
rows that are equally sure are taken in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Ranking = Callable[[np.ndarray], np.ndarray]
Rounding = Callable[[np.ndarray], np.ndarray]


class RowState(NamedTuple):
    """What a look leaves with rows; see the head of this file."""

    codes: np.ndarray
    reliability: np.ndarray
    reported: np.ndarray
    strength: np.ndarray


def digest_of(scores: np.ndarray, ranking: Ranking, answer: Any = None) -> RowState:
    """Label and rank rows by their scores; report labels by ``answer`` if given."""
    small = np.min_scalar_type(scores.shape[1])
    codes, reliability = scores.argmax(axis=1).astype(small), ranking(scores)
    if answer is None:
        return RowState(codes, reliability, codes, reliability)
    reported, strength = answer.argmax(axis=1), reliability
    if ranking is best_score:
        strength = answer[np.arange(len(answer)), reported]
    return RowState(codes, reliability, reported.astype(small), strength)


def held(state: RowState, given: np.ndarray) -> RowState:
    """Return the state with the labels of some rows given, -1 for all others.

    >>> import numpy as np
    >>> from unseen.rows.labelling import best_score, held, digest_of
    >>> state = digest_of(np.array([[0.9, 0.1], [0.6, 0.4]]), best_score)
    >>> held(state, np.array([-1, 1])).codes
    array([0, 1], dtype=uint8)
    """
    known = given >= 0
    codes, reported = state.codes.copy(), state.reported.copy()
    codes[known] = reported[known] = given[known]
    sure, strong = state.reliability.copy(), state.strength.copy()
    sure[known] = strong[known] = np.inf
    return RowState(codes, sure, reported, strong)


class Labelling:
    """The labels of all rows of a pile after one look.

    Parameters
    ----------
    state : RowState
    sizes : ndarray of shape (n_classes,)
        Rows of each class, by ``codes``.
    small : bool, default=True
        Whether a round may keep all labels by name.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.labelling import Labelling, best_score
    >>> scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.7]])
    >>> labelling = Labelling.of(scores, best_score)
    >>> labelling.codes
    array([0, 0, 1], dtype=uint8)
    >>> labelling.selection(0.5, np.floor).rows
    array([0])
    """

    least: np.ndarray | None = None  # rows of each class that are always kept

    def __init__(self, state: Any, sizes: np.ndarray, *, small: bool = True):
        self.state, self.sizes, self.small = state, sizes, small

    @classmethod
    def of(
        cls, scores: np.ndarray, ranking: Ranking, answer: np.ndarray | None = None
    ) -> Labelling:
        """Return the labels of rows whose scores, one column per class, are here.

        ``ranking`` turns scores into reliability. Reported are the labels by
        ``answer``, by default the same scores.
        """
        state = digest_of(scores, ranking, answer)
        return cls(state, np.bincount(state.codes, minlength=scores.shape[1]))

    def __len__(self) -> int:
        """Count the rows."""
        return int(self.sizes.sum())

    @property
    def codes(self) -> np.ndarray:
        """Class number of every row, as it is reported."""
        return self.state.reported

    @property
    def strength(self) -> np.ndarray:
        """How sure each of these is."""
        return self.state.strength

    def named(self, names: np.ndarray) -> np.ndarray | None:
        """Return the reported labels by name, or None where they would be many."""
        return names[self.codes] if self.small else None

    def n_other(self, before: Labelling) -> int:
        """Count the rows whose reported label is another than before."""
        return int(np.count_nonzero(self.codes != before.codes))

    def selection(self, rate: float, how_many: Rounding) -> Selection:
        """Return the rows to trust: a share of each class, the most reliable first.

        ``how_many`` turns ``rate`` times the sizes of classes into numbers of rows.
        """
        quota = np.minimum(how_many(rate * self.sizes), self.sizes).astype(np.intp)
        if self.least is not None:
            quota = np.maximum(quota, self.least)
        everything = (quota == self.sizes).all()
        kept = None if everything else self._most_reliable(quota)
        return Selection(self.state, kept, quota)

    def holding(self, given: np.ndarray) -> Labelling:
        """Return this with the labels of some rows given, -1 for all others.

        They are surer than any other, and every selection has them.
        """
        state = held(self.state, given)
        sizes = np.bincount(state.codes, minlength=len(self.sizes))
        labelling = Labelling(state, sizes, small=self.small)
        labelling.least = np.bincount(given[given >= 0], minlength=len(sizes))
        return labelling

    def _most_reliable(self, quota: np.ndarray) -> Any:
        """Return the mask of as many rows of each class as the quota says."""
        labels = self.state.codes
        order, place, _ = rank_within(labels, self.state.reliability)
        kept = np.zeros(len(labels), dtype=bool)
        kept[order[place < quota[labels[order]]]] = True
        return kept


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows to learn from, and how many there are of each class.

    Attributes
    ----------
    state : RowState
    kept : ndarray of bool or None
        None keeps every row.
    counts : ndarray of shape (n_classes,)
    """

    state: Any
    kept: Any
    counts: np.ndarray

    @classmethod
    def of(cls, rows, labels, n_rows: int, n_classes: int) -> Selection:
        """Return the selection of some row numbers, rising, under these labels."""
        codes, kept = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows, dtype=bool)
        codes[rows], kept[rows] = labels, True
        counts = np.bincount(labels, minlength=n_classes)
        return cls(RowState(codes, codes, codes, codes), kept, counts)

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the rows, rising."""
        everything = np.arange(len(self.state.codes))
        return everything if self.kept is None else everything[self.kept]

    @property
    def labels(self) -> np.ndarray:
        """Class number of each of these rows."""
        codes = self.state.codes
        return (codes if self.kept is None else codes[self.kept]).astype(np.intp)


# ---- ranks ---------------------------------------------------------------------------


def best_score(scores: np.ndarray) -> np.ndarray:
    """Return each row's largest score."""
    return scores.max(axis=1)


def margin(scores: np.ndarray) -> np.ndarray:
    """Return by how much each row's largest score leads the second."""
    if scores.shape[1] < 2:
        return scores.max(axis=1)
    second, first = np.partition(scores, -2, axis=1)[:, -2:].T
    return first - second


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
