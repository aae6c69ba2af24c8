"""EM-Dirichlet: densities, steps and names against scipy and brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import dirichlet

from tests.checks import close
from unseen import EMDirichlet
from unseen.transduction.em_dirichlet import cluster_scores, objective, update_alpha


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    z = np.vstack(
        [rng.dirichlet(a, size=15) for a in ([4.0, 1, 0.5], [1, 1, 6], [0.7, 3, 2])]
    )
    return z, rng.dirichlet(np.ones(3), size=len(z))


def test_many_steps_reach_the_most_likely_distributions(small):
    z, u = small
    found = update_alpha(np.ones((3, 3)), u, np.log(z), 3000)
    for k in range(3):

        def loss(log_a, k=k):
            return -u[:, k] @ dirichlet.logpdf(z.T, np.exp(log_a))

        best = minimize(loss, np.zeros(3), tol=1e-12)
        close(found[k], np.exp(best.x), digits=3)


def test_soft_labels_are_the_minimum_of_a_bound_that_touches(small):
    """The term of the cluster sizes is concave: its tangent bounds it from above."""
    z, u = small
    alpha, w, n = np.array([[4.0, 1, 0.5], [1, 1, 6], [0.7, 3, 2]]), 1.5, len(z)
    scores = cluster_scores(np.log(z), alpha, u, w)
    new = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    slope = -w * (np.log(u.mean(axis=0)) + 1)  # of -w n Σ π log π, in every row

    def bound(at):
        densities = np.column_stack([dirichlet.logpdf(z.T, a) for a in alpha])
        base = -w * n * np.sum(u.mean(axis=0) * np.log(u.mean(axis=0)))
        fit = -np.sum(at * densities) + np.sum(at * np.log(at))
        return fit + base + np.sum((at - u) @ slope)

    close(bound(u), objective(u, np.log(z), alpha, w, hard=False))
    assert bound(new) >= objective(new, np.log(z), alpha, w, hard=False)
    rng = np.random.default_rng(1)
    for _ in range(50):
        other = 0.95 * new + 0.05 * rng.dirichlet(np.ones(3), size=n)
        assert bound(other) > bound(new)


def test_the_preference_for_few_classes_empties_some():
    """Half of ten classes are there. The authors' weight is two; none is zero."""
    rng = np.random.default_rng(3)
    texts, truth = rng.normal(size=(10, 16)), np.arange(100) % 5
    X = texts[truth] + 1.5 * rng.normal(size=(100, 16))

    def used(w):
        settings = {"few_classes": w, "scale": 1.0, "n_steps": 100}
        model = EMDirichlet.from_prototypes(texts, **settings).adapt(X)
        return len(np.unique(model.labels_))

    assert used(None) == used(2.0)  # floor(10 / 5)
    assert used(0.0) > used(None) >= used(20.0)
