"""Metrics equal their definitions and refuse what they cannot count."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, top_k_accuracy_score

from tests.checks import close
from unseen.trust.metrics import (
    ausuc,
    confusion,
    harmonic_mean,
    per_class_accuracy,
    top_k_accuracy,
)

NAMES = ["ant", "bee", "cow", "dog"]
pairs = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=30
)


@given(pairs)
def test_per_class_accuracy_is_the_mean_recall_in_the_confusion(labels):
    y_true, y_pred = zip(*labels, strict=True)
    counts = confusion(y_true, y_pred)
    present = counts.loc[counts.sum(axis=1) > 0]
    recalls = [present.loc[c, c] / present.loc[c].sum() for c in present.index]
    assert counts.to_numpy().sum() == len(labels)
    close(per_class_accuracy(y_true, y_pred), np.mean(recalls))


def test_agrees_with_sklearn_where_every_prediction_is_a_true_class():
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.integers(5, size=(2, 200))
    close(per_class_accuracy(y_true, y_pred), balanced_accuracy_score(y_true, y_pred))


def test_labels_may_be_object_arrays_and_series():
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


@given(st.floats(0, 1), st.floats(0, 1))
def test_harmonic_mean_lies_between_and_is_symmetric(a, b):
    mean = harmonic_mean(a, b)
    assert mean == harmonic_mean(b, a)
    assert min(a, b) - 1e-12 <= mean <= max(a, b) + 1e-12 or mean == 0


def test_confusion_in_a_given_order():
    counts = confusion(["b", "a"], ["a", "a"], classes=["b", "a", "c"])
    assert counts.index.tolist() == counts.columns.tolist() == ["b", "a", "c"]
    assert counts.loc["b", "a"] == 1
    assert counts.loc["c"].sum() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: per_class_accuracy(["a"], ["a", "b"]), "1 labels and y_pred 2"),
        (lambda: per_class_accuracy([], []), r"y_true has shape \(0,\)"),
        (lambda: per_class_accuracy([["a"]], ["a"]), r"y_true has shape \(1, 1\)"),
        (lambda: per_class_accuracy(["a"], [1]), "'a' and y_pred"),
        (lambda: per_class_accuracy([1.0, np.nan], [1, 2]), "missing value"),
        (lambda: per_class_accuracy(np.array(["a", 1], object), ["a", "b"]), "mixes"),
        (lambda: confusion(["a"], ["b"], classes=["a"]), "'b', which is not among"),
        (lambda: confusion(["a"], ["a"], classes=["a", "a"]), "names one twice"),
        (lambda: harmonic_mean(1.2, 0.5), "seen is 1.2"),
        (lambda: harmonic_mean(0.2, float("nan")), "unseen is nan"),
        (lambda: top_k_accuracy(["a"], [[1.0]], k=1), "without class names"),
        (lambda: top_k_accuracy(["a"], [[1.0]], k=2, classes=["a"]), "k is 2"),
        (lambda: top_k_accuracy(["a"], [[1.0]], k=0.5, classes=["a"]), "k is 0.5"),
        (lambda: top_k_accuracy(["c"], [[1.0, 2]], k=1, classes=["a", "b"]), "'c'"),
        (lambda: top_k_accuracy(["a"], [[1.0, 2]], k=1, classes=["a"]), r"\(1, 2\)"),
        (lambda: top_k_accuracy(["a"] * 2, [[1.0]], k=1, classes=["a"]), "2 labels"),
        (lambda: top_k_accuracy(["a"], [[1, 2]], k=1, classes=["a"] * 2), "Two col"),
        (lambda: top_k_accuracy(["a"], [[np.nan]], k=1, classes=["a"]), "NaN"),
    ],
)
def test_what_cannot_be_counted_is_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def area_by_brute_force(y_true, scores, seen):
    """Try every number taken off the seen classes; trapezoids between the points."""
    y_true, names = np.asarray(y_true), np.asarray(scores.columns)
    is_seen = np.isin(names, seen)
    values = scores.to_numpy()
    leads = values[:, is_seen].max(axis=1) - values[:, ~is_seen].max(axis=1)
    points = []
    for g in [leads.min() - 1, *np.sort(leads)]:
        off = values - (g + 1e-9) * is_seen
        hits = names[off.argmax(axis=1)] == y_true
        both = [
            np.mean([hits[y_true == c].mean() for c in np.unique(y_true) if kind(c)])
            for kind in (lambda c: c in seen, lambda c: c not in seen)
        ]
        points.append(both)
    area = 0.0
    for (s0, u0), (s1, u1) in itertools.pairwise(points):
        area += (u1 - u0) * (s0 + s1) / 2
    return area


@pytest.mark.parametrize("seed", range(8))
def test_ausuc_is_the_area_under_all_trades(seed):
    rng = np.random.default_rng(seed)
    names, seen = list("abcdef"), list("abc")
    y = rng.choice(names, size=40)
    y[:2] = ["a", "f"]
    scores = pd.DataFrame(rng.normal(size=(40, 6)), columns=names)
    scores += 1.5 * (y[:, None] == np.array(names))
    found = ausuc(y, scores, seen=seen)
    close(found, area_by_brute_force(y, scores, seen), digits=10)
    assert 0 <= found <= 1
    shifted = scores + 5.0 * scores.columns.isin(seen)  # it is what all trades offer
    close(ausuc(y, shifted, seen=seen), found, digits=10)
    order = rng.permutation(6)
    again = ausuc(
        y, scores.to_numpy()[:, order], seen=seen, classes=scores.columns[order]
    )
    close(again, found, digits=10)


def test_ausuc_needs_rows_of_both_kinds():
    scores = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]})
    with pytest.raises(ValueError, match="of a class that is unseen"):
        ausuc(["a", "a"], scores, seen=["a"])
    with pytest.raises(ValueError, match="of a class that is seen"):
        ausuc(["b", "b"], scores, seen=["a"])
