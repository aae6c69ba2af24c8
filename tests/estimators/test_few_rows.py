"""Few rows and many calls: the same answers and errors as the long way, but soon."""

import copy
import gc
import pickle
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen import (
    ESZSL,
    IAP,
    JEDM,
    SAE,
    TSTD,
    AnchoredSelfTraining,
    ConSE,
    GuidedMixture,
    ZLaP,
)
from unseen.models import few_rows


def made_up(dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.uniform(size=(12, 8))
    y = rng.integers(9, size=300)
    X = rng.normal(size=(300, 20)) + (A @ rng.normal(size=(8, 20)))[y]
    return X.astype(dtype), y, A


def the_long_way(model, X, ask="predict"):
    """Ask for many rows at once, which are never few, and return the first."""
    many = np.concatenate([X, np.ones((few_rows.FEW, X.shape[1]), X.dtype)])
    return getattr(model, ask)(many)[: len(X)]


MODELS = [
    JEDM(n_axes=10),
    TSTD(n_axes=10),
    ESZSL(),
    SAE(),
    ConSE(),
    IAP(),
    AnchoredSelfTraining(n_axes=10),
    GuidedMixture(),
    ZLaP(JEDM(n_axes=10)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_one_row_is_answered_as_among_many(model, dtype):
    X, y, A = made_up(dtype)
    model = copy.deepcopy(model).fit(X, y, class_embeddings=A)
    digits = 3 if dtype is np.float32 else 9
    for stage in ("fitted", "adapted"):
        if stage == "adapted":
            if not hasattr(model, "adapt"):
                return
            model.adapt(X[:80])
        for _ in range(2):  # once made, once kept
            alone = [model.predict(X[i : i + 1])[0] for i in range(30)]
            assert_array_equal(alone, the_long_way(model, X[:30]))
            scores = model.decision_function(X[:30])
            long = the_long_way(model, X[:30], "decision_function")
            assert scores.dtype == long.dtype
            close(scores, long, digits)


def changed_by_fit(model, A):
    X, y, _ = made_up(seed=5)
    return model.fit(X, y, class_embeddings=A)


def changed_by_parameter(model, A):
    return model.set_params(unit_rows=False)


def changed_by_attribute(model, A):
    model.mean_ = model.mean_ + 1
    return model


def changed_by_adapt(model, A):
    return model.adapt(made_up(seed=6)[0][:90])


@pytest.mark.parametrize(
    "change",
    [changed_by_fit, changed_by_parameter, changed_by_attribute, changed_by_adapt],
)
def test_whatever_changes_a_model_changes_its_answer_for_one_row(change):
    X, y, A = made_up()
    model = JEDM(n_axes=10).fit(X, y, class_embeddings=A)
    before = model.decision_function(X[:5])
    change(model, A)
    after = model.decision_function(X[:5])
    long = the_long_way(model, X[:5], "decision_function")
    close(after, long, digits=4)
    assert np.abs(after - before).max() > 1e-2 * np.abs(before).max()


def test_asking_for_other_classes_leaves_the_usual_ones_as_they_are():
    X, y, A = made_up()
    model = ESZSL().fit(X, y, class_embeddings=A)
    usual = model.predict(X[:9])
    assert set(model.predict(X[:9], classes="seen")) <= set(range(9))
    assert_array_equal(model.predict(X[:9]), usual)
    assert set(usual) <= {9, 10, 11}


@pytest.mark.parametrize(
    "bad, kind, words",
    [
        (np.ones((1, 19)), ValueError, "19 features"),
        (np.ones(20), ValueError, "Expected 2D array"),
        (np.ones((0, 20)), ValueError, "0 sample"),
        (np.ones((1, 20), dtype=complex), ValueError, "Complex"),
        (np.full((1, 20), np.nan), ValueError, "NaN"),
        (np.full((1, 20), np.inf), ValueError, "infinity"),
        (np.ma.masked_array(np.ones((1, 20)), mask=True), ValueError, "masked"),
    ],
    ids=["narrow", "flat", "none", "complex", "nan", "infinite", "masked"],
)
def test_bad_rows_are_refused_as_ever_also_when_the_rule_is_kept(bad, kind, words):
    X, y, A = made_up()
    model = ESZSL().fit(X, y, class_embeddings=A)
    for _ in range(2):
        with pytest.raises(kind, match=words):
            model.predict(bad)
        model.predict(X[:1])


def test_a_model_that_is_not_fitted_says_so():
    with pytest.raises(ValueError, match="not fitted"):
        ESZSL().predict(np.ones((1, 3)))


def test_rows_without_names_are_warned_of_where_the_fit_had_names():
    X, y, A = made_up()
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(20)])
    model = ESZSL().fit(frame, y, class_embeddings=A)
    for _ in range(2):
        with pytest.warns(UserWarning, match="feature names"):
            model.predict(X[:1])


def test_rules_are_kept_outside_of_the_model_and_only_as_long_as_it():
    X, y, A = made_up()
    model = ESZSL().fit(X, y, class_embeddings=A)
    stored = pickle.dumps(model)
    model.predict(X[:1])
    assert pickle.dumps(model) == stored
    gc.collect()
    n_kept = len(few_rows._KEPT)
    del model
    gc.collect()
    assert len(few_rows._KEPT) == n_kept - 1


def test_one_row_takes_little_more_than_the_product():
    X, y, A = made_up()
    model = JEDM(n_axes=10).fit(X, y, class_embeddings=A)
    row, W = X[:1], np.asfortranarray(X[:3].T)

    def soonest(work):
        """Return the CPU time of one call, the best of many tries."""
        times = []
        for _ in range(30):
            start = time.process_time()
            for _ in range(20):
                work()
            times.append((time.process_time() - start) / 20)
        return min(times)

    over = soonest(lambda: model.predict(row)) - soonest(lambda: row @ W)
    assert over < 200e-6  # 40 where measured; the long way takes 400 and more
