"""Every fault at once, with the file and the row."""

import numpy as np
import pandas as pd
import pytest
from layouts import LAYOUTS, small_set, write_layout

from unseen.loading import read_raw, write_data
from unseen.loading.faults import describe, find_faults


def broken_folder(folder):
    """Write a set with ten faults."""
    X = np.ones((7, 3), dtype=np.float32)
    X[2, 1] = np.nan  # 1
    X[4] = 0  # 2
    np.save(folder / "features.npy", X)
    labels = [
        "ant",
        "bee",
        "yak",
        "cow",
        "ant",
        "cow",
        "fox",
        "fox",
    ]  # 3: yak; 4: eight
    (folder / "labels.csv").write_text("label\n" + "\n".join(labels) + "\n")
    (folder / "classes.csv").write_text(
        "class,split,a,b\n"
        "ant,seen,1,2\n"
        "bee,seen,0,0\n"  # 5
        "cow,unseen,3,\n"  # 6
        "dog,seen,3,1\n"  # 7: no row
        "eel,unseen,1,2\n"  # 8: the embedding of ant
        "fox,seen,5,6\n"
        "fox,seen,5,7\n"  # 9: named twice
        ",unseen,8,9\n"  # 10: no name
    )
    return folder


def test_ten_faults_are_named_in_one_run(tmp_path):
    faults = [str(fault) for fault in find_faults(read_raw(broken_folder(tmp_path)))]
    expected = [
        "features.npy, row 2: holds NaN or infinity",
        "features.npy, row 4: is all zeros",
        "classes.csv, rows 5, 6: names class 'fox' more than once",
        "classes.csv, row 7: has no name",
        "labels.csv: has 8 labels for 7 rows",
        "labels.csv, row 2: names 'yak', which is none of the 8 classes",
        "labels.csv, class 'dog': is seen but has no row",
        "classes.csv, class 'cow': holds NaN",
        "classes.csv, class 'bee': is all zeros",
        "classes.csv, class 'eel': has the embedding of 'ant'",
    ]
    assert len(faults) == len(expected)
    for fault, text in zip(faults, expected, strict=True):
        assert fault.startswith(text)


def test_a_class_on_both_sides_or_none_is_named(tmp_path):
    names = ["ant", "bee", "cow"]
    path = tmp_path / "farm.npz"
    np.savez(
        path,
        X=np.ones((3, 2)),
        y=[0, 1, 9],
        class_names=names,
        att=np.eye(3),
        seen=[0, 7],
        unseen=[0, 1],
        seen_test=[False, True, False],
    )
    faults = [str(fault) for fault in find_faults(read_raw(path))]
    assert faults == [
        "'seen': names number 7, which is no class",
        "'unseen', class 'ant': is seen too, by 'seen'",
        "'unseen', class 'cow': is neither here nor in 'seen'",
        "'y', row 2: names 'number 9', which is none of the 3 classes",
        "'y', class 'cow': is seen but has no row; name it unseen, or drop it",
        "'y', row 1: is set aside for scoring seen classes, but its class is unseen",
    ]


@pytest.mark.parametrize("kind", LAYOUTS)
def test_sound_sets_have_no_faults(kind, tmp_path):
    assert find_faults(read_raw(write_layout(kind, tmp_path))) == []


def test_many_rows_are_counted_not_listed(tmp_path):
    data = small_set()
    X = np.full(data.X.shape, np.inf, dtype=np.float32)
    np.savez(
        tmp_path / "set.npz",
        X=X,
        y=data._class_rows,
        class_names=data.classes,
        att=np.eye(4),
        unseen=[2, 3],
    )
    (fault,) = find_faults(read_raw(tmp_path / "set.npz"))
    assert fault.place == "rows 0, 1, 2, 3, 4 and 3 more"


def test_a_description_counts_what_is_there(tmp_path):
    data = small_set()
    found = describe(read_raw(write_data(data, tmp_path / "small")))
    assert found["rows"] == 8 and found["features"] == 3
    assert (found["seen rows"], found["seen rows set aside"]) == (2, 2)
    assert found["unseen rows"] == 4 and found["memory-mapped"] is True
    assert found["missing values"] == 0
    lengths = np.linalg.norm(data.X, axis=1)
    assert found["length of rows"] == pytest.approx(
        [lengths.min(), lengths.mean(), lengths.max()]
    )
    frame = pd.DataFrame({"label": ["a", "b"], "x": [np.nan, 1.0]})
    found = describe(read_raw(frame))
    assert found["missing values"] == 1 and found["tables"] == {}
