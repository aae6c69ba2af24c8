"""CSV as other programs write it, and what is said where labels or cells are wrong."""

import numpy as np
import pandas as pd
import pytest

from unseen._encodings import OddBytesWarning
from unseen.loading import load_data, read_raw

NAMES = ["éléphant", "Grizzly Bär", "okapi"]
TABLE = pd.DataFrame({"a": [1.0, 2, 3], "b": [0.5, 0, 1]}, index=NAMES)


def rows():
    """Return six rows, the last two without a label."""
    frame = pd.DataFrame({"f0": [0.5, 1, 2, 3, 4, 5], "f1": [-1.25, 0, 1, 2, 3, 4]})
    frame["label"] = [*NAMES[:2], *NAMES[:2], "", ""]
    return frame


WAYS = {
    "plain": {},
    "semicolons": {"sep": ";"},
    "decimal commas": {"sep": ";", "decimal": ","},
    "tabs, decimal commas": {"sep": "\t", "decimal": ","},
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
    np.testing.assert_array_equal(data.X, rows()[["f0", "f1"]].to_numpy())
    assert data.y.tolist() == rows()["label"].tolist()
    np.testing.assert_array_equal(data.class_embeddings, TABLE)
    assert data.classes.tolist() == NAMES and data.unseen.tolist() == ["okapi"]


def test_odd_bytes_are_told_once(tmp_path):
    path = tmp_path / "rows.csv"
    rows().to_csv(path, index=False, encoding="cp1252")
    with pytest.warns(OddBytesWarning, match=r"rows\.csv: is not UTF-8") as caught:
        read_raw(path)
    assert len(caught) == 1


def test_commas_in_numbers_are_not_guessed_where_they_separate(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('label,f0,f1\nokapi,"1,500",2\n')
    with pytest.raises(ValueError, match="'f0' holds numbers with commas"):
        read_raw(path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_the_column_of_labels_may_have_any_name(tmp_path, kind):
    frame = rows().rename(columns={"label": "species"}).assign(photo="a b.jpg")
    source = tmp_path / f"rows.{kind}"
    if kind == "csv":
        frame.to_csv(source, index=False)
    elif kind == "parquet":
        frame.to_parquet(source)
    else:
        source = frame
    with pytest.raises(ValueError, match=r"species, photo all hold.*column='species'"):
        read_raw(source)
    data = load_data(source, TABLE, column="species")
    assert data.y.tolist() == rows()["label"].tolist()
    assert data.X.shape == (6, 2)
    with pytest.raises(ValueError, match="no column 'specie'"):
        load_data(source, TABLE, column="specie")


def test_a_column_of_numbers_may_hold_the_labels_and_keeps_its_zeros(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("code,f0\n007,1.5\n010,2.5\n,3.5\n")
    assert read_raw(path, "code").y.tolist() == ["007", "010", ""]


def test_only_files_with_columns_take_a_column(tmp_path):
    with pytest.raises(ValueError, match="digits: is bundled"):
        load_data("digits", column="label")
    np.savez(tmp_path / "rows.npz", X=np.eye(2), y=np.array(["okapi", ""]))
    with pytest.raises(ValueError, match="only CSV, parquet and Excel files"):
        load_data(tmp_path / "rows.npz", TABLE, column="label")


@pytest.mark.parametrize(
    "label, said",
    [
        ("?", "if it means unlabelled, leave the label empty"),
        ("NA", "if it means unlabelled, leave the label empty"),
        ("Okapi", "did you mean 'okapi'"),
        ("ÉLÉPHANT", "did you mean 'éléphant'"),
        ("grizzly bear", "did you mean 'Grizzly Bär'"),
    ],
)
def test_a_label_that_is_no_class_is_told_with_what_it_may_mean(label, said):
    frame = rows()
    frame.loc[4, "label"] = label
    with pytest.raises(ValueError, match=f"'label', row 4: names .*{said}"):
        load_data(frame, TABLE)


def test_a_word_among_numbers_is_no_reason_to_drop_the_column(tmp_path):
    path = tmp_path / "rows.csv"
    frame = rows().astype({"f1": object})
    frame.loc[3, "f1"] = "2.0x"
    frame.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"column 'f1' holds numbers, but '2\.0x'"):
        read_raw(path)
