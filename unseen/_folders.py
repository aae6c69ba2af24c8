"""Folders of this package: made whole, marked, and replaced only while untouched.

    draft (hidden, beside the target) -> fill -> mark -> fsync -> rename

The mark holds size and time of each file. A folder without a mark, or with anything in
it that the mark does not know, is somebody else's and stays as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from unseen._files import AnyPath, named, renamed, replace_file, sync, sync_folder

__all__ = [
    "MARK",
    "check_folder",
    "remove_folder",
    "replace_folder",
    "stamp",
    "why_not_ours",
]

MARK = ".made-by-unseen"
SYNCING = 8  # threads that wait for the disk


@contextmanager
def replace_folder(path: AnyPath, *, force: bool = False) -> Iterator[Path]:
    """Yield a hidden folder beside ``path`` and move it there once it is complete.

    What is there already is replaced if it is an empty folder, or one that was made
    here and holds nothing else (see :func:`why_not_ours`).

    Parameters
    ----------
    path : path
    force : bool, default=False
        Replace files that were changed by hand too; files of others never.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen._folders import replace_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small"
    ...     with replace_folder(path) as draft:
    ...         _ = (draft / "one.jpg").write_bytes(b"...")
    ...     sorted(file.name for file in path.iterdir())
    ['.made-by-unseen', 'one.jpg']
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    check_folder(path, force=force)
    draft = target.with_name(f".unseen-{uuid.uuid4().hex}.tmp")
    old = draft.with_suffix(".old")
    try:
        with named(path):
            draft.mkdir(parents=True)
        with renamed(draft, path):
            yield draft
            _mark(draft)
        with named(path):
            _swap(draft, target, old)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if target.exists():  # otherwise the old one is all there is
            shutil.rmtree(old, ignore_errors=True)


def check_folder(path: AnyPath, *, force: bool = False) -> None:
    """Raise if a folder is there that may not be replaced."""
    reason = why_not_ours(os.path.realpath(path), force=force)
    if reason:
        raise FileExistsError(f"{path}: {reason}. Give another name, or remove it.")


def remove_folder(path: AnyPath) -> None:
    """Remove a folder that was made here and not changed since; leave any other.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen._folders import remove_folder, replace_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replace_folder(Path(folder) / "small"):
    ...         pass
    ...     remove_folder(Path(folder) / "small")
    ...     list(Path(folder).iterdir())
    []
    """
    path = Path(path)
    if _read_mark(path) is None or path.is_symlink() or why_not_ours(path):
        return
    hidden = path.with_name(f".unseen-{uuid.uuid4().hex}.old")
    with named(path):
        os.replace(path, hidden)
    shutil.rmtree(hidden, ignore_errors=True)


def _swap(draft: Path, target: Path, old: Path) -> None:
    if not target.exists():
        os.replace(draft, target)
    else:
        os.replace(target, old)
        try:
            os.replace(draft, target)
        except BaseException:
            os.replace(old, target)
            raise
    sync_folder(target.parent)


def _mark(folder: Path) -> None:
    """Write down what a folder holds; wait until the disk has all of it."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    with ThreadPoolExecutor(SYNCING) as pool:  # the disk takes many at once
        list(pool.map(sync, files))
    known = {path.relative_to(folder).as_posix(): stamp(path) for path in files}
    text = json.dumps({"made by": "unseen", "files": known}, indent=0)
    with replace_file(folder / MARK) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    for place in folder.rglob("*"):
        if place.is_dir():
            sync_folder(place)


def stamp(path: AnyPath) -> list[int]:
    """Return size and time of a file: both stay the same until somebody changes it."""
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns]


def why_not_ours(folder: AnyPath, *, force: bool = False) -> str:
    """Say why a folder may not be replaced; "" if it may.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen._folders import why_not_ours
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "holiday.jpg").write_bytes(b"...")
    ...     why_not_ours(folder)
    'is there already and was not made by unseen'
    """
    folder = Path(folder)
    if not folder.exists():
        return ""
    if not folder.is_dir():
        return "is there already and is no folder"
    found = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*")}
    if not found:
        return ""
    known = _read_mark(folder)
    if known is None:
        return "is there already and was not made by unseen"
    parents = {str(place) for name in known for place in Path(name).parents}
    for name in sorted(found.keys() - known.keys() - parents - {MARK}):
        return f"holds {name!r}, which unseen did not write"
    for name in sorted(found.keys() & known.keys()):
        if not force and stamp(found[name]) != known[name]:
            return f"holds {name!r}, which was changed by hand"
    return ""


def _read_mark(folder: Path) -> dict[str, list[int]] | None:
    try:
        text = (folder / MARK).read_bytes().decode("utf-8", "surrogateescape")
        known = json.loads(text)["files"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return known if isinstance(known, dict) else None
