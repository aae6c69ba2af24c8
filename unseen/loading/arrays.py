"""Arrays in files: one (.npy), or several by key (.npz, HDF5, MATLAB's .mat).

NumPy archives and HDF5 files hold the same keys, in the layout common in the field or
in our own. Nothing is ever unpickled or read from other files, and the size that an
array claims is compared with what is stored before any memory is taken for it.

Layout of the field, in .npz and HDF5::

    X            (n_samples, n_features)    any real dtype
    y            (n_samples,)               rows of the class tables, from 0; or names;
                                            -1, NaN or an empty name is unlabelled
    class_names  (n_classes,)               text
    <table>      (n_classes, n_dims)        any number of these, under any other key
    unseen       (n_unseen,)                rows of the unseen classes, from 0; or names
    seen_test    (n_samples,)               bool: rows set aside for scoring; optional
    feature_names, ids                      names of the columns and rows; optional

``ps_unseen`` (the proposed split) is used where ``unseen`` is missing.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from unseen._command import needs_extra
from unseen._words import listed
from unseen.data import ZeroShotData, one_table
from unseen.files import replace_file
from unseen.limits import check_unpacked, limits
from unseen.loading.parts import (
    RawData,
    as_float,
    as_names,
    as_texts,
    check_count,
    damaged_file,
    first_bytes,
    reader,
)

__all__ = [
    "Arrays",
    "counted_from_one",
    "is_hdf5",
    "is_mat",
    "is_npy",
    "open_hdf5",
    "open_mat",
    "open_npy",
    "open_npz",
    "read_blocks",
]


@dataclass(frozen=True)
class Arrays:
    """Arrays by key of a file: their shapes, and what opens it and reads one of them.

    Those of MATLAB's files are as MATLAB shows them.
    """

    path: Path
    shapes: dict[str, tuple[int, ...]]
    read: Callable[[str], np.ndarray]

    def __contains__(self, key: str) -> bool:
        return key in self.shapes

    def __getitem__(self, key: str) -> np.ndarray:
        self.shape(key)  # which says what is there instead
        return self.read(key)

    def where(self, key: str) -> str:
        """Return what messages call an array."""
        return f"{self.path}: {key!r}"

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape of an array that is there."""
        if key not in self:
            raise ValueError(
                f"{self.path}: there is no array {key!r} among {listed(self.shapes)}."
            )
        return self.shapes[key]

    def names(self, key: str) -> np.ndarray:
        """Return one dimension of text."""
        return as_names(self[key], self.where(key))

    def labels(self, key: str) -> np.ndarray:
        """Return one dimension of row numbers or names."""
        labels, where = self[key], self.where(key)
        if labels.dtype.kind not in "fiuUSO" or labels.ndim != 1:
            raise ValueError(
                f"{where} is {labels.dtype} of shape {labels.shape}. Give one "
                "dimension of whole numbers, counted from 0, or of names."
            )
        if labels.dtype.kind in "fiu":
            return whole_numbers(labels, where)
        return as_names(labels, where) if len(labels) else labels.astype(str)

    def columns(
        self, key: str, count: int | None = None, what: str = "samples"
    ) -> np.ndarray:
        """Return a matrix with one row for each column of MATLAB's."""
        values = self[key]
        if values.ndim != 2 or values.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.where(key)} is {values.dtype} of shape {values.shape}. "
                "Give a matrix of real numbers."
            )
        if count is not None:
            check_count(self.where(key), values.shape[1], count, what)
        return values.T

    def rows(self, key: str) -> np.ndarray:
        """Return row numbers, from 1 in the file and from 0 here; NaN becomes -1."""
        values = self.columns(key).ravel().astype(np.float64)
        return counted_from_one(values, self.where(key))


def read_layout(arrays: Arrays) -> RawData:
    """Return what a file in the layout of the field, or in our own, holds.

    Rows, or rows and their classes, are enough where a class table comes from
    elsewhere; a file that has one says who is unseen as well.
    """
    path, own = arrays.path, "unseen_format" in arrays
    if own and not np.array_equal(arrays["unseen_format"], 1):
        raise ValueError(
            f"{path}: unseen_format is {arrays['unseen_format']}, but this version "
            "of unseen reads 1. Save the set again or upgrade unseen."
        )
    keys = {"X": "X", "y": "y", "classes": "class_names"}
    keys["unseen"] = "unseen" if "unseen" in arrays else "ps_unseen"
    parts: dict[str, Any] = {
        "name": str(arrays["name"].item()) if own else path.stem,
        "where": str(path),
        "X": lambda: arrays["X"],
        "origin": {part: repr(key) for part, key in keys.items()},
    }
    if "class_names" not in arrays:
        n = arrays.shape("X")[0]
        y = arrays.labels("y") if "y" in arrays else np.zeros(n, dtype="<U1")
        if y.dtype.kind == "U":
            return RawData(y=y, class_names=np.unique(y[y != ""]), **parts)
    names = arrays.names("class_names")
    tables = _tables(arrays, names)
    if tables and keys["unseen"] not in arrays:
        raise ValueError(
            f"{path}: neither 'unseen' nor 'ps_unseen' is among "
            f"{listed(arrays.shapes)}. Give the rows of the unseen classes."
        )
    optional: dict[str, Callable[[str], np.ndarray]] = {
        "unseen": arrays.labels,
        "seen_test": arrays.read,
        "feature_names": arrays.names,
        "ids": arrays.names,
    }
    for part, read in optional.items():
        if (key := keys.get(part, part)) in arrays:
            parts[part] = read(key)
    fused = own and bool(arrays["fused"].all())
    y = arrays.labels("y")
    return RawData(y=y, class_names=names, tables=tables, fused=fused, **parts)


