"""Small files that claim to be huge, lines without end, pipes: refused at once.

The limits are made small, and so are the files that go beyond them.
"""

import csv
import gzip
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import unseen.limits
from unseen.loading import embed_names, load_data, read_raw
from unseen.loading.frames import iter_parquet

MIB = 1 << 20


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    small = unseen.limits.LIMITS._replace(unpacked_free=MIB, line_bytes=MIB)
    monkeypatch.setattr(unseen.limits, "LIMITS", small)
    csv.field_size_limit(131_072)  # its own; readers of texts allow longer cells


def refusal(path, read=load_data) -> str:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError) as refused:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()
    assert str(path) in str(refused.value)
    return str(refused.value)


def vectors(path):
    return embed_names(["seal"], path)


@pytest.mark.parametrize("huge", ["X", "y"])
def test_a_packed_array_of_many_megabytes_in_a_few_kilobytes(tmp_path, huge):
    parts = {"X": np.eye(2), "y": ["a", "b"], "class_names": ["a", "b"]}
    parts |= {"unseen": ["b"], "att": np.eye(2)}
    large = {"X": np.zeros((2 * MIB, 1)), "y": np.array(["", "a" * 2 * MIB])}
    np.savez_compressed(tmp_path / "bomb.npz", **parts | {huge: large[huge]})
    assert "would unpack to 1677" in refusal(tmp_path / "bomb.npz")


def test_an_array_that_is_announced_but_not_there(tmp_path):
    path = tmp_path / "bomb.npz"
    start = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
    header = "{'descr': '<U500000000', 'fortran_order': False, 'shape': (9,), }"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("X", "y", "class_names", "unseen"):
            archive.writestr(f"{name}.npy", start + header.ljust(118).encode())
    assert "128 bytes, but its header promises 18000000128" in refusal(path)


def test_parquet_files_of_many_equal_rows_and_of_one_endless_row(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({f"x{i}": np.zeros(MIB) for i in range(2)}), path)
    assert "would unpack to 8388608" in refusal(path)
    assert "would unpack" in refusal(path, lambda path: next(iter_parquet(path)))
    values = pa.array(np.zeros(MIB, np.float32))
    lists = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    pq.write_table(pa.table({"label": ["okapi"], "features": lists}), path)
    assert "would unpack to 41943" in refusal(path)


def test_an_excel_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    openpyxl.Workbook().save(tmp_path / "zoo.xlsx")
    with zipfile.ZipFile(tmp_path / "zoo.xlsx", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/big.bin", bytes(3 * MIB))
    assert "would unpack to 3" in refusal(tmp_path / "zoo.xlsx")


@pytest.mark.parametrize("line", ["a," * 20_001, "b," + "a" * 2 * MIB])
def test_a_line_of_text_that_is_too_long(tmp_path, line):
    path = tmp_path / "wide.csv"
    path.write_text(f"{line}\n{line}\n")
    assert "at most 20000" in (text := refusal(path)) or "field larger" in text


def test_names_that_would_fill_the_memory_side_by_side(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("label,a\n" + "b,1\n" * 3_000 + "c" * 999 + ",1\n")
    assert "one of them of 999 letters" in refusal(path, read_raw)


def test_word_vectors_that_unpack_without_end(tmp_path):
    path = tmp_path / "vectors.gz"
    path.write_bytes(gzip.compress((b"a" + b" 1" * 500 + b"\n") * 8000))
    assert "would unpack to" in refusal(path, vectors)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is a pipe" in refusal(tmp_path / "pipe.csv")
    assert "is a pipe or device" in refusal(Path(os.devnull))
    assert "is a pipe" in refusal(tmp_path / "pipe.csv", vectors)
    (tmp_path / "glove.txt").mkdir()
    assert "is a folder" in refusal(tmp_path / "glove.txt", vectors)
