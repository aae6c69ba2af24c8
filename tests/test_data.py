"""ZeroShotData keeps what it is given, splits it, and refuses what does not fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from unseen.data import ZeroShotData, fuse_tables


def test_the_two_sides_share_out_the_rows(zoo):
    assert_array_equal(zoo.X_seen, zoo.X[[0, 2, 3, 5]])
    assert_array_equal(zoo.X_unseen, zoo.X[[1, 4]])
    assert zoo.y_seen.tolist() == ["seal", "zebra", "otter", "zebra"]
    assert zoo.y_unseen.tolist() == ["okapi", "okapi"]
    assert zoo.seen.tolist() == ["zebra", "seal", "otter"]
    assert zoo.tables == ("looks", "words")
    assert replace(zoo, class_embeddings=zoo.class_embeddings["looks"]).tables == ()


def test_resplitting_leaves_the_first_alone(zoo):
    other = zoo.with_unseen(["seal", "otter"])
    assert other.seen.tolist() == ["zebra", "okapi"]
    assert len(other.X_unseen) == 2
    assert zoo.unseen.tolist() == ["okapi"]
    assert other.X is zoo.X
    again = replace(zoo, y=pd.Series(zoo.y), unseen=pd.Index(zoo.unseen))
    assert_array_equal(again.y, zoo.y)


def test_repr_is_short_with_many_classes():
    names = [f"a rather long class name {i}" for i in range(300)]
    table = pd.DataFrame(np.eye(300), index=names)
    shown = repr(ZeroShotData("many", np.eye(300), names, table, names[:100]))
    assert len(shown.splitlines()) == 4 and "200 seen classes" in shown
    assert max(map(len, shown.splitlines())) < 110


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda d: {"y": d.y[:-1]}, ValueError, r"y has shape \(5,\). Give 6 of them"),
        (lambda d: {"y": [*d.y[:-1], "yak"]}, ValueError, r"row 5: names 'yak'"),
        (lambda d: {"y": np.arange(6)}, TypeError, r"y holds 0\b"),
        (lambda d: {"y": d.y[:, None]}, ValueError, r"y has shape \(6, 1\)"),
        (lambda d: {"unseen": ["yak"]}, ValueError, r"unseen: names yak"),
        (lambda d: {"unseen": ["seal", "seal"]}, ValueError, r"'seal' more than once"),
        (lambda d: {"unseen": [2]}, TypeError, r"unseen holds 2"),
        (lambda d: {"X": d.X.astype(np.float16)}, TypeError, r"X is float16"),
        (lambda d: {"X": d.X.tolist()}, TypeError, r"X is list"),
        (lambda d: {"X": d.X[:, 0]}, ValueError, r"X has shape \(6,\)"),
        (lambda d: {"y": ["zebra"] * 6}, ValueError, r"'seal': is seen but has no row"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(zoo, change, error, message):
    with pytest.raises(error, match=f"^zoo: .*{message}"):
        replace(zoo, **change(zoo))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda t: t.to_numpy(), TypeError, "is a ndarray"),
        (lambda t: t.iloc[:0], ValueError, r"empty, with shape \(0, 5\)"),
        (
            lambda t: t.rename(index={"seal": "okapi"}),
            ValueError,
            "'okapi' more than",
        ),
        (
            lambda t: t.reset_index(drop=True),
            TypeError,
            "holds 0, which is not a string",
        ),
        (lambda t: t.replace(t.iloc[3, 0], np.nan), ValueError, "'otter' holds NaN"),
        (lambda t: t["looks"].assign(fur="thick"), TypeError, "'fur' .* not numeric"),
        (lambda t: pd.concat({"a": t}, axis=1), TypeError, "have one level, or two"),
        (lambda t: t.rename(index={"seal": "two\nlines"}), ValueError, "of one line"),
        (lambda t: t.rename(index={"seal": " "}), ValueError, "row 1: has no name"),
    ],
)
def test_a_bad_table_is_refused_by_name(zoo, change, error, message):
    with pytest.raises(error, match=f"^zoo: .*{message}"):
        replace(zoo, class_embeddings=change(zoo.class_embeddings))


def test_fused_tables_follow_the_first_and_must_agree(zoo):
    looks = zoo.class_embeddings["looks"]
    fused = fuse_tables({"looks": looks, "again": looks.iloc[::-1]})
    assert_array_equal(fused["again"], fused["looks"])
    assert fused.index.equals(looks.index)
    with pytest.raises(ValueError, match=r"differ in 'otter'"):
        fuse_tables({"looks": looks, "words": looks.drop("otter")})
    with pytest.raises(ValueError, match="empty mapping"):
        fuse_tables({})


def test_rows_set_aside_leave_training(zoo):
    aside = np.array([False, False, True, False, False, False])
    data = replace(zoo, seen_test=aside)
    assert_array_equal(data.X_seen, zoo.X[[0, 3, 5]])
    assert data.y_seen_test.tolist() == ["zebra"]
    assert_array_equal(data.X_unseen, zoo.X_unseen)
    for wrong, message in [
        (aside[:3], r"seen_test is bool of shape \(3,\)"),
        (aside.astype(int), "seen_test is int64"),
        (zoo.y == "okapi", "rows 1, 4: is set aside .* but its class is unseen"),
        (zoo.y != "okapi", "class 'zebra': is seen but has no row to learn from"),
    ]:
        with pytest.raises(ValueError, match=f"^zoo: .*{message}"):
            replace(zoo, seen_test=wrong)
