"""Self-training around any base, one from outside included."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from tests.checks import close, make_data
from unseen import CCA, ESZSL, JEDM, TSTD, ClasswiseSearchCV, SelfTraining
from unseen.core.classes import Candidates
from unseen.core.on_axes import View
from unseen.core.outcome import LinearScorer
from unseen.core.rows import Unlabelled
from unseen.transduction.rounds import self_train

BASES = [CCA(), ESZSL(), JEDM(n_components=8)]


def named(model):
    return type(model).__name__


def fitted(model, data):
    return clone(model).fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )


def test_tstd_is_self_training_around_jedm():
    data = make_data()
    tstd = fitted(TSTD(n_components=8, lam=3.0, mu=2.0), data).adapt(data.X_unseen)
    around = SelfTraining(JEDM(n_components=8), lam=3.0, mu=2.0, rounding="floor")
    around = fitted(around, data).adapt(data.X_unseen)
    assert_array_equal(tstd.labels_, around.labels_)
    assert_array_equal(tstd.reliability_, around.reliability_)
    for ours, theirs in zip(tstd.rounds_, around.rounds_, strict=True):
        assert ours.objective == theirs.objective
        assert_array_equal(ours.selected, theirs.selected)


@pytest.mark.parametrize("base", BASES, ids=named)
def test_no_rounds_are_the_base_and_rounds_learn_what_new_rows_get(base):
    data = make_data()
    around = fitted(SelfTraining(base, mu=0.1), data)
    before = around.predict(data.X_unseen)
    none = clone(around).set_params(rates=[])
    none = fitted(none, data).adapt(data.X_unseen)
    assert_array_equal(none.labels_, fitted(base, data).adapt(data.X_unseen).labels_)
    around.adapt(data.X_unseen)
    assert (around.labels_ != before).any()
    assert_array_equal(around.predict(data.X_unseen), around.labels_)
    assert_array_equal(around.competing_classes_, data.unseen)


def test_a_search_through_the_wrapper_shares_its_sums():
    data = make_data()
    grid = {"estimator__gamma": [0.1, 10.0], "mu": [0.1, 10.0]}
    model = SelfTraining(ESZSL())
    search = ClasswiseSearchCV(model, grid, n_folds=3)
    search.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    held = np.isin(data.y_seen, search.folds_[1])
    table = data.class_embeddings.drop(index=data.unseen)
    for i, params in enumerate(search.cv_results_["params"]):
        by_hand = clone(model).set_params(**params)
        by_hand.fit(data.X_seen[~held], data.y_seen[~held], class_embeddings=table)
        labels = by_hand.adapt(data.X_seen[held]).labels_
        truth = data.y_seen[held]
        accuracy = np.mean([(labels[truth == c] == c).mean() for c in np.unique(truth)])
        close(search.cv_results_["split1_test_score"][i], accuracy)


def test_a_base_that_cannot_take_part_is_named():
    from sklearn.linear_model import LogisticRegression

    data = make_data()
    with pytest.raises(TypeError, match="inherits from ZeroShotClassifier"):
        SelfTraining(LogisticRegression()).fit(data.X_seen, data.y_seen)


@pytest.mark.parametrize("tol, n_rounds", [(None, 3), (0.2, 3), (0.25, 2), (0.0, 3)])
def test_rounds_end_when_no_larger_share_of_labels_changes_than_stated(tol, n_rounds):
    """All four rows are kept from the second round on, in which one label changes."""
    answers = [[0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 1, 1], [0, 1, 0, 1]]

    class Scripted(ESZSL):
        def _state(self):
            return 0

        def _view(self, unlabelled, candidates):
            B, mean = unlabelled.on(np.eye(4), False, np.zeros(4))
            return View(B, np.eye(2), mean)

        def _score(self, state, A):  # of rows of the identity: what comes is scripted
            return LinearScorer(np.eye(2)[answers[state]].T, np.zeros(2))

        def _refit(self, state, A, sums, lam, mu):
            return state + 1, 0.0

    candidates = Candidates(np.array(["a", "b"]), np.eye(2))
    model = Scripted()
    model.axes_ = np.eye(4)
    how = {"rates": [0.5, 1.0, 1.0], "rounding": "at_least_one", "tol": tol}
    rows = Unlabelled(np.eye(4))
    rounds = self_train(model, rows, candidates, None, 1.0, 1.0, **how).rounds
    assert len(rounds) == n_rounds
    assert [one.n_changed for one in rounds] == [2, 1, 1][:n_rounds]


def test_a_second_fit_sums_rows_as_the_estimator_scales_them_now():
    data = make_data()
    fit = data.X_seen * 3, data.y_seen
    model = SelfTraining(ESZSL()).fit(*fit, class_embeddings=data.class_embeddings)
    model.set_params(estimator__unit_rows=False)
    model.fit(*fit, class_embeddings=data.class_embeddings)
    fresh = SelfTraining(ESZSL(unit_rows=False))
    fresh.fit(*fit, class_embeddings=data.class_embeddings)
    close(
        model.decision_function(data.X_unseen), fresh.decision_function(data.X_unseen)
    )
