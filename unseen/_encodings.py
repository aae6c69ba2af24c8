"""Encodings of text files, told apart by their bytes.

A file starts with a byte-order mark or is UTF-8. Bytes that are no UTF-8 are read as
Windows-1252, one by one, so that the rest of their line stays what it is.
"""

from __future__ import annotations

import codecs
import warnings
from pathlib import Path
from typing import TextIO

__all__ = ["OddBytesWarning", "decoded", "open_text", "tell_odd"]

ODD_BYTES = "unseen-windows-1252"


class OddBytesWarning(UserWarning):
    """Some bytes are no UTF-8 and were read as Windows-1252."""


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Read bytes that are no UTF-8 as Windows-1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    odd = error.object[error.start : error.end]
    return odd.decode("cp1252", "replace"), error.end


codecs.register_error(ODD_BYTES, _as_windows)


def decoded(start: bytes) -> str:
    r"""Return the first bytes of a file as text, without its byte-order mark."""
    mark, encoding = _mark(start)
    return start[len(mark) :].decode(encoding, ODD_BYTES)


def open_text(path: Path) -> TextIO:
    """Open a text file of any of these encodings; ends of lines stay as they are."""
    with open(path, "rb") as file:
        mark, encoding = _mark(file.read(3))
    # The codecs that take the mark away have another name.
    name = {"utf-8": "utf-8-sig"}.get(encoding, "utf-16") if mark else encoding
    return open(path, encoding=name, errors=ODD_BYTES, newline="")


def tell_odd(path: Path, stacklevel: int = 2) -> None:
    """Warn if a file without a byte-order mark is no UTF-8."""
    with open(path, "rb") as file:
        mark, _ = _mark(file.read(3))
        file.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while not mark and (block := file.read(1 << 20)):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            warnings.warn(
                f"{path}: is not UTF-8; what is odd in it was read as Windows-1252. "
                "Save the file as UTF-8 if names look wrong.",
                OddBytesWarning,
                stacklevel=stacklevel + 1,
            )


def _mark(start: bytes) -> tuple[bytes, str]:
    """Return the byte-order mark of a file, if it has one, and its encoding."""
    marks = {
        codecs.BOM_UTF8: "utf-8",
        codecs.BOM_UTF16_LE: "utf-16-le",
        codecs.BOM_UTF16_BE: "utf-16-be",
    }
    for mark, encoding in marks.items():
        if start.startswith(mark):
            return mark, encoding
    return b"", "utf-8"
