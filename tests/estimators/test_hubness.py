"""The four corrections of hubs and prototype averaging, against loops over rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import unseen
from tests.checks import unit


def with_a_hub(seed=0, n_classes=6, per_class=40, p=30):
    """Rows in clusters share a direction, and one prototype has too much of it."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_classes, p))
    shared = np.ones(p) / np.sqrt(p)
    y = np.repeat(np.arange(n_classes), per_class)
    X = means[y] + rng.normal(size=(len(y), p)) + 4 * shared
    prototypes = means + rng.normal(size=means.shape) + 2 * shared
    prototypes[0] += 6 * shared
    return prototypes, X, y


def cosines(X, prototypes):
    X, P = (unit(M) for M in (X, prototypes))
    return X @ P.T


def csls_by_hand(S, k):
    """The printed rule, r_x included."""
    r_c, r_x = (np.sort(M, axis=0)[-k:].mean(axis=0) for M in (S, S.T))
    return (2 * S - r_x[:, None] - r_c).argmax(axis=1)


def ranks_by_hand(S):
    ranks = np.array([[(S[:, c] > s).sum() for c, s in enumerate(row)] for row in S])
    best = ranks == ranks.min(axis=1, keepdims=True)
    return np.where(best, S, -np.inf).argmax(axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_each_rule_is_what_is_printed(seed):
    prototypes, X, _ = with_a_hub(seed)
    S = cosines(X, prototypes)
    E = np.exp(20 * (S - S.mean(axis=1, keepdims=True)))
    answers = [
        (unseen.CSLS, {"n_neighbors": 7}, csls_by_hand(S, 7)),
        (unseen.InvertedSoftmax, {"beta": 0.2}, (E / E.sum(axis=0)).argmax(axis=1)),
        (unseen.GlobalCorrection, {}, ranks_by_hand(S)),
        (unseen.NormalisedScores, {}, (S / np.sqrt((S**2).sum(axis=0))).argmax(axis=1)),
    ]
    for method, settings, labels in answers:
        model = method.from_prototypes(prototypes, **settings).adapt(X)
        assert_array_equal(model.labels_, labels)


# ---- prototype averaging --------------------------------------------------------


@pytest.mark.parametrize("k", [1, 5, 40, 10**6])
def test_prototypes_become_means_of_their_nearest_rows(k):
    prototypes, X, _ = with_a_hub()
    S = cosines(X, prototypes)
    units = unit(X)
    most = min(k, 40)  # rows of a class: prototypes stay apart
    moved = [units[np.argsort(-s)[:most]].mean(axis=0) for s in S.T]
    model = unseen.PrototypeAveraging.from_prototypes(prototypes, n_neighbors=k).adapt(
        X
    )
    assert_array_equal(model.labels_, cosines(X, np.array(moved)).argmax(axis=1))
