"""DeViSE, ALE, SJE, LatEm: losses by hand, gradients by differences, stopping."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning

from tests.checks import close, fitted, make_data
from unseen import ALE, SJE, DeViSE, LatEm, SelfTraining


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(3, 4)),
        rng.normal(size=(12, 3)),
        rng.integers(5, size=12),
        rng.normal(size=(5, 4)),
    )


def loss_by_hand(kind, W, X, y, A, margin):
    total = 0.0
    for x, own in zip(X, y, strict=True):
        v = [margin + x @ W @ (A[c] - A[own]) for c in range(len(A)) if c != own]
        v = [max(0.0, one) for one in v]
        r = sum(one > 0 for one in v)
        if kind is DeViSE:
            total += sum(v)
        elif kind is SJE:
            total += max(v)
        elif r:
            total += sum(1 / j for j in range(1, r + 1)) / r * sum(v)
    return total / len(X)


@pytest.mark.parametrize("kind", [DeViSE, ALE, SJE])
@pytest.mark.parametrize("margin", [0.5, 2.0])
def test_a_step_follows_the_gradient_of_the_loss_as_written(small, kind, margin):
    W, X, y, A = small

    def loss(w):
        return loss_by_hand(kind, w.reshape(W.shape), X, y, A, margin)

    value, slope = kind(margin=margin)._step(W[None], X, y, A, None)
    close(value, loss(W.ravel()))
    expected = approx_fprime(W.ravel(), loss, 1e-7).reshape(W.shape)
    close(slope[0], expected, digits=5)


@pytest.mark.parametrize("n_maps", [1, 3])
def test_a_step_of_latem_follows_the_gradient_of_the_loss_as_written(small, n_maps):
    _, X, y, A = small
    maps = np.random.default_rng(0).normal(size=(n_maps, 3, 4))
    wrong = np.random.RandomState(7).randint(4, size=12)
    wrong += wrong >= y

    def loss(w):
        maps_ = w.reshape(maps.shape)
        own, other = (
            np.max([np.sum(X @ W * A[c], axis=1) for W in maps_], axis=0)
            for c in (y, wrong)
        )
        return np.maximum(0, 1 + other - own).mean()

    value, slope = LatEm(n_maps)._step(maps, X, y, A, np.random.RandomState(7))
    close(value, loss(maps.ravel()))
    expected = approx_fprime(maps.ravel(), loss, 1e-7).reshape(maps.shape)
    close(slope, expected, digits=5)


def test_one_map_of_latem_self_trains_and_several_do_not_pretend_to():
    data = make_data()
    model = SelfTraining(LatEm(1, max_iter=5, validation_fraction=0))
    fitted(model, data)
    labels = model.adapt(data.X_unseen).labels_
    assert_array_equal(model.predict(data.X_unseen), labels)
    assert not hasattr(LatEm(2), "adapt")
    with pytest.raises(TypeError, match=r"which LatEm\(.*\) lacks"):
        SelfTraining(LatEm(2)).fit(data.X_seen, data.y_seen)


def test_the_number_of_epochs_is_that_of_the_best_on_held_out_classes():
    data = make_data()
    model = SJE()
    fitted(model, data)
    assert 1 <= model.n_iter_ == len(model.history_) <= 100
    again = SJE(max_iter=model.n_iter_, validation_fraction=0)
    fitted(again, data)
    assert_array_equal(again.coef_, model.coef_)


def test_it_says_when_held_out_classes_still_gained():
    data = make_data()
    model = ALE(1e-3, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 epochs"):
        fitted(model, data)


def test_the_scale_of_rows_and_embeddings_does_not_matter():
    data = make_data()
    answers = [
        DeViSE(unit_rows=False)
        .fit(s * data.X_seen, data.y_seen, class_embeddings=t * data.class_embeddings)
        .decision_function(s * data.X_unseen)
        for s, t in [(1, 1), (64, 0.25)]
    ]
    close(*answers, digits=8)
