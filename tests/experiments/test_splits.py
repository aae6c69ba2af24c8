"""Other deals of the classes: what is dealt, and what the table says of it."""

import numpy as np
import pandas as pd
import pytest

from unseen.experiments import make_table, read_plan
from unseen.experiments.results import COLUMNS, RunKey
from unseen.experiments.sources import find_source
from unseen.experiments.splits import deal, paired_interval
from unseen.experiments.tasks import Bench, run_task
from unseen.loading import load_digits_attributes


def test_a_deal_keeps_rows_table_and_the_number_of_unseen_classes():
    data = load_digits_attributes()
    dealt = deal(data, 3)
    assert len(set(dealt.unseen)) == len(data.unseen)
    assert dealt.X is data.X
    assert dealt.class_embeddings is data.class_embeddings
    assert not np.isin(dealt.y_seen, dealt.unseen).any()
    assert np.isin(dealt.y_unseen, dealt.unseen).all()


def test_a_deal_hangs_on_its_seed_and_not_on_the_order_of_classes():
    data = load_digits_attributes()
    turned = data.class_embeddings.iloc[::-1]
    other = type(data)(data.name, data.X, data.y, turned, data.unseen)
    assert deal(data, 1).unseen.tolist() == deal(other, 1).unseen.tolist()
    assert len({tuple(deal(data, seed).unseen) for seed in range(10)}) > 5


def test_the_interval_of_paired_differences_covers_their_mean_nine_times_in_ten():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(2000):
        low, high = paired_interval(rng.normal(0.3, 2.0, size=10))
        hits += low <= 0.3 <= high
    assert 0.88 < hits / 2000 < 0.92


def test_one_deal_has_no_interval():
    assert np.isnan(paired_interval(np.array([1.0]))).all()


def test_a_run_fits_the_deal_and_not_the_usual_split():
    bench = Bench(find_source("digits", "attributes", []))
    values = []
    for seed in (0, 1):
        key = RunKey("splits", "digits", "segments+strokes", "ast", seed)
        found = {f.measure: f.value for f in run_task(bench, "attributes", key)}
        assert set(found) >= {"before", "after", "done"}
        values.append(found["after"])
    assert values[0] != values[1]


def test_the_table_pairs_methods_by_deal():
    plan = read_plan("splits")
    lines = []
    for seed, (ours, theirs) in enumerate([(0.7, 0.6), (0.8, 0.72), (0.6, 0.54)]):
        for method, share in (("ast", ours), ("k-means", theirs)):
            line = dict.fromkeys(COLUMNS, "")
            line |= {"task": "splits", "data": "cub_vgg", "classes": "att_312"}
            line |= {"method": method, "seed": seed, "measure": "after"}
            lines.append(line | {"value": share})
    rows = dict(make_table(plan, pd.DataFrame(lines)).rows)
    cells = rows["k-means in AST's space, from its start"]
    assert cells[0] == "62.0 ± 9.2"
    assert cells[1] == "+8.0"  # 10, 8 and 6: 8 ± 2.92 * 2 / sqrt(3)
    low, high = (float(cell.replace("−", "-")) for cell in cells[2].split(" to "))
    assert low == pytest.approx(8 - 3.37, abs=0.05)
    assert high == pytest.approx(8 + 3.37, abs=0.05)
    assert rows["AST (ours)"][1] == "—"
