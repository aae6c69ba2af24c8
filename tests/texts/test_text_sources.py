"""Files of texts: every row is there once, whatever its bytes; faults are sentences."""

import io
import json

import pandas as pd
import pytest

from unseen._encodings import OddBytesWarning
from unseen.texts import read_texts
from unseen.texts.source import holds_texts

ROWS = [
    ("a1", "my card is lost"),
    ("a2", ""),
    ("a3", 'say "hi",\nplease'),
    ("a4", "🦓 שלום"),
    ("a5", "word " * 200_000),
]


def pairs(source):
    return [
        (key, text)
        for batch in source
        for key, text in zip(batch.ids, batch.texts, strict=True)
    ]


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture(params=["csv", "tsv", "jsonl", "parquet", "utf16"])
def table(request, tmp_path):
    frame = pd.DataFrame(ROWS, columns=["number", "body"])
    kind = request.param
    path = tmp_path / f"rows.{'csv' if kind == 'utf16' else kind}"
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        text = frame.to_csv(index=False, sep="\t" if kind == "tsv" else ",")
        path.write_bytes(text.encode("utf-16" if kind == "utf16" else "utf-8-sig"))
    return path


def test_every_kind_of_file_holds_the_same_rows(table):
    source = read_texts(table, column="body", id="number")
    assert pairs(source) == ROWS
    assert pairs(source) == ROWS  # and can be read again
    assert pairs(read_texts(table)) == [(str(i), t) for i, (_, t) in enumerate(ROWS)]


def test_the_first_sheet_of_a_workbook_is_read(tmp_path):
    pytest.importorskip("openpyxl")
    rows = [("a1", "my card is lost"), ("a2", ""), ("a3", "5")]
    frame = pd.DataFrame(rows, columns=["number", "body"])
    frame.to_excel(tmp_path / "rows.xlsx", index=False)
    source = read_texts(tmp_path / "rows.xlsx", column="body", id="number")
    assert holds_texts(tmp_path / "rows.xlsx") and pairs(source) == rows


def test_a_line_is_a_text_and_an_empty_line_keeps_its_place(tmp_path):
    path = written(tmp_path, "a.txt", "one\r\n\ntwo three\nlast")
    assert pairs(read_texts(path)) == [
        ("0", "one"), ("1", ""), ("2", "two three"), ("3", "last"),
    ]  # fmt: skip


def test_a_folder_is_its_files_by_path(tmp_path):
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    for name, text in {
        "b.txt": "bee\nline",
        "deep/a.md": "ay",
        ".hid.txt": "x",
    }.items():
        (tmp_path / "notes" / name).write_text(text)
    (tmp_path / "notes" / "data.bin").write_bytes(b"\0")
    source = read_texts(tmp_path / "notes")
    assert pairs(source) == [("b.txt", "bee\nline"), ("deep/a.md", "ay")]
    assert source.skipped == [("data.bin", "is no .txt or .md file")]


def test_mixed_encodings_lose_nothing(tmp_path):
    content = b"text\n" + "naïve café".encode() + b"\ncaf\xe9 na\xc3\xafve \x93q\x94\n"
    source = read_texts(written(tmp_path, "mixed.csv", content))
    with pytest.warns(OddBytesWarning, match="is not UTF-8"):
        found = pairs(source)
    assert [text for _, text in found] == ["naïve café", "café naïve “q”"]


def test_many_rows_come_in_batches(tmp_path):
    path = written(tmp_path, "many.txt", "".join(f"{i}\n" for i in range(10_000)))
    batches = list(read_texts(path))
    assert max(len(batch.ids) for batch in batches) < 5000
    assert [text for batch in batches for text in batch.texts] == [
        str(i) for i in range(10_000)
    ]


@pytest.mark.parametrize(
    "name, content, options, words",
    [
        ("a.csv", "n,x\n1,b\n", {"column": "y"}, "no column 'y'. Its columns are"),
        ("a.csv", "n,x\n1,b\n", {}, "which column holds the texts? Name it"),
        ("a.csv", "text,text\na,b\n", {}, "several columns 'text'"),
        ("a.csv", "n,text\n1,b\n", {"id": "m"}, "there is no column 'm'"),
        ("a.csv", "n,text\n1,b\n1,c\n", {"id": "n"}, "id '1' is there twice"),
        ("a.csv", "n,text\n,b\n", {"id": "n"}, "a text has no id"),
        ("a.csv", "n,text\n1,b,c\n", {}, "line 2 has 3 cells, but there are 2 columns"),
        ("a.csv", 'text\n"b\n', {}, "is not CSV"),
        ("a.jsonl", '{"text": "a"}\nnope\n', {}, "line 2 is not JSON"),
        ("a.jsonl", '{"text": "a", "text": "b"}\n', {}, "a key is there twice"),
        ("a.jsonl", '{"text": "a"}\n[1]\n', {}, "line 2 is [1]. Give an object"),
        ("a.jsonl", '{"a": "a", "b": "c"}\n', {}, "line 1: which column"),
        ("a.txt", "hello\n", {"id": "n"}, "no column 'n'. Its columns are 'text'"),
        ("a.parquet", b"PAR1nonsense", {}, "a.parquet"),
        ("a.docx", b"PK", {}, "is not a file of texts. Give .csv"),
    ],
)  # fmt: skip
def test_faults_are_one_sentence_that_names_the_file(
    tmp_path, name, content, options, words
):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = written(tmp_path, name, content)
    with pytest.raises(ValueError) as error:
        pairs(read_texts(path, **options))
    assert words in str(error.value) and name in str(error.value)


def test_standard_input_is_read_twice(monkeypatch):
    for content, options, wanted in (
        (b"one\ntwo\n", {}, [("0", "one"), ("1", "two")]),
        (b'{"k": "x", "text": "one"}\n', {"id": "k"}, [("x", "one")]),
        (b"k,t\nx,one\n", {"id": "k", "column": "t"}, [("x", "one")]),
    ):
        stdin = type("In", (), {"buffer": io.BytesIO(content)})()
        monkeypatch.setattr("sys.stdin", stdin)
        source = read_texts("-", **options)
        assert pairs(source) == wanted
        assert pairs(source) == wanted


def test_texts_are_told_from_photos_by_the_names_of_files(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a")
    assert holds_texts(tmp_path / "notes")
    (tmp_path / "notes" / "b.JPG").write_bytes(b"")
    assert not holds_texts(tmp_path / "notes")
    assert not holds_texts(tmp_path / "nothing") and holds_texts("x.parquet")


def test_python_lists_are_texts_and_nothing_else():
    assert pairs(read_texts(("a", "b"))) == [("0", "a"), ("1", "b")]
    with pytest.raises(TypeError, match="3 is not a text"):
        read_texts(["a", 3])


def test_missing_values_are_empty_texts(tmp_path):
    lines = [{"text": None}, {"text": 5}, {"text": ["x", 1]}]
    path = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines)))
    assert [text for _, text in pairs(read_texts(path))] == ["", "5", '["x", 1]']
