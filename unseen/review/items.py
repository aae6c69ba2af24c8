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
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pandas as pd

from unseen.labels import COLUMNS
from unseen.limits import limits
from unseen.photos.photo import (
    KINDS,
    LONGEST_START,
    TooLargeError,
    check_size,
    kind_of,
    open_photo,
)
from unseen.review.origins import Origin

__all__ = ["DemoPhotos", "Items", "Photos", "find_items", "find_photo", "noted_texts"]

SMALL, LARGE = 240, 1600  # pixels of the longer side
TEXT = 20_000  # characters of a text in the large view
DECODED = 50_000_000  # pixels of a photo that is decoded in this process
DECODING = threading.BoundedSemaphore(2)  # photos at a time


class Items:
    """Texts, or rows of which a table says something in further columns."""

    def __init__(self, kind: str, texts: Sequence[str]) -> None:
        self.kind, self.texts = kind, list(texts)  # kind: "photo", "text" or "row"

    def text(self, row: int) -> str:
        """Return what there is to read, or as much of it as anyone reads."""
        return self.texts[row][:TEXT]

    def picture(self, row: int, side: int) -> bytes | None:
        """Return a JPEG of at most so many pixels a side; None if there is none."""
        return None


class Photos(Items):
    """Photos below a folder, by their paths."""

    def __init__(self, folder: Path, ids: Sequence[str]) -> None:
        super().__init__("photo", [""] * len(ids))
        self.folder, self.ids = folder, list(ids)

    def picture(self, row: int, side: int) -> bytes | None:
        """Return a JPEG."""
        path = find_photo(self.folder, self.ids[row])
        return None if path is None else as_jpeg(path, side)


class DemoPhotos(Items):
    """The photos in the package, by their names; all are small."""

    def __init__(self, ids: Sequence[str]) -> None:
        from unseen.photos.bundled import load_photos

        super().__init__("photo", [""] * len(ids))
        photos = load_photos()
        known = dict(zip(photos.paths, photos.jpegs, strict=True))
        self.jpegs = [known.get(name) for name in ids]

    def picture(self, row: int, side: int) -> bytes | None:
        """Return the photo."""
        return self.jpegs[row]


def find_items(
    table: pd.DataFrame, origin: Origin, folder: Path | None = None
) -> Items:
    """Find what a table of labels is about, by its origin or the folder that is given.

    Without these no folder is guessed: the table may be anybody's.
    """
    ids = table["id"].tolist()
    if folder is not None:
        if not folder.is_dir():
            raise NotADirectoryError(
                f"{folder}: is no folder. Give that of the photos."
            )
        return Photos(folder, ids)
    if origin.kind == "demo":
        return DemoPhotos(ids)
    if origin.kind == "photos":
        return Photos(Path(origin.source), ids)
    if "text" in table:
        return Items("text", table["text"].tolist())
    if origin.kind == "texts":
        return Items("text", noted_texts(origin, ids))
    more = [name for name in table if name not in COLUMNS]
    rows = table[more].to_dict("records")
    described = ["\n".join(f"{k}: {v}" for k, v in row.items()) for row in rows]
    return Items("row", described)


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
        with open_photo(path) as file:
            return path if kind_of(file.read(LONGEST_START)) else None
    except (OSError, TooLargeError):
        return None


def visible(parts: Sequence[str]) -> bool:
    """Tell whether parts of a path lead down, and none of them is hidden."""
    return bool(parts) and not any(part.startswith((".", "/")) for part in parts)


def as_jpeg(path: Path, side: int) -> bytes | None:
    """Return a photo upright, at most so long, without metadata; None if it fails."""
    from PIL import Image, ImageOps

    made = io.BytesIO()
    try:
        with DECODING, open_photo(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # doubtful metadata; pixels raise
            content = file.read(limits().photo_bytes)
            picture = Image.open(io.BytesIO(content), formats=KINDS)
            check_size(picture, content)
            whole = picture.size
            picture.draft("RGB", (side, side))  # JPEG: decode at a fraction
            wide, high = whole if "progressive" in picture.info else picture.size
            if wide * high > DECODED:
                return None
            picture.thumbnail((side, side), reducing_gap=3.0)
            on_white(ImageOps.exif_transpose(picture)).save(made, "JPEG", quality=85)
    except ImportError:
        raise
    except Exception:  # decoders raise whatever they stumble over: no picture
        return None
    return made.getvalue()


def on_white(picture):
    """Return a picture in RGB; what is transparent becomes white."""
    from PIL import Image

    if picture.mode.startswith("I;16"):
        picture = picture.point(lambda value: value / 256).convert("L")
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        picture = Image.alpha_composite(white, picture)
    return picture.convert("RGB")
