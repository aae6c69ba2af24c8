"""Download a public benchmark: resumed, checked by hash, unpacked safely.

pooch checks the hash and moves the file to its place; the downloader here goes on
where a broken one stopped.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from unseen._command import needs_extra
from unseen._words import listed
from unseen.files import replace_file
from unseen.loading.archives import unpack
from unseen.loading.catalogue import CATALOGUE, Benchmark

__all__ = ["Fetched", "fetch"]

LOCK = "checksums.json"
ATTEMPTS = 3
TIMEOUT = 30
CHUNK = 1 << 14  # what a broken connection may cost


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
        A name of :data:`unseen.loading.catalogue.CATALOGUE`.
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
    pooch = _pooch()
    entry = known[name]
    home = Path(folder) if folder is not None else Path(pooch.os_cache("unseen"))
    home.mkdir(parents=True, exist_ok=True)
    lock = _read_lock(home / LOCK)
    expected = f"sha256:{sha256.lower()}" if sha256 else entry.checksum
    expected = expected or lock.get(entry.url)
    _check_own(pooch, _archive_of(entry, home), expected, lock.get(entry.url))
    archive = _download(pooch, entry, home, expected, progress)
    found = pooch.file_hash(str(archive), alg="sha256")
    if lock.get(entry.url) != f"sha256:{found}":
        lock[entry.url] = f"sha256:{found}"
        with replace_file(home / LOCK) as file:
            file.write(json.dumps(lock, indent=1, sort_keys=True).encode())
    target = home / name
    mark = home / f"{name}.sha256"
    unpacked = mark.read_text().strip() if mark.is_file() else ""
    if not target.is_dir() or unpacked != found:
        unpack(archive, target)
        with replace_file(mark) as file:
            file.write(f"{found}\n".encode())
    trust = "checksum" if expected else "first use"
    return Fetched(target / entry.below if entry.below else target, found, trust)


def _archive_of(entry: Benchmark, home: Path) -> Path:
    """Return where the archive of a benchmark is kept."""
    name = re.sub(r"[^\w.-]", "_", entry.url.rsplit("/", 1)[-1])
    return home / (name or "archive")


def _part_of(archive: Path) -> Path:
    return archive.with_name(f"{archive.name}.part")


def _check_own(
    pooch: Any, archive: Path, expected: str | None, written: str | None
) -> None:
    """Refuse to replace, or to trust, a file of that name which was not fetched here.

    One that has the expected hash will do, wherever it comes from.
    """
    part = _part_of(archive)
    if part.exists() and not _tag(part).exists():  # ours has one before it is there
        raise not_fetched(part)
    if not archive.exists():
        return
    for known in filter(None, (expected, written)):
        kind, _, digest = known.rpartition(":")
        if archive.is_file() and digest == pooch.file_hash(
            str(archive), alg=kind or "sha256"
        ):
            return
    raise not_fetched(archive)


def not_fetched(path: Path) -> FileExistsError:
    """Return the error for a file in the way of a download."""
    return FileExistsError(
        f"{path}: is there already and was not fetched by this program. "
        "Move it away, or give another folder."
    )


def _download(
    pooch: Any, entry: Benchmark, home: Path, expected: str | None, progress: Any
) -> Path:
    target = _archive_of(entry, home)
    part = _part_of(target)
    try:
        path = pooch.retrieve(
            entry.url,
            known_hash=expected,
            fname=target.name,
            path=home,
            downloader=_Resuming(part, progress),
        )
    except ValueError as error:
        part.unlink(missing_ok=True)
        if "hash" not in str(error):
            raise
        raise ValueError(
            f"{entry.url}: the download is not what was expected: its hash is not "
            f"{expected}. It was thrown away; if the source has changed, give its "
            "SHA-256."
        ) from error
    part.unlink(missing_ok=True)
    _tag(part).unlink(missing_ok=True)
    return Path(path)


class _Resuming:
    """A downloader for pooch that keeps what it has and asks for the rest."""

    def __init__(self, part: Path, progress: Any) -> None:
        self.part, self.progress = part, progress

    def __call__(self, url: str, output_file: str, pooch: Any, **_: Any) -> None:
        import requests

        reason = ""
        for _attempt in range(ATTEMPTS):
            try:
                self._get(requests, url)
            except (requests.RequestException, EOFError) as error:
                status = getattr(getattr(error, "response", None), "status_code", 0)
                if 400 <= status < 500:
                    raise OSError(
                        f"{url}: the server says {status}. Is the address still right?"
                    ) from error
                reason = f"{type(error).__name__}: {error}"
                continue
            os.replace(self.part, output_file)
            return
        have = self.part.stat().st_size if self.part.exists() else 0
        raise OSError(
            f"{url}: broke off after {have} bytes ({' '.join(reason.split())[:200]}). "
            "Run it again to go on from there."
        )

    def _get(self, requests: Any, url: str) -> None:
        have = self.part.stat().st_size if self.part.exists() else 0
        tag = _tag(self.part).read_text() if _tag(self.part).exists() else ""
        headers = {"Accept-Encoding": "identity"}
        if have and tag:
            headers |= {"Range": f"bytes={have}-", "If-Range": tag}
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if answer.status_code == 416:  # what is here is no beginning of it
                self.part.unlink(missing_ok=True)
                raise EOFError("the server refused to go on; starting anew")
            answer.raise_for_status()
            resumed = answer.status_code == 206
            have = have if resumed else 0
            _tag(self.part).write_text(
                answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
            )
            total = have + int(answer.headers.get("Content-Length") or 0)
            with open(self.part, "ab" if resumed else "wb") as file:
                for chunk in answer.iter_content(CHUNK):
                    file.write(chunk)
                    have += len(chunk)
                    if self.progress is not None:
                        self.progress(have, total)
        if total and have < total:
            raise EOFError(f"got {have} of {total} bytes")


def _tag(part: Path) -> Path:
    return part.with_name(part.name + ".tag")


def _read_lock(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        lock = json.loads(path.read_text("utf-8"))
    except ValueError:
        lock = None
    if not isinstance(lock, dict) or not all(isinstance(v, str) for v in lock.values()):
        raise ValueError(
            f"{path}: is damaged. Remove it; hashes are then written down anew."
        )
    return lock


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise needs_extra("pooch", "files", "Fetching a benchmark") from None
    pooch.get_logger().setLevel("WARNING")
    return pooch
