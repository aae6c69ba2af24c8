"""GuidedMixture: against loops over rows and classes written from its head."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.linalg import sqrtm
from scipy.optimize import minimize

from tests.checks import close
from unseen import GuidedMixture, load_model
from unseen.transduction.graph import near_neighbours, neighbours
from unseen.transduction.guided_measures import evenness, principal_axes, tightness
from unseen.transduction.guided_rounds import Mixture


def make_pile(seed=0, n_classes=4, per_class=15, d=12, noise=1.0, shift=2.0):
    """Return prototypes that are off, rows around the true ones, and the truth."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n_classes, d))
    y = np.repeat(np.arange(n_classes), per_class)
    X = true[y] + noise * rng.normal(size=(len(y), d)) + shift
    order = rng.permutation(len(y))
    return true + 0.8 * rng.normal(size=true.shape), X[order], y[order]


# ---- the oracle: loops, no sums ------------------------------------------------------


def norm(v):
    length = np.sqrt(sum(x * x for x in v))
    return v / length if length > 0 else v


def spread_of(S):
    """Root mean square of scores less the mean of their row."""
    return np.sqrt(np.mean([(row - row.mean()) ** 2 for row in S]))


def nearest_graph(B, k):
    n = len(B)
    W = np.zeros((n, n))
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: -(B[i] @ B[j]))
        for j in others[:k]:
            W[i, j] += max(B[i] @ B[j], 0)
            W[j, i] += max(B[i] @ B[j], 0)
    return np.array([row / row.sum() if row.sum() > 0 else row for row in W])


def tight_by_pairs(R, B):
    n, K = R.shape
    total = 0.0
    for c in range(K):
        above = below = 0.0
        for i in range(n):
            for j in range(n):
                if i != j:
                    above += R[i, c] * R[j, c] * (B[i] @ B[j])
                    below += R[i, c] * R[j, c]
        total += R[:, c].sum() / n * max(above, 0) / below
    return np.sqrt(total)


def told_by_loops(A, alone, around, offset, given):
    """Prototypes and offsets by the heads of given_trust.py and given_prototypes.py."""
    K, B, t, R = len(around), alone["B"], alone["t"], alone["R"]
    of = [[i for i in given if given[i] == c] for c in range(K)]
    there = [c for c in range(K) if of[c]]
    m = [norm(sum(R[i, c] * B[i] for i in range(len(B)))) for c in range(K)]
    every = {i: [B[i] @ c - np.mean([B[i] @ d for d in m]) for c in m] for i in given}
    lead = {i: every[i][given[i]] / max(every[i]) for i in given}
    free = not_picked_by_search(alone, given)
    clear = {i: min(1, max(every[i]) / t) * free[i] for i in given}
    w2 = {i: clear[i] ** 2 for i in given}
    rows = {c: sum(w2[i] for i in of[c]) for c in there}
    found = {c: sum(w2[i] * lead[i] for i in of[c]) / rows[c] for c in there}
    beside = sum(w2[i] * (lead[i] - found[given[i]]) ** 2 for i in given)
    s2 = (beside + 10 * (0.13 / t) ** 2) / (len(given) - len(there) + 10)
    noise = {c: s2 / rows[c] for c in there}
    weight = {c: 1 / (noise[c] + 0.35**2) for c in there}
    firm = 3 / 0.35**2
    mu = sum(weight[c] * found[c] for c in there) + firm * 0.8
    mu /= sum(weight.values()) + firm
    beta2 = sum((found[c] - mu) ** 2 - noise[c] for c in there) + 5 * 0.35**2
    beta2 = max(beta2 / (len(there) + 5), 0.1**2)
    trust = [
        (sum(w2[i] * lead[i] for i in of[c]) / s2 + mu / beta2)
        / (sum(w2[i] for i in of[c]) / s2 + 1 / beta2)
        for c in range(K)
    ]
    trust = np.clip(trust, 0, 0.95)
    pairs = [A[i] @ A[j] for own in of for i in own for j in own if i < j]
    usual = tight_by_pairs(R, A) ** 2
    t2 = min(max((sum(pairs) + 5 * usual) / (len(pairs) + 5), 0.02), 0.9)
    Z = [norm(p) for p in around]
    share = trust * np.mean(alone["sure"]) ** 2
    made = [norm(sum(R[i, c] * A[i] for i in range(len(A)))) for c in range(K)]
    known = [norm((1 - share[c]) * Z[c] + share[c] * made[c]) for c in range(K)]
    Z = [norm(z - sum(known) / K) for z in known]
    leads = [
        np.mean([A[i] @ Z[c] - np.mean([A[i] @ z for z in Z]) for i in of[c]])
        for c in there
    ]
    r = min(max(np.mean(leads) / np.sqrt(t2), 0), 0.95)
    w = (1 - t2) / (t2 * (1 - r**2)) * (1 - trust**2) ** -1.5
    pull = np.maximum(w * r * np.sqrt(t2), 3 / len(given))
    D = [norm(sum(clear[i] * A[i] for i in of[c]) + pull[c] * Z[c]) for c in range(K)]
    D = np.array([D[c] if of[c] else Z[c] for c in range(K)])
    length = np.sqrt(sum(sum(p * p) for p in around) / K)
    return length * (D - sum(D) / K), trust * offset


