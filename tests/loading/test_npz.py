"""The two .npz layouts: what is read, what is written, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from unseen.loading import load_data, save_data

FIELD = {
    "X": np.arange(15, dtype=np.float16).reshape(5, 3),
    "y": np.array([0, 1, 2, 3, 2], dtype=np.int16),
    "class_names": np.array(["ant", "bee", "cow", "dog"]),
    "att": np.array([[0, 1], [1, 0], [1, 1], [0, 0]], dtype=np.uint8),
    "words": np.arange(12, dtype=np.float32).reshape(4, 3),
    "seen": np.array([0, 1, 3]),
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": None}, "no array 'X' among y"),
        ({"y": None}, "no array 'y'"),
        ({"class_names": None}, "no array 'class_names'"),
        ({"unseen": None}, "neither 'unseen' nor 'ps_unseen'"),
        ({"att": None, "words": None}, "there is no class table"),
        ({"att": np.ones((3, 2)), "words": None}, "there is no class table"),
        (
            {"y": np.array([0, 1, 2, 3, 4])},
            "'y', row 4: names 'number 4', which is none of the 4",
        ),
        ({"y": np.array([0, 1, 2, 3, -2])}, "names 'number -2'"),
        ({"y": np.array([0.0, 1, 2, 3, 2.5])}, r"'y' holds 2.5 \(row 4\)"),
        ({"y": np.ones(5, dtype=complex)}, "'y' is complex128"),
        ({"y": np.array([0, 1, 2, 3])}, "'y': has 4 labels for 5 rows"),
        ({"unseen": np.array([9])}, "'unseen': names number 9"),
        (
            {"unseen": np.array([2, 3])},
            r"class 'dog': is seen too",
        ),
        (
            {"seen": np.array([0, 1])},
            r"class 'dog': is neither here nor in 'seen'",
        ),
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


def test_a_table_that_is_not_there_is_named_with_those_that_are(write):
    with pytest.raises(ValueError, match=r"no class table 'atts'.*att, words"):
        load_data(write(), classes="atts")
    with pytest.raises(ValueError, match=r"no class table 'X'"):
        load_data(write(), classes=["att", "X"])
    with pytest.raises(ValueError, match=r"no class table 'odd'"):
        load_data(write(odd=np.ones((3, 3))), classes="odd")


def test_a_truncated_file_is_called_damaged(write):
    path = write()
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"farm.npz: the file is damaged"):
        load_data(path)


def test_a_flipped_byte_in_the_features_is_called_damaged(write):
    path = write()
    content = path.read_bytes()
    place = content.index(FIELD["words"].tobytes())
    path.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
    with pytest.raises(ValueError, match=r"the file is damaged \(BadZipFile.*words"):
        load_data(path, classes="words")


def test_a_later_format_is_refused(zoo, tmp_path):
    path = save_data(zoo, tmp_path / "zoo.npz")
    with np.load(path) as file:
        arrays = dict(file) | {"unseen_format": np.array(2)}
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="unseen_format is 2"):
        load_data(path)


@pytest.mark.parametrize(
    ("file", "shape", "n_unseen", "tables"),
    [
        ("cub_vgg.npz", (11788, 4096), 50, ["att_312", "sent_1024", "glove_100"]),
        ("awa1_shallow.npz", (30475, 768), 10, ["att_continuous", "wordvec_1000"]),
    ],
)
def test_real_sets(shared_data, file, shape, n_unseen, tables):
    data = load_data(shared_data / file)
    assert data.X.shape == shape and data.X.dtype == np.float32
    assert data.tables == (tables[0],)
    assert len(data.unseen) == n_unseen
    assert len(data.X_seen) + len(data.X_unseen) == len(data.X)
    assert load_data(shared_data / file, classes=tables).tables == tuple(tables)


def test_rows_and_names_are_enough_where_the_table_comes_from_elsewhere(tmp_path):
    rows = np.arange(12.0).reshape(4, 3)
    np.savez(tmp_path / "rows.npz", X=rows, y=np.array(["a", "b", "", ""]))
    np.savez(tmp_path / "bare.npz", X=rows)
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0]}, index=["a", "b", "c"])
    data = load_data(tmp_path / "rows.npz", classes=table)
    assert data.unseen.tolist() == ["c"]
    assert data.y.tolist() == ["a", "b", "", ""]
    assert len(data.X_unlabelled) == 2
    with pytest.raises(ValueError, match="class"):
        load_data(tmp_path / "rows.npz")
    bare = load_data(tmp_path / "bare.npz", classes=table)
    assert (bare.y == "").all()
