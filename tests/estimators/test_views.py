"""Several views of the same rows: joined by hand, and by what a second view adds."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.linalg import sqrtm

from tests.checks import close
from tests.estimators.test_guided_mixture import (
    nearest_graph,
    norm,
    spread_of,
    tight_by_pairs,
)
from unseen import AnchoredSelfTraining, GuidedMixture, join_views, load_model


def make_views(seed=0, n_classes=5, per_class=30, noise=1.6):
    """Return rows in two views that err apart, prototypes of both, and the truth."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    rows, named = {}, {}
    for view, d in (("looks", 12), ("words", 8)):
        true = rng.normal(size=(n_classes, d))
        rows[view] = true[y] + noise * rng.normal(size=(len(y), d))
        named[view] = true + 0.5 * rng.normal(size=true.shape)
    return rows, named, y


def test_cosines_of_joined_rows_are_the_mean_of_the_views_cosines():
    rows, named, _ = make_views()
    joined, prototypes = join_views(rows), join_views(named)
    for i, c in ((0, 1), (7, 4)):
        by_view = [
            rows[v][i]
            @ named[v][c]
            / np.sqrt(sum(rows[v][i] ** 2) * sum(named[v][c] ** 2))
            for v in rows
        ]
        close(joined[i] @ prototypes[c], np.mean(by_view))


def test_float32_views_stay_float32():
    rows, _, _ = make_views()
    small = join_views({v: r.astype(np.float32) for v, r in rows.items()})
    assert small.dtype == np.float32
    close(small, join_views(rows), digits=5)


# ---- the oracle: loops over views, rows and classes ----------------------------------


def soften(L):
    R = np.array([np.exp(row - row.max()) for row in L])
    return R / R.sum(axis=1, keepdims=True)


def a_view(X, P, plain=0.25):
    X, P = np.array([norm(x) for x in X]), np.array([norm(p) for p in P])
    mean = sum(X) / len(X)
    around = P - sum(P) / len(P)
    length = np.mean([np.sqrt(sum((x - mean) ** 2)) for x in X])
    root = np.sqrt(sum(sum(p * p) for p in around) / len(P))
    A = np.array([norm(x - mean) for x in X])
    one = {"A": A, "B": A, "Q": np.eye(A.shape[1]), "P": around, "plain": plain}
    one["o"] = np.array([p @ mean for p in around]) / (root * length)
    return one | {"first": None}


def names_of(one, shares):
    """Names as scores of unit spread, and as directions, centred by shares."""
    middle = sum(s * p for s, p in zip(shares, one["P"], strict=True))
    Z = np.array([norm((p - middle) @ one["Q"]) for p in one["P"]])
    wide = spread_of(one["B"] @ Z.T)
    one["first"] = one["first"] or wide
    offsets = one["plain"] * wide / one["first"] * (one["o"] - shares @ one["o"])
    S = one["B"] @ Z.T + offsets
    return S / spread_of(S), Z


def learned(one, R, shares, T):
    """What a view says of rows by its names and clusters, and what it measured."""
    B, (n, K) = one["B"], R.shape
    S, Z = names_of(one, shares)
    t = tight_by_pairs(R, B)
    lam = 0.35 + one["lead"] * min(max((0.6 - t) / 0.2, 0), 1) * 0.6
    M = [sum(R[i, c] * B[i] for i in range(n)) for c in range(K)]
    own = np.array([norm(m) for m in M])
    r = min(max(sum(shares[c] * (own[c] @ Z[c]) for c in range(K)), 0), 0.95)
    a = (1 - t**2) / max(t**2 * (1 - r**2), 1e-3)
    means = [M[c] + a * r * t * Z[c] for c in range(K)]
    cosines = B @ np.array([norm(m) for m in means]).T
    one |= {"t": t, "r": r, "means": means, "clusters": T * (1 - lam), "lam": lam}
    return T * (lam * S * spread_of(B @ own.T) + (1 - lam) * cosines)


