"""Rows in blocks give what memory gives, and cost one block."""

import json
import shutil
import subprocess
import sys

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


TRAIN = """
import json, sys
def peak():  # of this process alone: getrusage would count the one that started it
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
import unseen
imported = peak()
X = unseen.loading.open_npy(sys.argv[1] + "/features.npy")
mapped = peak()
data = unseen.load_data(sys.argv[1])
opened = peak()
rows = [slice(i, i + 4096) for i in range(0, len(data.X), 4096)]
chunks = ((data.X[i], data.y[i]) for i in rows)
model = unseen.JEDM().fit(chunks, class_embeddings=data.class_embeddings)
trained = peak()
labels = model.predict(data.X[-3:])
print(json.dumps([imported, mapped, opened, trained, data.X.nbytes, labels.tolist()]))
"""


@pytest.mark.slow
def test_five_gigabytes_open_and_train_in_a_tenth_of_that(tmp_path):
    if not sys.platform.startswith("linux"):
        pytest.skip("reads resident memory from /proc")
    if shutil.disk_usage(tmp_path).free < 12 * 2**30:
        pytest.skip("less than 12 GB of disk are free")
    n, p, step = 655_360, 2048, 4096
    rng = np.random.default_rng(0)
    names = [f"class {i}" for i in range(50)]
    codes = np.arange(n) % 50
    centres = rng.normal(size=(50, p)).astype(np.float32)
    folder = tmp_path / "large"
    folder.mkdir()
    header = {"descr": "<f4", "fortran_order": False, "shape": (n, p)}
    noise = rng.normal(size=(step, p)).astype(np.float32)
    try:
        with open(folder / "features.npy", "wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for start in range(0, n, step):
                file.write((centres[codes[start : start + step]] + noise).data)
        (folder / "labels.csv").write_text("\n".join(names[c] for c in codes))
        attributes = rng.normal(size=(50, 20))
        lines = ["class,split," + ",".join(f"a{i}" for i in range(20))]
        for i, row in enumerate(attributes):
            side = "unseen" if i >= 40 else "seen"
            lines.append(f"{names[i]},{side}," + ",".join(map(repr, row.tolist())))
        (folder / "classes.csv").write_text("\n".join(lines))
        args = [sys.executable, "-c", TRAIN, str(folder)]
        ended = subprocess.run(args, capture_output=True, text=True, check=True)
    finally:
        shutil.rmtree(folder)
    imported, mapped, opened, trained, n_bytes, labels = json.loads(ended.stdout)
    print(
        f"resident MB: import {imported:.0f}, open_npy {mapped:.0f}, "
        f"load_data {opened:.0f}, trained {trained:.0f}"
    )
    assert n_bytes > 5 * 10**9 and len(labels) == 3
    assert mapped < 200 and opened - imported < 200
    assert trained < 500
