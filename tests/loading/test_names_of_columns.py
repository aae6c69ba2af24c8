"""Columns keep their names, and a column that names the rows is no feature."""

import numpy as np
import pandas as pd
import pytest

from unseen import load_data
from unseen.data import match_features
from unseen.loading import write_data

KINDS = ["frame", "csv", "parquet"]


def rows_in(kind, folder, **more):
    rng = np.random.default_rng(0)
    labels = ["zebra", "seal", ""] * 4
    frame = pd.DataFrame({"label": labels, **more, "b": rng.normal(size=12)})
    frame["a"] = rng.normal(size=12)
    if kind == "csv":
        frame.to_csv(folder / "zoo.csv", index=False)
    elif kind == "parquet":
        frame.to_parquet(folder / "zoo.parquet")
    return frame if kind == "frame" else folder / f"zoo.{kind}"


TABLE = pd.DataFrame(
    {"stripes": [1.0, 0.0, 0.5]}, index=["zebra", "seal", "okapi"]
).rename_axis("class")


@pytest.mark.parametrize("kind", KINDS)
def test_features_and_rows_keep_their_names(tmp_path, kind):
    numbers = np.arange(100, 112)
    source = rows_in(kind, tmp_path, image_no=numbers)
    data = load_data(source, TABLE, id="image_no")
    assert data.feature_names.tolist() == ["b", "a"]
    assert data.X.shape == (12, 2)
    assert data.ids_of(data.pile).tolist() == ["102", "105", "108", "111"]
    assert data.with_unseen(["okapi"]).ids.tolist() == [str(n) for n in numbers]


@pytest.mark.parametrize("suffix", [".npz", ".h5", ".csv"])
def test_names_are_written_and_read_again(tmp_path, suffix):
    data = load_data(rows_in("frame", tmp_path, key=list("abcdefghijkl")), TABLE,
                     id="key", column="label")  # fmt: skip
    path = write_data(data, tmp_path / f"again{suffix}")
    again = load_data(path, id="id") if suffix == ".csv" else load_data(path)
    assert again.feature_names.tolist() == ["b", "a"]
    assert again.ids.tolist() == list("abcdefghijkl")
    np.testing.assert_array_equal(again.X, data.X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name, numbers",
    [
        ("n", np.arange(12)),  # in order
        ("n", np.random.default_rng(1).permutation(12) + 7),  # a run, shuffled
        ("n", np.cumsum(np.arange(1, 13))),  # rising, with gaps
        ("photo_id", np.random.default_rng(2).permutation(1000)[:12]),
    ],
)
def test_a_column_like_an_index_is_asked_about(tmp_path, kind, name, numbers):
    source = rows_in(kind, tmp_path, **{name: numbers})
    with pytest.raises(ValueError, match=f"column '{name}' .* say id='{name}'"):
        load_data(source, TABLE)
    as_feature = load_data(source, TABLE, id="")
    assert as_feature.feature_names.tolist() == [name, "b", "a"]


def test_counts_and_measurements_are_features(tmp_path):
    counts = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
    scattered = np.random.default_rng(2).permutation(1000)[:12]
    source = rows_in("frame", tmp_path, counts=counts, scattered=scattered)
    assert load_data(source, TABLE).X.shape == (12, 4)


@pytest.mark.parametrize(
    "ids, fault",
    [(["a"] * 12, "'a' twice, again in row 1"), ([*"abcdefghijk", None], "nothing")],
)
def test_ids_are_different(tmp_path, ids, fault):
    source = rows_in("frame", tmp_path, key=ids)
    with pytest.raises(ValueError, match=fault):
        load_data(source, TABLE, column="label", id="key")
    with pytest.raises(ValueError, match="has no column 'photo' for the ids"):
        load_data(source, TABLE, id="photo")


def test_columns_are_matched_by_name():
    X = np.arange(6.0).reshape(2, 3)
    turned = match_features(X[:, ::-1], ["c", "b", "a"], ["a", "b", "c"])
    np.testing.assert_array_equal(turned, X)
    assert match_features(X, None, ["a", "b", "c"]) is X
    assert match_features(X, ["a", "b", "c"], ["a", "b", "c"]) is X
    with pytest.raises(ValueError, match=r"new\.csv: .* needs 'c'.* not know 'd'"):
        match_features(X, ["a", "b", "d"], ["a", "b", "c"], "new.csv")
