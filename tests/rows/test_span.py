"""Wide rows: what is learned in their span is what XᵀX would have taught."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import unseen
from tests.checks import close
from unseen import ClasswiseFolds, ClasswiseSearchCV
from unseen.core.sums import span_of


def wide(n_features=700, per_class=20, dtype=np.float64, seed=0):
    """Rows of six seen and three unseen classes, fewer than they have features."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(9, 5)), index=list("abcdefghi"))
    means = table.to_numpy() @ rng.normal(size=(5, n_features)) / 2
    spread = 3 * (1 + np.arange(n_features)) ** -0.5
    noise = rng.normal(size=(9 * per_class, n_features)) * spread
    X = (np.repeat(means, per_class, axis=0) + noise + 0.3).astype(dtype)
    y = np.repeat(table.index.to_numpy(str), per_class)
    seen = y < "g"
    return X[seen], y[seen], X[~seen], table


@pytest.fixture
def narrow(monkeypatch):
    """Make the same call form XᵀX, as if nothing were wide."""

    def never(n_rows, n_features):
        return False

    def switch():
        monkeypatch.setattr(unseen.core.sums, "is_wide", never)

    return switch


MODELS = [
    unseen.AnchoredSelfTraining(n_axes=60),
    unseen.BiDiLEL(n_axes=60),
    unseen.DAP(n_axes=60),
    unseen.ESZSL(n_axes="all"),
    unseen.ESZSL(n_axes=60, whitening=0.1, unit_rows=False),
    unseen.IAP(n_axes=60),
    unseen.TSTD(n_axes=60, n_components=40),
]


def scores(model, X, y, pile, table):
    model.fit(X, y, class_embeddings=table)
    before = model.decision_function(pile)
    if hasattr(model, "adapt"):
        model.adapt(pile)
    return before, model.decision_function(pile)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_every_linear_model_answers_as_on_the_features(model, narrow):
    data = wide()
    found = scores(clone(model), *data)
    narrow()
    wanted = scores(clone(model), *data)
    # BiDiLEL's landmarks are where an iteration stops.
    digits = 4 if isinstance(model, unseen.BiDiLEL) else 8
    for ours, theirs in zip(found, wanted, strict=True):
        close(ours, theirs, digits)


def test_folds_of_wide_rows_share_one_span(narrow):
    X, y, _, table = wide()

    def search():
        folds = ClasswiseFolds(X, y, n_folds=3)
        grid = {"gamma": [0.1, 1.0, 10.0]}
        found = ClasswiseSearchCV(unseen.ESZSL(n_axes=40), grid)
        found.fit(folds, class_embeddings=table)
        return found.cv_results_["mean_test_score"], found.best_estimator_.coef_

    means, coef = search()
    narrow()
    wanted_means, wanted_coef = search()
    assert_array_equal(means, wanted_means)
    close(coef, wanted_coef, digits=9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_wide_rows_that_are_not_finite_are_refused(bad):
    X, y, _, table = wide()
    X[3, 7] = bad
    with pytest.raises(ValueError, match=r"X (contains|holds)"):
        unseen.ESZSL(unit_rows=False).fit(X, y, class_embeddings=table)


def test_thirty_rows_of_fifty_thousand_features_need_no_gram_of_them():
    import tracemalloc

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(8, 4)), index=list("abcdefgh"))
    X = rng.normal(size=(30, 50_000)).astype(np.float32)
    y = np.array(list("abcdef"))[np.arange(30) % 6]
    tracemalloc.start()
    for model in (unseen.AnchoredSelfTraining(), unseen.JEDM(n_axes=20)):
        model.fit(X, y, class_embeddings=table).predict(X[:3])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * X.nbytes  # 18.6 GiB is 3,000 times


def test_rows_that_rounding_can_hardly_tell_apart_take_the_careful_way():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 600)).astype(np.float32)
    X[6:] = X[:6] + np.float32(1e-4) * X[6:]
    span, coordinates = span_of(X)
    assert coordinates.shape[1] == 6
    close(coordinates @ span.lift(np.eye(6)).T, X, within=2e-3)
