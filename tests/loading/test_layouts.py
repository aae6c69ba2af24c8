"""Every layout of the field, made by hand, is read as what it is."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.io
from layouts import (
    LAYOUTS,
    NAMES,
    UNSEEN,
    A,
    X,
    Y,
    cells,
    small_set,
    write_awa,
    write_awa1,
    write_awa2,
    write_cub,
    write_layout,
    write_npz_field,
    write_sun,
    write_xlsa17,
    write_xlsa17_73,
)
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal

from tests.checks import close
from unseen.data import ZeroShotData
from unseen.loading import load_data, read_raw, save_data
from unseen.loading.faults import find_faults
from unseen.loading.parts import find_reader


@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_layout_is_recognised_by_its_own_reader_and_loads(kind, tmp_path):
    path = write_layout(kind, tmp_path)
    assert find_reader(path).kind.startswith(LAYOUTS[kind][1])
    data = load_data(path)
    assert data.X.shape == X.shape and len(data.classes) == 4
    assert len(data.unseen) == 2 and len(data.X_unseen) == 4
    assert find_faults(read_raw(path)) == []


@pytest.mark.parametrize("kind", ["xlsa17", "xlsa17 7.3"])
def test_xlsa17_gives_features_names_tables_and_the_three_locations(kind, tmp_path):
    path = write_layout(kind, tmp_path)
    data = load_data(path)
    assert data.name == "set"
    assert_array_equal(data.X, X)
    assert data.y.tolist() == [NAMES[code] for code in Y]
    assert data.classes.tolist() == NAMES and data.unseen.tolist() == UNSEEN
    assert_array_equal(data.X_seen, X[[0, 1]])
    assert_array_equal(data.X_seen_test, X[[4, 5]])
    assert data.y_seen_test.tolist() == NAMES[:2]
    assert data.tables == ("att",)
    close(data.class_embeddings, A)
    close(load_data(path, classes="original_att").class_embeddings, 100 * A)
    both = load_data(path, classes=["att", "original_att"])
    assert both.class_embeddings.shape == (4, 6)
    (path / "res101.mat").rename(path / "googlenet.mat")
    (path / "att_splits.mat").rename(path / "w2v_splits.mat")
    assert_array_equal(load_data(path / "googlenet.mat").X, X)


def test_xlsa17_without_names_of_classes_and_with_rows_left_out(tmp_path):
    path = write_xlsa17(tmp_path / "FLO", test_unseen_loc=[[3.0], [4], [7]])
    splits = scipy.io.loadmat(path / "att_splits.mat").items()
    unnamed = {key: v for key, v in splits if key[0] != "_" and "names" not in key}
    scipy.io.savemat(path / "att_splits.mat", unnamed)
    data = load_data(path)
    assert data.classes.tolist() == ["1", "2", "3", "4"]
    assert_array_equal(data.X, X[:7])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test_unseen_loc": [[99.0]]}, "row 99, but there are 8 samples"),
        ({"test_unseen_loc": [[0.0]]}, "holds 0. Count from 1"),
        ({"test_unseen_loc": [[1.5]]}, "holds 1.5"),
        ({"trainval_loc": [[1.0], [2], [3]]}, "in two of trainval_loc"),
        ({"allclasses_names": cells(NAMES[:3])}, "is for 4 classes, but there are 3"),
        ({"original_att": np.ones((3, 5))}, "'original_att' is for 5 classes"),
        ({"att": np.ones((3, 2))}, "'att' is for 2 classes, but there are 4"),
        ({"att": cells(NAMES)}, "Give a matrix of real numbers"),
        ({"att": np.ones((3, 4)) * 1j}, "Give a matrix of real numbers"),
    ],
)
def test_what_is_wrong_with_an_xlsa17_pair_is_said(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load_data(write_xlsa17(tmp_path / "set", **change))


def test_the_authors_pair(tmp_path):
    data = load_data(write_layout("authors", tmp_path))
    assert data.y.tolist()[:4] == ["seen 1", "seen 1", "seen 2", "seen 2"]
    assert data.unseen.tolist() == ["unseen 1", "unseen 2"]
    assert_array_equal(data.X, X[[0, 4, 1, 5, 2, 6, 3, 7]])
    assert_array_equal(data.class_embeddings, A)


SORTED = {"im_fea": X[:4].T, "cla_num": np.array([[2.0], [2]])}
MESSED = {
    "labels beyond": (
        "xlsa17",
        lambda path: write_xlsa17(path, labels=(Y + 4.0)[:, None]),
        "test_unseen_loc: names number 6, number 7, which is not a class",
    ),
    "samples not sorted": (
        "authors",
        lambda path: scipy.io.savemat(
            path / "Train.mat", {**SORTED, "semantic_fea": A[[0, 1, 0, 1]].T}
        ),
        "sample 2 has another 'semantic_fea'",
    ),
    "no features": (
        "awa2",
        lambda path: shutil.rmtree(path / "Features"),
        r"kinds of features are: none\. Give the folder of one, Features",
    ),
    "objects": (
        "folder",
        lambda path: np.save(path / "features.npy", np.array([[None]])),
        "Python objects in dtype",
    ),
}


@pytest.mark.parametrize("case", MESSED)
def test_what_is_wrong_with_a_layout_is_said(case, tmp_path):
    kind, mess_up, message = MESSED[case]
    path = write_layout(kind, tmp_path)
    mess_up(path)
    with pytest.raises(ValueError, match=message):
        load_data(path)


@pytest.mark.parametrize("write", [write_awa1, write_awa2])
def test_awa_gives_both_matrices_and_its_split(write, tmp_path):
    path = write(tmp_path / "AwA")
    data = load_data(path, classes=["continuous", "binary"])
    assert data.classes.tolist() == NAMES and data.unseen.tolist() == UNSEEN
    close(data.class_embeddings["continuous"], A)
    assert data.class_embeddings["binary"].columns.tolist() == ["0", "1", "2"]
    order = np.argsort(Y, kind="stable") if write is write_awa1 else np.arange(8)
    assert_array_equal(data.X, X[order])
    assert_array_equal(data.y, np.array(NAMES)[Y[order]])


def test_awa_with_several_kinds_of_features(tmp_path):
    path = write_awa(tmp_path / "AwA", decaf="images", vgg="npy")
    place = path / "Features" / "vgg"
    with pytest.raises(ValueError, match=r"kinds of features are: decaf, vgg"):
        load_data(path)
    data = load_data(place)
    assert_array_equal(data.X, X)
    assert data.unseen.tolist() == UNSEEN


def test_cub_takes_features_of_your_own_and_the_proposed_split(tmp_path):
    path = write_cub(tmp_path / "CUB_200_2011")
    data = load_data(path)
    assert data.unseen.tolist() == ["003.killer+whale", "004.rat"]
    assert isinstance(data.X, np.memmap) and data.tables == ("att_3",)
    close(data.class_embeddings, A)
    (path / "testclasses.txt").unlink()
    with pytest.raises(ValueError, match="classes are not in the set"):
        load_data(path, unseen="cub-ps")
    assert load_data(path).unseen.tolist() == []
    (path / "features.npy").unlink()
    with pytest.raises(ValueError, match=r"one row for each of the 8 images"):
        load_data(path)


def test_sun_classes_are_folders_and_embeddings_their_means(tmp_path):
    data = load_data(write_sun(tmp_path / "SUN"))
    assert data.classes.tolist() == ["abbey", "apse_indoor", "apse_outdoor", "zoo"]
    assert sorted(data.unseen) == ["apse_outdoor", "zoo"]
    close(data.class_embeddings.loc["zoo"], A[2])
    assert data.class_embeddings.columns.tolist() == ["open", "dark", "old"]


@pytest.mark.parametrize("kind", ["npz", "h5", "csv", "parquet"])
@pytest.mark.parametrize("tables", ["fused", "one", "plain"])
def test_what_is_written_is_read_back(kind, tables, tmp_path):
    data = small_set()
    data = replace(data, y=np.where(np.arange(8) == 3, "", data.y))  # unlabelled
    if tables != "fused":
        name = "att" if tables == "one" else None
        table = data.class_embeddings["att"].rename_axis(columns=name)
        data = replace(data, class_embeddings=table)
    path = save_data(data, tmp_path / f"small.{kind}")
    again = load_data(path, id=None if kind in ("npz", "h5") else "id")
    assert_array_equal(again.X, data.X)
    assert_array_equal(again.y, data.y)
    assert_array_equal(again.ids, data.ids)
    if kind != "parquet":  # which has a column of lists
        assert_array_equal(again.feature_names, data.feature_names)
    assert set(again.unseen) == set(data.unseen)
    assert_array_equal(again.seen_test, data.seen_test)
    assert_array_equal(again.class_embeddings, data.class_embeddings)
    if kind in ("npz", "h5"):
        assert again.name == "small" and again.X.dtype == np.float32
        assert_frame_equal(again.class_embeddings, data.class_embeddings)
    assert isinstance(again.X, np.memmap) == (kind == "h5")
    with pytest.raises(ValueError, match=r"no kind of file .*\.npz, \.h5"):
        save_data(small_set(), tmp_path / "small.doc")


def numbers(empty):
    return np.where(GIVEN == "", empty, Y)


LOOSE = [3, 6]  # rows without a label: one of a seen, one of an unseen class
GIVEN = np.array(["" if row in LOOSE else NAMES[y] for row, y in enumerate(Y)])


def write_labels(path):
    path.mkdir()
    np.save(path / "features.npy", X)
    (path / "labels.csv").write_text("\n".join(["label", *GIVEN.tolist()]) + "\n")
    return path


LABELS = {
    "labels": np.where(GIVEN == "", np.nan, Y + 1.0)[:, None],
    "trainval_loc": [[1.0], [2], [5], [6]],
    "test_seen_loc": np.zeros((0, 1)),
}
UNLABELLED = {
    "npz, number": lambda folder: write_npz_field(folder / "set", numbers(-1)),
    "npz, NaN": lambda folder: write_npz_field(folder / "set", numbers(np.nan)),
    "npz, name": lambda folder: write_npz_field(folder / "set", GIVEN),
    "folder": lambda folder: write_labels(folder / "set"),
    "mat 5": lambda folder: write_xlsa17(folder / "set", **LABELS),
    "mat 7.3": lambda folder: write_xlsa17_73(folder / "set", **LABELS),
}


@pytest.mark.parametrize("write", UNLABELLED.values(), ids=UNLABELLED)
def test_an_empty_label_is_an_unlabelled_row_in_every_kind_of_file(write, tmp_path):
    table = pd.DataFrame(A, index=pd.Index(NAMES))
    data = load_data(write(tmp_path), table, unseen=UNSEEN)
    assert_array_equal(data.y, GIVEN)
    seen = np.isin(GIVEN, NAMES[:2])
    assert_array_equal(data.X_seen, X[seen])
    assert_array_equal(data.X_unseen, X[np.isin(GIVEN, UNSEEN)])
    assert_array_equal(data.to_label, np.flatnonzero(~seen))
    assert "2 unlabelled rows" in repr(data)


def test_without_a_column_of_labels_all_rows_are_unlabelled():
    table = pd.DataFrame(A, index=pd.Index(NAMES))
    data = load_data(pd.DataFrame(X), table, unseen=NAMES)
    assert_array_equal(data.to_label, np.arange(8))
    with pytest.raises(ValueError, match=r"class 'antelope': is seen but has no row"):
        load_data(pd.DataFrame(X), table, unseen=UNSEEN)


@pytest.mark.parametrize("kind", ["h5", "csv", "parquet"])
@pytest.mark.parametrize("names", [
    ["007", "7", "7.0", "nan"], ["a,b", 'say "hi"', "true", "label"],
    [" b", "=1+1", "None", "\u3000\u00e4\ufeff"],
])  # fmt: skip
def test_any_names_survive_any_kind(kind, tmp_path, names):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(len(names), 2)), index=names)
    y = np.array(names + names[:1], dtype=str)
    X = rng.normal(size=(len(y), 3))
    data = ZeroShotData("any", X, y, table, np.array(names[-1:], dtype=str))
    again = load_data(save_data(data, tmp_path / f"any.{kind}"))
    assert_array_equal(again.y, y)
    assert_array_equal(again.X, X)
    assert again.classes.tolist() == names and again.unseen.tolist() == names[-1:]
    assert_array_equal(again.class_embeddings, table)
