"""Anchored self-training on mixed piles, open piles, and lists that are too long."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import multivariate_normal

from tests.checks import close, never_rises
from unseen import AnchoredSelfTraining, ZeroShotData, per_class_accuracy
from unseen.core.base import reliability_by_rank
from unseen.core.classes import Candidates
from unseen.rows.holders import MemoryRows
from unseen.transduction.anchored_absent import (
    ROWS_COUNT,
    SURER,
    effective_number,
    gains_without,
    log_evidence,
    rematched,
    to_drop,
    unneeded,
)
from unseen.transduction.anchored_learner import AnchoredLearner
from unseen.transduction.anchored_look import Background, gaussian_scores
from unseen.transduction.rounds import Round


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


def fitted(data, **parameters):
    model = AnchoredSelfTraining(**parameters)
    table = data.class_embeddings
    return model.fit(data.X_seen, data.y_seen, class_embeddings=table)


def learner(B, Z, variances, prior_rows=10.0, **others):
    """Return the rounds at their start, without the estimator around."""
    competition = Candidates(np.arange(len(Z)), Z)
    return AnchoredLearner(
        MemoryRows(B),
        competition,
        Z,
        variances,
        own_rows=np.zeros(len(Z)),
        kappa=3.0,
        radius=None,
        prior_rows=prior_rows,
        class_prior=None,
        **others,
    )


def mixed(data):
    X = np.vstack([data.X_unseen, data.X_seen_test])
    return X, np.concatenate([data.y_unseen, data.y_seen_test])


def test_a_handicap_holds_seen_classes_inside_the_rounds_only(data):
    X, _ = mixed(data)
    plain = fitted(data).adapt(data.X_unseen)
    held = fitted(data, handicap=7.0).adapt(data.X_unseen)  # where none competes
    assert_array_equal(plain.labels_, held.labels_)
    close(plain.reliability_, held.reliability_)
    first, held = (
        fitted(data, max_rounds=0, handicap=h).adapt(X, classes="all") for h in (0, 50)
    )
    assert_array_equal(first.labels_, held.labels_)
    # Without end, no row moves the means of seen classes: they score as fitted.
    endless = fitted(data, handicap=1e9).adapt(X, classes="all")
    inside, alone = (
        m.decision_function(X, classes=data.seen) for m in (endless, plain)
    )
    close(inside, alone, digits=6)


def test_seen_classes_beside_keep_their_rows_from_unseen_ones(data):
    X, y = mixed(data)
    own = np.isin(y, data.unseen)
    beside = fitted(data, beside_seen=True).adapt(X)
    assert set(beside.labels_) <= set(data.unseen)
    assert_array_equal(beside.competing_classes_, data.unseen)
    plain = fitted(data).adapt(X)
    ours, theirs = (
        per_class_accuracy(y[own], model.labels_[own]) for model in (beside, plain)
    )
    assert ours >= theirs
    assert_array_equal(beside.predict(X), beside.labels_)
    # The classes themselves end nearer to where their own rows are.
    clean = fitted(data).adapt(data.X_unseen).decision_function(data.X_unseen)
    far = {}
    for name, model in (("beside", beside), ("plain", plain)):
        far[name] = np.abs(model.decision_function(data.X_unseen) - clean).mean()
    assert far["beside"] < far["plain"]


def test_absent_classes_are_dropped_from_a_list_that_is_too_long(data):
    long = fitted(data).adapt(data.X_unseen, classes="all")
    cut = fitted(data, drop_absent=True).adapt(data.X_unseen, classes="all")
    right = fitted(data).adapt(data.X_unseen)
    accuracy = {
        name: per_class_accuracy(data.y_unseen, model.labels_)
        for name, model in (("long", long), ("cut", cut), ("right", right))
    }
    assert accuracy["cut"] > accuracy["long"]
    assert accuracy["cut"] >= accuracy["right"] - 0.03
    assert set(cut.present_classes_) <= set(data.classes)
    assert len(cut.present_classes_) < 12
    shares = pd.Series(right.class_shares_, index=right.present_classes_)
    found = pd.Series(right.labels_).value_counts(normalize=True)
    close(shares, found[shares.index], within=0.1)
    close([cut.class_shares_.sum(), shares.sum()], 1)
    assert_array_equal(cut.predict(data.X_unseen), cut.labels_)


def test_a_third_is_dropped_at_most_and_only_what_is_small():
    assert effective_number(np.array([4.0, 4, 4])) == 3
    assert effective_number(np.array([9.0, 0, 0])) == 1
    assert effective_number(np.zeros(3)) == 3
    counts = np.array([100.0, 100, 90, 1, 2, 3, 4, 80, 5])
    assert_array_equal(np.flatnonzero(to_drop(counts, counts)), [3, 4, 5])
    assert not to_drop(np.full(6, 10.0), np.full(6, 10.0)).any()
    # A class with rows of its own is not dropped for being like another.
    losses = np.array([100.0, 100, 1, 100, 1, 100])
    counts = np.array([50.0, 50, 50, 50, 5, 50])
    assert_array_equal(np.flatnonzero(to_drop(losses, counts)), [4])


def test_losses_are_what_the_likelihood_falls_by_without_a_class():
    rng = np.random.default_rng(0)
    Z = np.array([[6.0, 0], [0, 6], [0.5, 6.5]])
    B = np.repeat(Z[:2], 30, axis=0) + rng.normal(size=(60, 2))
    taught = learner(B, Z, np.full(2, 0.1))
    taught.refit()
    S = B @ taught.m.T - (taught.m**2).sum(axis=1) / 2 + taught.log_sizes
    fall = [
        np.log(np.exp(S).sum(axis=1) / np.exp(np.delete(S, c, axis=1)).sum(axis=1))
        for c in range(3)
    ]
    found = taught.losses()
    close(found, np.minimum(fall, 30.0).sum(axis=1), digits=6)
    assert found[0] > 10 * found[1:].max()  # the other two share one cluster


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


@pytest.mark.parametrize(("kappa", "n_left"), [(3.0, 5), (1e5, 6)])
def test_a_pile_that_weighs_little_judges_no_class(data, monkeypatch, kappa, n_left):
    monkeypatch.setattr(
        "unseen.transduction.anchored_rounds.to_drop",
        lambda losses, counts: np.zeros(len(losses), dtype=bool),
    )
    monkeypatch.setattr(
        AnchoredLearner,
        "unneeded",
        lambda self: (np.arange(len(self.Z)) == 2) & (len(self.Z) == 6),
    )
    model = fitted(data, drop_absent=True, kappa=kappa).adapt(data.X_unseen)
    assert (model.weight_ >= 0.5) == (n_left == 5)
    assert_array_equal(
        model.competing_classes_, np.delete(data.unseen, [2] if n_left == 5 else [])
    )


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
    near = n, s, np.array([s[0] / 6, s[0] / 6 + 0.1]), np.ones((2, 3))  # hardly apart
    one = [a[:1] for a in near[:2]]
    assert_array_equal(rematched(*one, *near[2:], np.array([1]), np.ones(2, bool)), [1])


def test_a_class_that_went_in_error_comes_back(monkeypatch):
    """A class without rows takes those of its like, which is dropped: it is found."""
    monkeypatch.setattr(AnchoredSelfTraining, "_absent", drops_first)
    right = []
    for seed in range(4):
        data = make_data(seed)
        model = fitted(data, drop_absent=True)
        Z = model._prototypes(model._candidates(None))[0]
        apart = np.linalg.norm(Z[:, None] - Z, axis=2) + 99 * np.eye(6)
        absent, model.wrong = np.unravel_index(apart.argmin(), apart.shape)
        model.n_passes = 0
        model.adapt(data.X_unseen[data.y_unseen != data.unseen[absent]])
        others = np.delete(data.unseen, absent)
        right.append(model.competing_classes_.tolist() == others.tolist())
        assert model.n_passes == 2 + right[-1]
    assert np.mean(right) >= 0.75


def test_a_seen_class_that_went_does_not_come_back(data, monkeypatch):
    monkeypatch.setattr(AnchoredSelfTraining, "_absent", drops_first)
    model = fitted(data, drop_absent=True)
    model.wrong, model.n_passes = 3, 0
    model.adapt(
        np.vstack([data.X_unseen, data.X[data.y == data.seen[3]]]), classes="all"
    )
    assert model.n_passes >= 2
    assert data.seen[3] not in model.competing_classes_
    assert len(model.competing_classes_) == len(data.classes) - 1


def drops_first(model, learner):
    model.n_passes += 1
    return (np.arange(len(learner.Z)) == model.wrong) & (model.n_passes == 1)


def test_given_labels_and_known_sizes_keep_the_list_as_it_is(data):
    with pytest.raises(ValueError, match="drop_absent"):
        fitted(data, drop_absent=True).adapt(data.X_unseen, given={0: data.unseen[0]})
    for name in ("beside_seen", "beside_unknown", "drop_absent"):
        model = fitted(data, class_prior="uniform", **{name: True})
        with pytest.raises(ValueError, match=f"class_prior .*{name}"):
            model.adapt(data.X_unseen)


def test_the_background_is_a_gaussian_as_wide_as_the_seen_means(data):
    model = fitted(data)
    broad, length, early = model.background_evidence(data.X_unseen).T
    units = data.X_unseen / np.linalg.norm(data.X_unseen, axis=1, keepdims=True)
    B = (units - model.mean_) @ model.axes_
    rows = data.X_seen / np.linalg.norm(data.X_seen, axis=1, keepdims=True)
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


# ---- rows of classes that nobody named -----------------------------------------------


def test_a_background_keeps_foreign_rows_from_the_classes():
    """Rows of two classes that are not on offer pull means less, on average."""
    far, right = {False: [], True: []}, {False: [], True: []}
    for seed in range(6):
        data = make_data(seed)
        X, y, offered = data.X_unseen, data.y_unseen, data.unseen[:4]
        own = np.isin(y, offered)
        clean = fitted(data).adapt(X[own], classes=offered).decision_function(X[own])
        for beside in (False, True):
            model = fitted(data, beside_unknown=beside).adapt(X, classes=offered)
            assert set(model.labels_) <= set(offered)
            assert_array_equal(model.predict(X), model.labels_)
            far[beside] += [np.abs(model.decision_function(X[own]) - clean).mean()]
            right[beside] += [per_class_accuracy(y[own], model.labels_[own])]
    assert np.mean(far[True]) < 0.75 * np.mean(far[False])
    assert np.mean(right[True]) > np.mean(right[False]) + 0.03


def test_a_background_is_the_same_in_blocks(data):
    X, _ = mixed(data)
    model = fitted(data, beside_unknown=True)
    whole = model.adapt(X).decision_function(X)
    chunks = np.array_split(X, 7)
    close(model.adapt(chunks).decision_function(X), whole, digits=6)


def test_with_a_background_the_objective_never_falls_and_rows_are_all_counted(data):
    rng = np.random.default_rng(1)
    Z = 3 * rng.normal(size=(5, 6))
    own = Z[rng.integers(0, 5, 150)] + 0.5 * rng.normal(size=(150, 6))
    B = np.vstack([own, 3 * rng.normal(size=(50, 6))]) + rng.normal(size=(200, 6))
    background = Background.of(3 * rng.normal(size=(20, 6)), np.full(6, 0.8))
    taught = learner(B, Z, np.full(6, 0.5), background=background)
    never_rises([taught.refit() for _ in range(16)])
    totals = taught.totals
    close(totals.counts.sum() + totals.background, 200)
    assert 10 < totals.background < 90
    # Without rows added to any size, the background has its own alone.
    taught = learner(B, Z, np.full(6, 0.5), prior_rows=None, background=background)
    counts, beyond = taught.totals.counts, taught.totals.background
    taught.refit()
    close(taught.log_beyond, np.log(beyond / counts.mean()))


# ---- explanations --------------------------------------------------------------------


@pytest.mark.parametrize("adapt", [False, True])
def test_an_explanation_sums_to_the_margin(data, adapt):
    model = fitted(data)
    if adapt:
        model.adapt(data.X_unseen)
    why = model.explain(data.X_unseen[:15])
    F = np.sort(model.decision_function(data.X_unseen[:15]), axis=1)
    close(why.margins, F[:, -1] - F[:, -2])
    assert_array_equal(why.labels, model.predict(data.X_unseen[:15]))
    whole = why.contributions.sum(axis=1) + why.taught
    close(whole, why.margins, digits=2)
    if not adapt:
        close(why.taught, 0, digits=8)


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


def test_a_wrong_cell_is_among_the_doubts(data):
    """Of eight columns, a planted error is among the first two in four of six."""
    firsts = 0
    for number, name in enumerate(data.unseen):
        table = data.class_embeddings.copy()
        column = number % table.shape[1]
        values = table[column]
        low = values[name] > values.median()
        table.loc[name, column] = values.min() - 0.5 if low else values.max() + 0.5
        model = AnchoredSelfTraining().fit(
            data.X_seen, data.y_seen, class_embeddings=table
        )
        told = model.adapt(data.X_unseen).explain_class(name, n_top=2)
        firsts += column in told.doubts["column"].to_numpy()
    assert firsts >= 4


def test_doubts_are_those_of_the_formula(data):
    """z² (J·d)² / (|J|² |d|²), with J by differences, where the cell stands out."""
    model, name = fitted(data).adapt(data.X_unseen), data.unseen[0]
    told = model.explain_class(name, n_top=99).doubts
    alone = model._alone(name)
    (t,) = np.hstack(model._scale(alone.embeddings))

    def prototype(t):
        return model._from_embeddings([t[None]])[0]

    steps = 1e-5 * np.eye(len(t))
    J = np.array([prototype(t + h) - prototype(t - h) for h in steps]) / 2e-5
    (place,) = model._adapted.candidates.find(alone.names, alone.embeddings)
    coef = model._adapted.scorer.coef[place]
    d = np.linalg.lstsq(model.axes_, coef, rcond=None)[0] - prototype(t)
    S = np.hstack(model._seen_embeddings)
    z = (t - S.mean(axis=0)) / S.std(axis=0)
    doubt = z**2 * (J @ d) ** 2 / (J**2).sum(axis=1) / (d @ d)
    doubt[(J @ d) * z >= 0] = 0
    close(told["doubt"], np.sort(doubt[doubt > 0])[::-1], digits=4)
    ways = np.where(J @ d > 0, "more", "less")[told["column"].to_numpy()]
    assert_array_equal(told["should"], ways)


def test_the_table_of_a_row_names_its_columns_and_leaves_nothing_over(data):
    why = fitted(data).adapt(data.X_unseen).explain(data.X_unseen[:2])
    some, every = why.table(1, n_top=3), why.table(1, n_top=8)
    top = np.argsort(-np.abs(why.contributions[1]))
    first = [f"column {c}" for c in top[:3]]
    assert list(some["evidence"]) == [*first, "5 other columns", "what the pile taught"]
    assert list(every["evidence"])[-1] == "what the pile taught"
    assert len(every) == 9  # no line for no column
    for table in (some, every):
        whole = why.contributions[1].sum() + why.taught[1]
        close(table["contribution"].sum(), whole)


def test_new_classes_are_explained_as_those_of_the_table(data):
    table, name = data.class_embeddings, data.unseen[1]
    alone = AnchoredSelfTraining().fit(
        data.X_seen, data.y_seen, class_embeddings=table.loc[data.seen]
    )
    ours = alone.adapt(data.X_unseen, classes=table.loc[data.unseen])
    theirs = fitted(data).adapt(data.X_unseen)
    for kind in ("doubts", "nearest"):
        pd.testing.assert_frame_equal(
            getattr(ours.explain_class(name), kind),
            getattr(theirs.explain_class(name), kind),
        )


def test_the_nearest_classes_are_the_nearest(data):
    told = fitted(data).explain_class(data.unseen[0], n_top=3)
    table = data.class_embeddings.to_numpy()
    units = table / np.linalg.norm(table, axis=1, keepdims=True)
    own = units[data.classes == data.unseen[0]]
    gaps = np.linalg.norm(units[np.isin(data.classes, data.seen)] - own, axis=1)
    assert_array_equal(told.nearest["class"], data.seen[np.argsort(gaps)[:3]])
    assert told.doubts.empty


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
