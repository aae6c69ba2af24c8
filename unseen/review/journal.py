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

from unseen.files import append, lock, named, sync

__all__ = ["DamagedJournalError", "Journal", "fault_of", "read_head", "read_journal"]

FIELDS = {  # of an answer, by its op
    "label": ("ids", "label"),
    "class": ("name",),
    "rename": ("old", "new"),
    "check": ("ids",),
    "teach": ("file",),
    "undo": ("of",),
}
UNDOABLE = ("label", "class", "rename", "teach")
NAME_LETTERS, WORD_LETTERS = 200, 64  # of the name of a class, of a tab or an answer
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

    ``head`` is the first line of a new one: what its answers are about. ``entries`` are
    all answers so far, numbered by ``seq`` from 1; ``torn`` tells whether a last line
    was set aside.
    """

    def __init__(self, path: Path, head: Entry) -> None:
        self.path = path
        with named(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a+b", buffering=0)
        try:
            lock(self._file, path)
            found = read_journal(path)
            self.entries, self.torn = found.entries, bool(found.torn)
            if self.torn:
                self._set_aside(found.torn)
            if found.head is None:
                self._write([head])
            os.fsync(self._file.fileno())
            sync(path.parent)
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
        append(self._file, "".join(texts).encode())

    def _set_aside(self, torn: bytes) -> None:
        with open(self.path.with_suffix(".torn"), "ab") as file:
            file.write(torn)
            file.flush()
            os.fsync(file.fileno())
        self._file.truncate(self._file.seek(0, os.SEEK_END) - len(torn))

    def close(self) -> None:
        """Let another program write."""
        self._file.close()


def read_journal(path: Path) -> Content:
    """Return what a journal holds; raise if a line before the last is no answer."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    head: Entry | None = None
    entries: list[Entry] = []
    for number, line in enumerate(lines, 1):
        found, fault = parse_line(line, entries, is_head=number == 1)
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
        head, fault = parse_line(file.readline(), [], is_head=True)
    return None if fault else head


def parse_line(line: bytes, before: list[Entry], is_head: bool) -> tuple[Entry, str]:
    """Return the object of a line, and what is wrong with it, "" for nothing."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}, "no JSON"
    if not isinstance(entry, dict) or not line.endswith(b"\n"):
        return {}, "not whole"
    if is_head:
        return entry, "" if isinstance(entry.get("table"), str) else "no table"
    if entry.get("seq") != len(before) + 1:
        return {}, f"it is number {len(before) + 1}, and says otherwise"
    return entry, fault_of(entry, before)


def fault_of(entry: Mapping[str, Any], before: Sequence[Entry]) -> str:
    """Say what is wrong with an answer that comes after others; "" if nothing is."""
    fields = FIELDS.get(str(entry.get("op")))
    if fields is None:
        return "op is none that is known"
    for name in ("uid", "tab"):
        if not is_text(entry.get(name, ""), WORD_LETTERS):
            return f"{name} is no text of at most {WORD_LETTERS} letters"
    faults = (field_fault(name, entry.get(name), before) for name in fields)
    return next(filter(None, faults), "")


def field_fault(name: str, value: Any, before: Sequence[Entry]) -> str:
    """Say what is wrong with a field of an answer; "" if nothing is."""
    if name == "ids":
        sound = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return "" if sound else "ids are no list of texts"
    if name == "file":
        sound = re.fullmatch(r"taught-[0-9]{1,9}\.csv", str(value)) is not None
        return "" if sound else "file is none that teaching writes"
    if name == "of":
        known = type(value) is int and 1 <= value <= len(before)
        sound = known and before[value - 1]["op"] in UNDOABLE
        return "" if sound else "there is nothing of that number to undo"
    if not is_text(value, NAME_LETTERS) or re.search("[\ud800-\udfff]", value):
        return f"{name} is no text of at most {NAME_LETTERS} letters"
    sound = value == " ".join(value.split()) and (value or name == "label")
    return "" if sound else f"{name} is empty, or has spaces around it"


def is_text(value: Any, most: int) -> bool:
    """Tell whether something is a text, and not too long."""
    return isinstance(value, str) and len(value) <= most
