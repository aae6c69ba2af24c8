"""Text files as people save them: UTF-8, or UTF-16 with a byte-order mark.

Bytes that are not UTF-8 are read as Windows-1252, one by one, so that the rest of their
line stays what it is. Cells of a table lie between commas, semicolons or tabs.
"""

from __future__ import annotations

import codecs
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from unseen.limits import allow_long_cells, limits

ODD_BYTES = "unseen-windows-1252"


class OddBytesWarning(UserWarning):
    """Some bytes are not UTF-8 and were read as Windows-1252."""


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Read bytes that are not UTF-8 as Windows-1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    odd = error.object[error.start : error.end]
    return odd.decode("cp1252", "replace"), error.end


codecs.register_error(ODD_BYTES, _as_windows)


def decoded(start: bytes) -> str:
    """Return the first bytes of a file as text, for a look at its kind."""
    return start.decode(_encoding(start), ODD_BYTES)


def open_text(path: Path) -> TextIO:
    """Open a text file, ends of lines as they are; warn if it is not UTF-8."""
    with open(path, "rb") as file:
        encoding = _encoding(file.read(2))
    try:
        with open(path, encoding=encoding) as text:
            while text.read(1 << 16):
                pass
    except UnicodeDecodeError:
        warnings.warn(
            f"{path} is not UTF-8; what is odd in it was read as Windows-1252. "
            "Save the file as UTF-8 if names look wrong.",
            OddBytesWarning,
            stacklevel=2,
        )
    return open(path, encoding=encoding, errors=ODD_BYTES, newline="")


def table_rows(file: TextIO, where: str) -> tuple[str, Iterator[tuple[int, list[str]]]]:
    """Return what separates the cells of a table, and its rows with their lines.

    Empty lines are passed over; all others have as many cells as the first.
    """
    allow_long_cells()
    first = file.readline(limits().line_bytes)
    separator = max(",;\t", key=first.count)
    file.seek(0)

    def rows() -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(file, delimiter=separator, strict=True)
        width = 0
        try:
            for cells in filter(None, reader):
                width = width or len(cells)
                if len(cells) != width:
                    raise ValueError(
                        f"{where}: line {reader.line_num} has {len(cells)} cells, but "
                        f"there are {width} columns. Quote cells that hold "
                        f"{separator!r}."
                    )
                yield reader.line_num, cells
        except csv.Error as error:
            raise ValueError(
                f"{where}: line {reader.line_num} is not CSV ({error}). Put texts of "
                "several lines between quotes."
            ) from error

    return separator, rows()


def _encoding(start: bytes) -> str:
    wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if wide else "utf-8-sig"
