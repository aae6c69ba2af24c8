"""Anchored self-training: parts by brute force, limits; by samples: the next file."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import minimize
from scipy.special import softmax

from tests.checks import close, make_data, never_rises
from tests.oracles import minimise
from unseen import AnchoredSelfTraining, per_class_accuracy
from unseen.core.classes import Candidates, EqualDescriptionsWarning
from unseen.models.kernel_ridge import fit_ridge, kernel
from unseen.rows.holders import MemoryRows
from unseen.transduction.anchored_learner import AnchoredLearner
from unseen.transduction.anchored_look import Means, gaussian_scores
from unseen.transduction.anchored_rounds import WeakStartWarning
from unseen.transduction.anchored_sizes import evenness, transported

pytestmark = pytest.mark.filterwarnings(
    "ignore::unseen.transduction.anchored_rounds.WeakStartWarning"
)


def fitted(data, **parameters):
    return AnchoredSelfTraining(**parameters).fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )


def learner(B, Z, variances, **changes):
    options = {
        "own_rows": np.zeros(len(Z)),
        "kappa": 3.0,
        "radius": None,
        "prior_rows": 10.0,
        "class_prior": None,
        **changes,
    }
    names = np.arange(len(Z))
    B = MemoryRows(B)
    return AnchoredLearner(
        B, Candidates(names, names[:, None]), Z, variances, **options
    )


@pytest.fixture
def rows():
    """Four clusters, prototypes off the mark, uneven variances."""
    rng = np.random.default_rng(0)
    centres = 2 * rng.normal(size=(4, 5))
    B = centres[rng.integers(4, size=60)] + rng.normal(size=(60, 5))
    return B, centres + 0.7 * rng.normal(size=(4, 5)), rng.uniform(0.2, 1.0, size=5)


# ---- parts ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_left_out_errors_are_those_of_leaving_classes_out(name):
    rng = np.random.default_rng(1)
    S, C = [rng.normal(size=(9, 4)), rng.normal(size=(9, 2))], rng.normal(size=(9, 3))
    fit = fit_ridge(S, C, [name])
    for c in range(9):
        rest = np.arange(9) != c
        few = [table[rest] for table in S]
        alpha = np.linalg.solve(kernel(name, few, few) + fit.ridge * np.eye(8), C[rest])
        predicted = kernel(name, [table[[c]] for table in S], few) @ alpha
        close(fit.left_out[c], (C[c] - predicted)[0], digits=6)
    close(fit.variance, np.mean(fit.left_out**2), digits=8)


def test_the_ridge_chosen_leaves_the_least_error():
    rng = np.random.default_rng(2)
    S = [rng.normal(size=(12, 3))]
    C = S[0] @ rng.normal(size=(3, 5)) + 0.1 * rng.normal(size=(12, 5))
    linear, rbf, both = (
        fit_ridge(S, C, kernels) for kernels in (["linear"], ["rbf"], ["linear", "rbf"])
    )
    assert both.variance == min(linear.variance, rbf.variance)
    assert both.kernel == "linear"


def test_unrelated_embeddings_explain_nothing_even_for_few_classes():
    """Centred means of seven classes must not give the left-out one away."""
    rng = np.random.default_rng(3)
    C = rng.normal(size=(7, 30))
    fit = fit_ridge([rng.normal(size=(7, 14))], C - C.mean(axis=0), ["linear"])
    assert fit.variance > 0.9 * np.var(C)


@pytest.mark.parametrize("radius", [None, 0.05])
def test_anchored_means_are_the_constrained_maximum(rows, radius):
    B, Z, variances = rows
    model = learner(B, Z, variances, prior_rows=None, radius=radius)
    R = softmax(gaussian_scores(B, Z) / 2, axis=1)  # the first round is that warm
    model.refit()
    assert (model.n_held > 0) == (radius is not None)
    for r, z, m in zip(R.T, Z, model.m, strict=True):

        def far(m, z=z):
            return np.mean((m - z) ** 2 / variances)

        def cost(m, r=r, far=far):
            return r @ ((B - m) ** 2).sum(axis=1) + 3.0 * 5 * far(m)

        limit = {"type": "ineq", "fun": lambda m, far=far: radius - far(m)}
        held = [] if radius is None else [limit]
        options = {"ftol": 1e-13, "maxiter": 500}
        best = minimize(cost, z, method="SLSQP", constraints=held, options=options)
        close(m, best.x, digits=4)


@pytest.mark.parametrize("radius", [1e-8, 1e-3, 0.05])
@pytest.mark.parametrize("kappa", [0, 3, 3.0])
def test_held_means_lie_on_the_radius(rows, radius, kappa):
    B, Z, variances = rows
    model = learner(B, Z, variances, prior_rows=None, radius=radius, kappa=kappa)
    far = learner(B, Z, variances, prior_rows=None, radius=None, kappa=kappa)
    for one in (model, far):
        one.refit()
    reach = np.mean((model.m - Z) ** 2 / variances, axis=1)
    free = np.mean((far.m - Z) ** 2 / variances, axis=1)
    close(reach, np.minimum(free, radius), digits=9)
    assert model.n_held == (free > radius).sum() > 0


@pytest.mark.parametrize("radius", [None, 0.3])
@pytest.mark.parametrize("prior_rows", [None, 10.0])
def test_what_the_rounds_maximise_never_falls(rows, radius, prior_rows):
    B, Z, variances = rows
    model = learner(B, Z, variances, radius=radius, prior_rows=prior_rows)
    model.refit()  # from here on at temperature 1
    values = [model.refit() for _ in range(30)]
    never_rises(values)
    assert values[-1] < values[0]


def test_a_pull_on_sizes_ends_where_its_cost_is_least(rows):
    """The dual of transport whose sizes may differ, at a price per Kullback-Leibler."""
    B, Z, _ = rows
    S, pull = gaussian_scores(B, Z) / 5, 4.0
    u = transported(S, np.zeros(4), np.full(4, 0.25), pull, n_steps=3000)

    def cost(u):
        fit = np.log(np.exp(S + u).sum(axis=1)).mean()
        return fit + pull * np.mean(np.exp(-u / pull))

    best = minimise(cost, np.zeros(4))
    close(u, best - best.mean(), digits=4)
    free = transported(S, np.zeros(4), np.full(4, 0.25), 1e-9, n_steps=50)
    close(free, 0, digits=6)
    shares = np.array([0.4, 0.3, 0.2, 0.1])  # known sizes are imposed
    u = transported(S, np.zeros(4), shares, np.inf, n_steps=1)
    close(softmax(S + u, axis=1).mean(axis=0), shares, digits=5)
    close(u.mean(), 0, digits=10)


def test_evenness_counts_classes_and_allows_for_few_rows():
    assert evenness(np.full(8, 1 / 8), 10**9) == pytest.approx(1.0)
    assert evenness(np.array([0.5, 0.5, 0, 0]), 10**9) == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    shares = [rng.multinomial(50, np.full(10, 0.1)) / 50 for _ in range(300)]
    plain = np.mean([np.exp(-np.sum(s[s > 0] * np.log(s[s > 0]))) / 10 for s in shares])
    told = np.mean([evenness(s, 50) for s in shares])
    assert abs(1 - told) < (1 - plain) / 2


# ---- the whole -----------------------------------------------------------------------


def test_a_second_run_needs_labels_that_are_clear_and_even():
    rng = np.random.default_rng(0)
    Z = 8 * np.eye(4)
    even = np.repeat(np.arange(4), 50)
    clear = Z[even] + rng.normal(size=(200, 4))
    lone = Z[np.repeat(np.arange(2), 100)] + rng.normal(size=(200, 4))
    blurred = 0.1 * clear
    variances = np.full(4, 0.1)
    pulls = [learner(B, Z, variances).even_pull() for B in (clear, lone, blurred)]
    assert pulls[0] == 20.0
    assert pulls[1] == 0.0
    assert learner(blurred, 0.1 * Z, variances).even_pull() == 0.0


def test_it_helps_where_the_prototypes_are_off():
    data = make_data()
    table = data.class_embeddings.copy()
    table.iloc[9:] += 0.35 * (table.iloc[[10, 11, 9]].to_numpy() - table.iloc[9:])
    data = replace(data, class_embeddings=table)
    model = fitted(data)
    before = per_class_accuracy(data.y_unseen, model.predict(data.X_unseen))
    model.adapt(data.X_unseen)
    assert per_class_accuracy(data.y_unseen, model.labels_) > before + 0.03
    assert_array_equal(model.predict(data.X_unseen), model.labels_)


def test_class_order_row_order_and_chunks_are_free():
    data = make_data()
    order = np.random.default_rng(0).permutation(len(data.X_seen))
    shuffled = AnchoredSelfTraining().fit(
        data.X_seen[order],
        data.y_seen[order],
        class_embeddings=data.class_embeddings.iloc[::-1],
    )
    rows = np.random.default_rng(1).permutation(len(data.X_unseen))
    labels = fitted(data).adapt(data.X_unseen).labels_
    assert_array_equal(shuffled.adapt(data.X_unseen[rows]).labels_, labels[rows])


@pytest.mark.parametrize("whitening", [0.1, None])
def test_no_axis_is_left_to_rounding(whitening):
    """Features turned as a whole: the same axes, also where no class errs."""
    rng = np.random.default_rng(4)
    A = pd.DataFrame(rng.normal(size=(8, 5)))
    y = np.repeat(np.arange(6), 40)
    X = A.to_numpy()[y] @ rng.normal(size=(5, 30)) + rng.normal(size=(240, 30))
    turn = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    options = {"whitening": whitening, "unit_rows": False}
    first, other = (
        AnchoredSelfTraining(**options).fit(M, y, class_embeddings=A)
        for M in (X, X @ turn)
    )
    rows, turned = (
        (M - model.mean_) @ model.axes_ for M, model in ((X, first), (X @ turn, other))
    )
    assert (np.diff(first.variances_) < 1e-9).sum() >= 30 - 6 - 1  # ties there are
    close(np.abs(rows), np.abs(turned))


def test_an_endless_anchor_keeps_the_prototypes(monkeypatch):
    """Adapted scores trust all directions alike; only predicted means do not."""
    monkeypatch.setattr(AnchoredLearner, "even_pull", lambda self: 0.0)
    data = make_data()
    model = fitted(data, kappa=1e12)
    X = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    B, Z = (X - model.mean_) @ model.axes_, model._prototypes(model._asked(None))[0]
    expected = gaussian_scores(B, Z)
    close(model.adapt(data.X_unseen).decision_function(data.X_unseen), expected)
    assert_array_equal(model.labels_, data.unseen[expected.argmax(axis=1)])


@pytest.mark.parametrize(
    "change",
    [
        {"whitening": None},
        {"kappa": 0.0},
        {"radius": 0.01},
        {"class_prior": "uniform"},
        {"n_axes": 3},
    ],
    ids=str,
)
def test_every_parameter_matters(change):
    data = make_data()
    default, model = (fitted(data, **p).adapt(data.X_unseen) for p in ({}, change))
    scores = model.decision_function(data.X_unseen)
    assert np.isfinite(scores).all()
    assert not np.allclose(scores, default.decision_function(data.X_unseen))


def test_probabilities_are_tempered_and_follow_the_answer():
    data = make_data()
    model = fitted(data)
    for _ in range(2):
        P = model.predict_proba(data.X_unseen)
        close(P.sum(axis=1), 1)
        names = model.competing_classes_
        assert_array_equal(names[P.argmax(axis=1)], model.predict(data.X_unseen))
        model.adapt(data.X_unseen)
    close(model.reliability_, P.max(axis=1))


def test_after_adapting_all_classes_are_scored_in_one_metric():
    """Seen rows among the pile's classes stay with their own class."""
    data = make_data()
    model = fitted(data).adapt(data.X_unseen)
    answer = model.predict(data.X, classes="all")
    seen = ~np.isin(data.y, data.unseen)
    assert np.mean(answer[seen] == data.y[seen]) > 0.8
    assert np.mean(answer[~seen] == data.y[~seen]) > 0.8


