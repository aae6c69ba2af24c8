"""Saved models know what they were taught with, and say where rows are unlike it."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import unseen
from tests.checks import invoke as run
from unseen.named import remember, unlike_message
from unseen.photos import NamedPhotos
from unseen.photos.bundled import load_photos
from unseen.texts import load_demo_texts

pytestmark = pytest.mark.filterwarnings(
    "ignore::unseen.transduction.anchored.WeakStartWarning"
)


def drawn(n, middle, seed=0):
    return middle + np.random.default_rng(seed).normal(size=(n, 20)) / 5


def test_one_in_twenty_of_the_same_kind_is_unlike_and_all_of_another():
    classes = np.random.default_rng(9).normal(size=(12, 20))
    labels = np.arange(240) % 12
    shares = np.eye(12)[labels]
    known = remember(drawn(240, classes[labels]), shares)
    same = known.unlike(drawn(5_000, classes[np.arange(5_000) % 12], seed=1))
    assert 0.03 < same.mean() < 0.08
    others = np.random.default_rng(8).normal(size=(5_000, 20))
    assert known.unlike(others).mean() > 0.95
    # Of classes that were left out, too, if whole classes were.
    broad = remember(drawn(240, classes[labels]), shares, whole_classes=True)
    assert broad.usual > 2 * known.usual
    assert broad.unlike(others).mean() < 0.2
    assert broad.unlike(others[:0]).shape == (0,)


def test_what_is_said_needs_a_fifth_of_the_rows():
    assert unlike_message(20, 100, "photos") == unlike_message(0, 0, "photos") == ""
    assert unlike_message(21, 100, "photos").startswith("21 of 100 photos are unlike")


@pytest.fixture(scope="module")
def pets():
    return unseen.load_data("pets")


def test_a_model_of_photos_knows_its_kind(pets, tmp_path):
    photos = load_photos()
    half = np.arange(len(photos.truth)) % 2 == 0
    model = NamedPhotos(photos.image_encoder, photos.text_encoder).fit(photos.classes)
    assert not model.unlike(pets.X_unseen).any()  # nothing is known
    model.adapt(photos.features[half])
    again = unseen.load_model(model.save(tmp_path / "m.unseen"))
    assert again.unlike(photos.features[~half]).mean() < 0.2
    assert again.unlike(pets.X_unseen).mean() > 0.8


def test_a_model_of_texts_says_that_texts_are_of_another_kind(tmp_path):
    demo = load_demo_texts()
    files = {name: tmp_path / f"{name}.csv" for name in ("some", "same", "other")}
    strange = [f"INV-{n:05} {n} pcs M{n} hex bolt DIN 933 zinc" for n in range(2, 60)]
    texts = demo.texts[::2], demo.texts[1::2], [*strange, ""]
    for path, own in zip(files.values(), texts, strict=True):
        pd.DataFrame({"text": own}).to_csv(path, index=False)
    model, out = tmp_path / "m.unseen", tmp_path / "out"
    words = ["--classes", ",".join(demo.classes), "--save", model]
    first = run("label", files["some"], *words, "--out", tmp_path / "l.csv")
    assert first.exit_code == 0 and "unlike" not in first.output
    words = ["--model", model, "--force", "--out", out]
    assert "are unlike" not in run("label", files["same"], *words).output
    said = " texts are unlike those that the model learned from"
    assert said in run("label", files["other"], *words).output
    table = pd.read_csv(out / "labels.csv", keep_default_na=False)
    n = int((table["unlike"] == "yes").sum())
    assert n > 50 and table["unlike"].iloc[-1] == "" == table["label"].iloc[-1]
    (page,) = out.glob("*.html")
    assert f"{n} of 59{said}" in page.read_text("utf-8")
    told = json.loads(run("label", files["other"], *words, "--json").output)
    assert said in told["message"]


def test_a_model_of_rows_says_that_rows_are_of_another_kind(pets, tmp_path):
    model, out = tmp_path / "m.unseen", tmp_path / "out"
    learned = run("run", "pets", "--save", model, "--out", tmp_path / "l.csv")
    assert learned.exit_code == 0 and "unlike" not in learned.output
    rows = {"same": pets.X_unseen, "other": load_photos().features}
    for name, X in rows.items():
        np.save(tmp_path / f"{name}.npy", X)
    words = ["--model", model, "--force", "--out", out]
    assert "are unlike" not in run("run", tmp_path / "same.npy", *words).output
    said = "rows are unlike those that the model learned from"
    answer = run("run", tmp_path / "other.npy", *words)
    assert answer.exit_code == 0 and said in answer.output
    assert said in (out / "report.html").read_text("utf-8")
    table = pd.read_csv(out / "labels.csv", keep_default_na=False)
    again = unseen.load_model(model)
    assert_array_equal(table["unlike"] == "yes", again.taught_.unlike(rows["other"]))
