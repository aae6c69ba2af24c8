"""GuidedMixture: against whole matrices, written from the head of its file."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close, unit
from unseen import GuidedMixture
from unseen.core.rows import Rows
from unseen.transduction.graph import near_neighbours, neighbours
from unseen.transduction.guided_mixture import main_axes


def make_pile(seed=0, n_classes=4, per_class=15, d=12, noise=1.0, shift=2.0):
    """Return prototypes that are off, rows around the true ones, and the truth."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n_classes, d))
    y = np.repeat(np.arange(n_classes), per_class)
    X = true[y] + noise * rng.normal(size=(len(y), d)) + shift
    order = rng.permutation(len(y))
    return true + 0.8 * rng.normal(size=true.shape), X[order], y[order]


# ---- the oracle: all rows and classes at once, no sums, no blocks -------------------


def soft(L):
    E = np.exp(L - L.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


def spread_of(S):
    """Root mean square of scores less the mean of their row."""
    return np.sqrt(np.mean([(row - row.mean()) ** 2 for row in S]))


def even_of(labels, K):
    n = len(labels)
    p = np.array([np.mean(labels == c) for c in range(K) if (labels == c).any()])
    return min(1.0, np.exp(-np.sum(p * np.log(p)) + (len(p) - 1) / (2 * n)) / K)


def nats(R):
    return np.array([-sum(np.log(max(1 - r, 1e-4)) for r in own) for own in R.T])


def nearest_graph(B, k):
    n = len(B)
    W = np.zeros((n, n))
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: -(B[i] @ B[j]))
        for j in others[:k]:
            W[i, j] += max(B[i] @ B[j], 0)
            W[j, i] += max(B[i] @ B[j], 0)
    return np.array([row / row.sum() if row.sum() > 0 else row for row in W])


def share_right(said, labels):
    """Return g: how purely prototypes alone name every class that was found."""
    purity = 0.0
    for c in np.unique(labels):
        mean = soft(said)[labels == c].mean(axis=0)
        purity += np.mean(labels == c) * np.sum(mean**2)
    odds = (purity / (1 - purity)) ** 2 * 4 / 3
    return odds / (1 + odds)


def whole(X, P, k, plain=0.5, given=None, pull=0.0):
    """Return labels, scores and reliability by the formulas, and what was measured."""
    given, n, K = given or {}, len(X), len(P)
    X, P = unit(X), unit(P)
    x, P = X.mean(axis=0), P - P.mean(axis=0)
    A, o = X - x, P @ x - (P @ x).mean()
    centred = A @ unit(P).T
    said = A @ P.T + o if plain else centred
    said, centred = 3 * said / spread_of(said), 3 * centred / spread_of(centred)
    known = nats(soft(said))
    most = even_of(said.argmax(axis=1), K) + 0.05 if plain else 1.0
    B, Q = unit(A), np.eye(A.shape[1])
    size = np.sqrt(np.mean(np.sum(P**2, axis=1))) * np.mean(np.linalg.norm(A, axis=1))
    per_o = plain / (size * spread_of(B @ unit(P).T))
    u, counts, R, e, a, r, t = np.zeros(K), np.full(K, n / K), None, 1.0, 1.0, 0.5, 0.5
    W = nearest_graph(B, k)
    kappa = 4 * min(1, n / (20 * K))

    def names():
        shares = (counts + 5) / (n + 5 * K)
        Z = unit((P - shares @ P) @ Q)
        if given:
            told = [
                sum(pull * B[i] for i in given if given[i] == c) + 0 * Q[0]
                for c in range(K)
            ]
            Z = unit(a * r * t * Z + np.array(told))
        S = B @ Z.T
        S = S + spread_of(S) * per_o * o
        return S / spread_of(S), Z

    def label(L, learning):
        nonlocal R, counts, u, e
        R = soft(L)
        for i, g in given.items():
            R[i] = np.eye(K)[g]
        counts = R.sum(axis=0)
        e = min(most, even_of((np.log(np.maximum(R, 1e-300)) - u).argmax(axis=1), K))
        if learning and e < 0.7:
            w = min(1, (0.7 - e) / 0.25)
            u = -2 * w * np.log(1 + 5 / np.maximum((nats(R) + known) / 2, 1e-3))
        else:
            low = 0.7 if learning else 0.8
            rho = 6 * np.clip((e - low) / (0.95 - low), 0, 1) ** 2
            u = u + (-rho * np.log(np.maximum(counts, 1e-3) * K / n) - u) / (1 + rho)
            u = u - u.mean()

    for number in range(5):
        label(3 * names()[0] + u + (kappa * W @ R if number else 0), False)
    for T in (10.0, 20.0):
        if T == 20:
            means = (R.T @ B) / counts[:, None]
            within = (B.T @ B - (means.T * counts) @ means) / n
            values, basis = np.linalg.eigh(within)
            values = np.maximum(values, 0)
            Q = basis @ np.diag((values + 3 * values.mean()) ** -0.5) @ basis.T
            B = unit(A @ Q)
            W = nearest_graph(B, k)
        for _ in range(10):
            before = R.argmax(axis=1)
            N, Z = names()
            M = R.T @ B
            pairs = [
                sum(
                    R[i, c] * R[j, c] * (B[i] @ B[j])
                    for i in range(n)
                    for j in range(n)
                    if i != j
                )
                / (counts[c] ** 2 - np.sum(R[:, c] ** 2))
                for c in range(K)
            ]
            t = np.sqrt(np.clip(counts / n @ np.maximum(pairs, 0), 1e-6, 1))
            r = np.clip(
                (counts + 5) / (n + 5 * K) @ np.sum(unit(M) * Z, axis=1), 0.02, 0.95
            )
            a = (1 - t * t) / max(t * t * (1 - r * r), 1e-3)
            s, w = spread_of(B @ unit(M).T), np.clip((0.7 - e) / 0.25, 0, 1)
            M = M + a * r * t * Z
            rest = M[None] - R[:, :, None] * B[:, None]  # what is left without the row
            C = np.einsum("ij,icj->ic", B, rest) / np.linalg.norm(rest, axis=2)
            nu, old = max(T * s / 2, 1.5, 3 * w), u
            label(nu * N + T / 2 * C + kappa * (W @ R if k else 0) + u, True)
            if np.sum(R.argmax(axis=1) != before) <= 0.001 * n:
                break
    labels = R.argmax(axis=1)
    scores = nu * N + T / 2 * (B @ unit(M).T) + old
    return labels, scores, R, share_right(centred, labels)


