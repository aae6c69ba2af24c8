"""Anchored self-training, number by number, against samples and plain matrices.

The oracle keeps every sample, leaves classes out for real, and never turns the axes:
what the method does direction by direction it does with the matrix V of all variances.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import brentq

from tests.checks import close
from unseen import AnchoredSelfTraining
from unseen.transduction.anchored_learner import AnchoredLearner

pytestmark = pytest.mark.filterwarnings(
    "ignore::unseen.WeakStartWarning",
    "ignore::unseen.EqualDescriptionsWarning",
)
GRID = [0.5 * 2 ** (i / 4) for i in range(29)]  # temperatures, 0.5 to 64


@pytest.fixture(autouse=True)
def one_run(monkeypatch):
    """No second run, with classes held to like sizes, unless a test asks for it."""
    monkeypatch.setattr(AnchoredLearner, "even_pull", lambda self: 0.0)


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
        B = (rows - self.mean) @ self.W
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
        return gaussian(X, self.mean, self.W, m, np.eye(8) if Q is None else Q)

    def adapt(self, X, chosen, **options):
        Z, own = self.start(chosen)
        return rounds(X, self.mean, self.W, Z, self.V, self.Q, own, **options)


def gaussian(X, mean, W, m, Q):
    B = (unit(X) - mean) @ W
    return np.array([[b @ Q @ c - c @ Q @ c / 2 for c in m] for b in B])


def soft(S):
    P = np.exp(S - S.max(axis=1)[:, None])
    return P / P.sum(axis=1)[:, None]


def pulled(S, u, pull, n_steps):
    """Steps of transport to like sizes, at the price ``pull`` of other ones."""
    for _ in range(n_steps):
        sizes = soft(S + u).mean(axis=0) * S.shape[1]
        u = u + (-pull * np.log(sizes) - u) / (1 + pull)
    return u - u.mean()


def rounds(
    X, mean, W, Z, V, Q, own, *, kappa=3.0, radius=0.5, prior_rows=10.0, pull=0.0
):
    """Return scores at the start and after each round, the means, and -J of each."""
    B, (N, p) = (unit(X) - mean) @ W, Z.shape
    one, anchor = np.eye(p), np.linalg.inv(V)
    S = gaussian(X, mean, W, Z, Q)
    log_sizes, heat = np.zeros(N), 2.0
    if pull:
        log_sizes = pulled(S / heat, log_sizes, pull, 10)
    found, costs = [S + log_sizes], []
    for number in range(1, 11):
        P = soft(S / heat + log_sizes)
        n = P.sum(axis=0)
        if not pull:
            log_sizes = np.log((n + prior_rows) / np.mean(n + prior_rows))
        m = np.empty_like(Z)
        for c in range(N):

            def step(k, c=c, P=P, n=n):
                left = (n[c] + own[c]) * one + k * anchor
                return np.linalg.solve(left, P[:, c] @ (B - Z[c]))

            def beyond(k, step=step):
                return step(k) @ anchor @ step(k) / p - radius

            k = kappa if beyond(kappa) <= 0 else brentq(beyond, kappa, 1e9)
            m[c] = Z[c] + step(k)
        S = gaussian(X, mean, W, m, one)
        heat = [1.6, 1.3, 1.0][min(number, 3) - 1]
        if pull:
            log_sizes = pulled(S / heat, log_sizes, pull, 3)
        shares = log_sizes - np.log(N)
        fit = sum(np.log(np.exp(s / heat + shares).sum()) for s in S)
        moved = sum(
            (a - z) @ (kappa * anchor + o * one) @ (a - z)
            for a, z, o in zip(m, Z, own, strict=True)
        )
        costs.append(moved / 2 - fit - prior_rows * shares.sum())
        answer = S + log_sizes if pull else S
        same = (answer.argmax(axis=1) == found[-1].argmax(axis=1)).all()
        found.append(answer)
        if number >= 4 and same:
            break
    return found, m, costs


def rows_per_class(S):
    """Rows over the number of classes that soft labels at T = 2 speak of."""
    share = soft(S / 2).mean(axis=0)
    return len(S) * (share @ share)  # two rows at random are of one class so often


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


def test_what_fit_measures_is_what_leaving_classes_out_measures():
    model, oracle, _ = learned(*make_rows())
    close(model.variance_, oracle.v, digits=8)
    values = np.linalg.eigvalsh(oracle.V)
    close(np.sort(model.variances_), values)
    by_mean = [
        oracle.C[c] - np.delete(oracle.C, c, axis=0).mean(axis=0) for c in range(7)
    ]
    share = 1 - oracle.v / np.mean(np.square(by_mean))
    close(model.explained_, share, digits=8)


@pytest.mark.parametrize("classes", ["unseen", "seen", "all"])
def test_the_inductive_scores_are_those_of_the_samples(classes):
    """Lengths of prototypes, trust by direction, and seen classes' own means."""
    X, y, table = make_rows()
    model, oracle, pile = learned(X, y, table)
    chosen = {"unseen": [7, 8, 9], "seen": range(7), "all": range(10)}[classes]
    Z, _ = oracle.start(list(chosen))
    S = oracle.scores(pile, Z, oracle.Q)
    close(model.decision_function(pile, classes=classes), S)


