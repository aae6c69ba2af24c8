"""JEDM: each update against a generic minimiser, the whole against the authors'."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import linalg
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tests.checks import close, never_rises, unit
from tests.oracles import authors_dictionary, minimise
from unseen import ESZSL, JEDM, TSTD
from unseen.core.linalg import right_factor
from unseen.core.sums import label_products, sum_rows
from unseen.models.dictionary import solve_by_admm, solve_by_reference_admm
from unseen.models.jedm import (
    READINGS,
    objective,
    solve_jedm,
    update_codes,
    update_compatibility,
)

PAPER = READINGS["paper"]
ALPHA, BETA = np.full((1, 1, 1), 0.7), np.full((1, 1, 1), 0.2)


@pytest.fixture
def small():
    """Centred rows of four classes, with both codings and their products."""
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(4), [5, 7, 6, 4])
    X = rng.normal(size=(22, 5)) + rng.normal(size=(4, 5))[codes]
    X -= X.mean(axis=0)
    sums = sum_rows(X, codes, 4)
    H = np.eye(4)[codes]
    D, V = rng.normal(size=(3, 5)), rng.normal(size=(3, 6))
    A = rng.normal(size=(4, 6))
    return X, H, A, D, V, sums


def eq2(X, Y, A, D, V, C, alpha, beta):
    VA = V @ A.T
    return (
        np.sum((X - C @ D) ** 2)
        + alpha * np.sum((C @ VA - Y) ** 2)
        + beta * np.sum(VA**2)
    )


def brute_codes(X, Y, A, D, V, ridge=0.0):
    start = np.zeros((len(X), len(D)))
    return minimise(
        lambda C: eq2(X, Y, A, D, V, C, 0.7, 0) + ridge * np.sum(C**2), start
    )


@pytest.mark.parametrize("ridge", [0, 0.4])
def test_the_code_step_is_the_minimum_of_eq_3(small, ridge):
    X, H, A, D, V, sums = small
    Y = 2 * H - 1
    C = brute_codes(X, Y, A, D, V, ridge)
    codes = update_codes(label_products(sums, "signed"), D, A @ V.T, ALPHA, ridge)
    for ours, theirs in zip(codes, (C.T @ C, C.T @ X, C.T @ Y), strict=True):
        close(ours[0], theirs, digits=5)


def test_the_compatibility_step_is_the_minimum_of_eq_5_and_eq_2_its_value(small):
    X, H, A, D, V, sums = small
    Y = 2 * H - 1
    C = brute_codes(X, Y, A, D, V)
    codes = update_codes(label_products(sums, "signed"), D, A @ V.T, ALPHA, 0)
    value = objective(label_products(sums, "signed"), codes, D, A @ V.T, ALPHA, BETA)
    close(value[0], eq2(X, Y, A, D, V, C, 0.7, 0.2), digits=8)
    best = minimise(lambda V: eq2(X, Y, A, D, V, C, 0.7, 0.2), V)
    [ours] = update_compatibility(codes, right_factor(A, 0), BETA / ALPHA)
    # Eq. (5) fixes V A; of V itself it leaves what no seen embedding shows.
    close(ours @ A.T, best @ A.T, digits=5)
    close(ours @ linalg.null_space(A), 0, digits=10)


@pytest.mark.parametrize("alpha, beta", [(0.01, 100), (0.1, 0.01), (10, 1)])
def test_the_papers_objective_never_rises(small, alpha, beta):
    _, _, A, D, V, sums = small
    D = unit(D)
    weights = np.array([alpha, beta], dtype=float)[:, None, None, None]
    sixty = PAPER._replace(max_iter=60, tol=0.0)
    *_, [history] = solve_jedm(label_products(sums, "signed"), A, D, V, *weights, sixty)
    never_rises(history)
    assert history[-1] < history[0]


# ---- the dictionary step -----------------------------------------------------------


def make(n, d, p, size, seed=0):
    """Codes and rows whose free least-squares atoms have lengths up to ``size``."""
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(n, d))
    atoms = rng.normal(size=(d, p)) * rng.uniform(size / 20, size, size=(d, 1))
    return C, C @ atoms + rng.normal(size=(n, p))


def dictionary_by(solve, C, X, D):
    return solve((C.T @ C)[None], (C.T @ X)[None], D)[0]


@pytest.mark.parametrize(
    "n, d, p, size", [(50, 8, 6, 1.0), (300, 100, 100, 0.5), (30, 40, 30, 1.0)]
)
def test_admm_ends_where_karush_kuhn_and_tucker_say(n, d, p, size):
    """Where at least half the norms bind: their gradients point outwards."""
    C, X = make(n, d, p, size)
    D = dictionary_by(solve_by_admm, C, X, np.zeros((d, p)))
    lengths = np.linalg.norm(D, axis=1)
    bound = lengths > 1 - 1e-9
    assert bound.mean() >= 0.5 and lengths.max() <= 1 + 1e-12
    downhill = C.T @ (X - C @ D)
    multipliers = np.sum(downhill * D, axis=1)
    size = np.abs(C.T @ X).max()
    assert multipliers[bound].min() >= -1e-6 * size
    close(downhill, (bound * multipliers)[:, None] * D, within=1e-5 * size)


@pytest.mark.parametrize("size", [0.02, 0.3, 2.0])
def test_the_authors_steps_are_theirs(size):
    """With and without binding atoms, also where the shortcut for free ones ends."""
    C, X = make(200, 10, 8, size)
    X = X * size
    D = np.random.default_rng(1).normal(size=(10, 8))
    D = unit(D)
    ours = dictionary_by(solve_by_reference_admm, C, X, D)
    close(ours, authors_dictionary(X.T, C.T, D.T).T, digits=9)


# ---- the model ---------------------------------------------------------------------


@pytest.fixture
def problem():
    """Eight classes, six seen; rows scatter around a map of the embeddings."""
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(8, 6))
    y = np.repeat(np.arange(8), [9, 12, 10, 8, 11, 13, 10, 9])
    X = (A @ rng.normal(size=(6, 20)))[y] + 0.3 * rng.normal(size=(len(y), 20)) + 2
    return X, y, A, y < 6


def test_adapting_to_some_classes_leaves_the_others_inductive(problem):
    X, y, A, seen = problem
    model = JEDM().fit(X[seen], y[seen], class_embeddings=A)
    before = model.decision_function(X, classes="all")
    model.adapt(X[~seen])
    after = model.decision_function(X, classes="all")
    close(after[:, :6], before[:, :6])
    assert not np.allclose(after[:, 6:], before[:, 6:])


def test_stopping_for_want_of_sweeps_is_told(problem):
    X, y, A, seen = problem
    with pytest.warns(ConvergenceWarning, match="max_iter=2 sweeps used"):
        model = JEDM(PAPER._replace(max_iter=2), n_components=5)
        model.fit(X[seen], y[seen], class_embeddings=A)
    assert model.n_iter_ == 2 and len(model.history_) == 3


@pytest.mark.parametrize(
    "change, message",
    [
        ({"X": np.full((71, 20), np.inf)}, "infinity"),
        ({"y": np.full(71, -1)}, r"y holds -1"),
        ({"y": np.zeros(71, dtype=int)}, "one class only"),
        ({"y": np.linspace(0, 1, 71)}, "Unknown label type"),
        ({"class_embeddings": np.full((8, 6), np.nan)}, "class_embeddings holds NaN"),
    ],
)
def test_bad_input_gets_one_clear_sentence_and_leaves_nothing_fitted(
    problem, change, message
):
    X, y, A, _ = problem
    y = np.minimum(y, 5)
    given = {"X": X[:71], "y": y[:71], "class_embeddings": A, **change}
    model = JEDM()
    with pytest.raises(ValueError, match=message):
        model.fit(given.pop("X"), given.pop("y"), **given)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_failed_refit_leaves_the_old_model(problem):
    X, y, A, seen = problem
    model = JEDM().fit(X[seen], y[seen], class_embeddings=A)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="y holds 6"):
        model.fit(X[:, :3], y, class_embeddings=A[:6])
    assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("model", [TSTD(), ESZSL()], ids=str)
@pytest.mark.parametrize("unit_rows", [True, False])
def test_one_number_that_is_not_finite_is_named(problem, model, unit_rows):
    """No pass looks for it: it must show in sums, on the axes, and in the scores."""
    X, y, A, seen = problem
    whole = clone(model).set_params(unit_rows=unit_rows)
    whole.fit(X[seen], y[seen], class_embeddings=A)
    before = whole.decision_function(X)
    for bad, told in [(np.nan, "NaN"), (np.inf, "infinity")]:
        broken = X.copy()
        broken[seen.argmax(), 7] = broken[(~seen).argmax(), 7] = bad
        fresh = clone(whole)
        with pytest.raises(ValueError, match=told):
            fresh.fit(broken[seen], y[seen], class_embeddings=A)
        assert not hasattr(fresh, "classes_")
        for ask in (whole.adapt, whole.predict):
            with pytest.raises(ValueError, match=told):
                ask(broken[~seen])
    assert_array_equal(whole.decision_function(X), before)
