"""Rows in columns, as frames or in files of other programs: what each column is."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from unseen._encodings import OddBytesWarning
from unseen.loading import load_data, read_raw
from unseen.loading.frames import iter_parquet

NAMES = ["éléphant", "Grizzly Bär", "okapi"]
TABLE = pd.DataFrame({"a": [1.0, 2, 3], "b": [0.5, 0, 1]}, index=NAMES)
LABELS = [*NAMES[:2], *NAMES[:2], "", ""] * 2
KINDS = ["frame", "csv", "parquet", "xlsx"]


def rows(**more):
    """Return twelve rows, four without a label."""
    numbers = np.random.default_rng(0).normal(size=(12, 2)).round(3)
    frame = pd.DataFrame({"label": LABELS, **more})
    return frame.assign(f0=numbers[:, 0], f1=numbers[:, 1])


def source_of(kind, frame, folder):
    path = folder / f"rows.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    return frame if kind == "frame" else path


WAYS = {
    "plain": {},
    "decimal commas": {"sep": ";", "decimal": ","},
    "tabs": {"sep": "\t", "decimal": ","},
    "bars": {"sep": "|"},
    "mark": {"encoding": "utf-8-sig"},
    "utf-16": {"encoding": "utf-16"},
    "windows": {"encoding": "cp1252"},
    "windows ends": {"lineterminator": "\r\n"},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.filterwarnings("ignore::unseen._encodings.OddBytesWarning")
def test_rows_and_tables_are_the_same_however_they_were_written(tmp_path, way):
    path, table = tmp_path / "rows.csv", tmp_path / "table.csv"
    rows().to_csv(path, index=False, **way)
    TABLE.to_csv(table, index_label="class", **way)
    data = load_data(path, table)
    assert_array_equal(data.X, rows()[["f0", "f1"]].to_numpy())
    assert data.y.tolist() == LABELS
    assert_array_equal(data.class_embeddings, TABLE)
    assert data.classes.tolist() == NAMES and data.unseen.tolist() == ["okapi"]


def test_odd_bytes_are_reported_once(tmp_path):
    path = tmp_path / "rows.csv"
    rows().to_csv(path, index=False, encoding="cp1252")
    with pytest.warns(OddBytesWarning, match=r"rows\.csv is not UTF-8") as caught:
        read_raw(path)
    assert len(caught) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_labels_and_ids_may_have_any_name(tmp_path, kind):
    frame = rows(species=LABELS, photo="a b.jpg", image_no=np.arange(100, 112))
    source = source_of(kind, frame.drop(columns="label"), tmp_path)
    with pytest.raises(ValueError, match=r"species, photo all hold.*column='species'"):
        read_raw(source)
    data = load_data(source, TABLE, column="species", id="image_no")
    assert data.y.tolist() == LABELS
    assert data.feature_names.tolist() == ["f0", "f1"]
    assert_array_equal(data.X, frame[["f0", "f1"]])
    assert data.ids[data.to_label].tolist() == ["104", "105", "110", "111"]
    for what, wrong in {"labels": "column", "ids": "id"}.items():
        with pytest.raises(ValueError, match=f"no column 'specie' for the {what}"):
            load_data(source, TABLE, **{"column": "species", wrong: "specie"})


@pytest.mark.parametrize(
    "name, numbers",
    [
        ("n", np.arange(12)),  # in order
        ("n", np.random.default_rng(1).permutation(12) + 7),  # a run, shuffled
        ("n", np.cumsum(np.arange(1, 13))),  # rising, with gaps
        ("photo_id", np.random.default_rng(2).permutation(1000)[:12]),
    ],
)
def test_a_column_like_an_index_is_asked_about(tmp_path, name, numbers):
    source = source_of("csv", rows(**{name: numbers}), tmp_path)
    with pytest.raises(ValueError, match=f"column '{name}' .* say id='{name}'"):
        load_data(source, TABLE)
    as_feature = load_data(source, TABLE, id="")
    assert as_feature.feature_names.tolist() == [name, "f0", "f1"]


@pytest.mark.parametrize("kind", KINDS)
def test_counts_and_measurements_are_features(tmp_path, kind):
    counts = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
    scattered = np.random.default_rng(2).permutation(1000)[:12]
    frame = rows(y=counts, target=scattered)
    TABLE.rename(columns={"a": "y"}).to_csv(tmp_path / "rows.classes.csv")
    data = load_data(source_of(kind, frame, tmp_path), tmp_path / "rows.classes.csv")
    assert data.feature_names.tolist() == ["y", "target", "f0", "f1"]
    assert_array_equal(data.class_embeddings, TABLE)


@pytest.mark.parametrize(
    "ids, fault",
    [(["a"] * 12, "ids holds 'a' more than once"), ([*"abcdefghi", "", "", ""], "''")],
)
def test_ids_are_different(ids, fault):
    with pytest.raises(ValueError, match=fault):
        load_data(rows(key=ids), TABLE, column="label", id="key")


def test_a_column_of_numbers_may_hold_the_labels_and_keeps_its_zeros(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("code,f0\n007,1.5\n010,2.5\n,3.5\n")
    assert read_raw(path, "code").y.tolist() == ["007", "010", ""]
    np.savez(tmp_path / "rows.npz", X=np.eye(2), y=np.array(["okapi", ""]))
    with pytest.raises(ValueError, match="only CSV, parquet and Excel files"):
        load_data(tmp_path / "rows.npz", TABLE, column="label")


@pytest.mark.parametrize(
    "label, said",
    [
        ("?", "if it means unlabelled, leave the label empty"),
        ("NA", "if it means unlabelled, leave the label empty"),
        ("ÉLÉPHANT", "did you mean 'éléphant'"),
        ("grizzly bear", "did you mean 'Grizzly Bär'"),
    ],
)
def test_a_label_that_is_no_class_is_named_with_what_it_may_mean(label, said):
    frame = rows()
    frame.loc[4, "label"] = label
    with pytest.raises(ValueError, match=f"'label', row 4: names .*{said}"):
        load_data(frame, TABLE)


@pytest.mark.parametrize(
    "text, message",
    [
        ('label,f0,f1\na,"1,500",2\n', r"'f0' holds .*'1,500'.* decimal point"),
        ("label,f0\na,1\na,2\na,2.0x\n", r"column 'f0' holds numbers, but '2\.0x'"),
        ("label,a,b\nzebra,1,2\nokapi,4,5,6\n", r"rows\.csv: the file is damaged"),
    ],
)
def test_a_cell_or_a_head_that_is_wrong_is_no_reason_to_drop_it(
    tmp_path, text, message
):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_raw(tmp_path / "rows.csv")


def test_a_class_table_of_another_kind_lies_beside_the_rows(tmp_path):
    rows().to_csv(tmp_path / "rows.tsv", sep="\t", index=False)
    TABLE.to_csv(tmp_path / "rows.classes.csv", index_label="class")
    assert load_data(tmp_path / "rows.tsv").classes.tolist() == NAMES


def test_gaps_nan_and_infinity_in_numbers(tmp_path):
    (tmp_path / "rows.csv").write_text("label;a;b\nx;1;nan\ny;;inf\n")
    raw = read_raw(tmp_path / "rows.csv")
    assert_array_equal(raw.X, [[1, np.nan], [np.nan, np.inf]])


def test_an_excel_workbook_and_its_class_table(tmp_path, monkeypatch):
    path = source_of(
        "xlsx", pd.DataFrame({"label": ["007", None], "a": [1, 3]}), tmp_path
    )
    table = {"class": ["007", "okapi"], "split": ["seen", "unseen"], "b": [1, 0.5]}
    pd.DataFrame(table).to_excel(tmp_path / "rows.classes.xlsx", index=False)
    data = load_data(path)
    assert data.y.tolist() == ["007", ""]  # text stays text
    assert data.unseen.tolist() == ["okapi"]
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"rows.xlsx needs openpyxl.*\[files\]"):
        load_data(path)


def test_all_parquet_rows_of_a_folder_come_in_order_with_their_labels(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = np.arange(60_000.0).reshape(20_000, 3), np.resize(NAMES, 20_000)
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=y)
    frame.insert(0, "id", np.arange(len(frame)))  # numbers the rows: no feature
    frame[:2].to_parquet(tmp_path / "first.parquet")
    frame[2:].to_parquet(tmp_path / "second.parquet", row_group_size=7_000)
    (tmp_path / "_drafts").mkdir()
    (tmp_path / "_drafts" / "x.parquet").write_bytes(b"no parquet")
    features, labels = zip(*iter_parquet(tmp_path, "kind"), strict=True)
    assert len(features) > 3
    assert_array_equal(np.concatenate(features), X)
    assert np.concatenate(labels).tolist() == y.tolist()
    again = iter_parquet(tmp_path / "second.parquet")
    assert_array_equal(np.concatenate(list(again)), X[2:])
