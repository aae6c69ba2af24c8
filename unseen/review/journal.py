"""The answers on the disk: appended and synced before anyone is told they are saved.

    {"table": "3f0a…", "kind": "photo", "classes": [...], …}         the first line
    {"seq": 7, "op": "label", "ids": ["a.jpg"], "label": "cat", …}   one per answer

The first line says which table the answers were given for. Every line is checked when
it is read. A last line that is not whole, or no answer, is set aside in
``answers.torn``; any other stops the command, which names it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unseen.files import named, sync_folder

__all__ = ["DamagedJournalError", "Journal", "fault_of", "read_head", "read_journal"]

NAME_LETTERS, WORD_LETTERS = 200, 64  # of the name of a class, of a tab or an answer
UNDOABLE = ("label", "clear", "class", "rename", "teach")
Entry = dict[str, Any]


class DamagedJournalError(ValueError):
    """A line of the journal is no answer."""


class Content(NamedTuple):
    """What a journal holds: its first line, its answers, a last line that is torn."""

    head: Entry | None
    entries: list[Entry]
    torn: bytes


class Journal:
    """Answers that outlive the program, one JSON object per line.

    One program at a time writes a journal; a second is refused.

    Parameters
    ----------
    path : path
        Made if it is absent.
    head : dict
        The first line of a new journal: what its answers are about.

    Attributes
    ----------
    entries : list of dict
        All answers so far; ``seq`` counts them from 1.
    torn : bool
        Whether a last line was set aside.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.review.journal import Journal, read_journal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.jsonl"
    ...     with Journal(path, {"table": "3f0a"}) as journal:
    ...         _ = journal.append([{"op": "label", "ids": ["a.jpg"], "label": "cat"}])
    ...     read_journal(path).entries
    [{'seq': 1, 'op': 'label', 'ids': ['a.jpg'], 'label': 'cat'}]
    """

    def __init__(self, path: str | os.PathLike[str], head: Entry) -> None:
        self.path = Path(path)
        with named(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path, "a+b", buffering=0)
        try:
            lock(self._file, self.path)
            found = read_journal(self.path)
            self.entries, self.torn = found.entries, bool(found.torn)
            if self.torn:
                self._set_aside(found.torn)
            if found.head is None:
                self._write([head])
            os.fsync(self._file.fileno())
            sync_folder(self.path.parent)
        except BaseException:
            self._file.close()
            raise

    def append(self, entries: Sequence[Entry]) -> list[Entry]:
        """Write answers, wait until the disk has them, and return them numbered."""
        first = len(self.entries) + 1
        numbered = [{"seq": first + i, **entry} for i, entry in enumerate(entries)]
        self._write(numbered)
        self.entries += numbered
        return numbered

    def _write(self, lines: Sequence[Entry]) -> None:
        texts = [json.dumps(line, separators=(",", ":")) + "\n" for line in lines]
        data, end = "".join(texts).encode(), self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(end)  # half a line would hide what comes after it
            raise

    def _set_aside(self, torn: bytes) -> None:
        with open(self.path.with_suffix(".torn"), "ab") as file:
            file.write(torn)
            file.flush()
            os.fsync(file.fileno())
        self._file.truncate(self._file.seek(0, os.SEEK_END) - len(torn))

    def close(self) -> None:
        """Let another program write."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read_journal(path: str | os.PathLike[str]) -> Content:
    """Return what a journal holds; raise if a line before the last is no answer."""
    path = Path(path)
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    head: Entry | None = None
    entries: list[Entry] = []
    for number, line in enumerate(lines, 1):
        found, fault = parse_line(line, entries, first=number == 1)
        if fault and number == len(lines):
            return Content(head, entries, line)
        if fault:
            raise DamagedJournalError(
                f"{path}: line {number} is no answer ({fault}). Mend it, or move "
                f"{path.parent.name} away to start anew."
            )
        if number == 1:
            head = found
        else:
            entries.append(found)
    return Content(head, entries, b"")


def read_head(path: Path) -> Entry | None:
    """Return the first line of a journal; None if there is none, or none that is."""
    if not path.exists():
        return None
    with open(path, "rb") as file:
        head, fault = parse_line(file.readline(), [], first=True)
    return None if fault else head


def parse_line(line: bytes, before: list[Entry], first: bool) -> tuple[Entry, str]:
    """Return the object of a line, and what is wrong with it, "" for nothing."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}, "no JSON"
    if not isinstance(entry, dict) or not line.endswith(b"\n"):
        return {}, "not whole"
    if first:
        return entry, "" if is_text(entry.get("table"), WORD_LETTERS) else "no table"
    if entry.get("seq") != len(before) + 1:
        return {}, f"it is number {len(before) + 1}, and says otherwise"
    return entry, fault_of(entry, before)


def fault_of(entry: Mapping[str, Any], before: Sequence[Entry]) -> str:
    """Say what is wrong with an answer; "" if nothing is.

    Examples
    --------
    >>> from unseen.review.journal import fault_of
    >>> fault_of({"op": "teach", "file": "/home/me/secret.csv"}, [])
    'file is none that teaching writes'
    """
    for word in ("uid", "tab"):
        if not is_text(entry.get(word, ""), WORD_LETTERS):
            return f"{word} is no text of at most {WORD_LETTERS} letters"
    match entry.get("op"):
        case "label":
            return ids_fault(entry) or name_fault(entry, "label", empty=True)
        case "clear" | "check":
            return ids_fault(entry)
        case "class":
            return name_fault(entry, "name")
        case "rename":
            return name_fault(entry, "old") or name_fault(entry, "new")
        case "teach":
            own = re.fullmatch(r"taught-[0-9]{1,9}\.csv", str(entry.get("file")))
            return "" if own else "file is none that teaching writes"
        case "undo":
            of: Any = entry.get("of")
            known = type(of) is int and 1 <= of <= len(before)
            good = known and before[of - 1]["op"] in UNDOABLE
            return "" if good else "there is nothing of that number to undo"
    return "op is none that is known"


def ids_fault(entry: Mapping[str, Any]) -> str:
    """Say what is wrong with the ids of an answer."""
    ids = entry.get("ids")
    good = isinstance(ids, list) and all(isinstance(one, str) for one in ids)
    return "" if good else "ids are no list of texts"


def name_fault(entry: Mapping[str, Any], field: str, empty: bool = False) -> str:
    """Say what is wrong with the name of a class."""
    name: Any = entry.get(field)
    if not is_text(name, NAME_LETTERS) or any("\ud800" <= c <= "\udfff" for c in name):
        return f"{field} is no text of at most {NAME_LETTERS} letters"
    if name != " ".join(name.split()) or not (name or empty):
        return f"{field} is empty, or has spaces around it"
    return ""


def is_text(value: Any, most: int) -> bool:
    """Tell whether something is a text, and not too long."""
    return isinstance(value, str) and len(value) <= most


def lock(file: Any, path: Path) -> None:
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
