"""load_data finds the reader; the bundled digits are what they say; rows in blocks."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from unseen.loading import (
    iter_blocks,
    load_data,
    load_digits_attributes,
    open_npy,
    reader,
)
from unseen.loading.parts import RawData, readers


@pytest.mark.parametrize("content", [b"", b"P", b"a line\n", b"\x93NUMPY"])
def test_unknown_content_is_refused_with_the_kinds(tmp_path, content):
    path = tmp_path / "set.npz"
    with pytest.raises(FileNotFoundError, match=r"no file .*set.npz.*digits"):
        load_data(path)
    with pytest.raises(ValueError, match="none of the kinds"):
        load_data(tmp_path)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"none of the kinds .*NumPy archive"):
        load_data(path)


def test_a_new_reader_is_one_decorator(tmp_path):
    path = tmp_path / "set.txt"
    path.write_text("digits, please")

    @reader("a polite request", recognises=lambda path: path.suffix == ".txt")
    def read(path):
        return RawData.of(load_digits_attributes())

    try:
        assert load_data(path, classes="strokes").tables == ("strokes",)
    finally:
        readers.pop()


def test_the_name_of_a_bundled_set_wins_over_a_file_but_a_path_does_not(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").write_text("not a data set")
    data = load_data("digits")
    assert_array_equal(data.X * 16, load_digits().data)
    assert_array_equal(data.y.astype(int), load_digits().target)
    with pytest.raises(ValueError, match="none of the kinds"):
        load_data("./digits")
    with pytest.raises(ValueError, match="digits: is bundled"):
        load_data("digits", column="label")


@pytest.mark.parametrize("rows", [3, 100, None])
@pytest.mark.parametrize("source", ["array", "path", "map", "slice", "fortran"])
def test_blocks_put_together_are_the_array(source, rows, tmp_path):
    X = np.arange(40, dtype=np.float32).reshape(8, 5)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "F.npy", np.asfortranarray(X))
    given = {
        "array": X,
        "path": tmp_path / "X.npy",
        "map": open_npy(tmp_path / "X.npy"),
        "slice": open_npy(tmp_path / "X.npy")[2:7],
        "fortran": open_npy(tmp_path / "F.npy"),
    }[source]
    blocks = [block.copy() for block in iter_blocks(given, rows)]
    assert_array_equal(np.concatenate(blocks), X[2:7] if source == "slice" else X)
    assert all(len(block) <= (rows or 8) for block in blocks)


@pytest.mark.parametrize("dtype", [">f4", "<f2", "<i2", ">f8"])
def test_other_types_become_floats_block_by_block(dtype, tmp_path):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    blocks = [block.copy() for block in iter_blocks(tmp_path / "X.npy", rows=2)]
    assert blocks[0].dtype in (np.float32, np.float64) and blocks[0].dtype.isnative
    assert_array_equal(np.concatenate(blocks), X)


def test_odd_arguments_of_blocks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="rows=0"):
        list(iter_blocks(np.eye(2), rows=0))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        list(iter_blocks(np.ones(2)))
    np.save(tmp_path / "X.npy", np.eye(50))
    X = open_npy(tmp_path / "X.npy")
    with open(tmp_path / "X.npy", "r+b") as file:
        file.truncate(1000)
    with pytest.raises(ValueError, match="ended while it was read"):
        list(iter_blocks(X))
