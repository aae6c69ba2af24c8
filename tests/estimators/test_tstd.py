"""TSTD: Algorithm 1 against samples, and the piles nobody likes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests.checks import close, make_data, never_rises
from tests.oracles import authors_jedm, authors_preparation, authors_tstd, minimise
from unseen import JEDM, TSTD, EqualDescriptionsWarning
from unseen.models.jedm_learner import (
    pile_objective,
    update_pile_codes,
    update_pile_dictionary,
)
from unseen.rows.labelling import Labelling, best_score, rank_share
from unseen.rows.sums import sum_rows
from unseen.transduction.rounds import ROUNDING


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
    rng = np.random.default_rng(1)
    D0, V0 = rng.normal(size=(7, 10)), rng.normal(size=(7, 6))
    model, pile = fitted(
        problem,
        n_components=7,
        n_axes=10,
        components_init=D0,
        compatibility_init=V0,
        lam=0.5,
        mu=3.0,
    )
    model.adapt(pile)
    Xs, Xu, As, Au = authors_preparation(
        X[seen], X[~seen], A, np.bincount(y), np.arange(9) < 6, 10
    )
    D, V = authors_jedm(Xs.T, As.T, np.eye(6)[y[seen]], D0.T, V0)
    D, labels = authors_tstd(Xu.T, Au.T, D, V, lam=0.5, mu=3.0)
    close(model.components_, D.T, digits=8)
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
    codes = update_pile_codes(chosen, anchor, Z, lam)
    close(codes.CtC, C.T @ C, digits=6)
    close(codes.CtX, C.T @ B, digits=6)
    close(codes.CtY, C.T @ Y, digits=6)
    D = minimise(lambda D: eq10(B, Y, Z, D, C, anchor, lam, mu), anchor)
    ours = update_pile_dictionary(codes, anchor, mu)
    close(ours, D, digits=6)
    close(
        pile_objective(chosen, codes, ours, Z, anchor, lam, mu),
        eq10(B, Y, Z, D, C, anchor, lam, mu),
    )


def test_more_inner_steps_never_raise_the_papers_objective(problem):
    values = []
    for steps in (1, 2, 4, 8):
        model, pile = fitted(
            problem,
            variant="paper",
            n_components=5,
            tol=1e-3,
            max_iter=500,
            lam=0.5,
            mu=0.5,
            rates=[1.0],
            inner_steps=steps,
        )
        values.append(model.adapt(pile).rounds_[0].objective)
    never_rises(values)


def test_the_papers_round_is_one_code_and_one_dictionary_step(problem):
    model, pile = fitted(problem, variant="paper", n_components=5, tol=1e-2)
    seen_dictionary = model.components_
    model.set_params(rates=[1.0]).adapt(pile)
    learner = model.learner(pile, None)
    labels = (np.asarray(learner.B) @ (learner.Z @ learner.D).T).argmax(axis=1)
    chosen = sum_rows(np.asarray(learner.B), labels, 3)
    codes = update_pile_codes(chosen, seen_dictionary, learner.Z, 100.0)
    close(model.components_, update_pile_dictionary(codes, seen_dictionary, 100.0))


def test_no_rounds_are_jedm(problem):
    X, y, A, seen = problem
    model, pile = fitted(problem, rates=[], n_components=5)
    jedm = JEDM(n_components=5).fit(X[seen], y[seen], class_embeddings=A).adapt(pile)
    assert_array_equal(model.adapt(pile).labels_, jedm.labels_)
    assert_array_equal(model.reliability_, jedm.reliability_)


def test_an_anchor_of_endless_weight_is_jedm(problem):
    model, pile = fitted(problem, mu=1e14)
    labels = model.adapt(pile).labels_
    assert_array_equal(labels, model.set_params(rates=[]).adapt(pile).labels_)


def test_adapting_again_starts_from_the_seen_classes(problem):
    model, pile = fitted(problem, mu=1.0, lam=1.0)
    first = model.adapt(pile).labels_
    assert_array_equal(model.adapt(pile).labels_, first)


def test_new_rows_are_predicted_by_the_adapted_model(problem):
    model, pile = fitted(problem, mu=1.0, lam=1.0)
    model.adapt(pile)
    assert_array_equal(model.predict(pile), model.labels_)
    assert_array_equal(model.predict(pile[:1]), model.labels_[:1])


def test_rounds_tell_what_happened(problem):
    model, pile = fitted(problem, mu=1.0, lam=1.0)
    rounds = model.adapt(pile).rounds_
    assert [r.rate for r in rounds] == [0.4, 0.6, 0.8, 1.0]
    assert all(r.selected.shape == (3,) for r in rounds)
    assert rounds[-1].n_selected == len(pile)
    assert rounds[0].n_selected <= 0.4 * len(pile)
    assert np.isfinite([r.objective for r in rounds]).all()
    before = np.asarray(model.learner(pile, None).scores()).argmax(axis=1) + 6
    for r in rounds:
        assert r.n_changed == (r.labels != before).sum()
        before = r.labels
    assert "rows (rate 0.4)" in str(rounds[0])


def test_row_order_and_class_order_are_free(problem):
    X, y, A, seen = problem
    names = np.array(list("abcdefghi"))
    table = pd.DataFrame(A, index=names)
    order = np.random.default_rng(3).permutation(9)
    pile = X[~seen]
    rows = np.random.default_rng(4).permutation(len(pile))
    first = TSTD(lam=1, mu=1).fit(X[seen], names[y[seen]], class_embeddings=table)
    second = TSTD(lam=1, mu=1).fit(
        X[seen], names[y[seen]], class_embeddings=table.iloc[order]
    )
    labels = first.adapt(pile).labels_
    assert_array_equal(second.adapt(pile[rows]).labels_, labels[rows])


@pytest.mark.parametrize("variant", ["reference", "paper"])
@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_fewer_rows_than_classes(problem, variant, n_rows):
    model, pile = fitted(problem, variant=variant, n_components=5, tol=1e-2)
    model.adapt(pile[:n_rows])
    assert len(model.labels_) == n_rows
    assert np.isfinite(model.reliability_).all()
    assert np.isfinite(model.components_).all()


def test_a_class_nobody_is_predicted_into_keeps_its_prototype(problem):
    X, y, A, seen = problem
    A = A.copy()
    A[8] = A[7]  # the same embedding twice: ties go to the first, none to the second
    with pytest.warns(EqualDescriptionsWarning):
        model = TSTD().fit(X[seen], y[seen], class_embeddings=A)
    model.adapt(X[~seen])
    assert 8 not in model.labels_
    assert all(r.selected[2] == 0 for r in model.rounds_)
    assert np.isfinite(model.decision_function(X)).all()


def test_identical_rows_and_zero_embeddings_give_no_nan(problem):
    X, y, A, seen = problem
    A = A.copy()
    A[7] = 0
    model = TSTD().fit(X[seen], y[seen], class_embeddings=A)
    model.adapt(np.ones((10, 20)))
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.reliability_).all()


@pytest.mark.parametrize("rates", [[0.0, 1], [0.5, 1.2], [-0.1], [[0.5]], [np.nan]])
def test_a_rate_that_is_no_share_is_named(problem, rates):
    model, pile = fitted(problem, rates=rates)
    with pytest.raises(ValueError, match=r"rates=.* in \(0, 1\]"):
        model.adapt(pile)
    assert not hasattr(model, "labels_")


def test_adapting_before_fitting_is_told():
    with pytest.raises(ValueError, match="not fitted"):
        TSTD().adapt(np.ones((3, 3)))


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(1, 6),
    st.floats(0.01, 1.0),
    st.sampled_from(sorted(ROUNDING)),
    st.integers(0, 100),
)
def test_the_most_reliable_are_the_best_of_each_class(n, n_classes, rate, how, seed):
    scores = np.random.default_rng(seed).integers(5, size=(n, n_classes)).astype(float)
    chosen = Labelling.of(scores, best_score).selection(rate, ROUNDING[how])
    kept, labels = chosen.rows, chosen.labels
    top = scores.argmax(axis=1)
    assert_array_equal(labels, top[kept])
    for c in range(n_classes):
        mine = np.flatnonzero(top == c)
        expected = {
            "floor": int(rate * len(mine)),
            "nearest": int(rate * len(mine) + 0.5),
            "at_least_one": max(1, int(rate * len(mine))) if len(mine) else 0,
        }[how]
        chosen = np.intersect1d(kept, mine)
        assert len(chosen) == expected
        left = np.setdiff1d(mine, chosen)
        if len(chosen) and len(left):
            assert scores[chosen, c].min() >= scores[left, c].max()


def test_rank_shares_fall_from_one():
    scores = np.array([[3.0, 0], [1, 0], [2, 0], [0, 5]])
    close(rank_share(scores), [1, 1 / 3, 2 / 3, 1])


@pytest.mark.parametrize("scaling", ["class_length", "none"])
@pytest.mark.parametrize("unit", [False, True])
def test_rows_to_come_are_scored_as_the_rows_of_the_pile(scaling, unit):
    """By both ways to scale scores, and against the scores written out."""
    data = make_data()
    model = JEDM(n_components=6, n_axes=8, score_scaling=scaling, unit_prototypes=unit)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    X = data.X_unseen / np.sqrt(np.sum(data.X_unseen**2, axis=1, keepdims=True))
    learner = model.learner(data.X_unseen)
    coef, intercept = learner.scorer()
    scores = np.asarray(learner.scores())
    close(X @ coef.T + intercept, scores, digits=8)
    B = (X - learner.mean) @ learner.axes
    W = learner.V.T @ learner.D
    if scaling == "class_length" and not unit:
        W = np.array([w / np.sqrt(w @ w) for w in W])  # one per embedding dimension
        wanted = B @ W.T @ learner.A.T
    else:
        wanted = B @ learner.D.T @ learner.Z.T
    if scaling == "class_length":
        wanted = wanted / np.sqrt(np.sum(wanted**2, axis=0))
    close(scores, wanted, digits=8)
