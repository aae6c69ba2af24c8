"""Metrics equal their definitions and refuse what they cannot count."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from tests.checks import close
from unseen.trust.metrics import (
    expected_calibration_error,
    generalized_scores,
    per_class_accuracy,
    reliability_curve,
    risk_coverage,
)

NAMES = ["ant", "bee", "cow", "dog"]
pairs = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=30
)


@settings(max_examples=25, deadline=None)
@given(pairs)
def test_per_class_accuracy_is_the_mean_recall_over_true_classes(labels):
    y_true, y_pred = zip(*labels, strict=True)
    recalls = [
        np.mean([pred == c for true, pred in labels if true == c]) for c in {*y_true}
    ]
    close(per_class_accuracy(y_true, y_pred), np.mean(recalls))


def test_agrees_with_sklearn_where_every_prediction_is_a_true_class():
    y_true, y_pred = np.random.default_rng(0).integers(5, size=(2, 200))
    close(per_class_accuracy(y_true, y_pred), balanced_accuracy_score(y_true, y_pred))
    y_true = np.array(["a", "b"], dtype=object)
    assert per_class_accuracy(y_true, pd.Series(["a", "a"])) == 0.5


def mixed_scores(truth, scores, classes=("a", "b")):
    return generalized_scores(list(truth), scores, seen=["a"], classes=classes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: per_class_accuracy(["a"], ["a", "b"]), r"samples: \[1, 2\]"),
        (lambda: per_class_accuracy([], []), r"y_true has shape \(0,\)"),
        (lambda: per_class_accuracy([["a"]], ["a"]), r"y_true has shape \(1, 1\)"),
        (lambda: per_class_accuracy(["a"], [1]), "'a' and y_pred"),
        (lambda: per_class_accuracy([1.0, np.nan], [1, 2]), "missing value"),
        (lambda: mixed_scores("ab", np.eye(2), classes=None), "without class names"),
        (lambda: mixed_scores("cb", np.eye(2)), "'c'"),
        (lambda: mixed_scores("ab", np.eye(2), classes=["a"]), r"\(2, 2\)"),
        (lambda: mixed_scores("abb", np.eye(2)), r"\[3, 2\]"),
        (lambda: mixed_scores("ab", np.eye(2), classes=["a"] * 2), "Two col"),
        (lambda: mixed_scores("ab", np.full((2, 2), np.nan)), "NaN"),
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
    of_two = np.array([-1.0, 2.0])  # one column, of the second class
    assert mixed_scores("ab", of_two)["H"] == 1 > mixed_scores("ba", of_two)["H"]


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
