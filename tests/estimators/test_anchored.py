"""Anchored self-training, number by number, against samples and plain matrices.

The oracle keeps every sample, leaves classes out for real, and never turns the axes:
what the method does direction by direction it does with the matrix V of all variances.
"""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close, make_data, never_rises
from tests.oracles import minimise
from unseen import AnchoredSelfTraining, per_class_accuracy
from unseen.core.classes import Candidates
from unseen.core.given import GivenRows
from unseen.core.rows import Rows
from unseen.transduction.anchored import Learner, WeakStartWarning, transported

pytestmark = pytest.mark.filterwarnings(
    "ignore::unseen.WeakStartWarning", "ignore::unseen.EqualDescriptionsWarning"
)
GRID = [0.5 * 2 ** (i / 4) for i in range(29)]  # temperatures, 0.5 to 64


@pytest.fixture
def one_run(monkeypatch):
    """No second run with classes held to like sizes."""
    monkeypatch.setattr(Learner, "even_pull", lambda self: 0.0)


def fitted(data, **parameters):
    return AnchoredSelfTraining(**parameters).fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )


# ---- the oracle ----------------------------------------------------------------------


def make_rows(noise=0.6, off=0.3, seed=0, n_each=12):
    """Ten classes, seven seen, of unlike sizes; the embeddings explain most of them."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(10, 4))
    means = A @ rng.normal(size=(4, 8)) + off * rng.normal(size=(10, 8))
    y = np.repeat(np.arange(10), n_each + np.arange(10))
    X = means[y] + noise * rng.normal(size=(len(y), 8)) + 2
    names = np.array([f"k{i}" for i in range(10)])
    return X, names[y], pd.DataFrame(A, index=names)


def unit(M):
    return np.array([row / np.sqrt(row @ row) for row in M])


def soft(S):
    P = np.exp(S - S.max(axis=1)[:, None])
    return P / P.sum(axis=1)[:, None]


class Samples:
    """What ``fit`` learns, from unit rows of the first seven classes."""

    def __init__(self, X, y, table):
        self.names = table.index.to_numpy()
        rows = unit(X)
        self.mean = rows.mean(axis=0)
        scatter = np.zeros((8, 8))
        for name in self.names[:7]:
            own = rows[y == name]
            scatter += (own - own.mean(axis=0)).T @ (own - own.mean(axis=0))
        scatter /= len(rows)
        scatter += 0.1 * np.trace(scatter) / 8 * np.eye(8)
        values, vectors = np.linalg.eigh(scatter)
        self.W = vectors / np.sqrt(values) @ vectors.T
        B = self.on_axes(X)
        self.counts = np.array([(y == name).sum() for name in self.names[:7]])
        self.C = np.array([B[y == name].mean(axis=0) for name in self.names[:7]])
        A = unit(table.to_numpy())
        centre = A[:7].mean(axis=0)
        A = (A - centre) / np.sqrt(
            np.mean([(a - centre) @ (a - centre) for a in A[:7]])
        )
        made = [self.ridge(A, kind) for kind in ("linear", "rbf")]
        E = sum(errors for _, errors in made) / 2
        self.v = np.mean(E**2)
        self.V = (E.T @ E / 7 + self.v * np.eye(8)) / 2
        self.Q = np.linalg.inv(np.eye(8) + self.V)  # how far directions are trusted
        self.left_out = self.C - E
        self.length = np.sqrt(np.mean(np.sum(self.left_out**2, axis=1)))
        self.Z = self.length * unit(sum(Z for Z, _ in made) / 2)

    def on_axes(self, X):
        return (unit(X) - self.mean) @ self.W

    def ridge(self, A, kind):
        """Prototypes of all ten classes, and what leaving each of the seven misses."""

        def k(a, b):
            d = a - b
            return 100 + (a @ b if kind == "linear" else np.exp(-d @ d / 2))

        K = np.array([[k(a, b) for b in A[:7]] for a in A])
        best = None
        for lam in 10 ** np.arange(-2.5, 2.1, 0.25):
            E = []
            for c in range(7):
                rest = [i for i in range(7) if i != c]
                G = K[np.ix_(rest, rest)] + lam * np.eye(6)
                E.append(self.C[c] - K[c, rest] @ np.linalg.solve(G, self.C[rest]))
            if best is None or np.mean(np.square(E)) < np.mean(np.square(best[1])):
                best = lam, np.array(E)
        lam, E = best
        return K @ np.linalg.solve(K[:7] + lam * np.eye(7), self.C), E

    def start(self, chosen):
        """Prototypes of the chosen classes, and the labelled rows they rest on."""
        Z, own = self.Z[chosen].copy(), np.zeros(len(chosen))
        for i, c in enumerate(chosen):
            if c < 7:  # rows of its own, and the embedding worth 1 / v rows
                n, own[i] = self.counts[c], self.counts[c]
                Z[i] = (n * self.C[c] + Z[i] / self.v) / (n + 1 / self.v)
        return Z, own

    def scores(self, X, m, Q=None):
        Q = np.eye(8) if Q is None else Q
        return np.array(
            [[b @ Q @ c - c @ Q @ c / 2 for c in m] for b in self.on_axes(X)]
        )

    def adapt(self, X, chosen, *, kappa=3.0, pull=0.0):
        """Return scores at the start and of each round, the means, and each -J."""
        (Z, own), B, N = self.start(chosen), self.on_axes(X), len(chosen)
        one, anchor = np.eye(8), np.linalg.inv(self.V)
        S, u, heat = self.scores(X, Z, self.Q), np.zeros(N), 2.0
        if pull:
            u = pulled(S / heat, u, pull, 10)
        found, costs = [S + u], []
        for number in range(1, 11):
            P = soft(S / heat + u)
            n = P.sum(axis=0)
            if not pull:
                u = np.log((n + 10) / np.mean(n + 10))
            m = np.empty_like(Z)
            for c in range(N):
                firm = (n[c] + own[c]) * one + kappa * anchor
                m[c] = Z[c] + np.linalg.solve(firm, P[:, c] @ (B - Z[c]))
            S = self.scores(X, m)
            heat = [1.6, 1.3, 1.0][min(number, 3) - 1]
            if pull:
                u = pulled(S / heat, u, pull, 3)
            shares = u - np.log(N)
            fit = sum(np.log(np.exp(s / heat + shares).sum()) for s in S)
            moved = sum(
                (a - z) @ (kappa * anchor + o * one) @ (a - z)
                for a, z, o in zip(m, Z, own, strict=True)
            )
            costs.append(moved / 2 - fit - 10 * shares.sum())
            answer = S + u if pull else S
            same = (answer.argmax(axis=1) == found[-1].argmax(axis=1)).all()
            found.append(answer)
            if number >= 4 and same:
                break
        return found, m, costs


def pulled(S, u, pull, n_steps):
    """Steps of transport to like sizes, at the price ``pull`` of other ones."""
    for _ in range(n_steps):
        sizes = soft(S + u).mean(axis=0) * S.shape[1]
        u = u + (-pull * np.log(sizes) - u) / (1 + pull)
    return u - u.mean()


def learned(X, y, table, classes=None, **options):
    seen = np.isin(y, table.index[:7])
    model = AnchoredSelfTraining(tol=0, **options)
    model.fit(X[seen], y[seen], class_embeddings=table)
    oracle = Samples(X[seen], y[seen], table)
    return model, oracle, X if classes == "all" else X[~seen]


def temperature_of(model, X, **options):
    """Read the temperature off the public numbers: log p has the slope 1 / T."""
    S = model.decision_function(X, **options)
    L = np.log(np.maximum(model.predict_proba(X, **options), 1e-300))
    gap = np.sort(S, axis=1)[:, -1] - np.sort(S, axis=1)[:, -2]
    sure = np.sort(L, axis=1)[:, -1] - np.sort(L, axis=1)[:, -2]
    clear = (gap > 1e-3) & (sure < 500)
    return np.median(gap[clear] / sure[clear])


# ---- fit -----------------------------------------------------------------------------


def test_fit_measures_what_leaving_classes_out_measures_and_scores_by_it():
    """Lengths of prototypes, trust by direction, and seen classes' own means."""
    model, oracle, rows = learned(*make_rows())
    close(model.variance_, oracle.v, digits=8)
    close(np.sort(model.variances_), np.linalg.eigvalsh(oracle.V))
    by_mean = [
        oracle.C[c] - np.delete(oracle.C, c, axis=0).mean(axis=0) for c in range(7)
    ]
    close(model.explained_, 1 - oracle.v / np.mean(np.square(by_mean)), digits=8)
    S = oracle.scores(rows, oracle.start(range(10))[0], oracle.Q)
    close(model.decision_function(rows, classes="all"), S)


