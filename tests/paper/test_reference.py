"""The reference reading on real features: the authors' program and its figures."""

from functools import cache

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

from tests.checks import close
from tests.oracles import authors_answer, authors_jedm, authors_tstd
from unseen import JEDM, TSTD, load_data, per_class_accuracy

SETS = {"cub_vgg": "att_312", "awa1_shallow": "att_continuous"}


@pytest.fixture(params=SETS)
def data(request, shared_data):
    return cached_data(shared_data / f"{request.param}.npz", SETS[request.param])


@cache
def cached_data(path, table):
    if not path.exists():
        pytest.skip(f"{path.name} is absent")
    return load_data(path, classes=table)


def starts(q):
    rng = np.random.default_rng(11)
    D, V = rng.normal(size=(100, 100)), rng.normal(size=(100, q))
    return D / np.linalg.norm(D, axis=1, keepdims=True), V / np.linalg.norm(V, axis=0)


@cache
def some(path, table):
    """Every third row and fourth of many features: as real, and a fraction of the work.

    Returns seen rows and labels, unseen rows, and the table.
    """
    data = cached_data(path, table)
    columns = slice(None, None, 4 if data.X_seen.shape[1] > 2000 else 1)
    rows = data.X_seen[::3, columns], data.X_unseen[::3, columns]
    return rows[0], data.y_seen[::3], rows[1], data.class_embeddings, data.unseen


@cache
def by_samples(path, table):
    """The authors' program on float64 samples: D V, and labels of every stage."""
    X_seen, y_seen, X_unseen, table, new = some(path, table)

    def unit(M):
        return M / np.linalg.norm(M, axis=1, keepdims=True)

    Xs, Xu = (unit(X.astype(np.float64)) for X in (X_seen, X_unseen))
    Xs, Xu = Xs - Xs.mean(axis=0), Xu - Xu.mean(axis=0)
    seen = table.index[~table.index.isin(new)]
    unseen = table.index[table.index.isin(new)]
    A_rows = unit(table.loc[y_seen].to_numpy(dtype=np.float64))
    A_seen = unit(table.loc[seen].to_numpy(dtype=np.float64)) - A_rows.mean(axis=0)
    A_unseen = unit(table.loc[unseen].to_numpy(dtype=np.float64))
    A_unseen = A_unseen - A_unseen.mean(axis=0)
    _, axes = eigsh(Xs.T @ Xs, k=100)
    axes = axes[:, ::-1]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(100)])
    Y = (y_seen[:, None] == seen.to_numpy()).astype(float)
    D0, V0 = starts(table.shape[1])
    D, V = authors_jedm((Xs @ axes).T, A_seen.T, Y, D0.T, V0)
    Xu = (Xu @ axes).T
    first = authors_answer(Xu, A_unseen.T, D, V).argmax(axis=1)
    _, later = authors_tstd(Xu, A_unseen.T, D, V)
    return D @ V, [unseen.to_numpy()[labels] for labels in (first, *later)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_give_the_authors_answer(data, shared_data, dtype, monkeypatch):
    place = shared_data / f"{data.name}.npz", SETS[data.name]
    product, labels = by_samples(*place)
    X_seen, y_seen, X_unseen, table, _ = some(*place)
    D0, V0 = starts(table.shape[1])
    monkeypatch.setattr("unseen.models.jedm.random_start", lambda *_: (D0, V0))
    model = TSTD().fit(X_seen.astype(dtype), y_seen, class_embeddings=table)
    ours = model.components_.T @ model.compatibility_
    rounds = model.adapt(X_unseen.astype(dtype)).rounds_
    jedm = model.set_params(rates=[]).adapt(X_unseen.astype(dtype)).labels_
    if dtype == np.float64:
        close(ours, product, digits=6)
    for mine, theirs in zip([jedm, *(r.labels for r in rounds)], labels, strict=True):
        agreement = np.mean(mine == theirs)
        assert agreement == 1 if dtype == np.float64 else agreement >= 0.998


# (raw score, JEDM, TSTD's last round), each with the spread of five seeds around it.
BANDS = {
    "cub_vgg": [(0.34, 0.40), (0.475, 0.505), (0.42, 0.455)],
    "awa1_shallow": [(0.28, 0.34), (0.335, 0.355), (0.245, 0.275)],
}


def test_accuracies_lie_in_the_known_bands(data):
    model = TSTD(random_state=3)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    raw = model.predict(data.X_unseen)
    tstd = model.adapt(data.X_unseen).labels_
    jedm = model.set_params(rates=[]).adapt(data.X_unseen).labels_
    for (low, high), answer in zip(BANDS[data.name], (raw, jedm, tstd), strict=True):
        assert low <= per_class_accuracy(data.y_unseen, answer) <= high


def test_the_printed_equations_are_near_chance_at_the_authors_weights(shared_data):
    data = cached_data(shared_data / "awa1_shallow.npz", "att_continuous")
    model = JEDM("paper")
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    assert np.diff(model.history_).max() <= 0
    labels = model.adapt(data.X_unseen).labels_
    assert 0.04 <= per_class_accuracy(data.y_unseen, labels) <= 0.16
