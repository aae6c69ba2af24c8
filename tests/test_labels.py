"""The table of labels: written, read, edited by people, matched with the truth."""

import csv
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.labels import (
    COLUMNS,
    label_table,
    read_labels,
    write_labels,
)

HOSTILE = [
    'a,"b"\n.jpg',
    "a\r\nb.jpg",
    "a\rb.jpg",
    "a;b\tc.jpg",
    "=cmd|' /C calc'!A0",
    "+1", "-1", "@x",
    " led by a space.jpg",
    "trailed by one ",
    '"quoted"',
    "'",
    "NA", "nan", "null", "None", "0", "007", "1e5", "TRUE",
    "Zoë/🦓/斑马.jpg",
    "e\u0301.jpg",
    "\u202egpj.exe",
    "\ufeffmark.jpg",
    "line\u2028sep\x85.jpg",
    os.fsdecode(b"caf\xe9.jpg"),
]  # fmt: skip


def test_hostile_names_come_back_as_they_were(tmp_path):
    text = [name for name in HOSTILE if name.isprintable() or "\n" in name]
    labels = [text[i % len(text)] for i in range(len(HOSTILE))]
    story = ["a long story, " * 75_000] * len(HOSTILE)
    table = label_table(labels, ids=HOSTILE, second=labels[::-1], note=HOSTILE, s=story)
    path = write_labels(table, tmp_path / "labels.csv")
    pd.testing.assert_frame_equal(read_labels(path), table)
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = list(csv.DictReader(file))
    guarded = [f"'{name}" if name[0] in "=@" else name for name in HOSTILE]
    assert [row["id"] for row in rows] == guarded
    assert [row["note"] for row in rows] == guarded


FORMULAS = ["=1+1", "+a", "-b.jpg", "@c", "\t=d", "'=e", "''@f", "-1|g", "＝h"]


def test_no_spreadsheet_runs_a_cell(tmp_path):
    table = label_table(FORMULAS, ids=FORMULAS, second=FORMULAS, **{"=head": FORMULAS})
    path = write_labels(table, tmp_path / "labels.csv")
    with open(path, encoding="utf-8", newline="") as file:
        heads, *rows = list(csv.reader(file))
    assert heads[-1] == "'=head"
    for row in rows:
        texts = [row[0], row[1], row[3], row[5]]
        assert all(text.startswith("'") for text in texts), row
    pd.testing.assert_frame_equal(read_labels(path), table)


def test_reliability_can_be_sorted_by(tmp_path):
    distance = np.geomspace(1e-15, 0.5, 200)
    sure = np.concatenate([1 - distance, distance[:-1], [0.0, 1.0]])
    path = write_labels(
        label_table(["okapi"] * len(sure), reliability=sure), tmp_path / "labels.csv"
    )
    again = read_labels(path)["reliability"].to_numpy()
    assert (np.argsort(again) == np.argsort(sure)).all()
    assert len(set(again)) == len(set(sure))
    assert (again == 1).sum() == 1
    assert np.abs(again - sure).max() < 1e-6


words = st.text(st.characters(codec="utf-8"), max_size=8)


@given(st.lists(words.filter(bool), unique=True, max_size=5), st.data())
def test_any_text_comes_back(tmp_path_factory, ids, data):
    labels = [data.draw(words) for _ in ids]
    trust = [data.draw(st.none() | st.integers(0, 10_000)) for _ in ids]
    trust = [np.nan if share is None else share / 10_000 for share in trust]
    table = label_table(labels, ids=ids, reliability=trust)
    path = tmp_path_factory.mktemp("any") / "labels.csv"
    pd.testing.assert_frame_equal(read_labels(write_labels(table, path)), table)


def test_what_is_written_is_the_schema(tmp_path):
    table = label_table(
        ["okapi", ""],
        ids=["a.jpg", 7],
        reliability=[0.12345, np.nan],
        second=["zebra", ""],
        first_trusted=[3, 0],
        novelty=[0.5, 0.25],
    )
    assert write_labels(table, tmp_path / "new" / "l.csv").read_text() == (
        "id,label,reliability,second,first_trusted,novelty\n"
        "a.jpg,okapi,0.123450,zebra,3,0.500000\n"
        "7,,,,0,0.250000\n"
    )
    assert tuple(table.columns[:5]) == COLUMNS
    read = read_labels(tmp_path / "new" / "l.csv")
    assert read["first_trusted"].tolist() == [3, 0]
    assert read["reliability"].tolist() == pytest.approx([0.12345, np.nan], nan_ok=True)