def test_several_tables_are_fused_by_averaging_kernels():
    data = make_data()
    names, A = data.class_embeddings.index, data.class_embeddings
    noise = pd.DataFrame(np.random.default_rng(5).normal(size=(12, 4)), index=names)
    fused = AnchoredSelfTraining().fit(
        data.X_seen, data.y_seen, class_embeddings={"good": A, "noise": noise}
    )
    twice = AnchoredSelfTraining().fit(
        data.X_seen, data.y_seen, class_embeddings={"a": A, "b": A}
    )
    once = fitted(data)
    close(twice.decision_function(data.X_unseen), once.decision_function(data.X_unseen))
    assert fused.variance_ > once.variance_


# ---- piles nobody likes --------------------------------------------------------------


def test_tiny_and_constant_piles_absent_and_duplicate_classes():
    data = make_data()
    table = data.class_embeddings.copy()
    table.iloc[10] = table.iloc[9]
    table.iloc[11] = 0
    model = AnchoredSelfTraining()
    with pytest.warns(EqualDescriptionsWarning):
        model.fit(data.X_seen, data.y_seen, class_embeddings=table)
    one_class = data.X_unseen[data.y_unseen == data.unseen[0]]
    tiny = [data.X_unseen[:n] for n in (1, 2, 5)]
    for pile in (one_class, np.ones((20, 16)), np.zeros((20, 16)), *tiny):
        model.adapt(pile)
        assert len(model.labels_) == len(pile)
        assert np.isfinite(model.decision_function(data.X)).all()
        assert np.isfinite(model.reliability_).all()


