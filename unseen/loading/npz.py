"""NumPy archives (.npz): the layout common in the field, and our own.

Layout of the field, arrays by key:

    X            (n_samples, n_features)    any real dtype
    y            (n_samples,)               rows of the class tables, from 0
    class_names  (n_classes,)               text
    <table>      (n_classes, n_dims)        any number of these, under any other key
    unseen       (n_unseen,)                rows of the unseen classes, from 0
    seen         (n_seen,)                  the others; optional, checked if present

``ps_unseen`` and ``ps_seen`` (the proposed split) are used where ``unseen`` is missing.

Our own layout, written by :func:`save_data`, keeps all there is to a ZeroShotData:

    unseen_format       ()                  1
    name                ()                  text
    X, y, class_names, unseen               as above
    fused               ()                  whether the tables have two-level columns
    classes/<table>     (n_classes, n_dims) in their order
    dimensions/<table>  (n_dims,)           names or numbers of the dimensions

Nothing is ever unpickled.
"""

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._atomic import replace_file
from unseen.data import ZeroShotData, one_table, pick_tables
from unseen.loading.registry import Classes, reader

__all__ = ["read_npz", "read_own_npz", "save_data"]

FORMAT = 1
MARK = "unseen_format"
NOT_TABLES = ("X", "y", "class_names", "seen", "unseen", "ps_seen", "ps_unseen")


def is_npz(path: Path) -> bool:
    """Tell a zip archive of arrays; a damaged archive counts if it is called .npz."""
    members = _members(path)
    if members is None:
        return _starts_like_zip(path) and path.suffix == ".npz"
    return any(member.endswith(".npy") for member in members)


def is_own_npz(path: Path) -> bool:
    """Tell an archive written by :func:`save_data`."""
    return f"{MARK}.npy" in (_members(path) or [])


@reader("data set saved by unseen (.npz)", recognises=is_own_npz)
def read_own_npz(path: Path, classes: Classes = None) -> ZeroShotData:
    """Read what :func:`save_data` wrote.

    Parameters
    ----------
    path : Path
        The file.
    classes : str or list of str, optional
        Which tables to take; by default all that were saved.

    Returns
    -------
    ZeroShotData
        Equal to the one saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import load_data, save_data
    >>> from unseen.loading.npz import read_own_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_data(load_data("digits"), Path(folder) / "mine.npz")
    ...     read_own_npz(path, classes="strokes").class_embeddings.shape
    (10, 7)
    """
    with Archive(path) as archive:
        version = archive[MARK]
        if version.shape != () or version != FORMAT:
            raise ValueError(
                f"{path}: {MARK} is {version}, but this version of unseen reads "
                f"{FORMAT}. Save the set again or upgrade unseen."
            )
        names = archive.names("class_names")
        keys = [key for key in archive.keys if key.startswith("classes/")]
        if not keys:
            raise ValueError(
                f"{path}: no class table under 'classes/'. Save the set again."
            )
        tables = {
            key.removeprefix("classes/"): archive.table(
                key, names, key.replace("classes/", "dimensions/", 1)
            )
            for key in keys
        }
        if classes is None and archive["fused"]:
            classes = list(tables)
        table = pick_tables(str(path), tables, classes)
        if classes is None and list(tables) == [""]:
            table = table.rename_axis(columns=None)
        return ZeroShotData(
            name=str(archive["name"]),
            X=archive.features(),
            y=names[archive.rows("y", len(names))],
            class_embeddings=table,
            unseen=names[archive.rows("unseen", len(names))],
        )


