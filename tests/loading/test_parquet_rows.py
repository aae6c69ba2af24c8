"""Rows of parquet files as a stream."""

import numpy as np
import pandas as pd
import pytest

from unseen.loading.parquet import iter_parquet

pytest.importorskip("pyarrow")
X = np.arange(60_000.0).reshape(20_000, 3)
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


def test_a_column_that_numbers_the_rows_is_no_feature(path):
    frame = pd.read_parquet(path)
    frame.insert(0, "id", np.arange(len(frame)))
    frame.to_parquet(path)
    np.testing.assert_array_equal(np.concatenate(list(iter_parquet(path))), X)
