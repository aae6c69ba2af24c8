"""Download a public benchmark: resumed, checked by hash, unpacked safely.

The archives, their terms and whom to cite stand in ``benchmarks.json`` beside this
file, with a checksum only if its source is known. Where there is none, the first
download is trusted, its SHA-256 is written down, and later ones must match it.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from unseen._download import download, hash_of
from unseen._words import listed
from unseen.cache import cache_home
from unseen.files import check_folder, replace_file, replace_folder
from unseen.limits import check_unpacked
from unseen.loading.parts import damaged_file


class Benchmark(NamedTuple):
    """A public archive: ``below`` is the folder inside it that ``load_data`` takes."""

    title: str
    url: str
    licence: str
    citation: str
    checksum: str | None = None  # "md5:..." or "sha256:..."
    below: str = ""
    note: str = ""


_ENTRIES = resources.files("unseen.loading").joinpath("benchmarks.json")
CATALOGUE = {
    name: Benchmark(**entry)
    for name, entry in json.loads(_ENTRIES.read_text("utf-8")).items()
}


class Fetched(NamedTuple):
    """Where a benchmark is, its SHA-256, and how far that can be trusted.

    ``trust`` is ``"checksum"`` if the hash was known before, ``"first use"`` if this
    download was the first and its hash was written down.
    """

    folder: Path
    sha256: str
    trust: str


def fetch(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    sha256: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fetched:
    """Download and unpack a public benchmark archive.

    Parameters
    ----------
    name : str
        A name of :data:`unseen.loading.fetch.CATALOGUE`.
    folder : path, optional
        Where data sets are kept; by default the cache folder of the system.
    sha256 : str, optional
        The hash the archive must have.
    progress : callable, optional
        Called with the bytes so far and in all (0 if unknown).

    Returns
    -------
    Fetched
        ``(folder, sha256, trust)``.

    Examples
    --------
    >>> from unseen.loading.fetch import fetch
    >>> fetch("imagenet")
    Traceback (most recent call last):
    ...
    ValueError: There is no benchmark 'imagenet'. Those known are xlsa17, awa2-base,
    awa2-features, cub, sun-attributes.
    """
    if name not in CATALOGUE:
        raise ValueError(
            f"There is no benchmark {name!r}. Those known are {listed(CATALOGUE)}."
        )
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise ValueError(
            f"sha256={sha256!r} is not a SHA-256. Give 64 hexadecimal digits."
        )
    entry, home = CATALOGUE[name], cache_home() if folder is None else Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    target, mark = home / name, home / f"{name}.sha256"
    before = f"sha256:{mark.read_text().strip()}" if mark.is_file() else None
    expected = f"sha256:{sha256.lower()}" if sha256 else entry.checksum or before
    archive = home / re.sub(r"[^\w.-]", "_", entry.url.rsplit("/", 1)[-1])
    download(entry.url, archive, expected, progress=progress)
    found = hash_of(archive, "sha256")
    if before != f"sha256:{found}":
        check_folder(target)  # may hold what an earlier archive held
        with replace_file(mark) as file:
            file.write(found.encode())
    if not target.is_dir():
        unpack(archive, target)
    return Fetched(target / entry.below, found, "checksum" if expected else "first use")


def unpack(archive: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Unpack a zip or tar archive into a new or empty folder, whole or not at all.

    Names that lead out of the folder are refused, and so are links that do, devices,
    and archives that unpack to far more than their size.
    """
    archive, folder = Path(archive), Path(folder)
    with replace_folder(folder) as draft, damaged_file(archive, "the archive"):
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                entries = zipped.infolist()
                _check_entries(archive, ((e.filename, e.file_size) for e in entries))
                zipped.extractall(draft)
        else:
            with tarfile.open(archive, "r:*") as tar:
                _check_entries(archive, ((entry.name, entry.size) for entry in tar))
                tar.extractall(draft, filter="data")
    return folder


def _check_entries(archive: Path, entries: Iterable[tuple[str, int]]) -> None:
    total = 0
    for name, size in entries:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name[:2]:
            raise ValueError(
                f"{archive} holds {name!r}, which leads out of its folder."
            )
        total += size
        check_unpacked(total, archive.stat().st_size, archive)
