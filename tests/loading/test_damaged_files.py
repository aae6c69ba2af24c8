"""Damaged files: read, or refused in a sentence that names the file.

Files that a native library takes apart (HDF5, MATLAB, parquet) are left out: what they
make of damage is theirs.
"""

import random
import warnings

import numpy as np
import pytest
from layouts import NAMES, X, small_set, write_folder

from unseen import load_data
from unseen.loading import embed_names, save_data
from unseen.loading.arrays import open_npy

VECTORS = "".join(f"{name} 0.5 {i} -1e-3\n" for i, name in enumerate(NAMES))
TARGETS = {
    "set.npz": (lambda path: save_data(small_set(), path), load_data),
    "set": (write_folder, load_data),
    "set.csv": (lambda path: save_data(small_set(), path), load_data),
    "x.npy": (lambda path: np.save(path, X), open_npy),
    "glove.txt": (
        lambda path: path.write_text(VECTORS),
        lambda path: embed_names(NAMES, path),
    ),
}


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Cut, flip, double or fill a piece of the content."""
    start = rng.randrange(len(content) + 1)
    end = start + rng.choice([1, 4, 40])
    piece = content[start:end]
    flipped = bytes(byte ^ (1 << rng.randrange(8)) for byte in piece)
    filled = rng.choice([b"\0", b"\xff", b"9", b"-", b'"', b"\n", b","]) * len(piece)
    new = rng.choice([b"", piece * 2, flipped, filled])
    rest = b"" if rng.random() < 0.2 else content[end:]
    return content[:start] + new + rest


@pytest.mark.parametrize("name", TARGETS)
def test_damage_is_refused_in_a_sentence(tmp_path, name):
    write, read = TARGETS[name]
    path = tmp_path / name
    write(path)
    files = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else []
    files = files or sorted(tmp_path.glob(f"{path.stem}*"))
    whole = {file: file.read_bytes() for file in files}
    refused = 0
    for case in range(25):
        rng = random.Random(f"{name} {case}")
        victim = rng.choice(files)
        victim.write_bytes(damaged(whole[victim], rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(path)
        except (ValueError, OSError) as error:
            text = str(error)
            assert not isinstance(error, UnicodeError), (case, text)
            assert str(tmp_path) in text and "\n" not in text, (case, text)
            assert len(text) < 1500, (case, text)
            refused += 1
        victim.write_bytes(whole[victim])
    assert refused > 1
    read(path)
