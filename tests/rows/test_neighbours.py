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
from unseen.rows import nearest_exact, nearest_graph
from unseen.rows import neighbours as module
from unseen.rows.neighbours import chosen_search, nearest


def brute(rows, k, others=None):
    """Return the same by sorting all distances in float64."""
    among = rows if others is None else others
    apart = np.linalg.norm(rows[:, None].astype(float) - among[None], axis=2)
    if others is None:
        np.fill_diagonal(apart, np.inf)
    order = np.argsort(apart, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(apart, order, axis=1), order


@pytest.mark.parametrize("n, k", [(3, 1), (50, 49), (300, 7), (300, 500)])
@pytest.mark.parametrize("block", [8, 64, 4096])
def test_exact_neighbours_are_those_of_brute_force(monkeypatch, n, k, block):
    monkeypatch.setattr(nearest_exact, "BLOCK", block)
    rows = np.random.default_rng(0).normal(size=(n, 6))
    distances, numbers = nearest(rows, k)
    expected, order = brute(rows, min(k, n - 1))
    assert_array_equal(numbers, order)
    close(distances, expected, digits=10)


def test_exact_neighbours_among_others():
    rng = np.random.default_rng(0)
    rows, others = rng.normal(size=(40, 5)), rng.normal(size=(90, 5))
    distances, numbers = nearest(rows, 4, others)
    expected, order = brute(rows, 4, others)
    assert_array_equal(numbers, order)
    close(distances, expected, digits=10)


@pytest.mark.parametrize("first", [True, False])
def test_all_neighbours_may_stand_in_one_block(monkeypatch, first):
    monkeypatch.setattr(nearest_exact, "BLOCK", 16)
    rng = np.random.default_rng(0)
    rows, near = rng.normal(size=(30, 5)), rng.normal(size=(16, 5))
    far = 50 + rng.normal(size=(40, 5))
    others = np.vstack([near, far] if first else [far[:32], near])
    distances, numbers = nearest(rows, 6, others)
    expected, order = brute(rows, 6, others)
    assert_array_equal(numbers, order)
    close(distances, expected, digits=10)


@pytest.mark.parametrize("far, size", [(1e6, 1.0), (0.0, 1e200), (0.0, 1e-200)])
def test_far_from_the_origin_and_at_any_size_they_are_the_same(far, size):
    rows = np.random.default_rng(0).normal(size=(200, 4))
    assert_array_equal(nearest((rows + far) * size, 3)[1], nearest(rows, 3)[1])


def test_of_equal_rows_the_first_are_taken():
    rows = np.ones((9, 3))
    assert nearest(rows, 2)[1].tolist() == [[1, 2], [0, 2]] + [[0, 1]] * 7


def test_rows_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="NaN or infinity"):
        nearest(np.array([[0.0], [np.nan], [1.0]]), 1)


# ---- which search --------------------------------------------------------------------


def test_auto_is_exact_for_piles_of_ordinary_size():
    assert chosen_search("auto", 100_000, 100_000, 512) == "exact"


def test_without_faiss_only_what_needs_it_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert chosen_search("exact", 10**6, 10**6, 512) == "exact"
    with pytest.raises(ImportError, match=r"unseen\[neighbors\]"):
        chosen_search("approximate", 10, 10, 2)
    with pytest.raises(ValueError, match=r"about 2\d\d minutes of one core"):
        chosen_search("auto", 10**6, 10**6, 512)


def test_what_would_not_fit_is_refused_with_an_estimate_before_any_work(monkeypatch):
    """Rows that take no memory: a search would never end, or fail otherwise."""
    million = np.broadcast_to(np.float32(0), (10**6, 512))
    monkeypatch.setattr(module, "faiss", lambda: object())
    assert TransCLIP()._search(million[: 9 * 10**5]) == "approximate"
    with pytest.raises(MemoryError, match=r"TransCLIP .* 4\.4 GB .* 1,000,000 rows"):
        TransCLIP()._search(million)
    monkeypatch.setattr(module, "faiss", lambda: None)
    with pytest.raises(ValueError, match=r"about 2\d\d minutes of one core"):
        TransCLIP()._search(million)


@pytest.mark.parametrize("kind", [PST, SpreadLabels, StatA, TransCLIP, ZLaP])
def test_estimators_say_which_search_it_was(kind, monkeypatch):
    data = load_data("digits")
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


def test_approximate_neighbours_are_nearly_all_the_true_ones():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    means = rng.normal(size=(30, 64))
    rows = means[rng.integers(30, size=6_000)] + rng.normal(size=(6_000, 64))
    distances, numbers = nearest(rows, 10, search="approximate")
    exact, true = nearest(rows, 10)
    assert recall(numbers, true) >= 0.98
    assert (numbers != np.arange(len(rows))[:, None]).all()
    close(distances[:, 0], exact[:, 0], digits=0)
    assert (np.diff(distances, axis=1) >= 0).all()


