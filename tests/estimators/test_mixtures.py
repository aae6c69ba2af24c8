"""TransCLIP, StatA and ADAPT: against loops over rows, classes and features."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import log_softmax, softmax

from tests.checks import close, start_from, unit
from unseen import GaussianAlignment, StatA, TransCLIP
from unseen.transduction.gaussian_alignment import gaussian_alignment, precision
from unseen.transduction.stata import stata
from unseen.transduction.transclip import transclip


def texts_and_rows(n_classes=4, present=4, per_class=14, p=12):
    """Texts whose cosines are all positive, and rows of the classes that are there."""
    rng = np.random.default_rng(0)
    texts = rng.normal(size=(n_classes, p)) + 1.5
    truth = np.repeat(np.arange(present), per_class)
    return texts, texts[truth] + 1.2 * rng.normal(size=(len(truth), p))


def neighbours_by_hand(U, k):
    """(W + Wᵀ)/2k with W the cosines of each row's k nearest."""
    cosines = U @ U.T - 2 * np.eye(len(U))
    W = np.zeros(cosines.shape)
    for i, row in enumerate(cosines):
        nearest = np.argsort(-row)[:k]
        W[i, nearest] = np.maximum(row[nearest], 0)
    return (W + W.T) / (2 * k)


def log_density(U, mu, v):
    """Of rows under Gaussians without correlations, but for a constant."""
    return -np.sum((U[:, None] - mu) ** 2 / v + np.log(v), axis=2) / 2


# ---- TransCLIP ---------------------------------------------------------------------


class TransCLIPByHand:
    """Its state after some rounds, and the objective, entry by entry."""

    def __init__(self, X, texts, *, k=3, weight=0.02, n_rounds=10):
        self.U, self.weight, self.A = unit(X), weight, neighbours_by_hand(unit(X), k)
        self.log_q = log_softmax(100 * self.U @ unit(texts).T, axis=1)
        q = np.exp(self.log_q)
        top = [np.argsort(-q[:, c], kind="stable")[:8] for c in range(len(texts))]
        self.mu = unit(np.array([q[r, c] @ self.U[r] for c, r in enumerate(top)]))
        self.v = np.full(X.shape[1], 1 / X.shape[1])
        self.z, self.values = q, []
        for _ in range(n_rounds):
            for _ in range(5):
                self.z = self.new_labels()
            self.mu = unit(self.z.T @ self.U)
            far = (self.U[:, None] - self.mu) ** 2
            self.v = np.einsum("ic,icj->j", self.z, far) / len(X)
            self.values.append(self.objective())

    def new_labels(self):
        fit = self.weight * log_density(self.U, self.mu, self.v)
        return softmax(fit + self.A @ self.z + self.log_q, axis=1)

    def objective(self, *, mu=None, v=None):
        mu, v, z = self.mu if mu is None else mu, self.v if v is None else v, self.z
        told = np.where(z > 0, z * (np.log(np.maximum(z, 1e-300)) - self.log_q), 0)
        together = np.sum(self.A * (z @ z.T)) / 2
        fit = np.sum(z * log_density(self.U, mu, v))
        return told.sum() - self.weight * fit - together


@pytest.mark.parametrize("settings", [{}, {"k": 2, "weight": 0.3, "n_rounds": 3}])
def test_transclip_is_that_of_the_loops(settings):
    texts, X = texts_and_rows()
    by_hand = TransCLIPByHand(X, texts, **settings)
    names = {"k": "n_neighbors", "weight": "likelihood_weight"}
    settings = {names.get(name, name): value for name, value in settings.items()}
    model = TransCLIP.from_prototypes(texts, **settings)
    made = transclip(start_from(model.estimator_, X), **settings)
    close([done.objective for done in made.rounds], by_hand.values, digits=6)
    close(softmax(made.scores, axis=1), by_hand.new_labels(), digits=5)
    assert_array_equal(model.adapt(X).labels_, made.scores.argmax(axis=1))


# ---- StatA -------------------------------------------------------------------------


