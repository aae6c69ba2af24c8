"""Who competes for a row: names and embeddings, equal descriptions made one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen._words import short_list

SAME = 1.2345e-11  # share of the largest number by which equal descriptions may differ


class EqualDescriptionsWarning(UserWarning):
    """Some competing classes have equal descriptions: the first of them takes all."""


class Offered(NamedTuple):
    """Every class that was asked for, and which distinct class answers for it."""

    names: np.ndarray
    embeddings: np.ndarray
    column: np.ndarray


@dataclass(frozen=True, eq=False)
class Competition:
    """The classes that compete for a row.

    Classes that a model cannot tell apart, because it sees equal descriptions, compete
    as one, under the name that is first in table order. So their scores are equal to
    the last bit, and none of them takes rows, or weight, from the others.

    Attributes
    ----------
    names : ndarray of shape (n_distinct,)
        The classes that models and rounds see.
    embeddings : ndarray of shape (n_distinct, n_dims)
    offered : Offered or None
        All classes that were asked for, in the order of the score columns; None if
        these are ``names``.
    """

    names: np.ndarray
    embeddings: np.ndarray
    offered: Offered | None = None

    def __len__(self) -> int:
        """Count the distinct classes."""
        return len(self.names)

    @property
    def columns(self) -> np.ndarray:
        """Names of all classes that were asked for: the columns of public scores."""
        return self.names if self.offered is None else self.offered.names

    def spread(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of all classes that were asked for, from distinct ones."""
        return scores if self.offered is None else scores[..., self.offered.column]

    def count(self, counts: np.ndarray) -> np.ndarray:
        """Return counts, or probabilities, of all classes that were asked for.

        Of classes that compete as one the first has them all, as it has the rows.
        """
        if self.offered is None:
            return counts
        first = np.isin(self.columns, self.names)
        return np.where(first, self.spread(counts), counts.dtype.type(0))

    def merge(self, shares: np.ndarray) -> np.ndarray:
        """Add up the shares of classes that compete as one."""
        if self.offered is None:
            return shares
        return np.bincount(self.offered.column, weights=shares)

    def find(self, names: np.ndarray, embeddings: np.ndarray) -> np.ndarray:
        """Return which distinct class each of these is, -1 for a stranger.

        A new class may reuse a name: only the same embedding is the same class.
        """
        own = self.offered or Offered(self.names, self.embeddings, np.arange(len(self)))
        place = pd.Index(own.names).get_indexer(pd.Index(names))
        same = (own.embeddings[place] == embeddings).all(axis=1)
        return np.where((place >= 0) & same, own.column[place], -1)

    def only(self, keep: np.ndarray) -> Competition:
        """Return the competition of some of the distinct classes."""
        names, embeddings = self.names[keep], self.embeddings[keep]
        if self.offered is None:
            return Competition(names, embeddings)
        own = keep[self.offered.column]
        number = np.cumsum(keep) - 1
        return Competition(
            names,
            embeddings,
            Offered(
                self.offered.names[own],
                self.offered.embeddings[own],
                number[self.offered.column[own]],
            ),
        )

    def message(self) -> str:
        """Say which classes compete as one."""
        own = self.offered
        if own is None:
            return ""
        groups = [own.names[own.column == i] for i in range(len(self))]
        twins = [short_list(group) for group in groups if len(group) > 1]
        more = f", and {len(twins) - 3} groups more" if len(twins) > 3 else ""
        return (
            f"Classes have equal descriptions: {'; '.join(twins[:3])}{more}. Nothing "
            "tells them apart, so the first of them in the table gets all rows. "
            "Describe them differently, or leave all but one out."
        )


def compete(
    names: np.ndarray, embeddings: np.ndarray, rank: np.ndarray, seen_as: np.ndarray
) -> Competition:
    """Return the competition of classes, those that are seen as equal made one.

    Parameters
    ----------
    names, embeddings
        Of all classes, in the order of the score columns.
    rank : ndarray of shape (n_classes,)
        Their places in the table: of equal ones the first gives its name.
    seen_as : ndarray of shape (n_classes, any)
        What the model sees of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.competition import compete
    >>> table = np.array([[1.0, 0], [0, 1], [1, 0]])
    >>> made = compete(np.array(["a", "b", "c"]), table, np.arange(3), table)
    >>> made.names, made.spread(np.array([[0.3, 0.7]]))
    (array(['a', 'b'], dtype='<U1'), array([[0.3, 0.7, 0.3]]))
    """
    column = equal_rows(seen_as)
    if column.max(initial=-1) + 1 == len(names):
        return Competition(names, embeddings)
    order = np.lexsort((rank, column))
    first = order[np.unique(column[order], return_index=True)[1]]
    offered = Offered(names, embeddings, column)
    return Competition(names[first], embeddings[first], offered)


def with_own_rows(seen_as: np.ndarray, names: Any, known: np.ndarray) -> np.ndarray:
    """Return what is seen of classes, known ones apart: they have rows of their own."""
    place = pd.Index(known).get_indexer(pd.Index(names))
    return np.column_stack([seen_as, (place + 1) / len(known)])


def equal_rows(rows: np.ndarray) -> np.ndarray:
    """Return a number for every row, the same for rows equal but for rounding.

    >>> import numpy as np
    >>> from unseen.competition import equal_rows
    >>> equal_rows(np.array([[0.3], [2.0], [0.1 + 0.2]]))
    array([0, 1, 0])
    """
    largest = np.abs(rows).max(initial=0) or 1.0
    # On a grid, and each row as one number: sums of whole numbers have no rounding.
    grid = np.rint(rows / largest / SAME).astype(np.int64)
    random = np.random.default_rng(0)
    keys = grid @ random.integers(1, 2**62, size=rows.shape[1])
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]
