"""Whoever has the paper's features gets its tables, in whatever layout they have them.

Small files in the layouts that people have: real class names, a few rows per class
that a linear map of the attributes gives, so that linear methods must be right on every
row. Folders are called anything but what they hold.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from typer.testing import CliRunner

from tests.loading.layouts import cells, lines_of
from unseen.cli import app
from unseen.experiments import (
    make_table,
    read_plan,
    read_results,
    run_plans,
)
from unseen.loading import standard_splits

SETS = {"awa": ("awa", 85, 8), "cub": ("cub-ss", 312, 3), "sun": ("sun-707", 102, 2)}
TABLES = ["table2", "table3", "table4", "table5", "table6"]
FIGURES = ["fig1", "fig3", "fig4", "fig5", "complexity", "separation"]


class Made:
    """A set by its real names: classes in 20 dimensions, two tables, rows."""

    def __init__(self, key: str, kind: str = "shallow"):
        split, width, n = SETS[key]
        known = standard_splits()[split]
        self.names = [*known.seen, *known.unseen]
        self.counts = len(known.seen), len(known.unseen)
        rng = np.random.default_rng(len(kind))
        Z = rng.normal(size=(len(self.names), 20))
        self.A = 50 + Z @ rng.normal(size=(20, width))
        self.words = Z @ rng.normal(size=(20, 40))
        self.y = np.tile(np.arange(len(Z)), n)
        self.X = (Z @ rng.normal(size=(20, 30)))[self.y]
        self.X += 0.02 * rng.normal(size=self.X.shape)


def write_xlsa17(folder: Path, key: str) -> None:
    made = Made(key)
    proposed = set(standard_splits()[f"{key}-ps"].unseen)
    aside = np.isin(np.array(made.names)[made.y], list(proposed))
    places = np.arange(1.0, len(made.y) + 1)
    folder.mkdir(parents=True)
    features = {"features": made.X.T, "labels": made.y[:, None] + 1.0}
    scipy.io.savemat(folder / "res101.mat", features)
    splits = {
        "allclasses_names": cells(made.names),
        "att": made.A.T,
        "trainval_loc": places[~aside][:, None],
        "test_seen_loc": np.zeros((0, 1)),
        "test_unseen_loc": places[aside][:, None],
    }
    scipy.io.savemat(folder / "att_splits.mat", splits)


def all_of_xlsa17(folder: Path) -> None:
    for place, key in {"one": "awa", "two": "cub", "three": "sun"}.items():
        write_xlsa17(folder / "xlsa17" / "data" / place, key)


def one_of_xlsa17(folder: Path) -> None:
    write_xlsa17(folder, "awa")  # the folder itself is the set


def authors_pairs(folder: Path) -> None:
    for key in ("awa", "cub"):
        made, n_seen = Made(key), Made(key).counts[0]
        for kind, table in {"att": made.A, "word": made.words}.items():
            order = np.argsort(made.y, kind="stable")
            train, test = order[made.y[order] < n_seen], order[made.y[order] >= n_seen]
            place = folder / "fea" / f"my {key}" / kind
            place.mkdir(parents=True)
            first = {
                "im_fea": made.X[train].T,
                "semantic_fea": table[made.y[train]].T,
                "cla_num": np.bincount(made.y[train])[:, None].astype(float),
            }
            second = {
                "im_fea": made.X[test].T,
                "semantic_uni": table[n_seen:].T,
                "cla_num": np.bincount(made.y[test] - n_seen)[:, None].astype(float),
                "index": made.y[test][:, None] - n_seen + 1.0,
            }
            scipy.io.savemat(place / "Train.mat", first)
            scipy.io.savemat(place / "Test.mat", second)


def original_awa(folder: Path) -> None:
    """Three kinds of features; the best of them is as text, a file per image."""
    made, root = Made("awa"), folder / "animals"
    root.mkdir(parents=True)
    lines = [f"{i:>3}\t{name}\n" for i, name in enumerate(made.names, 1)]
    (root / "classes.txt").write_text("".join(lines))
    (root / "predicate-matrix-continuous.txt").write_text(lines_of(made.A))
    split = standard_splits()["awa"]
    (root / "trainclasses.txt").write_text("\n".join(split.seen))
    (root / "testclasses.txt").write_text("\n".join(split.unseen))
    for row, label in enumerate(made.y):
        place = root / "Features" / "vgg19" / made.names[label]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{row:04d}.txt").write_text(lines_of(made.X[[row]]))
    for kind in ("decaf", "resnet101"):
        place = root / "Features" / kind
        place.mkdir()
        np.save(place / "AwA-features.npy", made.X)
        (place / "AwA-labels.txt").write_text("".join(f"{y + 1}\n" for y in made.y))


def own_features(folder: Path) -> None:
    birds, scenes = Made("cub"), Made("sun")
    place = folder / "pictures"
    (place / "attributes").mkdir(parents=True)
    names = [f"{i:03d}.{n.replace(' ', '_')}" for i, n in enumerate(birds.names, 1)]
    lines = "".join(f"{i} {name}\n" for i, name in enumerate(names, 1))
    (place / "classes.txt").write_text(lines)
    images = [f"{i} {names[y]}/{i}.jpg\n" for i, y in enumerate(birds.y, 1)]
    (place / "images.txt").write_text("".join(images))
    labels = [f"{i} {y + 1}\n" for i, y in enumerate(birds.y, 1)]
    (place / "image_class_labels.txt").write_text("".join(labels))
    table = place / "attributes" / "class_attribute_labels_continuous.txt"
    table.write_text(lines_of(birds.A))
    np.save(place / "features.npy", birds.X)
    place = folder / "deep" / "er" / "scenes"
    place.mkdir(parents=True)
    images = [f"{scenes.names[y][0]}/{scenes.names[y]}/{i}.jpg"
              for i, y in enumerate(scenes.y)]  # fmt: skip
    scipy.io.savemat(place / "images.mat", {"images": cells(images)})
    labels = {"labels_cv": scenes.A[scenes.y]}
    scipy.io.savemat(place / "attributeLabels_continuous.mat", labels)
    (place / "features.txt").write_text(lines_of(scenes.X))


def archives(folder: Path) -> None:
    for key, table in {"awa": "att_continuous", "cub": "att_312"}.items():
        made = Made(key)
        folder.mkdir(exist_ok=True)
        tables = {table: made.A, "words": made.words}
        unseen = np.arange(made.counts[0], sum(made.counts))
        arrays = {"X": made.X, "y": made.y, "class_names": made.names, **tables}
        np.savez(folder / f"my_{key}.npz", unseen=unseen, **arrays)


def two_at_once(folder: Path) -> None:
    authors_pairs(folder)
    all_of_xlsa17(folder)


# What is there for attributes, and for words; what the captions say of the features.
LAYOUTS = {
    "xlsa17": (all_of_xlsa17, ["awa", "cub", "sun"], [], "res101.mat"),
    "xlsa17 alone": (one_of_xlsa17, ["awa"], [], "res101.mat"),
    "authors": (authors_pairs, ["awa", "cub"], ["awa", "cub"], "Train.mat"),
    "original AwA": (original_awa, ["awa"], [], "vgg19"),
    "own features": (own_features, ["cub", "sun"], [], "features.npy"),
    "archives": (archives, ["awa", "cub"], ["awa", "cub"], "my_awa"),
    "two at once": (two_at_once, ["awa", "cub", "sun"], ["awa", "cub"], "Train.mat"),
}
QUICK = ("cca-default", "cca-default-st")  # nothing is searched


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_fills_the_tables(layout, tmp_path):
    write, with_attributes, with_words, features = LAYOUTS[layout]
    write(tmp_path / "mine")
    plans = []
    for name in TABLES:
        plan = read_plan(name)
        quick = [replace(plan.rows[0], method=one) for one in QUICK if plan.rows]
        plans.append(replace(plan, rows=tuple(quick)))
    results = run_plans(plans, [tmp_path / "mine"], tmp_path / "out", n_jobs=1)
    found = read_results(results)
    assert not (found.measure == "failed").any(), found[found.measure == "failed"]
    for plan in plans:
        check_table(plan, found, with_attributes, with_words, features)


def check_table(plan, found, with_attributes, with_words, features):
    """Every cell of ours that can be filled is, and is right."""
    table = make_table(plan, found)
    heads = [(group, name) for group, names in table.heads for name in names]
    for column in plan.columns:
        if column.data not in SETS:
            continue
        there = with_words if column.classes == "words" else with_attributes
        place = heads.index((column.head, "ours"))
        for label, cells_ in table.rows:
            filled = cells_ and cells_[place] != "—"
            if plan.name == "table2" or cells_:
                assert filled == (column.data in there), (column.head, label)
            if filled and plan.name != "table2":
                assert cells_[place] == "100.0", (column.head, label)
    if with_attributes and plan.name == "table2":
        assert features in table.words
        of_awa = "split awa (40/10)" in table.words
        assert of_awa == ("awa" in with_attributes and features != "Train.mat")


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_fills_all_tables_and_figures(layout, tmp_path):
    write, _, _, _ = LAYOUTS[layout]
    write(tmp_path / "mine")
    words = ["reproduce", *TABLES, *FIGURES, "--data", str(tmp_path / "mine")]
    done = CliRunner().invoke(
        app, [*words, "--out", str(tmp_path / "out"), "--jobs", "2"]
    )
    assert done.exit_code == 0, done.output
    assert ", 0 failed." in done.output
    for name in FIGURES:
        assert (tmp_path / "out" / "figures" / f"{name}.svg").exists(), name


def test_what_is_not_found_is_said_with_what_was_there(tmp_path):
    mine = tmp_path / "mine"
    (mine / "CUB").mkdir(parents=True)
    np.savez(mine / "zoo.npz", X=np.eye(3), y=[0, 1, 2], class_names=["a", "b", "c"])
    own_features(mine)
    (mine / "pictures" / "features.npy").unlink()
    (mine / "deep" / "er" / "scenes" / "features.txt").unlink()
    done = CliRunner().invoke(app, ["reproduce", "table3", "--data", str(mine)])
    text = re.sub(r"\s+", " ", done.stderr)
    assert done.exit_code == 2 and "Looked for the classes of AwA, CUB, SUN" in text
    assert "zoo.npz (3 classes of another set)" in text
    assert text.count("no features of them. Save features.npy") == 2


def test_a_plan_of_ones_own_names_folders_and_splits(tmp_path):
    write_xlsa17(tmp_path / "here" / "AWA1", "awa")
    plan = tmp_path / "mine.toml"
    columns = [
        f'[[column]]\nhead = "{split}"\ndata = "here/AWA1"\nclasses = "att"\n'
        f'split = "{split}"\n'
        for split in ("awa", "proposed")
    ]
    head = 'title = "T"\ncaption = "C"\ntask = "accuracy"\nshow = "table"\n'
    plan.write_text("\n".join([head, *columns, '[[row]]\nmethod = "eszsl-default"\n']))
    path = run_plans([read_plan(plan)], [tmp_path], tmp_path / "out", n_jobs=1)
    ((_, cells_),) = make_table(read_plan(plan), read_results(path)).rows
    assert cells_ == ["100.0", "100.0"]
    assert {run.key.data for run in read_plan(plan).runs([tmp_path])} == {
        "here/AWA1@awa",
        "here/AWA1@proposed",
    }
