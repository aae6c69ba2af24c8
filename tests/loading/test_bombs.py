"""Small files that claim to be huge, lines without end, pipes: refused at once.

Every case runs in a process of its own whose memory and time are measured.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

CODE = """
import resource, sys, time
import unseen.loading
from pathlib import Path
from unseen.loading import embed_names, load_data, read_raw
from unseen.loading.parquet import iter_parquet
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
try:
    {call}
except ValueError as error:
    print(error)
else:
    raise SystemExit("it was read")
use = resource.getrusage(resource.RUSAGE_SELF)
child = resource.getrusage(resource.RUSAGE_CHILDREN)
print(max(use.ru_maxrss - base, child.ru_maxrss) // 1024)
print(time.process_time() - start + child.ru_utime + child.ru_stime)
"""


def refusal(path: Path, call: str = "load_data(sys.argv[1])") -> str:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(call=call), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    text, megabytes, seconds = done.stdout.strip().split("\n")
    assert str(path) in text
    assert int(megabytes) < 1000 and float(seconds) < 5
    return text


def npz_bomb(path: Path, huge: str, dtype: str, shape: tuple[int, ...]) -> Path:
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    start = (
        b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117).encode()
    )
    size = np.dtype(dtype).itemsize * int(np.prod(shape))
    parts = {"X": np.eye(2), "y": ["a", "b"], "class_names": ["a", "b"]}
    parts |= {"unseen": ["b"], "att": np.eye(2)}
    del parts[huge]
    np.savez_compressed(path, **parts)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open(f"{huge}.npy", "w", force_zip64=True) as member,
    ):
        member.write(start + b"\n")
        for at in range(0, size, 1 << 24):
            member.write(bytes(min(1 << 24, size - at)))
    return path


@pytest.mark.parametrize(
    "huge, dtype, shape",
    [("y", "<U100000000", (1,)), ("X", "<f8", (50_000_000, 1))],
)
def test_a_packed_array_of_hundreds_of_megabytes_in_a_few_kilobytes(
    tmp_path, huge, dtype, shape
):
    path = npz_bomb(tmp_path / "bomb.npz", huge, dtype, shape)
    assert path.stat().st_size < 600_000
    assert "would unpack to 400000128" in refusal(path)


def test_an_array_that_is_announced_but_not_there(tmp_path):
    path = tmp_path / "bomb.npz"
    start = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
    header = "{'descr': '<U500000000', 'fortran_order': False, 'shape': (9,), }"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("X", "y", "class_names", "unseen"):
            archive.writestr(f"{name}.npy", start + header.ljust(118).encode())
    assert "128 bytes, but its header speaks of 18000000128" in refusal(path)


def test_parquet_files_of_many_equal_rows_and_of_one_endless_row(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "bomb.parquet"
    rows = pa.table({f"x{i}": np.zeros(1_000_000) for i in range(4)})
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(rows)
    assert path.stat().st_size < 1_000_000
    assert "would unpack to 320000000" in refusal(path)
    assert "would unpack" in refusal(path, "next(iter_parquet(Path(sys.argv[1])))")
    values = pa.array(np.zeros(100_000_000, np.float32))
    lists = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    pq.write_table(pa.table({"label": ["okapi"], "features": lists}), path)
    assert path.stat().st_size < 1_000_000
    assert "would unpack to 40000000" in refusal(path)


@pytest.mark.parametrize(
    "line", ["a," * 200_000, "b," + "a" * 70_000_000], ids=["columns", "letters"]
)
def test_a_line_of_text_that_is_too_long(tmp_path, line):
    path = tmp_path / "wide.csv"
    path.write_text(f"{line}\n{line}\n")
    assert "at most 20000" in (text := refusal(path)) or "Break it up" in text


def test_names_that_would_fill_the_memory_side_by_side(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("label,a\n" + "b,1\n" * 300_000 + "c" * 999 + ",1\n")
    assert "do not fit in memory" in refusal(path, "read_raw(sys.argv[1])")


def test_word_vectors_that_unpack_without_end(tmp_path):
    import gzip

    path = tmp_path / "vectors.gz"
    path.write_bytes(gzip.compress(b"a 1\n" * 20_000_000, 9))
    assert path.stat().st_size < 200_000
    call = "embed_names(['seal'], sys.argv[1])"
    assert "unpacks to far more" in refusal(path, call)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is a pipe" in refusal(tmp_path / "pipe.csv")
    assert "is a device" in refusal(Path(os.devnull))
    call = "embed_names(['seal'], sys.argv[1])"
    assert "is a pipe" in refusal(tmp_path / "pipe.csv", call)
