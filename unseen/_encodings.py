"""Text files as people save them: UTF-8, or UTF-16 with a byte-order mark.

Bytes that are not UTF-8 are read as Windows-1252, one by one, so that the rest of their
line stays what it is.
"""

from __future__ import annotations

import codecs
import warnings
from pathlib import Path
from typing import TextIO

__all__ = ["OddBytesWarning", "decoded", "open_text"]

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


def _encoding(start: bytes) -> str:
    wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if wide else "utf-8-sig"
