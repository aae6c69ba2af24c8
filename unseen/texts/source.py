"""Where texts come from: a source that can be read again and again, in batches.

    tickets.csv      a column of a table, separated by commas, semicolons or tabs
    tickets.jsonl    a field of an object per line, or a string per line
    tickets.txt      a text per line
    tickets.parquet  a column
    tickets.xlsx     a column of the first sheet
    notes/           a folder of .txt and .md files, a text each
    -                standard input, which is copied to a temporary file

Texts are read twice: first to learn from a sample of them, then to label every one.
Without a column of ids, an id is the number of the row from 0; in a folder it is the
path. A text that is missing (an empty cell, null) is an empty text, and keeps its row.
"""

import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from unseen._encodings import open_text, table_rows
from unseen._words import listed, shown
from unseen.limits import check_plain_file, limits
from unseen.loading.frames import open_parquet, read_excel
from unseen.loading.parts import damaged_file

PLAIN = {".txt", ".md"}

Pairs = Iterator[tuple[Any, Any]]  # id and text of every row, as they are in the file
Choose = Callable[[Sequence[str], str], tuple[int, int]]


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
        Whether numbers of rows, from 0, are the ids.
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
        pairs, numbers = self._pairs(), map(str, count())
        known: set[str] = set()
        while part := list(islice(pairs, 4096)):
            own = self._numbered
            ids = [next(numbers) if own else _as_text(key) for key, _ in part]
            for key in [] if own else ids:
                if not key or key in known:
                    twice = f"id {shown(key)} is there twice"
                    raise ValueError(
                        f"{self.name}: {twice if key else 'a text has no id'}. Give "
                        "another --id, or omit it: texts are then numbered from 0."
                    )
                known.add(key)
            yield Batch(ids, [_as_text(text) for _, text in part])


