"""Frames of pandas and polars: features as columns, or as lists in one column.

The labels are in a column called ``label``, ``class``, ``class_name``, ``y`` or
``target``, or in the only column of text. The features are in a column of lists
(``features``, ``embedding`` or the only one), or in all columns of numbers but those
called ``id``, ``index`` or ``Unnamed: 0``, which number the rows. A column ``split``
may say ``test`` for rows of seen classes that are set aside for scoring, and
``unseen`` for rows of unseen classes. Other columns of text are left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from unseen.loading.parts import Parts

__all__ = ["read_frame"]

LABELS = ("label", "class", "class_name", "y", "target")
LISTS = ("features", "embedding", "x")
ROW_NUMBERS = ("id", "index", "unnamed: 0")


def read_frame(frame: Any, name: str = "frame", where: str | None = None) -> Parts:
    """Return the parts of a pandas or polars frame with one row per sample.

    Parameters
    ----------
    frame : pandas or polars DataFrame
        Laid out as the head of :mod:`unseen.loading.frames` says.
    name : str, default="frame"
        What the set is called.
    where : str, optional
        What messages call the frame; by default its name.

    Returns
    -------
    Parts
        Without a class table: give one to ``build``.

    Examples
    --------
    >>> import pandas as pd
    >>> from unseen.loading.frames import read_frame
    >>> rows = pd.DataFrame({"label": ["zebra", "okapi"], "a": [1.0, 2], "b": [3.0, 4]})
    >>> looks = pd.DataFrame({"stripes": [1.0, 0.5]}, index=["zebra", "okapi"])
    >>> read_frame(rows, "zoo").build(looks, unseen=["okapi"])
    ZeroShotData 'zoo': 2 rows x 2 features (float64)
      1 seen class, 1 row: zebra
      1 unseen class, 1 row: okapi
      class embeddings: 1 dimensions
    """
    where = name if where is None else where
    if type(frame).__module__.split(".")[0] == "polars":
        columns = {column: _from_polars(frame[column]) for column in frame.columns}
    else:
        columns = {str(column): frame.iloc[:, i] for i, column in enumerate(frame)}
    label = _label_column(columns, where)
    y = _as_labels(columns.pop(label), label, where)
    split = _split_column(columns)
    names = np.unique(y) if len(y) else y
    parts = Parts(
        name=name,
        where=where,
        X=_features(columns, where),
        y=y,
        class_names=names,
        origin={"X": "the features", "y": f"column {label!r}"},
    )
    if split is not None:
        parts.unseen = np.unique(y[split == "unseen"]).astype(str)
        aside = split == "test"
        parts.seen_test = aside if aside.any() else None
        parts.origin["unseen"] = "column 'split'"
    return parts


def _from_polars(series: Any) -> Any:
    kind = str(series.dtype)
    if kind.startswith("Array"):
        return series.to_numpy()
    if kind.startswith("List"):
        return pd.Series(series.to_list(), dtype=object)
    return pd.Series(series.to_list() if kind == "String" else series.to_numpy())


def _label_column(columns: dict, where: str) -> str:
    named = [c for want in LABELS for c in columns if c.lower() == want]
    others = ("split", *ROW_NUMBERS)
    texts = [c for c in columns if _is_text(columns[c]) and c.lower() not in others]
    if not named and len(texts) != 1:
        raise ValueError(
            f"{where}: has no column of labels. Name it 'label'; the columns are "
            f"{', '.join(list(columns)[:8])}."
        )
    return named[0] if named else texts[0]


def _as_labels(column: Any, label: str, where: str) -> np.ndarray:
    values = np.asarray(column)
    if values.ndim != 1:
        raise ValueError(f"{where}: column {label!r} holds lists. Give class names.")
    missing = np.flatnonzero(pd.isna(values))
    if len(missing):
        raise ValueError(
            f"{where}: column {label!r} is empty in row {missing[0]}. "
            "Give every row a class name."
        )
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        values = values.astype(np.int64)  # whole numbers that passed through a gap
    return np.array([str(value) for value in values.tolist()], dtype=str)


def _split_column(columns: dict) -> np.ndarray | None:
    for column in list(columns):
        if column.lower() == "split" and _is_text(columns[column]):
            values = columns.pop(column)
            return np.array([str(v).strip().lower() for v in values], dtype=str)
    return None


def _features(columns: dict, where: str) -> np.ndarray:
    lists = [c for c in columns if _is_lists(columns[c])]
    named = [c for want in LISTS for c in lists if c.lower() == want]
    if named or len(lists) == 1:
        return _stack(columns[(named or lists)[0]], (named or lists)[0], where)
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
    if not numeric:
        raise ValueError(
            f"{where}: has no column of numbers for features. The columns are "
            f"{', '.join(list(columns)[:8])}."
        )
    arrays = [np.asarray(columns[c]) for c in numeric]
    dtype = np.result_type(*(array.dtype for array in arrays), np.float32)
    return np.stack(arrays, axis=1).astype(dtype, copy=False)


def _stack(column: Any, name: str, where: str) -> np.ndarray:
    if isinstance(column, np.ndarray):
        return column
    cells = [np.asarray(cell) for cell in column]
    shapes = {cell.shape for cell in cells}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        sizes = sorted({cell.size for cell in cells})
        raise ValueError(
            f"{where}: the lists in column {name!r} have {sizes[:5]} numbers. "
            "Give every row as many."
        )
    stacked = np.stack(cells)
    if stacked.dtype.kind not in "fiub":
        raise ValueError(f"{where}: column {name!r} holds more than numbers.")
    return stacked


def _is_text(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return False
    if column.dtype.kind in "fiub":
        return False
    known = (value for value in column if not _gap(value))
    return isinstance(next(known, None), str)


def _gap(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _is_lists(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return column.ndim == 2
    if column.dtype.kind in "fiub":
        return False
    first = column.iloc[0] if len(column) else None
    return isinstance(first, list | tuple | np.ndarray)
