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
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unseen._places import cache_home

__all__ = ["Cache"]

NAME = "unseen.sqlite3"
BLOCK = 500  # rows asked for at once


class Cache:
    """What is kept of one encoder.

    Parameters
    ----------
    space : str
        Changes whenever the vectors would.
    folder : path, optional
        Where the file is; by default in the user's cache folder. If nothing can be
        written there, it is kept in memory for this run, with a warning.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from unseen.cache import Cache
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Cache("lite0-1", folder).add([b"photo"], np.ones((1, 3)), [b"jpeg"])
    ...     again = Cache("lite0-1", folder)
    ...     again.known([b"photo"]), again.vectors([b"photo"]), again.picture(b"photo")
    ({b'photo'}, array([[1., 1., 1.]], dtype=float32), b'jpeg')
    """

    def __init__(
        self, space: str, folder: str | os.PathLike[str] | None = None
    ) -> None:
        home = Path(folder) if folder is not None else cache_home()
        self.space, self.path = space, home / NAME
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

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return those keys of which something is kept."""
        return {key for key, _ in self._rows("key", keys)}

    def add(
        self,
        keys: Sequence[bytes],
        vectors: np.ndarray,
        pictures: Sequence[bytes] | None = None,
    ) -> None:
        """Keep a vector, and perhaps a picture, for every key."""
        rows = np.asarray(vectors, dtype=np.float32)
        kept = pictures if pictures is not None else [b""] * len(keys)
        values = [
            (self.space, key, row.tobytes(), picture)
            for key, row, picture in zip(keys, rows, kept, strict=True)
        ]
        with self._faults(), self._file:
            self._file.executemany("REPLACE INTO kept VALUES (?, ?, ?, ?)", values)

    def vectors(self, keys: Sequence[bytes]) -> np.ndarray:
        """Return the vectors of keys that are known, in their order."""
        found = {
            key: np.frombuffer(row, np.float32)
            for key, row in self._rows("vector", list(dict.fromkeys(keys)))
        }
        return np.array([found[key] for key in keys], np.float32)

    def picture(self, key: bytes) -> bytes:
        """Return the picture of a key; b"" if there is none."""
        return next((found for _, found in self._rows("picture", [key])), b"")

    def _rows(self, column: str, keys: Sequence[bytes]) -> Iterator[tuple[bytes, Any]]:
        with self._faults():
            for start in range(0, len(keys), BLOCK):
                part = keys[start : start + BLOCK]
                marks = ", ".join("?" * len(part))
                yield from self._file.execute(
                    f"SELECT key, {column} FROM kept WHERE space = ? AND key IN "
                    f"({marks})",
                    [self.space, *part],
                )

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # a full disk, a file taken away
            raise OSError(f"{self.path}: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{self.path}: is damaged ({error}). Delete it; photos and texts are "
                "then encoded again."
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
            f"{path}: is damaged ({error}) and set aside as {aside}. Photos and texts "
            "are encoded again.",
            stacklevel=4,
        )
        return _opened(path)
