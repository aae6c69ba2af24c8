"""Names that say nothing about the photos are said to."""

import numpy as np
import pytest

from unseen.photos.doubt import agreement, doubt_in_names


def groups(n_classes=4, per_class=30, noise=0.3):
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(n_classes), per_class)
    centres = rng.normal(size=(n_classes, 20))
    return centres[truth] + noise * rng.normal(size=(len(truth), 20)), truth


def test_agreement_is_one_for_the_groups_and_none_for_others():
    X, truth = groups()
    assert agreement(X, np.array(list("dacb"))[truth], 4) == pytest.approx(1)
    shuffled = np.random.default_rng(1).permutation(truth)
    assert abs(agreement(X, shuffled, 4)) < 0.1
    assert agreement(np.ones((20, 4)), np.arange(20) % 2, 2) <= 1  # all alike


def test_agreement_hangs_on_no_order_and_no_draw():
    X, truth = groups(6, 40, 2.0)
    labels = np.random.default_rng(1).integers(6, size=len(truth))
    labels[::2] = truth[::2]
    order = np.random.default_rng(2).permutation(len(X))
    np.random.seed(3)  # noqa: NPY002 - whoever draws from it would be found out
    one = agreement(X, labels, 6)
    assert agreement(X[order], labels[order], 6) == pytest.approx(one, abs=1e-9)


def test_a_weak_list_is_told_what_is_weak_about_it():
    X, truth = groups()
    shuffled = np.random.default_rng(1).permutation(truth)
    names = ["rain", "fog", "dog", "storm"]
    places = [(1001,), (1001,), (1169,), ()]
    trust = ["vague", "vague", "broad", "unknown"]
    message = doubt_in_names(X, shuffled, names, places, trust)
    assert "rain, fog were understood as the same kind of thing" in message
    assert "storm does not tell how things look" in message
    assert doubt_in_names(X, truth, names, places, trust) == ""
    few = doubt_in_names(X[::10], shuffled[::10], names, places, trust)
    assert few == ""  # too few to tell
