"""Text encoders: what is near in meaning is near, and unknown signs say nothing."""

import numpy as np
import pytest

from tests.checks import close
from unseen.naming import find_encoder, register_encoder
from unseen.naming.encoders import _KNOWN
from unseen.naming.wordllama import TABLE, WordLlama


@pytest.fixture(scope="module")
def words():
    return WordLlama()


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_a_text_is_the_mean_of_the_rows_of_its_pieces(words):
    from importlib.util import find_spec
    from pathlib import Path

    from safetensors import safe_open

    home = Path(find_spec("wordllama").origin).parent
    with safe_open(home / TABLE, framework="np") as file:
        (name,) = file.keys()
        table = file.get_tensor(name).astype(np.float64)
    ids = words._tokenizer.encode("horse cart", add_special_tokens=False).ids
    assert len(ids) >= 2
    (vector,) = words.encode(["horse cart"])
    close(vector, table[ids].mean(axis=0), digits=5)


@pytest.mark.parametrize(
    "one, near, far",
    [("cat", "dog", "airplane"), ("ship", "boat", "frog"), ("truck", "car", "deer")],
)
def test_near_in_meaning_is_near(words, one, near, far):
    a, b, c = words.encode([one, near, far])
    assert cosine(a, b) > cosine(a, c)


def test_signs_without_a_piece_say_nothing(words):
    vectors = words.encode(["🦓", "", "  ", "zebra 🦓", "zebra"])
    assert not vectors[:3].any()
    assert cosine(vectors[3], vectors[4]) > 0.99
    assert words.encode([]).shape == (0, 256)


@pytest.mark.parametrize("name, extra", [("minilm", "minilm"), ("clip", "clip")])
def test_a_missing_package_names_its_extra(monkeypatch, name, extra):
    monkeypatch.setattr("unseen.texts.encoders.find_spec", lambda _: None)
    monkeypatch.setitem(__import__("sys").modules, "open_clip", None)
    with pytest.raises(ImportError, match=rf"pip install .*\[{extra}\]"):
        find_encoder(name)


def test_an_encoder_of_ones_own_is_found_by_name():
    register_encoder("text", "own", WordLlama)
    try:
        assert find_encoder("own").name == "wordllama"
    finally:
        del _KNOWN["text"]["own"]
    with pytest.raises(ValueError, match=r"'own'.* wordllama, minilm, clip"):
        find_encoder("own")
