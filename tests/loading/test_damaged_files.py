"""Damaged files: read, or refused in a sentence that names the file.

Files that a native library takes apart (HDF5, MATLAB, parquet) are left out: what they
make of damage is theirs.
"""

import random
import warnings

import numpy as np
import pytest
from layouts import NAMES, A, X, Y

from unseen import load_data, save_data
from unseen.labels import label_table, read_labels, write_labels
from unseen.loading import embed_names, open_npy, read_class_table, write_data


def some_set(folder):
    path = folder / "first.npz"
    np.savez(path, X=X, y=Y, class_names=NAMES, att=A, unseen=[2, 3])
    return load_data(path)


def write_npz(folder):
    save_data(some_set(folder), folder / "set.npz")


def write_own_folder(folder):
    write_data(some_set(folder), folder / "set")


def write_csv(folder):
    write_data(some_set(folder), folder / "set.csv")


def write_text(name, text):
    return lambda folder: (folder / name).write_text(text)


VECTORS = "".join(f"{name} 0.5 {i} -1e-3\n" for i, name in enumerate(NAMES))
TABLE = "class,split,a,b\n" + "".join(f"{name},seen,1,0.5\n" for name in NAMES)
TARGETS = {
    "npz": (write_npz, "set.npz", load_data),
    "folder": (write_own_folder, "set", load_data),
    "csv": (write_csv, "set.csv", load_data),
    "npy": (lambda folder: np.save(folder / "x.npy", X), "x.npy", open_npy),
    "vectors": (
        write_text("glove.txt", VECTORS),
        "glove.txt",
        lambda path: embed_names(NAMES, path),
    ),
    "table": (write_text("table.csv", TABLE), "table.csv", read_class_table),
    "labels": (
        lambda folder: write_labels(label_table(NAMES), folder / "labels.csv"),
        "labels.csv",
        read_labels,
    ),
}


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Cut, flip, double or fill a piece of the content."""
    start = rng.randrange(len(content) + 1)
    end = min(len(content), start + rng.choice([1, 4, 40]))
    piece = content[start:end]
    new = rng.choice(
        [
            b"",
            piece * 2,
            bytes(byte ^ (1 << rng.randrange(8)) for byte in piece),
            rng.choice([b"\0", b"\xff", b"9", b"-", b'"', b"\n", b","]) * len(piece),
        ]
    )
    rest = b"" if rng.random() < 0.2 else content[end:]
    return content[:start] + new + rest


@pytest.mark.parametrize("kind", TARGETS)
def test_damage_is_refused_in_a_sentence(tmp_path, kind):
    write, name, read = TARGETS[kind]
    write(tmp_path)
    path = tmp_path / name
    files = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else []
    files = files or sorted(tmp_path.glob(f"{path.stem}*"))
    whole = {file: file.read_bytes() for file in files}
    refused = 0
    for case in range(60):
        rng = random.Random(f"{kind} {case}")
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
    assert refused > 4
    read(path)
