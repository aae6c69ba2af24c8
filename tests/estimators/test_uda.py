"""The dictionary of Kodirov et al.: codes, refit and objective by other means."""

import numpy as np
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from scipy.special import softmax

from tests.checks import close, make_data, unit
from unseen import KodirovUDA, RidgeToVisual
from unseen.core.start import sharpened


def test_rounds_alternate_between_two_least_squares():
    data, near, pull = make_data(), 3.0, 0.5
    table = data.class_embeddings
    model = KodirovUDA(whitening=None, near=near, pull=pull, n_rounds=3)
    model.fit(data.X_seen, data.y_seen, class_embeddings=table).adapt(data.X_unseen)
    X, A = (unit(M) for M in (data.X_unseen, table.loc[data.unseen].to_numpy()))
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
        cosines = Z @ (unit(A)).T
        assert_array_equal(done.labels, data.unseen[cosines.argmax(axis=1)])


def test_a_dictionary_that_may_not_move_predicts_like_the_ridge():
    data = make_data()
    table = {"class_embeddings": data.class_embeddings}
    model = KodirovUDA(near=1e9, whitening=None).fit(data.X_seen, data.y_seen, **table)
    base = RidgeToVisual().fit(data.X_seen, data.y_seen, **table)
    assert_array_equal(model.predict(data.X), base.predict(data.X))
    model.adapt(data.X_unseen), base.adapt(data.X_unseen)
    assert_array_equal(model.predict(data.X_unseen), base.labels_)
