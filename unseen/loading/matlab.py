"""MATLAB files: version 5 by SciPy, version 7.3, which is HDF5, by h5py.

Both give arrays as MATLAB shows them, cells of text as arrays of ``str``. Shapes are
read first: a variable that claims far more than the file holds is refused.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from unseen._words import listed
from unseen.limits import check_unpacked, limits
from unseen.loading.arrays import (
    check_stored,
    counted_from_one,
    find_datasets,
    is_hdf5,
    open_hdf5,
    read_dataset,
)
from unseen.loading.parts import as_texts, damaged_file

__all__ = ["MatFile", "is_mat", "mat_keys"]


def is_mat(path: Path) -> bool:
    """Tell a MATLAB file of version 5 or 7.3 by its header."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        start = file.read(128)
    is_v5 = start.startswith(b"MATLAB ") or start[126:] in (b"IM", b"MI")
    return is_v5 or (path.suffix.lower() == ".mat" and is_hdf5(path))


def mat_keys(path: Path) -> frozenset[str]:
    """Return the names of the variables, none for what is no MATLAB file."""
    if not is_mat(path):
        return frozenset()
    try:
        return frozenset(MatFile(path).keys)
    except ImportError:
        raise
    except Exception:  # damaged: whoever reads it will say so
        return frozenset()


class MatFile:
    """The variables of a MATLAB file, each read when it is asked for.

    Parameters
    ----------
    path : Path

    Examples
    --------
    >>> import numpy as np, scipy.io, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.matlab import MatFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "zoo.mat"
    ...     names = np.array(["zebra", "okapi"], dtype=object)
    ...     scipy.io.savemat(path, {"names": names[:, None], "a": np.eye(2)})
    ...     MatFile(path).texts("names").tolist()
    ['zebra', 'okapi']
    """

    def __init__(self, path: Path) -> None:
        from scipy.io import whosmat

        self.path = path
        self.in_hdf5 = is_hdf5(path)
        if self.in_hdf5:
            with open_hdf5(path) as file:
                self.keys = [str(name) for name in file if not name.startswith("#")]
        else:
            with damaged_file(path):
                self._shapes = {name: shape for name, shape, _ in whosmat(path)}
            self.keys = list(self._shapes)

    def numbers(self, key: str) -> np.ndarray:
        """Return a matrix of real numbers, (rows, columns) as MATLAB has it.

        It is in MATLAB's order of memory: the transpose is in C's.
        """
        values = self._read(key)
        if values.ndim != 2 or values.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.path}: {key!r} is {values.dtype} of shape {values.shape}. "
                "Give a matrix of real numbers."
            )
        return values

    def rows(self, key: str) -> np.ndarray:
        """Return row numbers, from 1 in the file and from 0 here; NaN becomes -1."""
        values = self.numbers(key).ravel(order="F").astype(np.float64)
        return counted_from_one(values, f"{self.path}: {key!r}")

    def texts(self, key: str) -> np.ndarray:
        """Return a cell array of text as one dimension of ``str``."""
        texts = []
        # SciPy keeps the text of a cell as an array with one entry, or none.
        for cell in map(np.asarray, self._read(key, text=True).ravel(order="F")):
            text = "" if cell.size == 0 else cell.ravel()[0]
            if not isinstance(text, str) or cell.size > 1:
                raise ValueError(f"{self.path}: {key!r} holds more than text.")
            texts.append(text.strip())
        return as_texts(texts, f"{self.path}: {key!r}")

    def _read(self, key: str, text: bool = False) -> np.ndarray:
        if key not in self.keys:
            raise ValueError(
                f"{self.path}: there is no variable {key!r} among {listed(self.keys)}."
            )
        return self._from_hdf5(key, text) if self.in_hdf5 else self._from_mat5(key)

    def _from_mat5(self, key: str) -> np.ndarray:
        from scipy.io import loadmat

        size = math.prod(self._shapes[key])
        check_unpacked(size, self.path.stat().st_size, f"{self.path}: {key!r}")
        with damaged_file(self.path):
            return loadmat(self.path, variable_names=[key])[key]

    def _from_hdf5(self, key: str, text: bool) -> np.ndarray:
        with open_hdf5(self.path) as file:
            dataset = find_datasets(file, self.path).get(key)
            if dataset is None:
                raise ValueError(f"{self.path}: {key!r} is a struct. Save a matrix.")
            if not text:
                return read_dataset(dataset, self.path).T
            check_stored(dataset, f"{self.path}: {key!r}")
            if dataset.dtype.kind in "iu":  # one text: letters by number
                return np.array([self._letters(dataset)], dtype=object)
            cells = [self._letters(file[cell]) for cell in dataset[()].flat]
            return np.array(cells, dtype=object)

    def _letters(self, cell: Any) -> str:
        check_stored(cell, f"{self.path}: {cell.name!r}")
        if cell.dtype.kind not in "iu" or cell.size > limits().name_letters:
            raise ValueError(f"{self.path}: {cell.name!r} is no name.")
        return cell[()].astype("<u2").ravel().tobytes().decode("utf-16-le")
