"""TransCLIP: the steps at its head, in loops, and these against the objective."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import approx_fprime, minimize
from scipy.special import softmax

from tests.checks import close
from unseen import TransCLIP
from unseen.core.around import start_from
from unseen.transduction.graph import nearest_cosines
from unseen.transduction.transclip import transclip


def unit(M):
    return M / np.linalg.norm(M, axis=1, keepdims=True)


def neighbours_by_hand(U, k):
    cosines = U @ U.T - 2 * np.eye(len(U))
    W = np.zeros(cosines.shape)
    for i, row in enumerate(cosines):
        nearest = np.argsort(-row)[:k]
        W[i, nearest] = np.maximum(row[nearest], 0)
    return (W + W.T) / (2 * k)


class ByHand:
    """Its state after some rounds, and the objective, entry by entry."""

    def __init__(self, X, texts, *, k=3, weight=0.02, n_rounds=10):
        self.U, self.weight, self.A = unit(X), weight, neighbours_by_hand(unit(X), k)
        self.log_q = np.log(softmax(100 * self.U @ unit(texts).T, axis=1))
        q = np.exp(self.log_q)
        top = [np.argsort(-q[:, c], kind="stable")[:8] for c in range(len(texts))]
        self.mu = unit(np.array([q[r, c] @ self.U[r] for c, r in enumerate(top)]))
        self.v = np.full(X.shape[1], 1 / X.shape[1])
        self.z, self.values = q, []
        for _ in range(n_rounds):
            for _ in range(5):
                self.z = self.new_labels(self.z)
            self.mu = unit(self.z.T @ self.U)
            far = (self.U[:, None] - self.mu) ** 2
            self.v = np.einsum("ic,icj->j", self.z, far) / len(X)
            self.values.append(self.objective())

    def likelihood(self, mu, v):
        far = (self.U[:, None] - mu) ** 2
        return -np.sum(far / v + np.log(v), axis=2) / 2

    def new_labels(self, z):
        fit = self.weight * self.likelihood(self.mu, self.v)
        return softmax(fit + self.A @ z + self.log_q, axis=1)

    def objective(self, *, z=None, mu=None, v=None):
        z = self.z if z is None else z
        fit = self.likelihood(self.mu if mu is None else mu, self.v if v is None else v)
        told = np.where(z > 0, z * (np.log(np.maximum(z, 1e-300)) - self.log_q), 0)
        together = np.sum(self.A * (z @ z.T)) / 2
        return told.sum() - self.weight * np.sum(z * fit) - together


def clip_like(seed=0, n=90, N=3, p=16):
    rng = np.random.default_rng(seed)
    texts, truth = rng.normal(size=(N, p)), np.arange(n) % N
    return texts, texts[truth] + 1.5 * rng.normal(size=(n, p)), truth


@pytest.mark.parametrize("settings", [{}, {"k": 2, "weight": 0.3, "n_rounds": 3}])
def test_labels_and_objectives_are_those_of_the_loops(settings):
    texts, X, _ = clip_like()
    by_hand = ByHand(X, texts, **settings)
    names = {"k": "n_neighbors", "weight": "likelihood_weight"}
    settings = {names.get(name, name): value for name, value in settings.items()}
    model = TransCLIP.from_prototypes(texts, **settings)
    made = transclip(start_from(model.estimator_, X), **settings)
    close([done.objective for done in made.rounds], by_hand.values, digits=6)
    close(softmax(made.scores, axis=1), by_hand.new_labels(by_hand.z), digits=5)
    assert_array_equal(model.adapt(X).labels_, made.scores.argmax(axis=1))


def test_neighbours_are_cosines_of_the_nearest_both_ways():
    U = unit(np.random.default_rng(1).normal(size=(9, 3)))
    close(nearest_cosines(U, 2).toarray(), neighbours_by_hand(U, 2), digits=6)


def test_soft_labels_without_neighbours_are_the_minimum_over_the_simplex():
    texts, X, _ = clip_like(n=12)
    state = ByHand(X, texts, weight=0.3, n_rounds=1)
    state.A = np.zeros(state.A.shape)
    best = state.new_labels(state.z)

    def of_row(i):
        def value(logits):
            z = best.copy()
            z[i] = softmax(logits)
            return state.objective(z=z)

        return value

    for i in range(3):
        found = minimize(of_row(i), np.zeros(3), tol=1e-12)
        close(state.objective(z=best), found.fun)


def test_variances_are_where_the_objective_is_flat():
    texts, X, _ = clip_like(n=12, p=4)
    state = ByHand(X, texts, weight=0.3)
    slope, elsewhere = (
        approx_fprime(v, lambda v: state.objective(v=v), 1e-7)
        for v in (state.v, 1.5 * state.v)
    )
    close(slope, 0, digits=4)
    assert np.abs(elsewhere).max() > 0.1


def test_with_one_variance_unit_means_are_the_best_on_the_sphere():
    texts, X, _ = clip_like(n=12, p=4)
    state, rng = ByHand(X, texts, weight=0.3), np.random.default_rng(0)
    same = np.full(4, state.v.mean())
    here = state.objective(v=same)
    for _ in range(50):
        mu = unit(state.mu + 0.1 * rng.normal(size=state.mu.shape))
        assert state.objective(mu=mu, v=same) > here