def by_loops(rows, named, k, rounds=10):
    """Follow the head of guided_views.py; return labels and all that leads to them."""
    views = [a_view(rows[v], named[v]) for v in rows]
    n, K = len(views[0]["A"]), len(views[0]["P"])
    kappa = 4 * min(1, n / (20 * K))
    state = {"u": np.zeros(K), "R": None, "w": np.ones(len(views)) / len(views)}

    def shares():
        counts = np.zeros(K) if state["R"] is None else state["R"].sum(axis=0)
        return (counts + 5) / (counts.sum() + 5 * K)

    def step(says, learning):
        if state["R"] is not None and k:
            graphs = [nearest_graph(one["B"], k) for one in views]
            both = zip(says, graphs, strict=True)
            says = [S + kappa * W @ state["R"] for S, W in both]
        w, u = state["w"], state["u"]
        free = sum(w[v] * says[v] for v in range(len(views)))
        R = soften(free + u)
        labels = [row.argmax() for row in free + u]
        state.update(R=R, L=free + u, used=w)
        if learning:
            other = [
                1 + sum(row.argmax() != c for row, c in zip(S + u, labels, strict=True))
                for S in says
            ]
            state["w"] = np.array([1 / e for e in other]) / sum(1 / e for e in other)
        else:
            for one in views:
                Z = one["Z"]
                own = [
                    norm(sum(R[i, c] * one["B"][i] for i in range(n))) for c in range(K)
                ]
                alike = sum(shares()[c] * (own[c] @ Z[c]) for c in range(K))
                one["lead"] = min(max((alike - 0.45) / 0.2, 0), 1)
        p = np.bincount(free.argmax(axis=1), minlength=K) / n
        p = p[p > 0]
        even = np.exp(-sum(p * np.log(p)) + (len(p) - 1) / (2 * n)) / K
        at = 0.7 + 0.1 * max(one["lead"] for one in views)
        rho = 3 * min(max((even - at) / (0.95 - at), 0), 1)
        size = np.maximum(R.sum(axis=0), 1e-3) * K / n
        new = u + (-rho * np.log(size) - u) / (1 + rho)
        state["u"] = new - new.mean()
        return labels

    for _ in range(5):
        says = []
        for one in views:
            S, one["Z"] = names_of(one, shares())
            says.append(3 * S)
        labels = step(says, learning=False)
    for T in (10, 40):
        for one in views if T == 40 else []:
            whiten(one, state["R"])
        for _ in range(rounds):
            before = labels
            says = [learned(one, state["R"], shares(), T) for one in views]
            labels = step(says, learning=True)
            if sum(x != y for x, y in zip(labels, before, strict=True)) <= 0.001 * n:
                break
    return np.array(labels), state["L"], reliability(views, state), state["used"]


def whiten(one, R):
    A, (n, K) = one["A"], R.shape
    S = A.T @ A
    for c in range(K):
        mean = sum(R[i, c] * A[i] for i in range(n))
        S = S - np.outer(mean, mean) / R[:, c].sum()
    S = S / n
    one["Q"] = np.linalg.inv(
        np.real(sqrtm(S + 3 * np.trace(S) / len(S) * np.eye(len(S))))
    )
    one["B"] = np.array([norm(a @ one["Q"]) for a in A])


def reliability(views, state):
    """Probability of labels, by means made again without the row, in every view."""
    L, R, used = state["L"].copy(), state["R"], state["used"]
    n, K = L.shape
    labels = L.argmax(axis=1)
    for one, w in zip(views, used, strict=True):
        for i in range(n):
            for c in np.flatnonzero(R[i] > 1e-4):
                m, b = one["means"][c], one["B"][i]
                L[i, c] += w * one["clusters"] * (norm(m - R[i, c] * b) - norm(m)) @ b
    alike = sum(w * one["r"] * one["t"] for one, w in zip(views, used, strict=True))
    posterior = soften(L / (1.5 / max(alike, 0.02) ** (2 / 3)))[np.arange(n), labels]
    return (n * posterior + 1 / 2) / (n + K / 2), 1.5 / max(alike, 0.02) ** (2 / 3)


