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

What we write keeps all there is to a ZeroShotData::

    X, y, ...           as above
    fused               ()                  whether all tables together are the default
    classes/<table>     (n_classes, n_dims) in their order
    dimensions/<table>  (n_dims,)           names of the dimensions, if they have any
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

from unseen._command import optional
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
        return whole_numbers(values, self.where(key), first=1)


def read_layout(arrays: Arrays) -> RawData:
    """Return what a file in the layout of the field, or of ours, holds.

    Rows, or rows and their classes, are enough where a class table comes from
    elsewhere.
    """
    keys = {"X": "X", "y": "y", "classes": "class_names"}
    keys["unseen"] = "unseen" if "unseen" in arrays else "ps_unseen"
    parts: dict[str, Any] = {
        "name": arrays.path.stem,
        "where": str(arrays.path),
        "X": lambda: arrays["X"],
        "origin": {part: repr(key) for part, key in keys.items()},
    }
    if "class_names" not in arrays:
        n = arrays.shape("X")[0]
        y = arrays.labels("y") if "y" in arrays else np.zeros(n, dtype="<U1")
        if y.dtype.kind == "U":
            return RawData(y=y, **parts)
    optional: dict[str, Callable[[str], np.ndarray]] = {
        "unseen": arrays.labels,
        "seen_test": arrays.read,
        "feature_names": arrays.names,
        "ids": arrays.names,
    }
    for part, read in optional.items():
        if (key := keys.get(part, part)) in arrays:
            parts[part] = read(key)
    names = arrays.names("class_names")
    return RawData(
        y=arrays.labels("y"),
        class_names=names,
        tables=_tables(arrays, names),
        fused="fused" in arrays and bool(arrays["fused"].all()),
        **parts,
    )


def _tables(arrays: Arrays, names: np.ndarray) -> dict[str, pd.DataFrame]:
    """Return every array that has a row of numbers per class, as a class table."""
    found = {}
    for key, shape in arrays.shapes.items():
        # X has a row per class, too, where every class has one row
        if key == "X" or len(shape) != 2 or shape[0] != len(names):
            continue
        values = arrays[key]
        if values.dtype.kind in "fiub":
            name = "" if key == "classes" else key.removeprefix("classes/")
            found[name] = pd.DataFrame(as_float(values), index=pd.Index(names))
            dimensions = f"dimensions{key.removeprefix('classes')}"
            if dimensions in arrays:
                found[name].columns = arrays[dimensions].tolist()
    return found


def own_arrays(data: ZeroShotData) -> dict[str, Any]:
    """Return the arrays that a file of ours holds, for whoever writes them."""
    names = pd.Index(data.classes)
    arrays: dict[str, Any] = {
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
        place = f"/{name}" if name else ""
        arrays[f"classes{place}"] = as_float(table.to_numpy())
        labels = table.columns.tolist()
        if labels != list(range(len(labels))):
            arrays[f"dimensions{place}"] = np.array(labels, dtype=str)
    return arrays


def whole_numbers(values: np.ndarray, where: str, first: int = 0) -> np.ndarray:
    """Return row numbers, from 0 here and from ``first`` in the file; NaN becomes -1.

    They may be stored as floats.
    """
    gaps = np.isnan(values)
    rows = np.where(gaps, -1, values - first)
    odd = np.flatnonzero((rows != np.floor(rows)) | (np.abs(rows) > 2**53))
    if len(odd):
        raise ValueError(
            f"{where} holds {values[odd[0]]} (row {odd[0]}). Give whole numbers."
        )
    if first and (rows < 0)[~gaps].any():
        raise ValueError(f"{where} holds {values[~gaps].min():g}. Count from {first}.")
    return rows.astype(np.int64)


# ---- NumPy's files -------------------------------------------------------------------


def is_npy(path: Path) -> bool:
    """Tell a .npy file by its first bytes."""
    return first_bytes(path, 6) == b"\x93NUMPY"


def open_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """Map an array of numbers, unless its file is shorter than its header says."""
    path = Path(path)
    with damaged_file(path):
        if not is_npy(path):
            raise ValueError(f"{path} is no .npy file. Save the array by numpy.save.")
        return np.load(path, mmap_mode="r", allow_pickle=False)


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
                    f"{X.filename} ended while it was read. Fetch or save the file "
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
    """Look at a NumPy archive; what it claims is compared with what is there."""
    shapes = {}
    with damaged_file(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            key = member.filename.removesuffix(".npy")
            with archive.open(member) as stream:
                shapes[key] = _stored_shape(stream, member, f"{path}: {key!r}")

    def read(key: str) -> np.ndarray:
        with damaged_file(path), np.load(path, allow_pickle=False) as arrays:
            return arrays[key]

    return Arrays(path, shapes, read)


def _stored_shape(
    stream: IO[bytes], member: zipfile.ZipInfo, where: str
) -> tuple[int, ...]:
    """Return the shape in the header of an array, which must be all there."""
    np.lib.format.read_magic(stream)
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in "fiubcUS":
        raise ValueError(
            f"{where} holds {dtype}, which is never unpickled. Save numbers, or text "
            "of fixed width (dtype str)."
        )
    size = stream.tell() + math.prod(map(int, shape)) * dtype.itemsize
    if size != member.file_size or min(shape, default=0) < 0:
        raise ValueError(
            f"{where} has {member.file_size} bytes, but its header promises {size}. "
            "Fetch or save the file again."
        )
    check_unpacked(size, member.compress_size, where)
    return shape


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
    h5py = optional("h5py", "files", str(path))
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
    return np.memmap(path, dataset.dtype, "r", offset, dataset.shape)


def check_stored(dataset: Any, where: str) -> None:
    """Refuse a dataset in another file, or one that claims far more than is stored."""
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{where} lies in other files. Save all in one file.")
    chunk = math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize
    check_unpacked(max(dataset.nbytes, chunk), dataset.id.get_storage_size(), where)


def _texts(dataset: Any, path: Path, where: str) -> np.ndarray:
    """Read text in pieces: many entries may point to one long text."""
    texts = dataset.asstr("utf-8")
    step = max(1, limits().unpacked_free // path.stat().st_size)
    parts = [
        as_texts(texts[start : start + step].tolist(), where)
        for start in range(0, len(dataset), step)
    ]
    return np.concatenate(parts)


def open_h5(path: Path) -> Arrays:
    """Look at the datasets of an HDF5 file, in the order in which we wrote them."""
    with open_hdf5(path) as file:
        found = find_datasets(file, path)
        keys = sorted(found, key=lambda key: int(found[key].attrs.get("order", 0)))
        shapes = {key: found[key].shape or () for key in keys}

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
        where, packed = f"{path}: {key!r}", path.stat().st_size
        check_unpacked(math.prod(shapes[key]), packed, where)
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
            dataset = file[key]
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
        found = find_datasets(file, path).items()
        shapes = {key: (one.shape or ())[::-1] for key, one in found if key[0] != "#"}
    return Arrays(path, shapes, read)


def stripped(texts: list[Any]) -> np.ndarray:
    """Return texts without MATLAB's blanks around them; anything else as it is."""
    plain = [text.strip() if isinstance(text, str) else text for text in texts]
    return np.array(plain, dtype=object)
