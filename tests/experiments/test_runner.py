"""The runner: killed or not, it ends with the same file."""

import csv
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.checks import close
from unseen.cli import app
from unseen.experiments import read_plan, read_results, run_plans
from unseen.experiments.bench import Bench
from unseen.experiments.plan import PlannedRun
from unseen.experiments.run import RunKey, batches
from unseen.experiments.sources import Source, find_source
from unseen.experiments.tasks import run_task
from unseen.loading import load_digits_attributes, save_data, write_data

QUICK = """
title = "Quick"
caption = "All that ends at once."
task = "accuracy"
show = "table"

[[column]]
head = "digits"
data = "digits"
classes = "attributes"
"""
METHODS = ["eszsl", "cca", "dap", "ast", "to-visual", "to-semantic", "csls", "sae"]


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "quick.toml"
    rows = "".join(f'\n[[row]]\nmethod = "{name}"\n' for name in METHODS)
    path.write_text(QUICK + rows)
    return path


def command(plan: Path, out: Path, jobs: int = 1) -> list[str]:
    run = "from unseen.cli import main; main()"
    words = ["reproduce", str(plan), "--out", str(out), "--jobs", str(jobs)]
    return [sys.executable, "-c", run, *words]


def without_times(path: Path) -> list[list[str]]:
    with open(path, newline="") as file:
        return sorted(line[:-1] for line in csv.reader(file))


@pytest.fixture(scope="module")
def undisturbed(plan_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    start = time.monotonic()
    subprocess.run(command(plan_file, out, 2), check=True, capture_output=True)
    lines = without_times(out / "results.csv")
    assert sum("done" in line for line in lines) == len(METHODS)
    assert not any("failed" in line for line in lines)
    return lines, time.monotonic() - start


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()


def quiet(plan: Path, out: Path) -> subprocess.Popen:
    nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command(plan, out), **nothing)


def test_killed_in_mid_run_it_goes_on_and_ends_the_same(
    plan_file, undisturbed, tmp_path
):
    lines, _ = undisturbed
    results = tmp_path / "results.csv"
    for wanted in (1, 4):  # kill once so many runs have been written
        process = quiet(plan_file, tmp_path)
        while process.poll() is None:
            if results.exists() and results.read_text().count(",done,") >= wanted:
                break
            time.sleep(0.01)
        assert process.poll() is None, "it ended before it could be killed"
        kill(process)
        with open(results, "ab") as file:  # and a line torn on top of it
            file.write(b"accuracy,digits,segm")
    assert 0 < results.read_text().count(",done,") < len(METHODS)
    again = subprocess.run(
        command(plan_file, tmp_path), check=True, capture_output=True, text=True
    )
    assert without_times(results) == lines
    assert again.stderr.count("accuracy digits") < len(METHODS)  # some were there


def test_a_finished_plan_runs_nothing(tmp_path):
    plan = replace(read_plan("table2"), columns=(), task="statistics")
    assert plan.runs([])  # one run, on no data set: it fails, and that is a result
    calls = []
    for _ in range(2):
        path = run_plans(
            [plan], [], tmp_path, n_jobs=1, progress=lambda *told: calls.append(told)
        )
    assert len(calls) == 1
    (failed,) = read_results(path).itertuples()
    assert failed.measure == "failed" and "AttributeError" in failed.note
    run_plans(
        [plan],
        [],
        tmp_path,
        n_jobs=1,
        retry_failed=True,
        progress=lambda *told: calls.append(told),
    )
    assert len(calls) == 2


def test_other_data_under_the_same_name_is_refused(tmp_path, monkeypatch):
    plan = replace(
        read_plan("digits"), rows=read_plan("digits").rows[:1], task="statistics"
    )
    run_plans([plan], [], tmp_path, n_jobs=1)
    other = {"digits": "something else"}
    monkeypatch.setattr(Source, "origins", lambda self, part: other)
    with pytest.raises(ValueError, match="Give another --out"):
        run_plans([plan], [], tmp_path, n_jobs=1)


COUNTS = """
title = "Counts"
caption = "What two sets count."
task = "statistics"
show = "statistics"
"""


def with_columns(path, **data):
    """Write a plan that counts the rows of some sets."""
    lines = [
        f'[[column]]\nhead = "{head}"\ndata = "{where}"\nclasses = ""\n'
        for head, where in data.items()
    ]
    path.write_text(COUNTS + "\n".join(lines))
    return path


