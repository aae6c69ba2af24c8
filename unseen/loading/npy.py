"""NumPy's single arrays (.npy), opened as memory maps and checked to the byte."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from unseen.loading.parts import damaged_file

__all__ = ["is_npy", "open_npy"]

MAGIC = b"\x93NUMPY"


def is_npy(path: Path) -> bool:
    """Tell a .npy file by its first bytes."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def open_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """Open an array of numbers without reading it.

    Parameters
    ----------
    path : path

    Returns
    -------
    memmap
        Read-only. A file longer or shorter than its header says is refused, and so
        are Python objects: nothing is ever unpickled.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import open_npy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "features.npy"
    ...     np.save(path, np.eye(3))
    ...     X = open_npy(path)
    ...     type(X).__name__, X.shape
    ('memmap', (3, 3))
    """
    path = Path(path)
    with damaged_file(path):
        if not is_npy(path):
            raise ValueError(f"{path}: is no .npy file. Save the array by numpy.save.")
        dtype, _, size = npy_header(path)
        if dtype.hasobject or dtype.kind not in "fiubUS":
            raise ValueError(
                f"{path}: holds {dtype}, which is never unpickled. "
                "Save numbers, or text of fixed width."
            )
        found = path.stat().st_size
        if found != size:
            raise ValueError(
                f"{path}: has {found} bytes, but its header speaks of {size}. "
                "Fetch or save the file again."
            )
        return np.load(path, mmap_mode="r", allow_pickle=False)


def npy_header(path: Path) -> tuple[np.dtype, tuple[int, ...], int]:
    """Return (dtype, shape, size in bytes) as the header of a file says."""
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version not in read:
            raise ValueError(
                f"{path}: is .npy version {version}. Save numbers without field names."
            )
        shape, _, dtype = read[version](file, max_header_size=10_000)
        n = 1
        for length in shape:
            n *= int(length)
        return dtype, shape, file.tell() + n * dtype.itemsize
