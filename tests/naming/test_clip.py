"""CLIP by onnxruntime: what open_clip makes of a tiny model, and weights from a server.

``tiny.safetensors.gz`` and ``expected.npz`` are made by ``studies/clip_reference.py``.
"""

import gzip
import hashlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from PIL import Image
from typer.testing import CliRunner

from tests.checks import close
from tests.loading.test_fetch import server
from unseen.cli import app
from unseen.naming import clip, find_encoder
from unseen.naming.towers import Graph
from unseen.photos.folder import encode_squares
from unseen.photos.photo import read_square

pytest.importorskip("onnxruntime")
pytest.importorskip("ftfy")

TINY = Path(__file__).parent / "tiny_clip"
EXPECTED = dict(np.load(TINY / "expected.npz"))
TEXTS = EXPECTED["texts"].tolist()
__all__ = ["server"]  # the fixture


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A checkpoint of 128 and 64 wide towers of two layers, in half precision."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.safetensors"
    path.write_bytes(gzip.decompress((TINY / "tiny.safetensors.gz").read_bytes()))
    return path


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A cache folder of its own."""
    monkeypatch.setenv("UNSEEN_CACHE", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def fetched(home, tiny):
    """The tiny model in the place of the weights that are fetched."""
    (home / "clip").mkdir(parents=True)
    return Path(shutil.copy(tiny, home / "clip" / clip.FILE))


@pytest.fixture
def photos(tmp_path):
    (tmp_path / "photos").mkdir()
    for row, pixels in enumerate(EXPECTED["photos"]):
        Image.fromarray(pixels).save(tmp_path / "photos" / f"{row}.png")
    return tmp_path / "photos"


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


# ---- towers --------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("kind", ["image", "text"])
def test_towers_are_those_of_open_clip(tiny, tmp_path, quick, kind):
    path = Path(shutil.copy(tiny, tmp_path / f"a{'-quickgelu' * quick}.safetensors"))
    tower = find_encoder(path, kind)
    items = EXPECTED["photos"] if kind == "image" else TEXTS
    expected = EXPECTED[f"{kind}s_{quick}"]
    close(tower.encode(items), expected, digits=5)
    close(tower.encode(items[1:2]), expected[1:2], digits=5)  # alone as among others
    assert tower.encode(items[:0]).shape == (0, 32)
    other = EXPECTED[f"{kind}s_{not quick}"]
    assert np.abs(expected - other).max() > 1e-3


def test_what_open_clip_says_of_a_checkpoint_is_believed(tiny, tmp_path):
    path = shutil.copy(tiny, tmp_path)
    about = {"model_cfg": {"quick_gelu": True}, "preprocess_cfg": {"mean": [0, 0, 0]}}
    (tmp_path / "open_clip_config.json").write_text(json.dumps(about))
    close(find_encoder(path).encode(TEXTS), EXPECTED["texts_True"], digits=5)
    rows = find_encoder(path, "image").encode(EXPECTED["photos"])
    assert np.abs(rows - EXPECTED["images_True"]).max() > 1e-3  # another mean


def test_pieces_are_those_of_open_clip():
    pieces = clip.clip_pieces()
    pieces.enable_truncation(77)
    for text, row in zip(TEXTS, EXPECTED["tokens"], strict=True):
        ids = pieces.encode(clip.clean_text(text)).ids
        assert ids == row[: len(ids)].tolist() and not row[len(ids) :].any()


def test_half_of_the_weights_is_nearly_all(tiny, fetched, home):
    from safetensors.numpy import load_file, safe_open, save_file

    whole = {key: one.astype(np.float32) for key, one in load_file(tiny).items()}
    save_file(whole, fetched)
    half = find_encoder("clip-half", "image")
    path = home / "clip" / clip.HALF
    assert path.stat().st_size < 0.55 * fetched.stat().st_size
    with safe_open(path, "numpy") as file:
        digest = hashlib.sha256(fetched.read_bytes()).hexdigest()
        assert file.metadata() == {"made_from_sha256": digest}
    fetched.unlink()
    close(half.encode(EXPECTED["photos"]), EXPECTED["images_False"], digits=5)
    assert find_encoder("auto", "image").name == "clip-half"


@pytest.mark.parametrize(
    "damage, said",
    [
        (lambda content: content[:20], "is not a file of safetensors"),
        (lambda content: content[: len(content) // 2], "is damaged"),
        (lambda content: content.replace(b'"F16"', b'"I16"'), "Give F32 or F16"),
        (lambda content: content.replace(b"visual.proj", b"visual.prox"), "no tensor"),
        (lambda content: content.replace(b"[0,", b'["'), "is damaged"),
    ],
)
def test_a_damaged_checkpoint_is_one_sentence(tiny, tmp_path, damage, said):
    path = tmp_path / "a.safetensors"
    path.write_bytes(damage(tiny.read_bytes()))
    with pytest.raises(ValueError, match=said):
        find_encoder(path, "image").encode(EXPECTED["photos"])


# ---- the weights that are fetched ----------------------------------------------------


@pytest.fixture
def source(server, tiny, home, monkeypatch):
    """A server that has the tiny model, which is what is expected of it."""
    server.body = tiny.read_bytes()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setattr(clip, "URL", f"{address}/open_clip_model.safetensors")
    monkeypatch.setattr(clip, "SHA256", hashlib.sha256(server.body).hexdigest())
    return server


def test_weights_are_fetched_on_a_word_and_then_the_default(source, home, photos):
    words = ["label", photos, "--classes", "dog, 猫", "--out", photos.parent / "l.csv"]
    answer = run(*words, "--encoder", "clip")
    assert answer.exit_code == 2 and "under the MIT licence" in answer.output
    assert "605,189,364 bytes" in answer.output and "data fetch clip" in answer.output
    assert source.asked == []
    answer = run(*words)
    assert answer.exit_code == 2 and "does not know '猫'" in answer.output
    for _ in "12":
        answer = run("data", "fetch", "clip")
        assert answer.exit_code == 0 and clip.FILE in answer.output
    assert len(source.asked) == 1
    answer = run(*words)
    assert answer.exit_code == 0, answer.output
    assert find_encoder("auto", "image").name == "clip"


def test_a_redirect_is_followed(source, home):
    source.elsewhere = 1
    clip.fetch_clip()
    assert (home / "clip" / clip.FILE).read_bytes() == source.body


# ---- names and photos ----------------------------------------------------------------


def test_encoders_do_not_mix(fetched, photos, tmp_path):
    words = ["label", photos, "--classes", "dog, 猫, _old-fire/truck"]
    model, features = tmp_path / "m.unseen", tmp_path / "f.npz"
    answer = run(*words, "--out", tmp_path / "a.csv", "--save", model)
    assert answer.exit_code == 0, answer.output
    assert "data fetch clip" not in answer.output
    assert "by clip are right was not measured" in answer.output
    assert run(*words, "--dry-run").exit_code == 0
    again = ["label", photos, "--model", model, "--out", tmp_path / "b.csv"]
    assert run(*again).exit_code == 0
    encode = ["encode", photos, "--out", features, "--force"]
    assert "features of lite0" in run(*encode, "--encoder", "lite0").output
    for other in (features, "lite0"):
        answer = run(*again, "--encoder", other, "--force")
        assert answer.exit_code == 2 and "They do not mix" in answer.output
    assert "3 photos x 32 features of clip" in run(*encode).output
    assert run(*again, "--encoder", features, "--force").exit_code == 0
    words += ["--encoder", features]
    assert run(*words, "--out", tmp_path / "c.csv").exit_code == 0
    with np.load(features) as file:
        other = dict(file) | {"version": np.array("of another file")}
    np.savez(features, **other)
    answer = run(*words, "--out", tmp_path / "d.csv")
    assert answer.exit_code == 2 and "They do not mix" in answer.output
    answer = run(*words[:-2], "--out", tmp_path / "e.csv", "--unknown")
    assert answer.exit_code == 2 and "is not offered for clip" in answer.output


def replace(checkpoint):
    """Put other weights under the path of a checkpoint."""
    from safetensors.numpy import load_file, save_file

    tensors = load_file(checkpoint)
    for name in ("visual.proj", "text_projection"):
        tensors[name] = np.ascontiguousarray(tensors[name][::-1])
    save_file(tensors, checkpoint)


def test_a_checkpoint_that_was_replaced_is_another_encoder(
    tiny, photos, home, tmp_path
):
    from unseen.review.opening import find_features, find_origin

    path = Path(shutil.copy(tiny, tmp_path / "own.safetensors"))
    (tmp_path / "t.csv").write_text("text\na dog\na cat\nthe dog\n")
    words = ["--classes", "dog, cat", "--encoder", path]
    models = {kind: tmp_path / f"{kind}.unseen" for kind in ("photos", "t.csv")}
    features, ids = tmp_path / "f.npz", {}
    for kind, model in models.items():
        table = tmp_path / f"{kind}.labels.csv"
        assert not run(
            "label", tmp_path / kind, *words, "--save", model, "--out", table
        ).exit_code
        ids[kind] = pd.read_csv(table)["id"].astype(str).tolist()
        find_features(ids[kind], find_origin(table))
    encode = ["encode", photos, "--encoder", path, "--out", features]
    assert "(0 encoded now" in run(*encode).output  # all is known
    moved = shutil.copy(path, tmp_path / "moved.safetensors")
    encode[3] = moved  # the digest is what counts, not the path
    assert "(0 encoded now" in run(*encode, "--force").output
    others = ["--out", tmp_path / "b.csv", "--force"]
    for kind, model in models.items():  # a file leads to no other file
        again = ["label", tmp_path / kind, "--model", model, *others]
        assert "which is not built in" in run(*again).output
        assert run(*again, "--encoder", path).exit_code == 0
    words = ["label", photos, "--classes", "dog, cat", "--out", tmp_path / "c.csv"]
    words += ["--encoder", f"{features}+{path}"]
    assert run(*words).exit_code == 0
    encode[3] = path
    assert run(*encode, "--force").exit_code == 0

    replace(path)
    for kind, model in models.items():
        again = ["label", tmp_path / kind, "--model", model, *others]
        answer = run(*again, "--encoder", path)
        assert answer.exit_code == 2 and "They do not mix" in answer.output
        origin = find_origin(tmp_path / f"{kind}.labels.csv")
        with pytest.raises(ValueError, match=r"labelled with .* do not mix"):
            find_features(ids[kind], origin)
    answer = run(*words, "--force")
    assert answer.exit_code == 2 and "They do not mix" in answer.output
    before = np.load(features)["features"]
    assert run(*encode, "--force").exit_code == 0
    assert np.abs(np.load(features)["features"] - before).max() > 1e-3
    assert run(*words, "--force").exit_code == 0


def test_names_are_read_in_sentences(tiny):
    from unseen.photos import NamedPhotos

    model = NamedPhotos(str(tiny)).fit(["fire_bus"], descriptions={"fire_bus": "red"})
    said = [prompt.format("fire bus, red") for prompt in clip.PROMPTS]
    mean = find_encoder(tiny).encode(said).mean(axis=0)
    close(model.prototypes_[0], mean / np.linalg.norm(mean), digits=5)


# ---- any pair ------------------------------------------------------------------------


def write_siglip(folder, table, places):
    """Write graphs and a tokenizer as exports of SigLIP have them, few numbers in each.

    Both graphs pool inside: photos over pixels, texts over all 64 places.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers
    from tokenizers.processors import TemplateProcessing

    takes = {
        "visual": ("pixel_values", np.float32, ["n", 3, 224, 224]),
        "textual": ("input_ids", np.int64, ["n", 64]),
    }
    for name, (what, kind, shape) in takes.items():
        graph = Graph()
        if name == "visual":
            graph.add("MaxPool", what, kernel_shape=[16, 16], strides=[16, 16])
            x = graph.nodes[-1].output[0]
            graph.add("Identity", x, out="last_hidden_state")
            x = graph.add("GlobalAveragePool", x)
            graph.add("Flatten", x, out="pooler_output")
        else:
            x = graph.add("Gather", graph.constant(table), what)
            graph.add("Identity", x, out="last_hidden_state")
            x = graph.add("Mul", x, graph.constant(places))
            axis = graph.constant([1], np.int64)
            graph.add("ReduceSum", x, axis, keepdims=0, out="pooler_output")
        made = graph.finish(name, (what, kind, shape), 3)
        made.graph.output[0].name = "pooler_output"
        sides = ["n", 3, 14, 14] if name == "visual" else ["n", 64, 3]
        info = graph.onnx.helper.make_tensor_value_info
        made.graph.output.insert(0, info("last_hidden_state", 1, sides))
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())
    words = {
        word: number for number, word in enumerate("<unk> </s> a photo of dog".split())
    }
    pieces = Tokenizer(models.WordLevel(words | {".": 6}, "<unk>"))
    pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    pieces.post_processor = TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    pieces.enable_padding(length=20, pad_id=0)  # what is said beside it counts
    pieces.save(str(folder / "tokenizer.json"))


