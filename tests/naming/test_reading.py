"""Names are read as a person would read them."""

import csv
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unseen.cli import app
from unseen.naming import read_name, read_names
from unseen.naming.nouns import N_CLASSES, nouns
from unseen.naming.reading import head_noun, nearest_classes, saying

TABLE = Path(__file__).parent / "common_nouns.csv"
# WordNet has the boxing ring before the one on a finger, and counts neither.
MISREAD = {"ring"}


def words_above(reading):
    """Return every word of every node above a reading's place."""
    tree = nouns()
    above = {up for node in reading.place for up in tree.lineages[node]}
    return {word for node in above for word in tree.words[node].split(", ")}


def first_words(reading):
    return [nouns().words[node].split(", ")[0] for node in reading.place]


def common_nouns():
    with open(TABLE, encoding="utf-8", newline="") as file:
        return [(row["name"], row["kind"]) for row in csv.DictReader(file)]


def plural(noun):
    if noun in ("glasses", "jeans"):
        return noun
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    y = noun.endswith("y") and noun[-2] not in "aeiou"
    return f"{noun[:-1]}ies" if y else f"{noun}s"


@pytest.mark.parametrize("form", [str, str.upper, str.title, plural])
def test_common_nouns_are_what_a_person_means(form):
    wrong = {
        name: first_words(read_name(form(name)))
        for name, kind in common_nouns()
        if not set(kind.split("|")) & words_above(read_name(form(name)))
    }
    assert set(wrong) <= MISREAD, wrong
    assert len(common_nouns()) >= 200


def classes_of_imagenet():
    return [(leaf, nouns().words[leaf].split(", ")) for leaf in range(N_CLASSES)]


def test_every_class_of_imagenet_finds_its_leaf():
    """By its first name alone; of two classes with one name, either is right."""
    wrong = []
    for leaf, words in classes_of_imagenet():
        (found,) = read_name(words[0]).place
        names = [word.lower() for word in nouns().words[found].split(", ")]
        if found != leaf and words[0].lower() not in names:
            wrong.append((words[0], nouns().words[found]))
    assert not wrong


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["mouse", "cat", "dog"], "rodent"),
        (["mouse", "keyboard", "monitor"], "device"),
        (["crane", "heron", "stork"], "bird"),
        (["crane", "bulldozer", "truck"], "device"),
        (["bass", "trout", "salmon"], "fish"),
        (["bass", "guitar", "drum"], "musical instrument"),
        (["glass", "metal", "plastic", "cardboard"], "matter"),
        (["glass", "mug", "bottle"], "container"),
        (["tiger", "man", "woman"], "big cat"),
    ],
)
def test_a_homonym_is_read_by_its_list(names, kind):
    assert kind in words_above(read_names(names)[0])
    turned = read_names(names[::-1])[-1]
    assert turned == read_names(names)[0]


@pytest.mark.parametrize(
    ("name", "description", "kind"),
    [
        ("mouse", "a computer device", "device"),
        ("mouse", "a small animal", "rodent"),
        ("crane", "a tall machine for lifting", "lifting device"),
        ("crane", "a bird with long legs", "bird"),
        ("jaguar", "a car", "car"),
        ("Bella", "my brown dog", "dog"),
        ("zebra", "a striped horse", "zebra"),
        ("zebra", "stripes, long neck", "zebra"),  # attributes do not define
        ("class 12", "zebra", "zebra"),
        ("🦓", "zebra", "zebra"),
        ("X1", "small horse with stripes", "horse"),
        ("apple", "a computer", "computer"),
    ],
)
def test_a_description_decides(name, description, kind):
    assert kind in words_above(read_name(name, description))


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Fire_Trucks", "fire engine"),
        ("FireTruck", "fire engine"),
        ("old fire-truck", "fire engine"),
        ("012.Black_footed_albatross", "albatross"),
        ("Mice", "mouse"),
        ("geese", "goose"),
        ("wolves", "wolf"),
        ("T-shirt", "jersey"),
        ("grey whales", "grey whale"),
        ("aeroplanes", "airplane"),
        ("patas monkey", "patas"),
        ("golden retriever dog", "golden retriever"),
        ("iPod", "iPod"),
        ("tallbuilding", "building"),
        ("livingroom", "area"),
    ],
)
def test_a_name_is_folded(name, word):
    assert first_words(read_name(name)) == [word]


@pytest.mark.parametrize(
    "name", ["Paris", "Einstein", "Bella", "Garfield", "qwxz", "斑馬", "🦓", " ", "12a"]
)
def test_what_is_no_kind_of_thing_has_no_place(name):
    reading = read_name(name)
    assert reading.place == () and reading.trust == "unknown"
    assert nearest_classes(reading) == []


@pytest.mark.parametrize(
    ("name", "trust"),
    [
        ("zebra", "exact"), ("deer", "close"), ("dog", "broad"), ("thing", "vague"),
        ("sunrise", "vague"), ("happiness", "vague"), ("qwxz", "unknown"),
        # The tree knows a tulip for a plant, a suburb for a location, and no more.
        ("tulip", "broad"), ("suburb", "vague"),
    ],
)  # fmt: skip
def test_trust_follows_how_much_a_name_says(name, trust):
    assert read_name(name).trust == trust


def test_nearest_classes_are_of_the_same_kind():
    assert nearest_classes(read_name("zebra")) == ["zebra"]
    near = nearest_classes(read_name("deer"))
    assert len(near) == 3
    assert all("ruminant" in words_above(read_name(one)) for one in near)
    assert nearest_classes(read_name("fog")) == []


def test_the_command_shows_how_names_are_read():
    names = 'crane, "mouse: a computer device", Bella'
    words = ["label", "photos", "--dry-run", "--classes"]
    shown = CliRunner().invoke(app, [*words, names])
    assert shown.exit_code == 1 and "Bella" in shown.stdout
    _, *lines = shown.stdout.splitlines()
    assert lines[1].split()[:2] == ["mouse", "exact"] and "as described" in lines[1]
    assert lines[2].split()[:2] == ["Bella", "unknown"]
    assert "a kind of lifting device" in lines[0]  # no bird
    told = CliRunner().invoke(app, [*words, names, "--json"])
    assert told.exit_code == 1
    assert [one["trust"] for one in json.loads(told.stdout)] == [
        "exact", "exact", "unknown",
    ]  # fmt: skip
    lost = CliRunner().invoke(app, [*words, "nowhere.txt"])
    assert lost.exit_code == 2 and "nowhere.txt" in lost.stderr


def test_classes_that_a_noun_explains():
    tree = nouns()
    by_hand = [
        leaf for leaf in range(N_CLASSES)
        if {"glass", "glasses"} & set(re.findall("[a-z]+", tree.glosses[leaf]))
    ]  # fmt: skip
    assert tree.mentioning("glass") == by_hand != []
    assert tree.mentioning("qwertz") == [] == tree.mentioning("a(b")


def test_a_noun_is_known_unless_it_is_described():
    noun, described = read_names(["old fire trucks", "mouse"], {"mouse": "an animal"})
    assert (noun.noun, described.noun) == ("fire trucks", "")
    assert saying(read_name("storms")) == "stormy"
    assert saying(read_name("dog")) == ""  # its looks are known
    assert head_noun("opencountry") == "country"
