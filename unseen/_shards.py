"""Rows kept on disk by a digest of what they were made from.

    <folder>/<SHA-256>.safetensors      one shard per flush
        digests     (n, digest_size)    of what each row was made from
        ...         what is kept of each, by the cache that says what

A shard is written whole or not at all and never changed, so a run may be killed at
any moment, and several may go on at once. What was flushed is never made again.

A shard is checked as a whole before its first row is used. One that fails its checksum
is set aside and its rows are made again; one that cannot be read just now is left
alone.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unseen._kept import DamagedFileError, find_kept, keep, read_kept, set_aside
from unseen._places import private_folder

__all__ = ["Shards", "read_digests"]

OPEN_SHARDS = 8  # kept in memory while reading
SUFFIX = ".safetensors"


class Shards:
    """What is kept of photos or texts, by their digests.

    A cache says how it packs what it keeps into arrays, and how it unpacks them.

    Parameters
    ----------
    folder : path
        Made for its user alone, if need be.
    """

    things: str  # what has digests, for messages
    digest_size: int

    def __init__(self, folder: Path) -> None:
        self.folder = private_folder(folder)
        self._place: dict[bytes, tuple[Path, int]] = {}
        self._waiting: dict[bytes, Any] = {}
        self._sound: set[Path] = set()
        self._read = lru_cache(OPEN_SHARDS)(self._read_shard)
        for path in find_kept(self.folder, "", SUFFIX):
            self._take_up(path)

    def _pack(self, kept: Sequence[Any]) -> dict[str, np.ndarray]:
        raise NotImplementedError

    def _unpack(self, parts: dict[str, np.ndarray]) -> Any:
        """Return a shard; raise TypeError, KeyError or ValueError if it is none."""
        raise NotImplementedError

    def __contains__(self, digest: bytes) -> bool:
        if digest in self._waiting or digest not in self._place:
            return digest in self._waiting
        path, _row = self._place[digest]
        if path in self._sound or self._is_sound(path):
            return True
        self._place = {d: p for d, p in self._place.items() if p[0] != path}
        return False

    def flush(self) -> None:
        """Write what is not on disk yet."""
        if not self._waiting:
            return
        from safetensors.numpy import save

        digests = np.frombuffer(b"".join(self._waiting), np.uint8)
        shard = {"digests": digests.reshape(-1, self.digest_size)}
        shard |= self._pack(list(self._waiting.values()))
        path = keep(self.folder, "", SUFFIX, save(shard))
        self._sound.add(path)
        self._place |= {digest: (path, i) for i, digest in enumerate(self._waiting)}
        self._waiting = {}

    def _find(self, digest: bytes) -> tuple[Any, int]:
        """Return the shard of something on disk, and its row there."""
        path, row = self._place[digest]
        return self._read(path), row

    def _take_up(self, path: Path) -> None:
        """Note what a shard says it has; it is checked when one of it is wanted."""
        try:
            digests = read_digests(path, self.digest_size)
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
            set_aside(path, f"Its {self.things} are encoded again.")
            return False
        except (OSError, MemoryError, ValueError) as error:
            self._leave(path, error)
            return False
        self._sound.add(path)
        return True

    def _leave(self, path: Path, error: BaseException) -> None:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        warnings.warn(
            f"{path}: is left as it is and not used now ({reason}). Its {self.things} "
            "are encoded again.",
            stacklevel=2,
        )

    def _read_shard(self, path: Path) -> Any:
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            return self._unpack(load(read_kept(path)))
        except (SafetensorError, TypeError, KeyError) as error:
            raise ValueError(f"it is no shard of {self.things}: {error}") from error


def read_digests(path: Path, size: int) -> np.ndarray:
    """Return the digests a shard says it has, (n, size), unchecked.

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
        return np.frombuffer(file.read(end - start), np.uint8).reshape(-1, size)
