"""Download a public benchmark: resumed, checked by hash, unpacked safely.

The archives, their terms and whom to cite stand in ``benchmarks.json`` beside this
file, with a checksum only if its source is known. Where there is none, the first
download is trusted, its SHA-256 is written down, and later ones must match it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from http.client import HTTPException
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from unseen._words import listed
from unseen.cache import cache_home
from unseen.files import replace_file, replace_folder
from unseen.limits import check_unpacked
from unseen.loading.parts import damaged_file

__all__ = ["CATALOGUE", "Benchmark", "Fetched", "fetch", "unpack"]


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
    catalogue: dict[str, Benchmark] | None = None,
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
    catalogue : dict, optional
        Other archives to choose from.

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
    known = CATALOGUE if catalogue is None else catalogue
    if name not in known:
        raise ValueError(
            f"There is no benchmark {name!r}. Those known are {listed(known)}."
        )
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise ValueError(
            f"sha256={sha256!r} is no SHA-256. Give 64 hexadecimal digits."
        )
    entry, home = known[name], cache_home() if folder is None else Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    notes = home / "checksums.json"
    noted = _read_notes(notes)
    before = noted.get(entry.url)
    expected = f"sha256:{sha256.lower()}" if sha256 else entry.checksum or before
    archive = home / re.sub(r"[^\w.-]", "_", entry.url.rsplit("/", 1)[-1])
    _download(entry.url, archive, expected, before, progress)
    found = _hash_of(archive, "sha256")
    if before != f"sha256:{found}":
        noted[entry.url] = f"sha256:{found}"
        with replace_file(notes) as file:
            file.write(json.dumps(noted, indent=1, sort_keys=True).encode())
    target, mark = home / name, home / f"{name}.sha256"
    if not target.is_dir() or not mark.is_file() or mark.read_text() != found:
        unpack(archive, target)
        with replace_file(mark) as file:
            file.write(found.encode())
    return Fetched(target / entry.below, found, "checksum" if expected else "first use")


def _read_notes(path: Path) -> dict[str, str]:
    """Return the hashes of earlier downloads by address."""
    if not path.is_file():
        return {}
    with damaged_file(path):
        return {str(k): str(v) for k, v in json.loads(path.read_text("utf-8")).items()}


def _hash_of(path: Path, kind: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def _is_one_of(archive: Path, *known: str | None) -> bool:
    """Tell whether a file has one of some hashes, such as ``"md5:..."``."""
    pairs = (one.split(":") for one in known if one)
    return any(_hash_of(archive, kind) == digest for kind, digest in pairs)


def _download(
    url: str,
    archive: Path,
    expected: str | None,
    before: str | None,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Get an archive unless it is there; never over a file that is not ours."""
    if archive.exists() and expected and _is_one_of(archive, expected):
        return
    if archive.exists() and not _is_one_of(archive, before):
        raise FileExistsError(
            f"{archive}: is there already and was not fetched by this program. "
            "Move it away, or give another folder."
        )
    part = archive.with_name(f".unseen-{archive.name}.part")
    for attempt in range(3):
        try:
            _get(url, part, progress)
            break
        except (URLError, ConnectionError, TimeoutError, HTTPException) as error:
            code = error.code if isinstance(error, HTTPError) else 0
            if code == 416:  # what is here is no beginning of it
                part.unlink(missing_ok=True)
            elif 400 <= code < 500:
                raise OSError(
                    f"{url}: the server says {code}. Is the address still right?"
                ) from error
            if attempt == 2:
                have = part.stat().st_size if part.exists() else 0
                reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
                raise OSError(
                    f"{url}: broke off after {have} bytes ({reason}). Run it again to "
                    "go on from there."
                ) from error
    if expected and not _is_one_of(part, expected):
        part.unlink()
        raise ValueError(
            f"{url}: the download is not what was expected: its hash is not "
            f"{expected}. It was thrown away; if the source has changed, give its "
            "SHA-256."
        )
    os.replace(part, archive)
    part.with_suffix(".tag").unlink()


def _get(url: str, part: Path, progress: Callable[[int, int], None] | None) -> None:
    """Download an address, from where the last time stopped if it is still the same."""
    tag = part.with_suffix(".tag")
    have = part.stat().st_size if part.exists() else 0
    version = tag.read_text() if tag.exists() else ""
    headers = {"User-Agent": "unseen"}
    if have and version:
        headers |= {"Range": f"bytes={have}-", "If-Range": version}
    with urlopen(Request(url, headers=headers), timeout=30) as answer:
        have = have if answer.status == 206 else 0
        tag.write_text(
            answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        )
        total = have + int(answer.headers.get("Content-Length") or 0)
        with open(part, "ab" if have else "wb") as file:
            while chunk := answer.read(1 << 14):  # what a broken connection may cost
                have += file.write(chunk)
                if progress is not None:
                    progress(have, total)
    if have < total:
        raise ConnectionError(f"got {have} of {total} bytes")


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
                f"{archive}: holds {name!r}, which leads out of its folder."
            )
        total += size
        check_unpacked(total, archive.stat().st_size, archive)
