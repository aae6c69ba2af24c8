"""Rows of parquet files as a stream, from a process that can be stopped."""

import time

import numpy as np
import pandas as pd
import pytest

from unseen.limits import raised
from unseen.loading.parquet import iter_parquet
from unseen.loading.reader_process import ReaderProcess

pytest.importorskip("pyarrow")
X = np.arange(60_000.0).reshape(20_000, 3)  # more than a pipe holds
Y = np.array(["okapi", "seal", "zebra"])[np.arange(20_000) % 3]


@pytest.fixture
def path(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=Y)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=7_000)
    return tmp_path / "rows.parquet"


def test_all_rows_come_in_order_with_their_labels(path):
    features, labels = zip(*iter_parquet(path, "kind"), strict=True)
    assert len(features) > 2
    np.testing.assert_array_equal(np.concatenate(features), X)
    assert np.concatenate(labels).tolist() == Y.tolist()
    np.testing.assert_array_equal(np.concatenate(list(iter_parquet(path))), X)


def test_a_folder_is_read_by_name_without_what_is_hidden(path):
    path.with_name("_drafts").mkdir()
    path.with_name("_drafts").joinpath("x.parquet").write_bytes(b"no parquet")
    pd.DataFrame(X[:2] + 0.5, columns=list("abc")).to_parquet(
        path.with_name("first.parquet")
    )
    rows = np.concatenate(list(iter_parquet(path.parent)))
    np.testing.assert_array_equal(rows[:3], [*(X[:2] + 0.5), X[0]])


def test_who_takes_long_over_a_batch_still_gets_the_next(path):
    """The process ends itself when it works for long, not while it waits."""
    process = ReaderProcess()
    try:
        list(process.parquet_tables(path))
        with raised(reader_seconds=1):  # it would end itself after twice that
            tables = process.parquet_tables(path)
            next(tables)
            time.sleep(2.5)
            assert sum(map(len, tables)) == len(X)
    finally:
        process.close()


@pytest.mark.parametrize("place", [0.3, 0.6, 0.999])
def test_damaged_rows_are_told_with_the_file(path, place):
    content = bytearray(path.read_bytes())
    start = int(len(content) * place)
    content[start : start + 40] = b"?" * min(40, len(content) - start)
    path.write_bytes(content)
    try:
        read = np.concatenate(list(iter_parquet(path)))
    except ValueError as error:
        assert str(path) in str(error)
    else:  # in numbers that no checksum covers, damage shows as other numbers
        assert read.shape == X.shape


def test_a_process_that_dies_is_an_error_about_the_file(path, monkeypatch):
    started = []
    plain = ReaderProcess._ask

    def ask(self, *arguments, **options):
        started.append(self)
        return plain(self, *arguments, **options)

    monkeypatch.setattr(ReaderProcess, "_ask", ask)
    rows = iter_parquet(path)
    next(rows)
    started[0]._process.kill()
    with pytest.raises(ValueError, match=r"rows\.parquet: the file is damaged"):
        list(rows)
