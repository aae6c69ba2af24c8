"""From a folder to features: look, decode, encode, each while the next one works.

    files → [threads: hash] → already known?  ─ yes → cache
                                   │ no
                    [processes: decode] → batches → encoder → cache

At every arrow only a few photos wait, so memory does not grow with the folder.
"""

from __future__ import annotations

import os
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from unseen.files import replace_file
from unseen.photos.cache import FeatureCache
from unseen.photos.decode import BATCH, Decoder
from unseen.photos.encoders import ImageEncoder, image_encoder
from unseen.photos.folder import Found, Skipped, find_photos, look_at
from unseen.photos.photo import Square

__all__ = ["EncodedFolder", "encode_folder", "write_features"]

LOOKERS = 4  # threads that read and hash files

Progress = Callable[[int, int], None]


@dataclass(eq=False)
class EncodedFolder:
    """The photos of a folder, their features and thumbnails, and what was skipped.

    Attributes
    ----------
    folder : Path
    paths : list of str
        Photos, relative to the folder, in order.
    digests : list of bytes
        SHA-256 of each photo's file.
    skipped : list of Skipped
        ``(path, reason)`` of every other file.
    n_new : int
        How many photos were encoded now, not found in the cache.
    encoder : ImageEncoder
    cache : FeatureCache
    """

    folder: Path
    paths: list[str]
    digests: list[bytes]
    skipped: list[Skipped]
    n_new: int
    encoder: ImageEncoder
    cache: FeatureCache = field(repr=False)

    def __len__(self) -> int:
        return len(self.paths)

    def features(self) -> np.ndarray:
        """Return all features, (n_photos, dimension) ``float32``."""
        return self.cache.features(self.digests)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the features in order, some 1,000 rows at a time."""
        return self.cache.blocks(self.digests)

    def thumbnail(self, row: int) -> bytes:
        """Return a photo as a small JPEG."""
        return self.cache.thumbnail(self.digests[row])


def encode_folder(
    folder: str | os.PathLike[str],
    *,
    encoder: str | ImageEncoder = "lite0",
    cache: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> EncodedFolder:
    """Turn all photos below a folder into features.

    Photos that were encoded before, under whatever name, come from the cache. An
    interrupted run goes on where it stopped. Files that are no photo, or a damaged or
    oversized one, are listed in ``skipped``.

    Parameters
    ----------
    folder : path
    encoder : str or ImageEncoder, default="lite0"
        A name of :func:`unseen.photos.image_encoders`, or an encoder.
    cache : path, optional
        Folder for features; by default in the user's cache folder.
    workers : int, optional
        Processes that decode, 0 for none; by default one per processor, at most 8.
    progress : callable, optional
        Called with the number of files done and in all.

    Returns
    -------
    EncodedFolder

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from unseen.photos import encode_folder
    >>> with tempfile.TemporaryDirectory() as name:
    ...     Image.new("RGB", (60, 40), "green").save(Path(name) / "meadow.png")
    ...     _ = (Path(name) / "notes.txt").write_text("not a photo")
    ...     encoded = encode_folder(name, cache=Path(name) / ".cache")
    ...     encoded.paths, encoded.features().shape
    (['meadow.png'], (1, 1280))
    >>> encoded.skipped
    [Skipped(path='notes.txt', reason='not a JPEG, PNG, WebP, GIF, TIFF, BMP or HEIC
    picture')]
    """
    found = find_photos(folder)
    encoder = image_encoder(encoder) if isinstance(encoder, str) else encoder
    store = FeatureCache(encoder, cache)
    ledger = _Ledger(found, store, progress)
    decoder = Decoder(found.folder, encoder.size, workers)
    try:
        for batch in in_batches(decoder.squares(ledger.unknown()), BATCH):
            good = ledger.note(batch)
            if good:
                thumbnails = [square.thumbnail for square in good]
                digests = [square.digest for square in good]
                store.add(digests, encode_squares(encoder, good), thumbnails)
    finally:  # keep what is done, also when interrupted
        store.flush()
        decoder.close()
    return ledger.close(encoder)


def encode_squares(encoder: ImageEncoder, squares: Sequence[Square]) -> np.ndarray:
    """Return the features of photos: of the middle, and the mean of both views.

    A photo that is not square is seen twice, its middle and all of it squeezed: the
    sides of a bird or a bottle are part of it.
    """
    middles: list[Any] = [one.pixels for one in squares]
    features = np.array(encoder.encode(np.stack(middles)))
    rows = [row for row, one in enumerate(squares) if one.whole is not None]
    if rows:
        wholes: list[Any] = [squares[row].whole for row in rows]
        features[rows] = (features[rows] + encoder.encode(np.stack(wholes))) / 2
    return features


class _Ledger:
    """What became of each file so far."""

    def __init__(
        self, found: Found, cache: FeatureCache, progress: Progress | None
    ) -> None:
        self.found, self.cache, self.progress = found, cache, progress
        self.digest: dict[str, bytes] = {}
        self.reason: dict[str, str] = {}
        self.failed: dict[bytes, str] = {}  # by content: a copy fails likewise
        self.asked: set[bytes] = set()
        self.n_done = self.n_new = 0

    def unknown(self) -> Iterator[str]:
        """Yield the photos whose content was never met; settle all others."""
        with ThreadPoolExecutor(LOOKERS) as threads:
            for path, (digest, reason) in ahead(
                lambda path: threads.submit(look_at, self.found.folder / path),
                self.found.paths,
                4 * LOOKERS,
            ):
                if reason:
                    self.reason[path] = reason
                else:
                    self.digest[path] = digest
                if reason or digest in self.cache or digest in self.asked:
                    self.count(1)
                    continue
                self.asked.add(digest)
                yield path

    def note(self, batch: list[tuple[str, Square]]) -> list[Square]:
        """Write down a batch as decoded; return what is to be encoded."""
        good = []
        for path, square in batch:
            if square.digest:  # the file may have changed since it was looked at
                self.digest[path] = square.digest
            if square.pixels is None:
                self.failed[self.digest[path]] = square.reason
            else:
                good.append(square)
        self.n_new += len(good)
        self.count(len(batch))
        return good

    def count(self, n: int) -> None:
        self.n_done += n
        if self.progress is not None:
            self.progress(self.n_done, len(self.found.paths))

    def close(self, encoder: ImageEncoder) -> EncodedFolder:
        paths, digests, skipped = [], [], list(self.found.skipped)
        for path in self.found.paths:
            digest = self.digest.get(path, b"")
            if digest in self.cache:
                paths.append(path)
                digests.append(digest)
            else:
                changed = "changed while it was read"
                reason = self.reason.get(path) or self.failed.get(digest, changed)
                skipped.append(Skipped(path, reason))
        return EncodedFolder(
            self.found.folder,
            paths,
            digests,
            sorted(skipped),
            self.n_new,
            encoder,
            self.cache,
        )


def ahead(
    submit: Callable[[str], Future], tasks: Iterable[str], n: int
) -> Iterator[tuple[str, Any]]:
    """Yield (task, answer) in order while ``n`` more are under way."""
    waiting: deque[tuple[str, Future]] = deque()
    for task in tasks:
        waiting.append((task, submit(task)))
        if len(waiting) > n:
            task, future = waiting.popleft()
            yield task, future.result()
    for task, future in waiting:
        yield task, future.result()


def in_batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of ``size`` items, the last one shorter."""
    items = iter(items)
    while batch := list(islice(items, size)):
        yield batch


def write_features(encoded: EncodedFolder, path: str | os.PathLike[str]) -> Path:
    """Write the features of a folder for use elsewhere, a block at a time.

    Parameters
    ----------
    encoded : EncodedFolder
    path : path
        ``.npz`` with ``features``, ``paths``, ``encoder`` and ``version``; or ``.npy``
        with the features alone, then the paths are in a ``.txt`` file beside it, one
        per line.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from unseen.photos import encode_folder, write_features
    >>> with tempfile.TemporaryDirectory() as name:
    ...     Image.new("RGB", (60, 40), "green").save(Path(name) / "meadow.png")
    ...     encoded = encode_folder(name, cache=Path(name) / ".cache")
    ...     path = write_features(encoded, Path(name) / "features.npz")
    ...     with np.load(path) as file:
    ...         file["features"].shape, file["paths"].tolist(), str(file["encoder"])
    ((1, 1280), ['meadow.png'], 'lite0')
    """
    path = Path(path)
    if path.suffix == ".npy":
        if broken := [name for name in encoded.paths if "\n" in name]:
            raise ValueError(
                f"{broken[0]!r} has a line break in its name, and a .npy file has its "
                "paths beside it, one per line. Write .npz."
            )
        names = "".join(f"{name}\n" for name in encoded.paths)
        with replace_file(path.with_suffix(".txt")) as file:
            file.write(names.encode("utf-8", "surrogateescape"))
        with replace_file(path) as file:
            _write_rows(file, encoded)
        return path
    if path.suffix != ".npz":
        raise ValueError(f"{path}: features are written as .npz or .npy.")
    beside = {
        "paths": np.array(encoded.paths, dtype=str),
        "encoder": np.array(encoded.encoder.name),
        "version": np.array(encoded.encoder.version),
    }
    with replace_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        with archive.open("features.npy", "w", force_zip64=True) as entry:
            _write_rows(entry, encoded)
        for name, values in beside.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, values, allow_pickle=False)
    return path


def _write_rows(file: Any, encoded: EncodedFolder) -> None:
    header = {
        "descr": "<f4",
        "fortran_order": False,
        "shape": (len(encoded), encoded.encoder.dimension),
    }
    np.lib.format.write_array_header_1_0(file, header)
    for block in encoded.blocks():
        file.write(block.tobytes())
