"""From a folder to features: find the photos, decode and encode them.

    files → [threads: hash → already known? → decode] → batches → encoder → cache

Folders are searched in the order of their names. Links to folders are followed after
the real folders beside them, and only if they lead somewhere that was not searched yet,
so loops end and nothing is found twice. At every arrow only a few photos wait, so
memory does not grow with the folder.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unseen.cache import Cache
from unseen.files import MARK
from unseen.naming.encoders import Encoder, find_encoder, identity
from unseen.photos.photo import THUMBNAIL, Square, read_square

BATCH = 16  # photos encoded at once; more is no faster and takes more memory
THREADS = min(4, os.cpu_count() or 1)  # that read and decode files

Progress = Callable[[int, int], None]


class Skipped(NamedTuple):
    """A file that got no label, and why; ``path`` is relative to the folder."""

    path: str
    reason: str


class Found(NamedTuple):
    """The files of a folder, by relative path, and what was not looked into."""

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
    if not folder.is_dir():  # one photo
        return Found(folder.parent, [folder.name], [])
    paths: list[str] = []
    skipped: list[Skipped] = []
    searched: set[Path] = set()

    def skip(path: Path, why: str) -> None:
        skipped.append(Skipped(path.relative_to(folder).as_posix(), why))

    def cannot(error: OSError) -> None:
        skip(Path(error.filename), f"cannot be read: {error.strerror}")

    for name, folders, files in os.walk(folder, onerror=cannot, followlinks=True):
        here, real = Path(name), Path(name).resolve()
        if real in searched or MARK in files:
            again = "a link to a folder searched already"
            ours = "made by unseen: no photos of yours"
            skip(here, again if real in searched else ours)
            folders.clear()
            continue
        searched.add(real)
        for hidden in filter(lambda name: name[0] == ".", folders + files):
            skip(here / hidden, "hidden: its name starts with a dot")
        below = here.relative_to(folder)
        paths += [(below / file).as_posix() for file in files if file[0] != "."]
        shown = sorted(one for one in folders if one[0] != ".")
        folders[:] = sorted(shown, key=lambda one: (here / one).is_symlink())
    return Found(folder, sorted(paths), sorted(skipped))


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
            with warnings.catch_warnings(action="ignore"):
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
    interrupted run goes on where it stopped. Files that are not photos, or a damaged or
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
    # The 4 is to be raised when the way photos are cut for an encoder changes.
    store = Cache(f"{identity(seeing)}-{seeing.dimension}-4", cache)
    digests: dict[str, bytes] = {}
    skipped, n_done, n_new = list(found.skipped), 0, 0

    # The filter holds for threads that are started under it, too.
    with (
        warnings.catch_warnings(action="ignore"),
        ThreadPoolExecutor(THREADS) as threads,
    ):

        def started(first: int) -> dict[str, Future[Square]]:
            return {
                path: threads.submit(
                    read_square, found.folder / path, seeing.size, store
                )
                for path in found.paths[first : first + BATCH]
            }

        ahead = started(0)
        while ahead:
            n_done += len(ahead)
            batch, ahead = ahead, started(n_done)
            new: dict[bytes, Square] = {}
            for path, future in batch.items():
                square = future.result()
                if square.reason:
                    skipped.append(Skipped(path, square.reason))
                    continue
                digests[path] = square.digest
                if square.pixels is not None and square.digest not in store:
                    new[square.digest] = square  # once, if there are copies
            if new:
                features = encode_squares(seeing, [*new.values()])
                small = [square.thumbnail for square in new.values()]
                store.add([*new], features, small)
            n_new += len(new)
            if progress is not None:
                progress(n_done, len(found.paths))
    return EncodedFolder(
        found.folder,
        [*digests],
        sorted(skipped),
        seeing,
        n_new,
        digests=[*digests.values()],
        cache=store,
    )


def encode_squares(encoder: Any, squares: Sequence[Square]) -> np.ndarray:
    """Return the features of photos: the mean of both views, or of that asked for.

    A photo that is not square is seen twice, its middle and all of it squeezed: the
    sides of a bird or a bottle are part of it. An encoder that was trained on one view
    has it as ``view``.
    """
    middles: Any = np.stack([np.asarray(one.pixels) for one in squares])
    rows = [row for row, one in enumerate(squares) if one.whole is not None]
    wholes: Any = [squares[row].whole for row in rows]
    view = getattr(encoder, "view", "")
    if rows and view == "whole":
        middles[rows] = wholes
    features = encoder.encode(middles)
    if rows and not view:
        features = np.array(features)
        features[rows] = (features[rows] + encoder.encode(np.stack(wholes))) / 2
    return features
