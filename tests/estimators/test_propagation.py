"""Labels that flow over graphs: the solver, PST, ZLaP, label spreading and TMV-HLP."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from tests.checks import close, fitted, make_data, start_from, unit
from unseen import ESZSL, ZLaP
from unseen.transduction import tmvhlp
from unseen.transduction.graph import propagate, symmetric_normalised
from unseen.transduction.pst import pst
from unseen.transduction.spread_labels import spread_labels
from unseen.transduction.tmvhlp import hypergraph, two_views
from unseen.transduction.zlap import zlap


def random_graph(rng, n, density=0.2):
    W = rng.random((n, n)) * (rng.random((n, n)) < density)
    W = W + W.T
    np.fill_diagonal(W, 0)
    return sparse.csr_array(W)


def start_of(data):
    model = fitted(ESZSL(), data)
    return start_from(model, data.X_unseen)


# ---- graphs and the solver -------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(0, 6), st.floats(0, 0.99), st.integers(0, 999))
def test_conjugate_gradients_equal_a_dense_solve(n, zeros, alpha, seed):
    rng = np.random.default_rng(seed)
    S = symmetric_normalised(random_graph(rng, n))
    L = rng.normal(size=(n, 5)) * rng.uniform(0.01, 100, size=5)
    L[:, : min(zeros, 5)] = 0
    expected = np.linalg.solve(np.eye(n) - alpha * S.toarray(), L)
    F = propagate(S, L, alpha, tol=1e-10)
    close(F, expected)


def test_a_solve_that_ran_out_of_steps_says_so():
    rng = np.random.default_rng(0)
    S = symmetric_normalised(random_graph(rng, 40))
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        propagate(S, rng.normal(size=(40, 3)), 0.99, max_iter=2)


# ---- PST -------------------------------------------------------------------------


def dense_neighbours(D, k):
    """Weights of the k nearest by distances D of all pairs, in plain NumPy."""
    near = np.argsort(D, axis=1)[:, :k]
    scale = np.median(np.take_along_axis(D, near, axis=1) ** 2)
    W = np.zeros(D.shape)
    for i, row in enumerate(near):
        W[i, row] = np.exp(-(D[i, row] ** 2) / scale)
    return W


def dense_graph(places, k):
    """The symmetric, normalised graph of neighbours, none its own."""
    W = dense_neighbours(cdist(places, places) + np.diag(np.full(len(places), 1e9)), k)
    W = W + W.T
    d = W.sum(axis=1)
    return W / np.sqrt(np.outer(d, d))


@pytest.mark.parametrize("space", ["scores", "rows"])
def test_pst_is_the_minimum_of_its_objective(space):
    start = start_of(make_data())
    scores = start.logits - start.logits.mean(axis=1, keepdims=True)
    S = dense_graph(scores if space == "scores" else start.rows, 6)
    outcome = pst(start, n_neighbors=6, alpha=0.8, space=space)
    E = np.exp(start.logits)
    L = E / E.sum(axis=1, keepdims=True)
    closed = 0.2 * np.linalg.solve(np.eye(len(L)) - 0.8 * S, L)
    close(outcome.scores, closed, digits=4)

    def objective(F):
        return 0.8 * np.trace(F.T @ (F - S @ F)) + 0.2 * ((F - L) ** 2).sum()

    close(outcome.rounds[0].objective, objective(closed), digits=3)
    assert objective(closed) < objective(L)


# ---- ZLaP ------------------------------------------------------------------------


def zlap_by_hand(X, texts, k, n_classes, gamma, alpha):
    """Dense, with every edge set by a loop."""
    X, T = (unit(M) for M in (X, texts))
    n, N = len(X), len(T)
    W = np.zeros((N + n, N + n))
    images, classes = X @ X.T, X @ T.T
    np.fill_diagonal(images, -np.inf)
    for i in range(n):
        for j in np.argsort(-images[i])[:k]:
            W[N + i, N + j] = max(images[i, j], 0)  # γ is for classes alone
        for c in np.argsort(-classes[i])[:n_classes]:
            W[N + i, c] = max(classes[i, c], 0) ** gamma
    W = W + W.T
    d = W.sum(axis=1)
    root = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    S, E = root[:, None] * W * root, np.eye(N + n, N)
    F = np.linalg.solve(np.eye(N + n) - alpha * S, E)
    return F[N:], np.trace(F.T @ (F - alpha * S @ F)) / 2 - np.trace(F.T @ E)


def clip_like(seed=0, n_classes=8, per_class=25, p=64, gap=10.0):
    """Images and texts on two cones: each kind has a direction of its own.

    As with CLIP, two images of any classes are more alike than an image and its text.
    """
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_classes, p))
    y = np.repeat(np.arange(n_classes), per_class)
    images = means[y] + 1.5 * rng.normal(size=(len(y), p))
    texts = means + 2.0 * rng.normal(size=means.shape)
    images = np.hstack([images, np.tile([gap, 0.0], (len(y), 1))])
    return np.hstack([texts, np.tile([0.0, gap], (n_classes, 1))]), images, y


@pytest.mark.parametrize(
    "k, n_classes, gamma, alpha",
    [(4, 5, 5.0, 0.3), (2, 3, 1.0, 0.9), (99, 99, 2.0, 0)],
)
def test_zlap_equals_a_dense_inverse(k, n_classes, gamma, alpha):
    texts, images, _ = clip_like(per_class=8, gap=2.0)
    start = start_from(ZLaP.from_prototypes(texts).estimator_, images)
    settings = {"n_neighbors": k, "n_classes": n_classes}
    scores, [done], *_ = zlap(start, **settings, gamma=gamma, alpha=alpha)
    if alpha == 0:  # no label leaves its class: all rows keep the start's
        assert_array_equal(scores.argmax(axis=1), start.scores.argmax(axis=1))
        return
    expected, value = zlap_by_hand(images, texts, k, n_classes, gamma, alpha)
    close(scores, expected, digits=4)
    close(done.objective, value, digits=4)


def test_rows_against_all_classes_keep_the_answer_of_the_base():
    """Negative cosines carry no label; such rows are counted."""
    texts = np.eye(2, 6)
    X = np.vstack([np.eye(2, 6), -np.ones((2, 6)) - 0.1 * np.eye(2, 6, 3)])
    model = ZLaP.from_prototypes(texts, n_neighbors=1).adapt(X)
    assert model.rounds_[0].note.startswith("2 rows were not reached")
    assert_array_equal(model.labels_[:2], [0, 1])
    assert_array_equal(model.labels_[2:], model.estimator_.predict(X[2:]))


# ---- label spreading -------------------------------------------------------------


def test_label_spreading_is_its_closed_form():
    """F = (1 - α)(I - αS)⁻¹ Y with scikit-learn's own graph, solved densely."""
    start = start_of(make_data())
    rate, k, alpha = 0.4, 5, 0.6
    outcome = spread_labels(start, rate=rate, n_neighbors=k, alpha=alpha)
    labels = start.scores.argmax(axis=1)
    ordered = np.sort(start.scores, axis=1)
    margins = ordered[:, -1] - ordered[:, -2]
    Y = np.zeros(start.scores.shape)
    for c in np.unique(labels):
        rows = np.flatnonzero(labels == c)
        kept = rows[np.argsort(-margins[rows])][: max(1, int(rate * len(rows)))]
        Y[kept, c] = 1
    assert outcome.rounds[0].n_selected == Y.sum()
    D = cdist(start.rows, start.rows)
    A = np.zeros(D.shape)
    for i, row in enumerate(np.argsort(D, axis=1)[:, :k]):  # the row itself among them
        A[i, row] = 1
    np.fill_diagonal(A, 0)
    into = np.sqrt(A.sum(axis=0))
    S = A / np.outer(np.where(into > 0, into, 1), np.where(into > 0, into, 1))
    F = np.linalg.solve(np.eye(len(D)) - alpha * S, Y)
    sums = F.sum(axis=1, keepdims=True)
    reached = sums[:, 0] > 0
    assert reached.mean() > 0.9
    close(outcome.scores[reached], (F / sums)[reached], within=0.01)


# ---- TMV-HLP ---------------------------------------------------------------------


def test_tmvhlp_is_one_solve():
    start = start_of(make_data())
    found, (views, _) = tmvhlp.tmvhlp(start, n_neighbors=5), two_views(start, 30)
    N = start.scores.shape[1]
    S = hypergraph(views, N, 5) @ np.eye(len(views[0]))
    F = 0.65 * np.linalg.inv(np.eye(len(S)) - 0.35 * S)
    close(found.scores, F[N:, :N], digits=4)
