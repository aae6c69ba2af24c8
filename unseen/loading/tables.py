"""Class tables, from the set itself or from anywhere else.

``classes=`` of :func:`unseen.load_data` may name tables of the set, point to
files, or be frames; :func:`choose_table` makes one table of whatever it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unseen._frames import as_pandas
from unseen._fused_tables import pick_tables
from unseen._words import listed
from unseen.data import fuse_tables
from unseen.loading.frames import frame_to_table
from unseen.loading.npy import is_npy, open_npy
from unseen.loading.parts import damaged_file
from unseen.loading.spreadsheets import is_table, read_table
from unseen.loading.word_vectors import embed_names, is_word_vectors

if TYPE_CHECKING:
    from unseen.loading.parts import Parts

__all__ = ["choose_table", "read_class_table"]

NEEDED = "Give a file with one row per class: its name, then numbers that describe it."


def choose_table(parts: Parts, classes: Any) -> pd.DataFrame:
    """Return the class table that was asked for, several of them fused.

    Parameters
    ----------
    parts : Parts
    classes : None, str, path, DataFrame, list or mapping of these

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from unseen.loading.parts import Parts
    >>> from unseen.loading.tables import choose_table
    >>> names = np.array(["zebra", "okapi"])
    >>> looks = pd.DataFrame({"stripes": [1.0, 0.5]}, index=names)
    >>> parts = Parts("zoo", "zoo.csv", np.eye(2), names, names, {"looks": looks})
    >>> choose_table(parts, {"own": looks * 2, "looks": "looks"}).columns.tolist()
    [('own', 'stripes'), ('looks', 'stripes')]
    """
    if classes is None:
        return _default(parts)
    if isinstance(classes, Mapping):
        found = {str(key): _one(parts, str(key), t) for key, t in classes.items()}
        return fuse_tables({key: _plain(table) for key, table in found.items()})
    if isinstance(classes, list | tuple):
        if all(isinstance(item, str) and item in parts.tables for item in classes):
            return pick_tables(parts.where, parts.tables, list(classes))
        found = {_name(item): _one(parts, _name(item), item) for item in classes}
        return fuse_tables({key: _plain(table) for key, table in found.items()})
    if isinstance(classes, str) and classes in parts.tables:
        return pick_tables(parts.where, parts.tables, classes)
    return _one(parts, _name(classes), classes)


def read_class_table(
    path: str | os.PathLike[str], class_names: np.ndarray | None = None
) -> pd.DataFrame:
    r"""Read one class table from a file of its own.

    Parameters
    ----------
    path : path
        CSV, parquet or .xlsx with one row per class and its name in a column ``class``,
        ``name``, ``class_name`` or ``label``, or in the first column; columns
        ``split`` and ``unseen`` are no dimensions. Or ``.npy`` with rows in the order
        of ``class_names``. Or a file of word vectors, in which the names are looked up.
    class_names : ndarray of str, optional
        The classes of the set.

    Returns
    -------
    DataFrame
        Indexed by class name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.tables import read_class_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "looks.csv"
    ...     _ = path.write_text("class,stripes,hooves\nzebra,1,1\nseal,0,0\n")
    ...     read_class_table(path)
           stripes  hooves
    zebra        1       1
    seal         0       0
    """
    path = Path(path)
    if is_npy(path):
        values = np.array(open_npy(path))
        if class_names is None or len(values) != len(class_names):
            n = "unknown" if class_names is None else len(class_names)
            raise ValueError(
                f"{path}: has {len(values)} rows, but the number of classes is {n}. "
                "Give one row per class."
            )
        return pd.DataFrame(values, index=pd.Index(class_names))
    if is_word_vectors(path) and class_names is not None:
        found = embed_names(class_names, path)
        absent = [n for n in class_names.tolist() if n not in found.table.index]
        if absent:
            raise ValueError(
                f"{path}: knows no word of {listed(absent, 5)}. Give other vectors, or "
                "build the table with embed_names and mend it."
            )
        return found.table
    if is_table(path):
        with damaged_file(path):
            return frame_to_table(read_table(path, names_first=True), path)[0]
    raise ValueError(
        f"{path}: is no class table. Give CSV, parquet, .xlsx, .npy or word vectors."
    )


def _default(parts: Parts) -> pd.DataFrame:
    if not parts.tables:
        raise ValueError(
            f"{parts.where}: there is no class table. Give one with classes=, which "
            "takes a file with one row of numbers per class, or word vectors to look "
            "the class names up in."
        )
    if parts.fused:
        return pick_tables(parts.where, parts.tables, list(parts.tables))
    table = pick_tables(parts.where, parts.tables, None)
    return table.rename_axis(columns=None) if list(parts.tables) == [""] else table


def _one(parts: Parts, name: str, source: Any) -> pd.DataFrame:
    if isinstance(source, str) and source in parts.tables:
        return pick_tables(parts.where, parts.tables, source)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not os.path.exists(path):  # however long the text is
            names = [name for name in parts.tables if name]
            known = f"The tables are {listed(names)}." if names else ""
            raise ValueError(
                f"{parts.where}: there is no class table {str(source)!r}, nor a file "
                f"of that name. {known or NEEDED}"
            )
        with damaged_file(path):
            table = read_class_table(path, parts.class_names)
        return table.rename_axis(columns=name)
    if isinstance(source, np.ndarray):
        if source.ndim != 2 or len(source) != len(parts.class_names):
            raise ValueError(
                f"{parts.where}: classes has shape {source.shape}, but there are "
                f"{len(parts.class_names)} classes. Give one row per class."
            )
        return pd.DataFrame(source, index=pd.Index(parts.class_names))
    source = as_pandas(source)
    if not isinstance(source, pd.DataFrame):
        raise TypeError(
            f"{parts.where}: classes is a {type(source).__name__}. Give the name of a "
            "table, a file, a frame, or a list or mapping of these."
        )
    if source.columns.nlevels == 2:
        return source
    return frame_to_table(source, f"{parts.where}: classes")[0]


def _name(source: Any) -> str:
    return Path(source).stem if isinstance(source, str | os.PathLike) else "classes"


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    if table.columns.nlevels == 2:
        raise TypeError(
            "A table with two-level columns is fused already. Give its parts."
        )
    return table.rename_axis(columns=None)
