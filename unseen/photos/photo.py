"""One file of a picture → squares of RGB and a small copy, or the reason why not.

    bytes → right kind? → not too large? → RGB → middle square   → upright
                                                → whole, squeezed → upright
                                                → small whole     → upright

Files come from anywhere, so nothing in them may stop a run or fill the memory: only
seven kinds are opened, a file or a header that promises too much ends it before any
pixel is decoded (:mod:`unseen.limits` says how much), and whatever a decoder complains
about becomes the reason.
"""

import hashlib
import io
import os
import stat
import threading
from collections.abc import Container
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from unseen._command import needs_extra
from unseen.limits import limits

KINDS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "HEIF")
LARGE, ONE_LARGE = 25_000_000, threading.Lock()  # pixels; decoded one at a time
THUMBNAIL = 160  # pixels of the longer side
BICUBIC = 3  # as Pillow counts it, which is imported only where it is used


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


class NoPhotoError(Exception):
    """A file is not read as a photo; the message is the reason."""


def too_large(found: str, most: int) -> NoPhotoError:
    """Return the error for a photo that asks for more than the limits allow."""
    return NoPhotoError(f"too large: {found} is more than {most:,}")


def is_heif(start: bytes) -> bool:
    """Tell a HEIC picture by its first 12 bytes."""
    brands = b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"
    return start[4:8] == b"ftyp" and start[8:12] in brands


def is_picture(start: bytes) -> bool:
    """Tell a picture of one of our kinds by its first 12 bytes."""
    gif, tiff = (b"GIF87a", b"GIF89a"), (b"II*\0", b"MM\0*")
    starts = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"BM", *gif, *tiff
    webp = start[:4] == b"RIFF" and start[8:12] == b"WEBP"
    return start.startswith(starts) or webp or is_heif(start)


def open_photo(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a plain file that starts as a picture and is not too large.

    Nothing waits for the other end of a pipe.
    """

    def without_waiting(path: str, flags: int) -> int:
        return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))

    try:
        file = open(path, "rb", opener=without_waiting)
    except OSError as error:
        raise NoPhotoError(f"cannot be read: {error.strerror}") from error
    found, most, reason = os.fstat(file.fileno()), limits().photo_bytes, ""
    if not stat.S_ISREG(found.st_mode):
        reason = "not a file (a pipe, socket or device)"
    elif found.st_size > most:
        reason = str(too_large(f"a file of {found.st_size:,} bytes", most))
    elif not found.st_size:
        reason = "empty"
    elif not is_picture(start := file.peek(12)):
        reason = "not a JPEG, PNG, WebP, GIF, TIFF, BMP or HEIC picture"
    elif is_heif(start) and find_spec("pillow_heif") is None:
        reason = str(needs_extra("pillow-heif", "photos", "a HEIC picture"))
    if reason:
        file.close()
        raise NoPhotoError(reason)
    return file


def read_square(
    path: str | os.PathLike[str], size: int, known: Container[bytes] = ()
) -> Square:
    """Read a photo from its file for squares of a size, in pixels.

    Whatever the file holds, nothing is raised: without ``pixels`` there is a reason,
    unless its digest is ``known``. What Pillow warns of is for the caller to ignore:
    doubtful metadata; damaged pixels raise.
    """
    digest = b""
    try:
        with open_photo(path) as file:
            content = file.read(limits().photo_bytes)
        digest = hashlib.sha256(content).digest()
        if digest in known:
            return Square(digest)
        image = open_image(content)
        with ONE_LARGE if image.width * image.height > LARGE else nullcontext():
            image, turn = decode(image, size)
            middle, whole = views(image, size, turn)
            return Square(digest, middle, make_thumbnail(image, turn), whole=whole)
    except ImportError:
        raise
    except NoPhotoError as error:
        return Square(digest, reason=str(error))
    except MemoryError:
        return Square(digest, reason="too large: not enough memory to decode it")
    except Exception as error:  # decoders raise whatever they stumble over
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        return Square(digest, reason=f"damaged: {reason}")


def open_file(path: str | os.PathLike[str]) -> Any:
    """Open the picture of a file, as :func:`open_photo` and :func:`open_image` do."""
    with open_photo(path) as file:
        return open_image(file.read(limits().photo_bytes))


def open_image(content: bytes) -> Any:
    """Open a picture, and refuse one that would take too much; nothing is decoded."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise needs_extra("pillow", "photos", "Reading photos") from None
    if is_heif(content):
        import pillow_heif

        pillow_heif.register_heif_opener()
    try:
        image = Image.open(io.BytesIO(content), formats=KINDS)
    except UnidentifiedImageError:
        raise ValueError("its header makes no sense") from None
    except Image.DecompressionBombError as error:
        found = str(error).partition(" exceeds")[0]
        most = limits().photo_samples
        raise too_large(found[:1].lower() + found[1:], most) from None
    check_size(image, content)
    return image


def decode(image: Any, size: int) -> tuple[Any, int | None]:
    """Decode a picture in RGB as it lies in its file, and say what turns it upright.

    Of an animated picture it is the first frame. What is transparent becomes white. Of
    a JPEG no more pixels are decoded than the shorter side needs, ``size`` at least.
    """
    try:
        # EXIF's orientations, and Pillow's number of what turns each upright
        turns = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
        turn = turns.get(image.getexif().get(0x0112))
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
    """

    def middle(wide: int, high: int) -> np.ndarray:
        left, top = (image.width - wide) / 2, (image.height - high) / 2
        box = left, top, left + wide, top + high
        small = image.resize((size, size), BICUBIC, box=box, reducing_gap=3)
        # The middle stays the middle under every turn: turn it where pixels are few.
        return np.asarray(small if turn is None else small.transpose(turn))

    short = min(image.size)
    if max(image.size) <= 1.05 * short:
        return middle(short, short), None
    wide, high = (min(side, 2 * short) for side in image.size)
    return middle(short, short), middle(wide, high)


def check_size(image: Any, content: bytes) -> None:
    """Raise if a picture that was opened, not decoded, would take too much."""
    width, height = image.size
    deep = image.mode.startswith("I") or image.mode == "F"
    channels = 4 if deep or image.has_transparency_data else 3
    most = limits().photo_samples
    if width * height * channels > most:
        raise too_large(f"{width} x {height} x {channels} samples", most)
    if image.format == "JPEG":
        scans, passes = content.count(b"\xff\xda"), limits().photo_passes
        if scans * width * height > passes:
            raise too_large(f"{width} x {height} pixels in {scans} scans", passes)
    if image.format == "TIFF":  # 322 and 323 are the sides of its pieces
        wide, high = (image.tag_v2.get(tag) or 1 for tag in (322, 323))
        if wide * high * channels > most:
            raise too_large(f"a tile of {wide} x {high} x {channels} samples", most)


def make_thumbnail(image: Any, turn: int | None, side: int = THUMBNAIL) -> bytes:
    """Make a small JPEG of a whole picture, upright, never larger than it is."""
    scale = min(1.0, side / max(image.size))
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
