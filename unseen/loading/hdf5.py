"""HDF5 files (.h5): the keys of :mod:`unseen.loading.arrays`, ours or the field's.

Features that are stored in one piece are opened as a memory map. Object types are
read as text only; nothing is ever unpickled. Links inside the file are followed, but
no link, dataset or view that lies in another file. The HDF5 library runs in a process
of its own, see :mod:`unseen.loading.reader_process`.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from unseen._command import needs_extra
from unseen.data import ZeroShotData
from unseen.files import replace_file
from unseen.loading.arrays import (
    MARK,
    Arrays,
    own_arrays,
    read_field_layout,
    read_own_layout,
)
from unseen.loading.parts import Parts, damaged_file
from unseen.loading.reader_process import ReaderProcess, one_reader_process
from unseen.loading.registry import reader

__all__ = ["is_hdf5", "read_hdf5", "write_hdf5"]

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
    with damaged_file(path), one_reader_process() as process:
        arrays = HDF5Arrays(path, process)
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
    try:
        import h5py
    except ImportError:
        raise needs_extra("h5py", "files", str(path)) from None
    with replace_file(path) as draft, h5py.File(draft.name, "w") as file:
        for order, (key, value) in enumerate(own_arrays(data).items()):
            group, _, name = key.rpartition("/")
            place = f"{group}/{quote(name, safe='') or '%'}" if group else key
            value = np.asarray(value)
            if value.dtype.kind == "U":
                value = np.array(value, dtype=h5py.string_dtype())
            file.create_dataset(place, data=value).attrs["order"] = order
    return path


class HDF5Arrays(Arrays):
    """The datasets of a file, by their path in it."""

    def __init__(self, path: Path, process: ReaderProcess) -> None:
        self.path = path
        self._process = process
        self._places = {
            unquote(place.removesuffix("%")): place
            for place, about in process.datasets(path).items()
            if "shape" in about
        }
        self.keys = sorted(self._places, key=lambda key: self._about(key)["order"])

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape of a dataset without reading it."""
        return tuple(self._about(key)["shape"] or ())

    def get(self, key: str) -> np.ndarray:
        """Return a dataset, read whole."""
        if self._about(key)["kind"] == "text":
            return self._process.texts(self.path, self._places[key])
        return np.array(self._process.numbers(self.path, self._places[key]))

    def features(self) -> np.ndarray:
        """Return X, mapped if it is stored in one piece."""
        self.require("X")
        if self._about("X")["kind"] == "text":
            raise ValueError(f"{self.path}: 'X' is text. Give real numbers.")
        return self._process.numbers(self.path, self._places["X"])

    def _about(self, key: str) -> dict:
        return self._process.datasets(self.path)[self._places[key]]
