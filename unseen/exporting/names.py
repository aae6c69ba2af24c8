"""Names that every file system takes, none of them twice."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["safe_name", "safe_names"]

FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e]')
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
LONGEST = 120  # bytes, so that a number and an ending still fit


def safe_name(name: str, ending: str = "") -> str:
    """Return a name of a file or folder as near to this as every system takes.

    Examples
    --------
    >>> from unseen.exporting.names import safe_name
    >>> safe_name("AC/DC: <live>?"), safe_name("../.."), safe_name("con", ".jpg")
    ('AC_DC_ _live__', '_.._', 'con_.jpg')
    """
    text = FORBIDDEN.sub("_", unicodedata.normalize("NFC", name)).strip(" ")
    text = text.encode()[:LONGEST].decode(errors="ignore").rstrip(" .")
    if not text or text.startswith((".", "-")):
        text = f"_{text}"
    if RESERVED.match(text + ending):
        text += "_"
    return text + ending


def safe_names(names: Iterable[tuple[str, str]]) -> list[str]:
    """Return safe names of (name, ending) pairs, no two alike on any system.

    Examples
    --------
    >>> from unseen.exporting.names import safe_names
    >>> safe_names([("a", ".jpg"), ("A", ".jpg"), ("a", ".png")])
    ['a.jpg', 'A (2).jpg', 'a (3).png']
    """
    taken: set[str] = set()
    found = []
    for name, ending in names:
        ending = safe_ending(ending)
        stem, number = safe_name(name), 1
        tried = stem
        while tried.casefold() in taken:  # without endings: some tools leave them out
            number += 1
            tried = f"{stem} ({number})"
        taken.add(tried.casefold())
        found.append(safe_name(tried, ending) if number == 1 else tried + ending)
    return found


def safe_ending(ending: str) -> str:
    """Return the ending of a file if it is a plain one, else nothing."""
    return ending if re.fullmatch(r"\.[A-Za-z0-9]{1,10}", ending) else ""
