"""Neighbours: exact ones against brute force, approximate ones by their recall."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen import (
    PST,
    MissedNeighboursWarning,
    SpreadLabels,
    StatA,
    TransCLIP,
    ZLaP,
    load_data,
)
from unseen.core import neighbours as module
from unseen.core.neighbours import affordable_search, neighbours


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


def test_without_faiss_only_what_needs_it_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert affordable_search("PST", "auto", rows_like(100_000)) == "exact"
    assert affordable_search("PST", "exact", rows_like(10**6)) == "exact"
    with pytest.raises(ImportError, match=r"unseen\[scale\]"):
        affordable_search("PST", "approximate", rows_like(10))
    with pytest.raises(ValueError, match=r"about 4\d\d minutes of one core"):
        affordable_search("PST", "auto", rows_like(10**6))


def test_what_would_not_fit_is_refused_with_an_estimate_before_any_work(monkeypatch):
    monkeypatch.setattr(module, "faiss", lambda: object())
    assert affordable_search("PST", "auto", rows_like(9 * 10**5)) == "approximate"
    with pytest.raises(MemoryError, match=r"PST .* 4\.4 GB .* 1,000,000 rows"):
        affordable_search("PST", "auto", rows_like(10**6))


@pytest.mark.parametrize("kind", [PST, SpreadLabels, StatA, TransCLIP, ZLaP])
def test_estimators_say_which_search_it_was(kind, monkeypatch):
    data = load_data("photos-200", "words")
    model = kind().fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    first = model.adapt(data.X_unseen).labels_
    assert model.neighbor_search_ == "exact"
    model.set_params(neighbors="exact")
    assert_array_equal(model.adapt(data.X_unseen).labels_, first)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match="needs faiss"):
        model.set_params(neighbors="approximate").adapt(data.X_unseen)


# ---- the graph of faiss --------------------------------------------------------------


def recall(found, true):
    return (
        np.mean([len({*a} & {*b}) for a, b in zip(found, true, strict=True)])
        / (true.shape[1])
    )


@pytest.mark.parametrize("k, p", [(10, 64), (40, 384)])
def test_approximate_neighbours_are_nearly_all_the_true_ones(k, p):
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    means = rng.normal(size=(30, p))
    rows = means[rng.integers(30, size=3_000)] + rng.normal(size=(3_000, p))
    distances, numbers = neighbours(rows, k, search="approximate")
    exact, true = neighbours(rows, k)
    assert recall(numbers, true) >= 0.98
    assert (numbers != np.arange(len(rows))[:, None]).all()
    close(distances[:, 0], exact[:, 0], digits=0)
    assert (np.diff(distances, axis=1) >= 0).all()
    asking = rows[:500] + 0.1 * rng.normal(size=(500, p))
    numbers = neighbours(asking, k, rows, search="approximate")[1]
    assert recall(numbers, neighbours(asking, k, rows)[1]) >= 0.98


def test_too_few_neighbours_are_told(monkeypatch):
    pytest.importorskip("faiss")
    rows = np.random.default_rng(0).normal(size=(3_000, 60))
    for name, value in {"BREADTH": 4, "LINKS": 2, "SLACK": 0}.items():
        monkeypatch.setattr(module, name, value)
    with pytest.warns(MissedNeighboursWarning, match=r"about (\d+)%") as told:
        found = neighbours(rows, 4, search="approximate")[1]
    said = float(str(told[0].message).split("about ")[1].split("%")[0]) / 100
    assert abs(1 - recall(found, neighbours(rows, 4)[1]) - said) < 0.05
