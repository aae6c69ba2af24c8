"""StatA: against loops over rows, classes and features written from its head."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax
from scipy.stats import multivariate_normal

from tests.checks import close
from unseen import StatA
from unseen.core.around import start_from
from unseen.transduction.stata import anchored, likelihood, scatter, stata


def unit(M):
    return M / np.linalg.norm(M, axis=1, keepdims=True)


def stata_by_hand(X, texts, *, anchor=1.0, k=3, n_rounds=10):
    """The whole method, entry by entry."""
    X, T = unit(X), unit(texts)
    n, N, p = len(X), len(T), X.shape[1]
    y = np.exp(100 * X @ T.T)
    y /= y.sum(axis=1, keepdims=True)
    cosines = X @ X.T
    W = np.zeros((n, n))
    for i in range(n):
        others = [j for j in np.argsort(-cosines[i]) if j != i]
        for j in others[:k]:
            W[i, j] = max(cosines[i, j], 0)
    first = np.zeros(p)
    for i in range(n):
        for c in range(N):
            first += y[i, c] * (X[i] - T[c]) ** 2 / n
    mu, s, z = T.copy(), np.array([first] * N), y.copy()
    for step in range(n_rounds + 1):
        like = np.array(
            [[-0.5 * sum((x - m) ** 2 / v) - 0.5 * sum(np.log(v)) for m, v in
              zip(mu, s, strict=True)] for x in X]
        )  # fmt: skip
        for _ in range(5):
            power = (like + 50 / (2 * k) * (W + W.T) @ z) / 50
            new = y * np.exp(power - power.max(axis=1, keepdims=True))
            z = new / new.sum(axis=1, keepdims=True)
        if step == n_rounds:
            return z
        for c in range(N):
            beta = (rows := sum(z.argmax(axis=1) == c)) / (rows + anchor)
            mean = sum(z[i, c] * X[i] for i in range(n)) / sum(z[:, c])
            mu[c] = beta * mean / np.linalg.norm(mean) + (1 - beta) * T[c]
            mu[c] /= np.linalg.norm(mu[c])
            own = sum(z[i, c] * (X[i] - mu[c]) ** 2 for i in range(n)) / sum(z[:, c])
            s[c] = beta * own + (1 - beta) * (first + (T[c] - mu[c]) ** 2)


def texts_and_rows(seed=0, n_classes=4, present=4, per_class=12, p=10):
    rng = np.random.default_rng(seed)
    texts = rng.normal(size=(n_classes, p)) + 1.5
    truth = np.repeat(np.arange(present), per_class)
    return texts, texts[truth] + 1.2 * rng.normal(size=(len(truth), p)), truth


@pytest.mark.parametrize("anchor, k, n_rounds", [(1.0, 3, 10), (5.0, 2, 3)])
def test_soft_labels_are_those_of_the_loops(anchor, k, n_rounds):
    texts, X, _ = texts_and_rows()
    settings = {"anchor": anchor, "n_neighbors": k, "n_rounds": n_rounds}
    model = StatA.from_prototypes(texts, **settings)
    outcome = stata(start_from(model.estimator_, X), **settings)
    expected = stata_by_hand(X, texts, anchor=anchor, k=k, n_rounds=n_rounds)
    close(softmax(outcome.scores, axis=1), expected, digits=5)
    assert len(outcome.rounds) == n_rounds + 1
    moved = (expected.argmax(axis=1) != (unit(X) @ unit(texts).T).argmax(axis=1)).sum()
    assert moved > 0  # there was something to compare
    assert_array_equal(model.adapt(X).labels_, expected.argmax(axis=1))


def test_likelihoods_are_those_of_scipy():
    rng = np.random.default_rng(0)
    U, mu, s = unit(rng.normal(size=(9, 4))), *rng.uniform(0.5, 2, size=(2, 3, 4))
    expected = np.column_stack(
        [
            multivariate_normal.logpdf(U, m, np.diag(v))
            for m, v in zip(mu, s, strict=True)
        ]
    )
    close(likelihood(U, mu, s), expected + 2 * np.log(2 * np.pi))


def test_a_class_without_rows_keeps_its_prototype_and_first_variances():
    rng = np.random.default_rng(1)
    U, t = unit(rng.normal(size=(20, 5))), unit(rng.normal(size=(3, 5)))
    z = np.zeros((20, 3))
    z[:, 0] = 1.0
    first = scatter(U, z, t).sum(axis=0) / 20
    mu, s = anchored(U, z, t, first, 1.0)
    close(mu[1:], t[1:])
    close(s[1:], np.tile(first, (2, 1)))
    assert np.abs(mu[0] - t[0]).max() > 0.1
