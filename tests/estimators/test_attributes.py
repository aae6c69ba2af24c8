"""DAP, IAP and ConSE: held-out classes for real, posteriors and mixtures by hand."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tests.checks import close, make_data, refitted, unit
from unseen import DAP, IAP, ConSE
from unseen.core.sums import sum_rows
from unseen.models.dap import calibrate, solve_attributes


def fitted(model, seed=0):
    data = make_data(seed)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    return data, model


def attributes(data):
    table = data.class_embeddings
    seen = ~table.index.isin(data.unseen)
    return (table > table[seen].mean()).to_numpy(float), seen


def lampert(P, T, prior):
    """The log posterior of a class, attribute by attribute."""
    P, T = P[:, None], T[None] > 0
    return np.sum(np.log(np.where(T, P / prior, (1 - P) / (1 - prior))), axis=2)


@pytest.mark.parametrize("lam", [0.01, 3.0])
def test_scores_of_a_held_out_class_are_those_without_its_mean(lam):
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(6), [5, 7, 6, 4, 9, 8])
    X = rng.normal(size=(39, 4)) + rng.normal(size=(6, 4))[codes]
    X -= X.mean(axis=0)
    U = np.sign(rng.normal(size=(6, 3)))
    U[:2], U[2:4] = 1, -1  # two classes at least on either side
    W, held_out = solve_attributes(sum_rows(X, codes, 6), U, lam, diagonal=False)
    close(W, np.linalg.solve(X.T @ X + lam * np.eye(4), X.T @ U[codes]))
    for c in range(6):
        # Without class c but for its scatter inside: rows x - m_c with no target.
        own = codes == c
        mean = X[own].mean(axis=0)
        rows, targets = X.copy(), U[codes]
        rows[own] -= mean
        targets[own] = 0
        without = np.linalg.solve(rows.T @ rows + lam * np.eye(4), rows.T @ targets)
        close(held_out[c], mean @ without, digits=10)


def test_scores_of_dap_are_the_log_posteriors_of_the_classes():
    data, model = fitted(DAP(), 1)
    T, seen = attributes(data)
    P = model.attribute_posterior(data.X_unseen)
    expected = lampert(P, T[~seen], T[seen].mean(axis=0))
    scores = model.decision_function(data.X_unseen)
    # A term that all classes share is left out.
    close(scores - scores[:, :1], expected - expected[:, :1], digits=9)


def test_an_attribute_that_does_not_carry_over_counts_for_nothing():
    scores = np.array([[1.0, -1.0], [0.5, -0.5], [-0.6, 0.4], [-0.8, 0.9]])
    T = np.array([[1.0, 1], [1, 1], [0, 0], [0, 0]])
    slopes, midpoints = calibrate(scores, T, np.array([0.1, 0.1]))
    assert slopes[0] > 0 and slopes[1] == 0
    variance = 0.1 + np.mean([0.25**2, 0.25**2, 0.1**2, 0.1**2]) + 1e-6 * 1.45**2
    close(slopes[0], 1.45 / variance)
    close(midpoints[0], (0.75 - 0.7) / 2)


def test_a_refit_keeps_the_calibration():
    data, model = fitted(DAP(), 1)
    labels = np.arange(len(data.X_unseen)) % 3
    B, codes, W, _ = refitted(model, data.X_unseen, labels, 3, lam=0.3, mu=2.0)
    T, seen = attributes(data)
    coef, offset = model._score(W, codes)
    expected = (B @ W - model.midpoints_) @ (T[~seen] * model.slopes_).T
    close(B @ coef.T + offset, expected, digits=9)


def test_iap_mixes_the_attributes_of_seen_classes():
    data, model = fitted(IAP(temperature=5.0), 1)
    T, seen = attributes(data)
    P = np.clip(model.seen_posterior(data.X_unseen) @ T[seen], 1e-3, 1 - 1e-3)
    expected = lampert(P, T[~seen], T[seen].mean(axis=0))
    close(model.decision_function(data.X_unseen), expected, digits=9)


@pytest.mark.parametrize("n_axes", ["all", 16])
def test_the_posterior_is_bayes_rule_for_gaussians_of_one_covariance(n_axes):
    data, model = fitted(ConSE(temperature=1.0, shrinkage=0.2, n_axes=n_axes))
    X = unit(data.X_seen)
    own = [X[data.y_seen == c] for c in np.unique(data.y_seen)]
    within = sum((x - x.mean(axis=0)).T @ (x - x.mean(axis=0)) for x in own) / len(X)
    within += 0.2 * np.trace(within) / 16 * np.eye(16)
    new = unit(data.X_unseen)
    density = np.column_stack(
        [len(x) * multivariate_normal(x.mean(axis=0), within).pdf(new) for x in own]
    )
    expected = density / density.sum(axis=1, keepdims=True)
    close(model.seen_posterior(data.X_unseen), expected, digits=8)


@pytest.mark.parametrize("n_top", [1, 3, 50])
def test_a_row_is_the_mixture_of_its_most_probable_classes(n_top):
    data, model = fitted(ConSE(n_top))
    table = data.class_embeddings.to_numpy()
    A = unit(table)
    seen = ~data.class_embeddings.index.isin(data.unseen)
    expected = []
    for q in model.seen_posterior(data.X_unseen):
        top = np.argsort(-q)[:n_top]
        e = q[top] @ A[seen][top] / q[top].sum()
        expected.append(A[~seen] @ e / np.linalg.norm(e))
    close(model.decision_function(data.X_unseen), expected, digits=10)