def not_picked_by_search(alone, given):
    """Chances that rows were not picked, by the likeliest shares of given_picked.py."""
    n, q = len(alone["B"]), {}
    for i in given:
        p = np.exp((alone["S"][i] - alone["S"][i].max()) / alone["doubt"])
        q[i] = (n * p / p.sum() + 1 / 2) / (n + len(p) / 2)
    K, other = len(p), {i: q[i].argmax() != given[i] for i in given}
    unsure = {i: 1 - min(max(q[i]), 0.8) for i in given}

    def parts(share, c):
        """Likelihood of the rows of a class if its name is right, if it is wrong."""
        right, own = 1.0, [i for i in given if given[i] == c]
        for i in own:
            right *= q[i][c] * (1 - share + other[i] * share / unsure[i])
        apart = [np.prod([q[i][d] for i in own]) for d in range(K) if d != c]
        return right, sum(apart) / (K - 1)

    def less_likely(at):
        share, wrong = 1 / (1 + np.exp(-at))
        found = 2 * np.log(1 - share) + 0.2 * np.log(wrong) + 9.8 * np.log(1 - wrong)
        for c in set(given.values()):
            right, astray = parts(share, c)
            found += np.log((1 - wrong) * right + wrong * astray)
        return -found

    options = {"xatol": 1e-11, "fatol": 1e-14, "maxiter": 4000, "maxfev": 4000}
    start = np.log([0.5 / 0.5, 0.02 / 0.98])
    best = minimize(less_likely, start, method="Nelder-Mead", options=options).x
    share, wrong = 1 / (1 + np.exp(-best))
    free = {}
    for i, c in given.items():
        right, astray = parts(share, c)
        named = (1 - wrong) * right / ((1 - wrong) * right + wrong * astray)
        sought = share / unsure[i]
        free[i] = 1 - other[i] * named * sought / (sought + 1 - share)
    return free


def reliability_by_loops(L, R, B, means, weight, temperature):
    """Probability of every row's label, by means made again without the row."""
    found = []
    for i, b in enumerate(B):
        scores = L[i].copy()
        for c, m in enumerate(means):
            if R[i, c] > 1e-4:
                scores[c] += weight * (norm(m - R[i, c] * b) @ b - norm(m) @ b)
        posterior = np.exp((scores - scores.max()) / temperature)
        found.append(posterior[L[i].argmax()] / posterior.sum())
    return np.array(found)


def brute_force(X, P, k=5, kappa=4.0, rho=3.0, plain=0.25, given=None, rounds=10):
    """Follow the head of guided_mixture.py; return labels, scores and reliability."""
    X = np.array([norm(x) for x in X])
    P = np.array([norm(p) for p in P])
    mean, middle = sum(X) / len(X), sum(P) / len(P)
    length = np.mean([np.sqrt(sum((x - mean) ** 2)) for x in X])
    A, around = np.array([norm(x - mean) for x in X]), P - middle
    offset = np.array([p @ mean for p in around])
    settings = k, kappa, rho, plain, rounds
    if given:
        *_, alone = mix(A, length, around, offset, *settings, given=None)
        around, offset = told_by_loops(A, alone, around, offset, given)
    return mix(A, length, around, offset, *settings, given)[:3]


