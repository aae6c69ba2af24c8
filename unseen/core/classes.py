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
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets

from unseen._words import short_list
from unseen.core.linalg import to_unit
from unseen.core.params import refuse_mixed
from unseen.data import as_pandas, fuse_tables


class EqualDescriptionsWarning(UserWarning):
    """Some candidate classes have equal descriptions: the first of them takes all."""


# ---- candidates ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidates:
    """The classes that compete for a row.

    Classes that a model cannot tell apart, because their descriptions are equal to it,
    compete as one, under the name that is first in table order. So their scores are
    equal to the last bit, and none of them takes rows, or weight, from the others.
    """

    columns: np.ndarray  # names of all that were asked for, as in public scores
    described: np.ndarray  # their embeddings
    column: np.ndarray  # which distinct class each is
    first: np.ndarray  # the one that names it

    @property
    def names(self) -> np.ndarray:
        """Names of the distinct classes."""
        return self.columns if self.all_differ else self.columns[self.first]

    @property
    def embeddings(self) -> np.ndarray:
        """Embeddings of the distinct classes."""
        return self.described if self.all_differ else self.described[self.first]

    def __len__(self) -> int:
        """Count the distinct classes."""
        return len(self.first)

    @property
    def all_differ(self) -> bool:
        """Whether no two of the classes compete as one."""
        return len(self.columns) == len(self)

    def spread(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of all classes that were asked for, from distinct ones."""
        return scores if self.all_differ else scores[..., self.column]

    def count(self, counts: np.ndarray) -> np.ndarray:
        """Return counts of all that were asked for; of equal ones, in the first."""
        whole = np.zeros((*counts.shape[:-1], len(self.columns)), counts.dtype)
        whole[..., self.first] = counts
        return whole

    def find(self, others: Candidates) -> np.ndarray:
        """Return which distinct class each is, by name and embedding; -1 for none."""
        place = places(others.names, self.columns)
        same = (self.described[place] == others.embeddings).all(axis=1)
        return np.where((place >= 0) & same, self.column[place], -1)

    def only(self, keep: np.ndarray) -> Candidates:
        """Return the candidates without some of the distinct classes."""
        own = keep[self.column]
        column = (np.cumsum(keep) - 1)[self.column[own]]
        first = (np.cumsum(own) - 1)[self.first[keep]]
        return Candidates(self.columns[own], self.described[own], column, first)

    def extended(self, names: list, embeddings: np.ndarray) -> Candidates:
        """Return the candidates with further classes, which all differ."""
        if not names:
            return self
        more = np.arange(len(names))
        return Candidates(
            np.concatenate([self.columns, names]),
            np.vstack([self.described, embeddings]),
            np.append(self.column, len(self) + more),
            np.append(self.first, len(self.columns) + more),
        )

    def message(self) -> str:
        """Say which classes compete as one."""
        groups = [self.columns[self.column == i] for i in range(len(self))]
        twins = [short_list(group) for group in groups if len(group) > 1]
        return (
            f"Classes have equal descriptions: {'; '.join(twins[:3])}. Nothing "
            "tells them apart, so the first of them in the table gets all rows. "
            "Describe them differently, or keep only one of them."
        )


def evenness(counts: np.ndarray) -> float:
    """Return exp(entropy of sizes) over the number of classes; 1 if all are equal.

    With Miller's correction for few rows.

    >>> import numpy as np
    >>> from unseen.core.classes import evenness
    >>> round(evenness(np.array([100_000, 100_000, 0, 0])), 3)
    0.5
    """
    n = counts.sum()
    used = counts[counts > 1e-12 * n]
    p = used / n
    entropy = -(p @ np.log(p)) + (len(used) - 1) / (2 * n)
    return min(1.0, float(np.exp(entropy) / len(counts)))


def equal_rows(rows: np.ndarray) -> np.ndarray:
    """Return a number for every row, the same for rows equal but for rounding."""
    largest = np.abs(rows).max(initial=0) or 1.0
    # On a grid, and each row as one number: sums of whole numbers have no rounding.
    # Equal descriptions may differ by this share of the largest number.
    grid = np.rint(rows / largest / 1.2345e-11).astype(np.int64)
    random = np.random.default_rng(0)
    keys = grid @ random.integers(1, 2**62, size=rows.shape[1])
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]


def places(names: Any, among: Any) -> np.ndarray:
    """Return where each name stands among others, -1 where it does not."""
    return pd.Index(among).get_indexer(pd.Index(names))


# ---- the table -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Every class by name, one embedding row each."""

    names: np.ndarray  # row numbers if the table came as an array
    embeddings: np.ndarray  # fused tables stand side by side
    seen: np.ndarray  # True where y held the class
    widths: tuple[int, ...]  # columns of each table

    def __post_init__(self) -> None:
        if not pd.Index(self.names).is_unique:  # in a file that somebody changed
            raise ValueError("two classes have one name")

    def __len__(self) -> int:
        """Count the classes."""
        return len(self.names)

    def units(self, embeddings: np.ndarray | None = None) -> np.ndarray:
        """Return embeddings, by default its own, at unit length, table by table.

        Fused tables weigh the same: k blocks are scaled by 1/√k each, so their inner
        products are averaged and a full row keeps unit length.
        """
        own = self.embeddings if embeddings is None else embeddings
        return np.hstack(unit_tables(own, self.widths)) / np.sqrt(len(self.widths))

    def codes(self, y: np.ndarray) -> np.ndarray:
        """Return the number of each label's class, or name the first without one."""
        codes = places(y, self.names)
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
        self, classes: Any = None, seen_as: Callable = lambda _, embeddings: embeddings
    ) -> Candidates:
        """Return who competes: a group, a list of names, or a table of new classes.

        Classes for which ``seen_as(names, embeddings)`` has equal rows compete as one.
        """
        if classes is None:
            classes = "unseen" if not self.seen.all() else "all"
        if isinstance(classes, Mapping) or np.ndim(classes) == 2:
            names, embeddings, rank = self._described(classes)
        else:
            rank = self._named(classes)
            names, embeddings = self.names[rank], self.embeddings[rank]
        column = equal_rows(seen_as(names, embeddings))
        order = np.lexsort((rank, column))  # of equal ones, the first by rank names all
        first = order[np.unique(column[order], return_index=True)[1]]
        return Candidates(names, embeddings, column, first)

    def _named(self, classes: Any) -> np.ndarray:
        """Return the places of a group, or of a list of names."""
        if isinstance(classes, str):
            groups = {"all": self.seen | True, "seen": self.seen, "unseen": ~self.seen}
            if classes in groups and groups[classes].any():
                return np.flatnonzero(groups[classes])
            raise ValueError(
                f"classes={classes!r} is not a group of classes, of which "
                f"{np.count_nonzero(self.seen)} were seen and "
                f"{np.count_nonzero(~self.seen)} not. Give 'all', 'seen', 'unseen', a "
                "list of class names, or a table of new classes."
            )
        wanted = np.atleast_1d(np.asarray(classes))
        if wanted.ndim != 1 or not len(wanted) or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"classes={short_list(wanted.ravel())} of shape {wanted.shape}. Give a "
                "list that names each class once, or a 2-D table of new classes."
            )
        rows = places(wanted, self.names)
        if (rows < 0).any():
            raise ValueError(
                f"classes names {short_list(wanted[rows < 0])}, which the fitted table "
                f"of {len(self)} classes does not hold. Give known names, or a table "
                "of new classes with one embedding each."
            )
        return rows

    def _described(self, classes: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return new classes from a table, and known ones that it names beside them."""
        names, embeddings, widths = read_table(classes, what="classes", blank=True)
        if widths != self.widths:
            found, wanted = (" + ".join(map(str, w)) for w in (widths, self.widths))
            raise ValueError(
                f"classes is a table with {found} dimensions, but the model was fitted "
                f"on {wanted}. Give new classes the same dimensions."
            )
        if names is None:
            names = len(self) + np.arange(len(embeddings))
        place = places(names, self.names)
        known, own = place >= 0, self.embeddings[place]
        off = np.abs(embeddings - own).max(axis=1)  # NaN where it is blank
        other = off > 1e-6 * np.abs(own).max(axis=1)  # not single precision
        bad = np.where(known, other, np.isnan(off))
        if bad.any():
            raise ValueError(
                f"classes gives {short_list(names[bad])} no numbers, or others than "
                "the fitted table. Leave the rows of known classes blank "
                "(NaN), and describe new classes under names of their own."
            )
        rank = np.where(known, place, len(self) + np.arange(len(names)))
        return names, np.where(known[:, None], own, embeddings), rank


def unit_tables(embeddings: np.ndarray, widths: tuple[int, ...]) -> list[np.ndarray]:
    """Return embeddings at unit length, table by table."""
    tables = np.split(embeddings, np.cumsum(widths)[:-1], axis=1)
    return [to_unit(table) for table in tables]


def encode(y: np.ndarray, class_embeddings: Any = None) -> tuple[ClassTable, Any]:
    """Return the class table and, for every row, the number of its class."""
    refuse_mixed(y, "y")
    if y.dtype.kind == "f":  # of other labels it asks why they have few rows each
        check_classification_targets(y)
    if class_embeddings is None:  # every class is its own indicator
        own = np.unique(y)
        class_embeddings = pd.DataFrame(np.eye(len(own)), index=own)
    table = described(class_embeddings)
    codes = table.codes(y)
    return table.with_seen(np.bincount(codes, minlength=len(table)) > 0), codes


def described(class_embeddings: Any, what: str = "class_embeddings") -> ClassTable:
    """Return a table of which no class has been seen yet."""
    given, embeddings, widths = read_table(class_embeddings, what=what)
    names = np.arange(len(embeddings)) if given is None else given
    return ClassTable(names, embeddings, np.zeros(len(names), dtype=bool), widths)


# ---- tables of any kind --------------------------------------------------------------


def read_table(
    table: Any, *, what: str = "class_embeddings", blank: bool = False
) -> tuple[np.ndarray | None, np.ndarray, tuple[int, ...]]:
    """Return (names or None, embeddings, widths) of a table in any accepted form.

    Where rows may be ``blank``, those of named classes may hold nothing but NaN.
    """
    frame, named = _as_frame(table, what)
    widths: tuple[int, ...] = (frame.shape[1],)
    if frame.columns.nlevels > 1:
        first = frame.columns.get_level_values(0)
        parts = [frame.loc[:, first == key] for key in dict.fromkeys(first)]
        widths = tuple(part.shape[1] for part in parts)
        frame = pd.concat(parts, axis=1)
    names = _as_names(frame.index, what) if named else None
    return names, _as_numbers(frame, what, blank and named), widths


def _as_frame(table: Any, what: str) -> tuple[pd.DataFrame, bool]:
    """Return a table as a frame, and whether it names its classes."""
    if isinstance(table, Mapping):
        if table and all(np.ndim(one) == 1 for one in table.values()):
            return pd.DataFrame({k: pd.Series(v) for k, v in table.items()}).T, True
        read = {key: _as_frame(one, f"{what}[{key!r}]") for key, one in table.items()}
        frames = {key: frame for key, (frame, _) in read.items()}
        return fuse_tables(frames), all(named for _, named in read.values())
    other = as_pandas(table)
    if isinstance(table, pd.DataFrame):
        return table, True
    if other is table:
        if np.ndim(table) != 2:
            raise ValueError(
                f"{what} has shape {np.shape(table)}. Give one row per class and at "
                "least one column."
            )
        return pd.DataFrame(np.asarray(table)), False
    for column in other:  # of a library without an index: the first text column names
        if all(isinstance(value, str | None) for value in other[column]):
            return other.set_index(column), True
    raise ValueError(
        f"{what} is a frame without a text column. Give one with the names of the "
        "classes."
    )


def _as_names(index: pd.Index, what: str) -> np.ndarray:
    odd = index[index.duplicated() | index.isna()].unique()
    if len(odd):
        raise ValueError(f"{what} names {short_list(odd)}. Name every class, once.")
    names = index.to_numpy()
    refuse_mixed(names, what)
    return names.astype(str) if all(isinstance(n, str) for n in names) else names


def _as_numbers(frame: pd.DataFrame, what: str, blank: bool) -> np.ndarray:
    try:
        embeddings = np.asarray(frame, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} holds more than numbers: {error}.") from None
    if 0 in embeddings.shape:
        raise ValueError(
            f"{what} has shape {embeddings.shape}. Give one row per class and at least "
            "one column."
        )
    bad = ~np.isfinite(embeddings).all(axis=1)
    if blank:
        bad &= ~np.isnan(embeddings).all(axis=1)
    if bad.any():
        where = short_list(frame.index.to_numpy()[bad])
        raise ValueError(f"{what} holds NaN or infinity in the row of {where}.")
    return embeddings
