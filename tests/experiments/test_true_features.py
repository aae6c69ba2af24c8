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

from tests.checks import invoke
from tests.loading.layouts import (
    Made,
    write_authors,
    write_awa,
    write_cub,
    write_sun,
    write_xlsa17,
)
from unseen.experiments import (
    make_table,
    read_plan,
    read_results,
    run_plans,
)
from unseen.experiments.plan import Plan
from unseen.loading import standard_splits
from unseen.methods import METHODS

SETS = {"awa": ("awa", 85, 8), "cub": ("cub-ss", 312, 3), "sun": ("sun-707", 102, 2)}
TABLES = ["table2", "table3", "table4", "table5", "table6"]
FIGURES = ["fig1", "fig3", "fig4", "fig5", "complexity", "separation"]


def made(key: str, kind: str = "shallow", words: bool = False) -> Made:
    """Return a set by its real names: classes in 20 dimensions, a table, rows."""
    split, width, n = SETS[key]
    known = standard_splits()[split]
    names = [*known.seen, *known.unseen]
    rng = np.random.default_rng(len(kind))
    Z = rng.normal(size=(len(names), 20))
    A, W = (Z @ rng.normal(size=(20, w)) for w in (width, 40))
    y = np.tile(np.arange(len(Z)), n)
    X = (Z @ rng.normal(size=(20, 30)))[y]
    X += 0.02 * rng.normal(size=X.shape)
    return Made(names, W if words else 50 + A, X, y, list(known.unseen))


def one_of_xlsa17(folder: Path, key: str = "awa") -> None:
    """Write the pair with the proposed split."""
    proposed = list(standard_splits()[f"{key}-ps"].unseen)
    write_xlsa17(folder, made(key)._replace(unseen=proposed))


def all_of_xlsa17(folder: Path) -> None:
    for place, key in {"one": "awa", "two": "cub", "three": "sun"}.items():
        one_of_xlsa17(folder / "xlsa17" / "data" / place, key)


def authors_pairs(folder: Path) -> None:
    for key in ("awa", "cub"):
        for kind in ("att", "word"):
            mine = made(key, words=kind == "word")
            write_authors(folder / "fea" / f"my {key}" / kind, mine)


def original_awa(folder: Path) -> None:
    """Three kinds of features; the best of them is as text, a file per image."""
    forms = {"vgg19": "images", "decaf": "npy", "resnet101": "npy"}
    write_awa(folder / "animals", made("awa"), **forms)


def own_features(folder: Path) -> None:
    write_cub(folder / "pictures", made("cub"))
    write_sun(folder / "deep" / "er" / "scenes", made("sun"))


def archives(folder: Path) -> None:
    for key, table in {"awa": "att_continuous", "cub": "att_312"}.items():
        mine = made(key)
        folder.mkdir(exist_ok=True)
        tables = {table: mine.A, "words": made(key, words=True).A}
        arrays = {"X": mine.X, "y": mine.y, "class_names": mine.names, **tables}
        np.savez(folder / f"my_{key}.npz", unseen=mine.unseen, **arrays)


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
def test_every_layout_fills_all_tables_and_figures(layout, tmp_path, monkeypatch):
    """By the command, with grids of one point and one seed; what is made up, once."""
    for name, method in METHODS.items():
        first = {key: values[:1] for key, values in method.grid.items()}
        monkeypatch.setitem(METHODS, name, replace(method, grid=first, n_seeds=1))
    monkeypatch.setattr(Plan, "on", without_bundled)
    write, sets, *_ = LAYOUTS[layout]
    write(tmp_path / "mine")
    figures = FIGURES if layout == "two at once" else FIGURES[:-2]
    figures = [name for name in figures if name != "fig3" or "awa" in sets]
    words = ["reproduce", *TABLES, *figures, "--data", str(tmp_path / "mine")]
    done = invoke(*words, "--out", tmp_path / "out", "--jobs", 1)
    assert done.exit_code == 0 and ", 0 failed." in done.output, done.output
    for name in figures:
        assert (tmp_path / "out" / "figures" / f"{name}.svg").exists(), name


def without_bundled(plan, folders):
    """Return the plan without sets that are the same in every layout, and large."""
    places = [i for i, column in enumerate(plan.columns) if not column.bundled]
    papers = [tuple(row.paper[i] for i in places) for row in plan.rows]
    rows = map(lambda row, paper: replace(row, paper=paper), plan.rows, papers)
    columns = tuple(plan.columns[i] for i in places)
    return replace(plan, columns=columns, rows=tuple(rows), n_seeds=1)


def test_what_is_not_found_is_said_with_what_was_there(tmp_path):
    mine = tmp_path / "mine"
    (mine / "CUB").mkdir(parents=True)
    np.savez(mine / "zoo.npz", X=np.eye(3), y=[0, 1, 2], class_names=["a", "b", "c"])
    own_features(mine)
    (mine / "pictures" / "features.npy").unlink()
    (mine / "deep" / "er" / "scenes" / "features.txt").unlink()
    done = invoke("reproduce", "table3", "--data", mine)
    text = re.sub(r"\s+", " ", done.stderr)
    assert done.exit_code == 2 and "Looked for the classes of AwA, CUB, SUN" in text
    assert "zoo.npz (3 classes of another set)" in text
    assert text.count("no features of them. Save features.npy") == 2


def test_a_plan_of_ones_own_names_folders_and_splits(tmp_path):
    one_of_xlsa17(tmp_path / "here" / "AWA1")
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
