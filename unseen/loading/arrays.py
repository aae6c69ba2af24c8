"""Arrays by key: the layout common in the field, and our own.

NumPy archives (.npz) and HDF5 files (.h5) hold the same keys. Nothing is ever
unpickled, nothing is read from other files, and what an array claims is compared with
what is stored before any memory is taken for it.

Layout of the field::

    X            (n_samples, n_features)    any real dtype
    y            (n_samples,)               rows of the class tables, from 0; or names;
                                            -1, NaN or an empty name is unlabelled
    class_names  (n_classes,)               text
    <table>      (n_classes, n_dims)        any number of these, under any other key
    unseen       (n_unseen,)                rows of the unseen classes, from 0; or names
    seen         (n_seen,)                  the others; optional, checked if present
    seen_test    (n_samples,)               bool: rows set aside for scoring; optional
    feature_names, ids                      names of the columns and rows; optional

``ps_unseen`` and ``ps_seen`` (the proposed split) are used where ``unseen`` is missing.

Our own layout keeps all there is to a ZeroShotData::

    unseen_format       ()                  1
    name                ()                  text
    X, y, ...           as above
    fused               ()                  whether the tables have two-level columns
    classes/<table>     (n_classes, n_dims) in their order
    dimensions/<table>  (n_dims,)           names or numbers of the dimensions
"""

from __future__ import annotations

import math
import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd

from unseen._command import needs_extra
from unseen._data_checks import one_table
from unseen._words import listed
from unseen.data import ZeroShotData
from unseen.files import replace_file
from unseen.limits import check_unpacked, limits
from unseen.loading.npy import MOST_HEADER, read_npy_header
from unseen.loading.parts import RawData, as_float, as_names, as_texts, damaged_file
from unseen.loading.registry import reader

__all__ = [
    "Archive",
    "is_hdf5",
    "read_hdf5",
    "read_npz",
    "save_data",
    "write_hdf5",
]

FORMAT = 1
MARK = "unseen_format"
SIGNATURE = b"\x89HDF\r\n\x1a\n"
PARTS = ("X", "y", "class_names", "unseen", "seen_test", "feature_names", "ids")
NOT_TABLES = (*PARTS, "seen", "ps_seen", "ps_unseen")
NEEDED = "The arrays it needs are X, y, class_names, unseen and a class table."


