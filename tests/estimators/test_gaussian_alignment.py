"""ADAPT for all rows at once: against loops, covariances and densities of libraries."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen import GaussianAlignment
from unseen.core.around import start_from
from unseen.transduction.gaussian_alignment import (
    class_means,
    clearest,
    gaussian_alignment,
    precision,
)


def unit(M):
    return M / np.linalg.norm(M, axis=1, keepdims=True)


def adapt_by_hand(X, texts, *, size=6, alpha=0.9, scale=60.0):
    """Scores entry by entry, as the head of the file has them."""
    X, T = unit(X), unit(texts)
    n, N, p = len(X), len(T), X.shape[1]
    logits = 100 * X @ T.T
    q = np.exp(logits - logits.max(axis=1, keepdims=True))
    q /= q.sum(axis=1, keepdims=True)
    entropy = [-sum(v * np.log(v) for v in row if v > 0) for row in q]
    banks = []
    for c in range(N):
        own = [i for i in range(n) if logits[i].argmax() == c]
        banks.append(sorted(own, key=lambda i: entropy[i])[:size])
    mu = T.copy()
    for c, bank in enumerate(banks):
        if bank:
            total = sum(q[i, c] * X[i] for i in bank) + sum(
                q[i, c] * X[i] for i in range(n)
            )
            weight = sum(q[i, c] for i in bank) + sum(q[:, c])
            mu[c] = alpha * total / weight + (1 - alpha) * T[c]
    around = np.array([X[i] - mu[c] for c, bank in enumerate(banks) for i in bank])
    S = np.cov(around.T)
    M = len(around)
    Q = p * np.linalg.pinv((M - 1) * S + np.trace(S) * np.eye(p))
    scores = np.empty((n, N))
    for i in range(n):
        g = np.array([m @ Q @ X[i] - m @ Q @ m / 2 for m in mu])
        g = g - np.log(np.sum(np.exp(g - g.max()))) - g.max()
        for c, bank in enumerate(banks):
            g[c] += scale / (2 * M) * sum(X[i] @ X[j] * q[j, c] for j in bank)
        scores[i] = logits[i] * np.exp((g - g.max()) / scale)
    return scores


def texts_and_rows(seed=0, n_classes=5, present=5, per_class=14, p=12):
    rng = np.random.default_rng(seed)
    texts = rng.normal(size=(n_classes, p)) + 1.5  # all cosines are positive
    truth = np.repeat(np.arange(present), per_class)
    return texts, texts[truth] + 1.2 * rng.normal(size=(len(truth), p)), truth


@pytest.mark.parametrize("size, alpha, scale", [(6, 0.9, 60.0), (2, 0.5, 10.0)])
@pytest.mark.parametrize("present", [5, 3])
def test_scores_are_those_of_the_loops(size, alpha, scale, present):
    texts, X, _ = texts_and_rows(present=present)
    expected = adapt_by_hand(X, texts, size=size, alpha=alpha, scale=scale)
    settings = {"bank_size": size, "alpha": alpha, "scale": scale}
    model = GaussianAlignment.from_prototypes(texts, **settings)
    scores = gaussian_alignment(start_from(model.estimator_, X), **settings).scores
    gap = scores - np.log(expected)  # the same for all classes of a row
    close(gap, np.repeat(gap[:, :1], len(texts), axis=1), digits=8)
    assert_array_equal(model.adapt(X).labels_, expected.argmax(axis=1))


def test_banks_hold_the_clearest_rows_of_each_label():
    q = np.array([[0.6, 0.4], [0.9, 0.1], [0.7, 0.3], [0.2, 0.8]])
    bank, labels = clearest(q, 2)
    assert_array_equal(bank, [1, 2, 3])
    assert_array_equal(labels, [0, 0, 1])


def test_the_precision_is_a_covariance_held_round():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 4)) * [1, 2, 3, 4] + 5
    S = np.cov(rows.T)
    expected = np.linalg.inv(29 * S + np.trace(S) * np.eye(4)) * 4
    close(precision(rows), expected)
    assert_array_equal(precision(np.ones((1, 3))), np.eye(3))


def test_means_of_empty_classes_are_prototypes_and_alpha_zero_keeps_all():
    rng = np.random.default_rng(0)
    U, t = rng.normal(size=(8, 3)), rng.normal(size=(2, 3))
    q, Y = rng.dirichlet(np.ones(2), size=8), np.zeros((3, 2))
    Y[:, 0] = q[:3, 0]
    moved = class_means(U, q, U[:3], Y, t, 0.9)
    assert_array_equal(moved[1], t[1])
    assert np.abs(moved[0] - t[0]).max() > 0.01
    close(class_means(U, q, U[:3], Y, t, 0.0), t)
