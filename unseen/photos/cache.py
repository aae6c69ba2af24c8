"""Features and thumbnails kept on disk by the content of their photo.

    features/<encoder>-<version>/<random>.safetensors      one shard per flush
        digests     (n, 32)          SHA-256 of each file
        features    (n, dimension)
        thumbnails  (total bytes,)   JPEGs end to end
        ends        (n,)             where each of them ends

A shard is written whole or not at all and never changed, so a run may be killed at
any moment, and several may go on at once. What was flushed is never encoded again,
wherever the photo has moved and whatever it is called now.
"""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unseen._files import replace_file
from unseen.loading.parts import needs_extra
from unseen.photos.encoders import ImageEncoder

__all__ = ["FeatureCache", "cache_folder"]

SHARD = 256  # photos; a killed run loses at most so many
OPEN_SHARDS = 8  # kept in memory while reading: 11 MB
BLOCK = 1024  # rows handed out at once


def cache_folder(name: str) -> Path:
    """Return a folder of the cache, made if need be.

    It is in the system's cache folder for this user, or in ``UNSEEN_CACHE`` if that
    is set.

    Examples
    --------
    >>> from unseen.photos.cache import cache_folder
    >>> cache_folder("graphs").is_dir()
    True
    """
    home = os.environ.get("UNSEEN_CACHE")
    if not home:
        try:
            from platformdirs import user_cache_dir
        except ImportError:
            raise needs_extra("platformdirs", "images", "Keeping features") from None
        home = user_cache_dir("unseen")
    folder = Path(home) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class _Shard(NamedTuple):
    digests: np.ndarray
    features: np.ndarray
    thumbnails: np.ndarray
    ends: np.ndarray

    def thumbnail(self, row: int) -> bytes:
        start = self.ends[row - 1] if row else 0
        return self.thumbnails[start : self.ends[row]].tobytes()


class FeatureCache:
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

    def __init__(
        self, encoder: ImageEncoder, folder: str | os.PathLike[str] | None = None
    ) -> None:
        name = f"{encoder.name}-{encoder.version}"
        self.dimension = encoder.dimension
        home = Path(folder) if folder is not None else cache_folder("features")
        self.folder = home / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self._place: dict[bytes, tuple[Path, int]] = {}
        self._waiting: dict[bytes, tuple[np.ndarray, bytes]] = {}
        self._read = lru_cache(OPEN_SHARDS)(self._read_shard)
        for path in sorted(self.folder.glob("*.safetensors")):
            self._take_up(path)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._place or digest in self._waiting

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

    def flush(self) -> None:
        """Write what is not on disk yet."""
        if not self._waiting:
            return
        from safetensors.numpy import save

        rows, pictures = zip(*self._waiting.values(), strict=True)
        shard: dict[str, np.ndarray] = {
            "digests": np.frombuffer(b"".join(self._waiting), np.uint8).reshape(-1, 32),
            "features": np.stack(rows).astype(np.float32, copy=False),
            "thumbnails": np.frombuffer(b"".join(pictures), np.uint8),
            "ends": np.cumsum([len(picture) for picture in pictures], dtype=np.int64),
        }
        path = self.folder / f"{uuid.uuid4().hex}.safetensors"
        with replace_file(path) as file:
            file.write(save(shard))
        self._place |= {digest: (path, i) for i, digest in enumerate(self._waiting)}
        self._waiting = {}

    def blocks(self, digests: Sequence[bytes]) -> Iterator[np.ndarray]:
        """Yield the features of photos in this order, some 1,000 rows at a time."""
        self.flush()
        for start in range(0, len(digests), BLOCK):
            part = digests[start : start + BLOCK]
            block = np.empty((len(part), self.dimension), np.float32)
            for row, digest in zip(block, part, strict=True):
                path, place = self._place[digest]
                row[:] = self._read(path).features[place]
            yield block

    def features(self, digests: Sequence[bytes]) -> np.ndarray:
        """Return the features of photos in this order, (n, dimension) ``float32``."""
        empty = np.empty((0, self.dimension), np.float32)
        return np.concatenate([empty, *self.blocks(digests)])

    def thumbnail(self, digest: bytes) -> bytes:
        """Return the small JPEG of a photo."""
        self.flush()
        path, place = self._place[digest]
        return self._read(path).thumbnail(place)

    def _take_up(self, path: Path) -> None:
        try:
            digests = self._check(path)
        except Exception as error:
            path.unlink(missing_ok=True)
            warnings.warn(
                f"{path}: was damaged and is removed ({error}); its photos are "
                "encoded again.",
                stacklevel=3,
            )
            return
        self._place |= {row.tobytes(): (path, i) for i, row in enumerate(digests)}

    def _check(self, path: Path) -> np.ndarray:
        """Return the digests of a shard whose parts fit together."""
        from safetensors import safe_open

        with safe_open(path, framework="np") as shard:  # checks header and sizes
            digests, ends = shard.get_tensor("digests"), shard.get_tensor("ends")
            shapes = [shard.get_slice(key).get_shape() for key in _Shard._fields]
        n, total = len(digests), int(ends[-1]) if len(ends) else 0
        if shapes != [[n, 32], [n, self.dimension], [total], [n]]:
            raise ValueError("its parts do not fit together")
        return digests

    def _read_shard(self, path: Path) -> _Shard:
        from safetensors.numpy import load_file

        return _Shard(**load_file(path))
