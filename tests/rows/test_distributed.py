"""Dask workers send sums, and the answer is that of one process."""

import numpy as np
import pandas as pd
import pytest
from checks import make_data
from numpy.testing import assert_array_equal
from sklearn.base import clone

from tests.checks import close
from unseen import ESZSL, JEDM, TSTD, AnchoredSelfTraining, GuidedMixture, SelfTraining
from unseen.core.dask_rows import DaskUnlabelled

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    """A cluster of two processes."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def a_pile(data):
    rng = np.random.default_rng(0)
    X = np.concatenate([data.X_unseen] * 4)
    return (X + 0.3 * rng.normal(size=X.shape)).astype(data.X.dtype)


MODELS = [
    AnchoredSelfTraining(max_rounds=3),
    TSTD(),
    SelfTraining(ESZSL()),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_workers_give_what_one_process_gives(model, client):
    data = make_data(3)
    X, y, A, pile = data.X_seen, data.y_seen, data.class_embeddings, a_pile(data)
    theirs = clone(model).fit(X, y, class_embeddings=A).adapt(pile)
    chunked = da.from_array(pile, chunks=(45, 16))
    # Rows cut across columns, labels cut elsewhere: both are put right.
    ours = clone(model).fit(
        da.from_array(X, chunks=(40, 9)),
        da.from_array(y, chunks=31),
        class_embeddings=A,
    )
    ours.adapt(chunked)
    assert_array_equal(ours.labels_, theirs.labels_)
    close(ours.reliability_, theirs.reliability_, digits=8)
    for one, other in zip(ours.rounds_, theirs.rounds_, strict=True):
        assert str(one) == str(other)
        assert one.labels is None  # they stay where the rows are
        close(one.objective, other.objective, digits=8)
    scores = ours.decision_function(chunked)
    assert isinstance(scores, da.Array) and scores.shape == (len(pile), 3)
    close(scores.compute(), theirs.decision_function(pile), digits=8)


def test_dataframes_go_through(client):
    data = make_data(1)
    names = [f"f{i}" for i in range(16)]
    seen = pd.DataFrame(data.X_seen, columns=names)
    pile = pd.DataFrame(data.X_unseen, columns=names)
    A = data.class_embeddings
    theirs = JEDM().fit(seen, data.y_seen, class_embeddings=A).adapt(pile)
    labelled = dd.from_pandas(seen.assign(kind=data.y_seen), npartitions=3)
    ours = JEDM().fit(labelled, "kind", class_embeddings=A)
    parts = dd.from_pandas(pile, npartitions=2)
    assert ours.feature_names_in_.tolist() == names
    assert_array_equal(ours.adapt(parts).labels_, theirs.labels_)
    assert_array_equal(ours.predict(parts).compute(), theirs.predict(pile))


# ---- without a cluster: threads of this process --------------------------------------


@pytest.fixture
def threads():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_odd_collections_are_refused(threads):
    data = make_data()
    X, y, A = da.from_array(data.X_seen, chunks=(40, 16)), data.y_seen, None
    with pytest.raises(ValueError, match="of 1 dimensions"):
        DaskUnlabelled(da.ones(5))
    with pytest.raises(ValueError, match="but y has 3 labels"):
        JEDM().fit(X, y[:3], class_embeddings=A)
    with pytest.raises(ValueError, match="but y has 3 labels"):
        JEDM().fit(X, da.from_array(y[:3], chunks=3), class_embeddings=A)
    with pytest.raises(ValueError, match="needs labels"):
        JEDM().fit(X, None)
    with pytest.raises(ValueError, match=r"y holds .*, but class_emb"):
        JEDM().fit(X, y, class_embeddings=data.class_embeddings[9:])
    bad = data.X_seen.copy()
    bad[50, 3] = np.nan
    with pytest.raises(ValueError, match="chunk 1 holds NaN or infinity in its row 10"):
        JEDM().fit(da.from_array(bad, chunks=(40, 16)), y)
    model = JEDM().fit(X, y)
    with pytest.raises(ValueError, match="5 features"):
        model.predict(da.ones((4, 5)))
    with pytest.raises(ValueError, match="5 features"):
        model.adapt(da.ones((4, 5)))
    model = GuidedMixture.from_prototypes(np.eye(16)[:3])
    with pytest.raises(TypeError, match="needs all rows at once"):
        model.adapt(X)
