"""Rows met in chunks give what rows in memory give, and take one chunk of memory."""

import io
import os

import numpy as np
import pandas as pd
import pytest
from checks import make_data
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import unseen
from tests.checks import close, fitted
from unseen.core.rows import open_stream
from unseen.core.sums import RunningSums

# Two of the made-up classes have the same attributes in 0/1, which DAP and IAP see.
pytestmark = pytest.mark.filterwarnings("ignore:.*equal descriptions")

MODELS = [
    unseen.TSTD(),
    unseen.AnchoredSelfTraining(),
    unseen.SelfTraining(unseen.CCA()),
    unseen.SelfTraining(unseen.DAP()),
    unseen.SMS(),
    unseen.SAE(),
]


def a_pile(data, copies=5):
    """More rows than classes: the unseen rows with more noise, several times."""
    rng = np.random.default_rng(0)
    X = np.concatenate([data.X_unseen] * copies)
    return (X + 0.3 * rng.normal(size=X.shape)).astype(data.X.dtype)


def cut(X, rows):
    return [X[i : i + rows] for i in range(0, len(X), rows)]


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Let small data be many blocks."""
    monkeypatch.setattr("unseen.core.sums.BLOCK_NUMBERS", 200)


# ---- the same answer -----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_streaming_is_fitting_and_adapting(model, dtype, tiny_blocks):
    data = make_data(3, dtype)
    X, y, A, pile = data.X_seen, data.y_seen, data.class_embeddings, a_pile(data)
    theirs = clone(model).fit(X, y, class_embeddings=A).adapt(pile)
    pairs = zip(cut(X, 13), cut(y, 13), strict=True)
    ours = clone(model).fit(list(pairs), None, class_embeddings=A)
    ours.adapt(chunk for chunk in cut(pile, 17))
    assert_array_equal(ours.labels_, theirs.labels_)
    # Chunks are multiplied one by one, and float32 rounds every product.
    digits = 8 if dtype is np.float64 else 3
    close(ours.reliability_, theirs.reliability_, digits=digits)
    scores = theirs.decision_function(pile)
    close(ours.decision_function(pile), scores, digits=digits)
    for one, other in zip(ours.rounds_, theirs.rounds_, strict=True):
        assert str(one) == str(other) and one.labels is None
        close(one.objective, other.objective, digits=digits)
        assert_array_equal(one.selected, other.selected)


@pytest.mark.parametrize("stored", [np.float16, np.float32, ">f4"])
@pytest.mark.parametrize("source", ["map", "npy", "hdf5", "parquet", "wide"])
def test_every_source_gives_what_memory_gives(source, stored, tmp_path):
    data = make_data(2)
    if source in ("parquet", "wide"):  # know one order of bytes
        stored = np.dtype(stored).newbyteorder("=")
    X = (data.X_seen * 8).astype(stored)
    theirs = unseen.JEDM().fit(X, data.y_seen, class_embeddings=data.class_embeddings)
    given, y = open_source(source, X, data.y_seen, tmp_path)
    ours = unseen.JEDM().fit(given, y, class_embeddings=data.class_embeddings)
    single = np.dtype(stored).itemsize == 4  # whose products round by chunks
    close(ours.components_, theirs.components_, digits=4 if single else 8)
    P = a_pile(data).astype(stored)
    if source in ("map", "npy", "hdf5"):
        given, _ = open_source(source, P, None, tmp_path)
        ours.adapt(given)
        assert_array_equal(ours.labels_, theirs.adapt(P).labels_)
        assert_array_equal(ours.predict(given), theirs.predict(P))


def open_source(source, X, y, folder):
    """Return X and y as the kind of source has them."""
    if source in ("map", "npy"):
        np.save(folder / "X.npy", X)
        path = folder / "X.npy"
        return (path if source == "npy" else np.load(path, mmap_mode="r")), y
    if source == "hdf5":
        h5py = pytest.importorskip("h5py")
        path = folder / f"{len(X)}.h5"
        with h5py.File(path, "w") as file:
            file["X"] = X
        return h5py.File(path)["X"], y
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {f"f{i:02d}": X[:, i] for i in range(X.shape[1])}
    if source != "wide":
        flat = pa.array(X.ravel())
        columns = {"features": pa.FixedSizeListArray.from_arrays(flat, X.shape[1])}
    table = pa.table({**columns, "kind": y})
    path = folder / "rows.parquet"
    parquet.write_table(table, path, row_group_size=29)
    return str(path), "kind"


def test_fewer_rows_than_axes_are_met_on_the_same_axes_from_chunks():
    """Directions without rows are arbitrary, and unlabelled rows do lie in them."""
    data, rng = make_data(), np.random.default_rng(0)
    X = np.tanh(data.X @ rng.normal(size=(data.X.shape[1], 600)))
    rows = np.flatnonzero(np.isin(data.y, data.seen))[:100]
    X_seen, y_seen, A = X[rows], data.y[rows], data.class_embeddings
    theirs = unseen.AnchoredSelfTraining(n_axes=150).fit(
        X_seen, y_seen, class_embeddings=A
    )
    pairs = list(zip(cut(X_seen, 20), cut(y_seen, 20), strict=True))
    ours = unseen.AnchoredSelfTraining(n_axes=150).fit(pairs, class_embeddings=A)
    assert ours.axes_.shape == theirs.axes_.shape
    close(ours.decision_function(X), theirs.decision_function(X), digits=6)


def test_frames_keep_their_names():
    data = make_data()
    frame = pd.DataFrame(data.X_seen, columns=[f"f{i}" for i in range(16)])
    chunks = [(frame[:50], data.y_seen[:50]), (frame[50:], data.y_seen[50:])]
    model = unseen.ESZSL().fit(chunks, class_embeddings=data.class_embeddings)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    model.predict([frame[:3], frame[3:9]])
    with pytest.raises(ValueError, match="does not have the columns"):
        model.predict([frame[:3], frame[3:9].rename(columns={"f0": "other"})])
    with pytest.raises(ValueError, match="feature names"):
        model.predict([frame.rename(columns={"f0": "other"})])


# ---- sums that grow ------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [unseen.JEDM(), unseen.AnchoredSelfTraining(), unseen.SAE()], ids=str
)
def test_partial_fits_make_a_fit(model, tmp_path):
    data = make_data()
    order = np.argsort(data.y_seen, kind="stable")  # one class after the other
    X, y, A = data.X_seen[order], data.y_seen[order], data.class_embeddings
    ours = clone(model)
    for i, (rows, names) in enumerate(zip(cut(X, 10), cut(y, 10), strict=True)):
        ours.partial_fit(rows, names, class_embeddings=A)
        if i == 0:  # one class is none to tell from another
            with pytest.raises(NotFittedError):
                ours.predict(X)
        if i == 4:  # a saved model goes on where it was
            ours = unseen.load_model(ours.save(tmp_path / "half.unseen"))
    theirs = clone(model).fit(X, y, class_embeddings=A)
    close(
        ours.decision_function(data.X_unseen),
        theirs.decision_function(data.X_unseen),
        digits=8,
    )
    again = ours.fit(X, y, class_embeddings=A)  # forgets what was summed
    again.partial_fit(X[:20], y[:20], class_embeddings=A)
    few = clone(model).fit(X[:20], y[:20], class_embeddings=A)
    assert_array_equal(again.unseen_classes_, few.unseen_classes_)


def test_a_chunk_with_an_unknown_class_is_refused():
    running = RunningSums.of(pd.DataFrame({"a": [1.0, 2.0]}, ["seal", "otter"]))
    with pytest.raises(ValueError, match=r"'zebra' .* but class_embeddings has 2"):
        running.add(np.eye(2), np.array(["seal", "zebra"]))
    with pytest.raises(ValueError, match="No rows were added"):
        running.finish()


# ---- what is refused -----------------------------------------------------------------


BAD = np.array([[0.0, 1], [np.nan, 2], [np.inf, 3]])


@pytest.mark.parametrize(
    "chunks, message",
    [
        ([], "X gave no row"),
        ([np.empty((0, 2))], "X gave no row"),
        ([np.ones((2, 2)), np.ones((2, 3))], r"chunk 1 has shape \(2, 3\).*had 2"),
        ([np.ones((2, 2)), BAD], "chunk 1 holds NaN or infinity in its row 1"),
        ([np.ones(2)], "chunk 0 is a ndarray"),
        ([np.array([["a"]])], "could not convert string to float"),
        ([np.ones((2, 2)), (np.ones((2, 2)), [0, 1])], "2 rows with 2 labels"),
        ([(np.ones((2, 2)), [0])], "2 rows with 1 labels"),
    ],
)
def test_odd_chunks_are_refused(chunks, message):
    with pytest.raises(ValueError, match=message):
        list(open_stream(iter(chunks)).blocks())


def test_a_stream_that_ends_is_needed_once():
    stream = open_stream(iter([np.eye(2)]))
    assert len(list(stream.blocks())) == 1
    with pytest.raises(ValueError, match="only once, and is needed again"):
        list(stream.blocks())


def test_labels_must_fit_the_rows(tmp_path):
    data = make_data()
    X, y, A = data.X_seen, data.y_seen, data.class_embeddings
    for labels, message in (
        (y[:-1], f"{len(X)} rows, but y has {len(X) - 1}"),
        (None, "comes without labels"),
    ):
        with pytest.raises(ValueError, match=message):
            unseen.JEDM().fit(iter([X]), labels, class_embeddings=A)
    with pytest.raises(ValueError, match="comes with labels"):
        unseen.JEDM().fit([(X, y)], y, class_embeddings=A)
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=f"{len(X)} rows, but y has 3 labels"):
        unseen.JEDM().fit(tmp_path / "X.npy", y[:3], class_embeddings=A)
    with pytest.raises(FileNotFoundError, match="no file"):
        unseen.JEDM().fit(tmp_path / "Y.npy", y, class_embeddings=A)
    (tmp_path / "X.txt").write_text("1 2")
    with pytest.raises(ValueError, match=r"neither \.npy nor parquet"):
        unseen.JEDM().fit(tmp_path / "X.txt", y, class_embeddings=A)


def test_a_full_disk_is_told(monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError("No space left on device")

    data = make_data()
    model = fitted(unseen.JEDM(), data)
    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    with pytest.raises(OSError, match="TMPDIR"):
        model.adapt(iter([data.X_unseen]))


def test_a_file_cut_during_a_pass_is_told_and_kills_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr("unseen.core.rows.CHUNK_NUMBERS", 4_000)
    X = np.random.default_rng(0).normal(size=(4_000, 40))
    np.save(tmp_path / "X.npy", X)
    blocks = open_stream(np.load(tmp_path / "X.npy", mmap_mode="r")).blocks()
    assert_array_equal(next(blocks)[0], X[:100])
    os.truncate(tmp_path / "X.npy", 50_000)  # pages of a map would be gone
    with pytest.raises(ValueError, match=r"X\.npy ended while it was read"):
        list(blocks)


# ---- chunks that take each other's place ---------------------------------------------


def in_one_buffer(X, y, rows):
    """Yield chunks, each in the memory of the one before, labels too."""
    room, names = np.empty((rows, X.shape[1]), X.dtype), np.empty(rows, y.dtype)
    for i in range(0, len(X), rows):
        n = len(X[i : i + rows])
        room[:n], names[:n] = X[i : i + rows], y[i : i + rows]
        yield room[:n], names[:n]


@pytest.mark.parametrize("rows", [13, 50])
def test_a_generator_may_use_one_buffer_for_all_chunks(rows):
    data = make_data(3)
    X, y, A, pile = data.X_seen, data.y_seen, data.class_embeddings, a_pile(data)
    none = np.zeros(len(pile), dtype=int)
    theirs = unseen.TSTD().fit(list(zip(cut(X, rows), cut(y, rows), strict=True)), None)
    ours = unseen.TSTD().fit(in_one_buffer(X, y, rows), None)
    assert_array_equal(ours.components_, theirs.components_)
    theirs = unseen.TSTD().fit(X, y, class_embeddings=A).adapt(cut(pile, rows))
    ours = unseen.TSTD().fit(X, y, class_embeddings=A)
    ours.adapt(chunk for chunk, _ in in_one_buffer(pile, none, rows))
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_array_equal(ours.reliability_, theirs.reliability_)
    predicted = ours.decision_function(
        chunk for chunk, _ in in_one_buffer(pile, none, rows)
    )
    close(predicted, theirs.decision_function(pile), digits=10)
