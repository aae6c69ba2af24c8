"""Features from elsewhere find their photos."""

import numpy as np
import pytest

from unseen.limits import Limits
from unseen.photos import encode_folder, write_features
from unseen.photos.precomputed import PrecomputedTexts, match_features


@pytest.fixture
def folder(tmp_path, paint):
    for i, name in enumerate(["b.png", "a.png", "below/c.png"]):
        paint(tmp_path / "photos" / name, i)
    (tmp_path / "photos" / "notes.txt").write_text("no photo")
    return tmp_path / "photos"


def test_what_encode_writes_is_matched_by_path(folder, colours, tmp_path, paint):
    encoded = encode_folder(folder, encoder=colours, cache=tmp_path / "k")
    path = write_features(encoded, tmp_path / "f.npz")
    (folder / "a.png").unlink()
    paint(folder / "new.png", 9)
    photos = match_features(folder, path)
    assert photos.paths == ["b.png", "below/c.png"]
    np.testing.assert_array_equal(photos.features(), encoded.features()[1:])
    assert ("new.png", "has no row in f.npz") in photos.skipped
    assert photos.encoder.name == "colours"
    assert photos.thumbnail(0).startswith(b"\xff\xd8")


def test_rows_without_paths_follow_the_photos(folder, tmp_path):
    np.save(tmp_path / "f.npy", np.arange(6.0).reshape(3, 2))
    photos = match_features(folder, tmp_path / "f.npy")
    assert photos.paths == ["a.png", "b.png", "below/c.png"]
    np.savez(tmp_path / "f.npz", features=np.eye(3))
    assert match_features(folder, tmp_path / "f.npz").paths == photos.paths


@pytest.mark.parametrize(
    "values, said",
    [
        (np.eye(2), r"has 2 rows, but .* has 3 photos"),
        (np.eye(3)[0], r"of shape \(3,\)"),
        (np.eye(3, dtype=int), "int64"),
        (np.full((3, 2), np.nan), "NaN or infinity"),
        (np.array([["a"]] * 3), "Give one row of floats"),
        (np.array([[None]] * 3, dtype=object), "Python objects"),
        ({"X": np.eye(3)}, "no array 'features'"),
        ({"features": np.eye(3), "paths": ["a.png"]}, "3 rows, but 1 paths"),
        ({"features": np.eye(3), "paths": [*"aba"]}, r"f\.npz: the path 'a' is there"),
        (b"PK\x03\x04 nothing", "is damaged"),
    ],
)
def test_features_that_do_not_fit_say_so(folder, tmp_path, values, said):
    path = tmp_path / ("f.npy" if isinstance(values, np.ndarray) else "f.npz")
    if isinstance(values, bytes):
        path.write_bytes(values)
    elif isinstance(values, dict):
        np.savez(path, **values)
    else:
        np.save(path, values)
    with pytest.raises(ValueError, match=said):
        match_features(folder, path)


def test_class_vectors_stand_in_for_a_text_encoder():
    words = PrecomputedTexts(["a", "b"], np.array([[1, 2], [3, 4]]))
    np.testing.assert_array_equal(words.encode(["b", "a"]), [[3, 4], [1, 2]])
    with pytest.raises(ValueError, match="there are 3 classes"):
        PrecomputedTexts(["a", "b", "c"], np.eye(2))


def test_features_that_unpack_to_far_more_than_their_size_are_refused(
    folder, tmp_path, monkeypatch
):
    np.savez_compressed(tmp_path / "f.npz", features=np.zeros((3, 100_000)))
    monkeypatch.setattr("unseen.limits.LIMITS", Limits(unpacked_free=100_000))
    with pytest.raises(ValueError, match="unpack to"):
        match_features(folder, tmp_path / "f.npz")
