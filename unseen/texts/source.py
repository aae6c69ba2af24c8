"""Where texts come from: a source that can be read again and again, in batches.

Texts are read twice: first to learn from a sample of them, then to label every one.
What can be read only once, such as standard input, is copied to a temporary file.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from unseen._encodings import tell_odd
from unseen._words import shown
from unseen.limits import check_plain_file
from unseen.texts import readers
from unseen.texts.readers import TEXT_SUFFIXES, Fields

__all__ = ["Batch", "TextSource", "holds_texts", "read_texts"]

BATCH = 4096
PHOTOS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp")


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
    path : Path, optional
        The file or folder behind it: it may not change between two readings.
    numbered : bool, default=True
        Whether ids are numbers of rows, which cannot be there twice.

    Attributes
    ----------
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
        self, name: str, pairs: Any, path: Path | None = None, numbered: bool = True
    ) -> None:
        self.name, self.path, self.numbered = name, path, numbered
        self.skipped: list[tuple[str, str]] = []
        self._pairs, self._seen = pairs, _state(path)
        self._checked = numbered

    def __iter__(self) -> Iterator[Batch]:
        if _state(self.path) != self._seen:
            raise ValueError(
                f"{self.path}: was changed while it was read. Start again when nobody "
                "writes to it."
            )
        pairs = self._pairs()
        known: set[str] = set()
        row = 0
        while part := list(islice(pairs, BATCH)):
            ids = [key for key, _ in part]
            if not self._checked:
                self._check(ids, known, row)
            row += len(ids)
            yield Batch(ids, [text for _, text in part])
        self._checked = True

    def _check(self, ids: list[str], known: set[str], row: int) -> None:
        for place, key in enumerate(ids, start=row + 1):
            if not key:
                raise ValueError(
                    f"{self.name}: text {place:,} has no id. Fill the column, or leave "
                    "out --id: texts are then numbered from 0."
                )
            if key in known:
                raise ValueError(
                    f"{self.name}: id {shown(key)} is there twice, again at text "
                    f"{place:,}. Give another --id, or leave it out: texts are then "
                    "numbered from 0."
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
    fields = Fields(column, id)
    if isinstance(source, str) and source == "-":
        return _standard_input(fields)
    if not isinstance(source, str | os.PathLike):
        texts = _listed_texts(source)
        return TextSource("the texts", partial(_numbered, texts))
    path = Path(source)
    if path.is_dir():
        return _folder(path, fields)
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder.")
    check_plain_file(path)
    read = readers.READERS.get(path.suffix.lower())
    if read is None:
        raise ValueError(
            f"{path}: is no file of texts. Give {', '.join(readers.READERS)}, or a "
            "folder of .txt files."
        )
    if read is not readers.read_parquet:
        tell_odd(path)
    pairs = partial(read, path, str(path), fields)
    return TextSource(path.name, pairs, path, numbered=id is None)


def texts_of(
    source: Any,
    ids: Iterable[str],
    *,
    column: str | None = None,
    id: str | None = None,
) -> list[str]:
    """Return the texts of some ids, in their order.

    Examples
    --------
    >>> from unseen.texts.source import texts_of
    >>> texts_of(["my card is lost", "refund, please"], ["1", "0"])
    ['refund, please', 'my card is lost']
    """
    wanted = list(ids)
    known = dict.fromkeys(wanted)
    found = read_texts(source, column=column, id=id)
    for batch in found:
        for key, text in zip(batch.ids, batch.texts, strict=True):
            if key in known:
                known[key] = text
    lost = [key for key in wanted if known[key] is None]
    if lost:
        raise ValueError(
            f"{found.name} has no text {shown(lost[0])} ({len(lost)} of {len(wanted)} "
            "are missing). Label what is there now, and review that."
        )
    return [str(known[key]) for key in wanted]


def holds_texts(source: str | os.PathLike[str], look: int = 2000) -> bool:
    """Tell whether a path holds texts rather than photos, by the names of files.

    Examples
    --------
    >>> from unseen.texts.source import holds_texts
    >>> holds_texts("-"), holds_texts("tickets.csv"), holds_texts("holiday.jpg")
    (True, True, False)
    """
    path = Path(source)
    if not path.is_dir():
        return str(source) == "-" or path.suffix.lower() in readers.READERS
    names = (name for _, _, files in os.walk(path) for name in files)
    kinds = {Path(name).suffix.lower() for name in islice(names, look)}
    return bool(kinds & set(TEXT_SUFFIXES)) and not kinds & set(PHOTOS)


def _listed_texts(texts: Iterable[Any]) -> list[str]:
    listed = list(texts)
    strange = [text for text in listed if not isinstance(text, str)]
    if strange:
        raise TypeError(f"{shown(strange[0])} is no text. Give texts, or a path.")
    return listed


def _numbered(texts: list[str]) -> Iterator[tuple[str, str]]:
    return ((str(row), text) for row, text in enumerate(texts))


def _folder(path: Path, fields: Fields) -> TextSource:
    if fields != Fields():
        raise ValueError(f"{path}: a folder has no columns. Leave out --column, --id.")
    files, skipped = readers.find_text_files(path)
    if not files:
        raise ValueError(f"{path}: there is no .txt or .md file below this folder.")
    for file in files:
        tell_odd(file)
    pairs = partial(readers.read_folder, path, files)
    source = TextSource(path.resolve().name, pairs, path)
    source.skipped = skipped
    return source


def _standard_input(fields: Fields) -> TextSource:
    """Copy standard input, and tell its kind by how it starts."""
    handle, name = tempfile.mkstemp(prefix="unseen-")
    kept = Path(name)
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with open(kept, "rb") as file:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \r\n\t")
    if start[:1] == b"{":
        read: Any = readers.read_jsonl
    else:
        read = readers.read_lines if fields == Fields() else readers.read_csv
    pairs = partial(read, kept, "standard input", fields)
    source = TextSource("standard input", pairs, numbered=fields.id is None)
    weakref.finalize(source, kept.unlink, missing_ok=True)
    tell_odd(kept)
    return source


def _state(path: Path | None) -> tuple[int, int] | None:
    if path is None or path.is_dir():
        return None
    found = path.stat()
    return found.st_size, found.st_mtime_ns
