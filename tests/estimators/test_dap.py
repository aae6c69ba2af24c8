"""DAP and IAP: held-out classes for real, and the formula with probabilities."""

import numpy as np
import pytest

from tests.checks import close, make_data, refitted
from unseen import DAP, IAP
from unseen.core.sums import sum_rows
from unseen.models.dap import calibrate, solve_attributes


def attributes(data):
    table = data.class_embeddings
    seen = ~table.index.isin(data.unseen)
    return (table > table[seen].mean()).to_numpy(float), seen


def lampert(P, T, prior):
    """The log posterior of a class, attribute by attribute."""
    scores = np.zeros((len(P), len(T)))
    for c, t in enumerate(T):
        for a in range(len(t)):
            p = P[:, a] if t[a] else 1 - P[:, a]
            pi = prior[a] if t[a] else 1 - prior[a]
            scores[:, c] += np.log(p) - np.log(pi)
    return scores


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


def test_its_scores_are_the_log_posteriors_of_the_classes():
    data = make_data(1)
    model = DAP()
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
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


@pytest.mark.parametrize("lam, mu", [(0.3, 2.0), (5.0, 0.01)])
def test_the_refit_moves_predictors_and_keeps_their_calibration(lam, mu):
    data = make_data(1)
    model = DAP()
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    before = model.decision_function(data.X_unseen)
    labels = np.where(np.arange(len(before)) < 30, np.arange(len(before)) % 3, -1)
    B, codes, found, value = refitted(model, data.X_unseen, labels, 3, lam=lam, mu=mu)
    T, seen = attributes(data)
    stacked = np.vstack([lam**0.5 * B[:30], mu**0.5 * np.eye(16)])
    signs = 2 * T[~seen][labels[:30]] - 1
    target = np.vstack([lam**0.5 * signs, mu**0.5 * model.coef_])
    W = np.linalg.lstsq(stacked, target, rcond=None)[0]
    close(found, W, digits=9)
    close(value, np.sum((stacked @ W - target) ** 2))
    coef, offset = model._score(found, codes)
    expected = (B @ W - model.midpoints_) @ (T[~seen] * model.slopes_).T
    close(B @ coef.T + offset, expected, digits=9)


def test_iap_mixes_the_attributes_of_seen_classes():
    data = make_data(1)
    model = IAP(temperature=5.0)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    T, seen = attributes(data)
    P = np.clip(model.seen_posterior(data.X_unseen) @ T[seen], 1e-3, 1 - 1e-3)
    expected = lampert(P, T[~seen], T[seen].mean(axis=0))
    close(model.decision_function(data.X_unseen), expected, digits=9)
