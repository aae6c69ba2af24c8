"""Transformers equal scikit-learn's, whole or in chunks, and go with its pipelines."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from tests.checks import close, make_data
from unseen import (
    ALE,
    ESZSL,
    JEDM,
    TSTD,
    PerDomainCenterer,
    SelfTraining,
    SumsPCA,
    TransCLIP,
    WithinClassWhitener,
)


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


# ---- with scikit-learn's other parts -------------------------------------------------


@pytest.mark.parametrize("kind", [PerDomainCenterer, SumsPCA, WithinClassWhitener])
def test_output_is_a_frame_where_that_is_asked_for(kind, rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(80)[::-1])
    made = kind().set_output(transform="pandas").fit(frame, y).transform(frame)
    close(made.to_numpy(), kind().fit(X, y).transform(X))
    assert made.index.equals(frame.index)
    own = "abcdef" if kind is PerDomainCenterer else range(6)
    assert list(made.columns) == [
        name if isinstance(name, str) else f"{kind.__name__.lower()}{name}"
        for name in own
    ]
    last = make_pipeline(kind().set_output(transform="pandas"), ESZSL()).fit(frame, y)
    assert last[-1].feature_names_in_.tolist() == list(made.columns)


@pytest.mark.parametrize("model", [ESZSL(), SelfTraining(ESZSL())])
def test_the_class_table_and_candidates_are_routed_by_name(model):
    data = make_data()
    names, table = data.classes[:4], data.class_embeddings
    alone = type(model)(**model.get_params(deep=False))
    alone.fit(data.X_seen, data.y_seen, class_embeddings=table)
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(class_embeddings=True)
        pipe = make_pipeline(Normalizer(), model.set_predict_request(classes=True))
        pipe.fit(data.X_seen, data.y_seen, class_embeddings=table)
        found = pipe.predict(data.X_unseen, classes=names)
    assert_array_equal(found, alone.predict(data.X_unseen, classes=names))
    assert pipe[-1].unseen_classes_.tolist() == data.unseen.tolist()


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_matrix])
def test_sparse_rows_answer_as_dense_ones_or_are_refused(form, monkeypatch):
    monkeypatch.setattr("unseen.core.rows.CHUNK_NUMBERS", 16 * 9)
    data, table = make_data(), make_data().class_embeddings
    X_seen, X = (np.where(abs(M) > 0.7, M, 0) for M in (data.X_seen, data.X_unseen))
    ours = TSTD().fit(form(X_seen), data.y_seen, class_embeddings=table)
    theirs = TSTD().fit(X_seen, data.y_seen, class_embeddings=table)
    close(ours.decision_function(form(X)), theirs.decision_function(X))
    assert_array_equal(ours.adapt(form(X)).labels_, theirs.adapt(X).labels_)
    assert_array_equal(ours.predict(form(X)), theirs.predict(X))
    with pytest.raises(TypeError, match=r"sparse.* needs all rows at once"):
        ALE().fit(form(X_seen), data.y_seen, class_embeddings=table)
    around = TransCLIP(ESZSL()).fit(form(X_seen), data.y_seen, class_embeddings=table)
    with pytest.raises(TypeError, match=r"sparse.* needs all rows at once"):
        around.adapt(form(X))
