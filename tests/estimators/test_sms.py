"""SMS: against least squares on the rows, and descent."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close, make_data, never_rises, unit
from unseen import ESZSL, SMS


def fitted(data, **parameters):
    model = SMS(n_axes=6, **parameters)
    return model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)


def pieces(data, model):
    """Seen rows, one-hot labels, embeddings; new rows, their embeddings; made anew."""
    X = (unit(data.X_seen) - model.mean_) @ model.axes_
    B = unit(data.X_unseen)
    B = (B - B.mean(axis=0)) @ model.axes_
    A = unit(data.class_embeddings.to_numpy())
    names = data.class_embeddings.index.to_numpy()
    seen = np.isin(names, np.unique(data.y_seen))
    S, T = A[seen] - model.embedding_mean_, A[~seen] - A[~seen].mean(axis=0)
    Y = (data.y_seen[:, None] == names[seen]).astype(float)
    return X, Y, S, B, T, names[~seen]


def one_round(data, **parameters):
    """A model after one round, its map, and the labels that the round began with."""
    first = fitted(data, n_rounds=0, **parameters).adapt(data.X_unseen)
    model = fitted(data, n_rounds=1, **parameters).adapt(data.X_unseen)
    names = first.competing_classes_
    return model, (first.labels_[:, None] == names).astype(float)


def kronecker(terms, p, q):
    """Least squares of Σ weight |L W R - target|², all terms written out."""
    left = np.vstack([w**0.5 * np.kron(L, R.T) for w, L, R, _ in terms])
    right = np.concatenate([w**0.5 * target.ravel() for w, *_, target in terms])
    return np.linalg.lstsq(left, right, rcond=None)[0].reshape(p, q)


@pytest.mark.parametrize("gamma, lam", [(0.3, 1.0), (5.0, 0.01)])
def test_a_round_is_eszsl_on_the_stacked_rows(gamma, lam):
    data = make_data()
    model, U = one_round(data, gamma=gamma, lam=lam)
    X, Y, S, B, T, _ = pieces(data, model)
    rows, A = np.vstack([X, B]), np.vstack([S, T])
    labels = np.block(
        [[Y, np.zeros((len(Y), len(T)))], [np.zeros((len(U), len(S))), U]]
    )
    p, q = X.shape[1], S.shape[1]
    zero = np.zeros
    W = kronecker(
        [
            (1, rows, A.T, labels),
            (gamma, np.eye(p), A.T, zero((p, len(A)))),
            (lam, rows, np.eye(q), zero((len(rows), q))),
            (gamma * lam, np.eye(p), np.eye(q), zero((p, q))),
        ],
        p,
        q,
    )
    close(model.decision_function(data.X_unseen), B @ W @ T.T, digits=6)
    expected = (
        np.sum((rows @ W @ A.T - labels) ** 2)
        + gamma * np.sum((W @ A.T) ** 2)
        + lam * np.sum((rows @ W) ** 2)
        + gamma * lam * np.sum(W**2)
    )
    close(model.rounds_[0].objective, expected)


def test_the_objective_never_rises_and_rounds_end_when_labels_stay():
    data = make_data(3)
    model = fitted(data, n_rounds=30)
    model.adapt(data.X_unseen)
    values = [round.objective for round in model.rounds_]
    never_rises(values)
    assert model.rounds_[-1].n_changed == 0
    assert len(values) < 30


def test_before_and_without_rounds_it_is_eszsl():
    data = make_data()
    base = ESZSL(0.1, 0.1, n_axes=6)
    base.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    model = fitted(data, n_rounds=0)
    assert_array_equal(model.predict(data.X), base.predict(data.X))
    model.adapt(data.X_unseen), base.adapt(data.X_unseen)
    assert_array_equal(model.labels_, base.labels_)
    assert model.rounds_ == []
