"""Labels that a caller gives for some unlabelled rows: certain, and few.

They come as an array with an entry per row, as a mapping or as a Series of row → label,
and are read here, once, for every method. A name that no class has makes a new class,
whose prototype is its rows; ``NONE_OF_THESE`` says that no class fits, and takes the
row out.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array

from unseen.core.classes import Candidates, ClassTable, places
from unseen.core.linalg import to_unit
from unseen.core.params import DTYPES, refuse_mixed
from unseen.core.rows import Unlabelled, in_one_piece

NONE_OF_THESE = "none of these"
NO_CLASS = -1  # the same where classes are numbers


class Given(NamedTuple):
    """What was given, as ``given_`` keeps it."""

    rows: np.ndarray  # their numbers, rising
    labels: np.ndarray
    alone: bool = False  # whether the model had nothing else to start from


class GivenRows(NamedTuple):
    """What a method sees of given labels."""

    codes: np.ndarray  # (n,) class numbers, -1 for rows without
    new: np.ndarray  # (n_classes,) which classes have no description but their rows

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
    """Return the numbers of rows with a label, rising, and the labels as objects."""
    if not isinstance(given, pd.Series | Mapping):
        labels = np.asarray(given, dtype=object)
        if labels.shape != (n_rows,):
            raise ValueError(
                f"given has shape {labels.shape}, but X has {n_rows} rows. Give one "
                "entry per row, None where there is no label, or a mapping from row "
                "to label."
            )
        given = pd.Series(labels)
    labelled = pd.Series(given, dtype=object)
    labelled = labelled[labelled.notna() & (labelled != "")]
    for row in labelled.index:
        whole = isinstance(row, Integral) and not isinstance(row, bool)
        if not whole or not 0 <= int(row) < n_rows:
            raise ValueError(
                f"given has a label for row {row!r}, but X has {n_rows} rows, numbered "
                "from 0."
            )
    if not labelled.index.is_unique:
        twice = labelled.index[labelled.index.duplicated()][0]
        raise ValueError(f"given has two labels for row {twice}. Give one.")
    labelled = labelled.sort_index()
    return labelled.index.to_numpy(dtype=np.intp), labelled.to_numpy()


def include(
    candidates: Candidates,
    labels: np.ndarray,
    table: ClassTable,
    describe: Callable[[Any], np.ndarray],
) -> tuple[Candidates, np.ndarray, np.ndarray]:
    """Let every class that was given compete, described by the table or by its rows.

    Returns the candidates, the class number of each label, and which classes are new.
    """
    others = pd.Index(labels).unique().difference(candidates.columns, sort=False)
    place = places(others, table.names)
    embeddings = [
        describe(name) if row < 0 else table.embeddings[row]
        for name, row in zip(others, place, strict=True)
    ]
    new = np.append(np.zeros(len(candidates), dtype=bool), place < 0)
    candidates = candidates.extended(others.tolist(), np.array(embeddings))
    return candidates, candidates.column[places(labels, candidates.columns)], new


def _alike(label: Any, names: np.ndarray) -> Any:
    """Return a label as the names are: a text, or a whole number; or say why not."""
    texts, numbers = isinstance(names[0], str), names.dtype.kind in "iu"
    if texts == isinstance(label, str) and not numbers:
        return str(label) if texts else label
    if numbers and isinstance(label, Real) and float(label).is_integer():
        return int(float(label))
    raise ValueError(
        f"given holds {label!r}, but classes are {'texts' if texts else 'numbers'}, as "
        f"{names[:1].tolist()[0]!r}. Use either names or numbers for all classes."
    )


def described_by_rows(
    unlabelled: Unlabelled, rows: np.ndarray, prototypes: np.ndarray
) -> np.ndarray:
    """Return the prototype of a class of which only rows are known, at unit length.

    It lies to the mean prototype as its rows do to the mean row: names may lie apart
    from all rows.
    """
    units = to_unit(unlabelled.X.astype(np.float64))
    return (
        to_unit(prototypes).mean(axis=0) + units[rows].mean(axis=0) - units.mean(axis=0)
    )


def adapt_given(
    model: Any, unlabelled: Unlabelled, candidates: Candidates, given: Any, alone: bool
) -> Any:
    """Let a model adapt with given labels, without the rows that no class fits.

    These are put back afterwards, under their own label.
    """
    n = len(unlabelled)
    rows, labels = read_given(given, n)
    fits = labels != NONE_OF_THESE
    kept = np.ones(n, dtype=bool)
    kept[rows[~fits]] = False
    if not kept.all():
        unlabelled = unlabelled.only(np.flatnonzero(kept))
    labels = np.array([_alike(one, candidates.names) for one in labels[fits]], object)
    own, known = (kept.cumsum() - 1)[rows[fits]], None
    if len(own):
        candidates, codes, new = include(
            candidates,
            labels,
            model._table,
            lambda name: model._describe(unlabelled, own[labels == name], name),
        )
        known = GivenRows(np.full(int(kept.sum()), -1), new)
        known.codes[own] = codes
    model._record(model._adapt(unlabelled, candidates, known))

    def whole(found: np.ndarray, rest: Any, called: np.ndarray) -> np.ndarray:
        """Return what holds of all rows; given ones are as they were called."""
        kinds = found, np.array(rest), np.array([rest, *called])
        made = np.full(n, rest, dtype=np.result_type(*kinds))
        made[kept], made[rows[fits]] = found, called
        return made

    none = NO_CLASS if candidates.names.dtype.kind in "iu" else NONE_OF_THESE
    model.labels_ = whole(model.labels_, none, labels)
    for at, done in enumerate(model.rounds_):
        if done.labels is not None:
            names = whole(done.labels, none, labels)
            model.rounds_[at] = replace(done, labels=names, n_rows=n)
    certain = np.ones(len(labels))
    model.reliability_ = whole(model.reliability_, 1.0, certain)
    if hasattr(model, "novelty_"):
        novelty = model.novelty_[own]
        model.novelty_ = whole(model.novelty_, 1.0, novelty)
    model.given_ = Given(rows, model.labels_[rows], alone)
    return model


def prototypes_of(X: Any, given: Any) -> pd.DataFrame:
    """Return the mean of the given rows of each class, at unit length before."""
    rows = check_array(in_one_piece(X), dtype=DTYPES, input_name="X")
    numbers, labels = read_given(given, len(rows))
    fits = labels != NONE_OF_THESE
    numbers, labels = numbers[fits], labels[fits]
    refuse_mixed(labels, "given")
    if len(set(labels)) < 2:
        raise ValueError(
            f"given names {len(set(labels))} classes, and there is nothing else to "
            "start from. Give labels of two classes at least, or prototypes."
        )
    some = to_unit(rows[numbers].astype(np.float64))
    labels = labels.astype(str if isinstance(labels[0], str) else int)
    return pd.DataFrame(some).groupby(labels).mean()
