"""Encoders of texts: found by name, folder or function; remembered by content."""

import sys
import types
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file
from typer.testing import CliRunner

from tests.checks import close
from unseen import load_model
from unseen.cli import app
from unseen.naming.clip import clean_text
from unseen.naming.encoders import encode_texts, find_encoder
from unseen.texts import NamedTexts
from unseen.texts.encoders import TABLE, RememberingEncoder, WordLlama, encoder_version


class Counting:
    """Counts what it is asked; a text is its length and its vowels."""

    name, space, dimension = "counting", None, 3

    def __init__(self, factor=1.0):
        self.asked, self.factor = [], factor

    def encode(self, texts):
        self.asked += list(texts)
        rows = [[len(t), sum(map(t.count, "aeiou")), len(t) ** 0.5] for t in texts]
        return self.factor * np.array(rows, np.float32).reshape(-1, 3)


def test_a_text_is_encoded_once_wherever_it_stands(tmp_path):
    encoder = Counting()
    cache = RememberingEncoder(encoder, tmp_path)
    rows = cache.encode(["one", "two words", "one"])
    asked = encoder.asked.count("one")
    again = RememberingEncoder(encoder, tmp_path)
    assert_array_equal(again.encode(["new", "two words", "one", ""])[[2, 1]], rows[:2])
    assert encoder.asked.count("one") == asked == 1
    assert encoder.asked.count("new") == 1
    assert again.encode([]).shape[0] == 0
    encoder.encode = lambda texts: Counting().encode(texts) ** 2  # other vectors
    assert RememberingEncoder(encoder, tmp_path).cache.space != cache.cache.space
    assert encoder_version(Counting()) == encoder_version(Counting())


def test_functions_are_encoders():
    def lengths(texts):
        return [[len(text), 1] for text in texts]

    assert_array_equal(find_encoder(lengths).encode(["abc"]), [[3, 1]])
    assert find_encoder(lengths).name.endswith("lengths")
    with pytest.raises(ValueError, match=r"made an array of shape \(1, 2\) of 2 texts"):
        encode_texts(find_encoder(lambda texts: [[1, 2]]), ["a", "b"])
    with pytest.raises(ValueError, match="made NaN or infinity of the text 'b'"):
        encode_texts(find_encoder(lambda texts: [[1.0], [np.nan]]), ["a", "b"])


def test_signs_that_nobody_knows_are_read_by_their_names():
    words = find_encoder()
    rows = encode_texts(words, ["🦓", "🎸🎶", "🦓 zebra", "\ue000"])
    assert_array_equal(rows[:1], words.encode(["zebra"]))
    assert_array_equal(rows[1:2], words.encode(["guitar multiple musical notes"]))
    assert rows[2].any() and not rows[3].any()