@reader("NumPy archive (.npz) with X, y, class_names, tables", recognises=is_npz)
def read_npz(path: Path, classes: Classes = None) -> ZeroShotData:
    """Read the layout of the field, see the head of :mod:`unseen.loading.npz`.

    Parameters
    ----------
    path : Path
        The file; its stem names the set.
    classes : str or list of str, optional
        Which class table to take, several to fuse; by default the first in the file.

    Returns
    -------
    ZeroShotData
        Features in half precision become float32.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.npz import read_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "zoo.npz"
    ...     np.savez(
    ...         path,
    ...         X=np.eye(3, dtype=np.float16),
    ...         y=[0, 1, 2],
    ...         class_names=["zebra", "seal", "okapi"],
    ...         looks=np.array([[1, 1], [0, 0], [0.5, 1]]),
    ...         unseen=[2],
    ...     )
    ...     read_npz(path)
    ZeroShotData 'zoo': 3 rows x 3 features (float32)
      2 seen classes, 2 rows: zebra, seal
      1 unseen class, 1 row: okapi
      class embeddings: 2 dimensions (looks)
    """
    with Archive(path) as archive:
        names = archive.names("class_names")
        unseen = _read_split(archive, len(names))
        wanted = [classes] if isinstance(classes, str) else classes
        tables: dict[str, pd.DataFrame] = {}
        for key in archive.keys:
            if key in NOT_TABLES or (wanted is None and tables):
                continue
            if wanted is None or key in wanted:
                if _is_table(archive[key], len(names)):
                    tables[key] = archive.table(key, names)
        if wanted is None and not tables:
            raise ValueError(
                f"{path}: no class table among {_listed(archive.keys)}. Give a "
                f"two-dimensional array with one row for each of {len(names)} classes."
            )
        missing = [key for key in wanted or [] if key not in tables]
        if missing:
            raise ValueError(
                f"{path}: there is no class table {missing[0]!r}. The tables are "
                f"{_listed(_table_keys(archive, len(names)))}."
            )
        return ZeroShotData(
            name=path.stem,
            X=archive.features(),
            y=names[archive.rows("y", len(names))],
            class_embeddings=pick_tables(str(path), tables, classes),
            unseen=names[unseen],
        )


def save_data(data: ZeroShotData, path: str | os.PathLike[str]) -> Path:
    """Save a data set as one .npz file that ``load_data`` reads back the same.

    The file appears whole or not at all; an older one of that name is replaced.

    Parameters
    ----------
    data : ZeroShotData
        What to save.
    path : path
        Where to; the folder must exist.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import load_data, save_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_data(load_data("digits"), Path(folder) / "mine.npz")
    ...     again = load_data(path)
    >>> again.unseen.tolist()
    ['2', '5', '8']
    """
    path = Path(path)
    names = pd.Index(data.classes)
    arrays: dict[str, Any] = {
        MARK: FORMAT,
        "name": data.name,
        "X": data.X,
        "y": names.get_indexer(pd.Index(data.y)),
        "class_names": data.classes,
        "unseen": names.get_indexer(pd.Index(data.unseen)),
        "fused": data.class_embeddings.columns.nlevels == 2,
    }
    for name in data.tables or ("",):
        table = one_table(data.class_embeddings, name)
        arrays[f"classes/{name}"] = _as_float(table.to_numpy())
        arrays[f"dimensions/{name}"] = _dimension_array(table.columns)
    with replace_file(path) as file:
        np.savez(file, **arrays)  # numbers and text only: nothing to pickle
    return path


