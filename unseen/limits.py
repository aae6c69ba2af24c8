"""How much a file may ask for before it is refused: all limits in one place.

Files come from anywhere. A few kilobytes can claim to hold terabytes, a line can
have no end, and a photo can take hours to open. Whatever reads a file asks
:func:`limits` first and refuses, in a sentence, what goes beyond.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any, NamedTuple


class Limits(NamedTuple):
    """Every limit and its value."""

    # Of a packed file: bytes in memory for each on disk, and what any file may take.
    # Real features pack to a third, tables full of zeros to a fiftieth.
    unpacked_ratio: int = 100
    unpacked_free: int = 256 << 20
    line_bytes: int = 64 << 20
    text_bytes: int = 64 << 20  # of a text that is read whole: names, JSON, plans
    columns: int = 20_000  # with one number each; lists in one column may be longer
    classes: int = 1_000_000
    name_letters: int = 1_000
    photo_bytes: int = 256 << 20
    # Pixels times channels: 3 if the photo is opaque, 4 if anything shines through or
    # a shade has more than 8 bits.
    photo_samples: int = 300_000_000
    photo_passes: int = 2_000_000_000  # pixels of a JPEG times the scans it is sent in


LIMITS = Limits()


def limits() -> Limits:
    """Return the limits that hold."""
    return LIMITS


def unpacked_allowance(packed: int) -> int:
    """Return how many bytes a packed file of some size may take in memory."""
    return max(LIMITS.unpacked_free, LIMITS.unpacked_ratio * packed)


def check_unpacked(size: int, packed: int, where: Any) -> None:
    """Refuse what would take far more memory than it takes on disk."""
    if size > unpacked_allowance(packed):
        raise ValueError(
            f"{where}: {packed} bytes would unpack to {size}. Is it damaged?"
        )


def read_small(path: Path) -> bytes:
    """Return what a file of names or settings holds, unless it is too large for one."""
    check_plain_file(path)
    size, most = path.stat().st_size, LIMITS.text_bytes
    if size > most:
        raise ValueError(
            f"{path} has {size} bytes, too many for a list of names or settings. "
            f"Give at most {most}."
        )
    return path.read_bytes()


def allow_long_cells() -> None:
    """Let a cell of a CSV file be as long as a line: it may hold a text."""
    csv.field_size_limit(max(csv.field_size_limit(), LIMITS.line_bytes))


def check_plain_file(path: str | os.PathLike[str]) -> None:
    """Refuse pipes and devices, which may never end, and folders.

    What is missing passes: whoever opens it will say so.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        kind = "folder" if path.is_dir() else "pipe or device"
        raise ValueError(f"{path} is a {kind}. Give a plain file.")
