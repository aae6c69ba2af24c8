"""ESZSL: its closed form and its refit against least squares on the objective."""

import numpy as np
import pytest

from tests.checks import close, make_data, refitted
from unseen import ESZSL
from unseen.core.sums import label_products, sum_rows
from unseen.models.eszsl import solve_eszsl, solve_silencing


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(4), [5, 7, 6, 4])
    X = rng.normal(size=(22, 5)) + rng.normal(size=(4, 5))[codes]
    return X - X.mean(axis=0), codes, rng.normal(size=(4, 3))


@pytest.mark.parametrize("gamma, lam", [(1e-2, 1.0), (10.0, 1e-3), (3.0, 3.0)])
@pytest.mark.parametrize("coding", ["one_hot", "signed"])
def test_the_closed_form_is_the_minimum_of_the_objective(small, gamma, lam, coding):
    X, codes, A = small
    Y = np.eye(4)[codes] * (2 if coding == "signed" else 1) - (coding == "signed")
    p, q = X.shape[1], A.shape[1]
    terms = [
        np.kron(X, A),
        gamma**0.5 * np.kron(np.eye(p), A),
        lam**0.5 * np.kron(X, np.eye(q)),
        (gamma * lam) ** 0.5 * np.eye(p * q),
    ]
    target = np.zeros(sum(map(len, terms)))
    target[: Y.size] = Y.ravel()
    W = np.linalg.lstsq(np.vstack(terms), target, rcond=None)[0].reshape(p, q)
    XtX, XtY, _ = label_products(sum_rows(X, codes, 4), coding)
    close(solve_eszsl(XtX, XtY, A, gamma, lam, diagonal=False), W, digits=10)


def lengths_objective(X, Y, A, W, gamma, lam):
    fit = np.sum((X @ W @ A.T - Y) ** 2) + gamma * np.sum((W @ A.T) ** 2)
    squares = np.sum((X @ W) ** 2, axis=0) + gamma * np.sum(W**2, axis=0)
    return fit + lam * np.sum(np.sqrt(squares))


def noisy_texts():
    """Rows, signs and embeddings of which only the first three dimensions tell."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(8, 12))
    y = np.arange(240) % 8
    X = A[y][:, :3] @ rng.normal(size=(3, 6)) + 0.3 * rng.normal(size=(240, 6))
    return X, y, A


@pytest.mark.parametrize("diagonal", [True, False])
def test_lengths_in_place_of_squares_end_at_the_minimum(diagonal):
    X, y, A = noisy_texts()
    if diagonal:
        X = X @ np.linalg.svd(X, full_matrices=False)[2].T
    gamma, lam = 2.0, 20.0
    products = label_products(sum_rows(X, y, 8), "one_hot")[:2]
    W = solve_silencing(*products, A, gamma, lam, diagonal=diagonal)
    Y = np.eye(8)[y]
    least = lengths_objective(X, Y, A, W, gamma, lam)
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3):  # convex: no step in any direction leads lower
        for _ in range(200):
            other = W + size * np.abs(W).max() * rng.normal(size=W.shape)
            assert lengths_objective(X, Y, A, other, gamma, lam) > least - 1e-3 * size
    squares = solve_eszsl(*products, A, gamma, lam, diagonal=diagonal)
    assert least < lengths_objective(X, Y, A, squares, gamma, lam)


def test_dividing_on_all_the_axes_is_solving_on_the_features():
    data = make_data()
    train = data.X_seen, data.y_seen
    solved = ESZSL(0.3, 0.2, n_axes="all")
    divided = ESZSL(0.3, 0.2, n_axes=16)
    for model in (solved, divided):
        model.fit(*train, class_embeddings=data.class_embeddings)
    close(
        solved.decision_function(data.X, classes="all"),
        divided.decision_function(data.X, classes="all"),
        digits=10,
    )


def test_scores_are_those_of_the_samples():
    data = make_data()
    gamma, lam = 0.5, 0.7
    model = ESZSL(gamma, lam, n_axes="all")
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    X = data.X_seen / np.linalg.norm(data.X_seen, axis=1, keepdims=True)
    units = data.class_embeddings.to_numpy()
    units = units / np.linalg.norm(units, axis=1, keepdims=True)
    A_rows = units[data.class_embeddings.index.get_indexer(data.y_seen)]
    seen = ~data.class_embeddings.index.isin(data.unseen)
    A = units - A_rows.mean(axis=0)
    Y = (data.y_seen[:, None] == data.class_embeddings.index[seen].to_numpy()) * 1.0
    Xc = X - X.mean(axis=0)
    W = (
        np.linalg.inv(Xc.T @ Xc + gamma * np.eye(16))
        @ Xc.T
        @ Y
        @ A[seen]
        @ np.linalg.inv(A[seen].T @ A[seen] + lam * np.eye(7))
    )
    new = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    expected = (new - X.mean(axis=0)) @ W @ A[~seen].T
    close(model.decision_function(data.X_unseen), expected, digits=10)


@pytest.mark.parametrize("lam, mu", [(0.3, 2.0), (5.0, 0.01)])
def test_the_refit_is_the_minimum_of_its_objective(lam, mu):
    data = make_data()
    model = ESZSL()
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    labels = np.random.default_rng(0).integers(3, size=len(data.X_unseen))
    labels[1::2] = -1  # not kept
    kept = labels >= 0
    before = model.coef_
    B, T, found, value = refitted(model, data.X_unseen, labels, 3, lam=lam, mu=mu)
    B, Y = B[kept], np.eye(3)[labels[kept]]
    p, q = before.shape
    terms = [
        np.kron(B, T),
        lam**0.5 * np.kron(B, np.eye(q)),
        mu**0.5 * np.eye(p * q),
    ]
    target = np.concatenate(
        [Y.ravel(), lam**0.5 * (Y @ T).ravel(), mu**0.5 * before.ravel()]
    )
    W, rest, *_ = np.linalg.lstsq(np.vstack(terms), target, rcond=None)
    close(found, W.reshape(p, q), digits=8)
    close(value, rest[0], digits=8)