@pytest.mark.parametrize("plain", [0.0, 0.5])
@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize(
    ("seed", "noise", "there"), [(0, 0.7, 4), (1, 1.5, 4), (2, 1.5, 2)]
)
def test_labels_scores_and_reliability_are_those_of_the_formulas(
    plain, k, seed, noise, there
):
    P, X, y = make_pile(seed, n_classes=6, noise=noise)
    X = X[y < there]
    model = GuidedMixture.from_prototypes(P, plain=plain, n_neighbors=k).adapt(X)
    labels, scores, R, right = whole(X, P, k, plain)
    assert_array_equal(model.labels_, labels)
    close(model.decision_function(X), scores, digits=6)
    chances = soft(scores / model.temperature_)
    close(model.predict_proba(X), chances, digits=6)
    sure = soft(np.log(np.maximum(R, 1e-300)) / model.temperature_).max(axis=1)
    close(model.reliability_, sure, digits=6)
    n = len(X)
    close(sure.mean(), np.clip(right, 1 / 6, min(0.99, n / (n + 3))), digits=2)


def exchange(rows, labels, y, K):
    """Return how far names were exchanged, row by row."""
    told = 0.0
    for i in rows:
        label = {j for j in rows if labels[j] == labels[i] and j != i}
        own = {j for j in rows if y[j] == y[i] and j != i}
        named = [labels[j] != y[j] for j in rows if y[j] == labels[i]]
        if labels[i] != y[i] and named:
            share = len(label & own) ** 2 / max(len(label) * len(own), 1)
            told += share * np.mean(named) / len(rows)
    return told / (K * sum(np.mean(y[rows] == c) ** 2 for c in range(K)))


@pytest.mark.parametrize(("rolled", "off"), [(0, 0.0), (1, 0.0), (0, 0.8)])
def test_given_rows_are_certain_and_pull_their_names_as_in_the_formulas(rolled, off):
    P, X, y = make_pile(2, noise=2.0)
    P = P + off * np.random.default_rng(0).normal(size=P.shape)
    P = np.roll(P, rolled, axis=0)
    given = {i: int(y[i]) for i in range(0, len(y), 7)}
    model = GuidedMixture.from_prototypes(P, n_neighbors=3).adapt(X, given=given)
    first, _, R, likely = whole(X, P, 3)
    alone = GuidedMixture.from_prototypes(P, n_neighbors=3).adapt(X)
    sure = soft(np.log(R) / alone.temperature_).max(axis=1)
    rows = list(given)
    right = np.sum(first[rows] == y[rows])
    drawn = min(1, (right + 1) / (sure[rows].sum() + 1))
    doubt = (1 - max(likely, right / (len(rows) + 1))) * drawn
    assert (right / (len(rows) + 1) > likely) == (off > 0)  # names say less
    told = exchange(rows, first, y, 4)
    pull = max(doubt**2, told**3)
    assert (pull == told**3) == (rolled > 0)
    labels, scores, *_ = whole(X, P, 3, given=given, pull=pull)
    assert_array_equal(model.labels_, labels)
    close(model.decision_function(X), scores, digits=6)
    assert_array_equal(model.labels_[rows], y[rows])
    assert_array_equal(model.reliability_[rows], 1)