@pytest.mark.parametrize(
    "name", ["model2vec:absent/one", "sentence-transformers:absent"]
)
def test_nothing_is_fetched(name, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    fakes(monkeypatch)
    with pytest.raises(FileNotFoundError, match="hf download"):
        find_encoder(name)


def fakes(monkeypatch):
    """Stand-ins for the two libraries: models that count letters."""

    class Model:
        dim = 2

        def __init__(self, place, **options):
            self.place, self.options = place, options

        from_pretrained = classmethod(lambda cls, place: cls(place))

        def get_sentence_embedding_dimension(self):
            return 2

        def encode(self, texts, show_progress_bar=False):
            return np.array([[len(text), 1.0] for text in texts])

    static, transformers = (
        types.ModuleType("model2vec"), types.ModuleType("sentence_transformers"),
    )  # fmt: skip
    static.StaticModel, transformers.SentenceTransformer = Model, Model
    monkeypatch.setitem(sys.modules, "model2vec", static)
    monkeypatch.setitem(sys.modules, "sentence_transformers", transformers)


def test_folders_are_told_apart_by_their_files(monkeypatch, tmp_path):
    fakes(monkeypatch)
    for name, file in (("s", "modules.json"), ("m", "model.safetensors"), ("x", "a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("[]")
    assert find_encoder(tmp_path / "s").name.startswith("sentence-transformers:")
    assert find_encoder(tmp_path / "m").name.startswith("model2vec:")
    with pytest.raises(ValueError, match="holds no model"):
        find_encoder(tmp_path / "x")


def test_a_model_that_was_fetched_before_is_found(monkeypatch, tmp_path):
    fakes(monkeypatch)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    home = tmp_path / "models--sentence-transformers--tiny"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("abc")
    (home / "snapshots" / "abc").mkdir(parents=True)
    found = find_encoder("sentence-transformers:tiny")
    assert found._model.place == str(home / "snapshots" / "abc")
    assert found._model.options["local_files_only"]
    assert_array_equal(found.encode(["", "ab"]), [[0, 0], [2, 1]])


def test_a_static_model_of_model2vec_gives_its_own_vectors(tmp_path):
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, "card": 1, "rain": 2, "dog": 3}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(words, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    static = model2vec.StaticModel(vectors, tokenizer, normalize=False)
    static.save_pretrained(str(tmp_path / "tiny"))
    found = find_encoder(tmp_path / "tiny")
    rows = found.encode(["card rain", "dog", ""])
    close(rows[0], vectors[1:3].mean(axis=0), digits=6)
    close(rows[1], vectors[3], digits=6)
    assert not rows[2].any()


def test_a_model_file_chooses_no_folder(tmp_path):
    """Only its user may name an encoder that is not built in."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "modules.json").write_text('[{"type": "evil.Layer"}]')
    model = NamedTexts(Counting()).fit(["cat", "parrot"])
    model.encoder.name = f"sentence-transformers:{folder}"
    saved = model.save(tmp_path / "texts.unseen")
    loaded = load_model(saved)
    with pytest.raises(ValueError, match="--encoder sentence-transformers"):
        loaded.predict(["a cat"])
    loaded.encoder = Counting()
    assert loaded.predict(["a cat"]).shape == (1,)
    (tmp_path / "t.txt").write_text("a cat\n")
    words = ["label", str(tmp_path / "t.txt"), "--model", str(saved)]
    answer = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "l.csv")])
    assert answer.exit_code == 2 and "not built in" in answer.output


@pytest.mark.parametrize("content", ['[{"type": "evil.Layer"}]', "[{}]", None])
def test_a_folder_with_modules_of_its_own_is_refused(tmp_path, monkeypatch, content):
    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = lambda *words, **more: pytest.fail("it was loaded")
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    own = '[{"type": "sentence_transformers.models.Transformer"}]'
    (tmp_path / "modules.json").write_text(content or own)
    if content is None:
        (tmp_path / "layer.py").write_text("print('run')")
    with pytest.raises(ValueError, match="modules"):
        find_encoder(f"sentence-transformers:{tmp_path}")


@pytest.fixture(scope="module")
def words():
    return WordLlama()


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_a_text_is_the_mean_of_the_rows_of_its_pieces(words):
    home = Path(find_spec("wordllama").origin).parent
    (table,) = load_file(home / TABLE).values()
    ids = words._tokenizer.encode("horse cart", add_special_tokens=False).ids
    assert len(ids) >= 2
    (vector,) = words.encode(["horse cart"])
    close(vector, table[ids].mean(axis=0), digits=5)


def test_signs_without_a_piece_say_nothing(words):
    vectors = words.encode(["🦓", "", "  ", "zebra 🦓", "zebra", "caf\udce9 open"])
    assert not vectors[:3].any() and vectors[5].any()
    assert cosine(vectors[3], vectors[4]) > 0.99
    cat, dog, airplane = words.encode(["cat", "dog", "airplane"])
    assert cosine(cat, dog) > cosine(cat, airplane)
    assert words.encode([]).shape == (0, 256)


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setattr("unseen._command.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install .*\[sentences\]"):
        find_encoder("minilm")
    monkeypatch.setitem(sys.modules, "ftfy", None)
    with pytest.raises(ImportError, match=r"pip install .*\[clip\]"):
        clean_text("zebra")
