"""Vectors of texts kept on disk, by what the text says.

    texts/<encoder>-<version>/<SHA-256>.safetensors     one shard per flush
        digests  (n, 16)         BLAKE2b of each text
        vectors  (n, dimension)

A shard is written whole or not at all and never changed, so a run may be killed at any
moment. A text that was encoded before is not encoded again, in whatever file it stands
now. A shard that fails its checksum is set aside, and its texts are encoded again.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unseen._kept import DamagedFileError, find_kept, keep, read_kept, set_aside
from unseen._places import cache_folder, private_folder
from unseen.texts.encoders import encode, encoder_name, encoder_version

__all__ = ["TextCache", "digest"]

SHARD = 4096  # texts; a killed run loses at most so many
OPEN_SHARDS = 8
SUFFIX = ".safetensors"


def digest(text: str) -> bytes:
    """Return 16 bytes that tell a text from all others.

    Examples
    --------
    >>> from unseen.texts.cache import digest
    >>> digest("okapi").hex()[:8], digest("okapi ") == digest("okapi")
    ('eec767ca', False)
    """
    told = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(told, digest_size=16).digest()


class TextCache:
    """An encoder that remembers on disk what it has read.

    Parameters
    ----------
    encoder : TextEncoder
        Each name and version has a folder of its own.
    folder : path, optional
        Where to keep it; by default in the user's cache folder.

    Examples
    --------
    >>> import tempfile
    >>> from unseen.texts.cache import TextCache
    >>> from unseen.texts.encoders import find_encoder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = TextCache(find_encoder(), folder)
    ...     rows = first.encode(["my card is lost"])
    ...     first.flush()
    ...     again = TextCache(find_encoder(), folder)
    ...     bool((again.encode(["my card is lost"]) == rows).all()), again.n_new
    (True, 0)
    """

    space: str | None = None

    def __init__(
        self, encoder: Any, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.encoder, self.name = encoder, encoder_name(encoder)
        safe = re.sub(r"[^\w.-]+", "_", self.name)[-80:]
        home = Path(folder) if folder is not None else cache_folder("texts")
        self.folder = private_folder(home / f"{safe}-{encoder_version(encoder)}")
        self.n_new = 0
        self._place: dict[bytes, tuple[Path, int]] = {}
        self._waiting: dict[bytes, np.ndarray] = {}
        self._read = lru_cache(OPEN_SHARDS)(_read_shard)
        for path in find_kept(self.folder, "", SUFFIX):
            self._take_up(path)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into n rows, from the disk where they are known."""
        digests = [digest(text) for text in texts]
        new = {
            one: text
            for one, text in zip(digests, texts, strict=True)
            if one not in self._place and one not in self._waiting
        }
        if new:
            rows = encode(self.encoder, list(new.values()))
            self._waiting |= dict(zip(new, rows, strict=True))
            self.n_new += len(new)
        found = [self._row(one) for one in digests]
        if len(self._waiting) >= SHARD:
            self.flush()
        return np.stack(found) if found else np.zeros((0, 1), np.float32)

    def flush(self) -> None:
        """Write what is not on disk yet."""
        if not self._waiting:
            return
        from safetensors.numpy import save

        told = b"".join(self._waiting)
        shard: dict[str, np.ndarray] = {
            "digests": np.frombuffer(told, np.uint8).reshape(-1, 16),
            "vectors": np.stack(list(self._waiting.values())),
        }
        path = keep(self.folder, "", SUFFIX, save(shard))
        self._place |= {one: (path, row) for row, one in enumerate(self._waiting)}
        self._waiting = {}

    def _row(self, one: bytes) -> np.ndarray:
        if one in self._waiting:
            return self._waiting[one]
        path, row = self._place[one]
        return self._read(path)[1][row]

    def _take_up(self, path: Path) -> None:
        try:
            digests, _ = self._read(path)
        except DamagedFileError:
            set_aside(path, "Its texts are encoded again.")
        else:
            rows = enumerate(digests)
            self._place |= {one.tobytes(): (path, row) for row, one in rows}


def _read_shard(path: Path) -> tuple[np.ndarray, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        shard = load(read_kept(path))
        digests, vectors = shard["digests"], shard["vectors"]
    except (SafetensorError, KeyError) as error:
        raise DamagedFileError(f"{path}: is no shard of vectors ({error}).") from error
    if digests.shape != (len(vectors), 16) or vectors.ndim != 2:
        raise DamagedFileError(f"{path}: has parts that do not fit.")
    return digests, vectors