def test_a_few_sure_rows_keep_a_class_and_an_absent_one_goes():
    rng = np.random.default_rng(0)
    true = unit(rng.normal(size=(12, 60)))
    y = np.repeat([0, 1, 2, 3], [400, 300, 200, 5])
    X = true[y] + 0.12 * rng.normal(size=(len(y), 60))
    labels = GuidedMixture.from_prototypes(true).adapt(X).labels_
    assert (labels[y == 3] == 3).all() and np.isin(labels, range(4)).mean() > 0.99


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
    monkeypatch.setattr("unseen.transduction.guided_mixture.MOST_AXES", 59)
    wide.adapt(X)
    # rows less their mean span 59 axes, and all names but what lies outside
    assert (wide.labels_ == expected.labels_).mean() > 0.95
    assert wide.turn_.shape[0] == 60 and wide.turn_.shape[1] <= 59


def test_main_axes_are_the_same_from_rows_and_from_their_gram(monkeypatch):
    monkeypatch.setattr("unseen.transduction.guided_mixture.MOST_AXES", 5)
    rng = np.random.default_rng(0)
    rows, P = rng.normal(size=(12, 20)), rng.normal(size=(3, 20))
    few = main_axes(Rows(rows), P)
    twice = main_axes(Rows(np.vstack([rows, rows])), P)  # 27 > 20: by Gram
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


# ---- limits and guards ---------------------------------------------------------------


def test_absent_classes_are_not_filled_up():
    _, X, y = make_pile(8, n_classes=8, per_class=30, noise=0.5, shift=0)
    true = np.array([X[y == c].mean(axis=0) for c in range(8)])
    here = y < 3
    model = GuidedMixture.from_prototypes(true).adapt(X[here])
    assert model.evenness_ < 0.7
    assert_array_equal(model.labels_, y[here])


def test_a_handful_of_rows_is_never_certain():
    true = np.eye(2, 10)
    X = np.repeat(true, 3, axis=0) + 0.01 * np.arange(60).reshape(6, 10) % 0.07
    model = GuidedMixture.from_prototypes(true).adapt(X)
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])
    # Six rows, half a row for each of two classes: 6 / 7 on average.
    close(model.reliability_.mean(), 6 / 7, digits=2)


@pytest.mark.parametrize("n", [1, 3])
def test_fewer_rows_than_classes_keep_the_answer_of_the_prototypes(n):
    P, X, _ = make_pile()
    model = GuidedMixture.from_prototypes(P)
    before = model.predict(X[:n])
    model.adapt(X[:n])
    assert not model.adapted_
    assert_array_equal(model.labels_, before)
    assert_array_equal(model.predict(X[:n]), before)
    said = "1 row for 4 classes" if n == 1 else "3 rows for 4 classes"
    assert said in model.stopped_because_


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


def test_a_frame_names_the_features_of_prototypes_without():
    P, X, _ = make_pile()
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    model = GuidedMixture.from_prototypes(P).adapt(frame)
    assert_array_equal(model.predict(frame).shape, model.labels_.shape)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


# ---- files ---------------------------------------------------------------------------


# ---- measures ------------------------------------------------------------------------


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


def test_few_seen_rows_of_many_features_teach_what_their_sums_do():
    rng = np.random.default_rng(0)
    codes, A = np.arange(60) % 6, rng.normal(size=(8, 4))
    looks = A @ rng.normal(size=(4, 600))
    X = looks[codes] + rng.normal(size=(60, 600))
    rows = looks[6 + np.arange(40) % 2] + rng.normal(size=(40, 600))
    wide = GuidedMixture().fit(X, codes, class_embeddings=A)  # in the span of rows
    summed = GuidedMixture().partial_fit(X, codes, class_embeddings=A)
    for model in (wide, summed):
        model.adapt(rows, classes=[6, 7])
    assert_array_equal(wide.labels_, summed.labels_)
    close(wide.reliability_, summed.reliability_, digits=5)
