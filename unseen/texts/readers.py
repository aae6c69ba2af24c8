"""Files of texts: one function per kind, each yielding (id, text) one by one.

    tickets.csv      a column of a table, separated by commas, semicolons or tabs
    tickets.jsonl    a field of an object per line, or a string per line
    tickets.txt      a text per line
    tickets.parquet  a column
    notes/           a folder of .txt and .md files, a text each

Without a column of ids, an id is the number of the row from 0; in a folder it is the
path. A text that is missing (an empty cell, null) is an empty text, and keeps its row.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from unseen._encodings import open_text
from unseen._words import shown
from unseen.limits import allow_long_cells, limits
from unseen.loading.parquet import open_parquet
from unseen.naming.names import twice

__all__ = ["READERS", "TEXT_SUFFIXES", "Fields", "find_text_files", "read_folder"]

TEXT_SUFFIXES = (".txt", ".md")
SEPARATORS = ",;\t"
USUAL = ("text", "texts", "body", "content", "message", "question", "title")


class Fields(NamedTuple):
    """Which columns hold texts and ids; None where nobody said."""

    text: str | None = None
    id: str | None = None


Pairs = Iterator[tuple[str, str]]


def read_csv(path: Path, where: str, fields: Fields) -> Pairs:
    """Read a column of a table of commas, semicolons or tabs."""
    allow_long_cells()
    with open_text(path) as lines:
        first = next(lines, "")
        separator = max(SEPARATORS, key=first.count)
        rows = csv.reader(chain([first], lines), delimiter=separator, strict=True)
        try:
            heads = [head.strip() for head in next(rows, [])]
            text, key = choose_columns(heads, fields, where)
            row = 0
            for cells in rows:
                if not cells:  # an empty line is no row of a table
                    continue
                if len(cells) != len(heads):
                    raise ValueError(
                        f"{where}: line {rows.line_num} has {len(cells)} cells, but "
                        f"there are {len(heads)} columns. Quote cells that hold "
                        f"{separator!r}."
                    )
                yield cells[key] if key is not None else str(row), cells[text]
                row += 1
        except csv.Error as error:
            raise ValueError(
                f"{where}: line {rows.line_num} is no CSV ({error}). Put texts of "
                "several lines between quotes."
            ) from error


def choose_columns(
    heads: Sequence[str], fields: Fields, where: str
) -> tuple[int, int | None]:
    """Return the places of the texts and of the ids among the heads of a table.

    Examples
    --------
    >>> from unseen.texts.readers import Fields, choose_columns
    >>> choose_columns(["number", "text"], Fields(), "tickets.csv")
    (1, None)
    >>> choose_columns(["number", "text"], Fields("txt"), "tickets.csv")
    Traceback (most recent call last):
    ValueError: tickets.csv: there is no column 'txt'. Its columns are 'number', 'text'.
    """
    key = _place(heads, fields.id, where) if fields.id is not None else None
    if fields.text is not None:
        return _place(heads, fields.text, where), key
    small = [head.lower() for head in heads]
    usual = [name for name in USUAL if name in small]
    others = [place for place in range(len(heads)) if place != key]
    if usual:
        return _place(small, usual[0], where), key
    if len(others) == 1:
        return others[0], key
    raise ValueError(
        f"{where}: which column holds the texts? Name it with --column; the columns "
        f"are {_listed(heads)}."
    )


def _place(heads: Sequence[str], name: str, where: str) -> int:
    if list(heads).count(name) > 1:
        raise ValueError(
            f"{where}: there are several columns {shown(name)}. Give each its own name."
        )
    if name not in heads:
        raise ValueError(
            f"{where}: there is no column {shown(name)}. Its columns are "
            f"{_listed(heads)}."
        )
    return list(heads).index(name)


def _listed(heads: Sequence[str], most: int = 12) -> str:
    more = f" and {len(heads) - most} more" if len(heads) > most else ""
    return (", ".join(shown(head) for head in heads[:most]) or "none") + more


def read_lines(path: Path, where: str, fields: Fields) -> Pairs:
    """Read a text per line."""
    if fields.text is not None or fields.id is not None:
        raise ValueError(
            f"{where}: has a text per line and no columns. Leave out --column and --id."
        )
    with open_text(path) as lines:
        for row, line in enumerate(lines):
            yield str(row), line.rstrip("\r\n")


def read_jsonl(path: Path, where: str, fields: Fields) -> Pairs:
    """Read a JSON object, or a string, per line."""
    row = 0
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            place = f"{where}: line {number}"
            try:
                entry = json.loads(line, object_pairs_hook=_without_repeats)
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{place} is no JSON ({error}). Give an object per line."
                ) from error
            if isinstance(entry, str):
                entry = {"text": entry}
            if not isinstance(entry, dict):
                raise ValueError(
                    f"{place} is {shown(entry)}. Give an object per line, "
                    'such as {"text": "..."}.'
                )
            text, key = choose_columns(list(entry), fields, place)
            values = list(entry.values())
            own = str(row) if key is None else _as_text(values[key])
            yield own, _as_text(values[text])
            row += 1


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if (again := twice(key for key, _ in pairs)) is not None:
        raise ValueError(f"the key {shown(again)} is there twice")
    return dict(pairs)


def _as_text(value: Any) -> str:
    """Return a value as text: nothing is "", text is itself, others are JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_parquet(path: Path, where: str, fields: Fields) -> Pairs:
    """Read a column of a parquet file in parts."""
    row = 0
    with open_parquet(path) as (schema, batches):
        text, key = choose_columns(schema.names, fields, str(path))
        for batch in batches:
            texts = batch.column(text).to_pylist()
            ids: Any = range(row, row + len(texts))
            ids = ids if key is None else batch.column(key).to_pylist()
            yield from zip(map(_cell, ids), map(_cell, texts), strict=True)
            row += len(texts)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


READERS = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".txt": read_lines,
    ".md": read_lines,
    ".parquet": read_parquet,
    ".pq": read_parquet,
}


def find_text_files(folder: Path) -> tuple[list[Path], list[tuple[str, str]]]:
    """Return the .txt and .md files below a folder, and (path, reason) of all others.

    Hidden files and folders are left out without a word; links to folders are not
    followed.
    """
    found, skipped = [], []
    for home, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(home, name)
            if name.startswith("."):
                continue
            if path.suffix.lower() not in TEXT_SUFFIXES:
                skipped.append((_below(path, folder), "is no .txt or .md file"))
            elif not path.is_file():
                skipped.append((_below(path, folder), "is no plain file"))
            elif path.stat().st_size > limits().text_bytes:
                size = f"is larger than {limits().text_bytes:,} bytes"
                skipped.append((_below(path, folder), size))
            else:
                found.append(path)
    return found, skipped


def _below(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def read_folder(folder: Path, files: Sequence[Path]) -> Pairs:
    """Read files one by one."""
    for path in files:
        with open_text(path) as file:
            yield _below(path, folder), file.read()
