"""Unpack archives from the net: nothing lands outside the folder, and no bombs.

Names that are absolute, climb (``..``) or name a drive, links of either kind, devices
and doubled names are refused before anything is written.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from unseen.loading.parts import damaged_file

__all__ = ["unpack"]

MOST_RATIO = 200
FREE_BYTES = 1 << 28  # small archives may unpack to this whatever the ratio
CHUNK = 1 << 20


class Member(NamedTuple):
    """One entry of an archive, of either kind."""

    name: str
    kind: str
    open: Callable[[], Any]


def unpack(archive: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Unpack a zip or tar archive into a new or empty folder, whole or not at all.

    Examples
    --------
    >>> import tempfile, zipfile
    >>> from pathlib import Path
    >>> from unseen.loading.archives import unpack
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "set.zip"
    ...     with zipfile.ZipFile(path, "w") as archive:
    ...         archive.writestr("data/classes.txt", "1 seal")
    ...         archive.writestr("../outside.txt", "no")
    ...     unpack(path, Path(folder) / "set")
    Traceback (most recent call last):
    ...
    ValueError: ...set.zip: holds '../outside.txt', which leads out of its folder.
    Nothing was unpacked.
    """
    archive, folder = Path(archive), Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder}: is there already. Remove it first.")
    draft = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp")
    draft.mkdir(parents=True)
    try:
        with damaged_file(archive, "the archive"), _members(archive) as members:
            known: set[str] = set()
            for member in members:
                if fault := _fault(member, known):
                    raise ValueError(
                        f"{archive}: holds {member.name!r}{fault}. "
                        "Nothing was unpacked."
                    )
            _write(archive, [m for m in members if m.kind == "file"], draft)
        if folder.exists():
            folder.rmdir()
        os.replace(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _fault(member: Member, known: set[str]) -> str:
    """Return what is wrong with an entry, if anything."""
    name, path = member.name, PurePosixPath(member.name)
    if member.kind not in ("file", "folder"):
        return f", which is a {member.kind}"
    leads_out = path.is_absolute() or ".." in path.parts or "\\" in name
    if leads_out or "\0" in name or name[1:2] == ":":
        return ", which leads out of its folder"
    key = str(path).casefold()
    if member.kind == "file" and (key in known or not path.parts):
        return " twice"
    known.update([key] if member.kind == "file" else [])
    return ""


def _write(archive: Path, members: list[Member], draft: Path) -> None:
    left = max(FREE_BYTES, MOST_RATIO * archive.stat().st_size)
    for member in members:
        target = draft.joinpath(*PurePosixPath(member.name).parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as source, open(target, "xb") as out:
            while chunk := source.read(CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise ValueError(
                        f"{archive}: unpacks to more than {MOST_RATIO} times its size. "
                        "Nothing was kept."
                    )
                out.write(chunk)


@contextmanager
def _members(archive: Path) -> Iterator[list[Member]]:
    """Open an archive and yield what is in it."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            yield [
                Member(info.filename, _zip_kind(info), partial(zipped.open, info))
                for info in zipped.infolist()
            ]
        return
    with tarfile.open(archive, "r:*") as tar:
        yield [
            Member(info.name, _tar_kind(info), partial(tar.extractfile, info))
            for info in tar
        ]


def _zip_kind(info: zipfile.ZipInfo) -> str:
    if info.external_attr >> 16 & 0o170000 == 0o120000:
        return "link"
    return "folder" if info.is_dir() else "file"


def _tar_kind(info: tarfile.TarInfo) -> str:
    if info.issym() or info.islnk():
        return "link"
    return "file" if info.isreg() else "folder" if info.isdir() else "device"
