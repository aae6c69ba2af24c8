"""Which class table, and who is unseen: from the set itself or from anywhere else.

``classes=`` of :func:`unseen.load_data` may name tables of the set, point to files, or
be frames; :func:`choose_table` makes one table of whatever it is. ``unseen=`` may be
names, a file of names, or a standard split.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unseen._data_checks import pick_tables
from unseen._frames import as_pandas
from unseen._words import listed
from unseen.data import fuse_tables
from unseen.loading.frames import frame_to_table
from unseen.loading.npy import is_npy, open_npy
from unseen.loading.parts import damaged_file, read_lines
from unseen.loading.splits import match_names, simple_name, standard_splits
from unseen.loading.spreadsheets import is_table, read_table
from unseen.loading.word_vectors import embed_names, is_word_vectors
from unseen.naming.classes import existing_file, read_classes

if TYPE_CHECKING:
    from unseen.loading.parts import RawData

__all__ = ["choose_table", "read_class_table"]

NEEDED = "Give a file with one row per class: its name, then numbers that describe it."


def choose_table(raw: RawData, classes: Any) -> pd.DataFrame:
    """Return the class table that was asked for, several of them fused.

    Parameters
    ----------
    raw : RawData
    classes : None, str, path, DataFrame, list or mapping of these

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from unseen.loading.parts import RawData
    >>> from unseen.loading.tables import choose_table
    >>> names = np.array(["zebra", "okapi"])
    >>> looks = pd.DataFrame({"stripes": [1.0, 0.5]}, index=names)
    >>> raw = RawData("zoo", "zoo.csv", np.eye(2), names, names, {"looks": looks})
    >>> choose_table(raw, {"own": looks * 2, "looks": "looks"}).columns.tolist()
    [('own', 'stripes'), ('looks', 'stripes')]
    """
    if classes is None:
        return _default(raw)
    if isinstance(classes, Mapping):
        found = {str(key): _one(raw, str(key), t) for key, t in classes.items()}
        return fuse_tables({key: _plain(table) for key, table in found.items()})
    if isinstance(classes, list | tuple):
        if all(isinstance(item, str) and item in raw.tables for item in classes):
            return pick_tables(raw.where, raw.tables, list(classes))
        found = {_name(item): _one(raw, _name(item), item) for item in classes}
        return fuse_tables({key: _plain(table) for key, table in found.items()})
    if isinstance(classes, str) and classes in raw.tables:
        return pick_tables(raw.where, raw.tables, classes)
    return _one(raw, _name(classes), classes)


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


def _default(raw: RawData) -> pd.DataFrame:
    if not raw.tables:
        raise ValueError(
            f"{raw.where}: there is no class table. Give one with classes=, which "
            "takes a file with one row of numbers per class, or word vectors to look "
            "the class names up in."
        )
    if raw.fused:
        return pick_tables(raw.where, raw.tables, list(raw.tables))
    table = pick_tables(raw.where, raw.tables, None)
    return table.rename_axis(columns=None) if list(raw.tables) == [""] else table


def _one(raw: RawData, name: str, source: Any) -> pd.DataFrame:
    if isinstance(source, str) and source in raw.tables:
        return pick_tables(raw.where, raw.tables, source)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not os.path.exists(path):  # however long the text is
            names = [name for name in raw.tables if name]
            known = f"The tables are {listed(names)}." if names else ""
            raise ValueError(
                f"{raw.where}: there is no class table {str(source)!r}, nor a file "
                f"of that name. {known or NEEDED}"
            )
        with damaged_file(path):
            table = read_class_table(path, raw.class_names)
        return table.rename_axis(columns=name)
    if isinstance(source, np.ndarray):
        if source.ndim != 2 or len(source) != len(raw.class_names):
            raise ValueError(
                f"{raw.where}: classes has shape {source.shape}, but there are "
                f"{len(raw.class_names)} classes. Give one row per class."
            )
        return pd.DataFrame(source, index=pd.Index(raw.class_names))
    source = as_pandas(source)
    if not isinstance(source, pd.DataFrame):
        raise TypeError(
            f"{raw.where}: classes is a {type(source).__name__}. Give the name of a "
            "table, a file, a frame, or a list or mapping of these."
        )
    if source.columns.nlevels == 2:
        return source
    return frame_to_table(source, f"{raw.where}: classes")[0]


def _name(source: Any) -> str:
    return Path(source).stem if isinstance(source, str | os.PathLike) else "classes"


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    if table.columns.nlevels == 2:
        raise TypeError(
            "A table with two-level columns is fused already. Give its raw."
        )
    return table.rename_axis(columns=None)


def choose_unseen(
    raw: RawData, unseen: Any, table: pd.DataFrame, y: np.ndarray
) -> np.ndarray:
    """Return who is unseen: as asked, as the file says, or the classes without rows."""
    known = [str(name) for name in table.index]
    if unseen is not None:
        try:
            return _asked_for(unseen, known)
        except ValueError as error:
            raise ValueError(f"{raw.where}: {error}") from None
    if raw.unseen is not None:
        return raw.named("unseen", raw.unseen)
    present = set(np.unique(y).tolist())
    return np.array([name for name in known if name not in present], dtype=str)


def _asked_for(unseen: Any, known: list[str]) -> np.ndarray:
    if isinstance(unseen, str | os.PathLike):
        if isinstance(unseen, str) and unseen in standard_splits():
            return match_names(standard_splits()[unseen].unseen, known)
        simple = {simple_name(name) for name in known}
        names = [name.strip() for name in str(unseen).split(",")]
        if all(simple_name(name) in simple for name in names):
            return match_names(names, known)
        path = existing_file(unseen)
        if path is not None:
            unseen = read_lines(path)
        else:
            unseen = read_classes(str(unseen)).names
            if not any(simple_name(name) in simple for name in unseen):
                raise ValueError(
                    f"unseen={', '.join(unseen)!r} names no class of the table, no "
                    "file of class names and no standard split. Its classes are "
                    f"{listed(known, 5)}; the splits are {listed(standard_splits())}."
                )
    return match_names([str(name) for name in unseen], known)
