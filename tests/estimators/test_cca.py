"""CCA: against scipy's generalized eigenproblem and scikit-learn."""

import numpy as np
import pytest
from scipy import linalg

from tests.checks import close, make_data, refitted
from unseen import CCA
from unseen.core.sums import sum_rows
from unseen.models.cca import regular_root, solve_cca


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(6), [5, 7, 6, 4, 9, 8])
    A = rng.normal(size=(6, 3))
    X = A[codes] @ rng.normal(size=(3, 4)) + rng.normal(size=(39, 4))
    A = A - A[codes].mean(axis=0)
    return X - X.mean(axis=0), codes, A


def test_without_regularisation_it_is_the_block_eigenproblem(small):
    X, codes, A = small
    rows = A[codes]
    both = np.hstack([X, rows])
    C_all = both.T @ both
    C_diag = linalg.block_diag(X.T @ X, rows.T @ rows)
    mu = linalg.eigh(C_all, C_diag, eigvals_only=True)[::-1][:3]
    _, _, rho = solve_cca(sum_rows(X, codes, 6), A, 1e-13)
    close(1 + rho, mu, digits=8)


def test_regularisation_adds_to_both_covariances(small):
    X, codes, A = small
    n, rows = len(X), A[codes]
    C_xx, C_aa, C_xa = X.T @ X / n, rows.T @ rows / n, X.T @ rows / n
    C_xx = C_xx + 0.3 * np.trace(C_xx) / 4 * np.eye(4)
    C_aa = C_aa + 0.3 * np.trace(C_aa) / 3 * np.eye(3)
    zeros = np.zeros((4, 4)), np.zeros((3, 3))
    rho = linalg.eigh(
        np.block([[zeros[0], C_xa], [C_xa.T, zeros[1]]]),
        linalg.block_diag(C_xx, C_aa),
        eigvals_only=True,
    )[::-1][:3]
    close(solve_cca(sum_rows(X, codes, 6), A, 0.3)[2], rho, digits=9)


def test_the_answer_is_the_largest_cosine():
    data = make_data()
    model = CCA(power=2.0)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    X = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    A = data.class_embeddings.loc[data.unseen].to_numpy()
    A = A / np.linalg.norm(A, axis=1, keepdims=True) - model.embedding_mean_
    weights = model.correlations_**2
    x = (X - model.mean_) @ model.axes_ @ model.x_weights_ * weights
    a = A @ model.embedding_weights_ * weights
    cosine = (x / np.linalg.norm(x, axis=1, keepdims=True)) @ (
        a / np.linalg.norm(a, axis=1, keepdims=True)
    ).T
    expected = data.unseen[cosine.argmax(axis=1)]
    assert (model.predict(data.X_unseen) == expected).all()


@pytest.mark.parametrize("lam, mu", [(0.3, 2.0), (5.0, 0.01)])
def test_the_refit_is_the_minimum_of_its_objective(lam, mu):
    data = make_data()
    model = CCA()
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    labels = np.random.default_rng(0).integers(3, size=len(data.X_unseen))
    labels[1::2] = -1  # not kept
    kept = labels >= 0
    before = model._state()
    B, Z, found, value = refitted(model, data.X_unseen, labels, 3, lam=lam, mu=mu)
    stacked = np.vstack([lam**0.5 * B[kept], mu**0.5 * np.eye(len(before))])
    target = np.vstack([lam**0.5 * Z[labels[kept]], mu**0.5 * before])
    P, *_ = np.linalg.lstsq(stacked, target, rcond=None)
    close(found, P, digits=9)
    close(value, np.sum((stacked @ P - target) ** 2), digits=9)


def test_a_covariance_that_rounding_made_negative_is_taken_as_its_positive_part():
    axes = linalg.orth(np.random.default_rng(0).normal(size=(4, 4)))
    C = (axes * [4.0, 1.0, 0.25, -1e-3]) @ axes.T
    L = regular_root(C, 1e-5, 4)  # too small a ridge to lift the last axis
    positive = (axes * [4.0, 1.0, 0.25, 0.0]) @ axes.T
    ridge = 1e-5 * 5.25 / 4 * np.eye(4)
    close(L @ L.T, positive + ridge, digits=10)
    close(L, np.tril(L))
