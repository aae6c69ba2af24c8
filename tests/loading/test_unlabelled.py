"""Unlabelled rows: an empty or missing label, in whatever kind of file."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.io
from layouts import NAMES, UNSEEN, A, X, Y, write_matlab_73, xlsa17_parts
from numpy.testing import assert_array_equal

from unseen.data import ZeroShotData
from unseen.loading import load_data, write_data

LOOSE = [3, 6]  # rows without a label: one of a seen, one of an unseen class
TABLE = pd.DataFrame(A, index=pd.Index(NAMES))
GIVEN = np.array(["" if row in LOOSE else NAMES[y] for row, y in enumerate(Y)])


def rows_frame(empty):
    labels = [label or empty for label in GIVEN.tolist()]
    return pd.DataFrame({"label": labels, **{f"x{i}": X[:, i] for i in range(3)}})


def write_csv(path):
    rows_frame(None).to_csv(path / "set.csv", index=False)
    return path / "set.csv"


def write_parquet(path):
    pytest.importorskip("pyarrow")
    rows_frame(None).to_parquet(path / "set.parquet")
    return path / "set.parquet"


def write_npz(path, y):
    np.savez(path / "set.npz", X=X, y=y, class_names=NAMES, att=A, unseen=[2, 3])
    return path / "set.npz"


def write_hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path / "set.h5", "w") as file:
        file["X"], file["y"] = X, np.where(GIVEN == "", -1, Y)
        file["class_names"], file["att"], file["unseen"] = NAMES, A, [2, 3]
    return path / "set.h5"


def write_folder(path):
    np.save(path / "features.npy", X)
    (path / "labels.csv").write_text("\n".join(["label", *GIVEN.tolist()]) + "\n")
    return path


def write_mat(path, version=5):
    features, splits = xlsa17_parts()
    labels = np.where(GIVEN == "", np.nan, Y + 1.0)[:, None]
    splits["trainval_loc"] = np.array([[1.0], [2], [5], [6]])
    splits["test_seen_loc"] = np.zeros((0, 1))
    for name, parts in {
        "res101.mat": {**features, "labels": labels},
        "att_splits.mat": splits,
    }.items():
        if version == 5:
            scipy.io.savemat(path / name, parts)
        else:
            pytest.importorskip("h5py")
            write_matlab_73(path / name, parts)
    return path


@pytest.mark.parametrize(
    "write",
    [
        write_csv,
        write_parquet,
        partial(write_npz, y=np.where(GIVEN == "", -1, Y)),
        partial(write_npz, y=np.where(GIVEN == "", np.nan, Y)),
        partial(write_npz, y=GIVEN),
        write_hdf5,
        write_folder,
        write_mat,
        partial(write_mat, version=7.3),
    ],
)
def test_an_empty_label_is_an_unlabelled_row_in_every_kind_of_file(write, tmp_path):
    data = load_data(write(tmp_path), TABLE, unseen=UNSEEN)
    assert_array_equal(data.y, GIVEN)
    assert_array_equal(data.X_unlabelled, X[LOOSE])
    seen = np.isin(GIVEN, NAMES[:2])
    assert_array_equal(data.X_seen, X[seen])
    assert_array_equal(data.y_seen, GIVEN[seen])
    assert_array_equal(data.X_unseen, X[np.isin(GIVEN, UNSEEN)])
    assert_array_equal(data.pile, np.flatnonzero(~seen))
    assert "2 unlabelled rows" in repr(data)


def test_without_a_column_of_labels_all_rows_are_unlabelled():
    frame = rows_frame(None).drop(columns="label")
    data = load_data(frame, TABLE, unseen=NAMES)
    assert_array_equal(data.pile, np.arange(8))
    assert (data.y == "").all() and len(data.X_seen) == 0


def test_a_seen_class_needs_a_labelled_row():
    with pytest.raises(ValueError, match=r"class 'antelope': is seen but has no row"):
        load_data(rows_frame(None).drop(columns="label"), TABLE, unseen=UNSEEN)


def test_unlabelled_rows_cannot_be_set_aside_for_scoring():
    aside = np.isin(np.arange(8), LOOSE)
    with pytest.raises(ValueError, match="seen_test holds rows of ''"):
        ZeroShotData("zoo", X, GIVEN, TABLE, UNSEEN, aside)


@pytest.mark.parametrize("kind", ["npz", "hdf5", "csv", "parquet", "folder", "xlsa17"])
def test_unlabelled_rows_survive_saving(kind, tmp_path):
    ends = {"npz": ".npz", "hdf5": ".h5", "csv": ".csv", "parquet": ".parquet"}
    labels = [label or None for label in GIVEN.tolist()]
    data = ZeroShotData("zoo", X, labels, TABLE, UNSEEN)
    path = write_data(data, tmp_path / f"zoo{ends.get(kind, '')}", kind=kind)
    again = load_data(path)
    assert_array_equal(again.y, GIVEN)
    assert_array_equal(again.X, X)
    assert again.unseen.tolist() == UNSEEN


def test_the_html_for_notebooks_is_escaped():
    name = "<script>alert(1)</script>"
    table = TABLE.rename({"rat": "<b>rat"})
    y = np.where(GIVEN == "rat", "<b>rat", GIVEN)
    text = ZeroShotData(name, X, y, table, ["<b>rat"])._repr_html_()
    assert "<script>" not in text and "<b>rat" not in text
    assert "&lt;b&gt;rat" in text and "2 unlabelled rows" in text


@pytest.mark.parametrize("bad", ["two\nlines", "nul\0", "half \ud800", "", "  "])
def test_names_that_cannot_be_printed_are_refused(bad):
    names = pd.Index([*NAMES[:3], bad], dtype=object)
    table = TABLE.set_axis(names, axis=0)
    with pytest.raises(ValueError, match=r"zoo: .* has a class called .*of one line"):
        ZeroShotData("zoo", X, GIVEN, table, UNSEEN[:1])
