"""Labels given for some photos: held, learned from, remembered, never written over."""

import copy
import json
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

import unseen
from tests.checks import close
from unseen.cli import app
from unseen.labels import read_labels
from unseen.photos import NamedPhotos
from unseen.photos.bundled import load_photos

runner = CliRunner()
LEFT_OUT = "truck"  # no name for it: a class that only given labels know


@pytest.fixture(scope="module")
def photos():
    return load_photos()


@pytest.fixture(scope="module")
def rows(photos):
    return np.arange(0, len(photos.truth), 4)


@cache
def once_fitted(names):
    photos = load_photos()
    return NamedPhotos(photos.image_encoder, photos.text_encoder).fit(list(names))


def fitted(photos, names=None):
    return copy.deepcopy(once_fitted(tuple(names or photos.classes)))


def some(truth, n, name=None):
    """Return the first rows of a class, or of every class, with their names."""
    found = {}
    for one in sorted(set(truth)) if name is None else [name]:
        found |= {int(row): one for row in np.flatnonzero(truth == one)[:n]}
    return found


# ---- in Python -----------------------------------------------------------------------


def test_ten_corrections_of_wrong_labels_do_not_ruin_the_rest(photos):
    """What people do: they see a wrong label, and correct it."""
    X, truth = photos.features[::2], photos.truth[::2]
    alone = fitted(photos).adapt(X)
    wrong = np.flatnonzero(alone.labels_ != truth)
    surest = wrong[np.argsort(-alone.reliability_[wrong], kind="stable")]
    before = np.mean(alone.labels_ == truth)
    # 2 and 33 points were lost once; the surest mistakes still say that names are wrong
    drawn = np.random.default_rng(0).permutation(wrong)
    for rows, gain in (drawn, -0.005), (surest, -0.05):
        given = {int(row): truth[row] for row in rows[:10]}
        taught = fitted(photos).adapt(X, given=given)
        assert np.mean(taught.labels_ == truth) >= before + gain


def test_a_new_name_makes_a_class_and_none_of_these_does_not(photos, rows, tmp_path):
    X, truth = photos.features[rows], photos.truth[rows]
    names = [name for name in photos.classes if name != LEFT_OUT]
    model = fitted(photos, names)
    blind = model.adapt(X).novelty_
    given = some(truth, 3, LEFT_OUT) | {3: unseen.NONE_OF_THESE}
    model.adapt(X, given=given)
    assert model.classes_.tolist() == [*names, LEFT_OUT]
    assert model.trust_[-1] == "given"
    assert model.labels_[3] == unseen.NONE_OF_THESE and model.reliability_[3] == 1
    own = np.setdiff1d(np.flatnonzero(truth == LEFT_OUT), list(given))
    assert np.mean(model.labels_[own] == LEFT_OUT) > 0.6
    rest = truth != LEFT_OUT
    assert np.mean(model.labels_[rest] == truth[rest]) > 0.7
    # Novelty stays what it was, but for photos that are like the new class.
    assert np.mean(blind[own] - model.novelty_[own]) > 0
    assert np.median(np.abs(blind - model.novelty_)[rest]) < 0.02
    chances = model.predict_proba(X)
    close(chances.sum(axis=1), 1, digits=5)
    free = np.setdiff1d(np.arange(len(X)), list(given))
    named = model.classes_[chances.argmax(axis=1)]
    assert np.mean(named[free] == model.labels_[free]) > 0.95
    again = unseen.load_model(model.save(tmp_path / "m.unseen"))
    for kept, ours in zip(again.given_[:2], model.given_[:2], strict=True):
        assert_array_equal(kept, ours)
    assert_array_equal(again.predict_proba(X), chances)
    assert_array_equal(again.predict(X), model.predict(X))


