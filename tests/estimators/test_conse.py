"""ConSE: its posterior against LDA's density, its mixture against a loop."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tests.checks import close, make_data
from unseen import ConSE


def fitted(**parameters):
    data = make_data()
    model = ConSE(**parameters)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    return data, model


@pytest.mark.parametrize("n_axes", ["all", 16])
def test_the_posterior_is_bayes_rule_for_gaussians_of_one_covariance(n_axes):
    data, model = fitted(temperature=1.0, shrinkage=0.2, n_axes=n_axes)
    X = data.X_seen / np.linalg.norm(data.X_seen, axis=1, keepdims=True)
    names = np.unique(data.y_seen)
    own = [X[data.y_seen == c] for c in names]
    within = sum((x - x.mean(axis=0)).T @ (x - x.mean(axis=0)) for x in own) / len(X)
    within += 0.2 * np.trace(within) / 16 * np.eye(16)
    new = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    density = np.column_stack(
        [len(x) * multivariate_normal(x.mean(axis=0), within).pdf(new) for x in own]
    )
    expected = density / density.sum(axis=1, keepdims=True)
    close(model.seen_posterior(data.X_unseen), expected, digits=8)


@pytest.mark.parametrize("n_top", [1, 3, 50])
def test_a_row_is_the_mixture_of_its_most_probable_classes(n_top):
    data, model = fitted(n_top=n_top)
    table = data.class_embeddings.to_numpy()
    A = table / np.linalg.norm(table, axis=1, keepdims=True)
    seen = ~data.class_embeddings.index.isin(data.unseen)
    expected = []
    for q in model.seen_posterior(data.X_unseen):
        top = np.argsort(-q)[:n_top]
        e = sum(q[c] * A[seen][c] for c in top) / q[top].sum()
        expected.append(A[~seen] @ e / np.linalg.norm(e))
    close(model.decision_function(data.X_unseen), expected, digits=10)


def test_a_low_temperature_is_the_nearest_seen_class():
    data, model = fitted(temperature=1e-6)
    _, one = fitted(n_top=1)
    close(model.decision_function(data.X_unseen), one.decision_function(data.X_unseen))