@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize("noise", [0.8, 1.6])
def test_labels_reliability_and_weights_are_those_of_the_loops(k, noise):
    rows, named, _ = make_views(per_class=12, n_classes=4, noise=noise)
    model = GuidedMixture.from_prototypes(named, n_neighbors=k).adapt(rows)
    labels, L, (sure, doubt), weights = by_loops(rows, named, k)
    assert_array_equal(model.labels_, labels)
    close(model.view_weights_, weights, digits=9)
    close(model.reliability_, sure, digits=6)
    if k == 0:
        close(model.decision_function(rows), L, digits=6)
        posterior = (48 * soften(L / doubt) + 1 / 2) / 50  # 48 rows, 4 classes
        close(model.predict_proba(rows), posterior, digits=6)


def test_rows_by_view_and_joined_rows_get_the_same_answer():
    rows, named, _ = make_views()
    model = GuidedMixture.from_prototypes(named).adapt(rows)
    joined = GuidedMixture.from_prototypes(named).adapt(join_views(rows))
    assert_array_equal(model.labels_, joined.labels_)
    close(model.reliability_, joined.reliability_)
    turned = dict(reversed(rows.items()))  # views go by name, not by place
    close(model.decision_function(turned), joined.decision_function(rows_of(rows)))


def rows_of(rows):
    return np.hstack([r / np.linalg.norm(r, axis=1)[:, None] for r in rows.values()])


def test_a_view_of_noise_loses_its_say():
    rows, named, y = make_views(3, n_classes=5, per_class=30, noise=1.2)
    rng = np.random.default_rng(0)
    rows["words"] = rng.normal(size=rows["words"].shape)
    model = GuidedMixture.from_prototypes(named).adapt(rows)
    assert model.view_weights_[0] > 0.8
    alone = GuidedMixture.from_prototypes(named["looks"]).adapt(rows["looks"])
    assert (model.labels_ == y).mean() >= (alone.labels_ == y).mean() - 0.02


def test_views_of_one_kind_count_about_the_same():
    rows, named, _ = make_views(4, noise=1.0)
    twice = {"one": rows["looks"], "two": rows["looks"]}
    prototypes = {"one": named["looks"], "two": named["looks"]}
    model = GuidedMixture.from_prototypes(prototypes).adapt(twice)
    close(model.view_weights_, 0.5)
    alone = GuidedMixture.from_prototypes(named["looks"]).adapt(rows["looks"])
    assert_array_equal(model.labels_, alone.labels_)
    close(model.reliability_, alone.reliability_, digits=6)


def test_chunks_and_dask_give_the_views_of_memory():
    da = pytest.importorskip("dask.array")
    rows, named, y = make_views(5)
    X, given = join_views(rows), {0: int(y[0]), 100: int(y[100])}
    memory = GuidedMixture.from_prototypes(named, n_neighbors=0).adapt(X, given=given)
    assert_array_equal(memory.labels_[[0, 100]], y[[0, 100]])
    for pile in ([X[:50], X[50:51], X[51:]], da.from_array(X, chunks=(37, -1))):
        model = GuidedMixture.from_prototypes(named, n_neighbors=0)
        model.adapt(pile, given=given)
        assert_array_equal(model.labels_, memory.labels_)
        close(model.reliability_, memory.reliability_, digits=8)
        close(model.view_weights_, memory.view_weights_)


def test_given_rows_correct_the_names_of_every_view():
    rows, named, y = make_views(6, noise=1.5)
    swapped = {v: P[[1, 0, 2, 3, 4]] for v, P in named.items()}
    given = {i: int(y[i]) for i in range(0, len(y), 10)}
    before = GuidedMixture.from_prototypes(swapped).adapt(rows)
    after = GuidedMixture.from_prototypes(swapped).adapt(rows, given=given)
    right = (after.labels_ == y).mean()
    assert right > (before.labels_ == y).mean() + 0.2


