"""What encoders made of photos and texts, kept by content in one SQLite file.

    space      encoder and version, so that no two encoders mix
    key        digest of the photo's file, or of the text
    vector     its features, float32
    picture    a small JPEG of a photo; for other content, the content itself

A photo or text is known wherever it has moved and whatever it is called now. What was
added is on disk at once, so a run may be killed at any moment, and several may go on
together.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

NAME = "unseen.sqlite3"


def cache_home() -> Path:
    """Return the user's cache folder, or ``UNSEEN_CACHE``; it may not be there yet."""
    if given := os.environ.get("UNSEEN_CACHE"):
        return Path(given)
    home = Path.home()
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        cache = home / "Library" / "Caches"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
        cache = cache if cache.is_absolute() else home / ".cache"
    return cache / "unseen"


class Cache:
    """What is kept of one encoder, in ``folder`` or else in the user's cache folder.

    ``space`` changes whenever the vectors would. If nothing can be written there, it is
    kept in memory for this run, with a warning.
    """

    def __init__(
        self, space: str, folder: str | os.PathLike[str] | None = None
    ) -> None:
        home = Path(folder) if folder is not None else cache_home()
        self.space, self.path, self._lock = space, home / NAME, threading.Lock()
        try:
            home.mkdir(0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))  # no one else's
            self._file = _opened(self.path)
        except (OSError, sqlite3.OperationalError) as error:
            warnings.warn(
                f"{self.path}: nothing is kept there ({error}). The next run encodes "
                "everything again.",
                stacklevel=3,
            )
            self._file = _opened(":memory:")
        weakref.finalize(self, self._file.close)  # Python 3.13 warns of open ones

    def __contains__(self, key: Any) -> bool:
        return bool(self._rows("key", [key]))

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return those keys of which something is kept."""
        return set(self._rows("key", keys))

    def add(
        self,
        keys: Sequence[bytes],
        vectors: np.ndarray,
        pictures: Sequence[bytes] | None = None,
    ) -> None:
        """Keep a vector, and perhaps a picture, for every key."""
        rows = [row.tobytes() for row in np.asarray(vectors, dtype=np.float32)]
        kept = pictures if pictures is not None else [b""] * len(keys)
        values = zip([self.space] * len(keys), keys, rows, kept, strict=True)
        with self._lock, self._faults(), self._file:
            self._file.executemany("REPLACE INTO kept VALUES (?, ?, ?, ?)", values)

    def vectors(self, keys: Sequence[bytes]) -> np.ndarray:
        """Return the vectors of keys that are known, in their order."""
        found = self._rows("vector", list(dict.fromkeys(keys)))
        return np.array([np.frombuffer(found[key], np.float32) for key in keys])

    def picture(self, key: bytes) -> bytes:
        """Return the picture of a key; b"" if there is none."""
        return self._rows("picture", [key]).get(key, b"")

    def _rows(self, column: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), 500):  # SQLite takes so many at once
            part = keys[start : start + 500]
            asked = f"SELECT key, {column} FROM kept WHERE space = ? AND key IN "
            asked += f"({', '.join('?' * len(part))})"
            with self._lock, self._faults():
                found.update(self._file.execute(asked, [self.space, *part]))
        return found

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, a file taken away
            raise OSError(f"{self.path}: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{self.path} is damaged ({error}). Delete it to encode again."
            ) from error


def _opened(path: Path | str) -> sqlite3.Connection:
    """Open the file; set one aside that is none of ours."""
    try:
        # Another run may be writing: wait for it, a minute at most.
        file = sqlite3.connect(path, timeout=60, check_same_thread=False)
        file.execute(
            "CREATE TABLE IF NOT EXISTS kept (space TEXT, key BLOB, vector BLOB, "
            "picture BLOB, PRIMARY KEY (space, key))"
        )
        file.execute("SELECT space, key, vector, picture FROM kept LIMIT 1").fetchall()
        return file
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        aside = f"{path}.damaged"
        file.close()
        os.replace(path, aside)
        warnings.warn(
            f"{path} is damaged ({error}) and was renamed to {aside}. Photos and texts "
            "are encoded again.",
            stacklevel=4,
        )
        return _opened(path)
