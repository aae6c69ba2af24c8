"""The sums: equal to the samples, whatever the blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests.checks import close, unit
from unseen.core.linalg import block_lanczos, inverse_lengths, leading_eigenvectors
from unseen.core.sums import sum_rows


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 7)) + 3, rng.integers(4, size=60)


def parts(sums):
    return sums.gram, sums.class_sums, sums.counts


def assert_same(ours, theirs, digits=10):
    for a, b in zip(parts(ours), parts(theirs), strict=True):
        close(a, b, digits)


@pytest.mark.parametrize("unit_rows", [False, True])
def test_the_sums_are_those_of_the_definition(rows, unit_rows):
    X, codes = rows
    sums = sum_rows(X, codes, 5, unit_rows=unit_rows)
    if unit_rows:
        X = unit(X)
    Y = np.eye(5)[codes]
    close(sums.gram, X.T @ X)
    close(sums.class_sums, Y.T @ X)
    assert_array_equal(sums.counts, Y.sum(axis=0))
    for n in (60, 1, 0):
        mean = X[:n].mean(axis=0) if n else np.zeros(7)
        close(sum_rows(rows[0][:n], codes[:n], 5, unit_rows=unit_rows).mean, mean)
    within = sum(
        (X[codes == c] - X[codes == c].mean(axis=0)).T
        @ (X[codes == c] - X[codes == c].mean(axis=0))
        for c in range(4)
    )
    close(sums.within_class_scatter(), within)


def test_sums_add_and_held_out_classes_are_taken_away(rows):
    X, codes = rows
    held = codes == 2
    whole, own = sum_rows(X, codes, 4), sum_rows(X[held], codes[held], 4)
    rest = sum_rows(X[~held], codes[~held], 4)
    assert_same(whole - own, rest)
    assert_same(rest + own, whole)
    assert not (whole - own).class_sums[2].any()


@pytest.mark.parametrize("k", [3, 50, None])
def test_reduced_sums_are_those_of_rows_on_the_axes(rows, k):
    X, codes = rows
    reduced = sum_rows(X, codes, 4).reduced(k)
    carried = (X - X.mean(axis=0)) @ reduced.axes
    assert_same(reduced.sums, sum_rows(carried, codes, 4), digits=9)
    assert reduced.axes.shape == (7, min(k or 7, 7))


def test_leading_eigenvectors_have_fixed_signs_and_falling_values(rows):
    X, _ = rows
    S = np.cov(X.T)
    values, vectors = leading_eigenvectors(S, 4)
    close(S @ vectors, vectors * values, digits=10)
    assert (np.diff(values) <= 0).all()
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(4)]
    assert (largest > 0).all()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 5),
    st.sampled_from([0.0, 1e-30, 1e-300, 1e-3, 1.0, 1e25, 1e200]),
    st.sampled_from([np.float32, np.float64]),
)
def test_lengths_are_right_far_from_one(n, size, dtype):
    rows = np.random.default_rng(n).normal(size=(n, 4)) * size
    with np.errstate(over="ignore", under="ignore"):
        rows = rows.astype(dtype)
    if not np.isfinite(rows).all():
        return
    inverse = inverse_lengths(rows)
    assert inverse.dtype == dtype
    exact = np.linalg.norm(rows.astype(np.longdouble), axis=1)
    tiny = exact <= np.finfo(dtype).tiny
    close(inverse[tiny], 1)
    close(inverse[~tiny].astype(float) * exact[~tiny].astype(float), 1, digits=5)


def decaying(p=640, seed=0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(p, p)))[0]
    values = 50.0 / (1 + np.arange(p)) ** 1.1
    return values, basis, (basis * values) @ basis.T


@pytest.mark.parametrize("dtype, digits", [(np.float64, 10), (np.float32, 5)])
def test_lanczos_finds_what_lapack_finds_to_the_precision_of_the_matrix(dtype, digits):
    truth, basis, S = decaying()
    values, vectors = block_lanczos(S.astype(dtype), 20, block=8)
    close(values[::-1], truth[:20], digits=digits)
    close(np.abs(vectors[:, ::-1].T @ basis[:, :20]), np.eye(20), digits=digits - 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", [3, 60])
def test_low_rank_matrices_are_left_to_lapack(rank, dtype):
    values, basis, _ = decaying()
    S = (basis[:, :rank] * values[:rank]) @ basis[:, :rank].T
    found, vectors = leading_eigenvectors(S, 20, dtype)
    expected = np.r_[values[:rank], np.zeros(20)][:20]
    close(found, expected, digits=5)
    close(vectors.T @ vectors, np.eye(20), digits=5)


def gapless(fall, p=640, n=2000):
    rows = np.random.default_rng(3).normal(size=(n, p)) / (1 + np.arange(p)) ** fall
    return rows.T @ rows


@pytest.mark.parametrize("fall", [0.0, 0.5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_eigenvectors_are_right_with_and_without_gaps_in_the_spectrum(dtype, fall):
    S = gapless(fall)
    found, vectors = leading_eigenvectors(S, 50, dtype)
    precise = dtype is np.float64
    expected = np.linalg.eigvalsh(S)[::-1][:50]
    close(found, expected, digits=9 if precise else 5)
    residual = np.linalg.norm(S @ vectors - vectors * found, axis=0).max()
    assert residual < (1e-9 if precise else 2e-6) * found[0]
    close(vectors.T @ vectors, np.eye(50), digits=10 if precise else 5)
