"""How much a file may ask for before it is refused: all limits in one place.

Files come from anywhere. A few kilobytes can claim to hold terabytes, a line can
have no end, and a photo can take hours to open. Whatever reads a file asks
:func:`limits` first and refuses, in a sentence, what goes beyond.

:func:`raised` sets some for a piece of code.
"""

from __future__ import annotations

import csv
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

__all__ = [
    "Limits",
    "check_plain_file",
    "check_unpacked",
    "limits",
    "raised",
    "unpacked_allowance",
]

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Every limit and its default.

    Parameters
    ----------
    unpacked_ratio : int
        How many times its size on disk a packed file may take in memory. Real features
        pack to a third, tables full of zeros to a fiftieth.
    unpacked_free : int
        Bytes that any packed file may take in memory, however small it is.
    packed_text_ratio : int
        How many times its size on disk a packed text file may be long, beyond its
        first 4 MiB. Numbers as text pack to a third; lines take time, each of them.
    line_bytes : int
        Bytes in one line of a text file.
    text_bytes : int
        Bytes of a text file that is read whole: lists of names, JSON, plans.
    columns : int
        Columns of a table with one number each. Lists in one column may be longer.
    classes : int
        Rows of a class table.
    name_letters : int
        Letters in the name of a class.
    arrays : int
        Arrays, variables or tables in one file.
    photo_bytes : int
        Bytes in the file of one photo.
    photo_samples : int
        Pixels of a photo times its channels: 3 if it is opaque, 4 if anything shines
        through or a shade has more than 8 bits.
    photo_passes : int
        Pixels of a JPEG times the scans it is sent in; this bounds the time it takes.
    photo_seconds : float
        How long the process that decodes a photo may work on it.

    Examples
    --------
    >>> from unseen.limits import Limits
    >>> Limits().columns
    20000
    """

    unpacked_ratio: int = 100
    unpacked_free: int = 256 * MIB
    packed_text_ratio: int = 20
    line_bytes: int = 64 * MIB
    text_bytes: int = 64 * MIB
    columns: int = 20_000
    classes: int = 1_000_000
    name_letters: int = 1_000
    arrays: int = 10_000
    photo_bytes: int = 256 * MIB
    photo_samples: int = 300_000_000
    photo_passes: int = 2_000_000_000
    photo_seconds: float = 30.0


_raised: ContextVar[dict[str, Any]] = ContextVar("raised")


def limits() -> Limits:
    """Return the limits that hold here: defaults, or as :func:`raised` says.

    Returns
    -------
    Limits

    Examples
    --------
    >>> from unseen.limits import limits
    >>> limits().name_letters
    1000
    """
    return replace(Limits(), **_raised.get({}))


@contextmanager
def raised(**changed: float) -> Iterator[Limits]:
    """Set some limits for the code inside.

    Parameters
    ----------
    **changed : float
        Limits by name, see :class:`Limits`.

    Yields
    ------
    Limits
        Those that hold inside.

    Examples
    --------
    >>> from unseen.limits import limits, raised
    >>> with raised(columns=500_000):
    ...     limits().columns
    500000
    >>> limits().columns
    20000
    """
    token = _raised.set({**_raised.get({}), **changed})
    try:
        yield limits()
    finally:
        _raised.reset(token)


def unpacked_allowance(packed: int) -> int:
    """Return how many bytes a packed file of some size may take in memory.

    Examples
    --------
    >>> from unseen.limits import unpacked_allowance
    >>> unpacked_allowance(1000) == 256 * 2**20
    True
    >>> unpacked_allowance(10**8) == 10**10
    True
    """
    now = limits()
    return max(now.unpacked_free, now.unpacked_ratio * packed)


def check_unpacked(size: int, packed: int, where: Any) -> None:
    """Refuse what would take far more memory than it takes on disk.

    Examples
    --------
    >>> from unseen.limits import check_unpacked
    >>> check_unpacked(10**12, 1000, "zoo.npz")
    Traceback (most recent call last):
    ...
    ValueError: zoo.npz: 1000 bytes would unpack to 1000000000000. Is it damaged?
    """
    if size > unpacked_allowance(packed):
        raise ValueError(
            f"{where}: {packed} bytes would unpack to {size}. Is it damaged?"
        )


def allow_long_cells() -> None:
    """Let the cells of a CSV file be as long as a line may be: a cell may hold a text.

    Examples
    --------
    >>> import csv
    >>> from unseen.limits import allow_long_cells, limits
    >>> allow_long_cells()
    >>> csv.field_size_limit() >= limits().line_bytes
    True
    """
    csv.field_size_limit(max(csv.field_size_limit(), limits().line_bytes))


def check_plain_file(path: str | os.PathLike[str], folders: bool = False) -> None:
    """Refuse pipes, sockets and devices, which may never end.

    Parameters
    ----------
    path : path
        What is there may be missing: whoever opens it will say so.
    folders : bool, default=False
        Whether a folder is fine too.

    Examples
    --------
    >>> import os
    >>> from unseen.limits import check_plain_file
    >>> check_plain_file(os.devnull)
    Traceback (most recent call last):
    ...
    ValueError: ...: is a device. Give a plain file.
    """
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if stat.S_ISREG(mode) or (folders and stat.S_ISDIR(mode)):
        return
    kinds = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFDIR: "folder"}
    kind = kinds.get(stat.S_IFMT(mode), "device")
    wanted = "file or folder" if folders else "file"
    raise ValueError(f"{path}: is a {kind}. Give a plain {wanted}.")