def test_the_temperature_is_the_honest_one_of_noisy_rows():
    model, oracle, rows = learned(*make_rows(1.5, off=1.0, seed=1))
    Z = oracle.length * unit(oracle.left_out)
    rng = np.random.default_rng(99)

    def best(noise):
        loss = np.zeros(29)
        for c in range(7):
            b = oracle.C[c] + noise * rng.normal(size=(400, 8))
            S = b @ oracle.Q @ Z.T - np.einsum("ij,jk,ik->i", Z, oracle.Q, Z) / 2
            for i, T in enumerate(GRID):
                loss[i] += np.mean(np.log(np.exp((S - S[:, [c]]) / T).sum(axis=1)))
        return loss.argmin()

    T = temperature_of(model, rows)
    place = np.abs(np.log(GRID) - np.log(T)).argmin()
    close(GRID[place], T, digits=5)
    assert abs(place - best(1.0)) <= 1
    assert abs(place - best(0.0)) > 2  # rows without noise would tell another


@pytest.mark.parametrize("whitening", [0.1, None])
def test_no_axis_is_left_to_rounding(whitening):
    """Features turned as a whole: the same axes, also where no class errs."""
    rng = np.random.default_rng(4)
    A = pd.DataFrame(rng.normal(size=(8, 5)))
    y = np.repeat(np.arange(6), 40)
    X = A.to_numpy()[y] @ rng.normal(size=(5, 30)) + rng.normal(size=(240, 30))
    turn = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    model = AnchoredSelfTraining(whitening=whitening, unit_rows=False)
    rows = []
    for M in (X, X @ turn):
        model.fit(M, y, class_embeddings=A)
        rows.append(np.abs((M - model.mean_) @ model.axes_))
    assert (np.diff(model.variances_) < 1e-9).sum() >= 30 - 6 - 1  # ties there are
    close(*rows)


