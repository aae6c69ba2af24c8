"""Class names as people write them down."""

import os
import time

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.naming import read_classes
from unseen.naming.names import checked_names


def test_names_between_commas():
    assert read_classes(" zebra ,okapi,, great  white shark,") == (
        ["zebra", "okapi", "great white shark"],
        {},
    )


def test_a_text_file_with_descriptions_comments_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "classes.txt"
    text = "# my zoo\nzebra\n\nokapi: striped legs, long neck: rare\nчёрный кот\n"
    path.write_text(text, "utf-8-sig")
    assert read_classes(str(path)) == read_classes(path)
    assert read_classes(path) == (
        ["zebra", "okapi", "чёрный кот"],
        {"okapi": "striped legs, long neck: rare"},
    )


def test_a_table_describes_by_words_and_attributes(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_text(
        "name,description,has_stripes,long neck,legs\n"
        "zebra,lives in herds,1,0,4\n"
        "okapi,,1,0.9,4\n"
        "snake,,0,,4\n"
    )
    assert read_classes(path) == (
        ["zebra", "okapi", "snake"],
        {
            "zebra": "lives in herds, has stripes, legs",
            "okapi": "has stripes, long neck, legs",
            "snake": "legs",
        },
    )


def test_python_takes_lists_dicts_and_tables():
    assert read_classes(["a", "b: c"]) == (["a", "b"], {"b": "c"})
    assert read_classes({"a": "", "b": "c"}) == (["a", "b"], {"b": "c"})
    frame = pd.DataFrame({"furry": [True, False]}, index=["cat", "fish"])
    assert read_classes(frame) == (["cat", "fish"], {"cat": "furry"})


@pytest.mark.parametrize(
    "name, told",
    [
        ("🦓", "zebra"),
        ("🐕‍🦺", "dog safety vest"),
        ("🐶", "dog"),
        ("❤️", "heavy black heart"),
    ],
)
def test_an_emoji_is_spelled_out(name, told):
    assert read_classes([name]).descriptions == {name: told}


def test_a_name_with_letters_is_not_spelled_out():
    assert read_classes(["斑马", "cat 🐈", "собака"]).descriptions == {}


def test_two_ways_to_compose_a_name_are_one():
    with pytest.raises(ValueError, match="named twice"):
        read_classes(["caf\u00e9", "cafe\u0301"])


@pytest.mark.parametrize(
    "source, said",
    [
        ("", "names no class"),
        (" , ,", "names no class"),
        ([], "names no class"),
        ("cat,dog,cat", "'cat' is named twice"),
        ([": a description"], "has no name"),
        (pd.DataFrame({"a": [1]}, index=[None]), "has no name"),
        (["cat", "sea\nlion"], r"'sea\\nlion' runs over several lines"),
        ("zebra\nokapi", "between commas"),
        ({"sea\u2028lion": ""}, "several lines"),
        (pd.DataFrame({"a": [1]}, index=["sea\r\nlion"]), "several lines"),
        (["cat", "x" * 1001], r"1,001 letters.*UNSEEN_LIMITS=name_letters"),
    ],
)
def test_what_cannot_be_is_one_sentence(source, said):
    with pytest.raises(ValueError, match=said):
        read_classes(source)


def test_files_that_cannot_be_read_say_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_classes("nowhere.txt")
    path = tmp_path / "classes.txt"
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(ValueError, match="is not UTF-8"):
        read_classes(path)
    for content in ("", "name\n"):
        empty = tmp_path / "classes.csv"
        empty.write_text(content)
        with pytest.raises(ValueError, match="names no class"):
            read_classes(empty)
    empty.write_text('a,b\nc,"d\n')
    with pytest.raises(ValueError, match="no table of commas"):
        read_classes(empty)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_any_list_gives_names_or_one_sentence(names):
    try:
        found = read_classes(names)
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert len(found.names) == len(names)
        assert set(found.descriptions) <= set(found.names)


def test_ten_thousand_names_are_checked_in_a_moment(tmp_path):
    names = [f"thing {i}" for i in range(10_000)]
    table = pd.DataFrame({"looks": "blue", "stripes": 1.0}, index=names)
    started = time.process_time()
    assert read_classes(names).names == names
    assert len(read_classes(table).descriptions) == 10_000
    assert checked_names(names) == names
    assert time.process_time() - started < 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")
def test_a_pipe_or_a_huge_file_of_names_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(ValueError, match="is a pipe"):
        read_classes(tmp_path / "pipe.txt")
    with open(tmp_path / "huge.csv", "wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(ValueError, match="UNSEEN_LIMITS=text_bytes"):
        read_classes(tmp_path / "huge.csv")
