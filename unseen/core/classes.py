"""Who the classes are, and which of them are candidates for a row.

``encode`` turns the ``y`` and ``class_embeddings`` of a ``fit`` into a
:class:`ClassTable` and row numbers; :meth:`ClassTable.candidates` answers which classes
compete in a prediction. Every estimator asks here, so all of them accept the same
tables: an array (``y`` holds row numbers), a frame (``y`` holds names), several tables
to fuse, or none at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets

from unseen._frames import as_pandas
from unseen._words import short_list
from unseen.core.linalg import to_unit
from unseen.core.params import refuse_masked, refuse_mixed

GROUPS = ("all", "seen", "unseen")
SAME_ROW = 1e-6  # of its largest number: a row of single precision is the same row
SAME = 1.2345e-11  # share of the largest number by which equal descriptions may differ


class EqualDescriptionsWarning(UserWarning):
    """Some candidate classes have equal descriptions: the first of them takes all."""


# ---- candidates ----------------------------------------------------------------------


class Offered(NamedTuple):
    """Every class that was asked for, and which distinct class answers for it."""

    names: np.ndarray
    embeddings: np.ndarray
    column: np.ndarray


@dataclass(frozen=True, eq=False)
class Candidates:
    """The classes that compete for a row.

    Classes that a model cannot tell apart, because their descriptions are equal to it,
    compete as one, under the name that is first in table order. So their scores are
    equal to the last bit, and none of them takes rows, or weight, from the others.

    Attributes
    ----------
    names : ndarray of shape (n_distinct,)
        The classes that models and rounds tell apart.
    embeddings : ndarray of shape (n_distinct, n_dims)
    offered : Offered or None
        All classes that were asked for, in the order of the score columns; None if
        these are ``names``.
    """

    names: np.ndarray
    embeddings: np.ndarray
    offered: Offered | None = None

    @classmethod
    def of(
        cls,
        names: np.ndarray,
        embeddings: np.ndarray,
        rank: np.ndarray,
        seen_as: np.ndarray,
    ) -> Candidates:
        """Return the candidates; those with equal rows in ``seen_as`` become one.

        ``rank`` are their places in the table: of equal ones the first gives its name.
        """
        column = equal_rows(seen_as)
        if column.max(initial=-1) + 1 == len(names):
            return cls(names, embeddings)
        order = np.lexsort((rank, column))
        first = order[np.unique(column[order], return_index=True)[1]]
        return cls(names[first], embeddings[first], Offered(names, embeddings, column))

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

    def only(self, keep: np.ndarray) -> Candidates:
        """Return the candidates without some of the distinct classes."""
        names, embeddings = self.names[keep], self.embeddings[keep]
        if self.offered is None:
            return Candidates(names, embeddings)
        own, number = keep[self.offered.column], np.cumsum(keep) - 1
        columns, theirs = self.offered.names[own], self.offered.embeddings[own]
        offered = Offered(columns, theirs, number[self.offered.column[own]])
        return Candidates(names, embeddings, offered)

    def extended(self, names: list, embeddings: np.ndarray) -> Candidates:
        """Return the candidates with further classes, which all differ."""
        if not len(names):
            return self
        more = np.array(names)

        def both(own: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.concatenate([own, more]), np.vstack([theirs, embeddings])

        offered = self.offered
        if offered is not None:
            column = np.append(offered.column, len(self) + np.arange(len(more)))
            offered = Offered(*both(offered.names, offered.embeddings), column)
        return Candidates(*both(self.names, self.embeddings), offered)

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


def checked_prior(prior, candidates: Candidates) -> np.ndarray | None:
    """Return known class sizes as shares of the distinct classes, or None."""
    if prior is None:
        return None
    if isinstance(prior, str):
        return np.full(len(candidates), 1 / len(candidates))
    n_classes = len(candidates.columns)
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape != (n_classes,) or not (prior > 0).all():
        raise ValueError(
            f"class_prior has shape {prior.shape}; give one positive number for each "
            f"of the {n_classes} competing classes."
        )
    return candidates.merge(prior) / prior.sum()


def equal_rows(rows: np.ndarray) -> np.ndarray:
    """Return a number for every row, the same for rows equal but for rounding."""
    largest = np.abs(rows).max(initial=0) or 1.0
    # On a grid, and each row as one number: sums of whole numbers have no rounding.
    grid = np.rint(rows / largest / SAME).astype(np.int64)
    random = np.random.default_rng(0)
    keys = grid @ random.integers(1, 2**62, size=rows.shape[1])
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]


def with_own_rows(seen_as: np.ndarray, names: Any, known: np.ndarray) -> np.ndarray:
    """Return what is seen of classes, known ones apart: they have rows of their own."""
    place = pd.Index(known).get_indexer(pd.Index(names))
    return np.column_stack([seen_as, (place + 1) / len(known)])


# ---- the table -----------------------------------------------------------------------


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

    def units(self, embeddings: np.ndarray | None = None) -> np.ndarray:
        """Return embeddings, by default its own, at unit length, table by table."""
        own = self.embeddings if embeddings is None else embeddings
        return unit_blocks(own, self.widths)

    def codes(self, y: np.ndarray) -> np.ndarray:
        """Return the number of each label's class, or name the first without one."""
        if y.dtype.kind in "iu" and np.array_equal(self.names, np.arange(len(self))):
            codes = np.where((y < 0) | (y >= len(self)), -1, y.astype(np.intp))
        else:
            codes = pd.Index(self.names).get_indexer(pd.Index(y))
        if (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            raise ValueError(
                f"y holds {short_list(y[[row]])} (row {row}), but class_embeddings has "
                f"{len(self)} classes, {short_list(self.names)}. Give one row per "
                "class that occurs in y."
            )
        return codes

    def with_seen(self, seen: np.ndarray) -> ClassTable:
        """Return the table with these classes seen, two or more."""
        if seen.sum() < 2:
            only = short_list(self.names[seen])
            raise ValueError(f"y holds one class only ({only}). Give two or more.")
        return replace(self, seen=seen)

    def candidates(
        self, classes: Any = None, seen_as: Callable | None = None
    ) -> Candidates:
        """Return who competes: a group, a list of names, or a table of new classes.

        ``seen_as(names, embeddings)`` returns what a model sees of classes: those that
        it sees as equal compete as one. Without it all are taken to differ.
        """
        names, embeddings, rank = self._asked_for(classes)
        if seen_as is None:
            return Candidates(names, embeddings)
        return Candidates.of(names, embeddings, rank, seen_as(names, embeddings))

    def _asked_for(self, classes: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return names, embeddings and places in the table."""
        if classes is None:
            classes = "unseen" if not self.seen.all() else "all"
        if isinstance(classes, Mapping) or np.ndim(classes) == 2:
            return self._described(classes)
        group = isinstance(classes, str)
        rows = self._group(classes) if group else self._named(classes)
        return self.names[rows], self.embeddings[rows], rows

    def _group(self, group: str) -> np.ndarray:
        if group not in GROUPS:
            raise ValueError(
                f"classes={group!r} is not a group of classes. Give one of "
                f"{', '.join(map(repr, GROUPS))}, a list of class names, or a table "
                "of new classes."
            )
        groups = {"all": self.seen | True, "seen": self.seen, "unseen": ~self.seen}
        if not groups[group].any():
            raise ValueError(
                f"classes={group!r} leaves no class to compete: every class of the "
                "table was seen. Give 'all', or a table of new classes."
            )
        return np.flatnonzero(groups[group])

    def _named(self, classes: Any) -> np.ndarray:
        wanted = np.atleast_1d(np.asarray(classes))
        if wanted.ndim != 1 or not len(wanted):
            raise ValueError(
                f"classes has shape {wanted.shape}. Give a 1-D list with at least one "
                "class name, or a 2-D table of new classes."
            )
        rows = pd.Index(self.names).get_indexer(pd.Index(wanted))
        if (rows < 0).any():
            raise ValueError(
                f"classes names {short_list(wanted[rows < 0])}, which the fitted table "
                f"of {len(self)} classes does not hold. Give known names, or a table "
                "of new classes with one embedding each."
            )
        if len(np.unique(rows)) < len(rows):
            raise ValueError(f"classes names a class twice: {short_list(wanted)}.")
        return rows

    def _described(self, classes: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return new classes from a table, and known ones that it names beside them."""
        names, embeddings, widths = read_table(classes, what="classes", blank=True)
        if widths != self.widths:
            raise ValueError(
                f"classes is a table with {_widths(widths)}, but the model was fitted "
                f"on {_widths(self.widths)}. Give new classes the same dimensions."
            )
        if names is None:
            names = len(self) + np.arange(len(embeddings))
        place = pd.Index(self.names).get_indexer(pd.Index(names))
        known, blank = place >= 0, np.isnan(embeddings).all(axis=1)
        if (blank & ~known).any():
            raise ValueError(
                f"classes leaves the row of {short_list(names[blank & ~known])} blank, "
                "which the fitted table does not hold. Describe new classes by numbers."
            )
        own = self.embeddings[place]
        off = np.abs(embeddings - own).max(axis=1)  # NaN where it is blank
        other = known & (off > SAME_ROW * np.abs(own).max(axis=1))
        if other.any():
            raise ValueError(
                f"classes describes {short_list(names[other])} otherwise than the "
                "fitted table does. Leave the rows of known classes blank (NaN), or "
                "give a class with another description another name."
            )
        rank = np.where(known, place, len(self) + np.arange(len(names)))
        return names, np.where(known[:, None], own, embeddings), rank


def unit_blocks(embeddings: np.ndarray, widths: tuple[int, ...]) -> np.ndarray:
    """Return the embeddings with rows of unit length, table by table.

    Fused tables weigh the same: k blocks are scaled by 1/√k each, so their
    inner products are averaged and a full row keeps unit length.
    """
    blocks = np.split(embeddings, np.cumsum(widths)[:-1], axis=1)
    return np.hstack([to_unit(block) for block in blocks]) / np.sqrt(len(blocks))


def encode(y: np.ndarray, class_embeddings: Any = None) -> tuple[ClassTable, Any]:
    """Return the class table and, for every row, the number of its class.

    Without embeddings every class is its own indicator.
    """
    refuse_mixed(y, "y")
    if y.ndim != 1 or y.dtype.kind not in "iu":  # whole numbers name classes as it is
        check_classification_targets(y)
    if class_embeddings is None:
        own = np.unique(y)
        class_embeddings = pd.DataFrame(np.eye(len(own)), index=own)
    table = described(class_embeddings)
    codes = table.codes(y)
    return table.with_seen(np.bincount(codes, minlength=len(table)) > 0), codes


def described(class_embeddings: Any) -> ClassTable:
    """Return a table of which no class has been seen yet."""
    given, embeddings, widths = read_table(class_embeddings)
    names = np.arange(len(embeddings)) if given is None else given
    return ClassTable(names, embeddings, np.zeros(len(names), dtype=bool), widths)


# ---- tables of any kind --------------------------------------------------------------


def read_table(
    table: Any, *, what: str = "class_embeddings", blank: bool = False
) -> tuple[np.ndarray | None, np.ndarray, tuple[int, ...]]:
    """Return (names or None, embeddings, widths) of a table in any accepted form.

    Where rows may be ``blank``, those of named classes may hold nothing but NaN.
    """
    if isinstance(table, Mapping):
        return _read_several(table, what, blank)
    names: np.ndarray | None = None
    widths: tuple[int, ...] | None = None
    other = as_pandas(table)
    if other is not table:
        table = _named_by_a_column(other, what)
    if isinstance(table, pd.DataFrame):
        names = _as_names(table.index, what)
        if table.columns.nlevels > 1:
            first = table.columns.get_level_values(0)
            parts = [table.loc[:, first == key] for key in dict.fromkeys(first)]
            widths = tuple(part.shape[1] for part in parts)
            table = pd.concat(parts, axis=1)
    embeddings = _as_numbers(table, names, what, blank and names is not None)
    return names, embeddings, widths or (embeddings.shape[1],)


def _read_several(tables: Mapping, what: str, blank: bool):
    if not tables:
        raise ValueError(f"{what} is an empty mapping. Give at least one table.")
    parts = {
        key: read_table(table, what=f"{what}[{key!r}]", blank=blank)
        for key, table in tables.items()
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
                    f"{what}[{key!r}] lacks {short_list(names[rows < 0])}, which "
                    f"{what}[{first_key!r}] holds. Fused tables list the same classes."
                )
            embeddings = embeddings[rows]
        blocks.append(embeddings)
    return names, np.hstack(blocks), tuple(block.shape[1] for block in blocks)


def _named_by_a_column(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return a frame of a library without an index, named by its first text column."""
    for column in frame:
        if all(isinstance(value, str | None) for value in frame[column]):
            return frame.set_index(column)
    raise ValueError(
        f"{what} is a frame without a text column. Give one with the names of the "
        "classes."
    )


def _as_names(index: pd.Index, what: str) -> np.ndarray:
    if index.hasnans:
        raise ValueError(f"{what} has a row without a name. Name every class.")
    if not index.is_unique:
        twice = index[index.duplicated()].unique()
        raise ValueError(f"{what} names {short_list(twice)} more than once.")
    names = index.to_numpy()
    refuse_mixed(names, what)
    return names.astype(str) if all(isinstance(n, str) for n in names) else names


def _as_numbers(
    table: Any, names: np.ndarray | None, what: str, blank: bool
) -> np.ndarray:
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
    if blank:
        bad &= ~np.isnan(embeddings).all(axis=1)
    if bad.any():
        where = (np.arange(len(embeddings)) if names is None else names)[bad]
        raise ValueError(
            f"{what} holds NaN or infinity in the row of {short_list(where)}."
        )
    return embeddings


def _widths(widths: tuple[int, ...]) -> str:
    return " + ".join(map(str, widths)) + " dimensions"
