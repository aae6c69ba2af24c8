"""Small positive systems against NumPy's general solver."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen.core.linalg import (
    inverse_positive,
    solve_positive,
)


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("d", [1, 2, 30, 100])
def test_they_solve_as_a_general_solver_does(d, condition):
    rng = np.random.default_rng(d)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    K = (basis * np.geomspace(1, condition, d)) @ basis.T
    K = (K + K.T) / 2
    right = rng.normal(size=(d, 3))
    kept = K.copy()
    within = 1e-13 * condition
    close(solve_positive(K, right), np.linalg.solve(K, right), within=within)
    inverse = inverse_positive(K)
    close(inverse @ K, np.eye(d), within=within)
    assert_array_equal(inverse, inverse.T)
    assert_array_equal(K, kept)


def test_numbers_out_of_range_are_told_and_singular_systems_have_an_answer():
    with pytest.raises(ValueError, match="out of range"):
        solve_positive(np.diag([1.0, np.inf]), np.eye(2))
    assert np.isfinite(inverse_positive(np.ones((2, 2)))).all()
