"""Labels that a caller gives for some rows of a pile: certain, and few.

They come as an array with an entry per row, as a mapping or as a Series of row → label,
and are read here, once, for every method. A name that no class has makes a new class,
whose prototype is its rows; ``NONE_OF_THESE`` says that no class fits, and takes the
row out of the pile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen._linalg import inverse_lengths
from unseen.class_table import ClassTable
from unseen.competition import Competition, Offered
from unseen.rows.pile import Pile
from unseen.rows.source import whole_needed

NONE_OF_THESE = "none of these"
NO_CLASS = -1  # the same where classes are numbers


class Given(NamedTuple):
    """What was given: row numbers, rising, and their labels, as ``given_`` keeps them.

    ``alone`` says that the model had nothing else to start from.
    """

    rows: np.ndarray
    labels: np.ndarray
    alone: bool = False


class GivenRows(NamedTuple):
    """What a method sees of given labels.

    ``codes`` (n,) are class numbers, -1 for rows without; ``new`` (n_classes,) tells
    which classes have no description but their rows.
    """

    codes: np.ndarray
    new: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Which rows have a label."""
        return self.codes >= 0

    @property
    def counts(self) -> np.ndarray:
        """Rows that each class was given."""
        return np.bincount(self.codes[self.known], minlength=len(self.new))

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the rows with a label."""
        return np.flatnonzero(self.known)


# ---- reading -------------------------------------------------------------------------


def read_given(given: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of rows with a label, rising, and the labels as objects.

    Parameters
    ----------
    given : mapping or Series of row → label, or array-like of shape (n_rows,)
        Rows are numbered from 0. None, NaN and "" stand for no label.
    n_rows : int

    Examples
    --------
    >>> from unseen.models.given import read_given
    >>> read_given({2: "okapi", 0: ""}, 4)
    (array([2]), array(['okapi'], dtype=object))
    >>> read_given([None, "zebra", float("nan"), ""], 4)
    (array([1]), array(['zebra'], dtype=object))
    """
    if isinstance(given, pd.Series | Mapping):
        rows, labels = _by_row(given, n_rows)
    else:
        labels = np.asarray(given, dtype=object)
        if labels.shape != (n_rows,):
            raise ValueError(
                f"given has shape {labels.shape}, but X has {n_rows} rows. Give one "
                "entry per row, None where there is no label, or a mapping from row "
                "to label."
            )
        rows = np.arange(n_rows)
    there = np.array([not _is_missing(label) for label in labels], dtype=bool)
    rows, labels = rows[there], labels[there]
    order = np.argsort(rows)
    return rows[order], labels[order]


