"""The answers on the disk: appended and synced before anyone is told they are saved.

    {"table": "3f0a…", "kind": "photo", "classes": [...], …}         the first line
    {"seq": 7, "op": "label", "ids": ["a.jpg"], "label": "cat", …}   one per answer

The first line says which table the answers were given for. Every line is checked when
it is read. A last line that is not whole, or no answer, is set aside in
``answers.torn``; any other stops the command, which names it.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unseen.files import append, lock, named, sync

FIELDS = {  # of an answer, by its op
    "label": ("ids", "label"),
    "class": ("name",),
    "rename": ("old", "new"),
    "check": ("ids", "among", "wanted"),
    "teach": ("file",),
    "undo": ("of",),
}
UNDOABLE = ("label", "class", "rename", "teach")
Entry = dict[str, Any]


class Journal:
    """Answers that outlive the program, written by one program at a time.

    ``head`` is the first line of a new one; ``entries`` are all answers so far, with
    their numbers ``seq`` from 1; ``torn`` is a last line that was set aside.
    """

    def __init__(self, path: Path, head: Entry) -> None:
        with named(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a+b", buffering=0)
        try:
            lock(self._file, path)
            known, self.entries, self.torn = read_journal(path)
            if self.torn:
                with open(path.with_suffix(".torn"), "ab", buffering=0) as aside:
                    append(aside, self.torn)
                self._file.truncate(path.stat().st_size - len(self.torn))
            self._write([head] if known is None else [])
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

    def close(self) -> None:
        """Let another program write."""
        self._file.close()


def read_journal(path: Path) -> tuple[Entry | None, list[Entry], bytes]:
    """Return the first line of a journal, its answers, and a last line that is torn."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    head: Entry | None = None
    entries: list[Entry] = []
    for number, line in enumerate(lines, 1):
        try:
            if head is None:
                head = parse_line(line, None)
            else:
                entries.append(parse_line(line, entries))
        except (ValueError, RecursionError) as fault:
            if number == len(lines):
                return head, entries, line
            raise ValueError(
                f"{path}: line {number} is not an answer ({fault}). Mend it, or move "
                f"{path.parent.name} away to start anew."
            ) from None
    return head, entries, b""


def read_head(path: Path) -> Entry | None:
    """Return the first line of a journal; None if there is none, or none that is."""
    try:
        with open(path, "rb") as file:
            return parse_line(file.readline(), None)
    except (FileNotFoundError, ValueError, RecursionError):
        return None


def parse_line(line: bytes, before: Sequence[Entry] | None) -> Entry:
    """Return the answer of a line that comes after others; None before: the head."""
    entry = json.loads(line)
    if not isinstance(entry, dict) or not line.endswith(b"\n"):
        fault = "not whole"
    elif before is None:
        fault = "" if isinstance(entry.get("table"), str) else "no table"
    elif entry.get("seq") != len(before) + 1:
        fault = f"it is number {len(before) + 1}, and says otherwise"
    else:
        fault = fault_of(entry, before)
    if fault:
        raise ValueError(fault)
    return entry


def fault_of(entry: Mapping[str, Any], before: Sequence[Entry]) -> str:
    """Say what is wrong with an answer that comes after others; "" if nothing is."""
    fields = FIELDS.get(str(entry.get("op")))
    if fields is None:
        return "op is none that is known"
    for name in (*fields, *entry):
        sound, wanted = SOUND.get(name, (None, ""))
        if sound is not None and not sound(entry.get(name)):
            return f"{name} is no {wanted}"
    number = entry.get("of", 0)
    undone = before[number - 1 : number]
    if number and not (undone and undone[0]["op"] in UNDOABLE):
        return "of is no number of an answer that can be undone"
    return ""


def is_name(value: Any) -> bool:
    """Tell whether something can be the name of a class."""
    if not isinstance(value, str) or re.search("[\ud800-\udfff]", value):
        return False
    return 0 < len(value) <= 200 and value == " ".join(value.split())


def is_word(value: Any) -> bool:
    """Tell whether something can name a tab of the browser, or an answer."""
    return isinstance(value, str) and len(value) <= 64


def is_number(value: Any, least: int = 1, most: int = 10**9) -> bool:
    """Tell whether something is a whole number in a range."""
    return type(value) is int and least <= value <= most


def are_ids(value: Any) -> bool:
    """Tell whether something is a list of ids."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


NAME = "name of at most 200 letters, without spaces around it"
SOUND: dict[str, tuple[Callable[[Any], bool], str]] = {  # what a field has to be
    **dict.fromkeys(("name", "old", "new"), (is_name, NAME)),
    **dict.fromkeys(("uid", "tab"), (is_word, "text of at most 64 letters")),
    **dict.fromkeys(("among", "of"), (is_number, "whole number from 1 on")),
    "label": (lambda value: value == "" or is_name(value), NAME),
    "ids": (are_ids, "list of texts"),
    "wanted": (lambda value: is_number(value, 50, 99), "whole number from 50 to 99"),
    "file": (
        lambda value: bool(re.fullmatch(r"taught-[0-9]{1,9}\.csv", str(value))),
        "file that teaching writes",
    ),
}
