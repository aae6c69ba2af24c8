"""Frames of several libraries give what pandas gives, as rows, labels and tables."""

import numpy as np
import pandas as pd
import pytest

from tests.checks import close, make_data
from unseen import ESZSL


def polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def pyarrow(frame):
    library = pytest.importorskip("pyarrow")
    return library.Table.from_pandas(frame, preserve_index=False)


def labels_of(kind, y):
    frame = kind(pd.DataFrame({"y": y}))
    return frame["y"]


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.mark.parametrize("kind", [polars, pyarrow])
def test_rows_labels_and_tables_of_any_frame(data, kind):
    names = [f"f{i}" for i in range(data.X.shape[1])]
    X, pile = (
        kind(pd.DataFrame(rows, columns=names)) for rows in (data.X_seen, data.X_unseen)
    )
    table = data.class_embeddings
    table.columns = [f"a{i}" for i in range(table.shape[1])]
    given = kind(table.reset_index(names="class"))
    wanted = ESZSL().fit(data.X_seen, data.y_seen, class_embeddings=table)
    found = ESZSL().fit(X, labels_of(kind, data.y_seen), class_embeddings=given)
    close(found.coef_, wanted.coef_)
    assert found.predict(pile).tolist() == wanted.predict(data.X_unseen).tolist()


@pytest.mark.parametrize("kind", [polars, pyarrow])
def test_a_table_without_names_says_what_is_missing(data, kind):
    numbers = pd.DataFrame({"a": np.arange(10.0), "b": np.ones(10)})
    with pytest.raises(ValueError, match="without a text column"):
        ESZSL().fit(data.X_seen, data.y_seen, class_embeddings=kind(numbers))
