"""Rows of parquet files as a stream."""

import numpy as np
import pandas as pd
import pytest

from unseen.loading.frames import iter_parquet

pytest.importorskip("pyarrow")
X = np.arange(60_000.0).reshape(20_000, 3)
Y = np.array(["okapi", "seal", "zebra"])[np.arange(20_000) % 3]


def test_all_rows_of_a_folder_come_in_order_with_their_labels(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=Y)
    frame.insert(0, "id", np.arange(len(frame)))  # numbers the rows: no feature
    frame[:2].to_parquet(tmp_path / "first.parquet")
    frame[2:].to_parquet(tmp_path / "second.parquet", row_group_size=7_000)
    (tmp_path / "_drafts").mkdir()
    (tmp_path / "_drafts" / "x.parquet").write_bytes(b"no parquet")
    features, labels = zip(*iter_parquet(tmp_path, "kind"), strict=True)
    assert len(features) > 3
    np.testing.assert_array_equal(np.concatenate(features), X)
    assert np.concatenate(labels).tolist() == Y.tolist()
    again = iter_parquet(tmp_path / "second.parquet")
    np.testing.assert_array_equal(np.concatenate(list(again)), X[2:])
