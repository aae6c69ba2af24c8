"""Labels on disk: a CSV with one line per row that was labelled.

row           number of the row in its set, from 0
label         the class it was given
reliability   how far to trust that, 1 the most; empty if the model does not say
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from unseen._files import replace_file

__all__ = ["match_truth", "read_labels", "write_labels"]


def write_labels(
    path: str | os.PathLike[str],
    labels: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    reliability: np.ndarray | None = None,
) -> Path:
    """Write labels as CSV, whole or not at all.

    Parameters
    ----------
    path : path
        Its folder is made if need be.
    labels : array of shape (n_rows,)
    rows : array of int, optional
        Numbers of the rows in their set; by default 0, 1, ...
    reliability : array of float, optional

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.labels import read_labels, write_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_labels(Path(folder) / "labels.csv", ["okapi", "zebra"])
    ...     read_labels(path)["label"].tolist()
    ['okapi', 'zebra']
    """
    frame = pd.DataFrame({"label": labels})
    frame.insert(0, "row", np.arange(len(frame)) if rows is None else rows)
    frame["reliability"] = "" if reliability is None else np.round(reliability, 6)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as file:
        frame.to_csv(file, index=False, lineterminator="\n")
    return path


def read_labels(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read a file of labels.

    Parameters
    ----------
    path : path
        CSV with at least ``row`` and ``label``.

    Returns
    -------
    DataFrame
        ``row`` as int, ``label`` as text, ``reliability`` as float, NaN for none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.labels import read_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels.csv"
    ...     _ = path.write_text("row,name\n0,okapi\n")
    ...     read_labels(path)
    Traceback (most recent call last):
    ValueError: ...labels.csv: there is no column 'label'; its columns are row, name.
    """
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeError) as error:
        raise ValueError(f"{path}: is no CSV of labels ({error}).") from error
    for column in ("row", "label"):
        if column not in frame:
            raise ValueError(
                f"{path}: there is no column {column!r}; its columns are "
                f"{', '.join(map(str, frame.columns))}."
            )
    rows = pd.to_numeric(frame["row"], errors="coerce")
    strange = frame["row"][(rows.isna() | (rows < 0) | (rows % 1 != 0))]
    if len(strange):
        raise ValueError(f"{path}: row {strange.iloc[0]!r} is no row number.")
    told = frame.get("reliability", pd.Series("", index=frame.index))
    trust = pd.to_numeric(told.replace("", "nan"), errors="coerce")
    return frame.assign(row=rows.astype(int), reliability=trust.astype(float))


def match_truth(labels: pd.DataFrame, y: np.ndarray, where: str) -> np.ndarray:
    """Return the true class of every labelled row.

    Parameters
    ----------
    labels : DataFrame
        From :func:`read_labels`.
    y : array of str
        The classes of all rows of the set.
    where : str
        What the set is called in messages.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from unseen.labels import match_truth
    >>> labels = pd.DataFrame({"row": [1, 0], "label": ["okapi", "okapi"]})
    >>> match_truth(labels, np.array(["zebra", "okapi"]), "zoo").tolist()
    ['okapi', 'zebra']
    """
    rows = labels["row"].to_numpy()
    if len(rows) == 0:
        raise ValueError("There is no label to score.")
    if rows.max() >= len(y):
        raise ValueError(
            f"A label is for row {rows.max()}, but {where} has {len(y)} rows. Is it "
            "the set that was labelled?"
        )
    if len(np.unique(rows)) < len(rows):
        raise ValueError("Some row has two labels. Give one each.")
    return y[rows]
