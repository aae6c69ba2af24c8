"""Class names as people write them down."""

import os

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from unseen.cli import app
from unseen.naming import read_classes


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


def test_an_emoji_is_spelled_out():
    told = {
        "🦓": "zebra",
        "🐕‍🦺": "dog safety vest",
        "🐶": "dog",
        "❤️": "heavy black heart",
    }
    assert read_classes(list(told)).descriptions == told


@pytest.mark.parametrize(
    "source, said",
    [
        ("", "names no class"),
        (" , ,", "names no class"),
        ([], "names no class"),
        ("cat,dog,cat", "'cat' is named twice"),
        (["caf\u00e9", "cafe\u0301"], "named twice"),
        ('"zebra, okapi', "not closed"),
        ([": a description"], "has no name"),
        (pd.DataFrame({"a": [1]}, index=[None]), "has no name"),
        (["cat", "sea\nlion"], r"'sea\\nlion' runs over several lines"),
        ({"sea\u2028lion": ""}, "several lines"),
        (pd.DataFrame({"a": [1]}, index=["sea\r\nlion"]), "several lines"),
        (["cat", "x" * 1001], r"1,001 letters .* at most .* and 1,000"),
    ],
)
def test_what_cannot_be_is_one_sentence(source, said):
    with pytest.raises(ValueError, match=said):
        read_classes(source)


@settings(max_examples=50)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_any_list_gives_names_or_one_sentence(names):
    try:
        found = read_classes(names)
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert len(found.names) == len(names)
        assert set(found.descriptions) <= set(found.names)


@pytest.mark.parametrize(
    "text, names, descriptions",
    [
        (" zebra ,okapi,, great  white,", ["zebra", "okapi", "great white"], {}),
        ('zebra, "a horse, with stripes"', ["zebra", "a horse, with stripes"], {}),
        (
            '"World: politics, war", Sports',
            ["World", "Sports"],
            {"World": "politics, war"},
        ),
        (
            'mouse: "a device, small", cat',
            ["mouse", "cat"],
            {"mouse": "a device, small"},
        ),
        (
            "World: politics, war, Sports: ball, team",
            ["World", "Sports"],
            {"World": "politics, war", "Sports": "ball, team"},
        ),
        ("World: a, b\nSports", ["World", "Sports"], {"World": "a, b"}),
        ('5" screen, 7" screen', ['5" screen', '7" screen'], {}),
    ],
)
def test_commas_and_colons_of_one_text(text, names, descriptions):
    assert read_classes(text) == (names, descriptions)


@pytest.mark.parametrize(
    "text, one, other",
    [
        ("World: politics, war, Sports", '"World: politics", war, Sports', "as 1, "),
        ("crane, mouse: a device, okapi", '"mouse: a device", okapi', "device, okapi"),
    ],
)
def test_a_list_with_two_readings_shows_both(text, one, other):
    with pytest.raises(ValueError, match="in two ways") as refused:
        read_classes(text)
    assert one in str(refused.value) and other in str(refused.value)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_names_longer_than_any_file_name_are_names(tmp_path):
    names = [f"breed of dog number {number}" for number in range(37)]
    text = ", ".join(names)
    assert read_classes(text).names == names
    (tmp_path / "texts.txt").write_text("a dog\n")
    out = tmp_path / "labels.csv"
    answer = run("label", tmp_path / "texts.txt", "--classes", text, "--out", out)
    assert answer.exit_code == 0, answer.output
    answer = run("run", "photos-200", "--unseen", text, "--out", tmp_path / "other.csv")
    assert "too long" not in answer.output and "names no class" in answer.output


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("classes.txt", b"caf\xe9\n", "is not UTF-8"),
        ("classes.csv", b"", "names no class"),
        ("classes.csv", b"name\n", "names no class"),
        ("classes.csv", b'a,b\nc,"d\n', "not a table of commas"),
        ("huge.csv", bytes(65 << 20), "too many for a list"),
    ],
)
def test_files_that_cannot_be_read_say_so(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read_classes(tmp_path / name)


def test_a_file_of_names_needs_no_ending_but_a_plain_file(tmp_path):
    (tmp_path / "classes").write_text("zebra\nokapi: rare, striped\n")
    assert read_classes(str(tmp_path / "classes")).names == ["zebra", "okapi"]
    with pytest.raises(FileNotFoundError):
        read_classes("nowhere.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(ValueError, match="is a pipe"):
        read_classes(tmp_path / "pipe.txt")
