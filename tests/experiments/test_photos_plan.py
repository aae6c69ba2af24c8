"""Plan photos: every way to label, and every doubt, is what plain arithmetic says."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from tests.checks import close
from unseen.experiments import make_table, read_plan
from unseen.experiments.photos import posterior_by_tree
from unseen.experiments.results import COLUMNS, RunKey
from unseen.experiments.sources import find_source
from unseen.experiments.sun import ATTRIBUTES, described_by_sun
from unseen.experiments.tasks import Bench, run_task
from unseen.naming.nouns import nouns
from unseen.photos import NamedPhotos
from unseen.photos.bundled import load_photos
from unseen.photos.label import FOREIGN

KEY = RunKey("photos", "cifar10", "lite0", "guided", 0)


@pytest.fixture(scope="module")
def found():
    bench = Bench(find_source("cifar10", "lite0", []))
    done = run_task(bench, "lite0", KEY)
    assert not [one for one in done if one.measure == "failed"], done
    return done


@pytest.fixture(scope="module")
def model():
    own = load_photos()
    named = NamedPhotos(own.image_encoder, own.text_encoder).fit(own.classes)
    return named.adapt(own.features)


def by_item(found, measure):
    return {one.item: one.value for one in found if one.measure == measure}


def recalls(labels):
    own = load_photos()
    return [
        sum(labels[i] == name for i in range(1000) if own.truth[i] == name) / 100
        for name in own.classes
    ]


def test_the_bundled_photos_are_labelled_as_the_command_does_it(found, model):
    accuracy, lowest = by_item(found, "accuracy"), by_item(found, "lowest class")
    for item, labels in (("names", model.projected_), ("adapted", model.labels_)):
        assert accuracy[item] == pytest.approx(np.mean(recalls(labels)), abs=1e-9)
        assert lowest[item] == pytest.approx(min(recalls(labels)), abs=1e-9)
    alone = {one.measure: one.value for one in found if not one.item}
    assert alone["photos"] == 1000
    assert alone["right"] == pytest.approx(np.mean(recalls(model.labels_)))
    assert alone["reliability"] == pytest.approx(model.reliability_.mean(), abs=1e-6)
    assert alone["adapted"] == 1 and alone["weak names"] == 0


def test_baselines_are_apart_and_above_chance(found):
    accuracy = by_item(found, "accuracy")
    assert list(accuracy) == ["words", "ImageNet", "names", "k-means", "adapted"]
    assert all(0.5 < value < 1 for value in accuracy.values())
    assert len(set(accuracy.values())) == 5


def test_words_alone_use_no_tree(found):
    own = load_photos()
    words = NamedPhotos(own.image_encoder, own.text_encoder, tree=False)
    words.fit(own.classes).adapt(own.features)
    share = np.mean(recalls(words.projected_))
    assert by_item(found, "accuracy")["words"] == pytest.approx(share, abs=1e-9)


def test_k_means_ends_where_every_photo_is_nearest_to_the_mean_of_its_class(found):
    own = load_photos()
    names = NamedPhotos(own.image_encoder, own.text_encoder).fit(own.classes)

    def at_unit_length(M):
        M = M - M.mean(axis=0)
        return M / np.linalg.norm(M, axis=1, keepdims=True)

    X = own.features.astype(float)
    X = at_unit_length(X / np.linalg.norm(X, axis=1, keepdims=True))
    P = names.prototypes_
    P = at_unit_length(P / np.linalg.norm(P, axis=1, keepdims=True))
    labels = (X @ P.T).argmax(axis=1)
    for _ in range(30):
        means = np.array([X[labels == c].mean(axis=0) for c in range(10)])
        labels = cdist(X, means).argmin(axis=1)
    share = np.mean(recalls(np.array(own.classes)[labels]))
    assert by_item(found, "accuracy")["k-means"] == pytest.approx(share, abs=0.011)


def test_photos_among_pets_are_told_apart_by_novelty(found):
    own, foreign = load_photos(), by_item(found, "foreign")
    model = NamedPhotos(own.image_encoder, own.text_encoder).fit(["cat", "dog"])
    novelty = model.novelty(own.features).tolist()
    pairs = list(zip(novelty, own.truth.tolist(), strict=True))
    pets = [value for value, name in pairs if name in ("cat", "dog")]
    others = [value for value, name in pairs if name not in ("cat", "dog")]
    above = sum(other > pet for other in others for pet in pets) / 160_000
    assert foreign["AUROC"] == pytest.approx(above, abs=1e-3)
    assert foreign["mistaken"] == sum(pet > FOREIGN for pet in pets) / 200
    assert foreign["found"] == sum(other > FOREIGN for other in others) / 800


def test_the_posterior_of_a_name_is_the_mean_of_the_classes_below_it():
    rng = np.random.default_rng(0)
    X, W, b = rng.normal(size=(7, 5)), rng.normal(size=(1000, 5)), rng.normal(size=1000)
    chances = np.exp(X @ W.T + b)
    chances /= chances.sum(axis=1, keepdims=True)
    scores = posterior_by_tree(X, (W, b), ["bird", "tench", "qwertz"])
    tree = nouns()

    def is_bird(node):
        if tree.words[node].split(",")[0] == "bird":
            return True
        return any(is_bird(parent) for parent in tree.parents[node])

    birds = [leaf for leaf in range(1000) if is_bird(leaf)]
    assert len(birds) == 59  # as ImageNet has them
    close(scores[:, 0], chances[:, birds].mean(axis=1))
    close(scores[:, 1], chances[:, 0])  # the first class
    assert not scores[:, 2].any()


def test_a_folder_of_photos_is_a_set_and_weak_names_are_a_finding(tmp_path):
    pytest.importorskip("onnxruntime")
    from PIL import Image

    rng = np.random.default_rng(0)
    for name in ("rain", "fog"):
        (tmp_path / "set" / name).mkdir(parents=True)
        for i in range(6):
            noise = rng.integers(0, 256, size=(32, 32, 3), dtype=np.uint8)
            Image.fromarray(noise).save(tmp_path / "set" / name / f"{i}.png")
    bench = Bench(find_source(str(tmp_path / "set"), "lite0", []))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = run_task(bench, "lite0", RunKey("photos", "set", "lite0", "guided", 0))
    alone = {one.measure: one.value for one in done if not one.item}
    assert "failed" not in alone, done
    assert alone["photos"] == 12 and alone["weak names"] == 1  # noise has no weather
    assert alone["reliability"] < 0.8


def test_scenes_are_described_by_what_sun_s_table_says_of_them(tmp_path):
    names = " ".join(ATTRIBUTES.split()).split(", ")
    assert len(names) == len(set(names)) == 102
    values = np.zeros((3, 102), np.float32)
    values[0, names.index("trees")] = values[2, names.index("ocean")] = 1
    values[1, names.index("snow")] = 1
    np.savez(
        tmp_path / "class_side.npz",
        sun_att_raw=values,
        sun_class_names=np.array(["forest_path", "ski_slope", "coast"]),
    )
    (tmp_path / "set_to_sun.csv").write_text(
        "set,sun_class\nsea,coast\nwood,forest_path\n"
    )
    told = described_by_sun(tmp_path / "photos" / "set")
    assert told == {"sea": "ocean", "wood": "trees"}


def test_sets_are_found_in_their_folder_and_in_the_one_above(tmp_path):
    plan = read_plan("photos")
    for name in ("caltech20", "scene15", "trash6", "food10", "weather"):
        (tmp_path / "photos" / name).mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "photos"):
        assert len(plan.runs([folder])) == 13 and not plan.absent([folder])
    assert [run.key for run in plan.runs([])] == [KEY]  # the package has its own


def test_the_table_says_what_was_found_and_dashes_where_nothing_ran(found):
    plan = read_plan("photos")
    lines = [[*KEY, *one] for one in found]
    table = make_table(plan, pd.DataFrame(lines, columns=list(COLUMNS)))
    rows = dict(table.rows)
    assert list(rows) == [column.head for column in plan.columns]
    accuracy = by_item(found, "accuracy")
    mine = rows.pop("CIFAR-10 (bundled) lite0")
    assert mine[:5] == [f"{100 * value:.1f}" for value in accuracy.values()]
    told_apart = 100 * by_item(found, "foreign")["AUROC"]
    assert mine[-3:] == ["yes", "no", f"{told_apart:.1f}"]
    assert {cell for cells in rows.values() for cell in cells} == {"—"}
    assert "not the paper's" not in table.words  # which has no photos


def test_the_short_table_has_names_adapted_reliability_and_the_warning():
    values = {
        ("accuracy", "names"): 0.25, ("accuracy", "adapted"): 0.5,
        ("reliability", ""): 0.4, ("right", ""): 0.5,
        ("adapted", ""): 0, ("weak names", ""): 1,
    }  # fmt: skip
    lines = [
        [*KEY, measure, item, None, value, "", None]
        for (measure, item), value in values.items()
    ]
    results = pd.DataFrame(lines, columns=list(COLUMNS))
    plan = read_plan("photos")
    short = dict(make_table(replace(plan, show="photos-short"), results).rows)
    assert short["CIFAR-10 (bundled) lite0"] == ["25.0", "50.0", "40.0", "yes"]
    full = dict(make_table(plan, results).rows)["CIFAR-10 (bundled) lite0"]
    assert full[-5:] == ["40.0", "−10.0", "no", "yes", "—"]
