"""Anchored self-training: lists that are too long, rows of no class, explanations."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax
from scipy.stats import multivariate_normal

from tests.checks import close, unit
from unseen import AnchoredSelfTraining, ZeroShotData, per_class_accuracy
from unseen.core.outcome import Round, reliability_by_rank
from unseen.transduction import anchored_open
from unseen.transduction.anchored_open import (
    FAR,
    ROWS_COUNT,
    SURER,
    gains_without,
    gaussian_scores,
    log_evidence,
    rematched,
    to_drop,
    unneeded,
)
from unseen.transduction.rounds import evidence


def make_data(seed=0, n_classes=24, n_unseen=6, per_class=25, noise=0.7):
    rng = np.random.default_rng(seed)
    names = np.array([f"class {i:02d}" for i in range(n_classes)])
    A = rng.uniform(size=(n_classes, 8))
    y = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    means = A @ rng.normal(size=(8, 14)) + 0.2 * rng.normal(size=(n_classes, 14))
    X = means[y] + noise * rng.normal(size=(len(y), 14)) + 1
    aside = (y < n_classes - n_unseen) & (rng.uniform(size=len(y)) < 0.25)
    table = pd.DataFrame(A, index=names)
    unseen = names[n_classes - n_unseen :]
    return ZeroShotData("made up", X, names[y], table, unseen, aside)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def adapted(data):
    """The defaults, adapted to the rows of all unseen classes."""
    return fitted(data).adapt(data.X_unseen)


def fitted(data, **parameters):
    model = AnchoredSelfTraining(**parameters)
    table = data.class_embeddings
    return model.fit(data.X_seen, data.y_seen, class_embeddings=table)


def test_a_handicap_holds_seen_classes_inside_the_rounds_only(data, adapted):
    X = np.vstack([data.X_unseen, data.X_seen_test])
    held = fitted(data, handicap=7.0).adapt(data.X_unseen)  # where none competes
    assert_array_equal(adapted.labels_, held.labels_)
    close(adapted.reliability_, held.reliability_)
    first, held = (
        fitted(data, max_rounds=0, handicap=h).adapt(X, classes="all") for h in (0, 50)
    )
    assert_array_equal(first.labels_, held.labels_)
    # Without end, no row moves the means of seen classes: they score as fitted.
    endless = fitted(data, handicap=1e9).adapt(X, classes="all")
    inside, alone = (
        m.decision_function(X, classes=data.seen) for m in (endless, adapted)
    )
    close(inside, alone, digits=6)


# ---- who is there --------------------------------------------------------------------


def test_absent_classes_are_dropped_from_a_list_that_is_too_long(data, adapted):
    long = fitted(data).adapt(data.X_unseen, classes="all")
    cut = fitted(data, drop_absent=True).adapt(data.X_unseen, classes="all")
    right = {
        name: per_class_accuracy(data.y_unseen, model.labels_)
        for name, model in (("long", long), ("cut", cut), ("all", adapted))
    }
    assert right["cut"] > right["long"]
    assert right["cut"] >= right["all"] - 0.03
    assert len(cut.present_classes_) < 12
    shares = pd.Series(adapted.class_shares_, index=adapted.present_classes_)
    found = pd.Series(adapted.labels_).value_counts(normalize=True)
    close(shares, found[shares.index], within=0.1)
    close([cut.class_shares_.sum(), shares.sum()], 1)
    assert_array_equal(cut.predict(data.X_unseen), cut.labels_)


def test_a_third_is_dropped_at_most_and_only_what_is_small():
    counts = np.array([100.0, 100, 90, 1, 2, 3, 4, 80, 5])
    assert_array_equal(np.flatnonzero(to_drop(counts, counts)), [3, 4, 5])
    assert not to_drop(np.full(6, 10.0), np.full(6, 10.0)).any()
    # A class with rows of its own is not dropped for being like another.
    lost = np.array([100.0, 100, 1, 100, 1, 100])
    counts = np.array([50.0, 50, 50, 50, 5, 50])
    assert_array_equal(np.flatnonzero(to_drop(lost, counts)), [4])


def test_losses_are_what_the_likelihood_falls_by_without_a_class():
    S = 3 * np.random.default_rng(0).normal(size=(60, 3)) + [20, 0, 0]
    S[:5] = [90, 0, 0]  # rows that one class has alone count 30
    fall = [
        np.log(np.exp(S).sum(axis=1) / np.exp(np.delete(S, c, axis=1)).sum(axis=1))
        for c in range(3)
    ]
    found = evidence(softmax(S, axis=1), FAR)
    close(found, np.minimum(fall, 30.0).sum(axis=1), digits=6)


def test_evidence_is_the_likelihood_with_the_mean_integrated_out():
    """Against SciPy's Gaussian of all rows at once, whose covariance is I + V."""
    rng = np.random.default_rng(1)
    n, v, Z = 4, np.array([0.3, 2.0, 0.7]), rng.normal(size=3)
    rows = rng.normal(size=(n, 3)) + Z
    whole = 0.0
    for j in range(3):
        cov = np.eye(n) + v[j]
        whole += multivariate_normal(np.full(n, Z[j]), cov).logpdf(rows[:, j])
        whole -= multivariate_normal(np.zeros(n), np.eye(n)).logpdf(rows[:, j])
    found = log_evidence(
        np.array([float(n)]), rows.sum(axis=0)[None], Z[None], 1 / v[None]
    )
    close(found, [whole])