class Arrays(ABC):
    """Arrays by key from some file, read one at a time."""

    path: Path
    keys: list[str]

    @abstractmethod
    def get(self, key: str) -> np.ndarray:
        """Return one array that is there."""

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape of an array, if it can be told without reading it."""
        return self.get(key).shape

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in self.keys:
            raise ValueError(
                f"{self.path}: there is no array {key!r} among {listed(self.keys)}. "
                f"{NEEDED}"
            )
        return self.get(key)

    def numbers(self, key: str) -> np.ndarray:
        """Return one array of real numbers."""
        values = self[key]
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.path}: {key!r} is {values.dtype}. Give real numbers."
            )
        return values

    def names(self, key: str) -> np.ndarray:
        """Return one dimension of text."""
        return as_names(self[key], f"{self.path}: {key!r}")

    def labels(self, key: str) -> np.ndarray:
        """Return one dimension of row numbers or names."""
        labels = self[key]
        kind = labels.dtype.kind
        if kind not in "fiuUSO" or labels.ndim != 1:
            raise ValueError(
                f"{self.path}: {key!r} is {labels.dtype} of shape {labels.shape}. "
                "Give one dimension of whole numbers, counted from 0, or of names."
            )
        if kind == "f":
            return whole_numbers(labels, f"{self.path}: {key!r}")
        if kind in "iu":
            return labels.astype(np.int64)
        return self.names(key) if len(labels) else labels.astype(str)

    def mask(self, key: str) -> np.ndarray:
        """Return one dimension of True and False."""
        mask = self[key]
        if mask.dtype.kind != "b" or mask.ndim != 1:
            raise ValueError(
                f"{self.path}: {key!r} is {mask.dtype} of shape {mask.shape}. "
                "Give True or False for every row of X."
            )
        return mask

    def text(self, key: str) -> str:
        """Return one text."""
        value = self[key]
        item = value.item() if value.shape == () else None
        item = item.decode() if isinstance(item, bytes) else item
        if not isinstance(item, str):
            raise ValueError(f"{self.path}: {key!r} is no text. Save the set again.")
        return item

    def table(
        self, key: str, names: np.ndarray, dimensions: str | None = None
    ) -> pd.DataFrame:
        """Return class table ``key``; its columns are named by ``dimensions``."""
        values = as_float(self.numbers(key))
        if values.ndim != 2 or len(values) != len(names):
            raise ValueError(
                f"{self.path}: {key!r} has shape {values.shape}, but there are "
                f"{len(names)} classes. Give one row per class."
            )
        columns = None
        if dimensions is not None:
            found = self[dimensions]
            if found.dtype.kind in "SO":
                found = as_names(found, f"{self.path}: {dimensions!r}")
            columns = pd.Index(found.ravel().tolist())
            if len(columns) != values.shape[1]:
                raise ValueError(
                    f"{self.path}: {dimensions!r} names {len(columns)} dimensions, "
                    f"but the table has {values.shape[1]}. Save the set again."
                )
            if columns.equals(pd.RangeIndex(len(columns))):
                columns = None
        return pd.DataFrame(np.asarray(values), index=pd.Index(names), columns=columns)


def read_layout(arrays: Arrays) -> RawData:
    """Return what a file in the layout of the field, or in our own, holds.

    Rows, or rows and their classes, are enough where a class table comes from
    elsewhere; a file that has one says who is unseen as well.
    """
    keys, own = arrays.keys, MARK in arrays.keys
    if own and (arrays[MARK].shape != () or arrays[MARK] != FORMAT):
        raise ValueError(
            f"{arrays.path}: {MARK} is {arrays[MARK]}, but this version of unseen "
            f"reads {FORMAT}. Save the set again or upgrade unseen."
        )
    if "class_names" not in keys and "X" in keys:
        alone = rows_alone(arrays)
        if alone is not None:
            return alone
    names = arrays.names("class_names")
    tables = _own_tables(arrays, names) if own else _field_tables(arrays, names)
    prefix = "" if "unseen" in keys else "ps_"
    if tables and f"{prefix}unseen" not in keys:
        raise ValueError(
            f"{arrays.path}: neither 'unseen' nor 'ps_unseen' is among {listed(keys)}. "
            "Give the rows of the unseen classes."
        )

    def maybe(read: Callable[[str], np.ndarray], key: str) -> np.ndarray | None:
        return read(key) if key in keys else None

    return RawData(
        name=arrays.text("name") if own else arrays.path.stem,
        where=str(arrays.path),
        X=arrays.numbers("X"),
        y=arrays.labels("y"),
        class_names=names,
        tables=tables,
        unseen=maybe(arrays.labels, f"{prefix}unseen"),
        seen=maybe(arrays.labels, f"{prefix}seen"),
        seen_test=maybe(arrays.mask, "seen_test"),
        fused=own and bool(arrays["fused"].all()),
        feature_names=maybe(arrays.names, "feature_names"),
        ids=maybe(arrays.names, "ids"),
        origin={
            "X": "'X'",
            "y": "'y'",
            "unseen": f"'{prefix}unseen'",
            "seen": f"'{prefix}seen'",
            "classes": "'class_names'",
        },
    )


def rows_alone(arrays: Arrays) -> RawData | None:
    """Return rows and their names, empty for unlabelled ones; None if y has numbers."""
    X = arrays.numbers("X")
    y = arrays.labels("y") if "y" in arrays.keys else np.zeros(len(X), dtype="<U1")
    if y.dtype.kind != "U":
        return None
    names = np.unique(y)
    return RawData(
        name=arrays.path.stem,
        where=str(arrays.path),
        X=X,
        y=y,
        class_names=names[names != ""],
        origin={"X": "'X'", "y": "'y'"},
    )


def _field_tables(arrays: Arrays, names: np.ndarray) -> dict[str, pd.DataFrame]:
    """Return every array that has a row of numbers per class."""
    found = {}
    for key in arrays.keys:
        shape = () if key in NOT_TABLES else arrays.shape(key)
        if len(shape) == 2 and shape[0] == len(names):
            if arrays.get(key).dtype.kind in "fiub":
                found[key] = arrays.table(key, names)
    return found


def _own_tables(arrays: Arrays, names: np.ndarray) -> dict[str, pd.DataFrame]:
    tables = [key.split("/", 1)[1] for key in arrays.keys if key.startswith("classes/")]
    ours = {f"{part}/{name}" for part in ("classes", "dimensions") for name in tables}
    strange = set(arrays.keys) - ours - {MARK, "name", "fused", *PARTS}
    if strange or not tables:  # a damaged name would lose what it names
        found = listed(sorted(strange), 3) or "no class table"
        raise ValueError(
            f"{arrays.path}: holds {found}, unlike any set of ours. Save it again."
        )
    return {
        name: arrays.table(f"classes/{name}", names, f"dimensions/{name}")
        for name in tables
    }


def own_arrays(data: ZeroShotData) -> dict[str, Any]:
    """Return the arrays of our own layout, for whoever writes them."""
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
    for key in ("seen_test", "feature_names", "ids"):
        if getattr(data, key) is not None:
            arrays[key] = getattr(data, key)
    for name in data.tables or ("",):
        table = one_table(data.class_embeddings, name)
        arrays[f"classes/{name}"] = as_float(table.to_numpy())
        arrays[f"dimensions/{name}"] = _dimension_array(table.columns)
    return arrays


def whole_numbers(values: np.ndarray, where: str) -> np.ndarray:
    """Return row numbers that were stored as floats; NaN, no number, becomes -1.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.loading.arrays import whole_numbers
    >>> whole_numbers(np.array([2.0, np.nan]), "zoo.npz: 'y'")
    array([ 2, -1])
    """
    gaps = np.isnan(values)
    known = np.where(gaps, -1, values)
    odd = np.flatnonzero((known != np.floor(known)) | (np.abs(known) > 2**53))
    if len(odd):
        raise ValueError(
            f"{where} holds {values[odd[0]]} (row {odd[0]}). Give whole numbers."
        )
    return known.astype(np.int64)


def _dimension_array(columns: pd.Index) -> np.ndarray:
    labels = columns.tolist()
    if all(isinstance(label, int) for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.array([str(label) for label in labels])


# ---- NumPy archives ------------------------------------------------------------------


class Archive(Arrays):
    """An open .npz file; sizes are compared with what is stored before it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with damaged_file(path, "the archive"):
            self._file = zipfile.ZipFile(path)
            members = self._file.infolist()
            self._members = {m.filename.removesuffix(".npy"): m for m in members}
            self.keys = list(self._members)
            if len(self.keys) < len(members) or len(members) > limits().arrays:
                raise ValueError(
                    f"{path}: holds {len(members)} arrays under {len(self.keys)} "
                    f"names. Give each its own, and at most {limits().arrays}."
                )

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape of an array without reading it."""
        with damaged_file(self.path, f"array {key!r}"):
            with self._file.open(self._members[key]) as stream:
                return read_npy_header(stream)[1]

    def get(self, key: str) -> np.ndarray:
        """Return one array; numbers and text only."""
        member = self._members[key]
        with damaged_file(self.path, f"array {key!r}"):
            with self._file.open(member) as stream:
                dtype, _, size = read_npy_header(stream)
            if dtype.hasobject:
                raise ValueError(
                    f"{self.path}: array {key!r} holds Python objects, which are never "
                    "unpickled. Save numbers, or text of fixed width (dtype str)."
                )
            if size != member.file_size:
                raise ValueError(f"{member.file_size} bytes where {size} are announced")
            check_unpacked(size, member.compress_size, self.path)
            with self._file.open(member) as stream:
                return np.lib.format.read_array(
                    stream, allow_pickle=False, max_header_size=MOST_HEADER
                )


def is_npz(path: Path) -> bool:
    """Tell a zip archive of arrays; a damaged archive counts if it is called .npz."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        if file.read(2) != b"PK":
            return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except Exception:  # damaged bytes raise anything
        return path.suffix == ".npz"


