"""What to ask a person, and how right labels are by the answers."""

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from scipy import stats

from unseen import draw_check, estimate_accuracy, suggest
from unseen.trust.asking import unlike
from unseen.trust.sure import drawn_from


def make_rows(seed=0, n_classes=5, per_class=40):
    random = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_classes), per_class)
    centres = 2 * random.normal(size=(n_classes, 20))
    return centres[truth] + random.normal(size=(len(truth), 20)), truth, centres


def test_clusters_are_asked_in_turn_those_with_doubt_and_no_given_row_first():
    X, truth, _ = make_rows()
    assert sorted(truth[suggest(X, 5)]) == [0, 1, 2, 3, 4]
    given = {int(row): 0 for row in np.flatnonzero(truth < 3)[::40]}
    assert set(truth[suggest(X, 2, given=given)]) == {3, 4}
    sure = np.where(truth == 2, 0.1, 0.95)
    assert truth[suggest(X, 5, reliability=sure)[0]] == 2


@settings(max_examples=8, deadline=None)
@drawn(st.integers(0, 60), st.sets(st.integers(0, 49), max_size=50), st.booleans())
def test_no_row_is_asked_twice_and_none_that_is_given(n, told, doubts):
    random = np.random.default_rng(1)
    X = random.normal(size=(50, 6))
    sure = random.uniform(size=50) if doubts else None
    rows = suggest(X, n, given=dict.fromkeys(told, "a"), reliability=sure)
    assert len(rows) == min(n, 50 - len(told))
    assert len(set(rows.tolist())) == len(rows)
    assert not told & set(rows.tolist())


def test_each_row_asked_is_the_most_worthy_that_is_unlike_the_others():
    random = np.random.default_rng(0)
    B, worth = random.normal(size=(30, 4)), random.uniform(0.5, 1, size=30)
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    asked, expected = [B[0], B[1]], []
    for _ in range(6):
        values = [worth[i] * (1 - max(B[i] @ row for row in asked)) for i in range(30)]
        expected.append(int(np.argmax(values)))
        asked.append(B[expected[-1]])
    assert unlike(B, worth, 6, B[:2]).tolist() == expected


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ValueError, match="n=-1 rows"):
        suggest(np.eye(3), -1)
    with pytest.raises(ValueError, match=r"reliability has shape \(2,\)"):
        suggest(np.eye(3), 1, reliability=[0.1, 0.2])
    with pytest.raises(TypeError, match="all rows at once"):
        suggest(iter([np.eye(3)]), 1)


# ---- accuracy ------------------------------------------------------------------------


def test_chosen_rows_count_as_themselves_only():
    labels = np.repeat("a", 1000)
    fair = {row: "a" if row % 2 else "b" for row in range(100)}
    wrong = dict.fromkeys(range(100, 300), "b")  # chosen, because they look wrong
    found = estimate_accuracy(labels, fair | wrong, drawn=range(100))
    assert found.accuracy == pytest.approx((0 + 800 * 0.5) / 1000)
    assert (found.n_checked, found.n_known) == (100, 200)
    naive = estimate_accuracy(labels, fair | wrong)
    assert naive.accuracy == pytest.approx(50 / 300)
    with pytest.raises(ValueError, match="none was drawn at random"):
        estimate_accuracy(["a", "b"], {0: "a"}, drawn=[])
    found = estimate_accuracy(["a", "a", "b"], {0: "a"})
    assert np.isnan(found.by_label.loc["b", "accuracy"])
    assert found.accuracy == 1.0


