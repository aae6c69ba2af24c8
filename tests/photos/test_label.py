"""From a folder and names to labels, in Python and from the shell."""

import contextlib
import csv
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images
from typer.testing import CliRunner

import unseen
from tests.checks import close
from unseen.cli import app
from unseen.labels import COLUMNS, write_labels
from unseen.photos import label_folder
from unseen.photos.folder import find_photos
from unseen.photos.label import FOREIGN

runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twenty photos: parts of a temple and of a flower."""
    home = tmp_path_factory.mktemp("photos")
    temple, flower = map(Image.fromarray, load_sample_images().images)
    for i in range(10):
        box = (100 + 10 * i, 20, 400 + 10 * i, 320)
        (home / "deep" / "er").mkdir(parents=True, exist_ok=True)
        temple.crop(box).resize((120, 120)).save(home / f"temple {i}.png")
        box = (150 + 10 * i, 40, 450 + 10 * i, 340)
        flower.crop(box).resize((90, 120)).save(home / "deep" / "er" / f"flower{i}.jpg")
    return home


def truth(frame):
    return ["flower" if "flower" in path else "palace" for path in frame["id"]]


@pytest.mark.filterwarnings("ignore::unseen.photos.WeakNamesWarning")
def test_photos_of_no_class_are_set_apart(folder, tmp_path):
    """Temples and flowers are not kangaroos, and no tractors; of their own they are."""
    own = label_folder(folder, "palace, flower", unknown=True)
    assert own["label"].tolist() == truth(own)
    model = tmp_path / "strange.unseen"
    plain = label_folder(folder, "kangaroo, tractor", save=model)
    frame = label_folder(folder, "kangaroo, tractor", unknown=True)
    apart = (frame["label"] == unseen.NONE_OF_THESE).to_numpy()
    assert apart.sum() > 10 and (apart == (frame["novelty"] > FOREIGN)).all()
    assert (frame["second"] == plain["label"])[apart].all()
    assert frame[~apart].equals(plain[~apart])
    # 2 of 100 are apart by mistake: .02 * 20 of so many.
    close(frame["reliability"][apart], 1 - 0.02 * 20 / apart.sum())
    again = label_folder(folder, model=model, unknown=True)
    assert again["label"].eq(unseen.NONE_OF_THESE).tolist() == apart.tolist()


def test_every_photo_gets_a_label_and_a_second_run_needs_no_network(
    folder, tmp_path, monkeypatch
):
    options = {"given": {"./temple 0.png": "palace"}, "cache": tmp_path}
    frame = label_folder(folder, "palace, flower", **options)
    columns = (*COLUMNS, "novelty", "answer", "given")
    assert set(frame.columns) == set(columns) and len(frame) == 20
    assert set(frame["answer"]) == {"adapted"} and frame.attrs["skipped"] == []
    assert frame["id"].is_monotonic_increasing
    assert frame["label"].tolist() == truth(frame)
    other = {"palace": "flower", "flower": "palace"}
    assert frame["second"].tolist() == [other[name] for name in frame["label"]]
    assert frame["reliability"].between(0, 1).all()
    assert frame.set_index("id")["given"]["temple 0.png"] == "palace"

    def never(graph):
        raise AssertionError("there is nothing to encode")

    monkeypatch.setattr("unseen.photos.efficientnet.start_session", never)
    again = label_folder(folder, "palace, flower", **options)
    pd.testing.assert_frame_equal(frame, again)


def test_emoji_name_classes_and_one_class_is_everything(folder):
    frame = label_folder(folder, {"🏯": "", "B": "a flower"})
    names = {"palace": "🏯", "flower": "B"}
    assert frame["label"].tolist() == [names[name] for name in truth(frame)]
    frame = label_folder(folder, ["flower"])
    assert set(frame["label"]) == {"flower"} and set(frame["second"]) == {""}


def test_a_saved_model_labels_new_photos(folder, tmp_path):
    model = tmp_path / "m.unseen"
    frame = label_folder(folder, "palace,flower", save=model)
    again = label_folder(folder, model=model)
    for column in ("label", "second"):
        assert again[column].tolist() == frame[column].tolist()
    for asked in ({"classes": "cat", "model": model}, {}):
        with pytest.raises(ValueError, match="either the classes or a saved model"):
            label_folder(folder, **asked)


def test_precomputed_features_and_class_vectors_need_no_encoder(folder, tmp_path):
    """One name is not UTF-8, where the file system takes it."""
    shutil.copytree(folder, home := tmp_path / "photos")
    odd = "temple 0.png"
    with contextlib.suppress(OSError):
        (home / odd).rename(home / os.fsdecode(b"temple caf\xe9.png"))
        odd = os.fsdecode(b"temple caf\xe9.png")
    is_flower = ["flower" in path for path in find_photos(home).paths]
    noise = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)
    np.save(tmp_path / "f.npy", np.eye(8)[np.array(is_flower, int)] * 5 + 0.1 * noise)
    np.save(tmp_path / "t.npy", np.eye(8)[:2])
    features = {"encoder": tmp_path / "f.npy"}
    frame = label_folder(home, "palace,flower", text=tmp_path / "t.npy", **features)
    assert frame["label"].tolist() == truth(frame)
    written = write_labels(frame, tmp_path / "l").read_bytes()
    assert os.fsencode(odd) + b",palace" in written
    with pytest.raises(ValueError, match="no classifier head"):
        label_folder(home, "palace,flower", **features)


# --- files ---------------------------------------------------------------------------


def test_label_from_the_shell(folder, tmp_path):
    out = tmp_path / "labels.csv"
    names = tmp_path / "classes.txt"
    names.write_text("palace\nflower: a blossom\n")
    options = ["--classes", str(names), "--out", str(out)]
    ended = runner.invoke(app, ["label", str(folder), *options])
    assert ended.exit_code == 0, ended.output
    first, *rows, message, unchecked, written, last = ended.stdout.splitlines()
    assert first.split() == ["label", "photos", "reliability"]
    assert {row.split()[0] for row in rows} == {"palace", "flower"}
    assert message.startswith("Adapted to 20 photos. ")
    assert "of such labels were right" in unchecked
    assert "palace  exact" in ended.stderr
    assert written == f"Labels are in {out}"
    assert last.endswith(f"unseen review {out}")
    with open(out, encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 20


@pytest.mark.parametrize(
    "options, said",
    [
        (["nowhere", "--classes", "a,b"], "there is no such folder"),
        (["empty", "--classes", "cat"], "there is no file in this folder"),
        (["one", "--classes", "cat"], "no photo among its 1 files or folders; a: not"),
        (["empty", "--classes", "a", "--encoder", "resnet"], "no image encoder"),
        ([".", "--classes", "a"], "labels.csv would lie in ., which is being read"),
        (["empty", "--classes", "file", "--out", "file"], "file is being read"),
        (["empty", "--classes", "a", "--out", "x", "--save", "x/labels.csv"], "twice"),
        (["empty"], "either the classes or a saved model"),
        (["empty", "--model", "nowhere.unseen"], "nowhere.unseen"),
        (["empty", "--model", "file"], "file is damaged"),
        (["empty", "--model", "rows.unseen"], "is a ESZSL. Give a model that"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "one").mkdir()
    for name in ("file", "one/a"):
        (tmp_path / name).write_text("zebra")
    if "rows.unseen" in options:
        unseen.ESZSL().fit(np.eye(4), [0, 1, 0, 1]).save("rows.unseen")
    ended = runner.invoke(app, ["label", *options])
    assert ended.exit_code == 2
    assert ended.stderr.count("\n") == 1 and ended.stderr.startswith("unseen: ")
    assert said in ended.stderr


def test_names_are_checked_before_a_photo_is_encoded(folder, tmp_path):
    cache = tmp_path / "cache"
    with pytest.raises(ValueError, match="does not know"):
        label_folder(folder, "palace, xqzzt", cache=cache)
    assert not list(cache.rglob("*.*"))
