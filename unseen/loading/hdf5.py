"""HDF5 files (.h5): the keys of :mod:`unseen.loading.arrays`, ours or the field's.

Features that are stored in one piece are opened as a memory map. Object types are
read as text only; nothing is ever unpickled.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from unseen._files import replace_file
from unseen.data import ZeroShotData
from unseen.loading.arrays import (
    MARK,
    Arrays,
    own_arrays,
    read_field_layout,
    read_own_layout,
)
from unseen.loading.parts import Parts, damaged_file, needs_extra
from unseen.loading.registry import reader

__all__ = ["is_hdf5", "read_hdf5", "write_hdf5"]

MOST_RATIO = 2000  # no filter of HDF5 packs denser
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path: Path) -> bool:
    """Tell HDF5 by its signature, also behind the header of a MATLAB 7.3 file."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        start = file.read(2048 + len(SIGNATURE))
    return any(start[place:].startswith(SIGNATURE) for place in (0, 512, 1024, 2048))


@reader("HDF5 (.h5) with X, y, class_names, tables", recognises=is_hdf5, general=True)
def read_hdf5(path: Path) -> Parts:
    """Read an HDF5 file with arrays by key.

    Parameters
    ----------
    path : Path
        The file; its stem names the set.

    Returns
    -------
    Parts
        ``X`` is a memory map where it is stored in one piece.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import load_data
    >>> from unseen.loading.hdf5 import read_hdf5, write_hdf5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_hdf5(load_data("digits"), Path(folder) / "digits.h5")
    ...     parts = read_hdf5(path)
    >>> type(parts.X).__name__, list(parts.tables)
    ('memmap', ['segments', 'strokes'])
    """
    with damaged_file(path), open_hdf5(path) as file:
        arrays = HDF5Arrays(path, file)
        if MARK in arrays.keys:
            return read_own_layout(arrays)
        return read_field_layout(arrays)


def write_hdf5(data: ZeroShotData, path: Path) -> Path:
    """Write a data set as HDF5, features in one piece so that they can be mapped.

    Parameters
    ----------
    data : ZeroShotData
    path : Path

    Returns
    -------
    Path
        The file written; whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import load_data
    >>> from unseen.loading.hdf5 import write_hdf5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_hdf5(load_data("digits"), Path(folder) / "digits.h5")
    ...     load_data(path).n_classes
    10
    """
    h5py = _h5py(path)
    with replace_file(path) as draft, h5py.File(draft.name, "w") as file:
        for order, (key, value) in enumerate(own_arrays(data).items()):
            group, _, name = key.rpartition("/")
            place = f"{group}/{quote(name, safe='') or '%'}" if group else key
            value = np.asarray(value)
            if value.dtype.kind == "U":
                value = np.array(value, dtype=h5py.string_dtype())
            file.create_dataset(place, data=value).attrs["order"] = order
    return path


def open_hdf5(path: Path) -> Any:
    """Open an HDF5 file for reading, or say what to install."""
    return _h5py(path).File(path, "r")


def _h5py(path: Path) -> Any:
    try:
        import h5py
    except ImportError:
        raise needs_extra("h5py", "files", str(path)) from None
    return h5py


class HDF5Arrays(Arrays):
    """The datasets of an open file, by their path in it."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path = path
        self._sets: dict[str, Any] = {}
        h5py = _h5py(path)

        def visit(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                self._sets[unquote(name.removesuffix("%"))] = item

        file.visititems(visit)
        order = {k: int(s.attrs.get("order", 0)) for k, s in self._sets.items()}
        self.keys = sorted(self._sets, key=order.__getitem__)

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape of a dataset without reading it."""
        return tuple(self._sets[key].shape or ())

    def get(self, key: str) -> np.ndarray:
        """Return a dataset, read whole."""
        return read_dataset(self._sets[key], self.path, key)

    def features(self) -> np.ndarray:
        """Return X, mapped if it is stored in one piece."""
        self.require("X")
        return map_dataset(self._sets["X"], self.path, "X")


def read_dataset(dataset: Any, path: Path, key: str) -> np.ndarray:
    """Return a dataset of numbers or text, read whole."""
    h5py = _h5py(path)
    if dataset.shape is None:
        raise ValueError(f"{path}: {key!r} is empty. Save the set again.")
    if dataset.external or dataset.is_virtual:
        raise ValueError(
            f"{path}: {key!r} lies in other files, which are not opened. "
            "Save it in one file."
        )
    stored = dataset.id.get_storage_size()
    if dataset.size * dataset.dtype.itemsize > MOST_RATIO * (stored + 4096):
        raise ValueError(
            f"{path}: {key!r} claims shape {dataset.shape}, but only {stored} bytes of "
            "it are stored. Fetch or save the file again."
        )
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return np.asarray(dataset.asstr("utf-8")[()])
    if dataset.dtype.kind not in "fiub":
        raise ValueError(
            f"{path}: {key!r} is {dataset.dtype}, which is never unpickled. "
            "Save numbers or text."
        )
    return np.asarray(dataset[()])


def map_dataset(dataset: Any, path: Path, key: str) -> np.ndarray:
    """Return a dataset as a memory map if it is stored in one piece, else read."""
    offset = dataset.id.get_offset() if dataset.chunks is None else None
    if offset is None or dataset.dtype.kind not in "fiu" or not dataset.size:
        return read_dataset(dataset, path, key)
    if dataset.external or dataset.is_virtual:
        return read_dataset(dataset, path, key)
    if offset + dataset.size * dataset.dtype.itemsize > path.stat().st_size:
        raise ValueError(f"{path}: ends inside {key!r}. Fetch or save the file again.")
    return np.memmap(path, dataset.dtype, "r", offset, dataset.shape)
