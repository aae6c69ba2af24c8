"""Plans on mixed piles, probabilities and open piles, on the bundled digits."""

import numpy as np
import pandas as pd
import pytest

from tests.checks import close
from unseen.experiments import make_table, read_plan
from unseen.experiments.results import COLUMNS, RunKey
from unseen.experiments.sources import find_source
from unseen.experiments.tasks import Bench, run_task
from unseen.experiments.trusting import (
    auroc,
    fitting_lists,
    foreign_piles,
    held_out,
    with_rows_aside,
    with_wrong_cell,
)
from unseen.loading import load_data


@pytest.fixture(scope="module")
def bench():
    return Bench(find_source("digits", "attributes", []))


def findings(bench, task, method="ast"):
    key = RunKey(task, "digits", "segments+strokes", method, 0)
    found = run_task(bench, "attributes", key)
    failed = [f.note for f in found if f.measure == "failed"]
    assert not failed, failed
    return found


@pytest.mark.parametrize(
    "task", ["generalized", "trust", "open", "open study", "planted"]
)
def test_a_task_finds_what_its_table_shows(bench, task):
    found = findings(bench, task)
    values = [f.value for f in found if f.measure not in ("gamma", "present")]
    shares = [v for f, v in zip(found, values, strict=False) if v is not None]
    assert len(shares) > 5
    plan = read_plan(task.replace(" ", "_"))
    lines = [
        dict(zip(COLUMNS, (task, "cub_vgg", "att_312", "ast", 0, *f), strict=True))
        for f in found
    ]
    table = make_table(plan, pd.DataFrame(lines))
    written = " ".join(cell for _, cells in table.rows for cell in cells)
    assert any(part.replace(".", "").isdigit() for part in written.split())


def test_rows_aside_are_a_fifth_of_every_seen_class_or_the_sets_own():
    data = load_data("digits")
    assert data.seen_test is None
    made = with_rows_aside(data)
    for name in data.seen:
        own = data.y == name
        close(made.seen_test[own].mean(), 0.2, within=0.01)
    assert not made.seen_test[np.isin(data.y, data.unseen)].any()
    assert with_rows_aside(made) is made


def test_foreign_rows_are_a_fifth_and_not_on_offer():
    data = with_rows_aside(load_data("digits"))
    for _, rows, offered, foreign in foreign_piles(data, 0):
        assert 0.1 < foreign.mean() <= 0.2
        assert not np.isin(data.y[rows[foreign]], offered).any()
        assert np.isin(data.y[rows[~foreign]], offered).all()


def test_lists_that_fit_have_rows_of_every_class():
    data = load_data("digits")
    ten, zipf = (data.y[rows] for _, rows, _ in fitting_lists(data, 0))
    sizes = pd.Series(ten).value_counts()
    assert sizes.to_dict() == dict.fromkeys(data.unseen, 10)
    there = pd.Series(data.y).value_counts()
    shares = sorted(
        n / there[name] for name, n in pd.Series(zipf).value_counts().items()
    )
    close(shares, [1 / 3, 1 / 2, 1], within=0.01)


def test_the_area_counts_pairs():
    rng = np.random.default_rng(0)
    score, yes = rng.integers(0, 9, size=50), rng.uniform(size=50) < 0.4
    pairs = [(a > b) + 0.5 * (a == b) for a in score[yes] for b in score[~yes]]
    close(auroc(score, yes), np.mean(pairs))


def test_a_wrong_cell_is_the_only_change_and_at_the_other_end():
    seen = pd.DataFrame([[0.0, 5], [1, 7], [4, 9]], ["a", "b", "c"])
    table = pd.DataFrame([[3.0, 8], [0.5, 6]], ["d", "e"])
    made = with_wrong_cell(table, seen, "d", 0)
    assert made.loc["d"].tolist() == [0.0, 8.0]
    assert made.loc["e"].tolist() == [0.5, 6.0]
    assert with_wrong_cell(table, seen, "e", 1).loc["e"].tolist() == [0.5, 9.0]
    assert table.loc["d"].tolist() == [3.0, 8.0]


def test_a_study_sees_no_row_of_an_unseen_class():
    data = with_rows_aside(load_data("digits"))
    chosen = []
    for fold in range(3):
        part = held_out(data, fold)
        assert not np.isin(part.y, data.unseen).any()
        assert set(part.classes) == set(data.seen)
        assert not part.seen_test[np.isin(part.y, part.unseen)].any()
        chosen += list(part.unseen)
    assert sorted(chosen) == sorted(data.seen)
