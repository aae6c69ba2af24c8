"""Calibrated: chosen without unseen labels, and what it says holds."""

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

from tests.checks import close, scrambled
from unseen import ESZSL, AnchoredSelfTraining, Calibrated, ZeroShotData
from unseen.trust.calibration import (
    Answer,
    best_temperature,
    conformal_levels,
    left_out_coverages,
    weigh,
)
from unseen.trust.metrics import (
    expected_calibration_error,
    generalized_scores,
)


def make_data(seed=0, n_classes=32, n_unseen=8, per_class=20, noise=1.0):
    """Many classes around a map of their embeddings, some of them unseen."""
    rng = np.random.default_rng(seed)
    names = np.array([f"class {i:02d}" for i in range(n_classes)])
    A = rng.uniform(size=(n_classes, 8))
    y = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    means = A @ rng.normal(size=(8, 14)) + 0.3 * rng.normal(size=(n_classes, 14))
    X = means[y] + noise * rng.normal(size=(len(y), 14)) + 1
    aside = (y < n_classes - n_unseen) & (rng.uniform(size=len(y)) < 0.25)
    return ZeroShotData(
        name="made up",
        X=X,
        y=names[y],
        class_embeddings=pd.DataFrame(A, index=names),
        unseen=names[n_classes - n_unseen :],
        seen_test=aside,
    )


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def model(data):
    return fit(Calibrated(AnchoredSelfTraining(), cv=3), data)


def fit(model, data):
    return model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)


def mixed(data):
    X = np.vstack([data.X_unseen, data.X_seen_test])
    return X, np.concatenate([data.y_unseen, data.y_seen_test])


# ---- the parts, by brute force -------------------------------------------------------


def drawn_by(P, rng):
    """Draw a class for every row by its probabilities."""
    return (P.cumsum(axis=1) > rng.uniform(size=(len(P), 1))).argmax(axis=1)


def test_conformal_sets_cover_on_made_rows():
    """Levels of one half of many classes hold for the other half."""
    rng = np.random.default_rng(3)
    P = softmax(rng.normal(size=(40_000, 10)), axis=1)
    truth = drawn_by(P, rng)
    half = len(P) // 2
    levels = conformal_levels([P[:half]] * 50, [truth[:half]] * 50)
    for coverage in (0.5, 0.8, 0.9):
        q = levels[round(coverage * 1000)]
        missed = 1 - P[half:][np.arange(half), truth[half:]]
        assert abs(np.mean(missed <= q) - coverage) < 0.02


def test_the_coverage_of_a_fold_is_by_what_the_others_say():
    rng = np.random.default_rng(9)
    piles = []
    for size in (1.0, 2.0, 4.0):
        truth = rng.integers(3, size=50)
        F = size * (rng.normal(size=(50, 3)) + np.eye(3)[truth])
        piles.append((Answer(F.argmax(axis=1), F, F), truth))
    expected = []
    for k, (answer, truth) in enumerate(piles):
        rest = [pile for j, pile in enumerate(piles) if j != k]
        T = np.sqrt(np.prod([best_temperature(a.F, codes) for a, codes in rest]))
        miss, weight = [], []
        for a, codes in rest:
            P = softmax(a.F / T, axis=1)
            miss += [1 - P[i, c] for i, c in enumerate(codes)]
            weight += [1 / np.sum(codes == c) for c in codes]
        order = np.argsort(miss)
        reach = np.cumsum(np.array(weight)[order]) / 7  # six classes, and one to come
        at = np.flatnonzero(reach >= 0.8 - 1e-12)
        q = miss[order[at[0]]]
        P = softmax(answer.F / T, axis=1)
        own = P[np.arange(50), truth]
        expected.append(np.mean((own >= 1 - q) | (own == P.max(axis=1))))
    close(left_out_coverages(piles, 0.8), expected)
    assert len(set(expected)) > 1


def test_weights_of_what_was_always_right_are_never_sure():
    always = weigh([np.arange(6.0).reshape(3, 2)], [np.ones(3, dtype=bool)])
    close(always.probability(np.zeros((2, 2))), 0.8)


# ---- the estimator -------------------------------------------------------------------


def test_no_unseen_label_reaches_anything(data, model):
    other = fit(Calibrated(AnchoredSelfTraining(), cv=3), scrambled(data))
    X, _ = mixed(data)
    first, second = (copy.copy(m).adapt(X, classes="all") for m in (model, other))
    assert_array_equal(first.labels_, second.labels_)
    assert_array_equal(first.reliability_, second.reliability_)
    assert_array_equal(first.novelty_, second.novelty_)


