"""Where texts come from: a source that can be read again and again, in batches.

Texts are read twice: first to learn from a sample of them, then to label every one.
What can be read only once, such as standard input, is copied to a temporary file.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from unseen._encodings import OddBytesWarning
from unseen._words import shown
from unseen.limits import check_plain_file
from unseen.texts import readers
from unseen.texts.readers import TEXT_SUFFIXES, Fields

__all__ = ["Batch", "TextSource", "holds_texts", "read_texts"]

BATCH = 4096
IN_MEMORY = 64 * 2**20  # bytes of standard input before a file takes them
FILES = {
    ".csv": readers.read_csv,
    ".tsv": readers.read_csv,
    ".jsonl": readers.read_jsonl,
    ".ndjson": readers.read_jsonl,
    ".txt": readers.read_lines,
    ".md": readers.read_lines,
}
PARQUET = (".parquet", ".pq")
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
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        pairs: Any = partial(readers.read_parquet, path, fields)
    elif suffix in FILES:
        pairs = partial(_read_file, path, FILES[suffix], fields)
    else:
        raise ValueError(
            f"{path}: is no file of texts. Give {', '.join(FILES)}, .parquet, or a "
            "folder of .txt files."
        )
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
        return str(source) == "-" or path.suffix.lower() in (*FILES, *PARQUET)
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


def _read_file(path: Path, read: Any, fields: Fields) -> Iterator[tuple[str, str]]:
    with open(path, "rb") as file:
        lines, pairs = read(file, str(path), fields)
        yield from pairs
    _tell_odd(str(path), lines.n_odd, "lines")


def _folder(path: Path, fields: Fields) -> TextSource:
    if fields != Fields():
        raise ValueError(f"{path}: a folder has no columns. Leave out --column, --id.")
    files, skipped = readers.find_text_files(path)
    if not files:
        raise ValueError(f"{path}: there is no .txt or .md file below this folder.")

    def pairs() -> Iterator[tuple[str, str]]:
        odd = [0]
        yield from readers.read_folder(path, files, odd)
        _tell_odd(str(path), odd[0], "files")

    source = TextSource(path.resolve().name, pairs, path)
    source.skipped = skipped
    return source


def _standard_input(fields: Fields) -> TextSource:
    """Copy standard input, and tell its kind by how it starts."""
    kept = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))
    shutil.copyfileobj(sys.stdin.buffer, kept)
    kept.seek(0)
    start = kept.read(4096).lstrip(b"\xef\xbb\xbf \r\n\t")
    if start[:1] == b"{":
        read: Any = readers.read_jsonl
    else:
        read = readers.read_lines if fields == Fields() else readers.read_csv

    def pairs() -> Iterator[tuple[str, str]]:
        kept.seek(0)
        lines, found = read(kept, "standard input", fields)
        yield from found
        _tell_odd("standard input", lines.n_odd, "lines")

    source = TextSource("standard input", pairs, numbered=fields.id is None)
    weakref.finalize(source, kept.close)
    return source


@contextmanager
def quietly() -> Iterator[None]:
    """Read a second time without saying again what the first time said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OddBytesWarning)
        yield


def _tell_odd(where: str, n_odd: int, what: str) -> None:
    if n_odd:
        warnings.warn(
            f"{where}: {n_odd:,} {what} are not UTF-8; their odd bytes were read as "
            "Windows-1252. Save the file as UTF-8 if that is wrong.",
            OddBytesWarning,
            stacklevel=3,
        )


def _state(path: Path | None) -> tuple[int, int] | None:
    if path is None or path.is_dir():
        return None
    found = path.stat()
    return found.st_size, found.st_mtime_ns
