"""Self-training around any base, one from outside included."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from tests.checks import close, make_data
from unseen import CCA, ESZSL, JEDM, TSTD, ClasswiseSearchCV, SelfTraining
from unseen.class_table import encode
from unseen.competition import Competition
from unseen.rows.labelling import Labelling
from unseen.transduction.rounds import ROUNDING, self_train

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
def test_no_rounds_are_the_base(base):
    data = make_data()
    around = fitted(SelfTraining(base, rates=[]), data).adapt(data.X_unseen)
    assert_array_equal(around.labels_, fitted(base, data).adapt(data.X_unseen).labels_)


@pytest.mark.parametrize("base", BASES, ids=named)
def test_an_anchor_of_endless_weight_is_the_base(base):
    data = make_data()
    around = fitted(SelfTraining(base, mu=1e14), data).adapt(data.X_unseen)
    assert_array_equal(around.labels_, fitted(base, data).adapt(data.X_unseen).labels_)


@pytest.mark.parametrize("base", BASES, ids=named)
def test_it_learns_something_and_predicts_new_rows_so(base):
    data = make_data()
    around = fitted(SelfTraining(base, mu=0.1), data)
    before = around.predict(data.X_unseen)
    around.adapt(data.X_unseen)
    assert (around.labels_ != before).any()
    assert_array_equal(around.predict(data.X_unseen), around.labels_)
    assert_array_equal(around.competing_classes_, data.unseen)


@pytest.mark.parametrize("base", BASES, ids=named)
@pytest.mark.parametrize("n_rows", [1, 2])
def test_tiny_piles_give_no_nan(base, n_rows):
    data = make_data()
    around = fitted(SelfTraining(base, rounding="at_least_one"), data)
    around.adapt(data.X_unseen[:n_rows])
    assert np.isfinite(around.decision_function(data.X_unseen)).all()


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


class NearestMean(ClassifierMixin, BaseEstimator):
    """A base from outside: ridge from embedding to class mean, nearest prototype."""

    def fit(self, X, y, *, class_embeddings):
        self._table, codes = encode(y, class_embeddings)
        seen, A = self._table.seen, self._table.embeddings
        means = np.vstack([X[codes == c].mean(axis=0) for c in np.flatnonzero(seen)])
        left = A[seen].T @ A[seen] + 0.1 * np.eye(A.shape[1])
        self.map_ = np.linalg.solve(left, A[seen].T @ means)
        self.classes_ = self._table.names
        self.adapted_ = None
        return self

    def predict(self, X, *, classes=None):
        if self.adapted_ is None:
            self.adapted_ = NearestMeanLearner(self, X, classes, 1.0, 1.0)
        scores = self.adapted_.score(X)
        return self.adapted_.competition.names[scores.argmax(axis=1)]

    def learner(self, X, classes=None, *, lam, mu):
        return NearestMeanLearner(self, X, classes, lam, mu)

    def take_over(self, learner):
        self.adapted_ = learner


class NearestMeanLearner:
    def __init__(self, model, X, classes, lam, mu):
        self.X, self.mu = X, mu
        self.competition: Competition = model._table.competition(classes)
        self.means = self.competition.embeddings @ model.map_

    def score(self, X):
        return X @ self.means.T - (self.means**2).sum(axis=1) / 2

    def labelling(self, ranking):
        return Labelling.of(self.score(self.X), ranking)

    def refit(self, selection):
        Y = np.eye(len(self.means))[selection.labels]
        sums = Y.T @ self.X[selection.rows] + self.mu * self.means
        self.means = sums / (Y.sum(axis=0) + self.mu)[:, None]
        return 0.0


def test_a_base_from_outside_takes_part():
    data = make_data()
    model = fitted(SelfTraining(NearestMean(), mu=2.0), data)
    model.adapt(data.X_unseen)
    assert len(model.rounds_) == 4
    assert_array_equal(model.predict(data.X_unseen), model.labels_)
    assert not hasattr(model, "decision_function")


def test_a_base_that_cannot_take_part_is_named():
    from sklearn.linear_model import LogisticRegression

    data = make_data()
    with pytest.raises(TypeError, match="which LogisticRegression lacks"):
        SelfTraining(LogisticRegression()).fit(data.X_seen, data.y_seen)


@pytest.mark.parametrize("tol, n_rounds", [(None, 3), (0.2, 3), (0.25, 2), (0.0, 3)])
def test_rounds_end_when_no_larger_share_of_labels_changes_than_stated(tol, n_rounds):
    """All four rows are kept from the second round on, in which one label changes."""
    answers = iter([[0, 0, 1, 1], [0, 1, 1, 0], [0, 1, 1, 1], [0, 1, 0, 1]])

    class Scripted:
        competition = Competition(np.array(["a", "b"]), np.eye(2))

        def labelling(self, ranking):
            return Labelling.of(np.eye(2)[next(answers)], ranking)

        def refit(self, selection):
            return 0.0

    rates = [0.5, 1.0, 1.0]
    rounds = self_train(Scripted(), rates, how_many=ROUNDING["at_least_one"], tol=tol)
    assert len(rounds) == n_rounds
    assert [one.n_changed for one in rounds] == [2, 1, 1][:n_rounds]
