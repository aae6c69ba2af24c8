"""SynC: its losses against generic minimisers, its combinations against limits."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.checks import close, make_data, never_rises
from tests.oracles import minimise
from unseen import SynC
from unseen.models.relative_codes import minimise_loss, squared_hinge
from unseen.models.sync import combine_phantoms, structured


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(4), [5, 7, 6, 4])
    X = rng.normal(size=(22, 3)) + rng.normal(size=(4, 3))[codes]
    return X - X.mean(axis=0), codes, rng.normal(size=(4, 3))


def one_vs_other_by_hand(X, codes, W):
    total = 0.0
    for x, y in zip(X, codes, strict=True):
        for c in range(4):
            sign = 1 if c == y else -1
            total += max(0, 1 - sign * x @ W[:, c]) ** 2
    return total / len(X) / 4


def structured_by_hand(X, codes, W, A, smoothing):
    total = 0.0
    for x, y in zip(X, codes, strict=True):
        v = [np.linalg.norm(A[c] - A[y]) + x @ (W[:, c] - W[:, y]) for c in range(4)]
        total += smoothing * np.log(np.sum(np.exp(np.array(v) / smoothing)))
    return total / len(X)


@pytest.mark.parametrize("name", ["one_vs_other", "structured"])
def test_l_bfgs_finds_the_minimum_of_the_loss_as_written(small, name):
    X, codes, A = small
    if name == "structured":
        margins = np.linalg.norm(A[:, None] - A, axis=2)
        loss = structured(codes, margins, 0.2)
    else:
        loss = squared_hinge(codes, 4)

    def objective(W):
        by_hand = (
            structured_by_hand(X, codes, W, A, 0.2)
            if name == "structured"
            else one_vs_other_by_hand(X, codes, W)
        )
        return by_hand + 0.05 * np.sum(W**2) / 2

    W, history = minimise_loss(loss, X, np.eye(4), 0.05, max_iter=500, tol=1e-7)
    never_rises(history)
    close(history[-1], objective(W))
    found = minimise(objective, np.zeros((3, 4)), gtol=1e-6)
    close(W, found, digits=4)


def test_without_smoothing_it_is_the_largest_violation(small):
    X, codes, A = small
    margins = np.linalg.norm(A[:, None] - A, axis=2)
    F = X @ np.random.default_rng(1).normal(size=(3, 4))
    own = F[np.arange(22), codes][:, None]
    largest = (margins[codes] + F - own).max(axis=1).mean()
    close(structured(codes, margins, 1e-6)(F)[0], largest, digits=5)


def test_the_squared_form_is_least_squares_on_the_rows():
    data = make_data()
    model = SynC(0.01, loss="squared", n_axes="all")
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    X = data.X_seen / np.linalg.norm(data.X_seen, axis=1, keepdims=True)
    X = X - X.mean(axis=0)
    signs = 2.0 * (data.y_seen[:, None] == np.unique(data.y_seen)) - 1
    ridge = 0.01 / 2 * signs.size
    stacked = np.vstack([X, ridge**0.5 * np.eye(16)])
    target = np.vstack([signs, np.zeros((16, 9))])
    W = np.linalg.lstsq(stacked, target, rcond=None)[0]
    close(model.coef_, W, digits=10)


def test_similarities_are_those_of_the_paper(small):
    S = small[2]
    new = S[:2] + 0.3
    every = [np.linalg.norm(S[i] - S[j]) for i in range(4) for j in range(i)]

    def similar(A):
        distances = np.linalg.norm(A[:, None] - S, axis=2) / np.median(every)
        K = np.exp(-0.7 * distances**2)
        return K / K.sum(axis=1, keepdims=True)

    expected = similar(new) @ np.linalg.pinv(similar(S))
    close(combine_phantoms(new, S, 0.7), expected, digits=8)


def test_it_says_when_it_stopped_too_early():
    data = make_data()
    model = SynC(1e-8, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
