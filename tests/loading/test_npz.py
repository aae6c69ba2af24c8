"""The two .npz layouts: what is read, what is written, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from unseen.loading import RawData, load_data, read_raw
from unseen.loading.faults import find_faults

FIELD = {
    "X": np.arange(15, dtype=np.float16).reshape(5, 3),
    "y": np.array([0, 1, 2, 3, 2], dtype=np.int16),
    "class_names": np.array(["ant", "bee", "cow", "dog"]),
    "att": np.array([[0, 1], [1, 0], [1, 1], [0, 0]], dtype=np.uint8),
    "words": np.arange(12, dtype=np.float32).reshape(4, 3),
    "unseen": np.array([2]),
}


@pytest.fixture
def write(tmp_path):
    """Write the layout of the field, with changes; None leaves an array out."""

    def write(**changes):
        arrays = {key: a for key, a in (FIELD | changes).items() if a is not None}
        path = tmp_path / "farm.npz"
        np.savez(path, **arrays)
        return path

    return write


def test_the_layout_of_the_field(write):
    data = load_data(write())
    assert data.name == "farm"
    assert data.X.dtype == np.float32
    assert_array_equal(data.X, FIELD["X"])
    assert data.y.tolist() == ["ant", "bee", "cow", "dog", "cow"]
    assert data.unseen.tolist() == ["cow"]
    assert data.tables == ("att",)
    assert_array_equal(data.class_embeddings, FIELD["att"])
    as_bytes = write(class_names=np.char.encode(FIELD["class_names"], "utf-8"))
    fused = load_data(as_bytes, classes=["words", "att"])
    assert fused.tables == ("words", "att") and fused.classes.tolist()[0] == "ant"


def test_the_proposed_split_is_used_where_there_is_no_other(write):
    both = write(ps_unseen=np.array([0]))
    assert load_data(both).unseen.tolist() == ["cow"]
    only = write(unseen=None, seen=None, ps_unseen=np.array([0]))
    assert load_data(only).unseen.tolist() == ["ant"]
    neither = write(unseen=None, y=np.array([0, 1, 0, 3, 3]))
    assert load_data(neither).unseen.tolist() == ["cow"]  # which has no rows


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": None}, "no array 'X' among y"),
        ({"y": None}, "no array 'y'"),
        ({"class_names": None}, "no array 'class_names'"),
        ({"att": np.ones((3, 2)), "words": None}, "there is no class table"),
        ({"y": np.array([0, 1, 2, 3, 4])}, "'y', row 4: names 'number 4', which is"),
        ({"y": np.array([0.0, 1, 2, 3, 2.5])}, r"'y' holds 2.5 \(row 4\)"),
        ({"y": np.ones(5, dtype=complex)}, "'y' is complex128"),
        ({"y": np.array([0, 1, 2, 3])}, "'y': has 4 labels for 5 rows"),
        ({"unseen": np.array([9])}, "'unseen': names number 9"),
        ({"class_names": np.array(["a", "a", "b", "c"])}, "'a' more than once"),
        ({"class_names": np.arange(4)}, "'class_names' is int64"),
        ({"class_names": np.array(["a", None, "b", "c"])}, "never unpickled"),
        ({"X": np.array([[None]] * 5)}, "never unpickled"),
        ({"X": np.full((5, 2), "x")}, "'X' is <U1"),
        ({"att": np.full((4, 2), np.nan)}, "holds NaN or infinity"),
    ],
)
def test_what_does_not_fit_is_refused(write, changes, message):
    with pytest.raises(ValueError, match=message):
        load_data(write(**changes))


def test_rows_and_names_are_enough_where_the_table_comes_from_elsewhere(tmp_path):
    rows = np.arange(12.0).reshape(4, 3)
    np.savez(tmp_path / "rows.npz", X=rows, y=np.array(["a", "b", "", ""]))
    np.savez(tmp_path / "bare.npz", X=rows)
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0]}, index=["a", "b", "c"])
    data = load_data(tmp_path / "rows.npz", classes=table)
    assert data.unseen.tolist() == ["c"]
    assert data.y.tolist() == ["a", "b", "", ""]
    assert data.to_label.tolist() == [2, 3]
    with pytest.raises(ValueError, match="class"):
        load_data(tmp_path / "rows.npz")
    bare = load_data(tmp_path / "bare.npz", classes=table)
    assert (bare.y == "").all()


def test_all_that_is_wrong_with_a_split_is_named(tmp_path):
    names = ["ant", "bee", "cow"]
    path = tmp_path / "farm.npz"
    np.savez(
        path,
        X=np.ones((3, 2)),
        y=[0, 1, 9],
        class_names=names,
        att=np.eye(3),
        unseen=[0, 1, 7],
        seen_test=[False, True, False],
    )
    faults = [str(fault) for fault in find_faults(read_raw(path))]
    assert faults == [
        "'unseen': names number 7, which is not a class",
        "'y', row 2: names 'number 9', which is none of the 3 classes",
        "'y', class 'cow': is seen but has no row to learn from; name it unseen, or "
        "drop it",
        "'y', row 1: is set aside for scoring seen classes, but its class is unseen or "
        "none",
    ]


def test_many_rows_are_counted_not_listed():
    frame = pd.DataFrame({"label": ["a"] * 8, "x": [np.inf] * 8})
    table = pd.DataFrame({"b": [1.0]}, index=["a"])
    (fault,) = find_faults(read_raw(frame).choose(table))
    assert fault.place == "rows 0, 1, 2, 3, 4 and 3 more"


@pytest.mark.parametrize("shape", [(0, 3), (4, 0)])
def test_features_of_nothing_are_a_fault(shape, zoo):
    raw = RawData("zoo", "zoo", np.empty(shape), zoo.y, zoo.classes)
    assert "give rows and features" in str(find_faults(raw)[0])
