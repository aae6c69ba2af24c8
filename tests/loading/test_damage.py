"""Damaged files: one clear error or the content, never a crash, a hang or rubbish."""

import random
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from layouts import LAYOUTS, X, write_layout
from numpy.testing import assert_array_equal

from unseen.loading import embed_names, load_data

# Formats whose bytes are under checksums: what is read is what was written.
CHECKED = {"own npz", "npz", "parquet", "xlsa17"}


def damage(content: bytes, rng: random.Random) -> bytes:
    """Cut, flip, insert or delete a few bytes."""
    damaged = bytearray(content)
    place = rng.randrange(len(damaged)) if damaged else 0
    how = rng.randrange(4)
    if how == 0:
        del damaged[place:]
    elif how == 1:
        for _ in range(rng.randint(1, 4)):
            if damaged:
                damaged[rng.randrange(len(damaged))] ^= rng.randint(1, 255)
    elif how == 2:
        damaged[place:place] = rng.randbytes(rng.randint(1, 16))
    else:
        del damaged[place : place + rng.randint(1, 16)]
    return bytes(damaged)


def read_damaged(kind: str, folder: Path, times: int, seed: int) -> int:
    """Damage one file at a time and read the set; return how often it was refused."""
    rng = random.Random(f"{kind} {seed}")
    path = write_layout(kind, folder)
    whole = load_data(path)
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    refused = 0
    for _ in range(times):
        file = rng.choice(files)
        content = file.read_bytes()
        file.write_bytes(damage(content, rng))
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                data = load_data(path)
        except (ValueError, OSError) as error:
            assert "\n" not in str(error) and len(str(error)) > 20
            refused += 1
        else:
            assert data.X.dtype in (np.float32, np.float64)
            assert len(data.X) == len(data.y)
            if kind in CHECKED:
                assert_array_equal(data.X, whole.X)
                assert_array_equal(data.y, whole.y)
            elif kind != "csv":  # a line more or less is as good a CSV file
                assert data.X.shape == X.shape
        assert time.perf_counter() - start < 10
        file.write_bytes(content)
    assert_array_equal(load_data(path).X, whole.X)
    return refused


@pytest.mark.parametrize("kind", LAYOUTS)
def test_a_hundred_damaged_files(kind, tmp_path):
    assert read_damaged(kind, tmp_path, times=100, seed=0) > 50


@pytest.mark.slow
@pytest.mark.parametrize("kind", LAYOUTS)
def test_a_thousand_damaged_files(kind, tmp_path):
    assert read_damaged(kind, tmp_path, times=1000, seed=1) > 500


@pytest.mark.parametrize("kind", ["text", "binary"])
def test_a_hundred_damaged_files_of_word_vectors(kind, tmp_path):
    from test_word_vectors import write_binary, write_text

    write = write_text if kind == "text" else write_binary
    path = write(tmp_path / "vectors", header=True)
    content, rng = path.read_bytes(), random.Random(0)
    for _ in range(100):
        path.write_bytes(damage(content, rng))
        try:
            table, missing = embed_names(["grizzly bear", "seal"], path)
        except (ValueError, OSError) as error:
            assert str(path) in str(error)
        else:
            assert set(table.index) | set(missing) == {"grizzly bear", "seal"}
            assert np.isfinite(table.to_numpy()).all()
