"""Photos of telephones."""

import numpy as np
import pytest
from PIL import Image

from unseen.photos import encode_folder
from unseen.photos import photo as reading

pillow_heif = pytest.importorskip("pillow_heif")


@pytest.fixture
def folder(tmp_path):
    """A red photo, as a telephone saves it."""
    red = Image.new("RGB", (64, 48), "red")
    pillow_heif.from_pillow(red).save(tmp_path / "red.heic")
    return tmp_path


class Colour:
    """Sees the mean colour."""

    name, version, dimension, size = "colour", "1", 3, 8

    def encode(self, images):
        return images.mean(axis=(1, 2), dtype=np.float32)


def test_a_heic_photo_is_read(folder):
    found = encode_folder(folder, encoder=Colour(), cache=folder / ".cache")
    assert found.paths == ["red.heic"]
    red, green, blue = found.features()[0]
    assert red > 240 and green < 20 and blue < 20


def test_without_the_extra_the_refusal_names_it(folder, monkeypatch):
    monkeypatch.setattr(reading, "find_spec", lambda name: None)
    found = encode_folder(folder, encoder=Colour(), cache=folder / ".cache")
    assert "unseen[heic]" in found.skipped[0].reason
