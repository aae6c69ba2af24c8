"""The whole way from a folder to features, with files of every kind of damage."""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

from tests.checks import close
from unseen.photos import encode_folder, photo, write_features
from unseen.photos import folder as module
from unseen.photos.photo import decode_square, read_square
from unseen.photos.precomputed import match_features


@pytest.fixture
def folder(tmp_path, paint):
    home = tmp_path / "photos"
    for i in range(40):
        kind = ("png", "jpg", "webp", "bmp")[i % 4]
        paint(home / f"{i % 3}" / f"{i:02d}.{kind}", i)
    return home


def encode(folder, encoder, tmp_path, **options):
    return encode_folder(folder, encoder=encoder, cache=tmp_path / "kept", **options)


def test_features_follow_the_photos(folder, colours, tmp_path):
    encoded = encode(folder, colours, tmp_path)
    assert encoded.paths == sorted(encoded.paths) and len(encoded) == 40
    assert encoded.n_new == colours.n_seen == 40 and not encoded.skipped
    alone = [
        colours.encode(read_square(folder / path, colours.size).pixels[None])[0]
        for path in encoded.paths
    ]
    np.testing.assert_array_equal(encoded.features(), alone)
    assert encoded.thumbnail(3) == read_square(folder / encoded.paths[3], 16).thumbnail


def test_a_photo_that_is_not_square_is_seen_whole_too(colours, tmp_path):
    """Red in the middle, green and blue at the sides, which the middle misses."""
    shades = [[0, 255, 0]] * 20 + [[255, 0, 0]] * 40 + [[0, 0, 255]] * 20
    bands = np.array([shades] * 40, np.uint8)
    (home := tmp_path / "bands").mkdir()
    for name, pixels in {
        "wide": bands,
        "tall": bands.transpose(1, 0, 2),
        "square": bands[:, 20:60],
    }.items():
        Image.fromarray(pixels).save(home / f"{name}.png")
    encoded = encode(home, colours, tmp_path)
    rows = dict(zip(encoded.paths, encoded.features(), strict=True))
    # Halves: of the middle all is red; of the whole half, the rest is as the side is.
    close(rows["square.png"], [255, 0, 0] * 2)
    sides = [0.75 * 255, 0.25 * 255, 0], [0.75 * 255, 0, 0.25 * 255]
    close(rows["wide.png"], np.concatenate(sides), within=4)
    both = [0.75 * 255, 0.125 * 255, 0.125 * 255] * 2
    close(rows["tall.png"], both, within=4)


def test_a_second_run_encodes_nothing_even_after_moving(folder, colours, tmp_path):
    first = encode(folder, colours, tmp_path)
    moved = folder.rename(tmp_path / "elsewhere")
    shutil.copy(moved / first.paths[0], moved / "a copy")
    again = encode(moved, colours, tmp_path)
    assert again.n_new == 0 and colours.n_seen == 40 and len(again) == 41
    place = again.paths.index(first.paths[0])
    copy = again.paths.index("a copy")
    features = again.features()
    np.testing.assert_array_equal(features[copy], features[place])


def damage(folder, rng):
    """Spoil what a twentieth of the photos is worth, in as many ways as there are."""
    spoiled = {
        "empty.jpg": b"",
        "text.png": b"these are not the pixels you are looking for",
        "cut.jpg": (folder / "1" / "01.jpg").read_bytes()[:200],
        "noise.gif": b"GIF89a" + rng.bytes(300),
        "noise.webp": b"RIFF\x00\x01\x00\x00WEBP" + rng.bytes(300),
        "noise.tif": b"II*\x00" + rng.bytes(300),
        "noise.bmp": b"BM" + rng.bytes(300),
    }
    for name, content in spoiled.items():
        (folder / "2" / name).write_bytes(content)
    (folder / "2" / "nowhere.jpg").symlink_to(folder / "gone")
    return {f"2/{name}" for name in (*spoiled, "nowhere.jpg")}


