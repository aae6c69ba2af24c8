"""Where texts come from: a source that can be read again and again, in batches.

    tickets.csv      a column of a table, separated by commas, semicolons or tabs
    tickets.jsonl    a field of an object per line, or a string per line
    tickets.txt      a text per line
    tickets.parquet  a column
    notes/           a folder of .txt and .md files, a text each
    -                standard input, which is copied to a temporary file

Texts are read twice: first to learn from a sample of them, then to label every one.
Without a column of ids, an id is the number of the row from 0; in a folder it is the
path. A text that is missing (an empty cell, null) is an empty text, and keeps its row.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from unseen._encodings import open_text, tell_odd
from unseen._words import listed, shown
from unseen.limits import allow_long_cells, check_plain_file, limits
from unseen.loading.parquet import open_parquet

__all__ = ["Batch", "TextSource", "holds_texts", "read_texts"]

BATCH = 4096
PLAIN = {".txt", ".md"}
PHOTOS = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp"}
USUAL = ("text", "texts", "body", "content", "message", "question", "title")

Pairs = Iterator[tuple[str, str]]


class Batch(NamedTuple):
    """Some texts, and an id for each."""

    ids: list[str]
    texts: list[str]


class TextSource:
    """Texts that can be read more than once.

    Parameters
    ----------
    name : str
        What pages and messages call it.
    pairs : callable
        Returns an iterator over (id, text), from the start, every time it is called.
    numbered : bool, default=True
        Whether ids are numbers of rows or paths, which cannot be there twice.
    skipped : list of (path, reason)
        Files of a folder that hold no text.

    Examples
    --------
    >>> from unseen.texts import read_texts
    >>> source = read_texts(["my card is lost", "refund, please"])
    >>> [batch.texts for batch in source]
    [['my card is lost', 'refund, please']]
    """

    def __init__(
        self,
        name: str,
        pairs: Callable[[], Pairs],
        numbered: bool = True,
        skipped: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.name, self.skipped = name, list(skipped)
        self._pairs, self._numbered = pairs, numbered

    def __iter__(self) -> Iterator[Batch]:
        pairs = self._pairs()
        known: set[str] = set()
        while part := list(islice(pairs, BATCH)):
            ids = [key for key, _ in part]
            if not self._numbered:
                self._check(ids, known)
            yield Batch(ids, [text for _, text in part])

    def _check(self, ids: list[str], known: set[str]) -> None:
        for key in ids:
            if not key or key in known:
                fault = f"id {shown(key)} is there twice" if key else "a text has no id"
                raise ValueError(
                    f"{self.name}: {fault}. Give another --id, or leave it out: texts "
                    "are then numbered from 0."
                )
            known.add(key)


def read_texts(
    source: Any, *, column: str | None = None, id: str | None = None
) -> TextSource:
    r"""Find out how to read texts; nothing is read yet, but for standard input.

    Parameters
    ----------
    source : path, "-", or sequence of str
        A ``.csv``, ``.tsv``, ``.jsonl``, ``.txt`` or ``.parquet`` file; a folder of
        ``.txt`` and ``.md`` files; ``"-"`` for standard input; or the texts.
    column : str, optional
        The column with the texts. Not needed if there is one column, or one that is
        called text, body, content, message, question or title.
    id : str, optional
        The column with ids; by default texts are numbered from 0.

    Returns
    -------
    TextSource

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.texts import read_texts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tickets.csv"
    ...     _ = path.write_text("number,text\nA7,my card is lost\n")
    ...     next(iter(read_texts(path, id="number")))
    Batch(ids=['A7'], texts=['my card is lost'])
    """
    if isinstance(source, str) and source == "-":
        return _standard_input(column, id)
    if not isinstance(source, str | os.PathLike):
        texts = list(source)
        strange = [text for text in texts if not isinstance(text, str)]
        if strange:
            raise TypeError(f"{shown(strange[0])} is no text. Give texts, or a path.")
        pairs = [(str(row), text) for row, text in enumerate(texts)]
        return TextSource("the texts", lambda: iter(pairs))
    path = Path(source)
    if path.is_dir():
        return _folder(path, column, id)
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder.")
    check_plain_file(path)
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise ValueError(
            f"{path}: is no file of texts. Give {', '.join(READERS)}, or a folder of "
            ".txt files."
        )
    if read is not read_parquet:
        tell_odd(path)
    return TextSource(path.name, partial(read, path, str(path), column, id), id is None)


def texts_of(
    source: Any,
    ids: Iterable[str],
    *,
    column: str | None = None,
    id: str | None = None,
) -> list[str]:
    """Return the texts of some ids, in their order."""
    wanted, found = list(ids), read_texts(source, column=column, id=id)
    among = set(wanted)
    pairs = (pair for batch in found for pair in zip(*batch, strict=True))
    known = {key: text for key, text in pairs if key in among}
    lost = [key for key in wanted if key not in known]
    if lost:
        raise ValueError(
            f"{found.name} has no text {shown(lost[0])} ({len(lost)} of {len(wanted)} "
            "are missing). Label what is there now, and review that."
        )
    return [known[key] for key in wanted]


def holds_texts(source: str | os.PathLike[str], most: int = 2000) -> bool:
    """Tell whether a path holds texts rather than photos, by the names of files."""
    path = Path(source)
    if not path.is_dir():
        return str(source) == "-" or path.suffix.lower() in READERS
    names = (name for _, _, files in os.walk(path) for name in files)
    kinds = {Path(name).suffix.lower() for name in islice(names, most)}
    return bool(kinds & PLAIN) and not kinds & PHOTOS


def read_csv(path: Path, where: str, column: str | None, id: str | None) -> Pairs:
    """Read a column of a table of commas, semicolons or tabs."""
    allow_long_cells()
    with open_text(path) as lines:
        first = next(lines, "")
        separator = max(",;\t", key=first.count)
        rows = csv.reader(chain([first], lines), delimiter=separator, strict=True)
        try:
            heads = [head.strip() for head in next(rows, [])]
            text, key = choose_columns(heads, column, id, where)
            for row, cells in enumerate(filter(None, rows)):  # no empty lines
                if len(cells) != len(heads):
                    raise ValueError(
                        f"{where}: line {rows.line_num} has {len(cells)} cells, but "
                        f"there are {len(heads)} columns. Quote cells that hold "
                        f"{separator!r}."
                    )
                yield str(row) if key is None else cells[key], cells[text]
        except csv.Error as error:
            raise ValueError(
                f"{where}: line {rows.line_num} is no CSV ({error}). Put texts of "
                "several lines between quotes."
            ) from error


def choose_columns(
    heads: Sequence[str], column: str | None, id: str | None, where: str
) -> tuple[int, int | None]:
    """Return the places of the texts and of the ids among the heads of a table."""
    if column is None:
        usual = [head for name in USUAL for head in heads if head.lower() == name]
        likely = usual or [head for head in heads if head != id]
        if not usual and len(likely) != 1:
            raise ValueError(
                f"{where}: which column holds the texts? Name it with --column; the "
                f"columns are {listed(map(shown, heads))}."
            )
        column = likely[0]
    for name in (column, id):
        if name is not None and heads.count(name) != 1:
            fault = "are several columns" if name in heads else "is no column"
            raise ValueError(
                f"{where}: there {fault} {shown(name)}. Its columns are "
                f"{listed(map(shown, heads))}."
            )
    return heads.index(column), None if id is None else heads.index(id)


def read_lines(path: Path, where: str, column: str | None, id: str | None) -> Pairs:
    """Read a text per line."""
    if column is not None or id is not None:
        raise ValueError(
            f"{where}: has a text per line and no columns. Leave out --column and --id."
        )
    with open_text(path) as lines:
        for row, line in enumerate(lines):
            yield str(row), line.rstrip("\r\n")


def read_jsonl(path: Path, where: str, column: str | None, id: str | None) -> Pairs:
    """Read a JSON object, or a string, per line."""
    with open_text(path) as file:
        lines = ((n, line) for n, line in enumerate(file, start=1) if line.strip())
        for row, (number, line) in enumerate(lines):
            place = f"{where}: line {number}"
            try:
                entry = json.loads(line, object_pairs_hook=_without_repeats)
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{place} is no JSON ({error}). Give an object per line."
                ) from error
            entry = {"text": entry} if isinstance(entry, str) else entry
            if not isinstance(entry, dict):
                raise ValueError(
                    f"{place} is {shown(entry)}. Give an object per line, "
                    'such as {"text": "..."}.'
                )
            text, key = choose_columns(list(entry), column, id, place)
            values = [*map(_as_text, entry.values())]
            yield str(row) if key is None else values[key], values[text]


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        again = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {shown(again)} is there twice")
    return found


def _as_text(value: Any) -> str:
    """Return a value as text: nothing is "", a list or an object is JSON."""
    if isinstance(value, list | dict | bool):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


def read_parquet(path: Path, where: str, column: str | None, id: str | None) -> Pairs:
    """Read a column of a parquet file in parts."""
    row = 0
    with open_parquet(path) as (schema, batches):
        text, key = choose_columns(schema.names, column, id, where)
        for batch in batches:
            texts: list[Any] = batch.column(text).to_pylist()
            ids: Any = range(row, row + len(texts))
            ids = ids if key is None else batch.column(key).to_pylist()
            yield from zip(map(_as_text, ids), map(_as_text, texts), strict=True)
            row += len(texts)


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


def _folder(folder: Path, column: str | None, id: str | None) -> TextSource:
    """Return the .txt and .md files below a folder; hidden ones are left out."""
    if column is not None or id is not None:
        raise ValueError(
            f"{folder}: a folder has no columns. Leave out --column, --id."
        )
    files: dict[str, Path] = {}
    skipped = []
    for home, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(home, name)
            key = path.relative_to(folder).as_posix()
            if path.suffix.lower() not in PLAIN or not path.is_file():
                skipped.append((key, "is no .txt or .md file"))
            elif path.stat().st_size > limits().text_bytes:
                skipped.append((key, f"is larger than {limits().text_bytes:,} bytes"))
            else:
                files[key] = path
    if not files:
        raise ValueError(f"{folder}: there is no .txt or .md file below this folder.")
    for path in files.values():
        tell_odd(path)
    pairs = partial(_whole_files, files)
    return TextSource(folder.resolve().name, pairs, skipped=skipped)


def _whole_files(files: dict[str, Path]) -> Pairs:
    for key, path in files.items():
        with open_text(path) as file:
            yield key, file.read()


def _standard_input(column: str | None, id: str | None) -> TextSource:
    """Copy standard input, and tell its kind by how it starts."""
    handle, name = tempfile.mkstemp(prefix="unseen-")
    with os.fdopen(handle, "w+b") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.seek(0)
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \r\n\t")
    read = read_lines if column is None and id is None else read_csv
    if start[:1] == b"{":
        read = read_jsonl
    pairs = partial(read, Path(name), "standard input", column, id)
    source = TextSource("standard input", pairs, id is None)
    weakref.finalize(source, Path(name).unlink, missing_ok=True)
    tell_odd(Path(name))
    return source