# ---- adapt ---------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [None, "all"])
@pytest.mark.parametrize("options", [{}, {"kappa": 1.0}], ids=str)
def test_every_number_of_every_round_is_that_of_the_samples(one_run, classes, options):
    model, oracle, rows = learned(*make_rows(), classes, **options)
    model.adapt(rows, classes=classes)
    chosen = list(range(10)) if classes == "all" else [7, 8, 9]
    (first, *later), means, costs = oracle.adapt(rows, chosen, **options)
    names = oracle.names[chosen]
    moves = means - oracle.start(chosen)[0]
    spreads = [move @ np.linalg.solve(oracle.V, move) / 8 for move in moves]
    assert f"moved by {np.mean(spreads) ** 0.5:.2f} times" in model.rounds_[-1].note
    before = first.argmax(axis=1)
    for ours, S, cost in zip(model.rounds_, later, costs, strict=True):
        codes = S.argmax(axis=1)
        assert_array_equal(ours.labels, names[codes])
        assert_array_equal(ours.selected, np.bincount(codes, minlength=len(names)))
        close(ours.objective, cost)
        assert ours.n_changed == (before != codes).sum()
        before = codes
    close(model.decision_function(rows), later[-1], digits=6)
    share = soft(first / 2).mean(axis=0)
    per_class = len(rows) * (share @ share)  # two rows at random are of one class
    close(model.weight_, per_class / (per_class + options.get("kappa", 3.0) / oracle.v))
    posterior = soft(later[-1] / temperature_of(model, rows))
    close(model.reliability_, posterior.max(axis=1), digits=5)


def test_a_second_run_holds_sizes_as_the_samples_do(monkeypatch):
    model, oracle, rows = learned(*make_rows())
    monkeypatch.setattr(Learner, "even_pull", lambda self: 7.0)
    model.adapt(rows)
    (_, *later), _, _ = oracle.adapt(rows, [7, 8, 9], pull=7.0)
    second = [one for one in model.rounds_ if "pulled together" in one.note]
    assert len(second) < len(model.rounds_)
    for ours, S in zip(second, later, strict=True):
        assert_array_equal(ours.labels, oracle.names[7:][S.argmax(axis=1)])
    close(model.decision_function(rows), later[-1], digits=6)
    assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize(("noise", "held"), [(4.0, True), (1.5, False)])
