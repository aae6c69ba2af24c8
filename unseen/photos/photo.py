"""One file of a picture → squares of RGB and a small copy, or the reason why not.

    bytes → right kind? → not too large? → RGB → middle square   → upright
                                                → whole, squeezed → upright
                                                → small whole     → upright

Files come from anywhere, so nothing in them may stop a run or fill the memory: only
seven kinds are opened, a file or a header that promises too much ends it before any
pixel is decoded (:mod:`unseen.limits` says how much), and whatever a decoder complains
about becomes the reason.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from unseen._command import needs_extra
from unseen.limits import limits

__all__ = ["Square", "kind_of", "open_photo", "read_square"]

KINDS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "HEIF")
STARTS = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"II*\x00": "TIFF",
    b"MM\x00*": "TIFF",
    b"BM": "BMP",
}
HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1")
LONGEST_START = 12
LARGE, ONE_LARGE = 25_000_000, threading.Lock()  # pixels; decoded one at a time
THUMBNAIL = 160  # pixels of the longer side
SQUARE, WIDEST = 1.05, 2  # sides' ratio of what needs no second view; most squeezed
# As Pillow counts them; it is imported only where it is used.
BICUBIC = 3
TURNS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}  # EXIF's orientations upright
ORIENTATION, TILE = 0x0112, (322, 323)  # tags of EXIF; of TIFF, the sides of its pieces


class Square(NamedTuple):
    """A photo as an encoder takes it and as a page shows it, or the ``reason`` why not.

    ``digest`` is the SHA-256 of the file, ``pixels`` are ``uint8`` of shape (size,
    size, 3) of its middle, ``thumbnail`` is a small JPEG of the whole photo. ``whole``
    are pixels of all of it, squeezed into a square; None if it is nearly one itself.
    """

    digest: bytes
    pixels: np.ndarray | None = None
    thumbnail: bytes = b""
    reason: str = ""
    whole: np.ndarray | None = None


def kind_of(start: bytes) -> str | None:
    """Tell the kind of a picture by its first 12 bytes, whatever it is called."""
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "WEBP"
    if start[4:8] == b"ftyp" and start[8:12] in HEIF_BRANDS:
        return "HEIF"
    return next((kind for s, kind in STARTS.items() if start.startswith(s)), None)


def why_unread(start: bytes) -> str:
    """Return why a file that starts so is not read as a photo; "" if it is."""
    kind = kind_of(start)
    if kind is None:
        return "not a JPEG, PNG, WebP, GIF, TIFF, BMP or HEIC picture"
    if kind == "HEIF" and find_spec("pillow_heif") is None:
        return "a HEIC picture, which needs: pip install 'unseen[heic]'"
    return ""


def read_square(path: str | os.PathLike[str], size: int) -> Square:
    """Read a photo from its file for squares of a size, in pixels.

    Whatever the file holds, nothing is raised: without ``pixels`` there is a reason.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from unseen.photos.photo import read_square
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "red.png"
    ...     Image.new("RGB", (40, 20), "red").save(path)
    ...     good = read_square(path, 8)
    ...     _ = path.write_bytes(path.read_bytes()[:60])
    ...     bad = read_square(path, 8)
    >>> good.pixels.shape, good.pixels[0, 0].tolist()
    ((8, 8, 3), [255, 0, 0])
    >>> bad.reason
    'damaged: ...'
    """
    with without_warnings():
        return decode_square(path, size)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore what Pillow warns of: doubtful metadata; damaged pixels raise.

    For one thread: those that it starts inside are under it, too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def decode_square(path: str | os.PathLike[str], size: int) -> Square:
    """Read a photo as :func:`read_square` does, in any thread."""
    try:
        with open_photo(path) as file:
            content = file.read(limits().photo_bytes)
    except TooLargeError as error:
        return Square(b"", reason=str(error))
    except OSError as error:
        return Square(b"", reason=f"cannot be read: {error.strerror}")
    digest = hashlib.sha256(content).digest()
    try:
        image = open_image(content)
        with ONE_LARGE if image.width * image.height > LARGE else nullcontext():
            image, turn = decode(image, size)
            middle, whole = views(image, size, turn)
            return Square(digest, middle, make_thumbnail(image, turn), whole=whole)
    except ImportError:
        raise
    except TooLargeError as error:
        return Square(digest, reason=str(error))
    except MemoryError:
        return Square(digest, reason="too large: not enough memory to decode it")
    except Exception as error:  # decoders raise whatever they stumble over
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        return Square(digest, reason=f"damaged: {reason}")


class TooLargeError(Exception):
    """A photo asks for more than the limits allow; the message is the reason."""

    def __init__(self, found: str, limit: str) -> None:
        most = getattr(limits(), limit)
        super().__init__(f"too large: {found} is more than {most:,}")


def open_photo(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a plain file that is not too large; others raise OSError or the reason.

    Nothing waits for the other end of a pipe.
    """
    file = open(path, "rb", opener=_without_waiting)
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode):
        file.close()
        raise OSError(0, "not a file (a pipe, socket or device)")
    if found.st_size > limits().photo_bytes:
        file.close()
        raise TooLargeError(f"a file of {found.st_size:,} bytes", "photo_bytes")
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def open_image(content: bytes) -> Any:
    """Open a picture, and refuse one that would take too much; nothing is decoded."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise needs_extra("pillow", "images", "Reading photos") from None
    if kind_of(content[:LONGEST_START]) == "HEIF":
        import pillow_heif

        pillow_heif.register_heif_opener()
    try:
        image = Image.open(io.BytesIO(content), formats=KINDS)
    except UnidentifiedImageError:
        raise ValueError("its header makes no sense") from None
    except Image.DecompressionBombError as error:
        found = str(error).partition(" exceeds")[0]
        raise TooLargeError(found[:1].lower() + found[1:], "photo_samples") from None
    check_size(image, content)
    return image


def decode(image: Any, size: int) -> tuple[Any, int | None]:
    """Decode a picture in RGB as it lies in its file, and say what turns it upright.

    Of an animated picture it is the first frame. What is transparent becomes white. Of
    a JPEG no more pixels are decoded than the shorter side needs, ``size`` at least.
    """
    try:
        turn = TURNS.get(image.getexif().get(ORIENTATION))
    except Exception:  # a damaged tag is no reason to lose a sound picture
        turn = None
    image.draft("RGB", (size, size))
    return _as_rgb(image), turn


def views(
    image: Any, size: int, turn: int | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the middle square of a picture and all of it squeezed into a square.

    Both are upright, (size, size, 3) ``uint8``. Of a picture more than twice as long as
    it is wide the second is the middle. What is nearly square is in its middle square
    already: None.

    Examples
    --------
    >>> from PIL import Image
    >>> from unseen.photos.photo import views
    >>> [view.shape for view in views(Image.new("RGB", (40, 20), "red"), 8)]
    [(8, 8, 3), (8, 8, 3)]
    >>> views(Image.new("RGB", (41, 40), "red"), 8)[1] is None
    True
    """

    def middle(wide: int, high: int) -> np.ndarray:
        left, top = (image.width - wide) / 2, (image.height - high) / 2
        box = left, top, left + wide, top + high
        small = image.resize((size, size), BICUBIC, box=box, reducing_gap=3)
        # The middle stays the middle under every turn: turn it where pixels are few.
        return np.asarray(small if turn is None else small.transpose(turn))

    short = min(image.size)
    if max(image.size) <= SQUARE * short:
        return middle(short, short), None
    wide, high = (min(side, WIDEST * short) for side in image.size)
    return middle(short, short), middle(wide, high)


