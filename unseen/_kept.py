"""Files of the cache carry the SHA-256 of their content in their name.

    <stem><64 hexadecimal digits><suffix>

Whatever is read back is checked against it, so a flipped bit is noticed before it
becomes an answer. A file that fails is renamed, never deleted; one that merely cannot
be read just now (no memory, too many open files) stays where it is.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from pathlib import Path

from unseen.files import replace_file

__all__ = [
    "DamagedFileError",
    "find_kept",
    "keep",
    "read_kept",
    "set_aside",
]

DIGEST = re.compile(r"[0-9a-f]{64}$")


class DamagedFileError(ValueError):
    """The content of a file is not what was written."""


def keep(folder: Path, stem: str, suffix: str, content: bytes) -> Path:
    """Write a file whole or not at all, under a name that tells its content.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen._kept import find_kept, keep, read_kept
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = keep(Path(folder), "note-", ".txt", b"whole")
    ...     path.name[:13], read_kept(path), find_kept(Path(folder), "", ".txt")
    ('note-5d5766cf', b'whole', [])
    """
    digest = hashlib.sha256(content).hexdigest()
    path = folder / f"{stem}{digest}{suffix}"
    with replace_file(path) as file:
        file.write(content)
    return path


def find_kept(folder: Path, stem: str, suffix: str) -> list[Path]:
    """Return the files of one stem that carry a digest, in the order of their names."""
    return sorted(
        path
        for path in folder.glob(f"*{suffix}")
        if path.name.startswith(stem)
        and DIGEST.match(path.name[len(stem) : -len(suffix)])
    )


def read_kept(path: Path) -> bytes:
    """Return the content of a kept file, or raise if it is not what was written."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != path.stem[-64:]:
        raise DamagedFileError(
            f"{path}: its SHA-256 is {found[:8]}..., not {path.stem[-64:][:8]}...."
        )
    return content


def set_aside(path: Path, consequence: str) -> None:
    """Rename a damaged file so that it is not read again, and say so."""
    aside = path.with_name(f"{path.name}.damaged")
    try:
        os.replace(path, aside)
    except FileNotFoundError:  # another run was quicker
        return
    warnings.warn(
        f"{path}: failed its checksum and is set aside as {aside.name}. {consequence}",
        stacklevel=2,
    )