def test_damaged_files_change_nothing_for_the_others(folder, colours, tmp_path):
    before = encode(folder, colours, tmp_path)
    bad = damage(folder, np.random.default_rng(0))
    again = encode_folder(folder, encoder=colours, cache=tmp_path / "fresh")
    assert {path for path, _ in again.skipped} == bad
    assert all(reason for _, reason in again.skipped)
    assert again.paths == before.paths
    np.testing.assert_array_equal(again.features(), before.features())


def test_copies_of_a_damaged_file_are_all_reported(folder, colours, tmp_path):
    cut = (folder / "1" / "01.jpg").read_bytes()[:200]
    for name in ("x.jpg", "y.jpg"):
        (folder / name).write_bytes(cut)
    encoded = encode(folder, colours, tmp_path)
    assert [path for path, _ in encoded.skipped] == ["x.jpg", "y.jpg"]
    assert encoded.n_new == 40


def test_progress_counts_every_file_to_the_end(folder, colours, tmp_path):
    damage(folder, np.random.default_rng(1))
    told = []
    encode(folder, colours, tmp_path, progress=lambda *now: told.append(now))
    counts = [done for done, _ in told]
    assert counts == sorted(set(counts)) and told[-1] == (47, 47)


def test_a_killed_run_keeps_what_it_flushed(folder, colours, tmp_path):
    script = f"""
import os, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from conftest import Colours
from unseen.photos import encode_folder
class Dies(Colours):
    def encode(self, images):
        if self.n_seen == 32:
            os._exit(9)
        return super().encode(images)
encode_folder({str(folder)!r}, encoder=Dies(), cache={str(tmp_path / "kept")!r})
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert ended.returncode == 9, ended.stderr
    encoded = encode(folder, colours, tmp_path)
    assert encoded.n_new == 8 and len(encoded) == 40


def test_only_few_photos_are_ahead(folder, colours, tmp_path, monkeypatch):
    """Decoding waits for the encoder, so memory does not grow with the folder."""
    monkeypatch.setattr("unseen.photos.folder.BATCH", 4)
    decoded = []
    monkeypatch.setattr(
        module,
        "decode_square",
        lambda path, size: decoded.append(path) or decode_square(path, size),
    )
    most = []
    normal = colours.encode
    colours.encode = lambda images: (
        most.append(len(decoded) - colours.n_seen) or normal(images)
    )
    encode(folder, colours, tmp_path)
    assert max(most) <= 9 and max(colours.batches) == 4


@pytest.mark.parametrize("large", [True, False])
def test_large_photos_are_decoded_one_at_a_time(
    folder, colours, tmp_path, monkeypatch, large
):
    """So that several that are allowed by themselves do not fill the memory."""
    inside, together, decode = [], [], photo.decode

    def counted(image, size):
        inside.append(image)
        together.append(len(inside))
        time.sleep(0.02)
        inside.remove(image)
        return decode(image, size)

    monkeypatch.setattr(module, "THREADS", 4)
    monkeypatch.setattr(photo, "LARGE", 24 * 23 - large)  # pixels of every photo here
    monkeypatch.setattr(photo, "decode", counted)
    assert len(encode(folder, colours, tmp_path)) == 40
    assert (max(together) == 1) == large


def test_features_are_written_for_use_elsewhere(folder, colours, tmp_path):
    (folder / "0" / "00.png").rename(folder / "0" / "sea\nlion.png")
    encoded = encode(folder, colours, tmp_path)
    path = write_features(encoded, tmp_path / "features.npz")
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["features"], encoded.features())
        assert file["paths"].tolist() == encoded.paths
        assert str(file["encoder"]) == "colours"
    assert match_features(folder, path).paths == encoded.paths
    with pytest.raises(ValueError, match=r"written as \.npz"):
        write_features(encoded, tmp_path / "features.npy")


def test_an_empty_folder_has_no_features(colours, tmp_path):
    (tmp_path / "photos").mkdir()
    encoded = encode(tmp_path / "photos", colours, tmp_path)
    assert len(encoded) == 0 and encoded.features().shape == (0, 6)
