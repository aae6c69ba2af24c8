"""Plans: they hold the paper's numbers, name what exists, and say what is absent."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from results_made_up import write

from tests.checks import quick_plan
from unseen.experiments import (
    compare,  # noqa: F401, registers its task
    make_table,
    plan_names,
    read_plan,
    read_results,
)
from unseen.experiments.bench import Bench
from unseen.experiments.sources import how_to_fetch
from unseen.experiments.tables import MAKERS
from unseen.experiments.tasks import TASKS, run_task
from unseen.methods import METHODS
from unseen.report.figures import DRAWINGS

PAPER = Path(__file__).parents[2] / ".." / "shared" / "paper" / "tstd.tex"


def test_every_plan_can_be_read_and_shown():
    assert set(TASKS) >= {"accuracy", "statistics", "compare"}
    assert len(set(plan_names())) == len(plan_names()) >= 13
    for name in plan_names():
        plan = read_plan(name)
        assert plan.title and plan.caption
        assert plan.show in {*MAKERS, *DRAWINGS}
        assert (plan.location != "") == name.startswith(("table", "fig", "complex"))


@pytest.mark.parametrize(
    ("name", "caption"),
    [
        ("table3", "with attributes (in"),
        ("table4", "with word vectors (in"),
        ("table5", "Evaluations of self-training strategy"),
        ("table6", "different transductive approaches"),
    ],
)
def test_the_numbers_are_those_of_the_paper(name, caption):
    if not PAPER.exists():
        pytest.skip("the paper beside the checkout is absent")
    text = PAPER.read_text("utf-8")
    body = text[text.index(caption) :]
    body = body[body.index(r"\begin{tabular}") : body.index(r"\end{tabular}")]
    theirs = {
        tuple(re.findall(r"\d+\.\d|(?<=&)\s*-\s*(?=&|$)", line.strip()))
        for line in body.split(r"\\")
        if re.search(r"\d\.\d", line)
    }
    theirs = {tuple(x.strip() for x in line) for line in theirs}
    rows = [row.paper for row in read_plan(name).rows]
    columns = [c for c in zip(*rows, strict=True) if not all(map(math.isnan, c))]
    ours = {  # of columns that the paper has, and rows
        tuple("-" if math.isnan(x) else f"{x:.1f}" for x in numbers)
        for numbers in zip(*columns, strict=True)
        if not all(map(math.isnan, numbers))
    }
    assert ours == theirs


def test_table_2_counts_as_the_paper_does():
    if not PAPER.exists():
        pytest.skip("the paper beside the checkout is absent")
    text = PAPER.read_text("utf-8")
    counts = read_plan("table2").counts
    for place, name in enumerate(["AwA", "CUB", "SUN"]):
        n, q, seen, unseen = (
            int(counts[k][place]) for k in ("instances", "dimensions", "seen", "unseen")
        )
        assert rf"{name} & {n:,} & {q} & {seen}/{unseen}\\" in text


def test_runs_are_those_with_data_and_a_method(tmp_path):
    table5 = read_plan("table5").on([])  # without data, on the bundled photos
    assert [column.data for column in table5.columns] == ["photos", "photos"]
    keys = [run.key for run in table5.runs([]) if run.key.task == "accuracy"]
    n_runs = 2 * sum(METHODS[row.method].n_seeds for row in table5.rows)
    assert len(keys) == len(set(keys)) == n_runs
    table3 = read_plan("table3")
    assert table3.runs([]) == []
    assert table3.absent([]) == ["awa", "cub", "sun"]
    assert table3.on([]) is table3


COLUMN = "[[column]]\nhead='a'\ndata='b'\nclasses='c'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 1 2", "my"),
        ("title = 'a'", "lacks 'task'"),
        ("task = 'accuracy'\n[[row]]\nmethod = 'x'", "no method 'x'"),
        (f"task = 'accuracy'\n{COLUMN}", "no data 'b'"),
    ],
)
def test_a_faulty_plan_is_named(tmp_path, text, message):
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_plan(path)


def test_a_plan_takes_any_set_by_its_path(tmp_path):
    import unseen

    photos = unseen.load_data("photos-200")
    unseen.save_data(photos, tmp_path / "mine" / "animals.npz")
    path = tmp_path / "own.toml"
    own = {"data": "mine/animals.npz", "classes": "words+tree"}
    path.write_text(quick_plan("eszsl", **own))
    plan = read_plan(path)
    assert plan.runs([]) == [] and plan.absent([]) == ["mine/animals.npz"]
    assert "There is no mine/animals.npz" in how_to_fetch("mine/animals.npz")
    (run,) = plan.runs([tmp_path])
    assert run.key[1:4] == ("mine/animals.npz", "words+tree", "eszsl")
    source = replace(run.source, n_folds=3)
    results = {run.key: run_task(Bench(source), run.part, run.key)}
    found = read_results(write(tmp_path / "results.csv", results))
    ((_, cells),) = make_table(plan, found).rows
    data = run.source.load(run.part)
    assert data.tables == ("words", "tree")
    final = found.loc[found.measure == "final", "value"].item()
    assert cells == [f"{100 * final:.1f}"]
