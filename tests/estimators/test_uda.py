"""The dictionary of Kodirov et al.: lasso, refit and objective by other means."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import softmax

from tests.checks import close, make_data
from unseen import KodirovUDA, RidgeToVisual
from unseen.core.around import sharpened
from unseen.transduction import uda
from unseen.transduction.uda import solve_codes


def made_up(seed=0):
    """Rows, where their codes are pulled to, and a dictionary."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s) for s in [(9, 5), (9, 4), (4, 5)]]


@pytest.fixture
def many_steps(monkeypatch):
    monkeypatch.setattr(uda, "FISTA_STEPS", 3000)


def test_codes_meet_the_conditions_of_the_lasso(many_steps):
    B, targets, D = made_up()
    Z = solve_codes(B, D, targets, targets, 0.5, 2.0)
    gradient = 2 * (Z @ D - B) @ D.T + 2 * 0.5 * (Z - targets)
    zero = Z == 0
    assert zero.any() and not zero.all()
    assert (np.abs(gradient[zero]) <= 2.0 + 1e-6).all()
    close(gradient[~zero], -2.0 * np.sign(Z[~zero]), digits=6)


def test_the_codes_are_a_generic_minimum(many_steps):
    """|z| is a + b with z = a - b and both at least 0: smooth, with bounds."""
    B, targets, D = made_up()

    def value(ab):
        a, b = ab.reshape(2, 4)
        z = a - b
        fit = np.sum((B[0] - z @ D) ** 2) + 0.5 * np.sum((z - targets[0]) ** 2)
        return fit + 0.4 * ab.sum()

    best = minimize(value, np.ones(8), bounds=[(0, None)] * 8, tol=1e-14)
    a, b = best.x.reshape(2, 4)
    close(solve_codes(B, D, targets, targets, 0.5, 0.4)[0], a - b, digits=4)


def test_soft_labels_enter_as_the_head_says():
    """Σ_ij w_ij |z_i - t_j|² is |z - w T|² and a constant."""
    rng = np.random.default_rng(0)
    w, T = rng.dirichlet(np.ones(3), size=7), rng.normal(size=(3, 4))
    first, second = (rng.normal(size=(7, 4)) for _ in range(2))

    def written_out(Z):
        return sum(
            w[i, j] * np.sum((Z[i] - T[j]) ** 2) for i in range(7) for j in range(3)
        )

    difference = np.sum((first - w @ T) ** 2) - np.sum((second - w @ T) ** 2)
    close(written_out(first) - written_out(second), difference)


def test_rounds_alternate_between_two_least_squares():
    data, near, pull = make_data(), 3.0, 0.5
    table = data.class_embeddings
    model = KodirovUDA(whitening=None, near=near, pull=pull, n_rounds=3)
    model.fit(data.X_seen, data.y_seen, class_embeddings=table).adapt(data.X_unseen)
    X, A = (
        M / np.linalg.norm(M, axis=1, keepdims=True)
        for M in (data.X_unseen, table.loc[data.unseen].to_numpy())
    )
    B, A = (X - X.mean(axis=0)) @ model.axes_, A - A.mean(axis=0)
    seen = D = model.coef_.T
    targets = softmax(sharpened(-cdist(B, A @ D, "sqeuclidean") / 2), axis=1) @ A

    def least_squares(left, right, weight, to):
        """Minimise |right - S left|² + weight |S - to|² over S."""
        left = np.hstack([left, weight**0.5 * np.eye(len(left))])
        return np.linalg.lstsq(
            left.T, np.hstack([right, weight**0.5 * to]).T, rcond=None
        )[0].T

    for done in model.rounds_:
        Z = least_squares(D, B, pull, targets)
        D = least_squares(Z.T, B.T, near, seen.T).T
        value = np.sum((B - Z @ D) ** 2) + near * np.sum((D - seen) ** 2)
        close(done.objective, value + pull * np.sum((Z - targets) ** 2))
        cosines = Z @ (A / np.linalg.norm(A, axis=1, keepdims=True)).T
        assert_array_equal(done.labels, data.unseen[cosines.argmax(axis=1)])


def test_a_dictionary_that_may_not_move_predicts_like_the_ridge():
    data = make_data()
    table = {"class_embeddings": data.class_embeddings}
    model = KodirovUDA(near=1e9, whitening=None).fit(data.X_seen, data.y_seen, **table)
    base = RidgeToVisual().fit(data.X_seen, data.y_seen, **table)
    assert_array_equal(model.predict(data.X), base.predict(data.X))
    model.adapt(data.X_unseen), base.adapt(data.X_unseen)
    assert_array_equal(model.predict(data.X_unseen), base.labels_)


def test_labels_are_the_classes_whose_embeddings_point_like_the_codes():
    data = make_data()
    # So strong a pull makes codes the soft mean of the embeddings.
    model = KodirovUDA(pull=1e9, whitening=None)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    model.adapt(data.X_unseen)
    A = data.class_embeddings.loc[data.unseen].to_numpy()
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    A = A - A.mean(axis=0)
    base = RidgeToVisual().fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )
    scores = base.adapt(data.X_unseen).decision_function(data.X_unseen)
    scores = scores - scores.mean(axis=1, keepdims=True)
    w = np.exp(3 * scores / np.sqrt(np.mean(scores**2)))
    codes = w / w.sum(axis=1, keepdims=True) @ A
    cosines = codes @ (A / np.linalg.norm(A, axis=1, keepdims=True)).T
    assert_array_equal(model.labels_, data.unseen[cosines.argmax(axis=1)])
