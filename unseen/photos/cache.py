"""Features and thumbnails kept on disk by the content of their photo.

    features/<encoder>-<version>-<views>/<SHA-256>.safetensors      see _shards.py
        digests     (n, 32)          SHA-256 of each file
        features    (n, dimension)
        pictures    (total bytes,)   JPEGs of the whole photos, small, end to end
        ends        (n,)             where each of them ends

A photo is known wherever it has moved and whatever it is called now.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen._places import cache_folder
from unseen._shards import Shards
from unseen._words import listed
from unseen.photos.encoders import ImageEncoder

__all__ = ["FeatureCache"]

SHARD = 256  # photos; a killed run loses at most so many
BLOCK = 1024  # rows handed out at once
VIEWS = 3  # raise it when the way photos are cut for an encoder changes


class _Shard(NamedTuple):
    digests: np.ndarray
    features: np.ndarray
    pictures: np.ndarray
    ends: np.ndarray

    def thumbnail(self, row: int) -> bytes:
        start = self.ends[row - 1] if row else 0
        return self.pictures[start : self.ends[row]].tobytes()


class FeatureCache(Shards):
    """What an image encoder has seen, by SHA-256 of the file.

    Parameters
    ----------
    encoder : ImageEncoder
        Each name and version has a folder of its own.
    folder : path, optional
        Where to keep it; by default in the user's cache folder.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from unseen.photos import image_encoder
    >>> from unseen.photos.cache import FeatureCache
    >>> encoder, digest = image_encoder("lite0"), bytes(32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = FeatureCache(encoder, folder)
    ...     cache.add([digest], np.ones((1, 1280), np.float32), [b"jpeg"])
    ...     cache.flush()
    ...     again = FeatureCache(encoder, folder)
    ...     digest in again, again.features([digest]).shape, again.thumbnail(digest)
    (True, (1, 1280), b'jpeg')
    """

    things, digest_size = "photos", 32

    def __init__(
        self, encoder: ImageEncoder, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.dimension = encoder.dimension
        home = Path(folder) if folder is not None else cache_folder("features")
        super().__init__(home / f"{encoder.name}-{encoder.version}-{VIEWS}")

    def __len__(self) -> int:
        return len(self._place) + len(self._waiting)

    def add(
        self,
        digests: Sequence[bytes],
        features: np.ndarray,
        thumbnails: Sequence[bytes],
    ) -> None:
        """Keep the features and thumbnails of some photos."""
        rows = zip(digests, features, thumbnails, strict=True)
        self._waiting |= {d: (row, picture) for d, row, picture in rows}
        if len(self._waiting) >= SHARD:
            self.flush()

    def blocks(self, digests: Sequence[bytes]) -> Iterator[np.ndarray]:
        """Yield the features of photos in this order, some 1,000 rows at a time."""
        self.flush()
        for start in range(0, len(digests), BLOCK):
            part = digests[start : start + BLOCK]
            block = np.empty((len(part), self.dimension), np.float32)
            for row, digest in zip(block, part, strict=True):
                shard, place = self._find(digest)
                row[:] = shard.features[place]
            yield block

    def features(self, digests: Sequence[bytes]) -> np.ndarray:
        """Return the features of photos in this order, (n, dimension) ``float32``."""
        empty = np.empty((0, self.dimension), np.float32)
        return np.concatenate([empty, *self.blocks(digests)])

    def thumbnail(self, digest: bytes) -> bytes:
        """Return the small JPEG of a photo."""
        self.flush()
        shard, place = self._find(digest)
        return shard.thumbnail(place)

    def _pack(self, kept: Sequence[Any]) -> dict[str, np.ndarray]:
        rows, pictures = zip(*kept, strict=True)
        return {
            "features": np.stack(rows).astype(np.float32, copy=False),
            "pictures": np.frombuffer(b"".join(pictures), np.uint8),
            "ends": np.cumsum([len(picture) for picture in pictures], dtype=np.int64),
        }

    def _unpack(self, parts: dict[str, np.ndarray]) -> _Shard:
        shard = _Shard(**parts)
        n, total = len(shard.digests), int(shard.ends[-1]) if len(shard.ends) else 0
        shapes = [part.shape for part in shard]
        wanted = [(n, 32), (n, self.dimension), (total,), (n,)]
        if shapes != wanted:
            raise ValueError(
                f"its parts have shapes {listed(shapes)}, not {listed(wanted)}; an "
                "encoder that gives other features needs another version"
            )
        return shard