def test_adapted_posteriors_are_no_surer_than_the_start_was(noise, held):
    model, _, rows = learned(*make_rows(noise, off=1.0, seed=1))
    start, T = model.decision_function(rows), temperature_of(model, rows)
    after = model.adapt(rows).decision_function(rows)
    wanted = soft(start / T).max(axis=1).mean()
    gaps = [abs(soft(after / t).max(axis=1).mean() - wanted) for t in GRID]
    nearest, floor = GRID[np.argmin(gaps)], 2 * max(T, 1.0)
    assert (nearest < floor) == held  # both sides of the rule are met
    close(temperature_of(model, rows), max(nearest, floor), digits=4)


def learner(B, Z, v, given=None, **options):
    """Return the rounds at their start, without the estimator around."""
    model = SimpleNamespace(
        kappa=3.0,
        handicap=0.0,
        variances_=v,
        _seen_names=range(10**12),
        _metric=lambda: np.ones(len(v)),
        _prototypes=lambda candidates: (Z, np.zeros(len(Z))),
    )
    vars(model).update(options)
    names = np.arange(len(Z))
    return Learner(
        model, Rows(B), Candidates(names, names[:, None], names, names), given
    )


@pytest.fixture
def rows():
    """Four clusters, prototypes off the mark, uneven variances."""
    rng = np.random.default_rng(0)
    centres = 2 * rng.normal(size=(4, 5))
    B = centres[rng.integers(4, size=60)] + rng.normal(size=(60, 5))
    return B, centres + 0.7 * rng.normal(size=(4, 5)), rng.uniform(0.2, 1.0, size=5)


def test_what_the_rounds_maximise_never_falls(rows):
    model = learner(*rows)
    model.refit()  # from here on at temperature 1
    values = []
    for _ in range(30):
        model.refit()
        values.append(model.objective)
    never_rises(values)
    assert values[-1] < values[0]


def test_given_rows_measure_anew_what_prototypes_are_worth():
    """Four rows each of two classes of ten others, 3 and 1 off; v was 2."""
    B, codes = np.repeat([3.0, 1.0], 4)[:, None], np.repeat([0, 1], 4)
    given = GivenRows(codes, np.zeros(2, dtype=bool))
    model = learner(B, np.zeros((2, 1)), np.array([2.0]), given, _seen_names=range(10))
    heard = (1 + 1 / 8) ** -2  # a mean of four rows says that much of v
    v = (10 * 2 + heard * (9 - 1 / 4) + heard * (1 - 1 / 4)) / (10 + 2 * heard)
    close(model.anchors.variances, [v])
    close(model.anchors.Z.ravel(), [12 / (1 / v + 4), 4 / (1 / v + 4)])


def test_given_rows_move_prototypes_as_bayes_says(rows):
    B, Z, v = rows
    codes = np.full(60, -1)
    codes[[0, 2, 4]] = 0
    found = learner(B, Z, v, GivenRows(codes, np.zeros(4, dtype=bool))).anchors
    for j in range(5):  # least squares with the prototype as an observation
        seen = np.append(B[codes == 0, j], Z[0, j])
        wanted = np.average(seen, weights=np.append(np.ones(3), 1 / v[j]))
        close(found.Z[0, j], wanted, digits=9)
    assert_array_equal(found.Z[1:], Z[1:])
    assert_array_equal(found.start, Z)
    assert found.own_rows.tolist() == [9.0, 0, 0, 0]  # not discounted by kappa


def test_a_pull_on_sizes_ends_where_its_cost_is_least(rows):
    """The dual of transport whose sizes may differ, at a price per Kullback-Leibler."""
    B, Z, _ = rows
    S, pull = (B @ Z.T - (Z**2).sum(axis=1) / 2) / 5, 4.0
    u = transported(S, np.zeros(4), pull, n_steps=3000)

    def cost(u):
        fit = np.log(np.exp(S + u).sum(axis=1)).mean()
        return fit + pull * np.mean(np.exp(-u / pull))

    best = minimise(cost, np.zeros(4))
    close(u, best - best.mean(), digits=4)