def test_a_graph_that_is_asked_some_rows_at_a_time_is_as_good(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(nearest_graph, "AT_A_TIME", 700)
    rng = np.random.default_rng(0)
    means = rng.normal(size=(30, 64))
    rows = means[rng.integers(30, size=5_000)] + rng.normal(size=(5_000, 64))
    asking = rows[:1_500] + 0.1 * rng.normal(size=(1_500, 64))
    numbers = nearest(rows, 10, search="approximate")[1]
    assert recall(numbers, nearest(rows, 10)[1]) >= 0.98
    assert (numbers != np.arange(len(rows))[:, None]).all()
    numbers = nearest(asking, 10, rows, search="approximate")[1]
    assert recall(numbers, nearest(asking, 10, rows)[1]) >= 0.98


@pytest.mark.parametrize("k", [1, 10, 40])
def test_a_graph_on_the_leading_axes_loses_few_neighbours(k):
    pytest.importorskip("faiss")
    p = 3 * nearest_graph.AXES // 2
    spread = (1 + np.arange(p)) ** -0.5
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3_000, p)) * spread
    numbers = nearest(rows, k, search="approximate")[1]
    assert recall(numbers, nearest(rows, k)[1]) >= 0.98
    asking = rng.normal(size=(200, p)) * spread
    numbers = nearest(asking, k, rows, search="approximate")[1]
    assert recall(numbers, nearest(asking, k, rows)[1]) >= 0.98


def test_leading_axes_hold_nearly_what_eigenvectors_would():
    rng = np.random.default_rng(0)
    p = 2 * nearest_graph.AXES
    rows = rng.normal(size=(5_000, p)).astype(np.float32) / np.sqrt(1 + np.arange(p))
    axes = nearest_graph.leading_axes(rows.astype(np.float32))
    close(axes.T @ axes, np.eye(nearest_graph.AXES), digits=5)
    values = np.linalg.eigvalsh(rows.T @ rows)
    assert np.sum((rows @ axes) ** 2) >= 0.98 * values[-nearest_graph.AXES :].sum()


def test_rows_alike_in_all_directions_are_searched_on_all_axes():
    pytest.importorskip("faiss")
    p = 3 * nearest_graph.AXES // 2
    rows = np.random.default_rng(0).normal(size=(3_000, p)).astype(np.float32)
    assert_array_equal(nearest_graph.leading_axes(rows), np.eye(p))
    numbers = nearest(rows, 10, search="approximate")[1]
    assert recall(numbers, nearest(rows, 10)[1]) >= 0.98


def test_an_approximate_search_among_few_rows_finds_them_all():
    pytest.importorskip("faiss")
    rows = np.random.default_rng(0).normal(size=(12, 5))
    for k in (3, 11, 50):
        numbers = nearest(rows, k, search="approximate")[1]
        assert_array_equal(numbers, nearest(rows, k)[1])


@pytest.mark.parametrize("kind", [PST, TransCLIP, ZLaP])
def test_labels_by_approximate_neighbours_are_nearly_all_alike(kind):
    pytest.importorskip("faiss")
    data = load_data("digits")
    model = kind().fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    exact = model.adapt(data.X_unseen).labels_
    nearly = model.set_params(neighbors="approximate").adapt(data.X_unseen)
    assert nearly.neighbor_search_ == "approximate"
    assert (nearly.labels_ == exact).mean() >= 0.99


def test_lists_grow_until_enough_neighbours_of_a_sample_are_found(monkeypatch):
    pytest.importorskip("faiss")
    rows = np.random.default_rng(0).normal(size=(4_000, 40))
    monkeypatch.setattr(module, "SLACK", 0)
    for name, value in {"BREADTH": 12, "LINKS": 4}.items():
        monkeypatch.setattr(nearest_graph, name, value)
    true = nearest(rows, 4)[1]
    monkeypatch.setattr(nearest_graph, "ENOUGH", 0.0)
    few = recall(nearest(rows, 4, search="approximate")[1], true)
    monkeypatch.setattr(nearest_graph, "ENOUGH", 0.98)
    enough = recall(nearest(rows, 4, search="approximate")[1], true)
    assert few < 0.92
    assert enough > 0.96


def test_too_few_neighbours_are_told(monkeypatch):
    pytest.importorskip("faiss")
    rows = np.random.default_rng(0).normal(size=(3_000, 60))
    monkeypatch.setattr(module, "SLACK", 0)
    for name, value in {"BREADTH": 4, "LINKS": 2, "WIDER": (1,)}.items():
        monkeypatch.setattr(nearest_graph, name, value)
    with pytest.warns(MissedNeighboursWarning, match=r"about (\d+)%") as told:
        found = nearest(rows, 4, search="approximate")[1]
    said = float(str(told[0].message).split("about ")[1].split("%")[0]) / 100
    assert abs(1 - recall(found, nearest(rows, 4)[1]) - said) < 0.05


def test_rows_that_a_graph_loses_are_searched_exactly(monkeypatch):
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)  # clusters far apart, and few links between them
    rows = 3 * rng.normal(size=(60, 300))[np.arange(3_000) % 60]
    rows += rng.normal(size=rows.shape)
    for name, value in {"LINKS": 2, "BREADTH": 24, "ENOUGH": 0.0}.items():
        monkeypatch.setattr(nearest_graph, name, value)
    true, shares = nearest(rows, 4)[1], []
    for most in (-1.0, 1.0):  # none are mended, all are
        monkeypatch.setattr(nearest_graph, "MOST_LOST", most)
        shares.append(recall(nearest(rows, 4, search="approximate")[1], true))
    assert shares[0] < 0.7
    assert shares[1] > 0.8


def test_equal_rows_are_not_lost(monkeypatch):
    """Each finds others in its place, though not always itself."""
    pytest.importorskip("faiss")
    rows = np.repeat(np.random.default_rng(0).normal(size=(20, 6)), 150, axis=0)
    graph = nearest_graph.Graph(rows.astype(np.float32), module.faiss())
    numbers, lost = graph.search(graph.others, 5, np.arange(len(rows)), 60)
    assert not lost.any()
    assert (numbers // 150 == np.arange(len(rows))[:, None] // 150).all()
