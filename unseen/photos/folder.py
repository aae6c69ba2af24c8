"""Find the photos of a folder, and say what the other files are.

Folders are walked in the order of their names. A link to a folder is followed after
all real ones, and only if it leads somewhere that was not looked through yet, so
loops end and nothing is found twice.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from pathlib import Path
from typing import NamedTuple

from unseen.files import MARK
from unseen.photos.photo import LONGEST_START, TooLargeError, open_photo, why_unread

__all__ = ["Found", "Skipped", "find_photos"]


class Skipped(NamedTuple):
    """A file that got no label, and why; ``path`` is relative to the folder."""

    path: str
    reason: str


class Found(NamedTuple):
    """The files of a folder, by relative path, and what could not be looked into."""

    folder: Path
    paths: list[str]
    skipped: list[Skipped]


def find_photos(folder: str | os.PathLike[str]) -> Found:
    """List all files below a folder, in the order of their paths.

    Parameters
    ----------
    folder : path
        Or one photo, which is then the only one of its folder.

    Returns
    -------
    Found
        ``(folder, paths, skipped)``. Paths are relative, with ``/`` between parts.
        Whether a file is a photo is found out when it is read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.photos.folder import find_photos
    >>> with tempfile.TemporaryDirectory() as name:
    ...     (Path(name) / "zoo").mkdir()
    ...     for file in ("zoo/b.jpg", "zoo/a.png", "c.gif"):
    ...         (Path(name) / file).touch()
    ...     find_photos(name).paths
    ['c.gif', 'zoo/a.png', 'zoo/b.jpg']
    """
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"{folder}: there is no such folder.")
    if folder.is_file():  # one photo
        return Found(folder.parent, [folder.name], [])
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder}: is neither a folder nor a photo.")
    paths: list[str] = []
    skipped: list[Skipped] = []
    walked: set[str] = set()
    links: deque[str] = deque()
    to_walk = deque([""])
    while to_walk or links:
        below = to_walk.popleft() if to_walk else links.popleft()
        real = os.path.realpath(folder / below)
        if real in walked:
            skipped.append(Skipped(below, "a link to a folder that is walked already"))
            continue
        walked.add(real)
        try:
            entries = sorted(os.scandir(folder / below), key=lambda entry: entry.name)
        except OSError as error:
            skipped.append(Skipped(below or ".", f"cannot be read: {error.strerror}"))
            continue
        if any(entry.name == MARK for entry in entries):
            skipped.append(Skipped(below or ".", "made by unseen: no photos of yours"))
            continue
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            kind = _kind(entry)
            if kind == "folder":
                (links if entry.is_symlink() else to_walk).append(path)
            elif kind == "file":
                paths.append(path)
            else:
                skipped.append(Skipped(path, kind))
    return Found(folder, sorted(paths), sorted(skipped))


def _kind(entry: os.DirEntry[str]) -> str:
    """Return "folder", "file", or why it is neither."""
    if entry.name.startswith("."):
        return "hidden: its name starts with a dot"
    try:
        if entry.is_dir():
            return "folder"
        if entry.is_file():
            return "file"
    except OSError as error:  # such as a link to itself
        return f"cannot be read: {error.strerror}"
    if not os.path.exists(entry):
        return "a link that leads nowhere"
    return "not a file (a pipe, socket or device)"


def look_at(path: Path) -> tuple[bytes, str]:
    """Return the SHA-256 of a picture's file and "", or b"" and why it is none."""
    try:
        with open_photo(path) as file:
            start = file.read(LONGEST_START)
            if not start:
                return b"", "empty"
            if reason := why_unread(start):
                return b"", reason
            file.seek(0)
            return hashlib.file_digest(file, "sha256").digest(), ""
    except TooLargeError as error:
        return b"", str(error)
    except OSError as error:
        return b"", f"cannot be read: {error.strerror}"