def test_a_second_run_needs_labels_that_are_clear_and_even():
    rng = np.random.default_rng(0)
    Z, v = 8 * np.eye(4), np.full(4, 0.1)
    clear = Z[np.repeat(np.arange(4), 50)] + rng.normal(size=(200, 4))
    lone = Z[np.repeat(np.arange(2), 100)] + rng.normal(size=(200, 4))
    pulls = [learner(B, Z, v).even_pull() for B in (clear, lone)]
    assert pulls == [20.0, 0.0]
    assert learner(0.1 * clear, 0.1 * Z, v).even_pull() == 0.0


# ---- the whole -----------------------------------------------------------------------


def test_it_helps_where_the_prototypes_are_off():
    data = make_data()
    table = data.class_embeddings.copy()
    table.iloc[9:] += 0.35 * (table.iloc[[10, 11, 9]].to_numpy() - table.iloc[9:])
    model = fitted(replace(data, class_embeddings=table))
    before = per_class_accuracy(data.y_unseen, model.predict(data.X_unseen))
    model.adapt(data.X_unseen)
    assert per_class_accuracy(data.y_unseen, model.labels_) > before + 0.03
    # All classes are scored in one metric now: seen rows stay with their own.
    answer = model.predict(data.X, classes="all")
    seen = ~np.isin(data.y, data.unseen)
    assert np.mean(answer[seen] == data.y[seen]) > 0.8


@pytest.mark.parametrize(
    "change",
    [{"whitening": None}, {"kappa": 0.0}, {"n_axes": 3}],
    ids=str,
)
def test_every_parameter_matters(change):
    data = make_data()
    default, model = (fitted(data, **p).adapt(data.X_unseen) for p in ({}, change))
    scores = model.decision_function(data.X_unseen)
    assert np.isfinite(scores).all()
    assert not np.allclose(scores, default.decision_function(data.X_unseen))


def test_few_constant_and_absent_rows_and_duplicate_classes():
    data = make_data()
    table = data.class_embeddings.copy()
    table.iloc[10] = table.iloc[9]
    table.iloc[11] = 0
    one_each = [np.flatnonzero(data.y_seen == c)[0] for c in np.unique(data.y_seen)]
    one_class = data.X_unseen[data.y_unseen == data.unseen[0]]
    few = [data.X_unseen[:n] for n in (1, 2, 5)]
    for seen in (slice(None), one_each):
        model = AnchoredSelfTraining()
        model.fit(data.X_seen[seen], data.y_seen[seen], class_embeddings=table)
        for X in (one_class, np.ones((20, 16)), np.zeros((20, 16)), *few):
            assert len(model.adapt(X).labels_) == len(X)
            assert np.isfinite(model.decision_function(data.X)).all()
            assert np.isfinite(model.reliability_).all()


def warned(data, **parameters):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fitted(data, **parameters).adapt(data.X_unseen)
    return [str(w.message) for w in found if w.category is WeakStartWarning]


def test_a_weak_start_is_reported(monkeypatch):
    """Embeddings that explain nothing; a start with every label on the wrong class."""
    data = make_data()
    assert not warned(data, kappa=1e6)
    same = replace(data, class_embeddings=data.class_embeddings * 0 + 1)
    (message,) = warned(same, max_rounds=0)
    assert message.startswith("Class embeddings explain")

    def begin_wrong(learner, *arguments):
        begin(learner, *arguments)
        learner._label(np.roll(learner.m, 1, axis=0), 1.0, 1.0)

    begin = Learner.__init__
    monkeypatch.setattr(Learner, "__init__", begin_wrong)
    (message,) = warned(data, kappa=1e6)
    assert message.startswith("Self-training changed 100%")


def test_how_it_ended_is_reported_truly_and_bad_parameters_by_name():
    data = make_data()
    one = fitted(data).adapt(data.X_unseen, classes=[data.unseen[0]])
    assert one.stopped_because_.endswith("one candidate.")
    assert not one.adapted_ and one.stopped_because_ in str(one.rounds_[0])
    short = fitted(data, max_rounds=2).adapt(data.X_unseen)
    assert short.stopped_because_ == f"{len(short.rounds_)} rounds were made."
    assert len(short.rounds_) in (2, 4)  # 4 if sizes are held even in a second run
    with pytest.raises(ValueError, match="'kappa' parameter"):
        fitted(data, kappa=-1)
