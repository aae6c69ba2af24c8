"""SAE: its Sylvester equation, its limits and both directions."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import linalg

from tests.checks import close, make_data
from tests.oracles import minimise
from unseen import SAE
from unseen.core.sums import sum_rows
from unseen.models.sae import solve_sae


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(5), [5, 7, 6, 4, 8])
    X = rng.normal(size=(30, 4)) + rng.normal(size=(5, 4))[codes]
    return X - X.mean(axis=0), codes, rng.normal(size=(5, 3))


@pytest.mark.parametrize("lam", [0.05, 1.0, 40.0])
def test_it_solves_the_sylvester_equation_and_the_objective(small, lam):
    X, codes, A = small
    rows = A[codes]
    W = solve_sae(sum_rows(X, codes, 5), A, lam, diagonal=False)
    sylvester = linalg.solve_sylvester(
        lam * X.T @ X, rows.T @ rows, (1 + lam) * X.T @ rows
    )
    close(W, sylvester, digits=10)

    def objective(W):
        return np.sum((X - rows @ W.T) ** 2) + lam * np.sum((X @ W - rows) ** 2)

    found = minimise(objective, np.zeros((4, 3)), gtol=1e-6)
    close(W, found, digits=5)


def test_more_dimensions_than_classes_leave_nothing_to_divide_by_zero():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(3), 4)
    X = rng.normal(size=(12, 20))  # and more features than rows
    A = rng.normal(size=(3, 9))
    A -= A.mean(axis=0)
    W = solve_sae(sum_rows(X - X.mean(axis=0), codes, 3), A, 1.0, diagonal=False)
    assert np.isfinite(W).all()


@pytest.mark.parametrize("direction", ["to_visual", "to_semantic"])
def test_the_largest_cosine_wins(direction):
    data = make_data()
    model = SAE(direction=direction)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    X = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    X = (X - model.mean_) @ model.axes_
    A = data.class_embeddings.loc[data.unseen].to_numpy()
    A = A / np.linalg.norm(A, axis=1, keepdims=True) - model.embedding_mean_
    x, a = (X, A @ model.coef_.T) if direction == "to_visual" else (X @ model.coef_, A)
    cosine = x @ (a / np.linalg.norm(a, axis=1, keepdims=True)).T
    expected = data.unseen[cosine.argmax(axis=1)]
    assert_array_equal(model.predict(data.X_unseen), expected)
