"""One file: every kind is read upright, every fault becomes a reason."""

import io
import os
import struct
import sys
import time
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.checks import close
from unseen.limits import Limits
from unseen.photos import photo
from unseen.photos.photo import NoPhotoError, open_photo, read_square, views

KINDS = {
    "jpg": {"format": "JPEG", "quality": 95},
    "png": {"format": "PNG"},
    "webp": {"format": "WEBP", "lossless": True},
    "gif": {"format": "GIF"},
    "tif": {"format": "TIFF"},
    "bmp": {"format": "BMP"},
}


def quarters():
    """Red and green above, blue and white below."""
    colours = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]])
    return np.kron(colours, np.ones((20, 20, 1))).astype(np.uint8)


def saved(picture, **options):
    file = io.BytesIO()
    picture.save(file, **options)
    return file.getvalue()


def seen(tmp_path, content, size=8):
    path = tmp_path / "picture"
    path.write_bytes(content)
    with warnings.catch_warnings(action="ignore"):
        return read_square(path, size)


def corners(pixels):
    return pixels[[1, 1, -2, -2], [1, -2, 1, -2]].astype(int)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_read_whatever_it_is_called(tmp_path, kind):
    square = seen(tmp_path, saved(Image.fromarray(quarters()), **KINDS[kind]))
    assert square.reason == ""
    assert square.pixels.dtype == np.uint8 and square.pixels.shape == (8, 8, 3)
    want = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]]
    close(corners(square.pixels), want, within=30)
    with Image.open(
        io.BytesIO(read_square(tmp_path / "picture", 40).thumbnail)
    ) as small:
        assert small.size == (40, 40) and small.format == "JPEG"


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("wide", [(60, 40), (41, 60)])
def test_exif_brings_a_photo_upright_as_pillow_does(tmp_path, orientation, wide):
    from PIL import ImageOps

    picture = Image.fromarray(quarters()).resize(wide)
    tags = Image.Exif()
    tags[0x0112] = orientation
    content = saved(picture, format="PNG", exif=tags)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
    theirs = seen(tmp_path, saved(upright, format="PNG"))
    ours = seen(tmp_path, content)
    gaps = ours.pixels.astype(int) - theirs.pixels
    assert np.abs(gaps).max() <= 4  # rounding; a wrong turn is far off
    small = [Image.open(io.BytesIO(one.thumbnail)) for one in (ours, theirs)]
    assert small[0].size == small[1].size == upright.size
    gaps = np.asarray(small[0]).astype(int) - np.asarray(small[1])
    assert np.abs(gaps).mean() <= 8


SIDES = [(300, 225), (225, 300), (900, 300), (300, 901), (1500, 1100), (60, 40)]


@pytest.mark.parametrize("sides", SIDES)
def test_both_views_are_as_if_each_were_cut_by_itself(sides):
    from sklearn.datasets import load_sample_images

    picture = Image.fromarray(load_sample_images().images[0]).resize(sides)
    short = min(sides)
    for ours, most in zip(views(picture, 48), (short, 2 * short), strict=True):
        cut = np.minimum(sides, most)
        start = (np.array(sides) - cut) / 2
        box = *start.tolist(), *(start + cut).tolist()
        theirs = picture.resize((48, 48), Image.Resampling.BICUBIC, box=box)
        gaps = np.abs(ours.astype(int) - np.asarray(theirs))
        assert gaps.mean() < 2 and gaps.max() <= 24  # half a pixel at most


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_every_mode_becomes_rgb(tmp_path, mode):
    grey = Image.fromarray(np.full((30, 30), 255, np.uint8))
    picture = (
        Image.fromarray(np.full((30, 30), 65535, np.uint16))
        if mode == "I;16"
        else grey.convert(mode)
    )
    kind = "TIFF" if mode == "CMYK" else "PNG"
    square = seen(tmp_path, saved(picture, format=kind))
    assert square.reason == "" and square.pixels.min() > 250
    if mode == "I;16":  # keeps its shades
        half = Image.fromarray(np.full((30, 30), 32768, np.uint16))
        pixels = seen(tmp_path, saved(half, format="PNG")).pixels
        assert abs(int(pixels.mean()) - 127) <= 1


