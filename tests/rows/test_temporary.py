"""Bytes in temporary files: as in memory, wherever they begin, by any threads."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import unseen.loading.blocks as blocks
import unseen.rows.temporary as temporary
from unseen.rows.temporary import TemporaryBytes

PART = 7  # bytes: no number of any type begins where a part does


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(temporary, "PART_BYTES", PART)


@given(
    writes=st.lists(st.tuples(st.integers(0, 300), st.binary(min_size=1, max_size=90))),
    reads=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 90))),
)
def test_what_was_written_is_read_as_from_one_piece_of_memory(writes, reads):
    found, memory = TemporaryBytes(), np.zeros(400, dtype=np.uint8)
    found.write(memory, 0)
    for start, new in writes:
        new = np.frombuffer(new, dtype=np.uint8)
        found.write(new, start)
        memory[start : start + len(new)] = new
    for start, length in reads:
        back = np.empty(length, dtype=np.uint8)
        found.read(back, start)
        assert_array_equal(back, memory[start : start + length])


@pytest.mark.parametrize("native", [True, False], ids=["pwrite", "seek"])
def test_threads_write_and_read_at_once(native, monkeypatch):
    if not native:  # as on Windows, which has neither
        monkeypatch.delattr(blocks.os, "pwrite")
        monkeypatch.delattr(blocks.os, "preadv")
    found = TemporaryBytes()
    rows = np.random.default_rng(0).normal(size=(64, 5))
    back = np.empty_like(rows)
    with ThreadPoolExecutor(8) as pool:
        for work, where in ((found.write, rows), (found.read, back)):
            done = [pool.submit(work, where[i], i * 40) for i in range(64)]
            for one in done:
                one.result()
    assert_array_equal(back, rows)


def test_bytes_that_were_never_written_are_an_error():
    found = TemporaryBytes()
    found.write(np.arange(3.0), 0)
    with pytest.raises(ValueError, match="the temporary file: ended while it was read"):
        found.read(np.empty(4), 0)


def test_files_are_closed_with_their_last_user(monkeypatch):
    opened, real = [], temporary.tempfile.TemporaryFile

    def record(**options):
        opened.append(real(**options))
        return opened[-1]

    monkeypatch.setattr(temporary.tempfile, "TemporaryFile", record)
    found = TemporaryBytes()
    assert opened
    assert not any(file.closed for file in opened)
    del found
    gc.collect()
    assert all(file.closed for file in opened)
