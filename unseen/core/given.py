"""Labels that a caller gives for some unlabelled rows: certain, and few.

They come as an array with an entry per row, as a mapping or as a Series of row → label,
and are read here, once, for every method. A name that no class has makes a new class,
whose prototype is its rows; ``NONE_OF_THESE`` says that no class fits, and takes the
row out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array

from unseen.core.classes import Candidates, ClassTable
from unseen.core.linalg import to_unit
from unseen.core.params import DTYPES, refuse_masked, refuse_mixed
from unseen.core.rows import Unlabelled, in_one_piece

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


def read_given(given: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of rows with a label, rising, and the labels as objects.

    Parameters
    ----------
    given : mapping or Series of row → label, or array-like of shape (n_rows,)
        Rows are numbered from 0. None, NaN and "" stand for no label.
    n_rows : int
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


def include(
    candidates: Candidates,
    labels: np.ndarray,
    table: ClassTable | None,
    describe: Callable[[np.ndarray], np.ndarray],
) -> tuple[Candidates, np.ndarray, np.ndarray]:
    """Let every class that was given compete.

    Parameters
    ----------
    candidates : Candidates
    labels : ndarray of objects
        Given labels.
    table : ClassTable or None
        Where classes that do not compete yet may be described.
    describe : callable
        Returns the embedding of a new class from the places of its labels, or raises.

    Returns
    -------
    (Candidates, ndarray of int, ndarray of bool)
        Who competes, the class number of each label, and which classes are new.
    """
    labels = np.array([_alike(label, candidates.names) for label in labels], object)
    names: list[Any] = []
    embeddings: list[np.ndarray] = []
    new = [False] * len(candidates)
    columns = pd.Index(candidates.columns.tolist())
    for label in pd.unique(labels):
        if label in columns:
            continue
        at: Any = [] if table is None else np.flatnonzero(table.names == label)
        own = describe(np.flatnonzero(labels == label)) if not len(at) else None
        names.append(label)
        embeddings.append(table.embeddings[at[0]] if own is None else own)  # type: ignore[union-attr]
        new.append(own is not None)
    candidates = candidates.extended(names, np.array(embeddings))
    columns = pd.Index(candidates.columns.tolist())
    place = columns.get_indexer(pd.Index(labels.tolist()))
    codes = candidates.spread(np.arange(len(candidates)))[place]
    return candidates, codes, np.array(new)


def _alike(label: Any, names: np.ndarray) -> Any:
    """Return a label as the names are: a text, or a whole number; or say why not."""
    texts = all(isinstance(name, str) for name in names.tolist())
    if texts and isinstance(label, str):
        return str(label)
    numbers = names.dtype.kind in "iu"
    if numbers and isinstance(label, Real) and float(label).is_integer():
        return int(float(label))
    if not texts and not numbers:
        return label
    raise ValueError(
        f"given holds {label!r}, but classes are {'texts' if texts else 'numbers'}, as "
        f"{names[:1].tolist()[0]!r}. Name all classes alike."
    )


def with_none(labels: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return labels of all rows from those of the kept; no class fits the others."""
    if kept.all():
        return labels
    none: Any = NO_CLASS if labels.dtype.kind in "iu" else NONE_OF_THESE
    whole = np.full(len(kept), none, dtype=np.result_type(labels, np.array(none)))
    whole[kept] = labels
    return whole


def described_by_rows(
    unlabelled: Unlabelled, rows: np.ndarray, prototypes: np.ndarray
) -> np.ndarray:
    """Return the prototype of a class of which only rows are known, at unit length.

    It lies to the mean prototype as its rows do to the mean row: names may lie apart
    from all rows.
    """
    some = to_unit(unlabelled.only(rows).X.astype(np.float64))
    return to_unit(prototypes).mean(axis=0) + some.mean(axis=0) - unlabelled.mean(True)


def as_given(labels: np.ndarray, rows: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return labels with those that were given, by the name that was given."""
    if not len(rows):
        return labels
    own = np.array([_alike(label, labels[:1]) for label in given])
    whole = labels.astype(np.result_type(labels, own))
    whole[rows] = own
    return whole


def prototypes_of(X: Any, given: Any) -> pd.DataFrame:
    """Return the mean of the given rows of each class, at unit length before.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    given : mapping or Series of row → label, or array-like
    """
    refuse_masked(X, "X")
    rows = check_array(in_one_piece(X), dtype=DTYPES, input_name="X")
    numbers, labels = read_given(given, len(rows))
    fits = np.array([label != NONE_OF_THESE for label in labels], dtype=bool)
    numbers, labels = numbers[fits], labels[fits]
    refuse_mixed(labels, "given")
    if len(set(labels.tolist())) < 2:
        raise ValueError(
            f"given names {len(set(labels.tolist()))} classes, and there is nothing "
            "else to start from. Give labels of two classes at least, or prototypes."
        )
    some = to_unit(rows[numbers].astype(np.float64))
    if not isinstance(labels[0], str):
        labels = labels.astype(int)
    return pd.DataFrame(some).groupby(np.array(labels.tolist())).mean()