def test_of_an_animation_the_first_frame_is_seen_and_glass_is_white(tmp_path):
    glass = Image.new("RGBA", (30, 30), (0, 0, 0, 0))
    assert seen(tmp_path, saved(glass, format="PNG")).pixels.min() == 255
    red, blue = Image.new("RGB", (30, 30), "red"), Image.new("RGB", (30, 30), "blue")
    content = saved(red, format="GIF", save_all=True, append_images=[blue] * 3)
    assert seen(tmp_path, content).pixels[4, 4].tolist() == [255, 0, 0]


def chunk(kind, data):
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check


def bomb(width, height):
    """A small PNG whose header promises a great many pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1000))
    parts = chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("side", [10_001, 20_000, 65_000])
def test_a_picture_of_too_many_pixels_is_not_decoded(tmp_path, monkeypatch, side):
    monkeypatch.setattr(photo, "_as_rgb", lambda _: pytest.fail("was decoded"))
    square = seen(tmp_path, bomb(side, side))
    assert square.pixels is None and square.reason.startswith("too large: ")
    assert "300,000,000" in square.reason


def test_what_shines_through_counts_as_a_channel(tmp_path, monkeypatch):
    picture = Image.new("RGBA", (10, 10))
    monkeypatch.setattr("unseen.limits.LIMITS", Limits(photo_samples=399))
    reason = seen(tmp_path, saved(picture, format="PNG")).reason
    assert "10 x 10 x 4 samples" in reason
    opaque = saved(picture.convert("RGB"), format="PNG")
    assert seen(tmp_path, opaque).reason == ""


def test_a_jpeg_of_endless_scans_is_not_decoded(tmp_path, monkeypatch):
    content = saved(Image.new("RGB", (64, 64)), format="JPEG", progressive=True)
    place = content.rindex(b"\xff\xda")
    endless = content[:place] + content[place:-2] * 500 + content[-2:]
    monkeypatch.setattr("unseen.limits.LIMITS", Limits(photo_passes=64 * 64 * 100))
    assert "scans is more than 409,600" in seen(tmp_path, endless).reason
    assert seen(tmp_path, content).reason == ""


def test_a_tile_larger_than_its_picture_is_not_decoded(tmp_path):
    content = saved(Image.new("L", (16, 16)), format="TIFF", compression="tiff_lzw")
    with Image.open(io.BytesIO(content)) as opened:
        opened.tag_v2[322], opened.tag_v2[323] = 60_000, 60_000
        with pytest.raises(NoPhotoError, match="tile of 60000 x 60000"):
            photo.check_size(opened, content)


@pytest.mark.skipif(sys.platform == "win32", reason="needs sparse files and pipes")
def test_a_huge_file_and_a_pipe_are_refused_unread(tmp_path):
    huge = tmp_path / "huge.jpg"
    with open(huge, "wb") as file:
        file.write(b"\xff\xd8\xff\xe0")
        file.truncate(3 << 30)
    os.mkfifo(tmp_path / "pipe.jpg")
    os.symlink("pipe.jpg", tmp_path / "link.jpg")
    started = time.perf_counter()
    assert "too large: a file of 3,221,225,472" in read_square(huge, 8).reason
    for name in ("pipe.jpg", "link.jpg"):
        with pytest.raises(NoPhotoError, match=r"not a file \(a pipe"):
            open_photo(tmp_path / name)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_picture_is_damaged(tmp_path, kind):
    noise = np.random.default_rng(0).integers(0, 256, (60, 60, 3)).astype(np.uint8)
    content = saved(Image.fromarray(noise), **KINDS[kind])
    square = seen(tmp_path, content[: len(content) // 2])
    assert square.pixels is None and square.reason.startswith("damaged: ")
    assert "\n" not in square.reason


def test_a_damaged_exif_tag_loses_no_picture(tmp_path):
    content = saved(Image.fromarray(quarters()), format="JPEG", exif=b"Exif\0\0II*\0zz")
    assert seen(tmp_path, content).pixels is not None


@pytest.fixture(scope="module")
def samples():
    noise = np.random.default_rng(1).integers(0, 256, (12, 12, 3)).astype(np.uint8)
    return [saved(Image.fromarray(noise), **options) for options in KINDS.values()]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_flipped_bytes_give_pixels_or_a_reason(samples, tmp_path_factory, data):
    content = bytearray(data.draw(st.sampled_from(samples)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    square = seen(tmp_path_factory.getbasetemp(), bytes(content))
    assert (square.pixels is None) == bool(square.reason)
