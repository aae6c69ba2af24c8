"""Metrics equal their definitions and refuse what they cannot count."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, top_k_accuracy_score

from tests.checks import close
from unseen.trust.metrics import (
    confusion,
    expected_calibration_error,
    generalized_scores,
    per_class_accuracy,
    reliability_curve,
    risk_coverage,
    top_k_accuracy,
)

NAMES = ["ant", "bee", "cow", "dog"]
pairs = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=30
)


@settings(max_examples=25, deadline=None)
@given(pairs)
def test_per_class_accuracy_is_the_mean_recall_in_the_confusion(labels):
    y_true, y_pred = zip(*labels, strict=True)
    counts = confusion(y_true, y_pred)
    present = counts.loc[counts.sum(axis=1) > 0]
    recalls = [present.loc[c, c] / present.loc[c].sum() for c in present.index]
    assert counts.to_numpy().sum() == len(labels)
    close(per_class_accuracy(y_true, y_pred), np.mean(recalls))


def test_agrees_with_sklearn_where_every_prediction_is_a_true_class():
    y_true, y_pred = np.random.default_rng(0).integers(5, size=(2, 200))
    close(per_class_accuracy(y_true, y_pred), balanced_accuracy_score(y_true, y_pred))
    y_true = np.array(["a", "b"], dtype=object)
    assert per_class_accuracy(y_true, pd.Series(["a", "a"])) == 0.5


@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_equals_sklearn_on_balanced_rows(k):
    rng = np.random.default_rng(k)
    y_true = np.repeat(np.arange(4), 10)
    scores = rng.normal(size=(40, 4))
    expected = top_k_accuracy_score(y_true, scores, k=k)
    close(top_k_accuracy(y_true, scores, k=k, classes=range(4)), expected)


def test_top_1_is_the_accuracy_of_the_argmax_even_with_ties():
    rng = np.random.default_rng(0)
    y_true = rng.choice(NAMES, size=50)
    scores = rng.integers(3, size=(50, 4)).astype(float)
    y_pred = np.array(NAMES)[scores.argmax(axis=1)]
    table = pd.DataFrame(scores, columns=NAMES)
    assert top_k_accuracy(y_true, table, k=1) == per_class_accuracy(y_true, y_pred)
    assert top_k_accuracy(y_true, table, k=4) == 1


def test_two_classes_may_come_as_one_column():
    y_true, scores = ["a", "b", "b"], np.array([-1.0, 2.0, -3.0])
    assert top_k_accuracy(y_true, scores, k=1, classes=["a", "b"]) == 0.75


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: per_class_accuracy(["a"], ["a", "b"]), r"samples: \[1, 2\]"),
        (lambda: per_class_accuracy([], []), r"y_true has shape \(0,\)"),
        (lambda: per_class_accuracy([["a"]], ["a"]), r"y_true has shape \(1, 1\)"),
        (lambda: per_class_accuracy(["a"], [1]), "'a' and y_pred"),
        (lambda: per_class_accuracy([1.0, np.nan], [1, 2]), "missing value"),
        (lambda: top_k_accuracy(["a"], [[1.0]], k=1), "without class names"),
        (lambda: top_k_accuracy(["a"], [[1.0]], k=2, classes=["a"]), "k is 2"),
        (lambda: top_k_accuracy(["a"], [[1.0]], k=0.5, classes=["a"]), "k is 0.5"),
        (lambda: top_k_accuracy(["c"], [[1.0, 2]], k=1, classes=["a", "b"]), "'c'"),
        (lambda: top_k_accuracy(["a"], [[1.0, 2]], k=1, classes=["a"]), r"\(1, 2\)"),
        (lambda: top_k_accuracy(["a"] * 2, [[1.0]], k=1, classes=["a"]), r"\[2, 1\]"),
        (lambda: top_k_accuracy(["a"], [[1, 2]], k=1, classes=["a"] * 2), "Two col"),
        (lambda: top_k_accuracy(["a"], [[np.nan]], k=1, classes=["a"]), "NaN"),
    ],
)
def test_what_cannot_be_counted_is_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def mean_recall(truth, labels, classes):
    there = [c for c in classes if c in truth]
    return np.mean([np.mean(labels[truth == c] == c) for c in there])


def area_by_brute_force(y_true, scores, seen):
    """Try every number taken off the seen classes; trapezoids between the points."""
    names, values = scores.columns.to_numpy(), scores.to_numpy()
    is_seen = np.isin(names, seen)
    leads = values[:, is_seen].max(axis=1) - values[:, ~is_seen].max(axis=1)
    points = []
    for g in [leads.min() - 1, *np.sort(leads)]:
        labels = names[(values - (g + 1e-9) * is_seen).argmax(axis=1)]
        sides = names[is_seen], names[~is_seen]
        points.append([mean_recall(y_true, labels, side) for side in sides])
    return sum((u1 - u0) * (s0 + s1) / 2 for (s0, u0), (s1, u1) in pairwise(points))


@pytest.mark.parametrize("seed", range(4))
def test_ausuc_is_the_area_under_all_trades(seed):
    rng = np.random.default_rng(seed)
    names, seen = list("abcdef"), list("abc")
    y = rng.choice(names, size=40)
    y[:2] = ["a", "f"]
    scores = pd.DataFrame(rng.normal(size=(40, 6)), columns=names)
    scores += 1.5 * (y[:, None] == np.array(names))
    found = generalized_scores(y, scores, seen=seen)["AUSUC"]
    close(found, area_by_brute_force(y, scores, seen), digits=10)
    assert 0 <= found <= 1
    shifted = scores + 5.0 * scores.columns.isin(seen)  # it is what all trades offer
    close(generalized_scores(y, shifted, seen=seen)["AUSUC"], found, digits=10)
    order = rng.permutation(6)
    turned, classes = scores.to_numpy()[:, order], scores.columns[order]
    again = generalized_scores(y, turned, seen=seen, classes=classes)
    close(again["AUSUC"], found, digits=10)


# ---- mixed rows, and stated probabilities, against plain loops ---------------------


@pytest.fixture
def mixed():
    rng = np.random.default_rng(0)
    names = np.array(["a", "b", "c", "d", "e"])
    truth = names[rng.integers(0, 5, size=80)]
    scores = rng.normal(size=(80, 5)) + 1.2 * (truth[:, None] == names)
    return names, truth, scores, names[:3]


def test_mixed_rows_are_scored_side_by_side(mixed):
    names, truth, scores, seen = mixed
    labels = names[scores.argmax(axis=1)]
    S, U = mean_recall(truth, labels, seen), mean_recall(truth, labels, names[3:])
    found = generalized_scores(truth, scores, seen=seen, classes=names)
    close([found["S"], found["U"]], [S, U])
    close(found["H"], 2 / (1 / S + 1 / U))
    nothing = generalized_scores(["a", "d"], np.eye(2), seen=["a"], classes=["d", "a"])
    assert nothing == {"U": 0, "S": 0, "H": 0, "AUSUC": 0}


def test_one_side_alone_has_no_harmonic_mean(mixed):
    names, truth, scores, seen = mixed
    own = np.isin(truth, seen)
    for kind, rows in (("unseen", own), ("seen", ~own)):
        with pytest.raises(ValueError, match=f"of a {kind} class"):
            generalized_scores(truth[rows], scores[rows], seen=seen, classes=names)


def test_the_calibration_error_is_the_gap_bin_by_bin():
    rng = np.random.default_rng(1)
    stated, right = rng.uniform(size=500), rng.uniform(size=500) < 0.6
    expected = 0.0
    for k in range(15):
        here = (stated >= k / 15) & ((stated < (k + 1) / 15) | (k == 14))
        if here.any():
            expected += here.mean() * abs(stated[here].mean() - right[here].mean())
    close(expected_calibration_error(right, stated), expected)
    assert reliability_curve(right, stated)["rows"].sum() == 500
    for wrong in (1.5, np.nan):
        with pytest.raises(ValueError, match="from 0 to 1"):
            expected_calibration_error([True, False], [0.2, wrong])


def test_risk_and_coverage_are_those_of_the_rows_kept():
    rng = np.random.default_rng(2)
    stated, right = rng.integers(0, 20, size=200) / 20, rng.uniform(size=200) < 0.5
    for row in risk_coverage(right, stated).itertuples():
        kept = stated >= row.reliability
        close(row.coverage, kept.mean())
        close(row.right, right[kept].mean())
