"""From a folder to features: every file once, in order, or skipped with a reason."""

import shutil
import time

import numpy as np
import pytest
from PIL import Image

from tests.checks import close
from unseen.files import MARK
from unseen.photos import encode_folder, photo, write_features
from unseen.photos import folder as module
from unseen.photos.folder import find_photos
from unseen.photos.photo import read_square

# ---- which files there are ----------------------------------------------------------


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def test_paths_are_sorted_and_hidden_files_listed(tmp_path):
    names = ["b/2.jpg", "a.jpg", "b/1.jpg", "Z.jpg", "b/c/deep.png", "ä.jpg", "🦓.gif"]
    touch(tmp_path, *names, ".DS_Store", ".thumbs/1.jpg")
    found = find_photos(tmp_path)
    assert found.paths == sorted(names)
    assert [path for path, _ in found.skipped] == [".DS_Store", ".thumbs"]
    assert find_photos(tmp_path / "a.jpg") == (tmp_path, ["a.jpg"], [])
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        find_photos(tmp_path / "none")


def test_links_are_followed_once_and_loops_end(tmp_path):
    touch(tmp_path, "in/real/1.jpg", "outside/2.jpg")
    folder = tmp_path / "in"
    (folder / "again").symlink_to(folder / "real")  # sorts before the real one
    (folder / "loop").symlink_to(folder)
    (folder / "itself").symlink_to(folder / "itself")
    (folder / "real" / "up").symlink_to("..")
    (folder / "to outside").symlink_to(tmp_path / "outside")
    (folder / "photo.jpg").symlink_to(folder / "real" / "1.jpg")
    found = find_photos(folder)
    assert found.paths == ["itself", "photo.jpg", "real/1.jpg", "to outside/2.jpg"]
    searched = "a link to a folder searched already"
    assert found.skipped == [(one, searched) for one in ("again", "loop", "real/up")]


def test_thumbnails_of_a_page_are_no_photos(tmp_path):
    small = "labels-thumbnails"
    touch(tmp_path, "a.jpg", "labels.html", f"{small}/00000.jpg", f"{small}/{MARK}")
    found = find_photos(tmp_path)
    assert "a.jpg" in found.paths and not any("00000" in path for path in found.paths)
    assert [skipped.reason for skipped in found.skipped] == [
        "made by unseen: no photos of yours"
    ]


# ---- their features -----------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, paint):
    home = tmp_path / "photos"
    for i in range(40):
        kind = ("png", "jpg", "webp", "bmp")[i % 4]
        paint(home / f"{i % 3}" / f"{i:02d}.{kind}", i)
    return home


def encode(folder, encoder, tmp_path, **options):
    return encode_folder(folder, encoder=encoder, cache=tmp_path / "kept", **options)


def test_features_follow_the_photos_and_are_written_for_use_elsewhere(
    folder, colours, tmp_path
):
    (folder / "0" / "00.png").rename(folder / "0" / "sea\nlion.png")
    encoded = encode(folder, colours, tmp_path)
    assert encoded.paths == sorted(encoded.paths) and len(encoded) == 40
    assert encoded.n_new == colours.n_seen == 40 and not encoded.skipped
    alone = [
        colours.encode(read_square(folder / path, colours.size).pixels[None])[0]
        for path in encoded.paths
    ]
    np.testing.assert_array_equal(encoded.features(), alone)
    assert encoded.thumbnail(3) == read_square(folder / encoded.paths[3], 16).thumbnail
    path = write_features(encoded, tmp_path / "features.npz")
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["features"], alone)
        assert file["paths"].tolist() == encoded.paths
        assert str(file["encoder"]) == "colours"
    with pytest.raises(ValueError, match=r"written as \.npz"):
        write_features(encoded, tmp_path / "features.npy")


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
    shutil.copy(folder / "0" / "00.png", folder / "a copy")
    first = encode(folder, colours, tmp_path)
    again = encode(folder.rename(tmp_path / "elsewhere"), colours, tmp_path)
    assert first.n_new == colours.n_seen == 40 and again.n_new == 0
    assert again.paths == first.paths and len(again) == 41
    features = dict(zip(again.paths, again.features(), strict=True))
    np.testing.assert_array_equal(features["a copy"], features["0/00.png"])


def test_damaged_files_are_reported_and_change_nothing(folder, colours, tmp_path):
    before = encode(folder, colours, tmp_path)
    rng, cut = np.random.default_rng(0), (folder / "1" / "01.jpg").read_bytes()[:200]
    spoiled = {
        "empty.jpg": b"",
        "text.png": b"these are not the pixels you are looking for",
        "cut.jpg": cut,
        "cut again.jpg": cut,
        "noise.gif": b"GIF89a" + rng.bytes(300),
        "noise.webp": b"RIFF\x00\x01\x00\x00WEBP" + rng.bytes(300),
        "noise.tif": b"II*\x00" + rng.bytes(300),
        "noise.bmp": b"BM" + rng.bytes(300),
    }
    for name, content in spoiled.items():
        (folder / "2" / name).write_bytes(content)
    (folder / "2" / "nowhere.jpg").symlink_to(folder / "gone")
    told = []
    again = encode_folder(
        folder,
        encoder=colours,
        cache=tmp_path / "fresh",
        progress=lambda *now: told.append(now),
    )
    assert {path for path, _ in again.skipped} == {
        f"2/{name}" for name in (*spoiled, "nowhere.jpg")
    }
    assert all(reason for _, reason in again.skipped)
    assert again.paths == before.paths
    np.testing.assert_array_equal(again.features(), before.features())
    assert told == sorted(set(told)) and told[-1] == (49, 49)


def test_an_interrupted_run_goes_on_where_it_stopped(folder, colours, tmp_path):
    class Stops(type(colours)):
        def encode(self, images):
            if self.n_seen == 32:
                raise KeyboardInterrupt
            return super().encode(images)

    with pytest.raises(KeyboardInterrupt):
        encode(folder, Stops(), tmp_path)
    encoded = encode(folder, colours, tmp_path)
    assert encoded.n_new == 8 and len(encoded) == 40


def test_only_few_photos_are_ahead(folder, colours, tmp_path, monkeypatch):
    """Decoding waits for the encoder, so memory does not grow with the folder."""
    monkeypatch.setattr(module, "BATCH", 4)
    decoded, most, normal = [], [], colours.encode
    monkeypatch.setattr(
        module,
        "read_square",
        lambda path, *more: decoded.append(path) or read_square(path, *more),
    )
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
        inside.pop()
        return decode(image, size)

    monkeypatch.setattr(module, "THREADS", 4)
    monkeypatch.setattr(photo, "LARGE", 24 * 23 - large)  # pixels of every photo here
    monkeypatch.setattr(photo, "decode", counted)
    assert len(encode(folder, colours, tmp_path)) == 40
    assert (max(together) == 1) == large


def test_a_heic_photo_is_read_and_without_the_extra_the_refusal_names_it(
    tmp_path, colours, monkeypatch
):
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.from_pillow(Image.new("RGB", (64, 62), "red")).save(
        tmp_path / "red.heic"
    )
    found = encode_folder(tmp_path, encoder=colours, cache=tmp_path / ".cache")
    assert found.paths == ["red.heic"]
    close(found.features()[0], [255, 0, 0] * 2, within=20)
    monkeypatch.setattr(photo, "find_spec", lambda name: None)
    found = encode_folder(tmp_path, encoder=colours, cache=tmp_path / ".cache")
    assert "pillow-heif. Install it with" in found.skipped[-1].reason
