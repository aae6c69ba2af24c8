"""Methods compared on data of one's own: what is scored, and what is said of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.checks import close, invoke
from unseen import ESZSL
from unseen.experiments.bench import Bench
from unseen.experiments.compare import (
    compare_plan,
    compare_table,
    count_folds,
    paired_test,
)
from unseen.experiments.run import COLUMNS, RunKey
from unseen.experiments.sources import find_source
from unseen.experiments.tasks import run_task
from unseen.loading import load_data
from unseen.trust.metrics import per_class_accuracy


def run(*arguments):
    return invoke("compare", *arguments)


@pytest.fixture(scope="module")
def findings():
    bench = Bench(find_source("pets", "attributes", []))
    key = RunKey("compare", "pets", "attributes", "eszsl", 0)
    return run_task(bench, "attributes", key)


def test_a_fold_is_scored_as_one_would_by_hand(findings):
    data = load_data("pets")
    names = np.unique(data.y_seen)
    dealt = np.random.RandomState(0).permutation(len(names))
    values = [f.value for f in findings if f.measure == "fold"]
    assert len(values) == 5
    for fold, value in enumerate(values):
        out = np.isin(data.y_seen, names[dealt[fold::5]])
        table = data.class_embeddings.loc[names]
        model = ESZSL().fit(
            data.X_seen[~out], data.y_seen[~out], class_embeddings=table
        )
        answer = model.predict(data.X_seen[out])
        assert value == pytest.approx(per_class_accuracy(data.y_seen[out], answer))


def test_labels_of_unseen_classes_change_only_the_column_of_their_own(findings):
    bench = Bench(find_source("pets", "attributes", []))
    data = bench.data("attributes")
    y = np.where(np.isin(data.y, data.unseen), "", data.y)
    bench._data["attributes"] = replace(data, y=y)
    key = RunKey("compare", "pets", "attributes", "eszsl", 0)
    blind = run_task(bench, "attributes", key)
    folds = [[f.value for f in fs if f.measure == "fold"] for fs in (findings, blind)]
    assert folds[0] == folds[1]
    assert [f.measure for f in findings].count("test") == 1
    assert "test" not in [f.measure for f in blind]


def test_folds_that_share_rows_need_a_larger_difference():
    rng = np.random.default_rng(0)
    ahead = rng.normal(1.0, 1.0, size=10)
    found = paired_test(ahead, n_folds=5)
    error = ahead.std(ddof=1) * np.sqrt(1 / 10 + 1 / 4)
    close(found.high - found.ahead, 1.833 * error, digits=3)
    assert found.low < ahead.mean() < found.high
    # p says the same as the interval: 10 % on its very edge.
    moved = paired_test(ahead - found.low, n_folds=5)
    assert moved.p == pytest.approx(0.1, abs=1e-6)
    assert paired_test(-ahead, n_folds=5).p == pytest.approx(found.p)
    assert paired_test(np.zeros(5), n_folds=5).p == 1


def lines(method, values, seconds=1.0):
    for fold, value in enumerate(values):
        line = dict.fromkeys(COLUMNS, "")
        line |= {"task": "compare", "data": "pets", "method": method}
        line |= {"seed": 0, "measure": "fold"}
        yield line | {"item": "3", "round": fold, "value": value, "seconds": seconds}


def test_the_table_has_the_best_first_and_pairs_the_others_with_it():
    plan = compare_plan("pets", ["eszsl", "cca"])
    found = [*lines("eszsl", [0.5, 0.6, 0.7]), *lines("cca", [0.6, 0.7, 0.83])]
    table = compare_table(plan, pd.DataFrame(found))
    assert [label for label, _ in table.rows] == ["CCA", "ESZSL"]
    assert table.rows[0][1] == ["71.0 ± 11.5", "—", "—", "—", "—", "1.00"]
    assert table.rows[1][1][1] == "+11.0"


def test_the_command_prints_the_table_and_writes_a_page_that_repeats_it(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = run("pets", "--methods", "eszsl,cca", "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert "| ESZSL |" in done.stdout and "| CCA |" in done.stdout
    page = (tmp_path / "unseen-compare" / "report.html").read_text()
    assert "unseen compare pets --methods eszsl,cca --seeds 1" in page
    assert "<h1>Methods on pets</h1>" in page and "The paper" not in page
    assert "held-out seen classes" in page
    again = run("pets", "--methods", "eszsl,cca", "--jobs", 1)
    assert again.stdout == done.stdout  # nothing is run twice


def test_another_split_or_table_is_not_answered_from_the_results_of_the_first(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = load_data("pets").class_embeddings
    table.to_csv("looks.csv")
    asked = "pets", "--methods", "eszsl", "--jobs", 1, "--classes", "looks.csv"
    assert run(*asked).exit_code == 0
    (table * 2).to_csv("looks.csv")
    for other in ([], ["--unseen", "pug,boxer"]):
        done = run(*asked, *other)
        assert done.exit_code != 0 and "Give another" in done.output, other


def test_options_of_the_data_reach_the_plan_and_few_classes_are_refused(tmp_path):
    options = {"unseen": "2,5,8", "column": "kind", "id": "ring"}
    plan = compare_plan("birds.csv", ["eszsl"], ["looks.csv", "words"], **options)
    assert plan.source.options == options and plan.source.tables == {
        "looks.csv+words": ["looks.csv", "words"]
    }
    line = " ".join(plan.command)
    assert "--classes looks.csv --classes words --unseen 2,5,8" in line
    assert line.endswith("--column kind --id ring --seeds 1")
    data = load_data("pets")
    few = data.with_unseen(data.classes[3:])
    with pytest.raises(ValueError, match="3 seen classes"):
        count_folds(few)
