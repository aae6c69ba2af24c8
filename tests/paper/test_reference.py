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


def fewer(X, dtype):
    """Every fourth of many features: as real, and a sixteenth of the work."""
    return X[:, :: 4 if X.shape[1] > 2000 else 1].astype(dtype)


@cache
def by_samples(name, path):
    """The authors' program on float64 samples: D V, and labels of every stage."""
    data = cached_data(path, SETS[name])

    def unit(M):
        return M / np.linalg.norm(M, axis=1, keepdims=True)

    Xs, Xu = (unit(fewer(X, np.float64)) for X in (data.X_seen, data.X_unseen))
    Xs, Xu = Xs - Xs.mean(axis=0), Xu - Xu.mean(axis=0)
    table = data.class_embeddings
    seen = table.index[~table.index.isin(data.unseen)]
    unseen = table.index[table.index.isin(data.unseen)]
    A_rows = unit(table.loc[data.y_seen].to_numpy(dtype=np.float64))
    A_seen = unit(table.loc[seen].to_numpy(dtype=np.float64)) - A_rows.mean(axis=0)
    A_unseen = unit(table.loc[unseen].to_numpy(dtype=np.float64))
    A_unseen = A_unseen - A_unseen.mean(axis=0)
    _, axes = eigsh(Xs.T @ Xs, k=100)
    axes = axes[:, ::-1]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(100)])
    Y = (data.y_seen[:, None] == seen.to_numpy()).astype(float)
    D0, V0 = starts(table.shape[1])
    D, V = authors_jedm((Xs @ axes).T, A_seen.T, Y, D0.T, V0)
    Xu = (Xu @ axes).T
    first = authors_answer(Xu, A_unseen.T, D, V).argmax(axis=1)
    _, later = authors_tstd(Xu, A_unseen.T, D, V)
    return D @ V, [unseen.to_numpy()[labels] for labels in (first, *later)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_give_the_authors_answer(data, shared_data, dtype, monkeypatch):
    product, labels = by_samples(data.name, shared_data / f"{data.name}.npz")
    D0, V0 = starts(data.class_embeddings.shape[1])
    monkeypatch.setattr("unseen.models.jedm.random_start", lambda *_: (D0, V0))
    model, base = (
        kind().fit(
            fewer(data.X_seen, dtype),
            data.y_seen,
            class_embeddings=data.class_embeddings,
        )
        for kind in (TSTD, JEDM)
    )
    ours = model.components_.T @ model.compatibility_
    pile = fewer(data.X_unseen, dtype)
    jedm = base.adapt(pile).labels_
    answers = [jedm, *(r.labels for r in model.adapt(pile).rounds_)]
    if dtype == np.float64:
        close(ours, product, digits=6)
    for mine, theirs in zip(answers, labels, strict=True):
        agreement = np.mean(mine == theirs)
        assert agreement == 1 if dtype == np.float64 else agreement >= 0.999


# (raw score, JEDM, TSTD's last round), each with the spread of five seeds around it.
BANDS = {
    "cub_vgg": [(0.34, 0.40), (0.475, 0.505), (0.42, 0.455)],
    "awa1_shallow": [(0.28, 0.34), (0.335, 0.355), (0.245, 0.275)],
}


def test_accuracies_lie_in_the_known_bands(data):
    model, base = (
        kind(random_state=3).fit(
            data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
        )
        for kind in (TSTD, JEDM)
    )
    raw = model.predict(data.X_unseen)
    jedm = base.adapt(data.X_unseen).labels_
    tstd = model.adapt(data.X_unseen).labels_
    for (low, high), answer in zip(BANDS[data.name], (raw, jedm, tstd), strict=True):
        assert low <= per_class_accuracy(data.y_unseen, answer) <= high


def test_the_printed_equations_are_near_chance_at_the_authors_weights(shared_data):
    data = cached_data(shared_data / "awa1_shallow.npz", "att_continuous")
    model = JEDM("paper")
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    assert np.diff(model.history_).max() <= 0
    labels = model.adapt(data.X_unseen).labels_
    assert 0.04 <= per_class_accuracy(data.y_unseen, labels) <= 0.16
