"""Scenes with SUN's attributes stand in the SUN column, split after split."""

from types import SimpleNamespace

import numpy as np
import pytest

import unseen.photos
from unseen import ESZSL, per_class_accuracy
from unseen.experiments import read_plan
from unseen.experiments.results import RunKey
from unseen.experiments.scenes import load_scenes, scene_split
from unseen.experiments.sources import find_source
from unseen.experiments.tasks import Bench, run_task

SCENES = [f"scene{i}" for i in range(15)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder like the shared one; its photos are numbers."""
    rng = np.random.default_rng(0)
    names = [f"sun{i}" for i in range(40)]
    attributes = rng.uniform(size=(40, 6)).astype(np.float32)
    pairs = "".join(f"{s},sun{2 * i}\n" for i, s in enumerate(SCENES))
    (tmp_path / "scene15_to_sun.csv").write_text("scene15,sun_class\n" + pairs)
    np.savez(
        tmp_path / "class_side.npz", sun_class_names=names, sun_att=attributes, other=1
    )
    place = tmp_path / "photos" / "scene15"
    place.mkdir(parents=True)
    rows = np.repeat(np.arange(15), 8)
    X = attributes[2 * rows] @ rng.normal(size=(6, 9)) + 0.1 * rng.normal(size=(120, 9))
    found = SimpleNamespace(
        paths=[f"{SCENES[row]}/{i}.jpg" for i, row in enumerate(rows)],
        features=lambda: X,
    )
    monkeypatch.setattr(unseen.photos, "encode_folder", lambda path, **options: found)
    load_scenes.cache_clear()
    yield tmp_path
    load_scenes.cache_clear()


def source(folder, part):
    return find_source("sun", part, [folder])


def test_a_scene_has_the_row_of_its_class_of_sun(folder):
    data = source(folder, "attributes").load("attributes")
    assert data.n_classes == 15 and len(data.seen) == 10 and len(data.unseen) == 5
    with np.load(folder / "class_side.npz") as stored:
        np.testing.assert_array_equal(
            data.class_embeddings.loc["sun28"], stored["sun_att"][28]
        )
    assert set(data.y) == {f"sun{2 * i}" for i in range(15)}


def test_two_hundred_splits_are_all_different_and_fixed(folder):
    data = source(folder, "attributes").load("attributes")
    splits = [tuple(scene_split(data, number).unseen) for number in range(200)]
    assert len(set(splits)) == 200
    assert {len(split) for split in splits} == {5}
    assert splits[7] == tuple(scene_split(scene_split(data, 3), 7).unseen)


def test_among_all_classes_without_a_photo_are_on_offer(folder):
    few = source(folder, "attributes").load("attributes")
    part = "attributes_among_all"
    all_of_them = source(folder, part).load(part)
    assert all_of_them.n_classes == 40
    assert set(all_of_them.seen) == set(few.seen)
    assert set(few.unseen) < set(all_of_them.unseen)
    np.testing.assert_array_equal(all_of_them.X_unseen, few.X_unseen)


def test_a_run_scores_one_split_by_default_settings(folder):
    place = source(folder, "attributes")
    key = RunKey("accuracy", place.name, place.classes("attributes"), "eszsl", 11)
    found = run_task(Bench(place), "attributes", key)
    assert {f.measure for f in found} == {"accuracy", "final", "done"}
    data = scene_split(place.load("attributes"), 11)
    model = ESZSL().fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )
    share = per_class_accuracy(data.y_unseen, model.predict(data.X_unseen))
    assert [f.value for f in found if f.measure == "final"] == [share]


def test_one_bench_serves_both_tables_in_any_order(folder):
    parts = "attributes_among_all", "attributes"
    for order in (parts, parts[::-1]):
        bench = Bench(source(folder, "attributes"))
        sizes = {part: len(bench.data(part).unseen) for part in order}
        assert sizes == {"attributes": 5, "attributes_among_all": 30}


def test_table_3_runs_every_method_on_every_split(folder):
    plan = read_plan("table3")
    runs = plan.runs([folder])
    methods = {row.method for row in plan.rows}
    assert len(runs) == 2 * 200 * len(methods)
    assert plan.absent([folder]) == ["awa", "cub"]
    assert len(read_plan("table2").runs([folder])) == 1


def test_suns_own_features_come_first(folder):
    (folder / "SUN").mkdir()
    assert source(folder, "attributes").name == "SUN"
    assert source(folder, "attributes").n_splits == 0
