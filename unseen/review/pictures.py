"""Photos as a page shows them: upright JPEGs, small or large, without metadata.

Small copies are kept in the cache, under a digest of where the photo is, its size and
its time. Whatever is wrong with a photo becomes a grey card: a page never stops at it.
"""

from __future__ import annotations

import hashlib
import io
import os
import uuid
import warnings
from pathlib import Path

from unseen._places import cache_folder
from unseen.limits import limits
from unseen.photos.photo import KINDS, check_size, open_photo

__all__ = ["SMALL", "large_jpeg", "small_jpeg"]

SMALL, LARGE = 240, 1600  # pixels of the longer side
END_OF_JPEG = b"\xff\xd9"


def small_jpeg(path: Path) -> bytes | None:
    """Return a small copy of a photo, from the cache if it is there; None if it fails.

    Examples
    --------
    >>> from pathlib import Path
    >>> from unseen.review.pictures import small_jpeg
    >>> small_jpeg(Path("no such photo.jpg")) is None
    True
    """
    try:
        found = os.stat(path)
        stamp = found.st_size, found.st_mtime_ns
        content = f"{os.path.realpath(path)} {stamp} {SMALL}"
    except OSError:
        return None
    name = hashlib.sha256(os.fsencode(content)).hexdigest()
    kept = cache_folder("review") / name[:2] / f"{name}.jpg"
    if kept.exists() and (known := kept.read_bytes()).endswith(END_OF_JPEG):
        return known
    made = as_jpeg(path, SMALL)
    if made is not None:
        kept.parent.mkdir(exist_ok=True)
        draft = kept.with_name(f".{uuid.uuid4().hex}.tmp")
        draft.write_bytes(made)  # not synced: a copy that was torn is made again
        os.replace(draft, kept)
    return made


def large_jpeg(path: Path) -> bytes | None:
    """Return a photo as large as a screen shows it; None if it cannot be read."""
    return as_jpeg(path, LARGE)


def as_jpeg(path: Path, side: int) -> bytes | None:
    """Decode a photo, upright, at most ``side`` pixels long, and encode it again."""
    from PIL import Image, ImageOps

    try:
        with open_photo(path) as file:
            content = file.read(limits().photo_bytes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # doubtful metadata; pixels raise
            opened = Image.open(io.BytesIO(content), formats=KINDS)
            check_size(opened, content)
            opened.draft("RGB", (side, side))
            picture = ImageOps.exif_transpose(opened)
            picture.thumbnail((side, side), reducing_gap=3.0)
            made = io.BytesIO()
            on_white(picture).save(made, "JPEG", quality=85)
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
