"""OTTER: the plan against Sinkhorn, and labels against a given prior."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from tests.checks import close
from unseen import OTTER
from unseen.transduction.otter import transport_prices


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    L = log_softmax(3 * rng.normal(size=(24, 4)), axis=1)
    return L, np.array([0.5, 0.25, 0.125, 0.125])


def sinkhorn_plan(L, prior, epsilon):
    K = np.exp(L / epsilon)
    v = np.ones(len(prior))
    for _ in range(20000):
        u = (1 / len(K)) / (K @ v)
        v = prior / (K.T @ u)
    return u[:, None] * K * v


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_plan_is_that_of_sinkhorn(small, epsilon):
    L, prior = small
    scores = L + transport_prices(L, prior, epsilon)
    plan = softmax(scores / epsilon, axis=1) / len(L)
    close(plan, sinkhorn_plan(L, prior, epsilon), digits=3)
    close(plan.sum(axis=0), prior, digits=4)


def test_labels_follow_a_given_prior_whatever_the_start_says():
    rng = np.random.default_rng(0)
    texts = rng.normal(size=(3, 10))
    X = rng.normal(size=(60, 10)) + 2 * texts[0]  # the start sees one class
    prior = np.array([10.0, 30.0, 20.0])
    model = OTTER.from_prototypes(texts, class_prior=prior).adapt(X)
    sizes = np.bincount(model.labels_, minlength=3)
    assert np.abs(sizes - prior).max() <= 1
    with pytest.raises(ValueError, match=r"class_prior has shape \(2,\).* 3 competing"):
        OTTER.from_prototypes(texts, class_prior=[0.5, 0.5]).adapt(X)
