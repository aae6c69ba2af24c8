"""EM-Dirichlet: densities, steps and names against scipy and brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import dirichlet

from tests.checks import close
from unseen import EMDirichlet
from unseen.transduction.em_dirichlet import update_alpha


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
