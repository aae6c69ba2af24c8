"""load_data finds the reader; rows in blocks."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unseen.loading import load_data, reader
from unseen.loading.arrays import open_npy, read_blocks
from unseen.loading.parts import RawData, readers


@pytest.mark.parametrize("content", [b"", b"P", b"a line\n", b"\x93NUMPY"])
def test_unknown_content_is_refused_with_the_kinds(tmp_path, content):
    path = tmp_path / "set.npz"
    with pytest.raises(FileNotFoundError, match=r"no file .*set.npz.*photos"):
        load_data(path)
    with pytest.raises(ValueError, match="none of the kinds"):
        load_data(tmp_path)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"none of the kinds .*NumPy archive"):
        load_data(path)


def test_a_new_reader_is_one_decorator(zoo, tmp_path):
    path = tmp_path / "set.txt"
    path.write_text("the zoo, please")

    @reader("a polite request", recognises=lambda path: path.suffix == ".txt")
    def read(path):
        table = zoo.class_embeddings["words"]
        raw = RawData("zoo", str(path), zoo.X, zoo.y, zoo.classes, {"words": table})
        return replace(raw, unseen=zoo.unseen)

    try:
        assert load_data(path, classes="words").tables == ("words",)
    finally:
        readers.pop()


def test_the_name_of_a_bundled_set_wins_over_a_file_but_a_path_does_not(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").write_text("not a data set")
    assert load_data("photos").name == "photos"
    with pytest.raises(ValueError, match="none of the kinds"):
        load_data("./photos")
    with pytest.raises(ValueError, match="photos is bundled"):
        load_data("photos", column="label")


@pytest.mark.parametrize("rows", [3, 100, None])
@pytest.mark.parametrize("source", ["array", "map", "slice", "fortran"])
def test_blocks_put_together_are_the_array(source, rows, tmp_path):
    X = np.arange(40, dtype=np.float32).reshape(8, 5)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "F.npy", np.asfortranarray(X))
    given = {
        "array": X,
        "map": open_npy(tmp_path / "X.npy"),
        "slice": open_npy(tmp_path / "X.npy")[2:7],
        "fortran": open_npy(tmp_path / "F.npy"),
    }[source]
    blocks = [block.copy() for block in read_blocks(given, rows)]
    assert_array_equal(np.concatenate(blocks), X[2:7] if source == "slice" else X)
    assert all(len(block) <= (rows or 8) for block in blocks)


def test_a_map_whose_file_was_cut_is_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(50))
    X = open_npy(tmp_path / "X.npy")
    with open(tmp_path / "X.npy", "r+b") as file:
        file.truncate(1000)
    with pytest.raises(ValueError, match="ended while it was read"):
        list(read_blocks(X))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        list(read_blocks(np.ones(2)))