def mix(A, length, around, offset, k, kappa, rho, plain, rounds, given):
    n, K = len(A), len(around)
    root = np.sqrt(sum(sum(p * p) for p in around) / K)
    o = offset / (root * length)
    kappa *= min(1, n / (20 * K))
    state = {"u": np.zeros(K), "R": None, "lead": 1}

    def centred(Q):
        """Names and offsets less their mean over what the pile was last said to be."""
        R = np.zeros((0, K)) if state["R"] is None else state["R"]
        shares = [(R[:, c].sum() + 5) / (len(R) + 5 * K) for c in range(K)]
        middle = sum(shares[c] * around[c] for c in range(K))
        Z = np.array([norm((p - middle) @ Q) for p in around])
        return Z, o - sum(shares[c] * o[c] for c in range(K)), shares

    def said(B, Z, offsets):
        """Scores by names; among given rows those of all classes spread alike."""
        S = B @ Z.T
        if given:
            widths = [np.sqrt(np.mean(S[:, c] ** 2)) for c in range(K)]
            S = S * (np.median(widths) / widths)
        return S + plain * spread_of(S) / first * offsets

    def step(S, W, judged_by=None):
        L = S + (kappa * W @ state["R"] if state["R"] is not None and k else 0)
        state["L"], state["used"] = L, state["u"]
        R = np.array([np.exp(row - row.max()) for row in L + state["u"]])
        R /= R.sum(axis=1, keepdims=True)
        labels = [row.argmax() for row in L + state["u"]]
        for i, c in (given or {}).items():
            R[i], labels[i] = np.eye(K)[c], c
        state["R"] = R
        free = [row.argmax() for row in L]
        p = np.array([free.count(c) / n for c in range(K) if free.count(c)])
        even = np.exp(-sum(p * np.log(p)) + (len(p) - 1) / (2 * n)) / K
        if judged_by is not None:
            own = [norm(sum(R[i, c] * B[i] for i in range(n))) for c in range(K)]
            shares = [(R[:, c].sum() + 5) / (n + 5 * K) for c in range(K)]
            alike = sum(shares[c] * (own[c] @ judged_by[c]) for c in range(K))
            state["lead"] = min(max((alike - 0.45) / 0.2, 0), 1)
        free_at = 0.7 + 0.1 * state["lead"]
        strength = rho * min(max((even - free_at) / (0.95 - free_at), 0), 1)
        for c in range(K):
            size = max(R[:, c].sum(), 1e-3) * K / n
            pull = -strength * np.log(size)
            state.setdefault("new", np.zeros(K))[c] = state["u"][c] + (
                pull - state["u"][c]
            ) / (1 + strength)
        state["u"] = state["new"] - state["new"].mean()
        return labels

    B, Q = A, np.eye(A.shape[1])
    first = spread_of(A @ centred(Q)[0].T)
    W = nearest_graph(B, k) if k else None
    for _ in range(5):
        Z, offsets, _ = centred(Q)
        names = said(B, Z, offsets)
        labels = step(3 * names / spread_of(names), W, judged_by=Z)
    lead = state["lead"]
    names_alone = lead == 1 and tight_by_pairs(state["R"], A) <= 0.4
    for T in (40,) if names_alone else (10, 40):
        if T == 40:
            R = state["R"]
            means = [sum(R[i, c] * A[i] for i in range(n)) for c in range(K)]
            S = sum(np.outer(a, a) for a in A)
            for c in range(K):
                S = S - np.outer(means[c], means[c]) / R[:, c].sum()
            S = S / n
            shrunk = S + 3 * np.trace(S) / len(S) * np.eye(len(S))
            Q = np.linalg.inv(np.real(sqrtm(shrunk)))
            B = np.array([norm(a @ Q) for a in A])
            W = nearest_graph(B, k) if k else None
        for _ in range(rounds):
            R = state["R"]
            Z, offsets, shares = centred(Q)
            t = tight_by_pairs(R, B)
            lam = 0.35 + lead * min(max((0.6 - t) / 0.2, 0), 1) * 0.6
            M = np.array([sum(R[i, c] * B[i] for i in range(n)) for c in range(K)])
            own = np.array([norm(m) for m in M])
            r = sum(shares[c] * (own[c] @ Z[c]) for c in range(K))
            r = min(max(r, 0), 0.95)
            a = (1 - t**2) / max(t**2 * (1 - r**2), 1e-3)
            means = np.array([M[c] + a * r * t * Z[c] for c in range(K)])
            centres = np.array([norm(m) for m in means])
            names = said(B, Z, offsets)
            names = names / spread_of(names) * spread_of(B @ own.T)
            before = labels
            scores = T * (lam * names + (1 - lam) * (B @ centres.T))
            labels = step(scores, W)
            if sum(x != y for x, y in zip(labels, before, strict=True)) <= 0.001 * n:
                break
    L = state["L"] + state["used"]
    doubt = 1.5 / max(r * t, 0.02) ** (2 / 3)
    sure = reliability_by_loops(L, state["R"], B, means, T * (1 - lam), doubt)
    sure = (n * sure + K / 2 * (1 / K)) / (n + K / 2)  # half a row per class is any's
    alone = {"B": B, "t": t, "R": state["R"], "sure": sure, "doubt": doubt}
    return np.array(labels), L, sure, alone | {"S": scores + state["used"]}


