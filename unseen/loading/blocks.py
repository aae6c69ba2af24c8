"""Rows in blocks, read and not mapped: pages of a map count as memory.

A memory map of 5 GB opens at once, but touching it makes its pages resident. Here
each block is read into the same piece of memory, so that a pass over any file costs
one block.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unseen.loading.npy import open_npy
from unseen.loading.parts import as_float

BLOCK_ELEMENTS = 2**23  # numbers of a block: 32 MB of float32

__all__ = ["iter_blocks", "read_blocks"]


def iter_blocks(
    X: np.ndarray | str | os.PathLike[str], rows: int | None = None
) -> Iterator[np.ndarray]:
    """Go through an array block by block.

    Parameters
    ----------
        X : path of a .npy file, memory map or array
            A map of whole rows is read from its file; anything else is sliced.
        rows : int, optional
            Rows at a time; by default blocks of about eight million numbers.

    Yields
    ------
    ndarray of shape (at most rows, n_features)
        float32 or float64. The next block may take its memory: copy what you keep.

    Examples
    --------
        >>> import numpy as np, tempfile
        >>> from pathlib import Path
        >>> from unseen.loading import iter_blocks
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "features.npy"
        ...     np.save(path, np.arange(10.0).reshape(5, 2))
        ...     [block.sum() for block in iter_blocks(path, rows=2)]
        [np.float64(6.0), np.float64(22.0), np.float64(17.0)]
    """
    if isinstance(X, str | os.PathLike):
        X = open_npy(X)
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}. Give two dimensions.")
    if rows is not None and rows < 1:
        raise ValueError(f"rows={rows} is no number of rows. Give at least 1.")
    step = rows or max(1, BLOCK_ELEMENTS // max(1, X.shape[1]))
    for block in read_blocks(X, step):
        yield as_float(block)


def read_blocks(X: Any, step: int) -> Iterator[np.ndarray]:
    """Yield ``step`` rows at a time, as they are stored.

    Parameters
    ----------
    X : array, memory map, or anything that gives arrays when it is sliced
    step : int

    Yields
    ------
    ndarray of shape (at most step, n_features)
        The next block may take its memory: copy what you keep.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.loading.blocks import read_blocks
    >>> [len(block) for block in read_blocks(np.ones((5, 2)), 3)]
    [3, 2]
    """
    place = _place_in_file(X)
    if place is None:
        for start in range(0, len(X), step):
            yield np.asarray(X[start : start + step])
        return
    file_name, offset = place
    buffer = np.empty((min(step, len(X)), X.shape[1]), dtype=X.dtype)
    with open(file_name, "rb", buffering=0) as file:
        file.seek(offset)
        for start in range(0, len(X), step):
            block = buffer[: min(step, len(X) - start)]
            fill(file, block, file_name)
            yield block


def _place_in_file(X: Any) -> tuple[Path, int] | None:
    """Return (file, offset) of an array that is whole rows of a mapped file."""
    root = X
    while isinstance(root, np.memmap) and isinstance(root.base, np.memmap):
        root = root.base
    if not isinstance(root, np.memmap) or not X.flags.c_contiguous or not X.size:
        return None
    if not isinstance(root.filename, str | os.PathLike):
        return None
    here, start = (a.__array_interface__["data"][0] for a in (X, root))
    return Path(root.filename), root.offset + here - start


def fill_apart(file: Any, rows: np.ndarray, step: int, file_name: Any) -> None:
    """Read every ``step``-th row of a file that holds nothing but rows."""
    for i, row in enumerate(rows):
        file.seek(i * step * row.nbytes)
        fill(file, row, file_name)


def fill(file: Any, block: np.ndarray, file_name: Any) -> None:
    """Read as many bytes as the block takes, from where the file stands.

    Examples
    --------
    >>> import io, numpy as np
    >>> from unseen.loading.blocks import fill
    >>> block = np.empty(2, dtype="<u2")
    >>> fill(io.BytesIO(bytes([1, 0, 2, 0])), block, "numbers")
    >>> block.tolist()
    [1, 2]
    """
    view = block.reshape(-1).view(np.uint8)
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])
        if not count:
            raise ValueError(
                f"{file_name}: ended while it was read. Fetch or save the file again."
            )
        done += count