def _tables(arrays: Arrays, names: np.ndarray) -> dict[str, pd.DataFrame]:
    """Return every array that has a row of numbers per class, as a class table."""
    found = {}
    for key, shape in arrays.shapes.items():
        # X has a row per class, too, where every class has one row
        if key == "X" or len(shape) != 2 or shape[0] != len(names):
            continue
        values = arrays[key]
        if values.dtype.kind in "fiub":
            values = np.asarray(as_float(values))
            table = pd.DataFrame(values, index=pd.Index(names))
            if (dimensions := f"dimensions{key.removeprefix('classes')}") in arrays:
                columns = arrays[dimensions].tolist()
                counted = columns == list(range(len(columns)))
                table.columns = pd.RangeIndex(len(columns)) if counted else columns
            found["" if key == "classes" else key.removeprefix("classes/")] = table
    return found


def own_arrays(data: ZeroShotData) -> dict[str, Any]:
    """Return the arrays of our own layout, for whoever writes them."""
    names = pd.Index(data.classes)
    arrays: dict[str, Any] = {
        "unseen_format": 1,
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
        labels = table.columns.tolist()
        counted = all(isinstance(label, int) for label in labels)
        place = f"/{name}" if name else ""
        arrays[f"classes{place}"] = as_float(table.to_numpy())
        arrays[f"dimensions{place}"] = np.array(labels, dtype=int if counted else str)
    return arrays


def whole_numbers(values: np.ndarray, where: str) -> np.ndarray:
    """Return row numbers that may be stored as floats; NaN, no number, becomes -1."""
    known = np.where(np.isnan(values), -1, values)
    odd = np.flatnonzero((known != np.floor(known)) | (np.abs(known) > 2**53))
    if len(odd):
        raise ValueError(
            f"{where} holds {values[odd[0]]} (row {odd[0]}). Give whole numbers."
        )
    return known.astype(np.int64)


def counted_from_one(values: np.ndarray, where: str) -> np.ndarray:
    """Return row numbers of a file that counts from 1; NaN becomes -1."""
    gaps, rows = np.isnan(values), whole_numbers(values, where) - 1
    if (rows[~gaps] < 0).any():
        raise ValueError(f"{where} holds {rows[~gaps].min() + 1}. Count from 1.")
    return np.where(gaps, -1, rows)


# ---- NumPy's files -------------------------------------------------------------------


def is_npy(path: Path) -> bool:
    """Tell a .npy file by its first bytes."""
    return first_bytes(path, 6) == b"\x93NUMPY"


def open_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """Open an array of numbers, which must be as large as its header says."""
    path = Path(path)
    with damaged_file(path):
        if not is_npy(path):
            raise ValueError(f"{path} is no .npy file. Save the array by numpy.save.")
        with open(path, "rb") as file:
            _check_header(file, path.stat().st_size, str(path))
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _check_header(file: IO[bytes], stored: int, where: str) -> tuple[int, ...]:
    """Return the shape of a .npy stream, which must be as long as its header says."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read:
        raise ValueError(f"{where} holds names of fields. Save plain numbers.")
    shape, _, dtype = read[version](file)
    if dtype.hasobject or dtype.kind not in "fiubcUS":
        raise ValueError(
            f"{where} holds {dtype}, which is never unpickled. Save numbers, or text "
            "of fixed width (dtype str)."
        )
    size = file.tell() + math.prod(map(int, shape)) * dtype.itemsize
    if size != stored or min(shape, default=0) < 0:
        raise ValueError(
            f"{where} has {stored} bytes, but its header promises {size}. "
            "Fetch or save the file again."
        )
    return shape


def read_blocks(X: Any, step: int | None = None) -> Iterator[np.ndarray]:
    """Yield some rows at a time, by default eight million numbers, as they are stored.

    The rows of a map are read from its file: touching them would make its pages
    resident, which count as memory, and if the file is cut meanwhile, kill the process.
    """
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}. Give two dimensions.")
    step = step or max(1, 2**23 // max(1, X.shape[1]))
    whole = isinstance(X, np.memmap) and not isinstance(X.base, np.memmap)
    # What was written to a private map (mode "c") is not in the file.
    in_file = whole and X.filename and X.mode != "c" and X.flags.c_contiguous
    for start in range(0, len(X), step):
        block = X[start : start + step]
        if in_file:
            place = X.offset + start * X.strides[0]
            read = np.fromfile(X.filename, X.dtype, block.size, offset=place)
            if len(read) < block.size:
                raise ValueError(
                    f"{X.filename}: ended while it was read. Fetch or save the file "
                    "again."
                )
            block = read.reshape(block.shape)
        yield np.asarray(block)


def is_npz(path: Path) -> bool:
    """Tell a zip archive of arrays; a damaged archive counts if it is called .npz."""
    if first_bytes(path, 2) != b"PK":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except Exception:  # damaged bytes raise anything
        return path.suffix == ".npz"


def open_npz(path: Path) -> Arrays:
    """Look at a NumPy archive; sizes are compared with what is stored before a read."""
    with damaged_file(path), zipfile.ZipFile(path) as file:
        members = {m.filename.removesuffix(".npy"): m for m in file.infolist()}
        shapes = {}
        for key, member in members.items():
            with file.open(member) as stream:
                where = f"{path}: {key!r}"
                shapes[key] = _check_header(stream, member.file_size, where)

    def read(key: str) -> np.ndarray:
        member = members[key]
        check_unpacked(member.file_size, member.compress_size, f"{path}: {key!r}")
        with (
            damaged_file(path),
            zipfile.ZipFile(path) as file,
            file.open(member) as stream,
        ):
            return np.lib.format.read_array(stream, allow_pickle=False)

    return Arrays(path, shapes, read)


@reader("NumPy archive (.npz) with X, y, class_names, tables", recognises=is_npz)
def read_npz(path: Path) -> RawData:
    """Read a NumPy archive in our layout or the field's; its stem names the set."""
    return read_layout(open_npz(path))


def write_npz(data: ZeroShotData, path: Path) -> None:
    """Write a data set as a NumPy archive."""
    with replace_file(path) as file:
        np.savez(file, **own_arrays(data))  # numbers and text: nothing to pickle


# ---- HDF5 ----------------------------------------------------------------------------


def is_hdf5(path: Path) -> bool:
    """Tell HDF5 by its signature, also behind the header of a MATLAB 7.3 file."""
    start, signature = first_bytes(path, 2056), b"\x89HDF\r\n\x1a\n"
    return any(start[place:].startswith(signature) for place in (0, 512, 1024, 2048))


@contextmanager
def open_hdf5(path: Path, mode: str = "r") -> Iterator[Any]:
    """Open an HDF5 file, or say what to install."""
    try:
        import h5py
    except ImportError:
        raise needs_extra("h5py", "files", str(path)) from None
    with damaged_file(path), h5py.File(path, mode) as file:
        yield file


def find_datasets(file: Any, path: Path) -> dict[str, Any]:
    """Return the datasets of an open file by name; links to other files are refused.

    Links inside the file are left alone: one could lead through another file.
    """
    import h5py

    found: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = item
            return
        for key in item:
            if isinstance(item.get(key, getlink=True), h5py.ExternalLink):
                raise ValueError(
                    f"{path} holds {key!r}, which is a link to another file. "
                    "Save numbers and text in one file."
                )

    visit("", file)
    file.visititems(visit)
    return found


def read_dataset(dataset: Any, path: Path) -> np.ndarray:
    """Return numbers, mapped if they are stored in one piece, or text."""
    import h5py

    where = f"{path}: {dataset.name.strip('/')!r}"
    check_stored(dataset, where)
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return _texts(dataset, path, where)
    if dataset.dtype.kind not in "fiub" or dataset.dtype.itemsize > 16:
        raise ValueError(
            f"{where} is {dataset.dtype}, which is never unpickled. "
            "Save numbers or text."
        )
    offset = dataset.id.get_offset()
    if offset is None or dataset.dtype.kind == "b":
        return np.asarray(dataset[()])
    if offset + dataset.nbytes > path.stat().st_size:
        raise ValueError(f"{where}: the file ends inside it. Fetch or save it again.")
    return np.memmap(path, dataset.dtype, "r", offset, dataset.shape)


def check_stored(dataset: Any, where: str) -> None:
    """Refuse a dataset in another file, or one that claims far more than is stored."""
    if dataset.shape is None:
        raise ValueError(f"{where} is empty. Save numbers or text.")
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{where} lies in other files. Save all in one file.")
    chunk = math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize
    check_unpacked(max(dataset.nbytes, chunk), dataset.id.get_storage_size(), where)


def _texts(dataset: Any, path: Path, where: str) -> np.ndarray:
    """Read text in pieces: many entries may point to one long text."""
    texts = dataset.asstr("utf-8")
    if dataset.shape == ():
        return np.array(texts[()])
    if dataset.ndim != 1:
        raise ValueError(f"{where} has shape {dataset.shape}. Give one dimension.")
    step = max(1, limits().unpacked_free // path.stat().st_size)
    parts = [
        as_texts(texts[start : start + step].tolist(), where)
        for start in range(0, len(dataset), step)
    ]
    return np.concatenate(parts) if parts else np.array([], dtype=str)


def open_h5(path: Path) -> Arrays:
    """Look at the datasets of an HDF5 file, in the order in which we wrote them."""
    with open_hdf5(path) as file:
        found = find_datasets(file, path)
        order = {key: int(found[key].attrs.get("order", 0)) for key in found}
        shapes = {
            key: found[key].shape or () for key in sorted(found, key=order.__getitem__)
        }

    def read(key: str) -> np.ndarray:
        with open_hdf5(path) as file:
            return read_dataset(file[key], path)

    return Arrays(path, shapes, read)


@reader("HDF5 (.h5) with X, y, class_names, tables", recognises=is_hdf5, general=True)
def read_hdf5(path: Path) -> RawData:
    """Read an HDF5 file in our layout or the field's; its stem names the set."""
    return read_layout(open_h5(path))


def write_hdf5(data: ZeroShotData, path: Path) -> None:
    """Write a data set as HDF5, features in one piece so that they can be mapped."""
    with replace_file(path) as draft, open_hdf5(Path(draft.name), "w") as file:
        for order, (key, value) in enumerate(own_arrays(data).items()):
            value = np.asarray(value)
            if value.dtype.kind == "U":
                value = value.astype(object)  # HDF5's text of any length
            file.create_dataset(key, data=value).attrs["order"] = order


# ---- MATLAB's files ------------------------------------------------------------------


def is_mat(path: Path) -> bool:
    """Tell a MATLAB file of version 5 or 7.3 by its header."""
    start = first_bytes(path, 128)
    is_v5 = start.startswith(b"MATLAB ") or start[126:] in (b"IM", b"MI")
    return is_v5 or (path.suffix.lower() == ".mat" and is_hdf5(path))


def open_mat(path: Path) -> Arrays:
    """Look at a MATLAB file: version 5 is read by SciPy, 7.3, which is HDF5, by h5py.

    Cell arrays of text are one dimension of text.
    """
    if is_hdf5(path):
        return _open_mat_73(path)
    from scipy.io import loadmat, whosmat

    with damaged_file(path):
        shapes = {name: shape for name, shape, _ in whosmat(path)}

    def read(key: str) -> np.ndarray:
        size, packed = math.prod(shapes[key]), path.stat().st_size
        check_unpacked(size, packed, f"{path}: {key!r}")
        with damaged_file(path):
            values = loadmat(path, variable_names=[key])[key]
        if values.dtype.kind not in "OU":
            return values
        # SciPy keeps the text of a cell as an array with one entry, or none.
        cells = [np.ravel(cell).tolist() or [""] for cell in values.ravel(order="F")]
        return stripped([cell[0] if len(cell) == 1 else cell for cell in cells])

    return Arrays(path, shapes, read)


def _open_mat_73(path: Path) -> Arrays:
    def read(key: str) -> np.ndarray:
        with open_hdf5(path) as file:
            dataset = find_datasets(file, path)[key]
            if dataset.dtype.kind != "O":
                return read_dataset(dataset, path).T
            check_stored(dataset, f"{path}: {key!r}")
            return stripped([letters(file[cell]) for cell in dataset[()].flat])

    def letters(cell: Any) -> str:
        check_stored(cell, f"{path}: {cell.name!r}")
        if cell.dtype.kind not in "iu" or cell.size > limits().name_letters:
            raise ValueError(f"{path}: {cell.name!r} is not a name.")
        return cell[()].astype("<u2").ravel().tobytes().decode("utf-16-le")

    with open_hdf5(path) as file:
        found = find_datasets(file, path)
        shapes = {
            key: (dataset.shape or ())[::-1]
            for key, dataset in found.items()
            if key[0] != "#"
        }
    return Arrays(path, shapes, read)


def stripped(texts: list[Any]) -> np.ndarray:
    """Return texts without MATLAB's blanks around them; anything else as it is."""
    plain = [text.strip() if isinstance(text, str) else text for text in texts]
    return np.array(plain, dtype=object)
