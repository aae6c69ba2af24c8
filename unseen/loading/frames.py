"""Frames: features as columns, or as lists in one column.

pandas, polars, pyarrow, and whatever else narwhals reads. The labels are in a column
called ``label``, ``class``, ``class_name``, ``y`` or ``target``, or in the only column
of text. An empty label, or no such column at all, means unlabelled. The features are
in a column of lists (``features``, ``embedding`` or the only one), or in all columns of
numbers but those called ``id``, ``row``, ``index`` or ``Unnamed: 0``, which number the
rows. A column of whole numbers that runs like an index, or is called like ``image_id``,
raises: ``id=`` says whether it names the rows. A column ``split`` may say ``test`` for
rows of seen classes that are set aside for scoring, and ``unseen`` for rows of unseen
classes. Other columns of text are left alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._frames import as_pandas
from unseen._words import listed, shown
from unseen.loading.parquet import ROW_NUMBERS
from unseen.loading.parts import RawData, as_texts

__all__ = ["frame_to_table", "read_frame"]

LABELS = ("label", "class", "class_name", "y", "target")
LISTS = ("features", "embedding", "x")
SPLITS = ("split", "unseen")
FEWEST = 10  # rows of which a run of numbers is no accident


def read_frame(
    frame: Any,
    name: str = "frame",
    where: str | None = None,
    label: str | None = None,
    id: str | None = None,
) -> RawData:
    """Return the parts of a frame with one row per sample, without a class table.

    ``label`` and ``id`` name columns; an empty ``id`` says that no column names the
    rows, although one looks like it. ``where`` is what messages call the frame.
    """
    where = name if where is None else where
    frame = as_pandas(frame)
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"{where}: is a {type(frame).__name__}. Give a pandas frame.")
    frame = frame.reset_index(drop=True)  # rows are counted, whatever their index says
    columns = {str(key): values for key, values in frame.items()}
    if len(columns) < len(frame.columns):
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"{where}: names column {twice!r} twice. Give each its own.")
    ids = _take_ids(columns, where, id) if id else None
    label = _label_column(columns, where, label)
    y = np.zeros(len(frame), dtype="<U1")
    if label is not None:
        y = _as_labels(columns.pop(label), label, where)
    split = _split_column(columns)
    X, feature_names = _features(columns, where, ask=id is None)
    raw = RawData(
        name=name,
        where=where,
        X=X,
        feature_names=feature_names,
        ids=ids,
        y=y,
        class_names=np.unique(y[y != ""]),
        origin={
            "X": "the features",
            "y": "the labels" if label is None else f"column {label!r}",
        },
    )
    if split is not None:
        theirs = np.unique(y[split == "unseen"])
        raw.unseen = theirs[theirs != ""]
        aside = split == "test"
        raw.seen_test = aside if aside.any() else None
        raw.origin["unseen"] = "column 'split'"
    return raw


def _label_column(columns: dict, where: str, label: str | None) -> str | None:
    if label is not None:
        if label not in columns:
            raise ValueError(
                f"{where}: has no column {label!r} for the labels. The columns are "
                f"{listed(columns, 8)}."
            )
        return label
    named = [c for want in LABELS for c in columns if c.lower() == want]
    if named:
        return named[0]
    others = ("split", *ROW_NUMBERS)
    texts = [c for c in columns if _holds(columns[c], str) and c.lower() not in others]
    if len(texts) > 1:
        raise ValueError(
            f"{where}: columns {listed(texts, 8)} all hold text. Say which one holds "
            f"the labels: column={texts[0]!r}"
        )
    return texts[0] if texts else None


def _take_ids(columns: dict, where: str, id: str) -> np.ndarray:
    """Take the column that names the rows out of all columns."""
    if id not in columns:
        raise ValueError(
            f"{where}: has no column {id!r} for the ids. The columns are "
            f"{listed(columns, 8)}."
        )
    ids = _as_labels(columns.pop(id), id, where)
    again = pd.Index(ids).duplicated() | (ids == "")
    if again.any():
        row = int(np.flatnonzero(again)[0])
        fault = f"{str(ids[row])!r} twice, again" if ids[row] else "nothing"
        raise ValueError(
            f"{where}: column {id!r} holds {fault} in row {row}. Give every row an id "
            "of its own."
        )
    return ids


def _ask_about_ids(names: list[str], columns: dict, where: str) -> None:
    """Ask whether a column that looks like an index is a feature."""
    for name in names:
        values = np.asarray(columns[name])
        finite = np.isfinite(values).all() and len(values) >= FEWEST
        whole = finite and (values == np.floor(values)).all()
        if not whole or len(np.unique(values)) < len(values):
            continue
        runs = (np.diff(values) > 0).all() or np.ptp(values) == len(values) - 1
        if runs or re.fullmatch(r"(.*[\W_])?ids?", name, re.IGNORECASE):
            raise ValueError(
                f"{where}: column {name!r} holds a whole number of its own for every "
                f"row ({listed(values.astype(int), 3)}). If it names the rows, say "
                f"id={name!r}; if it is a feature, say id=''."
            )


def _as_labels(column: pd.Series, name: str, where: str) -> np.ndarray:
    """Return a column as texts, empty where there is nothing."""
    missing, values = column.isna().to_numpy(), np.asarray(column)
    known = values[~missing]
    if known.dtype.kind == "f" and (known == np.floor(known)).all():
        known = known.astype(np.int64)  # whole numbers that passed through a gap
    given = known.tolist()
    if len({isinstance(value, str) for value in given}) > 1:
        odd = next(value for value in given if not isinstance(value, str))
        raise ValueError(
            f"{where}: column {name!r} holds text and {odd!r}, which is no text. "
            "Give one kind of class names."
        )
    names = iter([str(value) if str(value).strip() else "" for value in given])
    texts = ["" if gap else next(names) for gap in missing.tolist()]
    return as_texts(texts, f"{where}: column {name!r}")


def _split_column(columns: dict) -> np.ndarray | None:
    for name in list(columns):
        if name.lower() == "split" and _holds(columns[name], str):
            words = _as_labels(columns.pop(name), name, "the rows")
            return np.char.lower(np.char.strip(words))
    return None


def _features(
    columns: dict, where: str, ask: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the features and, if each has a column, their names."""
    lists = [c for c in columns if _holds(columns[c], (list, tuple, np.ndarray))]
    named = [c for want in LISTS for c in lists if c.lower() == want]
    if named or len(lists) == 1:
        name = (named or lists)[0]
        return _stack(columns[name], name, where), None
    if lists:
        raise ValueError(
            f"{where}: columns {', '.join(lists[:5])} all hold lists. "
            "Name the one with the features 'features'."
        )
    numeric = [
        c
        for c in columns
        if c.lower() not in ROW_NUMBERS and np.asarray(columns[c]).dtype.kind in "fiub"
    ]
    for name in columns:
        if name not in numeric and _holds(columns[name], str):
            _check_words(columns[name], name, where)
    if not numeric:
        raise ValueError(
            f"{where}: has no column of numbers for features. The columns are "
            f"{listed(columns, 8)}."
        )
    if ask:
        _ask_about_ids(numeric, columns, where)
    arrays = [np.asarray(columns[c]) for c in numeric]
    dtype = np.result_type(*(array.dtype for array in arrays), np.float32)
    return np.stack(arrays, axis=1).astype(dtype, copy=False), np.array(numeric)


