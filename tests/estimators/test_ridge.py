"""Ridge both ways: closed forms and refits against least squares."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close, make_data
from unseen import RidgeToSemantic, RidgeToVisual
from unseen.models.maps import solve_on_axes
from unseen.models.ridge import solve_to_visual
from unseen.rows.labelling import Selection
from unseen.rows.sums import sum_rows


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(4), [5, 7, 6, 4])
    X = rng.normal(size=(22, 5)) + rng.normal(size=(4, 5))[codes]
    return X - X.mean(axis=0), codes, rng.normal(size=(4, 3))


@pytest.mark.parametrize("lam", [1e-3, 0.5, 30.0])
def test_both_directions_are_least_squares_on_the_rows(small, lam):
    X, codes, A = small
    sums, rows = sum_rows(X, codes, 4), A[codes]

    def ridge(inputs, outputs):
        k = inputs.shape[1]
        stacked = np.vstack([inputs, lam**0.5 * np.eye(k)])
        target = np.vstack([outputs, np.zeros((k, outputs.shape[1]))])
        return np.linalg.lstsq(stacked, target, rcond=None)[0]

    close(solve_to_visual(sums, A, lam), ridge(rows, X).T, digits=10)
    W = solve_on_axes(sums.gram, sums.class_sums.T @ A, lam, diagonal=False)
    close(W, ridge(X, rows), digits=10)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_nearest_prototype_wins(metric):
    data = make_data()
    model = RidgeToVisual(metric=metric, n_axes="all")
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    X = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    X = X - model.mean_
    A = data.class_embeddings.loc[data.unseen].to_numpy()
    A = A / np.linalg.norm(A, axis=1, keepdims=True) - model.embedding_mean_
    Z = A @ model.coef_.T
    if metric == "euclidean":
        nearest = ((X[:, None] - Z) ** 2).sum(axis=2).argmin(axis=1)
    else:
        nearest = (X @ (Z / np.linalg.norm(Z, axis=1, keepdims=True)).T).argmax(axis=1)
    assert_array_equal(model.predict(data.X_unseen), data.unseen[nearest])


def test_all_axes_are_all_features():
    data = make_data()
    for kind in (RidgeToSemantic, RidgeToVisual):
        scores = [
            kind(0.3, n_axes=n_axes)
            .fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
            .decision_function(data.X, classes="all")
            for n_axes in ("all", 16)
        ]
        close(*scores, digits=10)


def test_a_large_ridge_leaves_the_direction_of_the_class_means():
    data = make_data()
    model = RidgeToSemantic(1e8, n_axes="all")
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    other = RidgeToVisual(1e8, n_axes="all")
    other.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    close(model.coef_, other.coef_, digits=5)


@pytest.mark.parametrize("lam, mu", [(0.3, 2.0), (5.0, 0.01)])
@pytest.mark.parametrize("model", [RidgeToSemantic(), RidgeToVisual()])
def test_the_refit_is_the_minimum_of_its_objective(model, lam, mu):
    data = make_data()
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    learner = model.learner(data.X_unseen, lam=lam, mu=mu)
    before, rows = model.coef_, np.arange(0, 42, 2)
    labels = np.random.default_rng(0).integers(3, size=len(rows))
    value = learner.refit(Selection.of(rows, labels, len(data.X_unseen), 3))
    B, Z = np.asarray(learner.B)[rows], learner.A[labels]
    if isinstance(model, RidgeToVisual):
        inputs, outputs, anchor, found = Z, B, before.T, learner.W.T
    else:
        inputs, outputs, anchor, found = B, Z, before, learner.P
    stacked = np.vstack([lam**0.5 * inputs, mu**0.5 * np.eye(inputs.shape[1])])
    target = np.vstack([lam**0.5 * outputs, mu**0.5 * anchor])
    W = np.linalg.lstsq(stacked, target, rcond=None)[0]
    close(found, W, digits=9)
    close(value, np.sum((stacked @ W - target) ** 2), digits=9)


def test_the_adapted_scorer_scores_the_pile_as_the_learner_did():
    data = make_data()
    model = RidgeToVisual()
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    learner = model.learner(data.X_unseen)
    rows = np.arange(30)
    learner.refit(Selection.of(rows, rows % 3, len(data.X_unseen), 3))
    model.take_over(learner)
    close(model.decision_function(data.X_unseen), learner.scores(), digits=10)