def test_one_row_per_seen_class_gives_no_nan():
    data = make_data()
    first = [np.flatnonzero(data.y_seen == c)[0] for c in np.unique(data.y_seen)]
    model = AnchoredSelfTraining().fit(
        data.X_seen[first],
        data.y_seen[first],
        class_embeddings=data.class_embeddings,
    )
    model.adapt(data.X_unseen)
    assert np.isfinite(model.decision_function(data.X)).all()


def told(data, **parameters):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fitted(data, **parameters).adapt(data.X_unseen)
    return [str(w.message) for w in found if w.category is WeakStartWarning]


def test_embeddings_that_explain_nothing_are_told():
    data = make_data()
    assert not told(data)
    table = data.class_embeddings.copy()
    table[:] = 1.0
    (message,) = told(replace(data, class_embeddings=table), max_rounds=0)
    assert message.startswith("Class embeddings explain")


def test_an_answer_turned_over_is_told(monkeypatch):
    """A start with every label on the wrong class, and an anchor that mends it."""
    data = make_data()
    firm = {"kappa": 1e6}
    assert not told(data, **firm)

    def begin_wrong(learner, *arguments, **options):
        begin(learner, *arguments, **options)
        learner._look(Means(np.roll(learner.Z, 1, axis=0)), 1.0)

    begin = AnchoredLearner.__init__
    monkeypatch.setattr(AnchoredLearner, "__init__", begin_wrong)
    (message,) = told(data, **firm)
    assert message.startswith("Self-training changed 100%")


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"kappa": -1}, "'kappa' parameter"),
        ({"class_prior": [0.5, 0.5]}, r"class_prior has shape \(2,\).* 3 competing"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    data = make_data()
    with pytest.raises(ValueError, match=message):
        fitted(data, **parameters).adapt(data.X_unseen)


def test_how_it_ended_is_told_truly():
    data = make_data()
    one = fitted(data).adapt(data.X_unseen, classes=[data.unseen[0]])
    assert one.stopped_because_.endswith("one class competes.")
    assert not one.adapted_ and one.stopped_because_ in str(one.rounds_[0])
    short = fitted(data, max_rounds=2).adapt(data.X_unseen)
    assert short.stopped_because_ == f"{len(short.rounds_)} rounds were made."
    assert len(short.rounds_) in (2, 4)  # 4 if sizes are held even in a second run
    settled = fitted(data, max_rounds=50).adapt(data.X_unseen)
    assert settled.stopped_because_ == "The labels settled."