def test_a_class_is_not_needed_if_its_rows_are_likelier_elsewhere():
    """By loops: every row of the class goes to its next best, means integrated out."""
    rng = np.random.default_rng(2)
    truth = 8 * np.eye(3, 30)
    B = np.repeat(truth, 40, axis=0) + rng.normal(size=(120, 30))
    other = truth[1] + np.where(np.arange(30) % 2, 0.4, -0.4)  # which is not there
    Z = np.vstack([truth + 0.1, other])
    S = B @ Z.T - (Z**2).sum(axis=1) / 2
    p = np.full(Z.shape, 1 / 0.5)

    def evidence(labels):
        own = [B[labels == c] * ROWS_COUNT for c in range(4)]
        n = np.array([len(rows) * ROWS_COUNT for rows in own])
        s = np.array([rows.sum(axis=0) for rows in own])
        return log_evidence(n, s, Z, p).sum()

    first = S.argmax(axis=1)
    assert (first == 3).any()
    expected = []
    for c in range(4):
        labels = first.copy()
        for i in np.flatnonzero(first == c):
            labels[i] = np.delete(np.arange(4), c)[np.delete(S[i], c).argmax()]
        expected.append(evidence(labels) - evidence(first))
    close(gains_without(S, B, Z, p), expected, digits=8)
    assert_array_equal(unneeded(S, B, Z, p), [False, False, False, True])


def test_clusters_are_matched_as_their_rows_are_likeliest():
    """The likelihood of rows around an unknown mean is a normal's, row with row."""
    rng = np.random.default_rng(3)
    Z, p = 2 * rng.normal(size=(5, 3)), rng.uniform(0.3, 3, size=(5, 3))
    clusters = [Z[c] + rng.normal(size=(6, 3)) + rng.normal(size=3) for c in (4, 0, 2)]
    likely = np.zeros((3, 5))
    for (k, rows), c, j in product(enumerate(clusters), range(5), range(3)):
        spread = np.eye(6) + np.ones((6, 6)) / p[c, j]
        alike = multivariate_normal(np.full(6, Z[c, j]), spread)
        likely[k, c] += alike.logpdf(rows[:, j])
    n, s = np.full(3, 6.0), np.array([rows.sum(axis=0) for rows in clusters])
    own = np.array([1, 0, 3])
    likely[range(3), own] += SURER
    for taken in ([], [4]):  # nobody may go to these
        new = ~np.isin(np.arange(5), taken)
        ways = permutations(np.flatnonzero(new), 3)
        best = max(ways, key=lambda way: likely[range(3), way].sum())
        assert_array_equal(rematched(n, s, Z, p, own, new), best)


@pytest.mark.parametrize("seen", [False, True])
def test_a_class_that_went_in_error_comes_back_unless_it_was_seen(
    data, monkeypatch, seen
):
    passes = []

    def drop_first(lost, counts):
        passes.append(len(lost))
        return (np.arange(len(lost)) == 3) & (len(passes) == 1)

    monkeypatch.setattr(anchored_open, "to_drop", drop_first)
    nobody = np.zeros(0, dtype=int)
    monkeypatch.setattr(
        anchored_open, "unneeded", lambda S, B, Z, p: np.isin(np.arange(len(Z)), nobody)
    )
    model, X, wrong = fitted(data, drop_absent=True), data.X_unseen, data.unseen[3]
    if seen:
        wrong = data.seen[3]
        X = np.vstack([X, data.X[data.y == wrong]])
    else:  # a neighbour that has no row takes those of the class that went
        X = X[data.y_unseen != data.unseen[nearest_to(model, 3)]]
    model.adapt(X, classes="all" if seen else None)
    assert len(passes) >= 2
    assert (wrong in model.competing_classes_) != seen


