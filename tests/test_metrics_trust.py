"""Mixed piles and stated probabilities, against plain loops."""

import numpy as np
import pytest

from tests.checks import close
from unseen.trust.metrics import (
    ausuc,
    expected_calibration_error,
    generalized_scores,
    reliability_curve,
    risk_coverage,
    told_side_scores,
)


@pytest.fixture
def pile():
    rng = np.random.default_rng(0)
    names = np.array(["a", "b", "c", "d", "e"])
    truth = names[rng.integers(0, 5, size=80)]
    scores = rng.normal(size=(80, 5)) + 1.2 * (truth[:, None] == names)
    return names, truth, scores, names[:3]


def mean_recall(truth, labels, classes):
    return np.mean([np.mean(labels[truth == c] == c) for c in classes])


def test_both_sides_are_scored_with_all_classes_competing(pile):
    names, truth, scores, seen = pile
    labels = names[scores.argmax(axis=1)]
    S, U = mean_recall(truth, labels, seen), mean_recall(truth, labels, names[3:])
    found = generalized_scores(truth, scores, seen=seen, classes=names)
    close([found["S"], found["U"]], [S, U])
    close(found["H"], 2 / (1 / S + 1 / U))
    assert found["AUSUC"] == ausuc(truth, scores, seen=seen, classes=names)


def test_a_told_side_is_scored_among_its_own_classes(pile):
    names, truth, scores, seen = pile
    among_seen = names[:3][scores[:, :3].argmax(axis=1)]
    among_unseen = names[3:][scores[:, 3:].argmax(axis=1)]
    found = told_side_scores(truth, scores, seen=seen, classes=names)
    close(found["told_S"], mean_recall(truth, among_seen, seen))
    close(found["told_U"], mean_recall(truth, among_unseen, names[3:]))
    assert (
        found["told_H"]
        >= generalized_scores(truth, scores, seen=seen, classes=names)["H"]
    )


def test_one_side_alone_has_no_harmonic_mean(pile):
    names, truth, scores, seen = pile
    own = np.isin(truth, seen)
    for score in (generalized_scores, told_side_scores):
        with pytest.raises(ValueError, match="unseen"):
            score(truth[own], scores[own], seen=seen, classes=names)
    with pytest.raises(ValueError, match="one side"):
        told_side_scores(truth, scores, seen=names, classes=names)


def test_the_calibration_error_is_the_gap_bin_by_bin():
    rng = np.random.default_rng(1)
    stated, right = rng.uniform(size=500), rng.uniform(size=500) < 0.6
    expected = 0.0
    for k in range(15):
        here = (stated >= k / 15) & ((stated < (k + 1) / 15) | (k == 14))
        if here.any():
            expected += here.mean() * abs(stated[here].mean() - right[here].mean())
    close(expected_calibration_error(right, stated), expected)
    curve = reliability_curve(right, stated)
    assert curve["rows"].sum() == 500


def test_risk_and_coverage_are_those_of_the_rows_kept():
    rng = np.random.default_rng(2)
    stated, right = rng.integers(0, 20, size=200) / 20, rng.uniform(size=200) < 0.5
    for row in risk_coverage(right, stated).itertuples():
        kept = stated >= row.reliability
        close(row.coverage, kept.mean())
        close(row.right, right[kept].mean())


@pytest.mark.parametrize("stated", [[0.2, 1.5], [0.1, np.nan]])
def test_what_is_no_probability_is_refused(stated):
    with pytest.raises(ValueError, match="from 0 to 1"):
        expected_calibration_error([True, False], stated)