def test_doubt_in_names_ends_with_photos_given_for_all(photos, rows):
    X, truth = photos.features[rows], photos.truth[rows]
    model = fitted(photos)
    draw = np.random.default_rng(0)
    model._begin(model.classes_, draw.normal(size=model.prototypes_.shape))
    with pytest.warns(UserWarning, match="do not fit these photos well"):
        model.adapt(X)
    with pytest.warns(UserWarning, match="do not fit"):  # of all but one class
        model.adapt(X, given=some(truth, 1, LEFT_OUT))
    model.adapt(X, given=some(truth, 3))  # and no warning
    assert model.weak_names_ == ""


def test_too_few_photos_to_learn_from_still_have_given_labels(photos):
    model = fitted(photos).adapt(photos.features[:4], given={0: "tricycle"})
    assert not model.adapted_
    assert model.labels_[0] == "tricycle" and model.reliability_[0] == 1


# ---- from the shell ------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(photos, rows, tmp_path_factory):
    """A folder of photos, their features, and vectors of the class names."""
    home = tmp_path_factory.mktemp("home")
    (home / "photos").mkdir()
    paths = [photos.paths[row] for row in rows]
    for path, row in zip(paths, rows, strict=True):
        (home / "photos" / path).write_bytes(photos.jpegs[row])
    features = photos.features[rows]
    np.savez(home / "features.npz", features=features, paths=np.array(paths))
    np.save(home / "names.npy", fitted(photos).prototypes_.astype(np.float32))
    return home


def label(home, *options, classes=None, model=None):
    features, names = home / "features.npz", home / "names.npy"
    asked = ["label", str(home / "photos"), "--encoder"]
    if model is None:
        asked += [f"{features}+{names}", "--classes", classes]
    else:
        asked += [str(features), "--model", str(model)]
    return runner.invoke(app, [*asked, *map(str, options)])


def test_given_from_the_shell(home, photos, rows, tmp_path):
    names, out = ",".join(photos.classes), tmp_path / "out" / "labels.csv"
    paths = [photos.paths[row] for row in rows]
    said = {paths[0]: "tricycle", paths[9]: "tricycle", paths[7]: "none of these"}
    given = tmp_path / "corrections.csv"
    lines = [f"{path},{name}\n" for path, name in said.items()]
    given.write_text("id,label\n" + "".join(lines) + f"{paths[2]},\n")
    options = ["--given", given, "--out", out.parent, "--json"]
    saved = tmp_path / "m.unseen"
    ended = label(home, *options, "--save", saved, classes=names)
    assert ended.exit_code == 0, ended.output
    told = json.loads(ended.stdout)
    table = read_labels(out).set_index("id")
    assert table.loc[list(said), "label"].tolist() == list(said.values())
    assert (table.loc[list(said), "reliability"] == 1).all()
    assert table["given"].to_dict() == {path: said.get(path, "") for path in paths}
    assert sum(told["labels"].values()) == len(rows) and not told["without_label"]
    assert "tricycle" in out.with_name("report.html").read_text("utf-8")
    model = unseen.load_model(saved)
    assert dict(zip(model.given_.rows, model.given_.labels, strict=True)) == {
        sorted(paths).index(path): name for path, name in said.items()
    }
    again = tmp_path / "again.csv"
    ended = label(home, "--given", given, "--out", again, model=saved)
    assert ended.exit_code == 0, ended.output
    table = read_labels(again).set_index("id")
    assert table.loc[list(said), "label"].tolist() == list(said.values())


def test_corrections_are_never_written_over_and_lost_photos_are_named(
    home, photos, tmp_path
):
    given, names = tmp_path / "corrections.csv", ",".join(photos.classes)
    given.write_text(before := f"id,label\n{photos.paths[0]},cat\nlost.jpg,cat\n")
    ended = label(home, "--given", given, "--out", given, "--force", classes=names)
    assert ended.exit_code == 2 and "corrections.csv" in ended.stderr
    assert given.read_text() == before
    out = tmp_path / "labels.csv"
    ended = label(home, "--given", given, "--out", out, classes=names)
    assert ended.exit_code == 2 and not out.exists()
    assert "A label is given for 'lost.jpg', but" in ended.stderr
    assert "no photo of that path (1 such label)" in ended.stderr