def nearest_to(model, c):
    Z = model._prototypes(model._candidates(None))[0]
    far = np.linalg.norm(Z - Z[c], axis=1)
    return int(np.where(np.arange(len(Z)) == c, np.inf, far).argmin())


def test_given_labels_keep_the_list_as_it_is(data):
    with pytest.raises(ValueError, match=r"Given labels .*drop_absent"):
        fitted(data, drop_absent=True).adapt(data.X_unseen, given={0: data.unseen[0]})


def test_the_background_is_a_gaussian_as_wide_as_the_seen_means(data):
    model = fitted(data)
    broad, length, early = model.background_evidence(data.X_unseen).T
    units = unit(data.X_unseen)
    B = (units - model.mean_) @ model.axes_
    rows = unit(data.X_seen)
    rows = (rows - model.mean_) @ model.axes_
    means = np.array([rows[data.y_seen == c].mean(axis=0) for c in data.seen])
    k = B.shape[1]
    wide = multivariate_normal(np.zeros(k), np.eye(k) + means.T @ means / len(means))
    narrow = multivariate_normal(np.zeros(k), np.eye(k))
    close(broad, wide.logpdf(B) - narrow.logpdf(B), digits=6)
    close(length, (B**2).mean(axis=1) / 2)
    # Before adapting, a class is as wide as its prototype may be off.
    Z = model._prototypes(model._candidates(None))[0]
    spread = np.eye(k) + np.diag(model.variances_)
    F0 = model.decision_function(data.X_unseen)
    for c in (0, 3):
        theirs = wide.logpdf(B) - multivariate_normal(Z[c], spread).logpdf(B)
        close(early - F0[:, c], theirs, digits=6)


# ---- explanations --------------------------------------------------------------------


def test_an_explanation_sums_to_the_margin_and_its_table_leaves_nothing_over(
    data, adapted
):
    before = fitted(data)
    for model in (before, adapted):
        why = model.explain(data.X_unseen[:15])
        F = np.sort(model.decision_function(data.X_unseen[:15]), axis=1)
        close(why.margins, F[:, -1] - F[:, -2])
        assert_array_equal(why.labels, model.predict(data.X_unseen[:15]))
        whole = why.contributions.sum(axis=1) + why.taught
        close(whole, why.margins, digits=2)
        if model is before:
            close(why.taught, 0, digits=8)
    some, every = why.table(1, n_top=3), why.table(1, n_top=8)
    top = np.argsort(-np.abs(why.contributions[1]))
    first = [f"column {c}" for c in top[:3]]
    first += ["5 other columns", "what the unlabelled rows taught"]
    assert list(some["evidence"]) == first
    assert len(every) == 9  # no line for no column
    for table in (some, every):
        close(table["contribution"].sum(), whole[1])


def test_contributions_are_what_changing_a_column_does(data):
    """A path in small steps from runner-up to label, slopes by differences."""
    model = fitted(data)
    why = model.explain(data.X_unseen[:1])
    asked = model._asked([why.labels[0], why.runners_up[0]])
    a, b = np.hstack(model._scale(asked.embeddings))
    x = data.X_unseen[0] / np.linalg.norm(data.X_unseen[0])
    row = (x - model.mean_) @ model.axes_
    q, h, total = 1 / (1 + model.variances_), 1e-5, np.zeros(len(a))

    def score(t):
        return gaussian_scores(row[None], model._from_embeddings([t]), q)[0]

    for share in (np.arange(200) + 0.5) / 200:
        t, steps = b + share * (a - b), h * np.eye(len(a))
        total += (score(t + steps) - score(t - steps)) / (2 * h) / 200
    close(why.contributions[0], total * (a - b), digits=3)
    close(score(np.array([a, b])) @ [1, -1], why.margins[0], digits=6)


# ---- what other methods say of their labels ------------------------------------------


def test_reliability_by_rank_has_the_mean_of_what_stayed():
    n = 1000
    codes, confidence = np.zeros(n, dtype=int), np.arange(n)
    ranks = np.arange(1, n + 1) / n
    for share in (0.3, 0.7):
        done = Round(1.0, np.array([n]), round((1 - share) * n), 0.0, None)
        found = reliability_by_rank(codes, confidence, [done])
        close(found, ranks ** (1 / share - 1))
        close(found.mean(), share, within=0.01)
    close(reliability_by_rank(codes, confidence, []), ranks)