@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize("noise", [0.7, 1.5, 3.0])  # at the last, names lead alone
@pytest.mark.parametrize("seed", [0, 1])
def test_labels_and_reliability_are_those_of_the_loops(k, noise, seed):
    P, X, _ = make_pile(seed, noise=noise)
    model = GuidedMixture.from_prototypes(P, n_neighbors=k).adapt(X)
    labels, _, sure = brute_force(X, P, k)
    assert_array_equal(model.labels_, labels)
    close(model.reliability_, sure, digits=6)
    assert (model.names_share_ > 0.9) == (noise == 3.0)


def test_names_spread_alike_but_one_that_lies_across_all_rows_stays_quiet():
    rng = np.random.default_rng(0)
    B = np.column_stack([rng.normal(size=(50, 3)) * [3, 1, 0.5], np.zeros(50)])
    Z = np.vstack([np.eye(4), [0, 0, 1e-9, 1]])
    mixture = SimpleNamespace(Z=Z, G=np.pad(B.T @ B, (0, 1)), n=50)
    spread = np.sqrt(np.mean((B @ Mixture._evened(mixture).T) ** 2, axis=0))
    own = np.sqrt(np.mean(B**2, axis=0))[:3]
    close(spread[:3], np.median([*own, 0, 0]))
    assert spread[3] == 0 and spread[4] < 1e-7


@pytest.mark.parametrize("wrong", [0, 3, 6])
def test_given_rows_are_certain_and_count_fully_as_in_the_loops(wrong):
    P, X, y = make_pile(1 if wrong else 2, noise=2.0)
    given = {i: int(y[i]) for i in range(0, len(y), 7)}
    if wrong:  # somebody corrects what is wrong, and nothing else
        alone = GuidedMixture.from_prototypes(P, n_neighbors=3).adapt(X).labels_
        given = {int(i): int(y[i]) for i in np.flatnonzero(alone != y)[:wrong]}
    model = GuidedMixture.from_prototypes(P, n_neighbors=3).adapt(X, given=given)
    labels, _, sure = brute_force(X, P, 3, given=given)
    assert_array_equal(model.labels_, labels)
    rows = list(given)
    sure[rows] = 1
    close(model.reliability_, sure, digits=6)
    assert_array_equal(model.labels_[rows], y[rows])
    assert_array_equal(model.reliability_[rows], 1)


def test_scores_of_new_rows_are_those_of_the_pile_without_neighbours():
    P, X, _ = make_pile()
    model = GuidedMixture.from_prototypes(P, n_neighbors=0).adapt(X)
    _, L, _ = brute_force(X, P, 0)
    close(model.decision_function(X), L, digits=6)
    posterior = np.exp(L / model.temperature_)
    posterior /= posterior.sum(axis=1, keepdims=True)
    posterior = (60 * posterior + 2 / 4) / 62  # 60 rows; half a row for each of 4
    close(model.predict_proba(X), posterior, digits=6)
    assert_array_equal(model.predict(X[:1]), model.labels_[:1])