def _check_words(column: pd.Series, name: str, where: str) -> None:
    """Refuse a column of numbers that was read as text: it would be no feature."""
    words = column[column.notna()].astype(str)
    words = words[words.str.strip() != ""]
    commas = words[words.str.contains(",", regex=False)]
    if len(commas) and _numbers(words.str.replace(",", ".")).notna().all():
        raise ValueError(
            f"{where}: column {name!r} holds numbers with commas, such as "
            f"{shown(commas.iloc[0])}. Give them with a decimal point."
        )
    odd = words[_numbers(words).isna()]
    if 0 < len(odd) < len(words) / 2:
        raise ValueError(
            f"{where}: column {name!r} holds numbers, but {shown(odd.iloc[0])} in row "
            f"{odd.index[0]}. Mend the cell or leave it empty; or remove the column."
        )


def _numbers(words: pd.Series) -> pd.Series:
    return pd.to_numeric(words, errors="coerce")


def _stack(column: pd.Series, name: str, where: str) -> np.ndarray:
    if column.isna().any():
        row = int(np.flatnonzero(column.isna())[0])
        raise ValueError(f"{where}: column {name!r} is empty in row {row}.")
    cells = [np.asarray(cell) for cell in column]
    if {cell.shape for cell in cells} != {(cells[0].size,)}:
        sizes = sorted({cell.size for cell in cells})
        raise ValueError(
            f"{where}: the lists in column {name!r} have {sizes[:5]} numbers. "
            "Give every row as many."
        )
    stacked = np.stack(cells)
    if stacked.dtype.kind not in "fiub":
        raise ValueError(f"{where}: column {name!r} holds more than numbers.")
    return stacked


def _holds(column: pd.Series, kind: Any) -> bool:
    """Tell what a column holds by its first value."""
    if column.dtype.kind in "fiub":
        return False
    first = column.first_valid_index()
    return first is not None and isinstance(column[first], kind)


# ---- one row per class ---------------------------------------------------------------


def frame_to_table(
    frame: pd.DataFrame, where: str | Path
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return (table, who is unseen or None) of a frame with one row per class."""
    frame = frame.rename(columns=str)
    if isinstance(frame.index, pd.RangeIndex):
        by_name = [c for c in frame.columns if c.lower() in (*LABELS[:3], "name")]
        if not len(frame.columns):
            raise ValueError(f"{where}: has no columns. Name the classes in the first.")
        frame = frame.set_index((by_name or list(frame.columns))[0])
    names = pd.Index(["" if pd.isna(name) else str(name) for name in frame.index])
    frame = frame.set_axis(names, axis=0).rename_axis(None)
    unseen = _unseen_column(frame, where)
    dims = frame.drop(columns=[c for c in frame if str(c).lower() in SPLITS])
    odd = [c for c in dims if dims[c].dtype.kind not in "fiub"]
    if odd:
        raise ValueError(
            f"{where}: column {shown(odd[0])} holds more than numbers. "
            "Give numbers, or name the column 'class' if it holds the names."
        )
    return dims.rename_axis(columns=None), unseen


def _unseen_column(frame: pd.DataFrame, where: str | Path) -> np.ndarray | None:
    columns = [c for c in frame if str(c).lower() in SPLITS]
    if not columns:
        return None
    words = frame[columns[0]].map(lambda value: str(value).strip().lower())
    yes, no = {"unseen", "true", "1", "1.0", "test"}, {"seen", "false", "0", "0.0"}
    odd = words[~words.isin(yes | no | {"train"})]
    if len(odd):
        raise ValueError(
            f"{where}: column {columns[0]!r} says {shown(odd.iloc[0])} for class "
            f"{shown(odd.index[0])}. Say 'seen' or 'unseen'."
        )
    return np.array(frame.index[words.isin(yes)], dtype=str)