@pytest.mark.parametrize("n_classes", [4, 5])
def test_onnx_has_the_scores_of_views(tmp_path, n_classes):
    """Also where classes compete that the pile was not asked about."""
    runtime = pytest.importorskip("onnxruntime")
    rows, named, _ = make_views()
    model = GuidedMixture.from_prototypes(named)
    model.adapt(rows, classes=list(range(n_classes)))
    path = model.to_onnx(tmp_path / "model.onnx", classes=[0, 1, 2, 4])
    X = join_views(rows)
    session = runtime.InferenceSession(path)
    scores, labels = session.run(None, {"features": X.astype(np.float32)})
    expected = model.decision_function(X, classes=[0, 1, 2, 4])
    close(scores, expected, digits=3)
    assert_array_equal(labels, model.predict(X, classes=[0, 1, 2, 4]))


def test_two_views_know_more_than_either():
    rows, named, y = make_views(noise=1.8)
    both = GuidedMixture.from_prototypes(named).adapt(rows).labels_
    alone = [
        (GuidedMixture.from_prototypes(named[v]).adapt(rows[v]).labels_ == y).mean()
        for v in rows
    ]
    assert (both == y).mean() > max(alone)


def test_a_view_without_prototypes_helps_by_its_clusters():
    rows, named, y = make_views(1, noise=1.3)
    one = GuidedMixture.from_prototypes(named["words"]).adapt(rows["words"])
    model = GuidedMixture.from_prototypes({"looks": 12, "words": named["words"]})
    assert (model.adapt(rows).labels_ == y).mean() > (one.labels_ == y).mean()
    before = GuidedMixture.from_prototypes(named["words"]).predict(rows["words"])
    fresh = GuidedMixture.from_prototypes({"looks": 12, "words": named["words"]})
    assert_array_equal(fresh.predict(rows), before)  # nothing learned, nothing added


def test_frames_name_the_classes_in_any_order():
    rows, named, _ = make_views()
    names = list("abcde")
    frames = {v: pd.DataFrame(P, index=names) for v, P in named.items()}
    frames["words"] = frames["words"].iloc[::-1]
    model = GuidedMixture.from_prototypes(frames).adapt(rows)
    plain = GuidedMixture.from_prototypes(named).adapt(rows)
    assert_array_equal(model.labels_, np.array(names)[plain.labels_])


def test_a_stored_model_still_knows_its_views(tmp_path):
    rows, named, _ = make_views()
    model = GuidedMixture.from_prototypes(named).adapt(rows)
    model.save(tmp_path / "model.unseen")
    read = load_model(tmp_path / "model.unseen")
    close(read.predict_proba(rows), model.predict_proba(rows))


def test_joined_rows_serve_a_model_with_seen_classes():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(14, 6))
    y = np.repeat(np.arange(14), 25)
    views = {
        v: (table @ rng.normal(size=(6, d)))[y] + 2.5 * rng.normal(size=(len(y), d))
        for v, d in (("a", 20), ("b", 15))
    }
    seen = y < 10

    def right(X):
        model = AnchoredSelfTraining().fit(X[seen], y[seen], class_embeddings=table)
        return (model.adapt(X[~seen]).labels_ == y[~seen]).mean()

    assert right(join_views(views)) > max(right(views["a"]), right(views["b"]))


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({"a": np.ones((3, 2)), "b": np.ones((4, 2))}, "'b' has 4 rows, but view 'a'"),
        ({"a": np.ones(3)}, r"'a' has shape \(3,\)"),
    ],
)
def test_views_that_do_not_fit_together_are_refused(views, message):
    with pytest.raises(ValueError, match=message):
        join_views(views)


def test_views_must_be_those_of_the_prototypes():
    rows, named, _ = make_views()
    with pytest.raises(ValueError, match="for looks, words"):
        GuidedMixture.from_prototypes(named).adapt({"looks": rows["looks"]})
    with pytest.raises(ValueError, match="for none"):
        GuidedMixture.from_prototypes(named["looks"]).adapt({"looks": rows["looks"]})
    with pytest.raises(ValueError, match="None of the 1 views has prototypes"):
        GuidedMixture.from_prototypes({"looks": 12})
    with pytest.raises(TypeError, match="Views were given as list"):
        join_views([rows["looks"]])