@pytest.mark.parametrize("per_class", [2, 5, 10, 40])
def test_reliability_is_honest_however_few_rows_there_are(per_class):
    """Names say something, rows are noisy: the mean over many piles is near the truth.

    Rows that stand in the means they are compared with are too sure by .15 to .21.
    """
    said, right = [], []
    for seed in range(30):
        P, X, y = make_pile(seed, per_class=per_class, d=40, noise=2.5)
        model = GuidedMixture.from_prototypes(P).adapt(X)
        said.append(model.reliability_.mean())
        right.append((model.labels_ == y).mean())
    assert abs(np.mean(said) - np.mean(right)) < 0.1


# ---- invariances ---------------------------------------------------------------------


def test_order_of_classes_and_rows_and_scales_are_free():
    P, X, _ = make_pile(3)
    rng = np.random.default_rng(0)
    plain = GuidedMixture.from_prototypes(P).adapt(X)
    classes, rows = rng.permutation(len(P)), rng.permutation(len(X))
    scale = rng.uniform(0.1, 10, size=(len(X), 1))
    other = GuidedMixture.from_prototypes(3 * P[classes]).adapt((scale * X)[rows])
    assert_array_equal(classes[other.labels_], plain.labels_[rows])
    close(other.reliability_, plain.reliability_[rows], digits=6)


def test_float32_rows_get_the_answer_of_float64_rows():
    P, X, _ = make_pile(4)
    X = X.astype(np.float32)
    one = GuidedMixture.from_prototypes(P).adapt(X)
    other = GuidedMixture.from_prototypes(P).adapt(X.astype(np.float64))
    assert_array_equal(one.labels_, other.labels_)
    close(one.reliability_, other.reliability_, digits=3)


def test_more_features_than_rows_are_rotated_without_loss(monkeypatch):
    P, X, _ = make_pile(5, d=60)
    expected = GuidedMixture.from_prototypes(P).adapt(X)
    wide = GuidedMixture.from_prototypes(P)
    monkeypatch.setattr("unseen.transduction.guided_measures.MOST_AXES", 59)
    wide.adapt(X)
    # rows less their mean span 59 axes, and all names but what lies outside
    assert (wide.labels_ == expected.labels_).mean() > 0.95
    assert wide.turn_.shape[0] == 60 and wide.turn_.shape[1] <= 59


def test_principal_axes_are_the_same_from_rows_and_from_their_gram(monkeypatch):
    from unseen.rows.holders import MemoryRows

    monkeypatch.setattr("unseen.transduction.guided_measures.MOST_AXES", 5)
    rng = np.random.default_rng(0)
    rows, P = rng.normal(size=(12, 20)), rng.normal(size=(3, 20))
    few = principal_axes(MemoryRows(rows), P)
    twice = principal_axes(MemoryRows(np.vstack([rows, rows])), P)  # 27 > 20: by Gram
    close(few.T @ few, np.eye(5), digits=10)
    close(few @ few.T, twice @ twice.T, digits=8)


# ---- streams -------------------------------------------------------------------------


def test_chunks_and_dask_give_the_model_of_memory():
    da = pytest.importorskip("dask.array")
    P, X, y = make_pile(6, per_class=40)
    given = {0: int(y[0]), 100: int(y[100])}
    memory = GuidedMixture.from_prototypes(P, n_neighbors=0).adapt(X, given=given)
    chunks = [X[:50], X[50:51], X[51:]]
    for pile in (chunks, da.from_array(X, chunks=(37, -1))):
        model = GuidedMixture.from_prototypes(P, n_neighbors=0)
        model.adapt(pile, given=given)
        assert_array_equal(model.labels_, memory.labels_)
        close(model.reliability_, memory.reliability_, digits=8)
        close(model._adapted.scorer.coef, memory._adapted.scorer.coef)


def test_neighbours_of_a_stream_are_refused():
    P, X, _ = make_pile()
    with pytest.raises(TypeError, match="n_neighbors=5 needs all rows at once"):
        GuidedMixture.from_prototypes(P).adapt(iter([X]))


