"""What every model must keep: orders are free, new classes need no training."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import unseen
from tests.checks import close, fitted, make_data

# Two of the made-up classes have the same attributes in 0/1, which DAP and IAP see.
pytestmark = pytest.mark.filterwarnings("ignore:.*equal descriptions")

FROM_SUMS = [
    unseen.ESZSL(),
    unseen.CCA(),
    unseen.JEDM(n_components=8),
    unseen.JEDM("paper", n_components=8),
    unseen.DAP(),
    unseen.IAP(),
    unseen.ConSE(),
    unseen.RidgeToSemantic(),
    unseen.RidgeToVisual(),
    unseen.RidgeToVisual(metric="cosine", whitening=0.1),
    unseen.SAE(),
    unseen.SAE(direction="to_semantic"),
    unseen.SynC(loss="squared"),
]
FROM_ROWS: list = [
    unseen.SynC(1e-3, tol=1e-7),
    unseen.SynC(1e-3, loss="structured", tol=1e-7),
    unseen.JLSE(1e-3, tol=1e-7),
    unseen.DeViSE(),
    unseen.ALE(),
    unseen.SJE(),
    unseen.LatEm(1),
    unseen.LatEm(3),
]
MODELS = [*FROM_SUMS, *FROM_ROWS]


def all_scores(model, data):
    table = data.class_embeddings
    model = clone(model).fit(data.X_seen, data.y_seen, class_embeddings=table)
    return model.decision_function(data.X, classes=table.index.tolist())


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_order_of_classes_and_rows_is_free(model):
    data, random = make_data(), np.random.default_rng(3)
    table, names = data.class_embeddings, data.class_embeddings.index.tolist()
    rows, classes = random.permutation(len(data.X_seen)), random.permutation(len(table))
    X, y, turned = data.X_seen[rows], data.y_seen[rows], table.iloc[classes]
    other = clone(model).fit(X, y, class_embeddings=turned)
    found = other.decision_function(data.X, classes=names)
    close(found, all_scores(model, data), digits=4)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_new_classes_need_no_training(model):
    data = make_data()
    known = data.class_embeddings.drop(data.unseen)
    new = data.class_embeddings.loc[data.unseen]
    told = fitted(clone(model), data)
    model = clone(model).fit(data.X_seen, data.y_seen, class_embeddings=known)
    assert_array_equal(
        model.predict(data.X_unseen, classes=new), told.predict(data.X_unseen)
    )


def in_chunks(model, data, rows=17):
    X, y = data.X_seen, data.y_seen
    chunks = [(X[i : i + rows], y[i : i + rows]) for i in range(0, len(X), rows)]
    return clone(model).fit(chunks, class_embeddings=data.class_embeddings)


@pytest.mark.parametrize("model", FROM_ROWS, ids=str)
def test_those_that_need_rows_do_not_pretend_otherwise(model):
    assert not hasattr(model, "partial_fit")
    with pytest.raises(TypeError, match="needs all rows at once"):
        in_chunks(model, make_data())
