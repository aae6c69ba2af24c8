"""The runner: killed or not, it ends with the same file."""

import csv
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.checks import invoke, never_rises, quick_plan
from unseen import methods
from unseen.experiments import read_plan, read_results, run_plans
from unseen.experiments.bench import Bench
from unseen.experiments.run import RunKey
from unseen.experiments.sources import Source, find_source
from unseen.experiments.tasks import run_task

METHODS = ["eszsl", "cca", "to-visual", "to-semantic"]


@pytest.fixture
def plan_file(tmp_path):
    path = tmp_path / "quick.toml"
    path.write_text(quick_plan(*METHODS, data="photos-200", classes="words"))
    return path


def without_times(path: Path) -> list[list[str]]:
    with open(path, newline="") as file:
        return sorted(line[:-1] for line in csv.reader(file))


def test_killed_in_mid_run_it_goes_on_and_ends_the_same(plan_file, tmp_path):
    words = ["reproduce", str(plan_file), "--out", str(tmp_path / "out"), "--jobs", "1"]
    start = [sys.executable, "-c", "from unseen.cli import main; main()", *words]
    results = tmp_path / "out" / "results.csv"
    with subprocess.Popen(start, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if results.exists() and results.read_text().count(",done,") > 1:
                break
            time.sleep(0.01)
        assert process.poll() is None, "it ended before it could be killed"
        process.kill()
    assert 1 < results.read_text().count(",done,") <= len(METHODS)
    again = invoke(*words)
    assert again.exit_code == 0, again.output
    assert again.stderr.count("accuracy photos-200") < len(METHODS)  # some were there
    undisturbed = run_plans([read_plan(plan_file)], [], tmp_path / "b", n_jobs=2)
    lines = without_times(undisturbed)
    assert without_times(results) == lines
    assert sum("done" in line for line in lines) == len(METHODS) + 1  # and the counts


def test_a_finished_plan_runs_nothing_but_what_failed(tmp_path):
    counts = replace(read_plan("table5").on([]), task="statistics", rows=())
    failing = replace(counts, columns=())  # on no data
    shares = []
    for plan, n_runs in ((counts, 2), (counts, 2), (failing, 3), (failing, 4)):
        done = {"progress": lambda *told: shares.append(told[-1])}
        path = run_plans([plan], [], tmp_path, n_jobs=1, **done)
        assert len(shares) == n_runs and shares[-1] == 1  # the share that is done
    (failed,) = read_results(path).query("measure == 'failed'").itertuples()
    assert "AttributeError" in failed.note


def test_other_data_under_the_same_name_is_refused(tmp_path, monkeypatch):
    plan = replace(read_plan("table5").on([]), task="statistics")
    run_plans([plan], [], tmp_path, n_jobs=1)
    monkeypatch.setattr(Source, "digest", lambda self, part: "something else")
    with pytest.raises(ValueError, match="Give another --out"):
        run_plans([plan], [], tmp_path, n_jobs=1)


def test_counts_seeds_objectives_and_drawings_are_of_the_set_and_the_model(monkeypatch):
    bench = Bench(find_source("pets", "attributes", []))
    key = RunKey("statistics", "pets", "attributes", "", 0)
    told = {f.measure: f.value for f in run_task(bench, "attributes", key)}
    counts = {"instances": 555, "features": 1280, "dimensions": 25}
    assert told.items() >= {**counts, "seen": 27, "unseen": 10}.items()

    monkeypatch.setattr(Bench, "searched", lambda self, method, part: method.make())
    for seed in (0, 3):
        model = bench.fitted(methods.METHODS["jedm"], "attributes", seed)
        assert (model.random_state or 0) == seed
    key = key._replace(method="jedm")
    part, data = "attributes", bench.data("attributes")
    found = pd.DataFrame(run_task(bench, part, key._replace(task="convergence")))
    sweeps = found[found["measure"] == "objective"].groupby("item")["value"]
    assert sweeps.size().to_dict() == {"paper": 31, "reference": 31}
    never_rises(sweeps.get_group("paper"))
    key = key._replace(task="latent", method="tstd")
    quick = "sklearn.manifold.TSNE.fit_transform"
    monkeypatch.setattr(quick, lambda self, X: X[:, :2])
    found = pd.DataFrame(run_task(Bench(bench.source), part, key))
    drawn = found.groupby("measure")["item"].agg(sorted)
    for axis in "xy":
        assert drawn[f"{axis} 0"] == drawn[f"{axis} 1"] == sorted(data.y_unseen)
        assert drawn[f"prototype {axis}"] == sorted(data.unseen)


@pytest.mark.parametrize("method", ["eszsl-st", "ast", "csls"])
def test_labels_of_unseen_classes_decide_nothing_but_the_score(method):
    source = find_source("photos-200", "words", [])
    first = Bench(source)
    data = first.data("words")
    scrambled = data.y.copy()
    places = np.flatnonzero(np.isin(data.y, data.unseen))
    scrambled[places] = np.random.default_rng(0).permutation(scrambled[places])
    second = Bench(source)
    second._data["words"] = replace(data, y=scrambled)
    key = RunKey("accuracy", "photos-200", "words", method, 0)
    told = [run_task(bench, "words", key) for bench in (first, second)]
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
    bench = Bench(find_source("photos-200", "words", []))
    key = RunKey("accuracy", "photos-200", "words", "", 0)
    jedm, tstd = (
        {f.measure: f.value for f in run_task(bench, "words", run)}
        for run in (key._replace(method=m) for m in ("jedm-authors", "tstd-authors"))
    )
    assert tstd["together"] == jedm["final"] != tstd["final"]
    assert "together" not in jedm