@pytest.mark.parametrize("noise", [1.5, 2.5])
def test_the_temperature_is_the_honest_one_of_noisy_rows(noise):
    X, y, table = make_rows(noise, off=1.0, seed=1)
    model, oracle, pile = learned(X, y, table)
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

    T = temperature_of(model, pile)
    place = np.abs(np.log(GRID) - np.log(T)).argmin()
    close(GRID[place], T, digits=5)
    assert abs(place - best(1.0)) <= 1
    assert abs(place - best(0.0)) > 2  # rows without noise would tell another


# ---- adapt ---------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [None, "all"])
@pytest.mark.parametrize(
    "options",
    [{}, {"kappa": 1.0, "radius": 0.02}, {"prior_rows": 1.0, "kappa": 8.0}],
    ids=["default", "held", "sizes"],
)
def test_every_number_of_every_round_is_that_of_the_samples(classes, options):
    X, y, table = make_rows()
    model, oracle, pile = learned(X, y, table, classes, **options)
    model.adapt(pile, classes=classes)
    chosen = list(range(10)) if classes == "all" else [7, 8, 9]
    (first, *later), means, costs = oracle.adapt(pile, chosen, **options)
    names = oracle.names[chosen]
    assert len(model.rounds_) == len(later)
    moves = means - oracle.start(chosen)[0]
    spreads = [move @ np.linalg.solve(oracle.V, move) / 8 for move in moves]
    assert f"moved {np.mean(spreads) ** 0.5:.2f} of" in model.rounds_[-1].note
    before = None
    for ours, S, cost in zip(model.rounds_, later, costs, strict=True):
        codes = S.argmax(axis=1)
        assert_array_equal(ours.labels, names[codes])
        assert_array_equal(ours.selected, np.bincount(codes, minlength=len(names)))
        close(ours.objective, cost)
        assert before is None or ours.n_changed == (before != codes).sum()
        before = codes
    close(model.decision_function(pile), later[-1], digits=6)
    per_class = rows_per_class(first)
    kappa = options.get("kappa", 3.0)
    close(model.weight_, per_class / (per_class + kappa / oracle.v))
    posterior = soft(later[-1] / temperature_of(model, pile))
    close(model.reliability_, posterior.max(axis=1), digits=5)


def test_a_second_run_holds_sizes_as_the_samples_do(monkeypatch):
    model, oracle, pile = learned(*make_rows())
    monkeypatch.setattr(AnchoredLearner, "even_pull", lambda self: 7.0)
    model.adapt(pile)
    (_, *later), _, _ = oracle.adapt(pile, [7, 8, 9], pull=7.0)
    second = [one for one in model.rounds_ if "like sizes" in one.note]
    assert 4 <= len(second) == len(later) < len(model.rounds_)
    for ours, S in zip(second, later, strict=True):
        assert_array_equal(ours.labels, oracle.names[7:][S.argmax(axis=1)])
    close(model.decision_function(pile), later[-1], digits=6)
    assert_array_equal(model.predict(pile), model.labels_)


def test_rows_a_seen_class_rests_on_hold_its_mean():
    """Not the anchor alone: without own rows the means of seen classes move more."""
    X, y, table = make_rows()
    model, oracle, pile = learned(X, y, table, "all", kappa=0.01, radius=None)
    model.adapt(pile, classes="all")
    _, m, _ = oracle.adapt(pile, list(range(10)), kappa=0.01, radius=np.inf)
    close(model.decision_function(pile), oracle.scores(pile, m), digits=5)
    Z, _ = oracle.start(list(range(10)))
    oracle.start = lambda chosen: (Z, np.zeros(len(chosen)))
    _, other, _ = oracle.adapt(pile, list(range(10)), kappa=0.01, radius=np.inf)
    assert np.abs(other - m).max() > 0.05


@pytest.mark.parametrize(("noise", "held"), [(4.0, True), (1.5, False)])
def test_adapted_posteriors_are_no_surer_than_the_start_was(noise, held):
    X, y, table = make_rows(noise, off=1.0, seed=1)
    model, _, pile = learned(X, y, table)
    start, T = model.decision_function(pile), temperature_of(model, pile)
    model.adapt(pile)
    after = model.decision_function(pile)

    def confidence(S, T):
        P = np.exp((S - S.max(axis=1)[:, None]) / T)
        return np.mean(1 / P.sum(axis=1))

    wanted = confidence(start, T)
    nearest = min(GRID, key=lambda t: abs(confidence(after, t) - wanted))
    floor = 2 * max(T, 1.0)
    assert (nearest < floor) == held  # both sides of the rule are met
    close(temperature_of(model, pile), max(nearest, floor), digits=4)
