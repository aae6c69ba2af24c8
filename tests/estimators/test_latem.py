"""LatEm: its gradient by differences, and one map is a bilinear model."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import approx_fprime

from tests.checks import close, make_data
from unseen import LatEm, SelfTraining
from unseen.models.latem import latent_step


def fitted(n_maps, **parameters):
    data = make_data()
    model = LatEm(n_maps, **parameters)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    return data, model


def on_axes(data, model):
    X = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    A = data.class_embeddings.loc[data.unseen].to_numpy()
    A = A / np.linalg.norm(A, axis=1, keepdims=True) - model.embedding_mean_
    return (X - model.mean_) @ model.axes_, A


@pytest.mark.parametrize("n_maps", [1, 3])
def test_a_step_follows_the_gradient_of_the_loss_as_written(n_maps):
    rng = np.random.default_rng(0)
    maps, X = rng.normal(size=(n_maps, 3, 4)), rng.normal(size=(9, 3))
    own, wrong = rng.normal(size=(2, 9, 4))

    def loss(w):
        total = 0.0
        for x, a, b in zip(X, own, wrong, strict=True):
            to_own, to_wrong = (
                max(x @ W @ e for W in w.reshape(maps.shape)) for e in (a, b)
            )
            total += max(0.0, 1 + to_wrong - to_own)
        return total / len(X)

    value, slope = latent_step(maps, X, own, wrong, 1.0)
    close(value, loss(maps.ravel()))
    expected = approx_fprime(maps.ravel(), loss, 1e-7).reshape(maps.shape)
    close(slope, expected, digits=5)


@pytest.mark.parametrize("n_maps", [1, 2, 5])
def test_the_best_map_scores(n_maps):
    data, model = fitted(n_maps)
    X, A = on_axes(data, model)
    expected = np.max([X @ W @ A.T for W in model.maps_], axis=0)
    close(model.decision_function(data.X_unseen), expected, digits=9)


def test_one_map_self_trains_and_several_do_not_pretend_to():
    data = make_data()
    model = SelfTraining(LatEm(1))
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    labels = model.adapt(data.X_unseen).labels_
    assert_array_equal(model.predict(data.X_unseen), labels)
    assert not hasattr(LatEm(2), "adapt")
    with pytest.raises(TypeError, match=r"which LatEm\(.*\) lacks"):
        SelfTraining(LatEm(2)).fit(data.X_seen, data.y_seen)