def test_an_interval_is_that_of_the_formula_worked_out():
    """Two labels of 600 and 400 rows: 30 and 20 drawn, 27 and 8 right, 100 known.

    And 40 drawn by reliability: 31 of 32 among the surest, 5 of 8 among all others.
    """
    labels = np.repeat(["a", "b"], [600, 400])
    checked = {row: "a" if row < 27 else "b" for row in range(30)}
    checked |= {600 + row: "b" if row < 8 else "a" for row in range(20)}
    known = {row: "a" if row < 160 else "b" for row in range(100, 200)}
    found = estimate_accuracy(labels, checked | known, drawn=checked)
    p, ends = 0.7, stats.beta.ppf([0.05, 0.95], 35.5, 15.5)
    ends = [p, *(p + np.sqrt(1 - 50 / 900) * (ends - p))]
    assert found[:3] == pytest.approx(
        [(60 + 900 * end) / 1000 for end in ends], abs=1e-3
    )

    own = found.by_label.loc["b", ["accuracy", "low", "high"]].astype(float)
    low, high = stats.beta.ppf([0.05, 0.95], 20 * 0.4 + 0.5, 20 * 0.6 + 0.5)
    shrink = np.sqrt(1 - 20 / 400)
    ends = [0.4, 0.4 - shrink * (0.4 - low), 0.4 + shrink * (high - 0.4)]
    assert own.tolist() == pytest.approx(ends, abs=1e-3)
    counts = found.by_label[["rows", "checked", "known"]].to_numpy().tolist()
    assert counts == [[600, 30, 100], [400, 20, 0]]

    stated, top = np.linspace(1, 0, 1000), drawn_from(40, 1000)
    rows = draw_check(labels, 40, reliability=stated)
    wrong = [rows[rows < top][0], *rows[rows >= top][:3]]
    checked = {int(row): labels[row] for row in rows} | dict.fromkeys(wrong, "okapi")
    found = estimate_accuracy(labels, checked, drawn=rows, reliability=stated)
    sums, random = 0, np.random.default_rng(0)
    for size, n, right in [(top, 32, 31), (1000 - top, 8, 5)]:
        drawn = random.beta(right + 0.5, n - right + 0.5, 10**6)
        drawn = right / n + np.sqrt(1 - n / size) * (drawn - right / n)
        sums = sums + size / 1000 * drawn
    p = (top * 31 / 32 + (1000 - top) * 5 / 8) / 1000
    ends = [p, *np.quantile(sums, [0.05, 0.95])]
    assert found[:3] == pytest.approx(ends, abs=2e-3)


CASES = {  # labels, rows, checks, accuracy, rows chosen because they are wrong
    "few checks": (6, 480, 30, 0.6, 0),
    "usual": (10, 2000, 100, 0.8, 0),
    "many labels, and chosen rows": (20, 500, 60, 0.9, 20),
    "many checks, and chosen rows": (5, 5000, 200, 0.5, 50),
    "nearly all right": (10, 1000, 50, 0.93, 0),
}


def coverage(case, n_times):
    """Return how often the interval holds the truth."""
    n_labels, n_rows, n, accuracy, n_chosen = CASES[case]
    random = np.random.default_rng(0)
    held = []
    for _ in range(n_times):
        sizes = random.dirichlet(np.full(n_labels, 3))
        labels = random.choice(n_labels, size=n_rows, p=sizes)
        chance = np.clip(accuracy + 0.15 * random.normal(size=n_labels), 0.05, 0.98)
        right = random.random(n_rows) < chance[labels]
        truth = np.where(right, labels, (labels + 1) % n_labels)
        chosen = random.permutation(np.flatnonzero(~right))[:n_chosen]
        seed = int(random.integers(2**31))
        rows = draw_check(labels, n, without=chosen, random_state=seed)
        checked = {int(row): int(truth[row]) for row in [*rows, *chosen]}
        found = estimate_accuracy(labels, checked, drawn=rows)
        held.append(found.low <= right.mean() <= found.high)
    return np.mean(held)


def test_nine_of_ten_intervals_hold_the_truth():
    assert 0.84 < coverage("usual", 100) < 0.96


@pytest.mark.slow
@pytest.mark.parametrize("case", sorted(CASES))
def test_nine_of_ten_intervals_hold_the_truth_to_two_points(case):
    assert 0.88 <= coverage(case, 2500) <= 0.92
