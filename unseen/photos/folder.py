"""From a folder to features: find the photos, decode and encode them.

    files → [threads: hash] → already known?  ─ yes → cache
                                   │ no
                      [threads: decode] → batches → encoder → cache

Folders are searched in the order of their names. A link to a folder is followed after
all real ones, and only if it leads somewhere that was not searched yet, so loops end
and nothing is found twice. At every arrow only a few photos wait, so memory does not
grow with the folder.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen.cache import Cache
from unseen.files import MARK
from unseen.naming.encoders import Encoder, find_encoder
from unseen.photos.photo import (
    LONGEST_START,
    THUMBNAIL,
    Square,
    TooLargeError,
    decode_square,
    open_photo,
    read_square,
    why_unread,
    without_warnings,
)

__all__ = ["EncodedFolder", "Found", "Skipped", "encode_folder", "find_photos"]

BATCH = 16  # photos encoded at once; more is no faster and takes more memory
THREADS = min(4, os.cpu_count() or 1)  # that read and decode files
VIEWS = 4  # raise it when the way photos are cut for an encoder changes

Progress = Callable[[int, int], None]


class Skipped(NamedTuple):
    """A file that got no label, and why; ``path`` is relative to the folder."""

    path: str
    reason: str


class Found(NamedTuple):
    """The files of a folder, by relative path, and what could not be looked into."""

    folder: Path
    paths: list[str]
    skipped: list[Skipped]


def find_photos(folder: str | os.PathLike[str]) -> Found:
    """List all files below a folder, in the order of their paths.

    One photo is the only one of its folder. Paths are relative, with ``/`` between
    parts. Whether a file is a photo is found out when it is read.
    """
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"{folder}: there is no such folder.")
    if folder.is_file():  # one photo
        return Found(folder.parent, [folder.name], [])
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder}: is neither a folder nor a photo.")
    paths: list[str] = []
    skipped: list[Skipped] = []
    searched: set[str] = set()
    links: deque[str] = deque()
    to_search = deque([""])
    while to_search or links:
        below = to_search.popleft() if to_search else links.popleft()
        real = os.path.realpath(folder / below)
        if real in searched:
            skipped.append(
                Skipped(below, "a link to a folder that was searched already")
            )
            continue
        searched.add(real)
        try:
            entries = sorted(os.scandir(folder / below), key=lambda entry: entry.name)
        except OSError as error:
            skipped.append(Skipped(below or ".", f"cannot be read: {error.strerror}"))
            continue
        if any(entry.name == MARK for entry in entries):
            skipped.append(Skipped(below or ".", "made by unseen: no photos of yours"))
            continue
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            kind = _kind(entry)
            if kind == "folder":
                (links if entry.is_symlink() else to_search).append(path)
            elif kind == "file":
                paths.append(path)
            else:
                skipped.append(Skipped(path, kind))
    return Found(folder, sorted(paths), sorted(skipped))


def _kind(entry: os.DirEntry[str]) -> str:
    """Return "folder", "file", or why it is neither."""
    if entry.name.startswith("."):
        return "hidden: its name starts with a dot"
    try:
        if entry.is_dir():
            return "folder"
        if entry.is_file():
            return "file"
    except OSError as error:  # such as a link to itself
        return f"cannot be read: {error.strerror}"
    if not os.path.exists(entry):
        return "a link that leads nowhere"
    return "not a file (a pipe, socket or device)"


def digest_of(path: Path) -> tuple[bytes, str]:
    """Return the SHA-256 of a picture's file and "", or b"" and why it is none."""
    try:
        with open_photo(path) as file:
            start = file.read(LONGEST_START)
            if not start:
                return b"", "empty"
            if reason := why_unread(start):
                return b"", reason
            file.seek(0)
            return hashlib.file_digest(file, "sha256").digest(), ""
    except TooLargeError as error:
        return b"", str(error)
    except OSError as error:
        return b"", f"cannot be read: {error.strerror}"