def read_texts(
    source: Any, *, column: str | None = None, id: str | None = None
) -> TextSource:
    r"""Find out how to read texts; nothing is read yet, but for standard input.

    Parameters
    ----------
    source : path, "-", or sequence of str
        A ``.csv``, ``.tsv``, ``.jsonl``, ``.txt``, ``.parquet`` or ``.xlsx`` file; a
        folder of ``.txt`` and ``.md`` files; ``"-"`` for standard input; or the texts.
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
    if not isinstance(source, str | os.PathLike):
        texts = list(source)
        strange = [text for text in texts if not isinstance(text, str)]
        if strange:
            raise TypeError(
                f"{shown(strange[0])} is not a text. Give texts, or a path."
            )
        return TextSource("the texts", lambda: zip(texts, texts, strict=True))
    choose = partial(choose_columns, column=column, id=id)
    if str(source) == "-":
        return _standard_input(choose, column is None and id is None, id is None)
    path = Path(source)
    if path.is_dir():
        return _folder(path, column or id)
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder.")
    check_plain_file(path)
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise ValueError(
            f"{path} is not a file of texts. Give {', '.join(READERS)}, or a folder of "
            ".txt files."
        )
    return TextSource(path.name, partial(read, path, str(path), choose), id is None)


def holds_texts(source: str | os.PathLike[str]) -> bool:
    """Tell whether a path holds texts rather than photos, by the names of files."""
    path = Path(source)
    if not path.is_dir():
        return str(source) == "-" or path.suffix.lower() in READERS
    names = (name for _, _, files in os.walk(path) for name in files)
    kinds = {Path(name).suffix.lower() for name in islice(names, 2000)}
    photos = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp"}
    return bool(kinds & PLAIN) and not kinds & photos


def choose_columns(
    heads: Sequence[str], where: str, column: str | None, id: str | None
) -> tuple[int, int]:
    """Return the places of the ids, if there are any, and of the texts."""
    if column is None:
        names = ("text", "texts", "body", "content", "message", "question", "title")
        usual = [head for name in names for head in heads if head.lower() == name]
        likely = usual or [head for head in heads if head != id]
        if not usual and len(likely) != 1:
            raise ValueError(
                f"{where}: which column holds the texts? Name it with --column; the "
                f"columns are {listed(map(shown, heads))}."
            )
        column = likely[0]
    for name in (column, id or column):
        if heads.count(name) != 1:
            fault = "are several columns" if name in heads else "is no column"
            raise ValueError(
                f"{where}: there {fault} {shown(name)}. Its columns are "
                f"{listed(map(shown, heads))}."
            )
    return heads.index(id or column), heads.index(column)


def read_csv(path: Path, where: str, choose: Choose) -> Pairs:
    """Read a table of commas, semicolons or tabs."""
    with open_text(path) as file:
        _, rows = table_rows(file, where)
        _, heads = next(rows, (0, []))
        key, text = choose([head.strip() for head in heads], where)
        for _, cells in rows:
            yield cells[key], cells[text]


def read_lines(path: Path, where: str, choose: Choose) -> Pairs:
    """Read a text per line."""
    choose(["text"], where)
    with open_text(path) as lines:
        for line in lines:
            yield "", line.rstrip("\r\n")


def read_jsonl(path: Path, where: str, choose: Choose) -> Pairs:
    """Read a JSON object, or a string, per line."""
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            place = f"{where}: line {number}"
            try:
                entry = json.loads(line, object_pairs_hook=_object)
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{place} is not JSON ({error}). Give an object per line."
                ) from error
            entry = {"text": entry} if isinstance(entry, str) else entry
            if not isinstance(entry, dict):
                raise ValueError(
                    f"{place} is {shown(entry)}. Give an object per line, "
                    'such as {"text": "..."}.'
                )
            key, text = choose(list(entry), place)
            values = list(entry.values())
            yield values[key], values[text]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; refuse one in which a key is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def read_parquet(path: Path, where: str, choose: Choose) -> Pairs:
    """Read a parquet file in parts."""
    with open_parquet(path) as (schema, batches):
        places = choose(schema.names, where)
        for batch in batches:
            ids, texts = (batch.column(place).to_pylist() for place in places)
            yield from zip(ids, texts, strict=True)


def read_sheet(path: Path, where: str, choose: Choose) -> Pairs:
    """Read the first sheet of an Excel workbook."""
    with damaged_file(path):
        sheet = read_excel(path).astype(object)
    key, text = choose(sheet.columns.tolist(), where)
    cells = sheet.where(sheet.notna(), None)
    yield from zip(cells.iloc[:, key], cells.iloc[:, text], strict=True)


def _as_text(value: Any) -> str:
    """Return a value as text: nothing is "", a list or an object is JSON."""
    if isinstance(value, list | dict | bool):
        return json.dumps(value, ensure_ascii=False, default=str)
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
    ".xlsx": read_sheet,
}


def _folder(folder: Path, column: str | None) -> TextSource:
    """Return the .txt and .md files below a folder; hidden ones are left out."""
    if column is not None:
        raise ValueError(f"{folder} has no columns. Omit --column and --id.")
    files: dict[str, Path] = {}
    skipped, most = [], limits().text_bytes
    for path in sorted(folder.rglob("*")):
        key = path.relative_to(folder).as_posix()
        if path.is_dir() or "/." in f"/{key}":
            continue
        if path.suffix.lower() not in PLAIN or not path.is_file():
            skipped.append((key, "is no .txt or .md file"))
        elif path.stat().st_size > most:
            skipped.append((key, f"is larger than {most:,} bytes"))
        else:
            files[key] = path
    if not files:
        raise ValueError(f"{folder}: there is no .txt or .md file below this folder.")

    def pairs() -> Pairs:
        for key, path in files.items():
            with open_text(path) as file:
                yield key, file.read()

    return TextSource(folder.resolve().name, pairs, numbered=False, skipped=skipped)


def _standard_input(choose: Choose, plain: bool, numbered: bool) -> TextSource:
    """Copy standard input, and tell its kind by how it starts."""
    handle, name = tempfile.mkstemp(prefix="unseen-")
    with os.fdopen(handle, "w+b") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.seek(0)
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \r\n\t")
    read = read_lines if plain else read_csv
    read = read_jsonl if start[:1] == b"{" else read
    pairs = partial(read, Path(name), "standard input", choose)
    source = TextSource("standard input", pairs, numbered)
    weakref.finalize(source, Path(name).unlink, missing_ok=True)
    return source
