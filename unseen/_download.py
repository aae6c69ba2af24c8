"""Downloads that are resumed where they broke off, and checked by a hash."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from unseen.files import named


def hash_of(path: Path, kind: str = "sha256") -> str:
    """Return the hash of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def has_hash(path: Path, expected: str) -> bool:
    """Tell whether a file has a hash, such as ``"md5:..."``."""
    kind, digest = expected.split(":")
    return hash_of(path, kind) == digest


def download(
    url: str,
    archive: Path,
    expected: str | None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Get a file unless it is there; never over one that is there.

    It gets its name when it is whole and has the hash that is ``expected``, such as
    ``"sha256:..."``, if one is.
    """
    if archive.exists():
        if expected and has_hash(archive, expected):
            return
        raise FileExistsError(
            f"{archive} is there already, and is not what would be fetched. "
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
                    f"The download of {url} broke off after {have} bytes ({reason}). "
                    "Run it again to continue."
                ) from error
    part.with_suffix(".tag").unlink()
    if expected and not has_hash(part, expected):
        part.unlink()
        raise ValueError(
            f"{url}: the download is not what was expected: its hash is not "
            f"{expected}. It was thrown away; if the source has changed, give its "
            "SHA-256."
        )
    os.replace(part, archive)


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
        said = answer.headers
        tag.write_text(said.get("ETag") or said.get("Last-Modified") or "")
        total = have + int(said.get("Content-Length") or 0)
        with open(part, "ab" if have else "wb", buffering=0) as file:
            while chunk := answer.read(1 << 14):  # what a broken connection may cost
                with named(part):
                    have += file.write(chunk)
                if progress is not None:
                    progress(have, total)
    if have < total:
        raise ConnectionError(f"got {have} of {total} bytes")