# ---- limits and guards ---------------------------------------------------------------


def test_right_names_and_tight_classes_leave_no_mistake():
    P, X, y = make_pile(7, noise=0.3, shift=0)
    true = np.array([X[y == c].mean(axis=0) for c in range(len(P))])
    assert_array_equal(GuidedMixture.from_prototypes(true).adapt(X).labels_, y)


def test_absent_classes_are_not_filled_up():
    P, X, y = make_pile(8, n_classes=8, per_class=30, noise=0.5, shift=0)
    true = np.array([X[y == c].mean(axis=0) for c in range(8)])
    here = y < 3
    model = GuidedMixture.from_prototypes(true).adapt(X[here])
    assert model.evenness_ < 0.7
    assert_array_equal(model.labels_, y[here])
    forced = GuidedMixture.from_prototypes(P, balance=100.0).adapt(X)
    assert forced.evenness_ > 0.7  # only where classes are in use is anything evened
    assert np.bincount(forced.labels_).min() > 20


@pytest.mark.parametrize("per_class", [8, 20])
def test_names_of_what_does_not_vary_among_rows_do_not_lead(per_class):
    P, X, _ = make_pile(2, per_class=per_class, noise=1.5)
    rng = np.random.default_rng(0)
    P, X = (np.hstack([M, np.zeros((len(M), 30))]) for M in (P, X))
    P[:, 12:] = 3 * rng.normal(size=(4, 30))
    X[:, 12:] = 0.1 * rng.normal(size=(len(X), 30))
    model = GuidedMixture.from_prototypes(P, n_neighbors=0).adapt(X)
    assert model.prototype_worth_ <= 1000  # never millions, however random labels are
    labels, _, sure = brute_force(X, P, 0)
    assert_array_equal(model.labels_, labels)
    close(model.reliability_, sure, digits=6)
    assert model.tightness_ < 0.6 and model.names_share_ == 0.35


def test_a_handful_of_rows_is_never_certain():
    true = np.eye(2, 10)
    X = np.repeat(true, 3, axis=0) + 0.01 * np.arange(60).reshape(6, 10) % 0.07
    model = GuidedMixture.from_prototypes(true).adapt(X)
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])
    # Six rows, half a row for each of two classes: at most (6 + .5) / 7.
    assert 0.8 < model.reliability_.min() and model.reliability_.max() <= 6.5 / 7
    assert model.predict_proba(X).max() <= 6.5 / 7


@pytest.mark.parametrize("n", [1, 3])
def test_fewer_rows_than_classes_keep_the_answer_of_the_prototypes(n):
    P, X, _ = make_pile()
    model = GuidedMixture.from_prototypes(P)
    before = model.predict(X[:n])
    model.adapt(X[:n])
    assert not model.adapted_
    assert_array_equal(model.labels_, before)
    assert_array_equal(model.predict(X[:n]), before)
    assert f"{n} rows for 4 classes" in model.stopped_because_


def test_one_class_takes_all_rows():
    P, X, _ = make_pile()
    model = GuidedMixture.from_prototypes(P[:1]).adapt(X)
    assert_array_equal(model.labels_, 0)
    assert_array_equal(model.reliability_, 1)


def test_classes_the_pile_was_not_asked_about_compete_as_classes_without_rows():
    P, X, _ = make_pile(10)
    model = GuidedMixture.from_prototypes(P).adapt(X, classes=[0, 1, 2])
    scores = model.decision_function(X, classes=[0, 1, 2, 3])
    close(scores[:, :3], model.decision_function(X, classes=[0, 1, 2]))
    assert np.isfinite(scores).all() and np.ptp(scores[:, 3]) > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({99: 0}, "a label for row 99, but X has 60 rows"),
        ({0: "a"}, "'a', but classes are numbers"),
        ([0, 1], r"shape \(2,\), but X has 60 rows"),
    ],
)
def test_given_labels_that_cannot_be_are_refused(given, message):
    P, X, _ = make_pile()
    with pytest.raises(ValueError, match=message):
        GuidedMixture.from_prototypes(P).adapt(X, given=given)


