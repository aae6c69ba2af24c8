"""Rows in blocks give what memory gives, and cost one block."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unseen.loading import iter_blocks, open_npy


@pytest.mark.parametrize("rows", [1, 3, 8, 100, None])
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
    (first, second) = (
        block.copy() for block in iter_blocks(tmp_path / "X.npy", rows=2)
    )
    assert first.dtype in (np.float32, np.float64) and first.dtype.isnative
    assert_array_equal(np.concatenate([first, second]), X)


def test_odd_arguments_are_refused(tmp_path):
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