def check_size(image: Any, content: bytes) -> None:
    """Raise if a picture that was opened, not decoded, would take too much."""
    width, height = image.size
    deep = image.mode.startswith("I") or image.mode == "F"
    channels = 4 if deep or image.has_transparency_data else 3
    pixels = width * height
    if pixels * channels > limits().photo_samples:
        found = f"{width} x {height} x {channels}"
        raise TooLargeError(f"{found} samples", "photo_samples")
    if image.format == "JPEG":
        scans = content.count(b"\xff\xda")
        if scans * pixels > limits().photo_passes:
            found = f"{width} x {height} pixels in {scans} scans"
            raise TooLargeError(found, "photo_passes")
    if image.format == "TIFF":
        wide, high = (image.tag_v2.get(tag) or 1 for tag in TILE)
        if wide * high * channels > limits().photo_samples:
            found = f"a tile of {wide} x {high} x {channels}"
            raise TooLargeError(f"{found} samples", "photo_samples")


def make_thumbnail(image: Any, turn: int | None = None) -> bytes:
    """Make a small JPEG of a whole picture, upright, never larger than it is."""
    scale = min(1.0, THUMBNAIL / max(image.size))
    width, height = (max(1, round(scale * side)) for side in image.size)
    # A third of the time of a careful one; the two differ by 40 dB, so very little.
    small = image.resize((width, height), BICUBIC, reducing_gap=1.0)
    if turn is not None:
        small = small.transpose(turn)
    file = io.BytesIO()
    small.save(file, "JPEG", quality=75)
    return file.getvalue()


def _as_rgb(image: Any) -> Any:
    from PIL import Image

    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image, dtype=np.float32)
        low, high = 0.0, 65535.0
        if not image.mode.startswith("I;16"):  # no range is agreed on: take its own
            low, high = float(values.min()), float(values.max())
        shades = np.clip((values - low) * (255 / ((high - low) or 1)), 0, 255)
        image = Image.fromarray(shades.astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")
