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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from unseen.loading.parts import damaged_file

__all__ = ["unpack"]

MOST_RATIO = 200
FREE_BYTES = 1 << 28  # small archives may unpack to this whatever the ratio
CHUNK = 1 << 20


def unpack(
    archive: str | os.PathLike[str], folder: str | os.PathLike[str], *, only: str = ""
) -> Path:
    """Unpack a zip or tar archive into a new folder, whole or not at all.

    Parameters
    ----------
    archive : path
        Zip, or tar as it is or compressed by gzip, bzip2 or xz.
    folder : path
        Must not exist yet, or be empty.
    only : str, optional
        Leave out what is below other folders of the archive.

    Returns
    -------
    Path
        The folder.

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
        with damaged_file(archive, "the archive"), _open(archive) as members:
            _check_names(archive, members.names())
            _write_all(archive, members, draft, only)
        if folder.exists():
            folder.rmdir()
        os.replace(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _check_names(archive: Path, names: Iterator[tuple[str, str]]) -> None:
    seen: set[str] = set()
    for name, kind in names:
        if kind not in ("file", "folder"):
            raise ValueError(
                f"{archive}: holds {name!r}, which is a {kind}. Nothing was unpacked."
            )
        path = PurePosixPath(name)
        leads_out = path.is_absolute() or ".." in path.parts or "\\" in name
        if leads_out or "\0" in name or _has_drive(name):
            raise ValueError(
                f"{archive}: holds {name!r}, which leads out of its folder. "
                "Nothing was unpacked."
            )
        if kind == "file":
            key = str(path).casefold()
            if key in seen or not path.parts:
                raise ValueError(
                    f"{archive}: holds {name!r} twice. Nothing was unpacked."
                )
            seen.add(key)


def _has_drive(name: str) -> bool:
    return len(name) > 1 and name[1] == ":"


def _write_all(archive: Path, members: Any, draft: Path, only: str) -> None:
    allowed = max(FREE_BYTES, MOST_RATIO * archive.stat().st_size)
    for name, source in members.files():
        if only and not PurePosixPath(name).is_relative_to(only):
            continue
        target = draft.joinpath(*PurePosixPath(name).parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as out:
            while chunk := source.read(min(CHUNK, allowed + 1)):
                allowed -= len(chunk)
                if allowed < 0:
                    raise ValueError(
                        f"{archive}: unpacks to more than {MOST_RATIO} times its size. "
                        "Nothing was kept."
                    )
                out.write(chunk)


@contextmanager
def _open(archive: Path) -> Iterator[Any]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            yield _Zip(zipped)
    else:
        with tarfile.open(archive, "r:*") as tar:
            yield _Tar(tar)


class _Zip:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def names(self) -> Iterator[tuple[str, str]]:
        for info in self._archive.infolist():
            mode = info.external_attr >> 16
            is_link = mode & 0o170000 == 0o120000
            kind = "link" if is_link else "folder" if info.is_dir() else "file"
            yield info.filename, kind

    def files(self) -> Iterator[tuple[str, IO[bytes]]]:
        for info in self._archive.infolist():
            if not info.is_dir():
                with self._archive.open(info) as source:
                    yield info.filename, source


class _Tar:
    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive

    def names(self) -> Iterator[tuple[str, str]]:
        for info in self._archive:
            kinds = {tarfile.SYMTYPE: "link", tarfile.LNKTYPE: "link"}
            plain = "file" if info.isreg() else "folder" if info.isdir() else "device"
            yield info.name, kinds.get(info.type, plain)

    def files(self) -> Iterator[tuple[str, IO[bytes]]]:
        for info in self._archive:
            source = self._archive.extractfile(info) if info.isreg() else None
            if source is not None:
                with source:
                    yield info.name, source
