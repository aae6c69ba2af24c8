"""Photos at their new place: safe names; copied, linked or moved, never over anything.

A move comes after everything else is in place, photo by photo; ``moved.csv`` is there
before the first, so that each can be found and put back.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from unseen.files import sync

__all__ = ["WAYS", "move_all", "place_all", "safe_name", "safe_names"]

WAYS = ("copy", "hardlink", "symlink", "move")
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


def place_all(places: list[tuple[Path, Path]], how: str) -> None:
    """Copy or link photos to places that are free; for a move, see :func:`move_all`."""
    for source, place in places:
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


def move_all(places: list[tuple[Path, Path]]) -> None:
    """Move photos one by one to places that are free; stop at the first trouble."""
    for done, (source, place) in enumerate(places):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            move(source, place)
        except OSError as error:
            raise OSError(
                f"{source} could not be moved ({error.strerror or error}). {done} of "
                f"{len(places)} are at their new place, the others where they were; "
                "moved.csv lists all."
            ) from error


def move(source: Path, place: Path) -> None:
    """Move a file; the old one goes only when the new one is whole."""
    try:
        os.link(source, place, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # another disk, or no hard links there
        shutil.copy2(source, place)
        sync(place)
    os.unlink(source)
