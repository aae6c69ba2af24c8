"""Frames of several libraries give what pandas gives, as rows, labels and tables."""

import numpy as np
import pandas as pd
import pytest

from tests.checks import close, make_data
from unseen import ESZSL, SelfTraining


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


def test_a_round_is_shown_in_one_line(data):
    model = SelfTraining(ESZSL()).fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )
    first = model.adapt(data.X_unseen).rounds_[0]
    assert repr(first).startswith("<Round: Kept ") and len(repr(first)) < 120
    assert "Kept" in first._repr_html_()


def test_a_note_of_a_round_cannot_be_markup(data):
    from unseen.transduction.rounds import Round

    note = "<script>alert(1)</script>"
    done = Round(0.5, np.array([1]), 0, 0.0, np.array(["a"]), note)
    assert "<script>" not in done._repr_html_()


def test_self_training_says_what_an_estimator_has_to_be(data):
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(TypeError, match="inherits from ZeroShotClassifier"):
        SelfTraining(LogisticRegression()).fit(data.X_seen, data.y_seen)
