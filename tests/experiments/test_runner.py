"""The runner: killed or not, it ends with the same file."""

import csv
import os
import random
import signal
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
from unseen.experiments.piles import hard_piles
from unseen.experiments.plan import PlannedRun
from unseen.experiments.results import Finding, RunKey
from unseen.experiments.sources import Source, find_source
from unseen.experiments.tasks import Bench, run_task
from unseen.experiments.workers import batches, pick, run_all
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
METHODS = ["eszsl", "cca", "dap", "ast", "ast: no radius", "ast: no anchor", "csls"]


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


def children(pid: int) -> list[int]:
    return [
        int(child)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def kill(process: subprocess.Popen) -> None:
    """Kill a run by force, and see its workers follow."""
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers)), "a worker outlived its parent"


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="needs Linux to see child processes"
)


def quiet(plan: Path, out: Path) -> subprocess.Popen:
    nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command(plan, out), **nothing)


@needs_proc
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


@needs_proc
@pytest.mark.slow
def test_killed_at_ten_random_moments_it_ends_the_same(
    plan_file, undisturbed, tmp_path
):
    lines, seconds = undisturbed
    moments = random.Random()
    for _ in range(10):
        process = quiet(plan_file, tmp_path)
        time.sleep(moments.uniform(0, 0.9 * seconds))
        kill(process)
    subprocess.run(command(plan_file, tmp_path), check=True, capture_output=True)
    assert without_times(tmp_path / "results.csv") == lines


@pytest.fixture
def in_process(monkeypatch):
    """Make runs here, without the seconds that a new process takes."""

    def run_here(runs, n_jobs):
        for run in runs:
            bench = Bench(run.source) if run.source is not None else None
            yield run, run_task(bench, run.part, run.key)

    monkeypatch.setattr("unseen.experiments.workers.run_all", run_here)


def test_a_finished_plan_runs_nothing(tmp_path, in_process):
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


def test_the_share_that_is_done_rises_by_what_runs_cost_and_ends_at_one(
    tmp_path, in_process
):
    plan = replace(read_plan("digits"), task="statistics")
    told = []
    run_plans([plan], [], tmp_path, n_jobs=1, progress=lambda *one: told.append(one))
    costs = np.array([run.cost for run, _, _ in told])
    assert len(told) > 1
    close([share for _, _, share in told], np.cumsum(costs) / costs.sum())


def test_other_data_under_the_same_name_is_refused(tmp_path, monkeypatch, in_process):
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


def test_sets_whose_paths_end_alike_are_told_apart(tmp_path, monkeypatch, in_process):
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


def test_two_sets_of_one_name_are_refused(tmp_path, monkeypatch, in_process):
    monkeypatch.chdir(tmp_path)
    write_data(load_digits_attributes(), tmp_path / "digits")
    plan = with_columns(tmp_path / "two.toml", one="digits", other="./digits")
    text = plan.read_text().replace('classes = ""', 'classes = "attributes"', 1)
    plan.write_text(text.replace('classes = ""', 'classes = "segments+strokes"'))
    done = CliRunner().invoke(app, ["reproduce", str(plan), "--jobs", "1"])
    assert done.exit_code == 2 and "are both called digits" in done.stderr


def test_the_share_of_the_work_that_is_done_rises_and_ends_at_one(tmp_path, in_process):
    plan = replace(read_plan("digits"), task="statistics", n_seeds=1)
    shares = []
    for rows in (plan.rows[:2], plan.rows):  # the second time some are there already
        several = replace(plan, rows=rows)
        run_plans([several], [], tmp_path, progress=lambda *told: shares.append(told))
    costs = [run.cost for run, _, _ in shares]
    found = [share for _, _, share in shares]
    assert found[:2] == pytest.approx([costs[0] / sum(costs[:2]), 1.0])
    assert found[2:] == pytest.approx(np.cumsum(costs)[2:] / sum(costs))
    assert found[1] == found[-1] == 1


def die_or_answer(pipe):
    """Stand in for a worker: die of every second class table."""
    while True:
        run = pipe.recv()
        if run.key.seed % 2:
            os._exit(7)
        pipe.send([Finding("final", value=float(run.key.seed)), Finding("done")])


def test_a_worker_that_dies_fails_its_run_alone():
    runs = [
        PlannedRun(RunKey("accuracy", "set", "table", "ast", seed), "", None)
        for seed in range(5)
    ]
    found = {run.key.seed: told for run, told in run_all(runs, 2, die_or_answer)}
    assert sorted(found) == list(range(5))
    for seed, told in found.items():
        if seed % 2:
            assert told[-1].measure == "failed" and "exit code 7" in told[-1].note
        else:
            assert told[0].value == seed


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


def test_a_worker_keeps_its_bench_and_then_takes_what_nobody_has():
    def waiting():
        return [[planned(data, "x", "ast")] for data in ("a", "b", "c")]

    assert pick(waiting(), "b", {"a"})[0].key.data == "b"
    assert pick(waiting(), None, {"a"})[0].key.data == "b"
    assert pick(waiting(), "z", {"a", "b", "c"})[0].key.data == "a"


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


def test_hard_piles_are_what_they_say():
    data = find_source("digits", "attributes", []).load("attributes")
    piles = dict(hard_piles(data, 0))
    sizes = {
        name: dict(zip(*np.unique(data.y[rows], return_counts=True), strict=True))
        for name, rows in piles.items()
    }
    assert all(len(set(rows.tolist())) == len(rows) for rows in piles.values())
    assert len(sizes["half of the classes absent"]) == 1
    assert set(sizes["10 rows per class"].values()) == {10}
    zipf = sorted(sizes["sizes by Zipf's law"].values())
    largest = max((data.y == name).sum() for name in data.unseen)
    assert zipf[0] == largest // 3 and zipf[1] == largest // 2
    foreign = sizes["20 % foreign rows"]
    strange = sum(n for name, n in foreign.items() if name not in data.unseen)
    assert strange / sum(foreign.values()) == pytest.approx(0.2, abs=0.01)
    again = dict(hard_piles(data, 0))
    other = dict(hard_piles(data, 1))
    name = "10 rows per class"
    assert np.array_equal(piles[name], again[name])
    assert not np.array_equal(piles[name], other[name])
