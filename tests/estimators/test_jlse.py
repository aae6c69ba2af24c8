"""JLSE: every turn against its own problem as written, solved some other way."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.checks import close, make_data, never_rises
from unseen import JLSE
from unseen.models.jlse import (
    renew_atoms,
    squared_hinge,
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(12, 4)), rng.normal(size=(3, 4))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    V, y = rng.normal(size=(3, 5)), rng.integers(5, size=12)
    return X, D, V, np.where(np.arange(5) == y[:, None], 1.0, -1.0)


def test_codes_of_rows_are_the_minimum_of_their_problem(rows):
    X, D, V, signs = rows
    model = JLSE(code_ridge=0.2, reconstruction=0.7, tol=1e-9)
    Z = X @ model._encoder(D)
    for _ in range(30):
        Z = model._row_codes(X, Z, D, V, signs)
    for x, sign, code in zip(X, signs, Z, strict=True):

        def cost(z, x=x, sign=sign):
            apart = 0.2 / 2 * z @ z + 0.7 / 2 * np.sum((x - z @ D) ** 2)
            return apart + np.mean(np.maximum(1 - sign * (z @ V), 0) ** 2)

        found = minimize(cost, np.zeros(3), options={"gtol": 1e-10})
        close(code, found.x, digits=5)


def test_the_objective_is_the_one_at_the_head(rows):
    X, D, W, signs = rows
    rng = np.random.default_rng(1)
    Z, U = rng.normal(size=(12, 3)), rng.normal(size=(5, 5))
    codes = signs.argmax(axis=1)
    model = JLSE(code_ridge=0.2, reconstruction=0.7, lam=0.3)
    found = model._objective(squared_hinge(codes, 5), X, Z, D, W, U)
    wanted = 0.3 / 2 * np.sum(W**2)
    for x, z, sign in zip(X, Z, signs, strict=True):
        wanted += (0.2 / 2 * z @ z + 0.7 / 2 * np.sum((x - z @ D) ** 2)) / 12
        for c in range(5):
            wanted += max(0, 1 - sign[c] * (z @ W @ U[c])) ** 2 / (12 * 5)
    close(found, wanted)


def test_the_code_of_a_row_without_label_is_a_ridge_regression_on_the_atoms(rows):
    X, D, *_ = rows
    E = JLSE(code_ridge=0.2, reconstruction=0.7)._encoder(D)
    stacked = np.vstack([np.sqrt(0.7) * D.T, np.sqrt(0.2) * np.eye(3)])
    for x, code in zip(X, X @ E, strict=True):
        wanted = np.concatenate([np.sqrt(0.7) * x, np.zeros(3)])
        close(code, np.linalg.lstsq(stacked, wanted, rcond=None)[0])


def test_atoms_end_at_the_best_of_length_one_at_most(rows):
    X, D, *_ = rows
    Z = X[:, :3] + 0.3
    costs = []
    for _ in range(300):
        costs.append(np.sum((X - Z @ D) ** 2))
        D = renew_atoms(D, Z, X)
    never_rises(costs)
    lengths = np.linalg.norm(D, axis=1)
    assert (lengths <= 1 + 1e-12).all()
    # A step against the gradient and back into the ball leads nowhere else.
    moved = D - 1e-3 * (Z.T @ (Z @ D - X))
    moved /= np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1)
    close(moved, D, digits=6)


def fit(**parameters):
    data = make_data()
    model = JLSE(1e-3, **parameters)
    return model.fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    ), data


def test_every_turn_lowers_the_objective():
    model, _ = fit(n_turns=6, tol=1e-6)
    assert len(model.history_) == model.n_iter_ == 6
    assert np.all(np.diff(model.history_) < 0)
