"""BiDiLEL: both directions and both moves against other means."""

from itertools import permutations

import numpy as np
from numpy.testing import assert_array_equal
from scipy.linalg import eigh
from sklearn.cluster import KMeans

from tests.checks import close, make_data, unit
from unseen import BiDiLEL
from unseen.core.sums import sum_rows
from unseen.transduction.bidilel import discriminant_axes


def test_bottom_up_is_locality_preserving_on_the_graph_of_classes():
    """Rows of a class are joined by 1/n_c; D - W is the Laplacian, D the identity."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(3), [5, 8, 4])
    X = rng.normal(size=(17, 4)) + rng.normal(size=(3, 4))[codes]
    W = (codes[:, None] == codes) / np.bincount(codes)[codes]
    laplacian = X.T @ (np.eye(17) - W) @ X
    ridge = 0.7 * np.trace(laplacian) / 4
    theirs = eigh(X.T @ X, laplacian + ridge * np.eye(4))[1][:, :-3:-1]
    ours = discriminant_axes(sum_rows(X, codes, 3), 0.7, 2)
    theirs *= np.sign(np.sum(ours * theirs, axis=0))
    close(ours, theirs)


def fitted(data, **parameters):
    model = BiDiLEL(8, **parameters)
    return model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)


def test_structured_gives_clusters_to_landmarks_one_to_one():
    data = make_data()
    model = fitted(data, transduction="structured").adapt(data.X_unseen)
    X = unit(data.X_unseen)
    rows = (X - model.mean_) @ model.axes_ @ model.components_
    rows = unit(rows)
    b = fitted(data)._landmarks(model._default)
    centres = KMeans(3, init=b, n_init=1, tol=0).fit(rows).cluster_centers_
    best = min(
        permutations(range(3)),
        key=lambda p: sum(np.linalg.norm(b[c] - centres[p[c]]) for c in range(3)),
    )
    moved = centres[list(best)]
    moved = unit(moved)
    expected = data.unseen[(rows @ moved.T).argmax(axis=1)]
    assert_array_equal(model.labels_, expected)
