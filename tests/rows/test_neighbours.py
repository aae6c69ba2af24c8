"""Neighbours: exact ones against brute force, approximate ones by their recall."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen import MissedNeighboursWarning
from unseen.core import neighbours as module
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


def test_of_equal_rows_the_first_are_taken():
    rows = np.ones((9, 3))
    assert neighbours(rows, 2)[1].tolist() == [[1, 2], [0, 2]] + [[0, 1]] * 7


# ---- which search --------------------------------------------------------------------


def rows_like(n, p=512):
    """Rows that take no memory: a search would never end."""
    return np.broadcast_to(np.float32(0), (n, p))


def test_what_takes_too_long_or_too_much_memory_is_refused_before_any_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"about 4\d\d minutes .*unseen\[scale\]"):
        neighbours(rows_like(10**6), 5)
    monkeypatch.setattr(module, "faiss", lambda: object())
    with pytest.raises(MemoryError, match=r"4\.4 GB .* 1,000,000 rows"):
        neighbours(rows_like(10**6), 5)


# ---- the graph of faiss --------------------------------------------------------------


@pytest.fixture
def by_faiss(monkeypatch):
    """Have faiss search from the call on, as it does among very many rows."""
    pytest.importorskip("faiss")
    return lambda: monkeypatch.setattr(module, "MOST_WORK", 0)


def recall(found, true):
    return (
        np.mean([len({*a} & {*b}) for a, b in zip(found, true, strict=True)])
        / (true.shape[1])
    )


@pytest.mark.parametrize("k, p", [(10, 64), (40, 384)])
def test_approximate_neighbours_are_nearly_all_the_true_ones(k, p, by_faiss):
    rng = np.random.default_rng(0)
    means = rng.normal(size=(30, p))
    rows = means[rng.integers(30, size=3_000)] + rng.normal(size=(3_000, p))
    exact, true = neighbours(rows, k)
    asking = rows[:500] + 0.1 * rng.normal(size=(500, p))
    theirs = neighbours(asking, k, rows)[1]
    by_faiss()
    distances, numbers = neighbours(rows, k)
    assert recall(numbers, true) >= 0.98
    assert (numbers != np.arange(len(rows))[:, None]).all()
    close(distances[:, 0], exact[:, 0], digits=0)
    assert (np.diff(distances, axis=1) >= 0).all()
    assert recall(neighbours(asking, k, rows)[1], theirs) >= 0.98


def test_too_few_neighbours_are_told(monkeypatch, by_faiss):
    rows = np.random.default_rng(0).normal(size=(3_000, 60))
    true = neighbours(rows, 4)[1]
    by_faiss()
    for name, value in {"BREADTH": 4, "LINKS": 2, "SLACK": 0}.items():
        monkeypatch.setattr(module, name, value)
    with pytest.warns(MissedNeighboursWarning, match=r"about (\d+)%") as told:
        found = neighbours(rows, 4)[1]
    said = float(str(told[0].message).split("about ")[1].split("%")[0]) / 100
    assert abs(1 - recall(found, true) - said) < 0.05
