"""Files that must not change while in use, told by size and time of writing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


class Files:
    """Files that are in use, as they were when that began.

    Parameters
    ----------
    stamps : dict
        For each path what :func:`stamp` found, or None to look now.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.watch import Files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows"
    ...     _ = path.write_text("1 2")
    ...     files = Files({path: None})
    ...     files.check()
    ...     _ = path.write_text("1 2 3")
    ...     files.check()
    Traceback (most recent call last):
    ...
    ValueError: .../rows: changed while it was in use. ...
    """

    def __init__(self, stamps: dict[Path, tuple | None]):
        self.stamps = {path: found or stamp(path) for path, found in stamps.items()}

    def check(self) -> None:
        """Raise if a file is no longer what it was."""
        for path, before in self.stamps.items():
            if stamp(path) != before:
                raise ValueError(
                    f"{path}: changed while it was in use. Start again once nothing "
                    "writes to it any more."
                )


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what tells a file from the same one changed; None if it is gone."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def watched(chunks: Iterable[Any], files: Files) -> Iterator[Any]:
    """Yield chunks that are read from files, as long as these stay what they were."""
    files.check()
    try:
        for chunk in chunks:
            files.check()
            yield chunk
    except Exception:
        files.check()  # tells the reason, if this is it
        raise
