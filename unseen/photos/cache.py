"""Features and thumbnails kept on disk by the content of their photo.

    features/<encoder>-<version>-<views>/<SHA-256>.safetensors      one shard per flush
        digests     (n, 32)          SHA-256 of each file
        features    (n, dimension)
        pictures    (total bytes,)   JPEGs of the whole photos, small, end to end
        ends        (n,)             where each of them ends

A shard is written whole or not at all and never changed, so a run may be killed at
any moment, and several may go on at once. What was flushed is never encoded again,
wherever the photo has moved and whatever it is called now.

A shard is checked as a whole before its first row is used. One that fails its checksum
is set aside and its photos are encoded again; one that cannot be read just now is left
alone.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen._kept import DamagedFileError, find_kept, keep, read_kept, set_aside
from unseen._places import cache_folder, private_folder
from unseen._words import listed
from unseen.photos.encoders import ImageEncoder

__all__ = ["FeatureCache"]

SHARD = 256  # photos; a killed run loses at most so many
OPEN_SHARDS = 8  # kept in memory while reading: 20 MB
BLOCK = 1024  # rows handed out at once
VIEWS = 2  # raise it when the way photos are cut for an encoder changes
SUFFIX = ".safetensors"


class _Shard(NamedTuple):
    digests: np.ndarray
    features: np.ndarray
    pictures: np.ndarray
    ends: np.ndarray

    def thumbnail(self, row: int) -> bytes:
        start = self.ends[row - 1] if row else 0
        return self.pictures[start : self.ends[row]].tobytes()


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
        name = f"{encoder.name}-{encoder.version}-{VIEWS}"
        self.dimension = encoder.dimension
        home = Path(folder) if folder is not None else cache_folder("features")
        self.folder = private_folder(home / name)
        self._place: dict[bytes, tuple[Path, int]] = {}
        self._waiting: dict[bytes, tuple[np.ndarray, bytes]] = {}
        self._sound: set[Path] = set()
        self._read = lru_cache(OPEN_SHARDS)(self._read_shard)
        for path in find_kept(self.folder, "", SUFFIX):
            self._take_up(path)

    def __contains__(self, digest: bytes) -> bool:
        if digest in self._waiting or digest not in self._place:
            return digest in self._waiting
        path, _row = self._place[digest]
        if path in self._sound or self._is_sound(path):
            return True
        self._place = {d: p for d, p in self._place.items() if p[0] != path}
        return False

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
            "pictures": np.frombuffer(b"".join(pictures), np.uint8),
            "ends": np.cumsum([len(picture) for picture in pictures], dtype=np.int64),
        }
        path = keep(self.folder, "", SUFFIX, save(shard))
        self._sound.add(path)
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
        """Note which photos a shard says it has; it is checked when one is wanted."""
        try:
            digests = read_digests(path)
        except (OSError, MemoryError) as error:
            self._leave(path, error)
        except (ValueError, KeyError, TypeError):  # what a damaged header ends in
            self._is_sound(path)
        else:
            rows = enumerate(digests)
            self._place |= {row.tobytes(): (path, i) for i, row in rows}

    def _is_sound(self, path: Path) -> bool:
        """Tell whether a shard can be used; set it aside if it is damaged."""
        try:
            self._read(path)
        except DamagedFileError:
            set_aside(path, "Its photos are encoded again.")
            return False
        except (OSError, MemoryError, ValueError) as error:
            self._leave(path, error)
            return False
        self._sound.add(path)
        return True

    def _leave(self, path: Path, error: BaseException) -> None:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        warnings.warn(
            f"{path}: is left as it is and not used now ({reason}). Its photos are "
            "encoded again.",
            stacklevel=2,
        )

    def _read_shard(self, path: Path) -> _Shard:
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            parts: dict[str, Any] = load(read_kept(path))
            shard = _Shard(**parts)
        except (SafetensorError, TypeError) as error:
            raise ValueError(f"it is no shard of features: {error}") from error
        n, total = len(shard.digests), int(shard.ends[-1]) if len(shard.ends) else 0
        shapes = [part.shape for part in shard]
        wanted = [(n, 32), (n, self.dimension), (total,), (n,)]
        if shapes != wanted:
            raise ValueError(
                f"its parts have shapes {listed(shapes)}, not {listed(wanted)}; an "
                "encoder that gives other features needs another version"
            )
        return shard


def read_digests(path: Path) -> np.ndarray:
    """Return the digests a shard says it has, (n, 32), unchecked.

    A shard starts with the length of its header and the header, as JSON; only these
    and the digests are read.
    """
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > os.fstat(file.fileno()).st_size:
            raise ValueError("the header is longer than the file")
        start, end = json.loads(file.read(length))["digests"]["data_offsets"]
        if not 0 <= start <= end <= os.fstat(file.fileno()).st_size:
            raise ValueError("the digests are outside of the file")
        file.seek(8 + length + start)
        return np.frombuffer(file.read(end - start), np.uint8).reshape(-1, 32)