class Archive:
    """An open .npz file whose every fault is one clear ``ValueError``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes = open(path, "rb")  # closed by __exit__
        try:
            self._file = np.load(self._bytes, allow_pickle=False)
        except Exception as error:  # damaged bytes raise anything
            self._bytes.close()
            raise self._damaged(error) from error

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._bytes.close()

    @property
    def keys(self) -> list[str]:
        """Names of the arrays, in the order of the file."""
        return list(self._file.files)

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in self.keys:
            raise ValueError(
                f"{self.path}: there is no array {key!r} among {_listed(self.keys)}. "
                "The arrays it needs are X, y, class_names, unseen and a class table."
            )
        try:
            array = self._file[key]
        except Exception as error:  # damaged bytes raise anything
            raise self._damaged(error, key) from error
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{self.path}: {key!r} is no array. Save it by NumPy.")
        return array

    def _damaged(self, error: Exception, key: str | None = None) -> ValueError:
        what = f"array {key!r}" if key else "the archive"
        if "allow_pickle" in str(error):
            return ValueError(
                f"{self.path}: {what} holds Python objects, which are never unpickled. "
                "Save it as numbers or as text of fixed width (dtype str)."
            )
        return ValueError(
            f"{self.path}: {what} is damaged ({type(error).__name__}: {error}). "
            "Fetch or save the file again."
        )

    def names(self, key: str) -> np.ndarray:
        """One dimension of text; bytes are read as UTF-8."""
        names = self[key]
        if names.dtype.kind == "S":
            names = np.char.decode(names, "utf-8")
        if names.dtype.kind != "U" or names.ndim != 1 or names.size == 0:
            raise ValueError(
                f"{self.path}: {key!r} is {names.dtype} of shape {names.shape}. "
                "Give one dimension of text, one name per class."
            )
        return names

    def rows(self, key: str, n_classes: int) -> np.ndarray:
        """One dimension of row numbers of the class tables."""
        rows = self[key]
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"{self.path}: {key!r} is {rows.dtype} of shape {rows.shape}. "
                "Give one dimension of whole numbers, counted from 0."
            )
        outside = rows[(rows < 0) | (rows >= n_classes)]
        if len(outside):
            raise ValueError(
                f"{self.path}: {key!r} holds {outside[0]}, but class_names has "
                f"{n_classes} rows. Count classes from 0 to {n_classes - 1}."
            )
        return rows

    def features(self) -> np.ndarray:
        """``X`` in float32 or float64."""
        return _as_float(self._numbers("X"))

    def table(
        self, key: str, names: np.ndarray, dimensions: str | None = None
    ) -> pd.DataFrame:
        """Class table ``key``; its columns are named by array ``dimensions``."""
        values = _as_float(self._numbers(key))
        if values.ndim != 2 or len(values) != len(names):
            raise ValueError(
                f"{self.path}: {key!r} has shape {values.shape}, but there are "
                f"{len(names)} classes. Give one row per class."
            )
        columns = None if dimensions is None else pd.Index(self[dimensions].tolist())
        if columns is not None and len(columns) != values.shape[1]:
            raise ValueError(
                f"{self.path}: {dimensions!r} names {len(columns)} dimensions, but "
                f"the table has {values.shape[1]}. Save the set again."
            )
        if columns is not None and columns.equals(pd.RangeIndex(len(columns))):
            columns = None
        return pd.DataFrame(values, index=pd.Index(names), columns=columns)

    def _numbers(self, key: str) -> np.ndarray:
        values = self[key]
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.path}: {key!r} is {values.dtype}. Give real numbers."
            )
        return values


def _read_split(archive: Archive, n_classes: int) -> np.ndarray:
    prefix = "" if "unseen" in archive.keys else "ps_"
    if f"{prefix}unseen" not in archive.keys:
        raise ValueError(
            f"{archive.path}: neither 'unseen' nor 'ps_unseen' is among "
            f"{_listed(archive.keys)}. Give the rows of the unseen classes."
        )
    unseen = archive.rows(f"{prefix}unseen", n_classes)
    if f"{prefix}seen" in archive.keys:
        seen = archive.rows(f"{prefix}seen", n_classes)
        sides = np.zeros(n_classes, dtype=int)
        np.add.at(sides, np.concatenate([np.unique(seen), np.unique(unseen)]), 1)
        if (sides != 1).any():
            row = np.flatnonzero(sides != 1)[0]
            both = "both" if sides[row] else "neither"
            raise ValueError(
                f"{archive.path}: class row {row} is in {both} of {prefix}seen and "
                f"{prefix}unseen. Put every class on one side."
            )
    return unseen


def _is_table(array: np.ndarray, n_classes: int) -> bool:
    return array.ndim == 2 and len(array) == n_classes and array.dtype.kind in "fiub"


def _table_keys(archive: Archive, n_classes: int) -> list[str]:
    others = [key for key in archive.keys if key not in NOT_TABLES]
    return [key for key in others if _is_table(archive[key], n_classes)]


def _as_float(values: np.ndarray) -> np.ndarray:
    """Half precision to float32, whole numbers to float64; in native byte order."""
    if values.dtype.kind != "f":
        return values.astype(np.float64)
    return values.astype(np.float64 if values.dtype.itemsize > 4 else np.float32)


def _dimension_array(columns: pd.Index) -> np.ndarray:
    labels = columns.tolist()
    if all(isinstance(label, int) for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.array([str(label) for label in labels])


def _listed(keys: list[str], most: int = 12) -> str:
    return ", ".join(keys[:most]) + (", ..." if len(keys) > most else "")


def _starts_like_zip(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def _members(path: Path) -> list[str] | None:
    """Names in a zip archive; None for any other file or a damaged archive."""
    if not _starts_like_zip(path):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except Exception:  # damaged bytes raise anything
        return None