def test_the_example_of_the_guide_is_read_as_it_says(tmp_path, photos):
    guide = Path(__file__).parents[2] / "docs" / "guide" / "clip.md"
    (about,) = re.findall(r"```json\n(.+?)```", guide.read_text("utf-8"), re.DOTALL)
    (home := tmp_path / "siglip").mkdir()
    (home / "encoder.json").write_text(about)
    draw = np.random.default_rng(0)
    table, places = draw.normal(size=(7, 3)), draw.normal(size=(64, 1))
    write_siglip(home, table, places)

    seeing = find_encoder(home, "image")
    photo = draw.integers(0, 256, (300, 500, 3), dtype=np.uint8)
    Image.fromarray(photo).save(home / "photo.png")
    square = read_square(home / "photo.png", seeing.size)
    assert square.whole.shape == (224, 224, 3)  # all of the photo, squeezed
    largest = square.whole.reshape(14, 16, 14, 16, 3).max(axis=(1, 3)) / 255

    def check_photo(mean, std):
        pooled = ((largest - mean) / std).mean(axis=(0, 1))
        found = encode_squares(find_encoder(home, "image"), [square])[0]
        close(found, pooled / np.linalg.norm(pooled), 5)

    check_photo(0.5, 0.5)

    reading = find_encoder(home)
    for text, said in (("A photo of a Dog.", [2, 3, 4, 2, 5, 6, 1]), ("cat", [0, 1])):
        ids = said + [1] * (64 - len(said))
        pooled = (table[ids] * places).sum(axis=0)
        close(reading.encode([text])[0], pooled / np.linalg.norm(pooled), 5)
    close(reading.encode_names(["Dog"])[0], reading.encode(["a photo of a dog."])[0], 5)
    long = reading.encode(["dog " * 100])[0]  # cut, its end kept
    pooled = (table[[5] * 63 + [1]] * places).sum(axis=0)
    close(long, pooled / np.linalg.norm(pooled), 5)
    assert_array_equal(reading.encode([" "]), np.zeros((1, 3)))
    words = "--classes", "dog, photo", "--out", photos.parent / "l.csv"
    assert run("label", photos, *words, "--encoder", home).exit_code == 0
    other = {"mean": [0.5, 0.1, 0], "std": [1, 2, 0.5]}
    (home / "encoder.json").write_text(json.dumps(json.loads(about) | other))
    check_photo(*other.values())


@pytest.mark.parametrize("about", [{"side": 8}, {"mean": None}])
def test_what_is_said_of_a_pair_must_be_understood(tmp_path, about):
    said = {"size": 8, "mean": [0.5, 0, 0], "std": [1, 2, 1]} | about
    (tmp_path / "encoder.json").write_text(json.dumps(said))
    (tmp_path / "visual.onnx").touch()
    with pytest.raises(ValueError, match=r"encoder\.json"):
        find_encoder(tmp_path, "image")
