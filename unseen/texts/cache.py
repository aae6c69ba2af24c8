"""Vectors of texts kept on disk, by what the text says.

    texts/<encoder>-<version>/<SHA-256>.safetensors     see _shards.py
        digests  (n, 16)         BLAKE2b of each text
        vectors  (n, dimension)

A text that was encoded before is not encoded again, in whatever file it stands now.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unseen._places import cache_folder
from unseen._shards import Shards
from unseen.texts.encoders import encode, encoder_name, encoder_version

__all__ = ["TextCache", "digest"]

SHARD = 4096  # texts; a killed run loses at most so many


def digest(text: str) -> bytes:
    """Return 16 bytes that tell a text from all others.

    Examples
    --------
    >>> from unseen.texts.cache import digest
    >>> digest("okapi").hex()[:8], digest("okapi ") == digest("okapi")
    ('eec767ca', False)
    """
    content = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).digest()


class TextCache(Shards):
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

    things, digest_size = "texts", 16
    space: str | None = None

    def __init__(
        self, encoder: Any, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.encoder, self.name = encoder, encoder_name(encoder)
        safe = re.sub(r"[^\w.-]+", "_", self.name)[-80:]
        home = Path(folder) if folder is not None else cache_folder("texts")
        super().__init__(home / f"{safe}-{encoder_version(encoder)}")
        self.n_new = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Turn n texts into n rows, from the disk where they are known."""
        digests = [digest(text) for text in texts]
        new = {
            one: text
            for one, text in zip(digests, texts, strict=True)
            if one not in self
        }
        if new:
            rows = encode(self.encoder, list(new.values()))
            self._waiting |= dict(zip(new, rows, strict=True))
            self.n_new += len(new)
        found = [self._row(one) for one in digests]
        if len(self._waiting) >= SHARD:
            self.flush()
        return np.stack(found) if found else np.zeros((0, 1), np.float32)

    def _row(self, one: bytes) -> np.ndarray:
        if one in self._waiting:
            return self._waiting[one]
        vectors, row = self._find(one)
        return vectors[row]

    def _pack(self, kept: Sequence[Any]) -> dict[str, np.ndarray]:
        return {"vectors": np.stack(kept)}

    def _unpack(self, parts: dict[str, np.ndarray]) -> np.ndarray:
        digests, vectors = parts["digests"], parts["vectors"]
        if digests.shape != (len(vectors), 16) or vectors.ndim != 2:
            raise ValueError("its digests and vectors do not fit")
        return vectors