@reader("NumPy archive (.npz) with X, y, class_names, tables", recognises=is_npz)
def read_npz(path: Path) -> RawData:
    """Read a NumPy archive in our layout or the field's; its stem names the set.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import load_data
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
    ...     load_data(path)
    ZeroShotData 'zoo': 3 rows x 3 features (float32)
      2 seen classes, 2 rows: zebra, seal
      1 unseen class, 1 row: okapi
      class embeddings: 2 dimensions (looks)
    """
    with Archive(path) as archive:
        return read_layout(archive)


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
    with replace_file(path) as file:
        np.savez(file, **own_arrays(data))  # numbers and text: nothing to pickle
    return path


# ---- HDF5 ----------------------------------------------------------------------------


def is_hdf5(path: Path) -> bool:
    """Tell HDF5 by its signature, also behind the header of a MATLAB 7.3 file."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        start = file.read(2048 + len(SIGNATURE))
    return any(start[place:].startswith(SIGNATURE) for place in (0, 512, 1024, 2048))


@contextmanager
def open_hdf5(path: Path, mode: str = "r") -> Iterator[Any]:
    """Open an HDF5 file, or say what to install."""
    try:
        import h5py
    except ImportError:
        raise needs_extra("h5py", "files", str(path)) from None
    with h5py.File(path, mode) as file:
        yield file


def find_datasets(file: Any, path: Path) -> dict[str, Any]:
    """Return the datasets of an open file by name; links to other files are refused.

    Links inside the file are left alone: one could lead through another file.
    """
    import h5py

    found: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if len(found) > limits().arrays:
            raise ValueError(f"{path}: holds more than {limits().arrays} arrays.")
        if isinstance(item, h5py.Dataset):
            found[name] = item
            return
        for key in item:
            if isinstance(item.get(key, getlink=True), h5py.ExternalLink):
                raise ValueError(
                    f"{path}: holds {key!r}, which is a link to another file. "
                    "Save numbers and text in one file."
                )

    visit("", file)
    file.visititems(visit)
    return found


def read_dataset(dataset: Any, path: Path) -> np.ndarray:
    """Return numbers, mapped if they are stored in one piece, or text."""
    import h5py

    name = dataset.name.strip("/")
    check_stored(dataset, path)
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return _texts(dataset, path)
    if dataset.dtype.kind not in "fiub" or dataset.dtype.itemsize > 16:
        raise ValueError(
            f"{path}: {name!r} is {dataset.dtype}, which is never unpickled. "
            "Save numbers or text."
        )
    offset = dataset.id.get_offset()
    if offset is None or dataset.dtype.kind == "b":
        return np.asarray(dataset[()])
    if offset + dataset.nbytes > path.stat().st_size:
        raise ValueError(f"{path}: ends inside {name!r}. Fetch or save the file again.")
    return np.memmap(path, dataset.dtype, "r", offset, dataset.shape)


def check_stored(dataset: Any, path: Path) -> None:
    """Refuse a dataset in another file, or one that claims far more than is stored."""
    where = f"{path}: {dataset.name.strip('/')!r}"
    if dataset.shape is None:
        raise ValueError(f"{where} is empty. Save numbers or text.")
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{where} lies in other files. Save all in one file.")
    chunk = math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize
    check_unpacked(max(dataset.nbytes, chunk), dataset.id.get_storage_size(), where)


def _texts(dataset: Any, path: Path) -> np.ndarray:
    """Read text in pieces: many entries may point to one long text."""
    where = f"{path}: {dataset.name.strip('/')!r}"
    texts = dataset.asstr("utf-8")
    if dataset.shape == ():
        return np.array(texts[()])
    if dataset.ndim != 1:
        raise ValueError(f"{where} has shape {dataset.shape}. Give one dimension.")
    step = max(1, limits().unpacked_free // path.stat().st_size)
    parts = []
    for start in range(0, len(dataset), step):
        parts.append(as_texts(texts[start : start + step].tolist(), where))
    return np.concatenate(parts) if parts else np.array([], dtype=str)


class Hdf5Arrays(Arrays):
    """The datasets of an open file, by their path in it."""

    def __init__(self, file: Any, path: Path) -> None:
        self.path = path
        found = find_datasets(file, path)
        self._datasets = {unquote(k.removesuffix("%")): d for k, d in found.items()}
        self.keys = sorted(self._datasets, key=self._order)

    def _order(self, key: str) -> int:
        order = self._datasets[key].attrs.get("order", 0)
        return int(order) if np.shape(order) == () else 0

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape of a dataset without reading it."""
        return self._datasets[key].shape or ()

    def get(self, key: str) -> np.ndarray:
        """Return a dataset; numbers in one piece are mapped."""
        with damaged_file(self.path, f"array {key!r}"):
            return read_dataset(self._datasets[key], self.path)


@reader("HDF5 (.h5) with X, y, class_names, tables", recognises=is_hdf5, general=True)
def read_hdf5(path: Path) -> RawData:
    """Read an HDF5 file in our layout or the field's; its stem names the set."""
    with damaged_file(path), open_hdf5(path) as file:
        return read_layout(Hdf5Arrays(file, path))


def write_hdf5(data: ZeroShotData, path: Path) -> Path:
    """Write a data set as HDF5, features in one piece so that they can be mapped.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import load_data, write_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_data(load_data("digits"), Path(folder) / "digits.h5")
    ...     load_data(path).n_classes
    10
    """
    with replace_file(path) as draft, open_hdf5(Path(draft.name), "w") as file:
        for order, (key, value) in enumerate(own_arrays(data).items()):
            group, _, name = key.rpartition("/")
            place = f"{group}/{quote(name, safe='') or '%'}" if group else key
            value = np.asarray(value)
            if value.dtype.kind == "U":
                value = value.astype(object)  # HDF5's text of any length
            file.create_dataset(place, data=value).attrs["order"] = order
    return path