@dataclass(eq=False)
class EncodedFolder:
    """The photos of a folder, their features and thumbnails, and what was skipped.

    Attributes
    ----------
    folder : Path
    paths : list of str
        Photos, relative to the folder, in order.
    skipped : list of Skipped
        ``(path, reason)`` of every other file.
    encoder : Encoder
    n_new : int
        How many photos were encoded now, not found in the cache.
    """

    folder: Path
    paths: list[str]
    skipped: list[Skipped]
    encoder: Any
    n_new: int = 0
    rows: np.ndarray | None = field(default=None, repr=False)
    digests: list[bytes] = field(default_factory=list, repr=False)
    cache: Cache | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.paths)

    def features(self) -> np.ndarray:
        """Return all features, (n_photos, dimension)."""
        if self.cache is None:
            return np.asarray(self.rows)
        found = self.cache.vectors(self.digests)
        return found.reshape(len(self), self.encoder.dimension)

    def thumbnail(self, row: int) -> bytes:
        """Return a photo as a small JPEG, b"" if it cannot be decoded."""
        if self.cache is None:
            return read_square(self.folder / self.paths[row], THUMBNAIL).thumbnail
        return self.cache.picture(self.digests[row])


def encode_folder(
    folder: str | os.PathLike[str],
    *,
    encoder: str | Encoder = "lite0",
    cache: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> EncodedFolder:
    """Turn all photos below a folder into features.

    Photos that were encoded before, under whatever name, come from the cache. An
    interrupted run goes on where it stopped. Files that are no photo, or a damaged or
    oversized one, are listed in ``skipped``.

    Parameters
    ----------
    folder : path
    encoder : str or Encoder, default="lite0"
        A name of ``unseen.naming.encoders("image")``, or an encoder.
    cache : path, optional
        Folder for features; by default the user's cache folder.
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
    seeing: Any = find_encoder(encoder, "image")
    space = f"{seeing.name}-{seeing.version}-{seeing.dimension}-{VIEWS}"
    store = Cache(space, cache)
    progress_of = _Files(found, store, progress)
    with without_warnings(), ThreadPoolExecutor(THREADS) as threads:

        def decode(path: str) -> Future:
            return threads.submit(decode_square, found.folder / path, seeing.size)

        squares = ahead(decode, progress_of.unknown(threads), BATCH)
        while batch := list(islice(squares, BATCH)):
            good = progress_of.note(batch)
            if good:
                store.add(
                    [square.digest for square in good],
                    encode_squares(seeing, good),
                    [square.thumbnail for square in good],
                )
    return progress_of.close(seeing)


def encode_squares(encoder: Any, squares: Sequence[Square]) -> np.ndarray:
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


class _Files:
    """What became of each file so far."""

    def __init__(self, found: Found, cache: Cache, progress: Progress | None) -> None:
        self.found, self.cache, self.progress = found, cache, progress
        self.digest: dict[str, bytes] = {}
        self.reason: dict[str, str] = {}
        self.failed: dict[bytes, str] = {}  # by content: a copy fails likewise
        self.n_done = self.n_new = 0

    def unknown(self, threads: ThreadPoolExecutor) -> Iterator[str]:
        """Yield the photos whose content was never met; settle all others."""
        asked: set[bytes] = set()

        def hashed(path: str) -> Future:
            return threads.submit(digest_of, self.found.folder / path)

        for path, (digest, reason) in ahead(hashed, self.found.paths, BATCH):
            if reason:
                self.reason[path] = reason
            else:
                self.digest[path] = digest
            if reason or digest in asked or self.cache.known([digest]):
                self.count(1)
                continue
            asked.add(digest)
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

    def close(self, encoder: Any) -> EncodedFolder:
        known = self.cache.known(list(set(self.digest.values())))
        good = [path for path in self.found.paths if self.digest.get(path) in known]
        skipped = list(self.found.skipped)
        for path in set(self.found.paths) - set(good):
            digest = self.digest.get(path, b"")
            reason = self.reason.get(path) or self.failed.get(digest)
            skipped.append(Skipped(path, reason or "changed while it was read"))
        return EncodedFolder(
            self.found.folder,
            good,
            sorted(skipped),
            encoder,
            self.n_new,
            digests=[self.digest[path] for path in good],
            cache=self.cache,
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
