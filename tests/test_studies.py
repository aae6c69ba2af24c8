"""Studies of our own development still run, and say what plain arithmetic says."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unseen.experiments import make_table
from unseen.experiments.bench import Bench
from unseen.experiments.run import COLUMNS, RunKey
from unseen.experiments.sources import Source, find_source
from unseen.experiments.tables import MAKERS
from unseen.experiments.tasks import TASKS, run_task

FOLDER = Path(__file__).parents[1] / "studies"
if not FOLDER.exists():
    pytest.skip("the studies are in the repository", allow_module_level=True)
sys.path.insert(0, str(FOLDER))
import laboratory  # noqa: E402, they are no package

STUDIES = laboratory.studies()
import cells  # noqa: E402


def findings(source, part, task, method="ast", seed=0):
    key = RunKey(task, source.name, part, method, seed)
    found = run_task(Bench(source), part, key)
    assert not [f.note for f in found if f.measure == "failed"]
    return found


def as_results(found, *key):
    lines = [[*key, *one] for one in found]
    return pd.DataFrame(lines, columns=list(COLUMNS)).fillna({"item": ""})


def test_every_plan_of_a_study_can_be_read_and_shown():
    for name in STUDIES:
        plan = laboratory.study_plan(name)
        assert plan.task in TASKS and plan.show in MAKERS
        table = make_table(plan, pd.DataFrame(columns=list(COLUMNS)))
        heads = [head for _, group in table.heads for head in group]
        asked = heads.index("answers") if "answers" in heads else None  # not a result
        for _, row in table.rows:
            shown = [cell for place, cell in enumerate(row) if place != asked]
            assert not any(cell[:1].isdigit() for cell in shown)


@pytest.mark.parametrize(
    "task",
    ["generalized", "trust", "open", "planted", "splits"],
)
def test_a_task_finds_what_its_table_shows(task):
    pets = find_source("pets", "attributes", [])
    found = findings(pets, "attributes", task)
    plan = laboratory.study_plan(task.replace(" ", "_"))
    results = as_results(found, task, "cub_vgg", "att_312", "ast", 0)
    table = make_table(plan, results)
    written = " ".join(cell for _, cells in table.rows for cell in cells)
    assert any(part.replace(".", "").isdigit() for part in written.split())


# ---- names alone ---------------------------------------------------------------------


@pytest.fixture
def cell():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(6, 8)) + 2
    y = np.repeat(np.arange(6), 30)
    X = means[y] + rng.normal(size=(180, 8))
    return cells.Cell(X, y, means + rng.normal(size=means.shape), -np.ones((50, 8)))


def test_truth_decides_nothing_but_the_score(tmp_path, cell):
    scores = []
    for name, truth in (("a", cell.y), ("b", (cell.y + 1) % 6)):
        path = tmp_path / f"{name}_test__x.npz"
        classes = np.arange(6).astype(str)
        np.savez(path, X=cell.X, y=truth, P=cell.prototypes, classes=classes)
        source = Source(str(path), name, "", {"names": "names"})
        found = findings(source, "names", "names", "k-means")
        scores.append(next(f.value for f in found if f.item == "full"))
    assert scores[0] > 0.5 > 0.3 > scores[1]


# ---- photos and texts ----------------------------------------------------------------
