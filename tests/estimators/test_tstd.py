"""TSTD: Algorithm 1 against samples, and the rows nobody likes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close, make_data
from tests.oracles import (
    authors_answer,
    authors_jedm,
    authors_preparation,
    authors_tstd,
    minimise,
)
from unseen import JEDM, TSTD, Reading
from unseen.core.sums import sum_rows
from unseen.models.jedm import (
    READINGS,
    random_start,
    refit_objective,
    update_refit_codes,
)


@pytest.fixture
def problem():
    """Nine classes, six seen; rows scatter around a map of the embeddings."""
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(9, 6))
    y = np.repeat(np.arange(9), 12)
    X = (A @ rng.normal(size=(6, 20)))[y] + 0.5 * rng.normal(size=(len(y), 20)) + 1
    return X, y, A, y < 6


def fitted(problem, **parameters):
    X, y, A, seen = problem
    model = TSTD(**parameters).fit(X[seen], y[seen], class_embeddings=A)
    return model, X[~seen]


def test_the_reference_equals_the_authors_program_in_every_round(problem):
    X, y, A, seen = problem
    D0, V0 = random_start(np.random.RandomState(1), 7, 10, 6)
    sizes = {"n_components": 7, "n_axes": 10}
    model, unlabelled = fitted(problem, **sizes, lam=0.5, mu=3.0, random_state=1)
    model.adapt(unlabelled)
    Xs, Xu, As, Au = authors_preparation(
        X[seen], X[~seen], A, np.bincount(y), np.arange(9) < 6, 10
    )
    D, V = authors_jedm(Xs.T, As.T, np.eye(6)[y[seen]], D0.T, V0)
    close(model.components_.T @ model.compatibility_, D @ V, digits=9)
    jedm = JEDM(**sizes, random_state=1).fit(X[seen], y[seen], class_embeddings=A)
    answer = authors_answer(Xu.T, Au.T, D, V)
    close(jedm.adapt(unlabelled).decision_function(unlabelled), answer)
    _, labels = authors_tstd(Xu.T, Au.T, D, V, lam=0.5, mu=3.0)
    for ours, theirs in zip(model.rounds_, labels, strict=True):
        assert_array_equal(ours.labels, 6 + theirs)
    assert_array_equal(model.labels_, model.rounds_[-1].labels)


def eq10(B, Y, Z, D, C, anchor, lam, mu):
    return (
        np.sum((B - C @ D) ** 2)
        + lam * np.sum((Y @ Z - C) ** 2)
        + mu * np.sum((D - anchor) ** 2)
    )


def test_both_updates_are_minima_of_eq_10_and_the_objective_is_its_value():
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(3), [4, 5, 3])
    B, Y = rng.normal(size=(12, 4)), np.eye(3)[labels]
    Z, anchor = rng.normal(size=(3, 2)), rng.normal(size=(2, 4))
    lam, mu = 0.6, 1.7
    chosen = sum_rows(B, labels, 3)
    C = minimise(lambda C: eq10(B, Y, Z, anchor, C, anchor, lam, mu), np.zeros((12, 2)))
    codes = update_refit_codes(chosen, anchor, Z, lam)
    close(codes.CtC, C.T @ C, digits=6)
    close(codes.CtX, C.T @ B, digits=6)
    close(codes.CtY, C.T @ Y, digits=6)
    D = minimise(lambda D: eq10(B, Y, Z, D, C, anchor, lam, mu), anchor)
    close(
        refit_objective(chosen, codes, D, Z, anchor, lam, mu),
        eq10(B, Y, Z, D, C, anchor, lam, mu),
    )
    model = JEDM(READINGS["paper"])
    model.compatibility_ = Z.T  # of embeddings that are one dimension each
    ours, _ = model._refit(anchor, np.eye(3), chosen, lam, mu)
    close(ours, D, digits=6)


def test_rounds_tell_what_happened(problem):
    model, unlabelled = fitted(problem, mu=1.0, lam=1.0)
    rounds = model.adapt(unlabelled).rounds_
    assert [r.rate for r in rounds] == [0.4, 0.6, 0.8, 1.0]
    assert rounds[0].n_selected <= 0.4 * len(unlabelled)
    assert rounds[-1].n_selected == len(unlabelled)
    assert "rows (rate 0.4)" in str(rounds[0])
    before = model.set_params(rates=[]).adapt(unlabelled).labels_
    for r in rounds:
        assert r.n_changed == (r.labels != before).sum()
        before = r.labels


@pytest.mark.parametrize("rates", [[0.0, 1], [0.5, 1.2], [-0.1], [[0.5]], [np.nan]])
def test_a_rate_that_is_no_share_is_named(problem, rates):
    model, unlabelled = fitted(problem, rates=rates)
    with pytest.raises(ValueError, match=r"rates=.* in \(0, 1\]"):
        model.adapt(unlabelled)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("unit_scores", [True, False])
@pytest.mark.parametrize("unit", [False, True])
def test_rows_to_come_are_scored_as_the_rows_adapted_to(unit_scores, unit):
    """By both ways to scale scores, and against the scores written out."""
    data = make_data()
    reading = Reading(unit_scores=unit_scores, unit_prototypes=unit)
    model = JEDM(reading, n_components=6, n_axes=8)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    model.adapt(data.X_unseen)
    X = data.X_unseen / np.sqrt(np.sum(data.X_unseen**2, axis=1, keepdims=True))
    A = data.class_embeddings.loc[data.unseen].to_numpy()
    A = A / np.sqrt(np.sum(A**2, axis=1, keepdims=True))
    A, B = A - A.mean(axis=0), (X - X.mean(axis=0)) @ model.axes_
    D, V = model.components_, model.compatibility_
    W, Z = V.T @ D, A @ V.T
    if unit_scores and not unit:
        W = np.array([w / np.sqrt(w @ w) for w in W])  # one per embedding dimension
    wanted = B @ W.T @ A.T
    if unit:
        wanted = B @ D.T @ (Z / np.sqrt(np.sum(Z**2, axis=1, keepdims=True))).T
    if unit_scores:
        wanted = wanted / np.sqrt(np.sum(wanted**2, axis=0))
    close(model.decision_function(data.X_unseen), wanted, digits=8)
