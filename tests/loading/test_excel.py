"""Excel workbooks are read as CSV files are."""

import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from unseen import load_data

openpyxl = pytest.importorskip("openpyxl")
TABLE = [["class", "split", "stripes"], ["007", "seen", 1], ["okapi", "unseen", 0.5]]


def write(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_a_workbook_and_its_class_table(tmp_path):
    rows = [["photo", "label", "a", "b"], [11, "007", 1, "2.5"], [12, None, 3, "4"]]
    path = write(tmp_path / "zoo.xlsx", rows)
    write(tmp_path / "zoo.classes.xlsx", TABLE)
    data = load_data(path, id="photo")
    assert data.y.tolist() == ["007", ""]  # text stays text
    assert data.unseen.tolist() == ["okapi"]
    assert data.ids.tolist() == ["11", "12"]
    assert data.feature_names.tolist() == ["a", "b"]
    np.testing.assert_array_equal(data.X, [[1, 2.5], [3, 4]])


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "zoo.xlsx", [["label", "a"], ["okapi", 1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"zoo.xlsx needs openpyxl.*\[files\]"):
        load_data(path, pd.DataFrame({"x": [1.0]}, index=["okapi"]))


def test_a_bomb_is_not_unpacked(tmp_path):
    path = write(tmp_path / "zoo.xlsx", [["label", "a"], ["okapi", 1]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/big.bin", bytes(300 << 20))
    with pytest.raises(ValueError, match="would unpack to 31"):
        load_data(path)