def test_sets_whose_paths_end_alike_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    digits = load_digits_attributes()
    for name, n in {"AwA": 1000, "CUB": 1500}.items():
        (tmp_path / "fea" / name).mkdir(parents=True)
        some = replace(digits, X=digits.X[:n], y=digits.y[:n])
        save_data(some, tmp_path / "fea" / name / "att.npz")
    plan = with_columns(
        tmp_path / "two.toml", AwA="fea/AwA/att.npz", CUB="fea/CUB/att.npz"
    )
    done = CliRunner().invoke(app, ["reproduce", str(plan), "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert "| instances | 1,000 | — | 1,500 | — |" in done.stdout


def test_two_sets_of_one_name_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(load_digits_attributes(), tmp_path / "digits")
    plan = with_columns(tmp_path / "two.toml", one="digits", other="./digits")
    text = plan.read_text().replace('classes = ""', 'classes = "attributes"', 1)
    plan.write_text(text.replace('classes = ""', 'classes = "segments+strokes"'))
    done = CliRunner().invoke(app, ["reproduce", str(plan), "--jobs", "1"])
    assert done.exit_code == 2 and "are both called digits" in done.stderr


def test_the_share_of_the_work_that_is_done_rises_and_ends_at_one(tmp_path):
    plan = replace(read_plan("digits"), task="statistics", n_seeds=1)
    shares = []
    for rows in (plan.rows[:2], plan.rows):  # the second time some are there already
        several = replace(plan, rows=rows)
        run_plans(
            [several],
            [],
            tmp_path,
            n_jobs=1,
            progress=lambda *told: shares.append(told),
        )
    costs = [run.cost for run, _, _ in shares]
    found = [share for _, _, share in shares]
    close(found[:2], [costs[0] / sum(costs[:2]), 1.0])
    close(found[2:], np.cumsum(costs)[2:] / sum(costs))
    assert found[1] == found[-1] == 1


def planned(data, classes, method, seed=0):
    return PlannedRun(RunKey("accuracy", data, classes, method, seed), "", None)


def test_runs_that_share_a_search_stay_together():
    runs = [
        planned("a", "x", "tstd", 1),
        planned("a", "y", "jedm"),
        planned("a", "x", "jedm"),
        planned("a", "x", "cca-st"),
        planned("a", "x", "tstd"),
    ]
    groups = batches(runs)
    assert sorted(len(group) for group in groups) == [1, 1, 3]
    assert {run for group in groups for run in group} == set(runs)
    assert {run.key.classes for run in max(groups, key=len)} == {"x"}


def test_what_went_wrong_is_a_finding():
    source = Source("/nowhere/at/all.npz", "nowhere", "", {"attributes": "a"})
    key = RunKey("accuracy", "nowhere", "a", "eszsl", 0)
    (failed,) = run_task(Bench(source), "attributes", key)
    assert failed.measure == "failed"
    assert failed.note.startswith("FileNotFoundError: There is no file")


@pytest.mark.parametrize("method", ["eszsl-st", "tstd-authors", "ast", "csls"])
def test_labels_of_unseen_classes_decide_nothing_but_the_score(method):
    source = find_source("digits", "attributes", [])
    first = Bench(source)
    data = first.data("attributes")
    scrambled = data.y.copy()
    places = np.flatnonzero(np.isin(data.y, data.unseen))
    scrambled[places] = np.random.default_rng(0).permutation(scrambled[places])
    second = Bench(source)
    second._data["attributes"] = replace(data, y=scrambled)
    key = RunKey("accuracy", "digits", "segments+strokes", method, 0)
    told = [run_task(bench, "attributes", key) for bench in (first, second)]
    words = [
        [
            (f.measure, f.item, f.note)
            for f in found
            if f.measure in ("chosen", "accuracy")
        ]
        for found in told
    ]
    assert words[0] == words[1]
    scores = [[f.value for f in found if f.measure == "final"] for found in told]
    assert scores[0] != scores[1]  # they do decide the score


def test_self_training_starts_from_its_base_on_all_rows_together():
    bench = Bench(find_source("digits", "attributes", []))
    found = {
        method: {
            one.measure: one.value
            for one in run_task(
                bench,
                "attributes",
                RunKey("accuracy", "digits", "segments+strokes", method, 0),
            )
        }
        for method in ("jedm-authors", "tstd-authors")
    }
    start = found["tstd-authors"]["together"]
    assert start == found["jedm-authors"]["final"]
    assert start != found["tstd-authors"]["final"]
    assert "together" not in found["jedm-authors"]