def test_given_labels_may_come_as_an_array_with_gaps():
    P, X, y = make_pile()
    names = np.array(list("wxyz"))
    frame = pd.DataFrame(P, index=names)
    listed = [names[c] if i % 9 == 0 else None for i, c in enumerate(y)]
    mapped = {i: name for i, name in enumerate(listed) if name}
    one = GuidedMixture.from_prototypes(frame).adapt(X, given=listed)
    other = GuidedMixture.from_prototypes(frame).adapt(X, given=mapped)
    assert_array_equal(one.labels_, other.labels_)
    close(one.reliability_, other.reliability_)


def test_seen_classes_make_the_prototypes_by_a_ridge():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 5))
    y = np.repeat(np.arange(12), 30)
    X = (A @ rng.normal(size=(5, 15)))[y] + 0.5 * rng.normal(size=(360, 15))
    seen = y < 9
    model = GuidedMixture().fit(X[seen], y[seen], class_embeddings=A)
    assert (model.adapt(X[~seen]).labels_ == y[~seen]).mean() > 0.95


def test_before_any_pile_seen_classes_score_by_their_own_means():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(7, 4))
    y = np.repeat(np.arange(7), 10)
    X = (A @ rng.normal(size=(4, 9)))[y] + 0.5 * rng.normal(size=(70, 9))
    seen = y < 5
    model = GuidedMixture().fit(X[seen], y[seen], class_embeddings=A)
    units = np.array([norm(x) for x in X])
    # The nearest class mean of unit rows: x·m - |m|²/2.
    means = [sum(units[y == c]) / 10 for c in range(5)]
    wanted = np.array([[x @ m - m @ m / 2 for m in means] for x in units])
    scores = model.decision_function(X, classes="all")
    close(scores[:, :5], wanted, digits=10)
    close(model.decision_function(X, classes=[3, 0]), wanted[:, 0] - wanted[:, 3])


def test_a_frame_names_the_features_of_prototypes_without():
    P, X, _ = make_pile()
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    model = GuidedMixture.from_prototypes(P).adapt(frame)
    assert_array_equal(model.predict(frame).shape, model.labels_.shape)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


# ---- files ---------------------------------------------------------------------------


def test_a_saved_model_answers_as_before(tmp_path):
    P, X, _ = make_pile()
    model = GuidedMixture.from_prototypes(P).adapt(X)
    again = load_model(model.save(tmp_path / "model.unseen"))
    close(again.decision_function(X), model.decision_function(X))
    assert_array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize("adapted", [False, True])
def test_onnx_has_the_scores_of_the_model(tmp_path, adapted):
    runtime = pytest.importorskip("onnxruntime")
    P, X, _ = make_pile()
    model = GuidedMixture.from_prototypes(P)
    if adapted:
        model.adapt(X)
    path = model.to_onnx(tmp_path / "model.onnx")
    session = runtime.InferenceSession(path)
    scores, labels = session.run(None, {"features": X.astype(np.float32)})
    close(scores, model.decision_function(X), digits=3)
    assert_array_equal(labels, model.predict(X))


# ---- measures ------------------------------------------------------------------------


def test_tightness_is_that_of_pairs_of_different_rows():
    rng = np.random.default_rng(0)
    R = rng.dirichlet(np.ones(3), size=20)
    B = rng.normal(size=(20, 4)) + 1
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    sums = R.sum(axis=0), (R * R).sum(axis=0), R.T @ B
    close(tightness(*sums, 20), tight_by_pairs(R, B))


def test_evenness_counts_the_classes_in_use():
    close(evenness(np.array([10**6] * 3 + [0])), 0.75, digits=5)


def test_neighbours_by_cells_are_exact_with_all_cells_and_mostly_right_with_few():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 8))[rng.integers(0, 40, 1000)]
    rows = rows + 0.5 * rng.normal(size=rows.shape)
    expected, numbers = neighbours(rows, 4)
    distances, exact = near_neighbours(rows, 4, cell_size=100, n_near=10)
    close(distances, expected, digits=3)
    assert_array_equal(np.sort(exact), np.sort(numbers))
    few = near_neighbours(rows, 4, cell_size=50, n_near=4)[1]
    found = [len({*a} & {*b}) / 4 for a, b in zip(few, numbers, strict=True)]
    assert np.mean(found) > 0.8
