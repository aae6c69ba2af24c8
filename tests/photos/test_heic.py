"""Photos of telephones."""

import pytest
from PIL import Image

from unseen.photos import encode_folder
from unseen.photos import photo as reading

pillow_heif = pytest.importorskip("pillow_heif")


def test_a_heic_photo_is_read_and_without_the_extra_the_refusal_names_it(
    tmp_path, colours, monkeypatch
):
    red = Image.new("RGB", (64, 62), "red")
    pillow_heif.from_pillow(red).save(tmp_path / "red.heic")
    found = encode_folder(tmp_path, encoder=colours, cache=tmp_path / ".cache")
    assert found.paths == ["red.heic"]
    red, green, blue = found.features()[0][:3]
    assert red > 240 and green < 20 and blue < 20
    monkeypatch.setattr(reading, "find_spec", lambda name: None)
    found = encode_folder(tmp_path, encoder=colours, cache=tmp_path / ".cache")
    assert "unseen[heic]" in found.skipped[-1].reason
