"""Every fault at once, with the file and the row."""

import numpy as np
import pandas as pd
import pytest
from layouts import LAYOUTS, small_set, write_layout

from unseen.loading import read_raw, write_data
from unseen.loading.faults import describe, find_faults


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
