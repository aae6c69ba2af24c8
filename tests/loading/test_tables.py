"""Any features with any class table: frames, files, names of tables, several fused."""

import numpy as np
import pandas as pd
import pytest
from layouts import NAMES, UNSEEN, A, X, Y, write_layout
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen.loading import load_data, standard_splits
from unseen.loading.tables import match_names, read_class_table

LABELS = [NAMES[code] for code in Y]
TABLE = pd.DataFrame(A, index=NAMES, columns=["black", "white", "swims"])


def test_a_frame_with_a_column_of_lists():
    frame = pd.DataFrame({"class": LABELS, "vector": list(X)})
    assert_array_equal(load_data(frame, TABLE, unseen=UNSEEN).X, X)
    frame = pd.DataFrame({"class": LABELS, "box": list(X), "features": list(2 * X)})
    assert_array_equal(load_data(frame, TABLE, unseen=UNSEEN).X, 2 * X)
    again = pd.concat([frame[:4], frame[4:].reset_index(drop=True)])  # 0 to 3 twice
    assert load_data(again, TABLE, unseen=UNSEEN).y.tolist() == LABELS
    with pytest.raises(TypeError, match="source is a int"):
        load_data(3)


@pytest.mark.parametrize("kind", ["columns", "lists", "arrays"])
def test_a_polars_frame(kind):
    polars = pytest.importorskip("polars")
    columns = {"file": list("abcdefgh"), "label": LABELS, "id": range(8)}
    if kind == "columns":
        frame = polars.DataFrame(columns | dict(zip("abc", X.T, strict=True)))
    else:
        frame = polars.DataFrame({"label": LABELS, "features": X.tolist()})
    if kind == "arrays":
        numbers = polars.Array(polars.Float32, 3)
        frame = frame.with_columns(polars.col("features").cast(numbers))
    table = polars.DataFrame({"class": NAMES, **dict(zip("abc", A.T, strict=True))})
    data = load_data(frame, table, unseen=UNSEEN)
    close(data.X, X, digits=6)
    assert_array_equal(data.class_embeddings, A)


def test_whole_numbers_as_labels_are_names():
    frame = pd.DataFrame({"y": Y, "a": X[:, 0], "b": X[:, 1]})
    table = pd.DataFrame(A, index=[0, 1, 2, 3]).rename_axis("class").reset_index()
    data = load_data(frame, table, unseen=["3"])
    assert data.classes.tolist() == ["0", "1", "2", "3"]
    assert data.unseen.tolist() == ["3"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": ["x"], "b": ["x"], "c": [1.0]}), "a, b all hold text"),
        (pd.DataFrame({"label": ["x"]}), "no column of numbers"),
        (pd.DataFrame({"label": ["x", "y"], "f": [[1.0], [1.0, 2]]}), r"\[1, 2\] num"),
        (pd.DataFrame({"label": ["x"], "f": [[1.0]], "g": [[1.0]]}), "all hold lists"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(frame, message):
    with pytest.raises(ValueError, match=message):
        load_data(frame, TABLE)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_a_table_from_a_file(kind, tmp_path):
    path = tmp_path / f"looks.{kind}"
    if kind == "npy":
        np.save(path, A)
    else:
        frame = TABLE.rename_axis("name").reset_index()
        getattr(frame, f"to_{kind}")(path, index=False)
    source = write_layout("npz", tmp_path)
    data = load_data(source, classes=path)
    assert data.tables == ("looks",)
    assert_array_equal(data.class_embeddings, A)
    both = load_data(source, classes={"own": "att", "file": path, "frame": 2 * TABLE})
    assert both.tables == ("own", "file", "frame")
    assert_array_equal(both.class_embeddings["frame"], 2 * A)


def test_a_table_of_another_shape_or_kind_is_refused(tmp_path):
    source = write_layout("npz", tmp_path)
    np.save(tmp_path / "three.npy", A[:3])
    with pytest.raises(ValueError, match="is for 3 classes, but there are 4"):
        load_data(source, classes=tmp_path / "three.npy")
    with pytest.raises(ValueError, match=r"no class table 'looks', nor a file.*att"):
        load_data(source, classes="looks")
    with pytest.raises(ValueError, match=r"no class table 'X'"):
        load_data(source, classes=["att", "X"])
    with pytest.raises(TypeError, match="classes is a int"):
        load_data(source, classes=3)
    with pytest.raises(ValueError, match="'words' holds more than numbers"):
        load_data(source, classes=TABLE.assign(words="x"))
    (tmp_path / "note.txt").write_text("no table")
    with pytest.raises(ValueError, match="is not a class table"):
        read_class_table(tmp_path / "note.txt", np.array(NAMES))


def test_the_standard_splits_are_those_of_the_real_data(shared_data):
    with np.load(shared_data / "class_side.npz") as side:
        for name, prefix, key in [
            ("awa-ps", "awa2", "ps_unseen"),
            ("sun-ps", "sun", "ps_unseen"),
            ("sun-707", "sun", "ss707_unseen"),
            ("apy-ps", "apy", "ps_unseen"),
        ]:
            names = side[f"{prefix}_class_names"][side[f"{prefix}_{key}"]]
            assert set(standard_splits()[name].unseen) == set(names.tolist())
    with np.load(shared_data / "cub_vgg.npz") as cub:
        names, unseen = cub["class_names"], cub["ps_unseen"]
    known = match_names(standard_splits()["cub-ps"].unseen, names.tolist())
    assert set(known) == set(names[unseen].tolist())


def test_a_split_by_name_by_file_and_by_list(tmp_path):
    source = write_layout("npz", tmp_path)
    (tmp_path / "unseen.txt").write_text("RAT\nAntelope\n")
    data = load_data(source, unseen=tmp_path / "unseen.txt")
    assert data.unseen.tolist() == ["rat", "antelope"]
    with pytest.raises(ValueError, match="of 10 classes are not in the set"):
        load_data(source, unseen="awa")
    with pytest.raises(ValueError, match=r"names no class .* no standard split"):
        load_data(source, unseen="imagenet")
    data = load_data(source, unseen="Rat, antelope")
    assert data.unseen.tolist() == ["rat", "antelope"]
    assert match_names(["a B"], ["001.A_b"]).tolist() == ["001.A_b"]
