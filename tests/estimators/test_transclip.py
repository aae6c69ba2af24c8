"""TransCLIP: every step against a generic minimiser of the objective at its head."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.optimize import approx_fprime, minimize

from tests.checks import close, never_rises
from unseen import TransCLIP
from unseen.transduction.graph import nearest_cosines
from unseen.transduction.transclip import Mixture


def make_mixture(*, n=12, r=4, N=3, with_neighbours=True, weight=0.3, seed=0):
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(n, r))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    q = rng.dirichlet(np.ones(N), size=n)
    A = nearest_cosines(U, 3) if with_neighbours else sparse.csr_array((n, n))
    mixture = Mixture(U, np.log(q), A, weight)
    mixture.begin(q)
    return mixture


def brute_objective(mixture, *, z=None, mu=None, v=None):
    """The four sums, row by row and class by class."""
    z = mixture.z if z is None else z
    mu = mixture.mu if mu is None else mu
    v = mixture.v if v is None else v
    A = mixture.A.toarray()
    total = 0.0
    for i, u in enumerate(mixture.U):
        for c in range(len(mu)):
            likelihood = -0.5 * sum((u - mu[c]) ** 2 / v) - 0.5 * sum(np.log(v))
            total -= mixture.weight * z[i, c] * likelihood
            total += z[i, c] * np.log(z[i, c]) - z[i, c] * mixture.texts[i, c]
            total -= 0.5 * sum(A[i, j] * z[i, c] * z[j, c] for j in range(len(z)))
    return total


def test_the_objective_is_the_one_at_the_head():
    mixture = make_mixture()
    close(mixture.objective(), brute_objective(mixture), digits=10)


def test_neighbours_are_cosines_of_the_nearest_both_ways():
    rng = np.random.default_rng(1)
    U = rng.normal(size=(9, 3))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    cosines = U @ U.T - 2 * np.eye(9)
    W = np.zeros((9, 9))
    for i in range(9):
        nearest = np.argsort(-cosines[i])[:2]
        W[i, nearest] = np.maximum(cosines[i, nearest], 0)
    close(nearest_cosines(U, 2).toarray(), (W + W.T) / 4, digits=6)


def test_soft_labels_without_neighbours_are_the_minimum_over_the_simplex():
    mixture = make_mixture(n=3, with_neighbours=False)
    mixture.update_labels()

    def of_row(i):
        def value(logits):
            z = mixture.z.copy()
            z[i] = np.exp(logits - np.logaddexp.reduce(logits))
            return brute_objective(mixture, z=z)

        return value

    for i in range(3):
        best = minimize(of_row(i), np.zeros(3), tol=1e-12)
        close(brute_objective(mixture), best.fun)


def test_variances_are_where_the_objective_is_flat():
    mixture = make_mixture()
    mixture.update_variances()
    slope = approx_fprime(mixture.v, lambda v: brute_objective(mixture, v=v), 1e-7)
    close(slope, 0, digits=4)
    elsewhere = approx_fprime(
        1.5 * mixture.v, lambda v: brute_objective(mixture, v=v), 1e-7
    )
    assert np.abs(elsewhere).max() > 0.1


def test_with_one_variance_unit_means_are_the_best_on_the_sphere():
    mixture = make_mixture()
    mixture.update_means()
    close(np.linalg.norm(mixture.mu, axis=1), 1)
    here, rng = brute_objective(mixture), np.random.default_rng(0)
    for _ in range(50):
        mu = mixture.mu + 0.1 * rng.normal(size=mixture.mu.shape)
        mu /= np.linalg.norm(mu, axis=1, keepdims=True)
        assert brute_objective(mixture, mu=mu) > here


def clip_like(seed=0, n=90, N=3, p=16):
    rng = np.random.default_rng(seed)
    texts, truth = rng.normal(size=(N, p)), np.arange(n) % N
    return texts, texts[truth] + 1.5 * rng.normal(size=(n, p)), truth


def test_the_objective_falls_from_round_to_round():
    texts, X, _ = clip_like()
    model = TransCLIP.from_prototypes(texts).adapt(X)
    values = [round.objective for round in model.rounds_]
    assert len(values) == 10
    never_rises(values, digits=6)
    assert values[-1] < values[0]


def test_all_weight_on_texts_keeps_their_answer():
    texts, X, _ = clip_like()
    model = TransCLIP.from_prototypes(texts, text_weight=1e6)
    start = model.predict(X)
    assert_array_equal(model.adapt(X).labels_, start)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision_gives_the_labels_of_double(dtype):
    texts, X, truth = clip_like()
    labels = TransCLIP.from_prototypes(texts).adapt(X.astype(dtype)).labels_
    double = TransCLIP.from_prototypes(texts).adapt(X).labels_
    assert_array_equal(labels, double)
    assert (labels == truth).mean() > 0.85
