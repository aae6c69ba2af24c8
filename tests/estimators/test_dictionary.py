"""The dictionary step: at the minimum by its conditions, and the authors' steps."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from tests.checks import close
from tests.oracles import authors_dictionary
from unseen.models.dictionary import solve_by_admm, solve_by_reference_admm


def make(n, d, p, size, seed=0):
    """Codes and rows whose free least-squares atoms have lengths up to ``size``."""
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(n, d))
    atoms = rng.normal(size=(d, p)) * rng.uniform(size / 20, size, size=(d, 1))
    return C, C @ atoms + rng.normal(size=(n, p))


@pytest.mark.parametrize(
    "n, d, p, size",
    [(50, 8, 6, 1.0), (400, 40, 30, 1.0), (300, 100, 100, 0.5), (30, 40, 30, 1.0)],
)
def test_admm_ends_where_karush_kuhn_and_tucker_say(n, d, p, size):
    """Where at least half the norms bind: their gradients point outwards."""
    C, X = make(n, d, p, size)
    D = solve_by_admm(C.T @ C, C.T @ X, np.zeros((d, p)))
    lengths = np.linalg.norm(D, axis=1)
    bound = lengths > 1 - 1e-9
    assert bound.mean() >= 0.5 and lengths.max() <= 1 + 1e-12
    downhill = C.T @ (X - C @ D)
    multipliers = np.sum(downhill * D, axis=1)
    size = np.abs(C.T @ X).max()
    assert multipliers[bound].min() >= -1e-6 * size
    close(downhill, (bound * multipliers)[:, None] * D, within=1e-5 * size)


def test_admm_equals_a_generic_constrained_minimiser():
    C, X = make(30, 3, 4, 1.0)
    bounds = [
        {"type": "ineq", "fun": lambda v, i=i: 1 - np.sum(v.reshape(3, 4)[i] ** 2)}
        for i in range(3)
    ]
    best = minimize(
        lambda v: np.sum((X - C @ v.reshape(3, 4)) ** 2),
        np.zeros(12),
        constraints=bounds,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    ).x.reshape(3, 4)
    assert (np.linalg.norm(best, axis=1) > 1 - 1e-6).any()
    close(solve_by_admm(C.T @ C, C.T @ X, np.zeros((3, 4))), best, digits=5)


@pytest.mark.parametrize("size", [0.02, 0.3, 2.0])
def test_the_authors_steps_are_theirs(size):
    """With and without binding atoms, also where the shortcut for free ones ends."""
    C, X = make(200, 10, 8, size)
    X = X * size
    D = np.random.default_rng(1).normal(size=(10, 8))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    ours = solve_by_reference_admm(C.T @ C, C.T @ X, D)
    close(ours, authors_dictionary(X.T, C.T, D.T).T, digits=9)


def test_admm_that_runs_out_of_steps_says_so():
    C, X = make(50, 8, 6, 1.0)
    with pytest.warns(ConvergenceWarning, match="all its 3 steps"):
        solve_by_admm(C.T @ C, C.T @ X, np.zeros((8, 6)), max_steps=3)