def test_the_handicap_lifts_mixed_rows(data, model):
    X, y = mixed(data)
    ours = copy.copy(model).adapt(X, classes="all")
    plain = fit(AnchoredSelfTraining(), data).adapt(X, classes="all")
    stacked, eszsl = fit(Calibrated(ESZSL(), cv=3), data), fit(ESZSL(), data)
    F, found = {}, {}
    for name, one in zip("opse", (ours, plain, stacked, eszsl), strict=True):
        F[name] = one.decision_function(X, classes="all")
        sides = {"seen": data.seen, "classes": data.classes}
        found[name] = generalized_scores(y, F[name], **sides)
    assert model.gamma_ > 0
    assert found["o"]["H"] > found["p"]["H"] and found["s"]["H"] > found["e"]["H"]
    assert_array_equal(ours.predict(X), ours.labels_)
    close(found["s"]["AUSUC"], found["e"]["AUSUC"])
    shifts, seen = F["e"] - F["s"], np.isin(data.classes, data.seen)
    close(shifts[:, ~seen], 0, digits=10)
    close(shifts[:, seen], shifts[0, seen][0])


def test_what_is_stated_is_right_about_as_often():
    """Over new sets of classes from the same source."""
    stated, right = [], []
    for seed in range(1, 7):
        fresh = make_data(seed)
        own = fit(Calibrated(AnchoredSelfTraining(), cv=3), fresh)
        own.adapt(fresh.X_unseen)
        stated.append(own.reliability_)
        right.append(own.labels_ == fresh.y_unseen)
    stated, right = np.concatenate(stated), np.concatenate(right)
    assert ((0 <= stated) & (stated <= 1)).all()
    assert expected_calibration_error(right, stated) < 0.08
    assert right[stated > np.median(stated)].mean() > right.mean()


def test_sets_hold_the_true_class_and_grow_with_coverage(data, model):
    ours = copy.copy(model).adapt(data.X_unseen)
    columns = pd.Index(ours.competing_classes_).get_indexer(data.y_unseen)
    sizes = []
    for coverage in (0.5, 0.9, 0.99):
        sets = ours.predict_set(data.X_unseen, coverage=coverage)
        sizes.append(sets.sum())
        assert (sets.sum(axis=1) >= 1).all()
    assert sizes == sorted(sizes)
    sets = ours.predict_set(data.X_unseen)
    assert sets[np.arange(len(sets)), columns].mean() > 0.8
    F = ours.decision_function(data.X_unseen) / ours.temperature_
    close(ours.predict_proba(data.X_unseen), softmax(F, axis=1))
    with pytest.raises(ValueError, match="coverage is 1"):
        ours.predict_set(data.X_unseen, coverage=1)


def test_more_false_alarms_are_a_lower_threshold(data):
    """Half of the rows on offer may be called novel, then a tenth, then hardly any."""
    found = [
        fit(Calibrated(ESZSL(), cv=3, false_alarms=share), data).novelty_threshold_
        for share in (0.5, 0.1, 0.001)
    ]
    assert 0 < found[0] < found[1] < found[2] <= 1


@pytest.mark.parametrize("n_candidates", [2, 3])
@pytest.mark.parametrize("base", [ESZSL(), AnchoredSelfTraining()])
def test_foreign_rows_are_more_novel_among_few_candidates_too(base, n_candidates, data):
    """Scores of two classes are as comparable with those of others as of three."""
    names = data.unseen[:n_candidates]
    own = np.isin(data.y_unseen, names)
    X = np.vstack([data.X_unseen[own], data.X_unseen[~own][:20], data.X_seen_test[:20]])
    model = fit(Calibrated(base, cv=3), data).adapt(X, classes=names)
    assert roc_auc_score(np.arange(len(X)) >= own.sum(), model.novelty_) > 0.9


def test_it_is_exported(data, model, tmp_path):
    X, _ = mixed(data)
    ours = copy.copy(model).adapt(X, classes="all")
    onnx = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    for one in (ours, fit(Calibrated(ESZSL(), cv=3), data)):
        path = one.to_onnx(tmp_path / "model.onnx", classes="all")
        session = onnx.InferenceSession(path)
        labels = session.run(["labels"], {"features": X.astype(np.float32)})[0]
        assert_array_equal(labels.astype(str), one.predict(X, classes="all"))


def test_it_says_what_it_needs(data):
    with pytest.raises(ValueError, match="without class_embeddings"):
        Calibrated(ESZSL()).fit(data.X_seen, data.y_seen)
    with pytest.raises(TypeError, match="all rows at once"):
        Calibrated(ESZSL()).fit(iter([data.X_seen]), None, class_embeddings=np.eye(3))
