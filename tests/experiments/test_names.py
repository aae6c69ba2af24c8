"""Names alone: cells are what they say, baselines are k-means and EM, gains add up."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from results_made_up import write
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from tests.checks import close, make_data
from unseen import GuidedMixture
from unseen.experiments import make_table, read_plan, read_results
from unseen.experiments.baselines import KMeans, NamesAlone, PlainEM
from unseen.experiments.cells import (
    KINDS,
    Cell,
    across_a_gap,
    held_out,
    make_cell,
    named_rows,
    piles,
    ridge_prototypes,
)
from unseen.experiments.constants import CONSTANTS, PARAMETERS, OtherConstants
from unseen.experiments.results import Finding, RunKey
from unseen.experiments.sources import Source
from unseen.experiments.tasks import Bench, run_task
from unseen.methods import METHODS
from unseen.transduction import guided_rounds
from unseen.transduction.start import start_from


def unit(M):
    return M / np.linalg.norm(M, axis=1, keepdims=True)


@pytest.fixture
def cell():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(6, 8)) + 2
    y = np.repeat(np.arange(6), 30)
    X = means[y] + rng.normal(size=(180, 8))
    return Cell(X, y, means + rng.normal(size=means.shape), -np.ones((50, 8)))


def test_piles_are_what_they_say(cell):
    found = {kind: (X, y) for kind, X, y in piles(cell, 0)}
    assert tuple(found) == KINDS
    sizes = {
        kind: np.bincount(y[y >= 0], minlength=6) for kind, (_, y) in found.items()
    }
    assert_array_equal(sizes["full"], [30] * 6)
    assert sorted(sizes["half absent"]) == [0, 0, 0, 30, 30, 30]
    assert sorted(sizes["Zipf"]) == sorted(round(30 / k) for k in range(1, 7))
    assert_array_equal(sizes["ten rows per class"], [10] * 6)
    X, y = found["20 % foreign"]
    assert (y < 0).sum() == 45 and (X[y < 0] == -1).all()
    for X, y in found.values():  # rows keep their classes
        for x, c in zip(X[:20], y[:20], strict=True):
            rows = cell.foreign if c < 0 else cell.X[cell.y == c]
            assert (rows == x).all(axis=1).any()
    again, other = (dict((k, y) for k, _, y in piles(cell, s)) for s in (0, 1))
    assert_array_equal(found["Zipf"][1], again["Zipf"])
    assert not np.array_equal(again["Zipf"], other["Zipf"])


def test_large_piles_are_cut_at_random_and_small_ones_are_whole(cell, monkeypatch):
    monkeypatch.setattr("unseen.experiments.cells.LARGEST", 70)
    found = {kind: y for kind, _, y in piles(cell, 0)}
    assert len(found["full"]) == 70 and len(found["ten rows per class"]) == 60
    assert set(found["full"]) == set(range(6))  # not the first rows of the set


def test_methods_share_the_cells_of_a_draw(tmp_path):
    path = tmp_path / "a_test__x.npz"
    rng = np.random.default_rng(0)
    y, P = np.arange(40) % 4, rng.normal(size=(4, 6))
    np.savez(path, X=P[y], y=y, P=P, classes=np.arange(4).astype(str))
    bench = Bench(Source(str(path), "a", "", {"names": "names"}))
    assert bench.cell("names", 0) is bench.cell("names", 0)
    assert bench.cell("names", 0) is not bench.cell("names", 1)


def test_ridge_prototypes_are_those_of_sklearn_at_the_best_left_out_error():
    rng = np.random.default_rng(0)
    A, M, B = (
        rng.normal(size=(15, 4)),
        rng.normal(size=(15, 6)),
        rng.normal(size=(3, 4)),
    )
    M[:, :4] += 2 * A
    scale = np.mean(np.sum((A - A.mean(axis=0)) ** 2, axis=1))
    C, centre = M - M.mean(axis=0), A.mean(axis=0)

    def model(strength):
        return Ridge(alpha=strength * scale, fit_intercept=False)

    errors = {
        s: np.mean(
            (C - cross_val_predict(model(s), A - centre, C, cv=LeaveOneOut())) ** 2
        )
        for s in 10.0 ** np.arange(-2.5, 2.1, 0.25)
    }
    best = model(min(errors, key=errors.get)).fit(A - centre, C)
    expected = best.predict(B - centre) + M.mean(axis=0)
    close(ridge_prototypes(A, M, B), expected)


def test_held_out_classes_are_seen_ones_and_their_rows_make_no_prototype():
    data = make_data()
    first = held_out(data, np.random.default_rng(0))
    assert len(first.prototypes) == max(2, len(np.unique(data.y_seen)) // 4)
    assert all((data.X_seen == x).all(axis=1).any() for x in first.X)
    X = data.X.copy()
    for x in first.X:
        X[(X == x).all(axis=1)] *= -3
    changed = held_out(replace(data, X=X), np.random.default_rng(0))
    close(changed.prototypes, first.prototypes)


def test_a_gap_moves_prototypes_as_far_as_it_says(cell):
    units = unit(cell.X)
    means = np.array([units[cell.y == c].mean(axis=0) for c in range(6)])
    spread = np.sqrt(np.mean(np.sum((means - means.mean(axis=0)) ** 2, axis=1)))
    still = across_a_gap(cell.X, cell.y, 0.0, np.random.default_rng(0)) - means
    close(still, np.repeat(still[:1], 6, axis=0))  # one shift for all
    close(np.linalg.norm(still[0]), 2 * spread)
    moved = across_a_gap(cell.X, cell.y, 1.0, np.random.default_rng(0)) - means - still
    length = np.sqrt(np.mean(np.sum(moved**2, axis=1))) / spread
    assert 0.5 < length < 1.5


def test_texts_are_read_with_their_names_and_domains(tmp_path):
    rng = np.random.default_rng(0)
    path, strange = tmp_path / "some_test__x.npz", tmp_path / "other.npz"
    P = rng.normal(size=(4, 3))
    y = np.array([0, 1, 2, 3, 3])
    X = rng.normal(size=(5, 3)).astype(np.float32)
    np.savez(path, X=X, y=y, P=P, classes=np.array(list("abcd")))
    np.savez(strange, X=X + 1)
    (tmp_path / "some_classes.csv").write_text("class,domain\nb,u\na,t\nc,u\nd,t\n")
    source = Source(str(path), "some", "", {}, foreign=str(strange))
    cell = make_cell(source, "names", 0)
    close(cell.prototypes, P)
    assert_array_equal(cell.y, y)
    close(cell.foreign, X + 1)
    coarse = make_cell(source, "domains", 0)
    assert_array_equal(coarse.y, [0, 1, 1, 0, 0])
    close(coarse.prototypes[0], unit(P[[0, 3]]).mean(axis=0))


def test_two_views_are_joined_row_by_row(tmp_path):
    rng = np.random.default_rng(0)
    y, made = np.array([0, 1, 1]), {}
    for encoder, d in (("x", 3), ("z", 2)):
        made[encoder] = rng.normal(size=(3, d)), rng.normal(size=(2, d))
        X, P = made[encoder]
        np.savez(
            tmp_path / f"some_test__{encoder}.npz", X=X, y=y, P=P, classes=["a", "b"]
        )
    path = str(tmp_path / "some_test__x.npz")
    cell = make_cell(Source(path, "some", "", {}, foreign=path), "names + z", 0)
    (X, P), (U, Q) = made["x"], made["z"]
    together = np.hstack([unit(X), unit(U)]) / np.sqrt(2)
    close(cell.X, together, digits=6)
    close(cell.foreign, together, digits=6)
    close(cell.prototypes, np.hstack([unit(P), unit(Q)]) / np.sqrt(2))
    half = make_cell(
        Source(path, "some", "", {}, foreign=path), "names + z without names", 0
    )
    close(half.prototypes[:, 3:], 0)
    close(half.prototypes[:, :3], cell.prototypes[:, :3])
    np.savez(tmp_path / "some_test__z.npz", X=U, y=y[::-1], P=Q, classes=["a", "b"])
    named_rows.cache_clear()
    with pytest.raises(ValueError, match="not those of the first view"):
        make_cell(Source(path, "some", "", {}, foreign=path), "names + z", 0)


def centred_start(cell):
    A, Z = (unit(M - M.mean(axis=0)) for M in (unit(cell.X), unit(cell.prototypes)))
    return A, Z, 20 * A @ Z.T


def test_names_alone_are_cosines_plain_or_centred(cell):
    _, _, scores = centred_start(cell)
    centred = NamesAlone.from_prototypes(cell.prototypes).adapt(cell.X)
    assert_array_equal(centred.labels_, scores.argmax(axis=1))
    plain = NamesAlone.from_prototypes(cell.prototypes, centred=False).adapt(cell.X)
    cosines = unit(cell.X) @ unit(cell.prototypes).T
    assert_array_equal(plain.labels_, cosines.argmax(axis=1))


def test_k_means_is_that_of_sklearn_from_the_same_labels(cell):
    A, _, scores = centred_start(cell)
    labels = scores.argmax(axis=1)
    means = np.array([A[labels == c].mean(axis=0) for c in range(6)])
    expected = SklearnKMeans(6, init=means, n_init=1, tol=0).fit(A).labels_
    ours = KMeans.from_prototypes(cell.prototypes).adapt(cell.X).labels_
    assert_array_equal(ours, expected)
    assert (ours != labels).any()


def test_plain_em_takes_the_steps_of_a_mixture_with_one_variance(cell, monkeypatch):
    A, _, scores = centred_start(cell)
    R = softmax(scores, axis=1)
    for _ in range(3):
        sizes = R.sum(axis=0)
        means = [R[:, c] @ A / sizes[c] for c in range(6)]
        v = (
            sum(
                R[i, c] * np.sum((A[i] - means[c]) ** 2)
                for i in range(len(A))
                for c in range(6)
            )
            / A.size
        )
        density = [multivariate_normal.logpdf(A, m, v * np.eye(8)) for m in means]
        scores = np.column_stack(density) + np.log(sizes / len(A))
        R = softmax(scores, axis=1)
    monkeypatch.setattr("unseen.experiments.baselines.MAX_ROUNDS", 3)
    model = PlainEM.from_prototypes(cell.prototypes)
    found = model._transduce(start_from(model.estimator_, cell.X)).scores
    close(softmax(found, axis=1), R, digits=9)


def names_run(values):
    return [
        *(
            Finding("accuracy", kind, value=v)
            for kind, v in zip(KINDS[:2], values, strict=True)
        ),
        Finding("done"),
    ]


def test_gains_are_over_the_better_known_start(tmp_path):
    def key(method, seed):
        return RunKey("names", "banking77_test__minilm-int8", "names", method, seed)

    plain, centred = [[0.5, 0.6], [0.5, 0.2]], [[0.4, 0.5], [0.7, 0.2]]  # draw by kind
    ours = [[0.5, 0.5], [0.75, 0.25]]
    runs = {}
    for method, draws in (
        ("names-plain", plain),
        ("names-centred", centred),
        ("stata", ours),
    ):
        for seed, values in enumerate(draws):
            runs[key(method, seed)] = names_run(values)
    results = read_results(write(tmp_path / "results.csv", runs))
    table = make_table(read_plan("names"), results)
    (found,) = [cells for label, cells in table.rows if label == "StatA"]
    ((_, heads),) = table.heads
    got = dict(zip(heads, found, strict=True))
    # whole pile: centred is better on average (55 against 50): gains 10 and 5
    # half absent: plain is better on average (40 against 35): gains -10 and 5
    assert got["texts"] == "50.0" and got["mean"] == got["CUB"] == "—"
    assert got["gain"] == f"{((10 + 5) / 2 + (-10 + 5) / 2) / 2:+.1f}"
    assert got["worst"] == "−2.5"
    assert got["losing piles"] == "25 %" and got["below −3"] == "0"
    assert "4 piles, 2 draws" in table.words
    by_cell = make_table(read_plan("names_cells"), results)
    (found,) = [cells for label, cells in by_cell.rows if label == "StatA"]
    assert found[0] == "62.5" and set(found[1:]) == {"—"}


def test_truth_decides_nothing_but_the_score(tmp_path):
    rng = np.random.default_rng(0)
    P = rng.normal(size=(5, 6))
    y = rng.integers(5, size=200)
    X = (P[y] + rng.normal(size=(200, 6))).astype(np.float32)
    scores = []
    for name, truth in (("a", y), ("b", (y + 1) % 5)):
        path = tmp_path / f"{name}_test__x.npz"
        np.savez(path, X=X, y=truth, P=P, classes=np.arange(5).astype(str))
        bench = Bench(Source(str(path), name, "", {"names": "names"}))
        found = run_task(bench, "names", RunKey("names", name, "names", "k-means", 0))
        scores.append(next(f.value for f in found if f.item == "full"))
    assert scores[0] > 0.6 > 0.4 > scores[1]


def test_every_setting_of_the_study_is_one_change_of_the_method(cell):
    plan = read_plan("names_study")
    known = {f"guided: {n}" for n in (*PARAMETERS, *CONSTANTS)}
    settings = [row.method for row in plan.rows if row.method.startswith("guided:")]
    assert {method.rpartition(" ")[0] for method in settings} == known
    assert len(settings) == sum(map(len, (PARAMETERS | CONSTANTS).values()))
    default = GuidedMixture()
    for method in settings:
        model = METHODS[method].from_prototypes(cell.prototypes)
        assert isinstance(model, GuidedMixture)
        changed = [k for k, v in model.get_params().items() if v != getattr(default, k)]
        assert len(changed) + len(getattr(model, "_constants", {})) == 1


def test_other_constants_count_while_adapting_and_are_put_back(cell):
    before = guided_rounds.MOST_NAMES
    one = OtherConstants.from_prototypes(cell.prototypes, MOST_NAMES=0.4)
    one.adapt(cell.X)
    assert one.names_share_ <= 0.4
    assert guided_rounds.MOST_NAMES == before
    with pytest.raises(ValueError, match="no constant 'LEAST'"):
        OtherConstants.from_prototypes(cell.prototypes, LEAST=1).adapt(cell.X)


def test_the_study_says_how_many_settings_it_compared(tmp_path):
    plan = read_plan("names_study")
    results = read_results(write(tmp_path / "results.csv", {}))
    n = sum(row.method.startswith("guided") for row in plan.rows)
    assert f"{n} settings were compared." in make_table(plan, results).words


def test_the_study_shows_how_far_reliability_is_off(tmp_path):
    plan = read_plan("names_study")
    column = plan.columns[0]
    runs = {}
    for data, values in ((Path(column.data).stem, (0.12, -0.04)), ("other", (0.9, 0))):
        off = [
            Finding("off", kind, value=v)
            for kind, v in zip(KINDS[:2], values, strict=True)
        ]
        key = RunKey("names", data, column.classes, "guided: DOUBT 1.3", 0)
        runs[key] = [*off, *names_run([0.5, 0.5])]
    table = make_table(plan, read_results(write(tmp_path / "results.csv", runs)))
    shown = {label: cells[-1] for label, cells in table.rows}
    assert shown.pop("doubt 1.3") == "8.0"  # of both kinds, and of the plan's own sets
    assert set(shown.values()) == {"—"}


def test_off_is_reliability_less_the_share_that_is_right(cell, tmp_path):
    path = tmp_path / "a_test__x.npz"
    P = cell.prototypes
    np.savez(path, X=cell.X, y=cell.y, P=P, classes=np.arange(6).astype(str))
    bench = Bench(Source(str(path), "a", "", {"names": "names"}))
    found = run_task(bench, "names", RunKey("names", "a", "names", "guided", 0))
    off = {f.item: f.value for f in found if f.measure == "off"}
    assert "Zipf" in off
    for kind, X, y in piles(bench.cell("names", 0), 0):
        if kind in off:
            model = GuidedMixture.from_prototypes(P).adapt(X)
            right = np.mean([a == b for a, b in zip(model.labels_, y, strict=True)])
            close(off[kind], model.reliability_.mean() - right, digits=6)
