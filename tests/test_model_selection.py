"""Class-wise search: equal to doing it by hand, and blind to the unseen."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid

from tests.checks import close
from unseen import (
    JEDM,
    TSTD,
    AnchoredSelfTraining,
    ClasswiseFolds,
    ClasswiseSearchCV,
    DeViSE,
    per_class_accuracy,
)
from unseen.models.jedm import READINGS
from unseen.trust.search import PAPER_GRID, deal_classes


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    names = np.array([f"class {i}" for i in range(14)])
    A = rng.uniform(size=(14, 6))
    y = np.repeat(np.arange(14), 8)
    X = (A @ rng.normal(size=(6, 12)))[y] + 0.6 * rng.normal(size=(len(y), 12)) + 1
    seen = y < 11
    return X[seen], names[y[seen]], pd.DataFrame(A, index=names), X[~seen]


def by_hand(estimator, fold, X, y, table, transductive):
    """Hold out a fold's classes the long way: rows are cut, nothing is shared."""
    held = np.isin(y, fold)
    seen_table = table.loc[np.unique(y)]
    model = clone(estimator).fit(X[~held], y[~held], class_embeddings=seen_table)
    answer = model.adapt(X[held]).labels_ if transductive else model.predict(X[held])
    return per_class_accuracy(y[held], answer)


@pytest.mark.parametrize(
    ("model", "transductive"),
    [(JEDM(n_components=6), False), (TSTD(n_components=6), True)],
)
def test_scores_from_shared_sums_equal_those_by_hand(problem, model, transductive):
    X, y, table, _ = problem
    grid = {"alpha": [0.1, 10.0], "reading": ["reference", "paper"]}
    search = ClasswiseSearchCV(model, grid, n_folds=3, transductive=transductive)
    search.fit(X, y, class_embeddings=table)
    for i, params in enumerate(search.cv_results_["params"]):
        for k, fold in enumerate(search.folds_):
            candidate = clone(model).set_params(**params)
            expected = by_hand(candidate, fold, X, y, table, transductive)
            assert search.cv_results_[f"split{k}_test_score"][i] == expected


def test_the_winner_is_fitted_on_all_seen_classes(problem):
    X, y, table, pile = problem
    search = ClasswiseSearchCV(TSTD(n_components=6), {"lam": [0.1, 10.0]}, n_folds=3)
    search.fit(X, y, class_embeddings=table)
    direct = TSTD(n_components=6, **search.best_params_)
    direct.fit(X, y, class_embeddings=table)
    close(search.decision_function(pile), direct.decision_function(pile), digits=8)
    assert_array_equal(search.predict(pile), direct.predict(pile))
    search.adapt(pile)
    assert_array_equal(search.best_estimator_.labels_, direct.adapt(pile).labels_)
    assert_array_equal(search.best_estimator_.competing_classes_, table.index[11:])


def test_a_list_of_grids_is_searched_as_one(problem):
    X, y, table, _ = problem
    grids = [{"alpha": [0.1, 10.0]}, {"alpha": [1.0], "lam": [0.1, 1.0, 10.0]}]

    def searched(grid):
        search = ClasswiseSearchCV(TSTD(n_components=6), grid, n_folds=3)
        return search.fit(X, y, class_embeddings=table)

    whole, parts = searched(grids), [searched(grid) for grid in grids]
    assert whole.cv_results_["params"] == list(ParameterGrid(grids))
    scores = [part.cv_results_["mean_test_score"] for part in parts]
    close(whole.cv_results_["mean_test_score"], np.concatenate(scores))
    splits = [whole.cv_results_[f"split{k}_test_score"] for k in range(3)]
    close(whole.cv_results_["std_test_score"], np.std(splits, axis=0))
    means = whole.cv_results_["mean_test_score"]
    better = [sum(other > mean for other in means) for mean in means]
    assert_array_equal(whole.cv_results_["rank_test_score"], np.add(better, 1))
    assert whole.best_score_ == max(part.best_score_ for part in parts)
    assert whole.best_params_ == whole.cv_results_["params"][whole.best_index_]


def test_an_unseen_class_takes_no_part(problem):
    X, y, table, _ = problem
    other = table.copy()
    other.iloc[11:] = np.random.default_rng(9).normal(size=(3, 6)) * 50
    results = [
        ClasswiseSearchCV(TSTD(n_components=6), {"mu": [0.1, 10.0]}, n_folds=2)
        .fit(X, y, class_embeddings=t)
        .cv_results_["mean_test_score"]
        for t in (table, other, table.iloc[:11])
    ]
    assert_array_equal(results[0], results[1])
    assert_array_equal(results[0], results[2])


