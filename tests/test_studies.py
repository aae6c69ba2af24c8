"""Studies of our own development still run, and say what plain arithmetic says."""

import bz2
import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io

from tests.checks import close
from unseen.experiments import make_table
from unseen.experiments.bench import Bench
from unseen.experiments.run import COLUMNS, RunKey
from unseen.experiments.sources import Source, find_source
from unseen.experiments.tables import MAKERS
from unseen.experiments.tasks import TASKS, run_task
from unseen.loading import load_data

FOLDER = Path(__file__).parents[1] / "studies"
if not FOLDER.exists():
    pytest.skip("the studies are in the repository", allow_module_level=True)
sys.path.insert(0, str(FOLDER))
import laboratory  # noqa: E402, they are no package

STUDIES = laboratory.studies()
import cells  # noqa: E402
import public_sets  # noqa: E402


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
        for _, row in table.rows:
            shown = [
                cell
                for head, cell in zip(heads, row, strict=False)
                if head not in ("answers", "paper")  # which are not results
            ]
            assert not any(cell[:1].isdigit() for cell in shown)


@pytest.mark.parametrize("task", ["generalized", "trust", "open", "splits"])
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


# ---- the sets behind the numbers -----------------------------------------------------


def test_the_sets_of_the_pages_are_built_from_the_files_they_are_from(tmp_path):
    rng = np.random.default_rng(0)
    birds = ["001.Black_footed_Albatross", "029.American_Crow", "111.Loggerhead_Shrike"]
    rows = [rng.random((n, 6)).astype(np.float32) for n in (4, 3, 2)]
    for name, own in zip(birds, rows, strict=True):
        scipy.io.savemat(tmp_path / f"{name}.mat", {"fc7": own})
    np.savetxt(tmp_path / "percent.txt", 100 * rng.random((3, 312)))
    scipy.io.savemat(tmp_path / "sent.mat", {"att": rng.random((1024, 3))})
    known = "black footed albatross american crow loggerhead shrike".split()
    lines = [" ".join([w, *rng.random(100).astype(str)]) + "\n" for w in known]
    (tmp_path / "glove.txt").write_text("".join(lines))
    places = ["--features", tmp_path, "--tables", tmp_path / "percent.txt"]
    places += ["--sentences", tmp_path / "sent.mat", "--words", tmp_path / "glove.txt"]
    public_sets.main(["cub", *map(str, places), "--out", str(tmp_path)])
    made = load_data(tmp_path / "cub_vgg.npz", classes=["att_312", "glove_100"])
    assert made.X.shape == (9, 6) and made.unseen.tolist() == ["Loggerhead Shrike"]
    close(made.X[:4], rows[0], digits=3)

    animals = ["antelope", "rat", "grizzly+bear"]
    for name in animals:
        for kind in public_sets.HISTOGRAMS:
            with bz2.open(tmp_path / f"{name}-{kind}.pic.bz2", "wb") as file:
                pickle.dump(rng.integers(0, 9, (5, 4)), file, protocol=2)
    numbered = "".join(f"{i}\t{name}\n" for i, name in enumerate(animals, 1))
    (tmp_path / "classes.txt").write_text(numbered)
    for kind in ("binary", "continuous"):
        table = rng.integers(0, 2, (3, 85))
        np.savetxt(tmp_path / f"predicate-matrix-{kind}.txt", table)
    scipy.io.savemat(tmp_path / "words.mat", {"w": rng.random((1000, 3))})
    places = ["--features", tmp_path, "--tables", tmp_path]
    places += ["--words", tmp_path / "words.mat", "--out", tmp_path]
    public_sets.main(["awa", *map(str, places)])
    made = load_data(tmp_path / "awa1_shallow.npz", classes="att_continuous")
    assert made.X.shape == (15, 10) and made.unseen.tolist() == ["rat"]
    close(made.X_seen.mean(axis=0), 0, digits=2)
    # Distances between rows are those of the square roots of all shares.
    first, second = public_sets.histograms(tmp_path, "antelope")[:2]
    between = np.linalg.norm(made.X[0] - made.X[1])
    close(between, np.linalg.norm(first - second), digits=2)


def test_a_histogram_runs_no_code(tmp_path):
    for kind in public_sets.HISTOGRAMS:
        with bz2.open(tmp_path / f"rat-{kind}.pic.bz2", "wb") as file:
            pickle.dump(print, file)
    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.print"):
        public_sets.histograms(tmp_path, "rat")