def stata_by_hand(X, texts, *, anchor=1.0, k=3, n_rounds=10):
    """The whole method, class by class."""
    X, T = unit(X), unit(texts)
    A, log_q = neighbours_by_hand(X, k), log_softmax(100 * X @ T.T, axis=1)
    z = np.exp(log_q)
    first = np.einsum("ic,icj->j", z, (X[:, None] - T) ** 2) / len(X)
    mu, s = T.copy(), np.array([first] * len(T))
    for step in range(n_rounds + 1):
        fixed = log_q + log_density(X, mu, s) / 50
        for _ in range(5):
            z = softmax(fixed + A @ z, axis=1)
        if step == n_rounds:
            return z
        for c in range(len(T)):
            beta = (rows := sum(z.argmax(axis=1) == c)) / (rows + anchor)
            mean = z[:, c] @ X
            mu[c] = beta * mean / np.linalg.norm(mean) + (1 - beta) * T[c]
            mu[c] /= np.linalg.norm(mu[c])
            own = z[:, c] @ (X - mu[c]) ** 2 / sum(z[:, c])
            s[c] = beta * own + (1 - beta) * (first + (T[c] - mu[c]) ** 2)


@pytest.mark.parametrize(
    "anchor, k, n_rounds, present", [(1.0, 3, 10, 4), (5.0, 2, 3, 4), (5.0, 2, 3, 2)]
)
def test_stata_is_that_of_the_loops(anchor, k, n_rounds, present):
    texts, X = texts_and_rows(present=present, per_class=12, p=10)
    settings = {"anchor": anchor, "n_neighbors": k, "n_rounds": n_rounds}
    model = StatA.from_prototypes(texts, **settings)
    outcome = stata(start_from(model.estimator_, X), **settings)
    expected = stata_by_hand(X, texts, anchor=anchor, k=k, n_rounds=n_rounds)
    close(softmax(outcome.scores, axis=1), expected, digits=5)
    assert len(outcome.rounds) == n_rounds + 1
    first = (unit(X) @ unit(texts).T).argmax(axis=1)
    moved = (expected.argmax(axis=1) != first).any()
    assert moved or present < 4  # there was something to compare
    assert_array_equal(model.adapt(X).labels_, expected.argmax(axis=1))


# ---- ADAPT -------------------------------------------------------------------------


def adapt_by_hand(X, texts, *, size, alpha, scale):
    """Scores class by class, as the head of the file has them."""
    X, T = unit(X), unit(texts)
    logits = 100 * X @ T.T
    q = softmax(logits, axis=1)
    entropy = [-sum(v * np.log(v) for v in row if v > 0) for row in q]
    banks, mu = [], T.copy()
    for c in range(len(T)):
        own = np.flatnonzero(logits.argmax(axis=1) == c)
        banks.append(sorted(own, key=lambda i: entropy[i])[:size])
        if bank := banks[-1]:
            total = q[bank, c] @ X[bank] + q[:, c] @ X
            weight = q[bank, c].sum() + q[:, c].sum()
            mu[c] = alpha * total / weight + (1 - alpha) * T[c]
    around = np.array([X[i] - mu[c] for c, bank in enumerate(banks) for i in bank])
    S, M, p = np.cov(around.T), len(around), X.shape[1]
    Q = p * np.linalg.pinv((M - 1) * S + np.trace(S) * np.eye(p))
    g = log_softmax(X @ Q @ mu.T - np.diag(mu @ Q @ mu.T) / 2, axis=1)
    for c, bank in enumerate(banks):
        g[:, c] += scale / (2 * M) * (X @ X[bank].T @ q[bank, c])
    return np.log(logits) + g / scale


@pytest.mark.parametrize("size, alpha, scale", [(6, 0.9, 60.0), (2, 0.5, 10.0)])
@pytest.mark.parametrize("present", [5, 3])
def test_gaussian_alignment_is_that_of_the_loops(size, alpha, scale, present):
    texts, X = texts_and_rows(n_classes=5, present=present)
    expected = adapt_by_hand(X, texts, size=size, alpha=alpha, scale=scale)
    settings = {"bank_size": size, "alpha": alpha, "scale": scale}
    model = GaussianAlignment.from_prototypes(texts, **settings)
    scores = gaussian_alignment(start_from(model.estimator_, X), **settings).scores
    close(scores, expected, digits=8)
    assert_array_equal(model.adapt(X).labels_, expected.argmax(axis=1))


def test_a_bank_of_one_row_has_no_covariance():
    assert_array_equal(precision(np.ones((1, 3))), np.eye(3))
