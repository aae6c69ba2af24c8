"""NumPy's single arrays (.npy), opened as memory maps and checked to the byte."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

import numpy as np

from unseen.loading.parts import damaged_file

__all__ = ["is_npy", "open_npy"]

MAGIC = b"\x93NUMPY"
MOST_HEADER = 10_000  # bytes


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
    with open(path, "rb") as file:
        return read_npy_header(file)


def read_npy_header(file: IO[bytes]) -> tuple[np.dtype, tuple[int, ...], int]:
    """Return (dtype, shape, size in bytes) from the start of a stream.

    Examples
    --------
    >>> import io, numpy as np
    >>> from unseen.loading.npy import read_npy_header
    >>> file = io.BytesIO()
    >>> np.save(file, np.eye(3))
    >>> _ = file.seek(0)
    >>> read_npy_header(file)[1:]
    ((3, 3), 200)
    """
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    version = np.lib.format.read_magic(file)
    if version not in read:
        raise ValueError(
            f"it is .npy version {version}; save numbers without field names"
        )
    shape, _, dtype = read[version](file, max_header_size=MOST_HEADER)
    n = 1
    for length in shape:
        if length < 0:
            raise ValueError(f"its shape is {shape}")
        n *= int(length)
    return dtype, shape, file.tell() + n * dtype.itemsize
