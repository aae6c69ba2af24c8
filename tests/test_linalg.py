"""Small positive systems at their limits."""

import numpy as np
import pytest

from unseen.core.linalg import inverse_positive, solve_positive


def test_numbers_out_of_range_are_told_and_singular_systems_have_an_answer():
    with pytest.raises(ValueError, match="out of range"):
        solve_positive(np.diag([1.0, np.inf]), np.eye(2))
    assert np.isfinite(inverse_positive(np.ones((2, 2)))).all()
