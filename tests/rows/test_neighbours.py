"""Neighbours against brute force."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen.core.neighbours import neighbours


def brute(rows, k, others=None):
    """Return the same by sorting all distances in float64."""
    among = rows if others is None else others
    apart = np.linalg.norm(rows[:, None].astype(float) - among[None], axis=2)
    if others is None:
        np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(apart, order, axis=1), order


@pytest.mark.parametrize("among", [None, 90])
@pytest.mark.parametrize("n, k", [(3, 1), (300, 7), (50, 500)])
def test_exact_neighbours_are_those_of_brute_force(n, k, among):
    rng = np.random.default_rng(0)
    rows, others = rng.normal(size=(n, 6)), among and rng.normal(size=(among, 6))
    distances, numbers = neighbours(rows, k, others)
    expected, order = brute(rows, min(k, among or n - 1), others)
    assert_array_equal(numbers, order)
    close(distances, expected, digits=10)


def rows_like(n, p=512):
    """Rows that take no memory: a search would never end."""
    return np.broadcast_to(np.float32(0), (n, p))


def test_what_takes_too_long_is_refused_before_any_work():
    with pytest.raises(ValueError, match=r"about 4\d\d minutes .*Adapt to a sample"):
        neighbours(rows_like(10**6), 5)
