"""Class tables: every accepted form reads the same, every fault is named."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen.core.classes import ClassTable, encode, read_table

NAMES = ["zebra", "seal", "okapi"]


@pytest.fixture
def looks():
    return pd.DataFrame([[1.0, 0], [0, 2], [1, 1]], index=NAMES)


@pytest.fixture
def words():
    return pd.DataFrame([[1.0, 0, 3], [0, 2, 1], [1, 1, 5]], index=NAMES)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_a_mapping_of_names_to_vectors_is_a_table(looks, kind):
    vectors = {name: kind(row) for name, row in looks.T.to_dict("list").items()}
    names, embeddings, widths = read_table(vectors)
    assert_array_equal(names, NAMES)
    close(embeddings, looks)
    assert widths == (2,)
    with pytest.raises(ValueError, match="NaN or infinity in the row of 'okapi'"):
        read_table(vectors | {"okapi": kind([1.0])})


def test_several_tables_are_fused_by_name(looks, words):
    fused = read_table({"looks": looks, "words": words.iloc[::-1]})
    two_level = read_table(pd.concat({"looks": looks, "words": words}, axis=1))
    for names, embeddings, widths in (fused, two_level):
        assert_array_equal(names, NAMES)
        close(embeddings, np.hstack([looks, words]))
        assert widths == (2, 3)


def test_fused_tables_weigh_the_same(looks, words):
    names, embeddings, widths = read_table({"looks": looks, "words": 1000 * words})
    unit = ClassTable(names, embeddings, np.ones(3, bool), widths).units()
    close(np.linalg.norm(unit[:, :2], axis=1), np.sqrt(0.5))
    close(np.linalg.norm(unit, axis=1), 1)


def test_without_a_table_classes_are_their_own_indicators():
    table, codes = encode(np.array(["b", "a", "b"]))
    assert_array_equal(table.names, ["a", "b"])
    assert_array_equal(codes, [1, 0, 1])
    assert_array_equal(table.embeddings, np.eye(2))


def test_groups_names_and_newcomers(looks):
    table, _ = encode(np.array(["zebra", "seal"]), looks)
    assert_array_equal(table.candidates().names, ["okapi"])
    assert_array_equal(table.candidates("seen").names, ["zebra", "seal"])
    assert_array_equal(table.candidates(["okapi", "zebra"]).names, ["okapi", "zebra"])
    new = table.candidates(pd.DataFrame([[0.5, 0.5]], index=["tapir"]))
    assert_array_equal(new.names, ["tapir"])
    assert_array_equal(table.candidates(np.eye(2)).names, [3, 4])


@pytest.mark.parametrize(
    "classes, message",
    [
        ("everyone", "'everyone' is not a group of classes"),
        (["tapir"], "names 'tapir', which the fitted table of 3 classes"),
        (["zebra", "zebra"], "names each class once"),
        ([], "shape"),
        (pd.DataFrame([[1.0, 9]], index=["zebra"]), "gives 'zebra' no"),
        (pd.DataFrame([[np.nan] * 2], index=["tapir"]), "gives 'tapir' no"),
        (pd.DataFrame([[np.nan, 2]], index=["zebra"]), "NaN or infinity in the row"),
        (np.ones((2, 5)), "5 dimensions, but the model was fitted on 2"),
    ],
)
def test_a_competition_that_cannot_be_is_told(looks, classes, message):
    table, _ = encode(np.array(["zebra", "seal"]), looks)
    with pytest.raises(ValueError, match=message):
        table.candidates(classes)


def test_if_all_are_seen_all_compete_and_none_is_unseen(looks):
    table, _ = encode(np.array(NAMES), looks)
    assert_array_equal(table.candidates().names, NAMES)
    with pytest.raises(ValueError, match="3 were seen and 0 not"):
        table.candidates("unseen")


@pytest.mark.parametrize(
    "table, message",
    [
        (pd.DataFrame([[1.0], [2]], index=["a", "a"]), "names 'a'. Name every"),
        (pd.DataFrame([[1.0], [2]], index=["a", None]), "Name every class, once"),
        (pd.DataFrame([[1.0], [np.inf]], index=["a", "b"]), "in the row of 'b'"),
        (pd.DataFrame([["x"], ["y"]], index=["a", "b"]), "more than numbers"),
        (np.ones((2, 0)), "shape"),
        ({}, "empty mapping"),
        ({"p": np.ones((2, 2)), "q": np.ones((3, 2))}, "same classes"),
    ],
)
def test_faults_of_a_table_are_named(table, message):
    with pytest.raises(ValueError, match=message):
        encode(np.array(["a", "b"]), table)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
def test_labels_that_are_numbers_are_the_numbers_of_classes(dtype):
    y = np.array([2, 0, 2, 3], dtype=dtype)
    table, codes = encode(y, np.eye(5))
    assert codes.tolist() == [2, 0, 2, 3]
    assert codes.dtype == np.intp
    assert table.seen.tolist() == [True, False, True, True, False]


@pytest.mark.parametrize("stranger", [5, 2**63])
def test_a_number_beyond_the_table_is_named_with_its_row(stranger):
    y = np.array([0, 1, stranger], dtype=np.uint64)
    with pytest.raises(ValueError, match=rf"{stranger} \(row 2\).*5 classes"):
        encode(y, np.eye(5))
    with pytest.raises(ValueError, match=r"-1 \(row 1\).*5 classes"):
        encode(np.array([0, -1, 2]), np.eye(5))
