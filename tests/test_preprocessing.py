"""Transformers: equal to scikit-learn's, whole or in chunks."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from tests.checks import close
from unseen import JEDM, PerDomainCenterer, SumsPCA, WithinClassWhitener


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=80)
    return rng.normal(size=(80, 6)) @ rng.normal(size=(6, 6)) + y[:, None], y


@pytest.mark.parametrize("chunk", [1, 9, 80])
def test_chunks_change_nothing(rows, chunk):
    X, y = rows
    pca, whitener = SumsPCA(3), WithinClassWhitener(4)
    for i in range(0, 80, chunk):
        pca.partial_fit(X[i : i + chunk])
        whitener.partial_fit(X[i : i + chunk], y[i : i + chunk])
    close(pca.transform(X), SumsPCA(3).fit(X).transform(X), digits=8)
    whole = WithinClassWhitener(4).fit(X, y)
    close(whitener.transform(X), whole.transform(X), digits=8)
    assert_array_equal(whitener.classes_, whole.classes_)


def test_whitened_classes_are_round_and_the_nearest_mean_is_that_of_lda(rows):
    X, y = rows
    B = WithinClassWhitener(shrinkage=1e-12).fit(X, y).transform(X)
    means = np.vstack([B[y == c].mean(axis=0) for c in range(4)])
    inside = B - means[y]
    close(inside.T @ inside / len(B), np.eye(6), digits=7)
    nearest = ((B[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    lda = LinearDiscriminantAnalysis(priors=[0.25] * 4).fit(X, y)
    assert_array_equal(nearest, lda.predict(X))


def test_classes_that_are_points_are_left_alone():
    X = np.repeat(np.eye(3), 2, axis=0)
    B = WithinClassWhitener().fit(X, [0, 0, 1, 1, 2, 2]).transform(X)
    assert np.isfinite(B).all()


def test_a_pile_is_centred_by_its_own_mean_only_after_adapt(rows):
    X, _ = rows
    centerer = PerDomainCenterer().fit(X[:50])
    close(centerer.transform(X[50:]), X[50:] - X[:50].mean(axis=0))
    centerer.adapt(X[50:])
    close(centerer.transform(X[50:]).mean(axis=0), 0, digits=10)
    close(centerer.seen_mean_, X[:50].mean(axis=0))


def test_the_steps_of_jedm_as_a_pipeline_give_jedm():
    rng = np.random.default_rng(1)
    A = rng.uniform(size=(6, 5))
    y = np.repeat(np.arange(6), 10)
    X = (A @ rng.normal(size=(5, 9)))[y] + 0.4 * rng.normal(size=(60, 9)) + 1
    seen = y < 4
    pipe = make_pipeline(Normalizer(), SumsPCA(5), JEDM(unit_rows=False, n_axes="all"))
    pipe.fit(X[seen], y[seen], jedm__class_embeddings=A)
    model = JEDM(n_axes=5).fit(X[seen], y[seen], class_embeddings=A)
    close(pipe.decision_function(X), model.decision_function(X), digits=10)
    pipe[-1].adapt(pipe[:-1].transform(X[~seen]))
    assert_array_equal(pipe[-1].labels_, model.adapt(X[~seen]).labels_)


def test_principal_axes_are_those_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(40, 5)) * [5, 4, 3, 2, 1]
    ours, theirs = SumsPCA(3).fit(X).transform(X), PCA(3).fit_transform(X)
    close(ours, theirs * np.sign(np.sum(ours * theirs, axis=0)), digits=9)
