"""Anchored self-training: parts by brute force, the whole by samples, limits."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone

from tests.checks import close, make_data, never_rises
from tests.oracles import minimise, plain_anchored
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


def test_anchored_means_are_the_maximum_of_their_objective(rows):
    B, Z, variances = rows
    model = learner(B, Z, variances, prior_rows=None)
    R = np.exp(gaussian_scores(B, Z) / 2)  # the first round is that warm
    R /= R.sum(axis=1, keepdims=True)

    def cost(m):
        squares = ((B[:, None] - m) ** 2).sum(axis=2)
        return np.sum(R * squares) / 2 + 3.0 * np.sum((m - Z) ** 2 / variances) / 2

    model.refit()
    close(model.m, minimise(cost, Z), digits=5)


def test_means_held_within_the_radius_are_the_constrained_maximum(rows):
    B, Z, variances = rows
    model = learner(B, Z, variances, prior_rows=None, radius=0.05)
    R = np.exp(gaussian_scores(B, Z) / 2)
    R /= R.sum(axis=1, keepdims=True)
    model.refit()
    assert model.n_held > 0
    for c in range(4):
        r = R[:, c]

        def cost(m, r=r, c=c):
            return (
                r @ ((B - m) ** 2).sum(axis=1)
                + 3.0 * np.sum((m - Z[c]) ** 2 / variances)
            ) / 2

        best = minimize(
            cost,
            Z[c],
            method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda m, c=c: 0.05 - np.mean((m - Z[c]) ** 2 / variances),
            },
            options={"ftol": 1e-13, "maxiter": 500},
        ).x
        close(model.m[c], best, digits=5)


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


def soft_shares(S, u):
    R = np.exp(S + u)
    return (R / R.sum(axis=1, keepdims=True)).mean(axis=0)


def test_known_sizes_are_imposed(rows):
    B, Z, _ = rows
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    S = gaussian_scores(B, Z) / 5
    u = transported(S, np.zeros(4), shares, np.inf, n_steps=1)
    close(soft_shares(S, u), shares, digits=5)
    close(u.mean(), 0, digits=10)


def test_a_finite_pull_ends_where_its_cost_is_least(rows):
    """The dual of transport whose sizes may differ, at a price per Kullback-Leibler."""
    B, Z, _ = rows
    S, pull, n = gaussian_scores(B, Z) / 5, 4.0, len(B)
    u = transported(S, np.zeros(4), np.full(4, 0.25), pull, n_steps=3000)

    def cost(u):
        fit = np.log(np.exp(S + u).sum(axis=1)).mean()
        return fit + pull * np.mean(np.exp(-u / pull))

    best = minimise(cost, np.zeros(4))
    close(u, best - best.mean(), digits=4)
    free = transported(S, np.zeros(4), np.full(4, 0.25), 1e-9, n_steps=50)
    close(free, 0, digits=6)
    assert n == 60


def test_evenness_counts_classes_and_allows_for_few_rows():
    assert evenness(np.full(8, 1 / 8), 10**9) == pytest.approx(1.0)
    assert evenness(np.array([0.5, 0.5, 0, 0]), 10**9) == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    shares = [rng.multinomial(50, np.full(10, 0.1)) / 50 for _ in range(300)]
    plain = np.mean([np.exp(-np.sum(s[s > 0] * np.log(s[s > 0]))) / 10 for s in shares])
    told = np.mean([evenness(s, 50) for s in shares])
    assert abs(1 - told) < (1 - plain) / 2


# ---- the whole -----------------------------------------------------------------------


def by_samples(data, **options):
    X = data.X_seen / np.linalg.norm(data.X_seen, axis=1, keepdims=True)
    pile = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    table = data.class_embeddings
    return plain_anchored(
        X,
        data.y_seen,
        table.loc[np.unique(data.y_seen)].to_numpy(),
        pile,
        table.loc[data.unseen].to_numpy(),
        **{"kappa": 3.0, "radius": 0.5, "prior_rows": 10.0, "n_rounds": 10, **options},
    )


@pytest.mark.parametrize(
    "options", [{}, {"kappa": 1.0, "radius": 0.02}, {"prior_rows": 1.0}]
)
def test_every_round_is_that_of_the_samples(options, monkeypatch):
    data = make_data()
    monkeypatch.setattr(AnchoredLearner, "even_pull", lambda self: 0.0)
    model = fitted(data, kernels=["linear"], tol=0, **options)
    inductive = model.predict(data.X_unseen)
    model.adapt(data.X_unseen)
    measured, (start, *later), means = by_samples(data, **options)
    close(model.variance_, measured["variance"], digits=8)
    close(model.variances_, measured["variances"], digits=6)
    close(model._length, measured["length"], digits=8)
    assert_array_equal(inductive, data.unseen[start])
    assert len(model.rounds_) >= 4  # it stops once labels have settled
    for ours, theirs in zip(model.rounds_, later, strict=False):
        assert_array_equal(ours.labels, data.unseen[theirs])
    m = means[len(model.rounds_)]
    squares = np.sum(m**2, axis=1)
    X = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    B = (X - model.mean_) @ model.axes_
    scores = model.decision_function(data.X_unseen)
    products = scores + squares / 2  # b·m, whatever the signs of the axes
    oracle = linear_products(data, m, measured["basis"])
    close(products, oracle, digits=2)
    assert B.shape == (len(X), m.shape[1])


def linear_products(data, m, basis):
    """b·m by the samples: whitened rows on the basis of the errors."""
    X = data.X_seen / np.linalg.norm(data.X_seen, axis=1, keepdims=True)
    pile = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    within = sum(
        np.cov(X[data.y_seen == c].T, bias=True) * np.sum(data.y_seen == c)
        for c in np.unique(data.y_seen)
    ) / len(X)
    shrunk = within + 0.1 * np.trace(within) / len(within) * np.eye(len(within))
    values, vectors = np.linalg.eigh(shrunk)
    W = vectors @ np.diag(values**-0.5) @ vectors.T
    return (pile - X.mean(axis=0)) @ W @ basis @ m.T


def test_a_second_run_holds_sizes_as_the_samples_do(monkeypatch):
    data = make_data()
    monkeypatch.setattr(AnchoredLearner, "even_pull", lambda self: 7.0)
    model = fitted(data, kernels=["linear"], tol=0)
    model.adapt(data.X_unseen)
    _, (_, *free), _ = by_samples(data)
    _, (_, *even), _ = by_samples(data, pull=7.0)
    first = next(i for i, r in enumerate(model.rounds_) if "like sizes" in r.note)
    assert 4 <= first <= len(free)
    for ours, theirs in zip(model.rounds_[first:], even, strict=False):
        assert_array_equal(ours.labels, data.unseen[theirs])
    assert_array_equal(model.predict(data.X_unseen), model.labels_)


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


def test_no_rounds_and_an_endless_anchor_keep_the_start():
    data = make_data()
    plain = {"by_direction": False, "prior_rows": None}
    start = fitted(data, **plain).predict(data.X_unseen)
    for parameters in ({"max_rounds": 0}, {"kappa": 1e12}):
        model = fitted(data, **plain, **parameters).adapt(data.X_unseen)
        assert_array_equal(model.labels_, start)
    alone = fitted(data).adapt(data.X_unseen, classes=data.unseen[:1])
    assert not alone.adapted_
    assert "one class competes" in str(alone.rounds_[0])


def test_what_the_rows_weigh_is_measured():
    """n / (n + κ/v) for n rows per class that is there."""
    data = make_data()
    for kappa in (1.0, 3.0, 12.0):
        model = fitted(data, kappa=kappa)
        L = model.decision_function(data.X_unseen)
        soft = np.exp(L / 2 - (L / 2).max(axis=1, keepdims=True))
        sizes = (soft / soft.sum(axis=1, keepdims=True)).sum(axis=0)
        n = (sizes @ sizes) / sizes.sum()
        model.adapt(data.X_unseen)
        close(model.weight_, n / (n + kappa / model.variance_))


def test_every_ingredient_can_be_switched_off():
    data = make_data()
    default = fitted(data).adapt(data.X_unseen)
    for change in (
        {"whitening": None},
        {"equal_prototypes": False},
        {"by_direction": False},
        {"kernels": ["linear"]},
        {"kappa": 0.0},
        {"radius": 0.01},
        {"class_prior": "uniform"},
        {"n_axes": 3},
    ):
        model = fitted(data, **change).adapt(data.X_unseen)
        scores = model.decision_function(data.X_unseen)
        assert np.isfinite(scores).all()
        same = np.allclose(scores, default.decision_function(data.X_unseen))
        assert not same, change


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


def test_seen_classes_compete_with_their_own_means():
    data = make_data()
    model = fitted(data)
    assert (model.predict(data.X_seen, classes="seen") == data.y_seen).mean() > 0.8
    everyone = model.decision_function(data.X, classes="all")
    assert everyone.shape == (len(data.X), 12)


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


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_tiny_piles(n_rows):
    data = make_data()
    model = fitted(data).adapt(data.X_unseen[:n_rows])
    assert len(model.labels_) == n_rows
    assert np.isfinite(model.reliability_).all()


def test_absent_and_duplicate_classes_constant_rows_and_zero_embeddings():
    data = make_data()
    table = data.class_embeddings.copy()
    table.iloc[10] = table.iloc[9]
    table.iloc[11] = 0
    model = AnchoredSelfTraining()
    with pytest.warns(EqualDescriptionsWarning):
        model.fit(data.X_seen, data.y_seen, class_embeddings=table)
    one_class = data.X_unseen[data.y_unseen == data.unseen[0]]
    for pile in (one_class, np.ones((20, 16)), np.zeros((20, 16))):
        model.adapt(pile)
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
        ({"kernels": []}, r"kernels=\[\] must name"),
        ({"kernels": ["poly"]}, "must name one or more of linear, rbf"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    data = make_data()
    with pytest.raises(ValueError, match=message):
        fitted(data, **parameters).adapt(data.X_unseen)


# ---- no seen class at all ------------------------------------------------------------


@pytest.fixture
def texts_and_images():
    """Two modalities apart by a gap, six classes, anisotropic noise."""
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(6, 40))
    y = rng.integers(6, size=400)
    noise = rng.normal(size=(400, 40)) * np.linspace(0.2, 2.5, 40)
    X = meaning[y] + noise + 4
    T = meaning + 0.6 * rng.normal(size=(6, 40)) - 3
    return pd.DataFrame(T, index=list("abcdef")), X, np.array(list("abcdef"))[y]


def test_prototypes_alone_are_enough(texts_and_images):
    T, X, y = texts_and_images
    model = AnchoredSelfTraining.from_prototypes(T)
    model.adapt(X)
    cosine = AnchoredSelfTraining.from_prototypes(T, kappa=1e9).adapt(X)
    assert not cosine.adapted_
    before = per_class_accuracy(y, cosine.labels_)
    after = per_class_accuracy(y, model.labels_)
    assert after > before + 0.05
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(cosine.predict(X), cosine.labels_)


def test_two_prototypes_are_learned_from_like_many(texts_and_images):
    T, X, y = texts_and_images
    own = np.isin(y, ["a", "b"])
    model = AnchoredSelfTraining.from_prototypes(T[:2]).adapt(X[own])
    assert model.adapted_
    assert per_class_accuracy(y[own], model.labels_) > 0.9


def test_one_row_is_its_own_mean_and_stays_with_the_nearest_prototype():
    T = pd.DataFrame([[1.0, 0, 0], [-1.0, 0, 0]], index=["right", "left"])
    model = AnchoredSelfTraining.from_prototypes(T).adapt([[-3.0, 4.0, 0.0]])
    assert model.labels_.tolist() == ["left"] and not model.adapted_
    close(model.reliability_, 1 / (1 + np.exp(-120)))


def test_before_adapting_prototypes_answer_by_cosine(texts_and_images):
    T, X, _ = texts_and_images
    model = AnchoredSelfTraining.from_prototypes(T)
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosine = units @ (T.to_numpy() / np.linalg.norm(T, axis=1)[:, None]).T
    close(model.decision_function(X), cosine)
    close(model.predict_proba(X), softmax(100 * cosine, axis=1))


def test_how_it_ended_is_told_truly():
    data = make_data()
    one = fitted(data).adapt(data.X_unseen, classes=[data.unseen[0]])
    assert one.stopped_because_.endswith("one class competes.")
    short = fitted(data, max_rounds=2).adapt(data.X_unseen)
    assert short.stopped_because_ == f"{len(short.rounds_)} rounds were made."
    assert len(short.rounds_) in (2, 4)  # 4 if sizes are held even in a second run
    settled = fitted(data, max_rounds=50).adapt(data.X_unseen)
    assert settled.stopped_because_ == "The labels settled."


def test_it_survives_clone(texts_and_images):
    T, X, _ = texts_and_images
    model = AnchoredSelfTraining.from_prototypes(T)
    labels = model.adapt(X).labels_
    assert_array_equal(clone(model).fit_prototypes(T).adapt(X).labels_, labels)
    assert_array_equal(model.adapt(X).labels_, labels)


@pytest.mark.parametrize(
    "pile",
    [
        np.ones((1, 40)),
        np.ones((5, 40)),
        np.ones((50, 40)),
        np.zeros((50, 40)),
        np.random.default_rng(0).normal(size=(4, 40)),
        np.random.default_rng(0).normal(size=(30, 40)),
        np.tile(np.eye(2, 40), (20, 1)),
    ],
)
def test_degenerate_piles_get_an_answer(texts_and_images, pile):
    T, _, _ = texts_and_images
    model = AnchoredSelfTraining.from_prototypes(T).adapt(pile)
    assert len(model.labels_) == len(pile)
    assert np.isfinite(model.reliability_).all()
    assert np.isfinite(model.decision_function(pile)).all()
    assert str(model.rounds_[0])


def test_one_prototype_and_wrong_widths(texts_and_images):
    T, X, _ = texts_and_images
    assert set(AnchoredSelfTraining.from_prototypes(T[:1]).adapt(X).labels_) == {"a"}
    model = AnchoredSelfTraining.from_prototypes(T)
    with pytest.raises(ValueError, match=r"X has 7 features, but .* expecting 40"):
        model.adapt(X[:, :7])
    model.adapt(X)
    model.fit(X, np.arange(len(X)) % 2)
    assert not model.starts_from_prototypes