SHEETS = {
    "as written": b"id,label,reliability\na.jpg,caf\xc3\xa9,0.75\nb.jpg,,\n",
    "CR LF": b"id,label,reliability\r\na.jpg,caf\xc3\xa9,0.75\r\nb.jpg,,\r\n",
    "no last line end": b"id,label,reliability\na.jpg,caf\xc3\xa9,0.75\nb.jpg,,",
    "semicolons": b"\xef\xbb\xbfid;label;reliability\r\na.jpg;caf\xc3\xa9;0,75\r\n"
    b"b.jpg;;\r\n",
    "semicolons, points": b"id;label;reliability\na.jpg;caf\xc3\xa9;0.75\nb.jpg;;\n",
    "tabs": b"id\tlabel\treliability\na.jpg\tcaf\xc3\xa9\t0.75\nb.jpg\t\t\n",
    "all quoted": b'"id","label","reliability"\n"a.jpg","caf\xc3\xa9","0.75"\n'
    b'"b.jpg","",""\n',
    "empty lines": b"id,label,reliability\n\na.jpg,caf\xc3\xa9,0.75\nb.jpg,,\n,,\n\n",
    "columns moved": b"reliability,label,id\n0.75,caf\xc3\xa9,a.jpg\n,,b.jpg\n",
    "wide heads": b" id , label ,reliability\na.jpg,caf\xc3\xa9,0.75\nb.jpg,,\n",
}


@pytest.mark.parametrize("sheet", SHEETS)
def test_what_a_spreadsheet_saves_is_read(tmp_path, sheet):
    (tmp_path / "l.csv").write_bytes(SHEETS[sheet])
    table = read_labels(tmp_path / "l.csv")
    expected = label_table(
        ["café", ""], ids=["a.jpg", "b.jpg"], reliability=[0.75, None]
    )
    pd.testing.assert_frame_equal(table, expected)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no column 'id'; its columns are none"),
        (b"row,label\n1,2\n", "no column 'id'; its columns are row, label"),
        (b"id,name\n1,2\n", "no column 'label'"),
        (b"id,label,label\n1,2,2\n", "two columns 'label'"),
        (b"id,label\n3,2\n4,1\n3,5\n", "id '3' is there twice, in line 2 and line 4"),
        (b"id,label\n,2\n", "line 2 has no id"),
        (b"id,label\na,b,c\n", "line 2 has 3 cells, but there are 2 columns"),
        (b"id,label\na\n", "line 2 has 1 cells"),
        (b'id,label\n"a,b\n', "is not CSV"),
        (b'id,label\n"a"b,c\n', "line 2 is not CSV"),
        (b"id,label,reliability\na,b,high\n", "reliability in line 2 is 'high'"),
        (b"id,label,reliability\na,b,1.5\n", "Give a number, 0 to 1"),
        (b"id,label,reliability\na,b,nan\n", "reliability in line 2 is 'nan'"),
        (b"id,label,reliability\na,b,\"0,5\"\n", "reliability in line 2 is '0,5'"),
        (b"id,label,first_trusted\na,b,1.5\n", "whole, 0 or more"),
        (b"id,label,first_trusted\na,b,inf\n", "first_trusted in line 2 is 'inf'"),
        (b"id,label\na,caf\xe9\n", "label in line 2 is not UTF-8 text. Save"),
        ("id,label\na,b\n".encode("utf-16"), "Save it as 'CSV UTF-8'"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "no column 'id'"),
        (b"PK\x03\x04\x14\x00\x00", "no column 'id'"),
    ],
)  # fmt: skip
def test_odd_tables_are_refused_in_a_line(tmp_path, content, words):
    (tmp_path / "l.csv").write_bytes(content)
    with pytest.raises(ValueError) as error:
        read_labels(tmp_path / "l.csv")
    assert words in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'l.csv'}")


def test_tables_written_in_parts_are_one_table(tmp_path):
    table = label_table(list("abcde"), reliability=[0.1, 0.2, 0.3, 0.4, 0.5])
    whole = write_labels(table, tmp_path / "whole.csv").read_bytes()
    parts = (table[start : start + 2] for start in range(0, 5, 2))
    assert write_labels(parts, tmp_path / "parts.csv").read_bytes() == whole
    twice = (table[:2], table[1:3])
    with pytest.raises(ValueError, match=r"id '1' is there twice, in row 1 and row 2"):
        write_labels(twice, tmp_path / "twice.csv")
    assert not (tmp_path / "twice.csv").exists()
