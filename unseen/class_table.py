"""Who the classes are: their names, one embedding each, and which were seen.

``encode`` turns the ``y`` and ``class_embeddings`` of a ``fit`` into a
:class:`ClassTable` and row numbers; :meth:`ClassTable.competition` answers who
competes in a prediction. Every estimator asks here, so all of them accept the
same tables: an array (``y`` holds row numbers), a pandas or polars frame
(``y`` holds names), several tables to fuse, or none at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets

from unseen._params import refuse_masked, refuse_mixed

GROUPS = ("all", "seen", "unseen")
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
        """Return counts of all classes that were asked for: the first has them all."""
        if self.offered is None:
            return counts
        return np.where(np.isin(self.columns, self.names), self.spread(counts), 0)

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

    def message(self) -> str:
        """Say which classes compete as one."""
        own = self.offered
        if own is None:
            return ""
        groups = [own.names[own.column == i] for i in range(len(self))]
        twins = [f"{_short(group)}" for group in groups if len(group) > 1]
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
    >>> from unseen.class_table import compete
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
    >>> from unseen.class_table import equal_rows
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


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Every class by name, one embedding row each.

    Attributes
    ----------
    names : ndarray of shape (n_classes,)
        Class names, or row numbers if the table came as an array.
    embeddings : ndarray of shape (n_classes, n_dims)
        One row per class; fused tables stand side by side.
    seen : ndarray of shape (n_classes,), bool
        True where ``y`` held the class.
    widths : tuple of int
        How many columns each fused table takes; one entry for a single table.
    """

    names: np.ndarray
    embeddings: np.ndarray
    seen: np.ndarray
    widths: tuple[int, ...]

    def __len__(self) -> int:
        """Count the classes."""
        return len(self.names)

    def competition(self, classes: Any = None, seen_as=None) -> Competition:
        """Return who competes: a group, a list of names, or a table of new classes.

        ``seen_as(names, embeddings)`` returns what a model sees of classes: those that
        it sees as equal compete as one. Without it all are taken to differ.
        """
        names, embeddings, rank = self._asked_for(classes)
        if seen_as is None:
            return Competition(names, embeddings)
        return compete(names, embeddings, rank, seen_as(names, embeddings))

    def _asked_for(self, classes: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return names, embeddings and places in the table."""
        if classes is None:
            classes = "unseen" if not self.seen.all() else "all"
        if isinstance(classes, str):
            return self._group(classes)
        if isinstance(classes, Mapping) or np.ndim(classes) == 2:
            return self._newcomers(classes)
        return self._named(classes)

    def _group(self, group: str):
        if group not in GROUPS:
            raise ValueError(
                f"classes={group!r} is not a group of classes. Give one of "
                f"{', '.join(map(repr, GROUPS))}, a list of class names, or a table "
                "of new classes."
            )
        chosen = {
            "all": np.ones(len(self), dtype=bool),
            "seen": self.seen,
            "unseen": ~self.seen,
        }[group]
        if not chosen.any():
            raise ValueError(
                f"classes={group!r} leaves no class to compete: every class of the "
                "table was seen. Give 'all', or a table of new classes."
            )
        return self.names[chosen], self.embeddings[chosen], np.flatnonzero(chosen)

    def _named(self, classes: Any):
        wanted = np.atleast_1d(np.asarray(classes))
        if wanted.ndim != 1 or not len(wanted):
            raise ValueError(
                f"classes has shape {wanted.shape}. Give a 1-D list with at least one "
                "class name, or a 2-D table of new classes."
            )
        rows = pd.Index(self.names).get_indexer(pd.Index(wanted))
        if (rows < 0).any():
            raise ValueError(
                f"classes names {_short(wanted[rows < 0])}, which the fitted table of "
                f"{len(self)} classes does not hold. Give known names, or a table of "
                "new classes with one embedding each."
            )
        if len(np.unique(rows)) < len(rows):
            raise ValueError(f"classes names a class twice: {_short(wanted)}.")
        return self.names[rows], self.embeddings[rows], rows

    def _newcomers(self, classes: Any):
        names, embeddings, widths = read_table(classes, what="classes")
        if widths != self.widths:
            raise ValueError(
                f"classes is a table with {_widths(widths)}, but the model was fitted "
                f"on {_widths(self.widths)}. Give new classes the same dimensions."
            )
        if names is None:
            names = len(self) + np.arange(len(embeddings))
        known = np.isin(names, self.names)
        if known.any():
            raise ValueError(
                f"classes is a table of new classes, but {_short(names[known])} "
                "stands in the fitted table already. Name known classes in a list."
            )
        return names, embeddings, np.arange(len(names))


def encode(y: np.ndarray, class_embeddings: Any = None) -> tuple[ClassTable, Any]:
    """Return the class table and, for every row, the number of its class.

    Without embeddings every class is its own indicator.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from unseen.class_table import encode
    >>> animals = pd.DataFrame({"stripes": [1.0, 0, 1]}, ["zebra", "horse", "tiger"])
    >>> table, codes = encode(np.array(["zebra", "tiger", "zebra"]), animals)
    >>> codes
    array([0, 2, 0])
    >>> table.competition().names
    array(['horse'], dtype='<U5')
    """
    refuse_mixed(y, "y")
    check_classification_targets(y)
    if class_embeddings is None:
        names, codes = np.unique(y, return_inverse=True)
        embeddings = np.eye(len(names))
        widths: tuple[int, ...] = (len(names),)
    else:
        given, embeddings, widths = read_table(class_embeddings)
        names = np.arange(len(embeddings)) if given is None else given
        codes = pd.Index(names).get_indexer(pd.Index(y))
        if (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            what = "rows, numbered from 0" if given is None else "classes"
            raise ValueError(
                f"y holds {_short(y[[row]])} (row {row}), but class_embeddings has "
                f"{len(names)} {what}. Give one row per class that occurs in y."
            )
    seen = np.bincount(codes, minlength=len(names)) > 0
    if seen.sum() < 2:
        only = names[seen][0] if seen.any() else None
        raise ValueError(
            f"y holds one class only ({_short([only])}). Give rows of two or more."
        )
    return ClassTable(names, embeddings, seen, widths), codes


def read_table(
    table: Any, *, what: str = "class_embeddings"
) -> tuple[np.ndarray | None, np.ndarray, tuple[int, ...]]:
    """Return (names or None, embeddings, widths) of a table in any accepted form."""
    if isinstance(table, Mapping):
        return _read_several(table, what)
    names: np.ndarray | None = None
    widths: tuple[int, ...] | None = None
    if type(table).__module__.split(".")[0] == "polars":
        table = _from_polars(table, what)
    if isinstance(table, pd.DataFrame):
        names = _as_names(table.index, what)
        if table.columns.nlevels > 1:
            first = table.columns.get_level_values(0)
            parts = [table.loc[:, first == key] for key in dict.fromkeys(first)]
            widths = tuple(part.shape[1] for part in parts)
            table = pd.concat(parts, axis=1)
    embeddings = _as_numbers(table, names, what)
    return names, embeddings, widths or (embeddings.shape[1],)


def unit_blocks(embeddings: np.ndarray, widths: tuple[int, ...]) -> np.ndarray:
    """Return the embeddings with rows of unit length, table by table.

    Fused tables weigh the same: k blocks are scaled by 1/√k each, so their
    inner products are averaged and a full row keeps unit length.
    """
    blocks = np.split(embeddings, np.cumsum(widths)[:-1], axis=1)
    return np.hstack([unit(block) for block in blocks]) / np.sqrt(len(blocks))


def unit(rows: np.ndarray) -> np.ndarray:
    """Return the rows at unit length; a row of zeros stays."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    odd = (largest > 1e150) | ((largest < 1e-150) & (largest > 0))
    rows = rows / np.where(odd, largest, 1)  # else squares would leave the range
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _read_several(tables: Mapping, what: str):
    if not tables:
        raise ValueError(f"{what} is an empty mapping. Give at least one table.")
    parts = {
        key: read_table(table, what=f"{what}[{key!r}]") for key, table in tables.items()
    }
    (first_key, (names, first, _)), *others = parts.items()
    blocks = [first]
    for key, (other_names, embeddings, _) in others:
        if (names is None) != (other_names is None) or len(embeddings) != len(first):
            raise ValueError(
                f"{what}[{key!r}] does not list the same classes as "
                f"{what}[{first_key!r}]: {len(embeddings)} rows against {len(first)}."
            )
        if names is not None and other_names is not None:
            rows = pd.Index(other_names).get_indexer(pd.Index(names))
            if (rows < 0).any():
                raise ValueError(
                    f"{what}[{key!r}] lacks {_short(names[rows < 0])}, which "
                    f"{what}[{first_key!r}] holds. Fused tables list the same classes."
                )
            embeddings = embeddings[rows]
        blocks.append(embeddings)
    return names, np.hstack(blocks), tuple(block.shape[1] for block in blocks)


def _from_polars(frame: Any, what: str) -> pd.DataFrame:
    texts = [name for name, kind in frame.schema.items() if str(kind) == "String"]
    if not texts:
        raise ValueError(
            f"{what} is a polars frame without a text column. Give one with the names."
        )
    numbers = frame.drop(texts[0])
    return pd.DataFrame(
        numbers.to_numpy(), index=frame[texts[0]].to_list(), columns=numbers.columns
    )


def _as_names(index: pd.Index, what: str) -> np.ndarray:
    if index.hasnans:
        raise ValueError(f"{what} has a row without a name. Name every class.")
    if not index.is_unique:
        twice = index[index.duplicated()].unique()
        raise ValueError(f"{what} names {_short(twice)} more than once.")
    names = index.to_numpy()
    refuse_mixed(names, what)
    return names.astype(str) if all(isinstance(n, str) for n in names) else names


def _as_numbers(table: Any, names: np.ndarray | None, what: str) -> np.ndarray:
    refuse_masked(table, what)
    try:
        embeddings = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} holds more than numbers: {error}.") from None
    if embeddings.ndim != 2 or 0 in embeddings.shape:
        raise ValueError(
            f"{what} has shape {embeddings.shape}. Give one row per class and at least "
            "one column."
        )
    bad = ~np.isfinite(embeddings).all(axis=1)
    if bad.any():
        where = (np.arange(len(embeddings)) if names is None else names)[bad]
        raise ValueError(f"{what} holds NaN or infinity in the row of {_short(where)}.")
    return embeddings


def _short(names: Any, most: int = 3) -> str:
    """Name a few of many."""
    texts = [repr(n.item() if hasattr(n, "item") else n) for n in list(names)]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def _widths(widths: tuple[int, ...]) -> str:
    return " + ".join(map(str, widths)) + " dimensions"
