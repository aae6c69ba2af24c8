"""MATLAB files: version 5 by mat5.py, version 7.3 (HDF5) by reader_process.py.

Both give arrays as MATLAB shows them, cells of text as arrays of ``str``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unseen._words import listed
from unseen.loading.hdf5 import is_hdf5
from unseen.loading.mat5 import Mat5File
from unseen.loading.parts import as_texts, damaged_file
from unseen.loading.reader_process import one_reader_process

__all__ = ["MatFile", "is_mat", "mat_keys"]


def is_mat(path: Path) -> bool:
    """Tell a MATLAB file of version 5 or 7.3 by its header."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        start = file.read(128)
    return start.startswith(b"MATLAB ") or (
        path.suffix.lower() == ".mat" and (is_hdf5(path) or start[126:] in ENDIANS)
    )


ENDIANS = (b"IM", b"MI")


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
        self.path = path
        self.in_hdf5 = is_hdf5(path)
        with damaged_file(path):
            if self.in_hdf5:
                with one_reader_process() as process:
                    names = [name for name in process.datasets(path) if "/" not in name]
                self.keys = [name for name in names if not name.startswith("#")]
            else:
                self._mat5 = Mat5File(path)
                self.keys = self._mat5.keys

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

    def rows(self, key: str, gaps: bool = False) -> np.ndarray:
        """Return a vector of whole numbers, counted from 1 in the file, from 0 here.

        With ``gaps``, NaN is no number and becomes -1.
        """
        values = self.numbers(key).ravel(order="F")
        if gaps and values.dtype.kind == "f" and np.isnan(values).any():
            if (values < 1).any():
                raise ValueError(
                    f"{self.path}: {key!r} holds {np.nanmin(values):g}. "
                    "Count classes from 1, NaN for unlabelled rows."
                )
            values = np.nan_to_num(values, nan=0.0)
        if not np.isfinite(values).all() or (values != np.floor(values)).any():
            raise ValueError(f"{self.path}: {key!r} holds more than whole numbers.")
        if np.abs(values.astype(np.float64)).max(initial=0) > 2**53:
            raise ValueError(f"{self.path}: {key!r} holds numbers beyond any row.")
        return values.astype(np.int64) - 1

    def texts(self, key: str) -> np.ndarray:
        """Return a cell array of text as one dimension of ``str``."""
        values = self._read(key, text=True)
        if values.dtype.kind == "U":  # a matrix of letters
            cells = [str(v).strip() for v in values.ravel(order="F")]
        else:
            cells = [self._text(v, key) for v in values.ravel(order="F")]
        return as_texts(cells, f"{self.path}: {key!r}")

    def _text(self, cell: Any, key: str) -> str:
        if not isinstance(cell, str):
            raise ValueError(f"{self.path}: {key!r} holds more than text.")
        return str(cell).strip()

    def _read(self, key: str, text: bool = False) -> np.ndarray:
        if key not in self.keys:
            raise ValueError(
                f"{self.path}: there is no variable {key!r} among {listed(self.keys)}."
            )
        with damaged_file(self.path, f"variable {key!r}"):
            if not self.in_hdf5:
                return self._mat5.read(key)
            with one_reader_process() as process:
                if text:
                    cells = process.cells(self.path, key)
                    return np.array(cells, dtype=object)
                if "shape" not in process.datasets(self.path)[key]:
                    raise ValueError(
                        f"{self.path}: {key!r} is a struct. Save a matrix."
                    )
                return process.numbers(self.path, key).T