def _by_row(given: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    keys = list(given.index if isinstance(given, pd.Series) else given)
    values = list(given if isinstance(given, pd.Series) else given.values())
    what = "index" if isinstance(given, pd.Series) else "keys"
    for key in keys:
        whole = isinstance(key, Integral) and not isinstance(key, bool | np.bool_)
        if not whole or not 0 <= key < n_rows:
            raise ValueError(
                f"given has a label for row {key!r}, but X has {n_rows} rows. Its "
                f"{what} are row numbers from 0."
            )
    rows = np.array(keys, dtype=np.intp)
    if len(np.unique(rows)) < len(rows):
        twice = pd.Series(rows)[pd.Series(rows).duplicated()].iloc[0]
        raise ValueError(f"given has two labels for row {twice}. Give one.")
    labels = np.full(len(values), None, dtype=object)
    labels[:] = values
    return rows, labels


def _is_missing(label: Any) -> bool:
    if label is None or label is pd.NA or (isinstance(label, str) and not label):
        return True
    return isinstance(label, Real) and bool(np.isnan(float(label)))


# ---- who competes --------------------------------------------------------------------


def include(
    competition: Competition,
    labels: np.ndarray,
    table: ClassTable | None,
    describe: Callable[[np.ndarray], np.ndarray],
) -> tuple[Competition, np.ndarray, np.ndarray]:
    """Let every class that was given compete.

    Parameters
    ----------
    competition : Competition
    labels : ndarray of objects
        Given labels.
    table : ClassTable or None
        Where classes that do not compete yet may be described.
    describe : callable
        Returns the embedding of a new class from the places of its labels, or raises.

    Returns
    -------
    (Competition, ndarray of int, ndarray of bool)
        Who competes, the class number of each label, and which classes are new.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.competition import Competition
    >>> from unseen.models.given import include
    >>> who = Competition(np.array(["a", "b"]), np.eye(2))
    >>> labels = np.array(["b", "c"], dtype=object)
    >>> who, codes, new = include(who, labels, None, lambda places: np.ones(2))
    >>> who.names, codes, new
    (array(['a', 'b', 'c'], dtype='<U1'), array([1, 2]), array([False, False,  True]))
    """
    labels = np.array([alike(label, competition.names) for label in labels], object)
    fresh: list[Any] = []
    embeddings: list[np.ndarray] = []
    new = [False] * len(competition)
    columns = pd.Index(competition.columns.tolist())
    for label in pd.unique(labels):
        if label in columns:
            continue
        at: Any = [] if table is None else np.flatnonzero(table.names == label)
        own = describe(np.flatnonzero(labels == label)) if not len(at) else None
        fresh.append(label)
        embeddings.append(table.embeddings[at[0]] if own is None else own)  # type: ignore[union-attr]
        new.append(own is not None)
    if fresh:
        competition = extended(competition, fresh, np.array(embeddings))
    columns = pd.Index(competition.columns.tolist())
    place = columns.get_indexer(pd.Index(labels.tolist()))
    codes = competition.spread(np.arange(len(competition)))[place]
    return competition, codes, np.array(new)


def extended(
    competition: Competition, names: list[Any], embeddings: np.ndarray
) -> Competition:
    """Return the competition with further classes, which all differ."""
    both = np.concatenate([competition.names, np.array(names)])
    table = np.vstack([competition.embeddings, embeddings])
    offered = competition.offered
    if offered is not None:
        more = np.arange(len(names)) + len(competition)
        offered = Offered(
            np.concatenate([offered.names, np.array(names)]),
            np.vstack([offered.embeddings, embeddings]),
            np.concatenate([offered.column, more]),
        )
    return Competition(both, table, offered)


def alike(label: Any, names: np.ndarray) -> Any:
    """Return a label as the names are: a text, or a whole number; or say why not."""
    texts = all(isinstance(name, str) for name in names.tolist())
    if texts and isinstance(label, str):
        return str(label)
    numbers = names.dtype.kind in "iu"
    if numbers and isinstance(label, Real) and float(label).is_integer():
        return int(float(label))
    if not texts and not numbers:
        return label
    kind, example = ("texts", names[:1]) if texts else ("numbers", names[:1])
    raise ValueError(
        f"given holds {label!r}, but classes are {kind}, as {example.tolist()[0]!r}. "
        "Name all classes alike."
    )


# ---- the pile ------------------------------------------------------------------------


def count_rows(pile: Any) -> int:
    """Count the rows of a pile; a stream is met once for it."""
    if type(pile) is Pile or not isinstance(pile, Pile):
        return len(pile)
    stream = getattr(pile, "stream", None)
    width = pile.parts.head.shape[1] if stream is None else stream.n_features  # type: ignore[attr-defined]
    return len(pile.hold(np.zeros((width, 0)), False))


def rows_of(pile: Any, rows: np.ndarray) -> Any:
    """Return a pile of some of the rows; it must be in memory."""
    if type(pile) is Pile:
        return Pile(pile.X[rows])
    if isinstance(pile, Pile):
        raise whole_needed(
            f"given has a new class or {NONE_OF_THESE!r}, but X is met chunk by chunk"
        )
    return pile.iloc[rows] if hasattr(pile, "iloc") else np.asarray(pile)[rows]


def described_by_rows(
    pile: Pile, rows: np.ndarray, prototypes: np.ndarray
) -> np.ndarray:
    """Return the prototype of a class of which only rows are known, at unit length.

    It lies to the mean prototype as its rows do to the mean row: names may lie apart
    from all rows.
    """
    some = rows_of(pile, rows).X.astype(np.float64)
    own = (some * inverse_lengths(some)[:, None]).mean(axis=0) - pile.mean(True)
    units = prototypes * inverse_lengths(prototypes)[:, None]
    return units.mean(axis=0) + own


def in_chunks(codes: np.ndarray | None, rows: Any) -> Any:
    """Return the codes as the holder wants a state: on Dask, one array per block."""
    if codes is None or not hasattr(rows, "blocks"):
        return codes
    per_chunk = np.split(codes, np.cumsum(rows.blocks.lengths)[:-1])
    return [np.concatenate(those) for those in rows.blocks.by_block(per_chunk)]


# ---- the answer ----------------------------------------------------------------------


def with_none(labels: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return labels of all rows from those of the kept; no class fits the others.

    >>> import numpy as np
    >>> from unseen.models.given import with_none
    >>> with_none(np.array(["okapi"]), np.array([False, True]))
    array(['none of these', 'okapi'], dtype='<U13')
    """
    none: Any = NO_CLASS if labels.dtype.kind in "iu" else NONE_OF_THESE
    whole = np.full(len(kept), none, dtype=np.result_type(labels, np.array(none)))
    whole[kept] = labels
    return whole


def clamped(answer: Any, given: GivenRows) -> Any:
    """Return a method's answer with the given labels in it, every one certain."""
    known, names = given.known, answer.competition.names
    codes = np.array(answer.codes, dtype=np.intp)
    reliability = np.array(answer.reliability, dtype=np.float64)
    codes[known], reliability[known] = given.codes[known], 1.0
    rounds = []
    for done in answer.rounds:
        if done.labels is not None:
            labels = np.array(done.labels)
            labels[known] = names[given.codes[known]]
            done = replace(done, labels=labels)
        rounds.append(done)
    return answer._replace(codes=codes, reliability=reliability, rounds=rounds)


def as_given(labels: np.ndarray, rows: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return labels with those that were given, by the name that was given."""
    own = np.array([alike(label, labels) for label in given], dtype=labels.dtype.kind)
    whole = labels.astype(np.result_type(labels, own))
    whole[rows] = own
    return whole


def put_back(answer: Any, kept: np.ndarray) -> Any:
    """Return an answer for all rows from one for those kept; no class fits the rest."""
    codes, reliability = np.full(len(kept), -1), np.ones(len(kept))
    codes[kept], reliability[kept] = answer.codes, answer.reliability
    rounds = [
        done
        if done.labels is None
        else replace(done, labels=with_none(done.labels, kept), n_rows=len(kept))
        for done in answer.rounds
    ]
    return answer._replace(codes=codes, reliability=reliability, rounds=rounds)
