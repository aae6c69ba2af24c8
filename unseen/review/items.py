"""What is reviewed: photos, texts or rows, each by its number in the table.

An item is asked for by number only. Ids come with a table that anybody may have
written, so an id leads to a photo only if that is a picture by its first bytes and lies
below the folder of photos, links resolved, with no hidden part in its path.
"""

from __future__ import annotations

import io
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from unseen.labels import COLUMNS
from unseen.limits import limits
from unseen.photos.photo import NoPhotoError, decode, open_image, open_photo
from unseen.review.origins import Origin

__all__ = ["Items", "find_items", "find_photo", "noted_texts", "photo_folder"]

DECODING = threading.BoundedSemaphore(2)  # photos at a time


@dataclass(frozen=True)
class Items:
    """The text or the photo of every row.

    ``picture`` makes a JPEG or PNG of a row, at most so many pixels a side; None if
    there is none.
    """

    kind: str  # "photo", "text" or "row"
    texts: Sequence[str]
    picture: Callable[[int, int], bytes | None] = lambda row, side: None


def find_items(
    table: pd.DataFrame, origin: Origin, folder: Path | None = None
) -> Items:
    """Find what a table of labels is about, by its origin or the folder that is given.

    Without these no folder is guessed: the table may be anybody's.
    """
    ids = table["id"].tolist()
    photos = photo_folder(origin, folder)
    if photos is not None:

        def picture(row: int, side: int) -> bytes | None:
            path = find_photo(photos, ids[row])
            return None if path is None else as_jpeg(path, side)

        return Items("photo", [""] * len(ids), picture)
    if origin.kind == "demo":
        from unseen.photos.bundled import load_photos

        demo = load_photos()
        known = dict(zip(demo.paths, demo.jpegs, strict=True))
        return Items("photo", [""] * len(ids), lambda row, side: known.get(ids[row]))
    if "text" in table:
        return Items("text", table["text"].tolist())
    if origin.kind == "texts":
        return Items("text", noted_texts(origin, ids))
    rows = table[[name for name in table if name not in COLUMNS]].to_dict("records")
    described = ["\n".join(f"{k}: {v}" for k, v in row.items()) for row in rows]
    return Items("row", described)


def photo_folder(origin: Origin, folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder that is given, or that of the origin; None if none is known."""
    if folder is not None and not Path(folder).is_dir():
        raise NotADirectoryError(f"{folder} is not a folder. Give that of the photos.")
    if folder is None and origin.kind == "photos":
        folder = origin.source
    return None if folder is None else Path(folder)


def noted_texts(origin: Origin, ids: Sequence[str]) -> list[str]:
    """Return the texts that were labelled, read again from where they are."""
    from unseen.texts.source import texts_of

    columns = {"column": origin.column or None, "id": origin.id or None}
    return texts_of(origin.source, ids, **columns)


def find_photo(folder: Path, name: str) -> Path | None:
    """Return the picture that an id leads to; None unless it lies below the folder."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if "\0" in name or Path(name).is_absolute() or not visible(parts):
        return None
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / name))
    if root not in path.parents or not visible(path.relative_to(root).parts):
        return None
    try:
        open_photo(path).close()
        return path
    except NoPhotoError:
        return None


def visible(parts: Sequence[str]) -> bool:
    """Tell whether parts of a path lead down, and none of them is hidden."""
    return bool(parts) and not any(part.startswith((".", "/")) for part in parts)


def as_jpeg(path: Path, side: int) -> bytes | None:
    """Return a photo upright, at most so long, without metadata; None if it fails."""
    made = io.BytesIO()
    try:
        with DECODING, open_photo(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # doubtful metadata; damaged pixels raise
            image = open_image(file.read(limits().photo_bytes))
            pixels = image.width * image.height
            image.draft("RGB", (side, side))  # JPEG: decode at a fraction
            if "progressive" not in image.info:
                pixels = image.width * image.height
            if pixels > 50_000_000:  # 150 MB, in the server's own process
                return None
            image, turn = decode(image, side)
            image.thumbnail((side, side), reducing_gap=3.0)
            upright = image if turn is None else image.transpose(turn)
            upright.save(made, "JPEG", quality=85)
    except ImportError:
        raise
    except Exception:  # decoders raise whatever they stumble over: no picture
        return None
    return made.getvalue()
