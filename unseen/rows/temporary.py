"""Bytes on disk for as long as they are needed, written by several threads at once.

A file lets one thread write at a time, and on a machine that has to find memory for
what is written this takes longer than the work that makes it. So bytes are dealt out to
several files, a part at a time, which is nobody else's business.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from typing import IO

import numpy as np

from unseen.loading.blocks import PART_BYTES, fill_at, write_at

FILES = 8  # more threads than that wait for each other


class TemporaryBytes:
    """Temporary files that are closed, and so removed, with their last user.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.temporary import TemporaryBytes
    >>> bytes_on_disk, back = TemporaryBytes(), np.empty(2)
    >>> bytes_on_disk.write(np.array([1.0, 2.0, 3.0]), 0)
    >>> bytes_on_disk.read(back, 8)
    >>> back
    array([2., 3.])
    """

    def __init__(self) -> None:
        self._files = [tempfile.TemporaryFile(buffering=0) for _ in range(FILES)]
        for file in self._files:
            weakref.finalize(self, file.close)

    def read(self, rows: np.ndarray, start: int) -> None:
        """Fill rows with the bytes from ``start`` on; several threads may ask."""
        for file, place, part in self._parts(rows, start):
            fill_at(file, part, place, "the temporary file")

    def write(self, rows: np.ndarray, start: int) -> None:
        """Write rows to the bytes from ``start`` on; several threads may ask."""
        for file, place, part in self._parts(rows, start):
            write_at(file, part, place)

    def _parts(
        self, rows: np.ndarray, start: int
    ) -> Iterator[tuple[IO[bytes], int, np.ndarray]]:
        """Yield the file of each part of these bytes, its place there, and the part."""
        view = rows.reshape(-1).view(np.uint8)
        done = 0
        while done < len(view):
            number, inside = divmod(start + done, PART_BYTES)
            part = view[done : done + PART_BYTES - inside]
            round_, which = divmod(number, FILES)
            yield self._files[which], round_ * PART_BYTES + inside, part
            done += len(part)


def no_space(needed: float) -> OSError:
    """Return the error for a temporary folder that is too small."""
    folder = tempfile.gettempdir()
    return OSError(
        f"{folder} has no room for the pile on the model's axes ({needed / 1e9:.1f} GB "
        "so far). Set the environment variable TMPDIR to a folder on a larger disk."
    )
