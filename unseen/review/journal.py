"""The answers on the disk: appended and synced before anyone is told they are saved.

    {"sum": "3f0a…", "entry": {"seq": 7, "op": "label", …}}        one line each

``sum`` is the start of the SHA-256 of the line before and the entry, so that a lost or
changed line is noticed. A last line without its end was never confirmed: it is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from unseen.files import named, sync_folder

__all__ = ["DamagedJournalError", "Journal", "read_journal"]

SUM = 16  # hexadecimal digits
Entry = dict[str, Any]


class DamagedJournalError(ValueError):
    """A line of the journal is not what was written."""


class Journal:
    """Answers that outlive the program, one JSON object per line.

    One program at a time writes a journal; a second is refused.

    Parameters
    ----------
    path : path
        Made if it is absent.

    Attributes
    ----------
    entries : list of dict
        All entries so far; ``seq`` counts them from 1.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.review.journal import Journal, read_journal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.jsonl"
    ...     with Journal(path) as journal:
    ...         _ = journal.append([{"op": "label", "ids": ["a.jpg"], "label": "cat"}])
    ...     read_journal(path)
    [{'seq': 1, 'op': 'label', 'ids': ['a.jpg'], 'label': 'cat'}]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with named(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path, "a+b", buffering=0)
        try:
            lock(self._file, self.path)
            self._file.seek(0)
            content = self._file.read()
            self.entries, self._sum, whole = parse(content, self.path)
            if whole < len(content):
                self._file.truncate(whole)
            os.fsync(self._file.fileno())
            sync_folder(self.path.parent)
        except BaseException:
            self._file.close()
            raise

    def append(self, entries: Sequence[Entry]) -> list[Entry]:
        """Write entries, wait until the disk has them, and return them numbered."""
        numbered: list[Entry] = []
        lines, last = b"", self._sum
        for entry in entries:
            number = len(self.entries) + len(numbered) + 1
            numbered.append({"seq": number, **entry})
            last = checksum(last, numbered[-1])
            line = {"sum": last, "entry": numbered[-1]}
            lines += json.dumps(line, separators=(",", ":")).encode() + b"\n"
        end = self._file.seek(0, os.SEEK_END)
        try:
            write_all(self._file, lines)
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(end)  # half a line would hide what comes after it
            raise
        self.entries += numbered
        self._sum = last
        return numbered

    def close(self) -> None:
        """Let another program write."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read_journal(path: str | os.PathLike[str]) -> list[Entry]:
    """Return the entries of a journal; none if there is no such file."""
    path = Path(path)
    if not path.exists():
        return []
    return parse(path.read_bytes(), path)[0]


def parse(content: bytes, path: Path) -> tuple[list[Entry], str, int]:
    """Return the entries, the last sum, and how many bytes are whole lines."""
    entries: list[Entry] = []
    last, whole = "", 0
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):  # the last has no end
        entry = parse_line(line, last)
        if entry is None or entry.get("seq") != number:
            if number == len(lines) - 1 and lines[-1] == b"":
                break  # torn in the middle by a crash of the whole machine
            raise DamagedJournalError(
                f"{path}: line {number} is not what was written. Put back a copy of "
                "the file, or move it away to start anew."
            )
        last = checksum(last, entry)
        entries.append(entry)
        whole += len(line) + 1
    return entries, last, whole


def parse_line(line: bytes, last: str) -> Entry | None:
    """Return the entry of a line, None if its sum is wrong or it is no entry."""
    try:
        found = json.loads(line)
        entry, stated = found["entry"], found["sum"]
    except (ValueError, KeyError, TypeError):
        return None
    sound = isinstance(entry, dict) and checksum(last, entry) == stated
    return entry if sound else None


def checksum(last: str, entry: Entry) -> str:
    """Return the sum of an entry that comes after another."""
    text = json.dumps(entry, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(f"{last}{text}".encode()).hexdigest()[:SUM]


def write_all(file: Any, data: bytes) -> None:
    """Write all bytes, however many the system takes at a time."""
    while data:
        data = data[file.write(data) :]


def lock(file: BinaryIO | Any, path: Path) -> None:
    """Keep other programs from writing this file until it is closed."""
    try:
        if os.name == "nt":
            import msvcrt

            file.seek(2**40)  # beyond the end: locked bytes cannot be read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileExistsError(
            f"{path}: another unseen review writes it. Use its page, or end it first."
        ) from None
