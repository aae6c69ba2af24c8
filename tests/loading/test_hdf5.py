"""HDF5 and MATLAB 7.3: read in a process that can be stopped, never other files."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from layouts import NAMES, UNSEEN, A, X, Y, write_xlsa17_73
from numpy.testing import assert_array_equal

from unseen.limits import raised
from unseen.loading import load_data, reader_process
from unseen.loading.matlab import MatFile
from unseen.loading.reader_process import ReaderProcess, one_reader_process
from unseen.loading.reader_worker import grid

h5py = pytest.importorskip("h5py")


def write_set(path, **changed):
    """Write the small set; a changed array may be a function of file and key."""
    arrays = {"X": X, "y": Y, "class_names": NAMES, "att": A, "unseen": [2, 3]}
    with h5py.File(path, "w") as file:
        for key, value in {**arrays, **changed}.items():
            if callable(value):
                value(file, key)
            else:
                file[key] = value
    return path


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.h5"
    with h5py.File(path, "w") as file:
        file["X"] = X
        file["inner/X"] = X
    (tmp_path / "secret.bin").write_bytes(X.tobytes())
    return path


def external_link(file, key):
    file[key] = h5py.ExternalLink("secret.h5", "/X")


def soft_link_through_an_external_one(file, key):
    file["door"] = h5py.ExternalLink("secret.h5", "/inner")
    file[key] = h5py.SoftLink("/door/X")


def raw_storage(file, key):
    outside = [("secret.bin", 0, X.nbytes)]
    file.create_dataset(key, X.shape, "f8", external=outside)


def virtual(file, key):
    layout = h5py.VirtualLayout(X.shape, "f8")
    layout[:] = h5py.VirtualSource("secret.h5", "X", shape=X.shape)
    file.create_virtual_dataset(key, layout)


@pytest.mark.parametrize(
    "outside", [external_link, soft_link_through_an_external_one, raw_storage, virtual]
)
def test_numbers_in_another_file_are_refused(tmp_path, secret, outside):
    path = write_set(tmp_path / "set.h5", X=outside)
    with pytest.raises(ValueError, match=r"set\.h5: .*other file"):
        load_data(path)


@pytest.mark.parametrize("outside", [external_link, raw_storage, virtual])
def test_matlab_variables_in_another_file_are_refused(tmp_path, secret, outside):
    folder = write_xlsa17_73(tmp_path / "set")
    (tmp_path / "secret.h5").rename(folder / "secret.h5")
    (tmp_path / "secret.bin").rename(folder / "secret.bin")
    with h5py.File(folder / "res101.mat", "a") as file:
        del file["features"]
        outside(file, "features")
    with pytest.raises(ValueError, match=r"res101\.mat: .*other file"):
        load_data(folder)


def test_a_class_name_is_never_the_content_of_another_file(tmp_path):
    folder = write_xlsa17_73(tmp_path / "set")
    (tmp_path / "passwords").write_bytes(b"root:x:0:0\n" * 9)
    with h5py.File(folder / "att_splits.mat", "a") as file:
        outside = [(str(tmp_path / "passwords"), 0, 40)]
        cell = file.create_dataset("#refs#/stolen", (20, 1), "u2", external=outside)
        names = file["allclasses_names"][()]
        names[0, 0] = cell.ref
        file["allclasses_names"][...] = names
    with pytest.raises(ValueError, match="lies in other files"):
        load_data(folder)


def test_links_inside_the_file_are_followed(tmp_path):
    def inside(file, key):
        file["deep/er/rows"] = X
        file["deep/short"] = h5py.SoftLink("er/rows")
        file[key] = h5py.SoftLink("/deep/short")
        file["nowhere"] = h5py.SoftLink("/missing")
        file["deep/loop"] = file["/"]

    assert_array_equal(load_data(write_set(tmp_path / "set.h5", X=inside)).X, X)


def test_a_link_without_end_is_refused(tmp_path):
    def ring(file, key):
        file[key] = h5py.SoftLink("/other")
        file["other"] = h5py.SoftLink(f"/{key}")

    with pytest.raises(ValueError, match="a link that leads to no end"):
        load_data(write_set(tmp_path / "set.h5", X=ring))


# The wide ones do not fit in one block: by rows, and by columns.
@pytest.mark.parametrize(
    "shape, chunks",
    [
        ((7, 5), (2, 2)),
        ((7, 5), None),
        ((9,), (4,)),
        ((2500, 2000), (50, 2000)),
        ((2500, 2000), (2500, 40)),
    ],
)
def test_blocks_put_together_are_the_dataset(tmp_path, shape, chunks):
    values = np.arange(np.prod(shape), dtype=">f4").reshape(shape)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=values, chunks=chunks, compression=chunks and 1)
    with one_reader_process() as process:
        found = process.numbers(tmp_path / "a.h5", "a")
    assert found.dtype == values.dtype
    assert_array_equal(found, values)


@pytest.mark.parametrize("chunks", [None, (2, 3), (7, 1), (1, 5)])
def test_the_grid_covers_every_number_once(chunks):
    counts = np.zeros((7, 5), dtype=int)
    for block in grid(counts.shape, chunks, 4 << 20):
        counts[block] += 1
        assert counts[block].nbytes <= 16 * (4 << 20)
    assert (counts == 1).all()


def replaced_worker(monkeypatch, tmp_path, code):
    script = tmp_path / "worker.py"
    script.write_text(code)
    monkeypatch.setattr(reader_process.reader_worker, "__file__", str(script))


def test_a_file_that_keeps_its_reader_busy_is_given_up(tmp_path, monkeypatch):
    path = write_set(tmp_path / "set.h5")
    replaced_worker(monkeypatch, tmp_path, "while True: pass")
    start = time.perf_counter()
    with raised(reader_seconds=0.1):
        with pytest.raises(ValueError, match=r"set\.h5: .*came to no end"):
            load_data(path)
    assert 1 < time.perf_counter() - start < 8


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="nothing counts its time")
@pytest.mark.parametrize(
    "then, ended_by",
    [
        ("while True: pass", getattr(signal, "SIGPROF", 0)),
        ("import time; time.sleep(1)", 0),
    ],
)
def test_work_ends_a_reader_and_waiting_for_the_processor_does_not(then, ended_by):
    code = f"from unseen.loading.reader_worker import end_after; end_after(0.3)\n{then}"
    ended = subprocess.run([sys.executable, "-c", code], timeout=60)
    assert ended.returncode == -ended_by


def test_a_file_that_ends_its_reader_is_named_and_not_asked_again(
    tmp_path, monkeypatch
):
    path = write_set(tmp_path / "set.h5")
    replaced_worker(monkeypatch, tmp_path, "import os; os.abort()")
    process, starts = ReaderProcess(), []
    start = reader_process._start
    monkeypatch.setattr(
        reader_process, "_start", lambda *given: starts.append(given) or start(*given)
    )
    for _ in range(3):
        with pytest.raises(ValueError, match=r"set\.h5: .*ended its process"):
            process.datasets(path)
    assert len(starts) == 1


def test_one_process_serves_all_files_of_a_set(tmp_path, monkeypatch):
    folder = write_xlsa17_73(tmp_path / "set")
    starts = []
    start = reader_process._start
    monkeypatch.setattr(
        reader_process, "_start", lambda *given: starts.append(given) or start(*given)
    )
    assert load_data(folder).unseen.tolist() == UNSEEN
    assert len(starts) == 1


@pytest.mark.parametrize(
    "shape, kind", [((10**6, 10**6), "f8"), ((1,), "S500000000"), ((3, 10**9), "i1")]
)
def test_a_few_bytes_that_claim_gigabytes_are_refused(tmp_path, shape, kind):
    def claims(file, key):
        file.create_dataset(key, shape, kind, chunks=tuple(min(n, 99) for n in shape))

    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"set\.h5: .*(claims shape|damaged)"):
        load_data(write_set(tmp_path / "set.h5", X=claims, class_names=claims))
    assert time.perf_counter() - start < 5


def test_a_struct_is_no_matrix(tmp_path):
    with h5py.File(tmp_path / "a.mat", "w") as file:
        file["s/field"] = 1.0
    with pytest.raises(ValueError, match=r"a\.mat: 's' is a struct"):
        MatFile(tmp_path / "a.mat").numbers("s")