def test_folds_are_even_disjoint_and_drawn_by_the_seed():
    folds = deal_classes(11, 5, 0)
    assert sorted(len(f) for f in folds) == [2, 2, 2, 2, 3]
    assert_array_equal(np.sort(np.concatenate(folds)), np.arange(11))
    assert_array_equal(deal_classes(11, 5, 0)[0], folds[0])
    assert not np.array_equal(deal_classes(11, 5, 1)[0], folds[0])


def test_what_cannot_be_searched_is_refused(problem):
    X, y, table, _ = problem
    search = ClasswiseSearchCV(LogisticRegression(), {"C": [0.1, 10.0]}, n_folds=3)
    with pytest.raises(TypeError, match="not a zero-shot model of unseen"):
        search.fit(X, y, class_embeddings=table)
    with pytest.raises(ValueError, match=r"n_folds=6 needs 12 seen classes.* 11"):
        ClasswiseSearchCV(JEDM(), {"alpha": [1.0]}, n_folds=6).fit(
            X, y, class_embeddings=table
        )


def test_searches_that_share_folds_find_what_they_find_alone(problem):
    X, y, table, pile = problem
    folds = ClasswiseFolds(X, y, n_folds=3)
    shuffled = table.sample(frac=1, random_state=0)
    for given, model in (
        (table, JEDM(n_components=6)),
        ({"a": shuffled, "b": shuffled}, TSTD(n_components=6, whitening=0.1)),
    ):
        alone, together = (
            ClasswiseSearchCV(model, {"alpha": [0.1, 10.0]}, n_folds=3) for _ in "ab"
        )
        alone.fit(X, y, class_embeddings=given)
        together.fit(folds, class_embeddings=given)
        assert_array_equal(
            alone.cv_results_["mean_test_score"],
            together.cv_results_["mean_test_score"],
        )
        assert_array_equal(alone.predict(pile), together.predict(pile))


@pytest.mark.parametrize(("name", "n_grids"), [("reference", 2), ("paper", 1)])
def test_weights_that_are_fitted_together_score_as_one_by_one(
    problem, name, n_grids, monkeypatch
):
    X, y, table, _ = problem
    grid = {"alpha": [0.01, 0.1, 1.0, 10.0], "beta": [0.01, 1.0, 100.0]}
    grid = [grid, {"alpha": [0.1, 1.0], "beta": [0.0], "unit_rows": [False]}][:n_grids]
    reading = READINGS[name]._replace(max_iter=5, tol=0.0)
    model = JEDM(reading, n_components=8)

    def search():
        found = ClasswiseSearchCV(model, grid, n_folds=2, transductive=False)
        return found.fit(X, y, class_embeddings=table)

    together = search()
    monkeypatch.setattr(JEDM, "_weights", frozenset())
    alone = search()
    for fold in ("split0_test_score", "split1_test_score"):
        assert_array_equal(together.cv_results_[fold], alone.cv_results_[fold])
    ours, theirs = together.best_estimator_, alone.best_estimator_
    assert_array_equal(ours.components_, theirs.components_)


@pytest.mark.parametrize(
    ("model", "grid", "adapts"),
    [
        (TSTD(n_components=6), {"alpha": PAPER_GRID, "lam": PAPER_GRID}, True),
        (AnchoredSelfTraining(), {"kappa": [1.0, 9.0], "n_axes": [3, 5, 8]}, True),
        (JEDM(), {"unit_rows": [True, False], "n_axes": [3, 5]}, False),
        (TSTD(random_state=np.random.RandomState(0)), {"mu": [0.1, 1, 9]}, True),
        (DeViSE(), {"learning_rate": [0.01, 1.0]}, False),
    ],
    ids=["paper", "axes", "two kinds of sums", "one source of numbers", "rows"],
)
def test_a_search_finds_the_same_on_any_number_of_threads(
    problem, monkeypatch, model, grid, adapts
):
    X, y, table, _ = problem
    made, at_once = [], []

    def scoring(y_true, found):  # what the user wrote is never run by two threads
        assert not at_once, "somebody else is scoring"
        at_once.append(True)
        score = np.mean(y_true == found) + 1e-6 * np.mean(found == found[0])
        at_once.clear()
        return score

    for n in (1, 3):
        monkeypatch.setattr("unseen.trust.search.n_threads", lambda n=n: n)
        search = ClasswiseSearchCV(clone(model), grid, n_folds=2, transductive=adapts)
        search.set_params(scoring=scoring).fit(X, y, class_embeddings=table)
        made.append(search.cv_results_)
    assert made[0]["params"] == made[1]["params"]
    for name in ("split0_test_score", "split1_test_score"):
        assert_array_equal(made[0][name], made[1][name])
    assert len(np.unique(made[0]["mean_test_score"])) > 1, "there is a choice"
