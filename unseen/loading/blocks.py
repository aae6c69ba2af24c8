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
from typing import Any

import numpy as np

from unseen.loading.arrays import open_npy
from unseen.loading.parts import as_float

BLOCK_ELEMENTS = 2**23  # numbers of a block: 32 MB of float32
PART_BYTES = 2**22  # of a temporary file, before the next one takes its turn

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

    The next block may take the memory of the last: copy what you keep.
    """
    place = _place_in_file(X)
    starts = range(0, len(X), step)
    if place is None:
        yield from (np.asarray(X[start : start + step]) for start in starts)
        return
    path, offset = place
    buffer = np.empty((min(step, len(X)), X.shape[1]), dtype=X.dtype)
    with open(path, "rb", buffering=0) as file:
        for start in starts:
            block = buffer[: min(step, len(X) - start)]
            fill_at(file, block, offset + start * X.strides[0], path)
            yield block


def _place_in_file(X: Any) -> tuple[Path, int] | None:
    """Return where in which file the rows of a map are, one behind the other.

    None for anything else, and for a private map (mode 'c'): what was written to it is
    not in the file.
    """
    root = X
    while isinstance(root, np.memmap) and isinstance(root.base, np.memmap):
        root = root.base
    named = isinstance(getattr(root, "filename", None), str | os.PathLike)
    if not named or root.mode == "c" or X.ndim != 2 or not X.flags.c_contiguous:
        return None
    here, start = (a.__array_interface__["data"][0] for a in (X, root))
    return Path(root.filename), root.offset + here - start


def fill_at(file: Any, block: np.ndarray, start: int, file_name: Any) -> None:
    """Read as many bytes as the block takes, from ``start`` on.

    Several threads may ask at once. Windows has one place per file where it is read:
    there they take turns.
    """
    view = block.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        if hasattr(os, "preadv"):
            count = os.preadv(file.fileno(), [view[done:]], start + done)
        else:
            with _turn:
                file.seek(start + done)
                count = file.readinto(view[done:])
        if not count:
            raise ValueError(
                f"{file_name}: ended while it was read. Fetch or save the file again."
            )
        done += count


def write_at(file: Any, block: np.ndarray, start: int) -> None:
    """Write a block to a file's bytes from ``start`` on; several threads may ask."""
    view = block.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        if hasattr(os, "pwrite"):
            done += os.pwrite(file.fileno(), view[done:], start + done)
        else:
            with _turn:
                file.seek(start + done)
                done += file.write(view[done:])
