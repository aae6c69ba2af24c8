"""Ridge both ways: closed forms and refits against least squares."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close, make_data, refitted
from unseen import RidgeToSemantic, RidgeToVisual
from unseen.core.linalg import solve_on_axes
from unseen.core.sums import sum_rows
from unseen.models.ridge import solve_to_visual


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


@pytest.mark.parametrize("lam, mu", [(0.3, 2.0), (5.0, 0.01)])
@pytest.mark.parametrize("model", [RidgeToSemantic(), RidgeToVisual()])
def test_the_refit_is_the_minimum_of_its_objective(model, lam, mu):
    data = make_data()
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    labels = np.random.default_rng(0).integers(3, size=len(data.X_unseen))
    labels[1::2] = -1  # not kept
    kept = labels >= 0
    before = model.coef_
    B, Z, found, value = refitted(model, data.X_unseen, labels, 3, lam=lam, mu=mu)
    inputs, outputs, anchor = B[kept], Z[labels[kept]], before
    if isinstance(model, RidgeToVisual):
        inputs, outputs, anchor, found = outputs, inputs, before.T, found.T
    stacked = np.vstack([lam**0.5 * inputs, mu**0.5 * np.eye(inputs.shape[1])])
    target = np.vstack([lam**0.5 * outputs, mu**0.5 * anchor])
    W = np.linalg.lstsq(stacked, target, rcond=None)[0]
    close(found, W, digits=9)
    close(value, np.sum((stacked @ W - target) ** 2), digits=9)
