"""Rows in blocks, read and not mapped: pages of a map count as memory.

A memory map of 5 GB opens at once, but touching it makes its pages resident, and if
the file is cut meanwhile, it kills the process. Here each block is read into the same
piece of memory, so that a pass over any file costs one block.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen._threads import each, strips
from unseen.loading.arrays import open_npy
from unseen.loading.parts import as_float

BLOCK_ELEMENTS = 2**23  # numbers of a block: 32 MB of float32
PART_BYTES = 2**22  # of a block that one thread reads at a time

_turn = threading.Lock()

__all__ = ["iter_blocks", "read_blocks"]


def iter_blocks(
    X: np.ndarray | str | os.PathLike[str], rows: int | None = None
) -> Iterator[np.ndarray]:
    """Go through an array block by block.

    Parameters
    ----------
    X : path of a .npy file, memory map or array
        A map is read from its file; an array is sliced.
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
    starts = range(0, len(X), step)
    if place is None:
        yield from (np.asarray(X[start : start + step]) for start in starts)
        return
    buffer = np.empty((min(step, len(X)), X.shape[1]), dtype=X.dtype)
    with open(place.path, "rb", buffering=0) as file:
        for start in starts:
            block = buffer[: min(step, len(X) - start)]
            _read_rows(file, place, start, block)
            yield block


# ---- arrays in files -----------------------------------------------------------------


class Place(NamedTuple):
    """Where in a file the numbers of an array are."""

    path: Path
    offset: int
    strides: tuple[int, int]


def _place_in_file(X: Any) -> Place | None:
    """Return where a mapped array is in its file; None if it is not, or backwards."""
    root = _root_map(X)
    if root is None or not X.size or X.ndim != 2 or min(X.strides) <= 0:
        return None
    here, start = (a.__array_interface__["data"][0] for a in (X, root))
    return Place(Path(root.filename), root.offset + here - start, X.strides)


def _root_map(X: Any) -> Any:
    """Return the map of a file that an array is part of, if all its writes are there.

    What was written to a private map (mode 'c') is not in the file.
    """
    root = X
    while isinstance(root, np.memmap) and isinstance(root.base, np.memmap):
        root = root.base
    named = isinstance(getattr(root, "filename", None), str | os.PathLike)
    return root if isinstance(root, np.memmap) and named and root.mode != "c" else None


def _read_rows(file: Any, place: Place, start: int, block: np.ndarray) -> None:
    """Read rows from ``start`` on into a block, whatever the order of the numbers."""
    (n, p), (down, right), size = block.shape, place.strides, block.itemsize
    begin = place.offset + start * down
    if (down, right) == (p * size, size):
        fill_at(file, block, begin, place.path)
        return
    # The bytes from the first number to the last: of all rows, or column by column.
    width = p if down >= right else 1
    span = np.empty((n - 1) * down + (width - 1) * right + size, dtype=np.uint8)
    numbers = np.ndarray((n, width), block.dtype, span, strides=(down, right))
    for column in range(0, p, width):
        file.seek(begin + column * right)
        fill(file, span, place.path)
        block[:, column : column + width] = numbers


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
        done += read_some(file.readinto(view[done:]), file_name)


def read_some(count: int | None, file_name: Any) -> int:
    """Return how many bytes were read, or say that there are no more."""
    if not count:
        raise ValueError(
            f"{file_name}: ended while it was read. Fetch or save the file again."
        )
    return count


def fill_at(file: Any, block: np.ndarray, start: int, file_name: Any) -> None:
    """Read as many bytes as the block takes, from ``start`` on.

    Several threads may ask at once, and share the bytes of a large block. Windows has
    one place per file where it is read: there they take turns.
    """
    view = block.reshape(-1).view(np.uint8).data

    def read(here: slice) -> None:
        done = here.start
        while done < here.stop:
            count = os.preadv(file.fileno(), [view[done : here.stop]], start + done)
            done += read_some(count, file_name)

    if hasattr(os, "preadv"):
        each(read, strips(len(view), 1, PART_BYTES))
        return
    with _turn:
        file.seek(start)
        fill(file, block, file_name)


def write_at(file: Any, block: np.ndarray, start: int) -> None:
    """Write a block to a file's bytes from ``start`` on; several threads may ask."""
    view = block.reshape(-1).view(np.uint8).data
    if hasattr(os, "pwrite"):
        done = 0
        while done < len(view):
            done += os.pwrite(file.fileno(), view[done:], start + done)
        return
    with _turn:
        file.seek(start)
        while len(view):
            view = view[file.write(view) or 0 :]
