"""The four corrections of hubs and prototype averaging, against loops over rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unseen import (
    CSLS,
    GlobalCorrection,
    InvertedSoftmax,
    NormalisedScores,
    PrototypeAveraging,
)


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
    X, P = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (X, prototypes))
    return X @ P.T


def csls_by_hand(S, k):
    """The printed rule, r_x included."""
    n, N = S.shape
    corrected = np.empty_like(S)
    for i in range(n):
        for c in range(N):
            r_c = np.mean(sorted(S[:, c])[-k:])
            r_x = np.mean(sorted(S[i])[-k:])
            corrected[i, c] = 2 * S[i, c] - r_x - r_c
    return corrected.argmax(axis=1)


def inverted_by_hand(S, beta):
    E = np.exp(beta * S)
    return (E / E.sum(axis=0)).argmax(axis=1)


def ranks_by_hand(S):
    n, N = S.shape
    ranks = np.array([[(S[:, c] > S[i, c]).sum() for c in range(N)] for i in range(n)])
    labels = []
    for i in range(n):
        best = np.flatnonzero(ranks[i] == ranks[i].min())
        labels.append(best[S[i, best].argmax()])
    return np.array(labels)


@pytest.mark.parametrize("seed", range(3))
def test_each_rule_is_what_is_printed(seed):
    prototypes, X, _ = with_a_hub(seed)
    S = cosines(X, prototypes)
    answers = {
        CSLS.from_prototypes(prototypes, n_neighbors=7): csls_by_hand(S, 7),
        InvertedSoftmax.from_prototypes(prototypes, beta=0.2): inverted_by_hand(
            S - S.mean(axis=1, keepdims=True), 20
        ),
        GlobalCorrection.from_prototypes(prototypes): ranks_by_hand(S),
        NormalisedScores.from_prototypes(prototypes): (
            S / np.sqrt((S**2).sum(axis=0))
        ).argmax(axis=1),
    }
    for model, labels in answers.items():
        assert_array_equal(model.adapt(X).labels_, labels)


@pytest.mark.parametrize(
    "method", [CSLS, InvertedSoftmax, GlobalCorrection, NormalisedScores]
)
def test_a_hub_gives_its_rows_back(method):
    prototypes, X, y = with_a_hub()
    before = cosines(X, prototypes).argmax(axis=1)
    assert (before == 0).mean() > 0.3  # one class of six
    labels = method.from_prototypes(prototypes).adapt(X).labels_
    assert (labels == 0).mean() < (before == 0).mean()
    assert (labels == y).mean() > (before == y).mean() + 0.03


# ---- prototype averaging --------------------------------------------------------


@pytest.mark.parametrize("k", [1, 5, 40])
def test_prototypes_become_means_of_their_nearest_rows(k):
    prototypes, X, _ = with_a_hub()
    S = cosines(X, prototypes)
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    moved = [units[np.argsort(-S[:, c])[:k]].mean(axis=0) for c in range(S.shape[1])]
    model = PrototypeAveraging.from_prototypes(prototypes, n_neighbors=k).adapt(X)
    assert_array_equal(model.labels_, cosines(X, np.array(moved)).argmax(axis=1))


def test_prototypes_stay_apart_however_large_k_is():
    prototypes, X, _ = with_a_hub()  # 40 rows a class
    first, second = (
        PrototypeAveraging.from_prototypes(prototypes, n_neighbors=k).adapt(X)
        for k in (40, 10**6)
    )
    assert_array_equal(first.labels_, second.labels_)
    assert "means of 40 rows" in second.rounds_[0].note
