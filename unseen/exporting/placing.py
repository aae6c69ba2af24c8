"""Photos at their new place: copied, linked or moved, never over anything.

Everything is made in a hidden folder beside the target and put in place at the end, so
that a target is whole or absent. A move comes after that, photo by photo; ``moved.csv``
is there before the first, so that each can be found and put back.
"""

from __future__ import annotations

import csv
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unseen.files import named, sync, sync_folder

__all__ = ["WAYS", "new_folder", "place_all"]

WAYS = ("copy", "hardlink", "symlink", "move")


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a hidden folder that becomes ``target``, which must not be there yet.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.exporting.placing import new_folder
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with new_folder(Path(home) / "out") as draft:
    ...         _ = (draft / "one.txt").write_text("one")
    ...     [path.name for path in (Path(home) / "out").iterdir()]
    ['one.txt']
    """
    check_new(target)
    draft = target.with_name(f".unseen-{uuid.uuid4().hex}.tmp")
    with named(target):
        draft.mkdir(parents=True)
    try:
        yield draft
        with named(target):
            if target.exists():
                target.rmdir()  # it was empty; if it is not any more, this fails
            os.rename(draft, target)
            sync_folder(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def check_new(target: Path) -> None:
    """Raise if anything is there already."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise FileExistsError(f"{target}: is there already. Give another --out.")
    if target.is_dir() and any(target.iterdir()):
        raise FileExistsError(
            f"{target}: holds something already, and nothing is written over. Give "
            "another --out."
        )


def place_all(places: list[tuple[Path, Path]], how: str) -> None:
    """Copy or link photos to places that are free; for a move, see :func:`move_all`."""
    for source, place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        if how == "symlink":
            place.symlink_to(os.path.abspath(source))
        elif how == "hardlink":
            link(source, place)
        else:
            copy(source, place)


def link(source: Path, place: Path) -> None:
    """Give a photo a second name."""
    try:
        os.link(os.path.realpath(source), place)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.ENOTSUP):
            raise
        raise OSError(
            f"{source}: cannot have a second name there, on another disk. Use --how "
            "copy or symlink."
        ) from error


def copy(source: Path, place: Path) -> None:
    """Copy a photo with its times; nothing is written over."""
    with open(source, "rb") as old, open(place, "xb") as new:
        shutil.copyfileobj(old, new, 1 << 20)
    shutil.copystat(source, place)


def list_moves(path: Path, ids: list[str], places: list[tuple[Path, str]]) -> None:
    """Write down which photo goes where, before any does."""
    with open(
        path, "x", newline="", encoding="utf-8", errors="surrogateescape"
    ) as file:
        lines = csv.writer(file)
        lines.writerow(["id", "from", "to"])
        for name, (source, place) in zip(ids, places, strict=True):
            lines.writerow([name, os.path.abspath(source), place])
    sync(path)


def move_all(places: list[tuple[Path, Path]]) -> None:
    """Move photos one by one to places that are free; stop at the first trouble."""
    for done, (source, place) in enumerate(places):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            move(source, place)
        except OSError as error:
            raise OSError(
                f"{source}: could not be moved ({error.strerror or error}). {done} of "
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
        copy(source, place)
        sync(place)
    os.unlink(source)
