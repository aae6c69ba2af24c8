"""ESZSL, ridges, SAE and CCA: solved at once, against solvers of the whole problem."""

import numpy as np
import pytest
from scipy import linalg

from tests.checks import close, fitted, make_data, refitted, unit
from tests.oracles import minimise
from unseen import CCA, DAP, ESZSL, SAE, LatEm, RidgeToSemantic, RidgeToVisual
from unseen.core.linalg import solve_on_axes
from unseen.core.sums import label_products, sum_rows
from unseen.models.cca import solve_cca
from unseen.models.eszsl import solve_eszsl, solve_silencing
from unseen.models.ridge import solve_to_visual
from unseen.models.sae import solve_sae


@pytest.fixture
def small():
    """Centred rows, the numbers of their classes, and embeddings centred over rows."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(6), [5, 7, 6, 4, 9, 8])
    A = rng.normal(size=(6, 3))
    X = A[codes] @ rng.normal(size=(3, 4)) + rng.normal(size=(39, 4))
    return X - X.mean(axis=0), codes, A - A[codes].mean(axis=0)


def as_met(model, data):
    """Unseen rows on the axes and embeddings, centred by the seen means."""
    A = unit(data.class_embeddings.loc[data.unseen].to_numpy())
    X = (unit(data.X_unseen) - model.mean_) @ model.axes_
    return X, A - model.embedding_mean_


def least_squares(inputs, outputs, lam=0.0):
    """The map of inputs to outputs, with a ridge."""
    k = inputs.shape[1]
    stacked = np.vstack([inputs, lam**0.5 * np.eye(k)])
    target = np.vstack([outputs, np.zeros((k, outputs.shape[1]))])
    return np.linalg.lstsq(stacked, target, rcond=None)[0]


# ---- the minimum of the objective --------------------------------------------------


@pytest.mark.parametrize("gamma, lam", [(1e-2, 1.0), (10.0, 1e-3), (3.0, 3.0)])
@pytest.mark.parametrize("coding", ["one_hot", "signed"])
def test_eszsl_is_the_minimum_of_its_objective(small, gamma, lam, coding):
    X, codes, A = small
    Y = np.eye(6)[codes] * (2 if coding == "signed" else 1) - (coding == "signed")
    p, q = X.shape[1], A.shape[1]
    terms = [
        np.kron(X, A),
        gamma**0.5 * np.kron(np.eye(p), A),
        lam**0.5 * np.kron(X, np.eye(q)),
        (gamma * lam) ** 0.5 * np.eye(p * q),
    ]
    target = np.zeros(sum(map(len, terms)))
    target[: Y.size] = Y.ravel()
    W = np.linalg.lstsq(np.vstack(terms), target, rcond=None)[0].reshape(p, q)
    XtX, XtY, *_ = label_products(sum_rows(X, codes, 6), coding)
    close(solve_eszsl(XtX, XtY, A, gamma, lam, diagonal=False), W, digits=10)


@pytest.mark.parametrize("diagonal", [True, False])
def test_eszsl_with_lengths_in_place_of_squares_ends_at_the_minimum(diagonal):
    """Of twelve dimensions only the first three tell; the objective is convex."""
    rng = np.random.default_rng(5)
    A, y = rng.normal(size=(8, 12)), np.arange(240) % 8
    X = A[y][:, :3] @ rng.normal(size=(3, 6)) + 0.3 * rng.normal(size=(240, 6))
    X = X @ np.linalg.svd(X, full_matrices=False)[2].T if diagonal else X
    gamma, lam, Y = 2.0, 20.0, np.eye(8)[y]

    def objective(W):
        fit = np.sum((X @ W @ A.T - Y) ** 2) + gamma * np.sum((W @ A.T) ** 2)
        squares = np.sum((X @ W) ** 2, axis=0) + gamma * np.sum(W**2, axis=0)
        return fit + lam * np.sum(np.sqrt(squares))

    products = label_products(sum_rows(X, y, 8), "one_hot")[:2]
    W = solve_silencing(*products, A, gamma, lam, diagonal=diagonal)
    least = objective(W)
    for size in (1e-1, 1e-2, 1e-3):  # no step in any direction leads lower
        for _ in range(50):
            other = W + size * np.abs(W).max() * rng.normal(size=W.shape)
            assert objective(other) > least - 1e-3 * size
    assert least < objective(solve_eszsl(*products, A, gamma, lam, diagonal=diagonal))


@pytest.mark.parametrize("lam", [1e-3, 0.5, 30.0])
def test_ridges_are_least_squares_on_the_rows(small, lam):
    X, codes, A = small
    sums, rows = sum_rows(X, codes, 6), A[codes]
    close(solve_to_visual(sums, A, lam), least_squares(rows, X, lam).T, digits=10)
    W = solve_on_axes(sums.gram, sums.class_sums.T @ A, lam, diagonal=False)
    close(W, least_squares(X, rows, lam), digits=10)


@pytest.mark.parametrize("lam", [0.05, 1.0, 40.0])
def test_sae_solves_the_sylvester_equation_and_the_objective(small, lam):
    X, codes, A = small
    rows = A[codes]
    W = solve_sae(sum_rows(X, codes, 6), A, lam, diagonal=False)
    left, right = lam * X.T @ X, (1 + lam) * X.T @ rows
    close(W, linalg.solve_sylvester(left, rows.T @ rows, right), digits=10)

    def objective(W):
        return np.sum((X - rows @ W.T) ** 2) + lam * np.sum((X @ W - rows) ** 2)

    close(W, minimise(objective, np.zeros((4, 3)), gtol=1e-6), digits=5)


@pytest.mark.parametrize("regularisation", [1e-13, 0.3])
def test_cca_is_the_block_eigenproblem(small, regularisation):
    X, codes, A = small
    n, rows = len(X), A[codes]
    C_xx, C_aa, C_xa = X.T @ X / n, rows.T @ rows / n, X.T @ rows / n
    C_xx = C_xx + regularisation * np.trace(C_xx) / 4 * np.eye(4)
    C_aa = C_aa + regularisation * np.trace(C_aa) / 3 * np.eye(3)
    between = np.block([[np.zeros((4, 4)), C_xa], [C_xa.T, np.zeros((3, 3))]])
    rho = linalg.eigh(between, linalg.block_diag(C_xx, C_aa), eigvals_only=True)
    P, R, found = solve_cca(sum_rows(X, codes, 6), A, regularisation)
    close(found, rho[::-1][:3], digits=8)
    close(P.T @ C_xx @ P, np.eye(3), digits=8)
    close(P.T @ C_xa @ R, np.diag(found), digits=8)


@pytest.mark.parametrize("lam, mu", [(0.3, 2.0), (5.0, 0.01)])
@pytest.mark.parametrize(
    "model",
    [ESZSL(), CCA(), RidgeToSemantic(), RidgeToVisual(), DAP(), SAE()],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:.*equal descriptions")
def test_the_refit_is_the_minimum_of_its_objective(model, lam, mu):
    data = make_data(1)
    before = fitted(model, data).coef_
    labels = np.random.default_rng(0).integers(3, size=len(data.X_unseen))
    labels[1::2] = -1  # not kept
    kept = labels >= 0
    B, Z, found, value = refitted(model, data.X_unseen, labels, 3, lam=lam, mu=mu)
    inputs, outputs = B[kept], Z[labels[kept]]
    if isinstance(model, RidgeToVisual | SAE):
        inputs, outputs, found, before = outputs, inputs, found.T, before.T
    k, m = before.shape
    terms = [lam**0.5 * np.kron(inputs, np.eye(m)), mu**0.5 * np.eye(k * m)]
    target = [lam**0.5 * outputs.ravel(), mu**0.5 * before.ravel()]
    if isinstance(model, ESZSL):
        terms.append(np.kron(inputs, Z))
        target.append(np.eye(3)[labels[kept]].ravel())
    terms, target = np.vstack(terms), np.concatenate(target)
    W = np.linalg.lstsq(terms, target, rcond=None)[0]
    close(found.ravel(), W, digits=8)
    close(value, np.sum((terms @ W - target) ** 2), digits=8)


# ---- scores ------------------------------------------------------------------------


def test_eszsl_scores_as_the_formula_on_the_rows_on_axes_or_features():
    data, gamma, lam = make_data(), 0.5, 0.7
    X, units = unit(data.X_seen), unit(data.class_embeddings.to_numpy())
    names = data.class_embeddings.index
    seen = ~names.isin(data.unseen)
    A = units - units[names.get_indexer(data.y_seen)].mean(axis=0)
    Y = (data.y_seen[:, None] == names[seen].to_numpy()) * 1.0
    Xc = X - X.mean(axis=0)
    left = np.linalg.inv(Xc.T @ Xc + gamma * np.eye(16))
    right = np.linalg.inv(A[seen].T @ A[seen] + lam * np.eye(7))
    W = left @ Xc.T @ Y @ A[seen] @ right
    expected = (unit(data.X_unseen) - X.mean(axis=0)) @ W @ A[~seen].T
    for n_axes in ("all", 16):
        model = fitted(ESZSL(gamma, lam, n_axes=n_axes), data)
        close(model.decision_function(data.X_unseen), expected, digits=10)


@pytest.mark.parametrize("n_maps", [1, 3])
def test_the_best_map_of_latem_scores(n_maps):
    data = make_data()
    model = fitted(LatEm(n_maps, max_iter=5, validation_fraction=0), data)
    X, A = as_met(model, data)
    expected = np.max([X @ W @ A.T for W in model.maps_], axis=0)
    close(model.decision_function(data.X_unseen), expected, digits=9)
