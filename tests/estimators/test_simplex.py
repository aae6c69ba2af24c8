"""Codes on the simplex by their optimality conditions, the squared hinge's map too."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.checks import close
from tests.oracles import minimise
from unseen.models.jlse import onto_simplex, simplex_codes
from unseen.models.relative_codes import minimise_loss, squared_hinge


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return rng.normal(size=(4, 3)), rng.normal(size=(6, 3))


@pytest.mark.parametrize("softness", [0.01, 1.0])
def test_codes_are_the_minimum_on_the_simplex(tables, softness):
    A, S = tables
    for a, code in zip(A, simplex_codes(A, S, softness), strict=True):

        def objective(z, a=a):
            return np.sum((a - z @ S) ** 2) / 2 + softness / 2 * z @ z

        found = minimize(
            objective,
            np.full(6, 1 / 6),
            bounds=[(0, 1)] * 6,
            constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        close(code, found.x, digits=5)
        # The gradient is the same wherever the code is not zero, and larger elsewhere.
        slope = (code @ S - a) @ S.T + softness * code
        assert np.ptp(slope[code > 1e-9]) < 1e-9
        assert (slope >= slope[code > 1e-9].max() - 1e-9).all()


def test_the_projection_stays_where_it_is_and_sums_to_one():
    rng = np.random.default_rng(0)
    inside = rng.dirichlet(np.ones(5), size=7)
    close(onto_simplex(inside), inside)
    away = onto_simplex(5 * rng.normal(size=(7, 5)))
    close(away.sum(axis=1), 1)
    assert (away >= 0).all()


def test_the_map_is_the_minimum_of_the_loss_as_written(tables):
    rng = np.random.default_rng(1)
    S = tables[1]
    codes = np.repeat(np.arange(6), 3)
    X, Z = rng.normal(size=(18, 2)) + S[codes][:, :2], simplex_codes(S, S, 0.1)

    def objective(W):
        total = 0.0
        for x, y in zip(X, codes, strict=True):
            for c in range(6):
                total += max(0, 1 - (1 if c == y else -1) * x @ W @ Z[c]) ** 2
        return total / 18 / 6 + 0.02 / 2 * np.sum(W**2)

    W, history = minimise_loss(
        squared_hinge(codes, 6), X, Z, 0.02, max_iter=500, tol=1e-7
    )
    close(history[-1], objective(W))
    close(W, minimise(objective, np.zeros((2, 6)), gtol=1e-6), digits=4)
