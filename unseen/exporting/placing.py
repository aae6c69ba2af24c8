"""Photos at their new place: safe names; copied or linked, never over anything."""

import os
import re
import shutil
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

WAYS = ("copy", "hardlink", "symlink")
FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e]')
# What Windows keeps for devices, whatever comes after the first dot.
RESERVED = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[\d¹²³]) *(\.|$)", re.IGNORECASE
)


def safe_name(name: str) -> str:
    """Return a name of a file or folder as near to this as every system takes."""
    text = FORBIDDEN.sub("_", unicodedata.normalize("NFC", name)).strip(" ")
    # So many bytes that a number and an ending still fit.
    text = text.encode()[:120].decode(errors="ignore").rstrip(" .")
    odd = not text or text.startswith((".", "-")) or RESERVED.match(text)
    return f"_{text}" if odd else text


def safe_names(names: Iterable[tuple[str, str]]) -> list[str]:
    """Return safe names of (name, ending) pairs, no two alike on any system."""
    taken: set[str] = set()
    following: dict[str, int] = {}  # number to try next, by name
    found = []
    for name, ending in names:
        stem = safe_name(name)
        key = stem.casefold()
        number = following.get(key, 1)
        tried = stem if number == 1 else f"{stem} ({number})"
        while tried.casefold() in taken:  # without endings: some tools leave them out
            number += 1
            tried = f"{stem} ({number})"
        following[key] = number + 1
        taken.add(tried.casefold())
        plain = re.fullmatch(r"\.[A-Za-z0-9]{1,10}", ending)
        found.append(tried + (ending if plain else ""))
    return found


def put(source: Any, place: Path, how: str) -> None:
    """Copy or link a photo to a place that is free."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if how == "symlink":
        place.symlink_to(os.path.abspath(source))
    elif how == "copy":
        shutil.copy2(source, place)
    else:
        try:
            os.link(os.path.realpath(source), place)
        except OSError as error:
            raise OSError(
                f"{source} cannot have a second name there "
                f"({error.strerror or error}). Use --how copy or symlink."
            ) from error
