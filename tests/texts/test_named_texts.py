"""Texts by names alone: prototypes, novelty and answers against plain arithmetic."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.base import clone

import unseen
from tests.checks import close, unit
from unseen import load_model, per_class_accuracy
from unseen.naming import find_encoder
from unseen.naming.classes import spoken
from unseen.texts import NamedTexts, load_demo_texts


@pytest.fixture(scope="module")
def demo():
    return load_demo_texts()


@pytest.fixture(scope="module")
def adapted(demo):
    return NamedTexts().fit(demo.classes).adapt(demo.texts)


def test_adapting_helps_on_the_bundled_texts(demo, adapted):
    model = clone(NamedTexts(template="about {}")).fit(["pets", "weather"])
    assert model.predict(["the dog barks", "it rains"]).tolist() == ["pets", "weather"]
    before = per_class_accuracy(demo.truth, adapted.projected_)
    after = per_class_accuracy(demo.truth, adapted.labels_)
    assert 0.70 < before < after
    assert adapted.adapted_ and "Adapted to 200 texts" in adapted.message_


def test_names_descriptions_and_phrasings_count_the_same():
    told = {
        "card_lost": "I cannot find my card | where is my card",
        "refund": ["a", "b"],
    }
    model = NamedTexts(template="about {}").fit(
        ["card_lost", "refund", "openingHours"], descriptions=told
    )
    words = find_encoder()
    for row, said in zip(
        model.prototypes_,
        [
            ["about card lost", "I cannot find my card", "where is my card"],
            ["about refund", "a", "b"],
            ["about opening Hours"],
        ],
        strict=True,
    ):
        close(row, unit(words.encode(said).astype(float)).mean(axis=0), digits=6)


def test_joined_words_are_read_apart():
    said = {
        "card_lost": "card lost", "cardLost": "card Lost", "a/b.c": "a b c", "C": "C",
        "HTTPServerError": "HTTP Server Error", "lost-or-stolen": "lost or stolen",
        "iPhone 12": "i Phone 12", "___": "___", "カード紛失": "カード紛失",
    }  # fmt: skip
    assert {name: spoken(name) for name in said} == said


def test_texts_that_say_nothing_have_no_label(demo, adapted):
    texts = ["", "   ", *demo.texts, "\ue000"]
    model = NamedTexts().fit(demo.classes).adapt(texts)
    assert model.labels_[[0, 1, -1]].tolist() == ["", "", ""]
    assert np.isnan(model.reliability_[[0, 1, -1]]).all()
    assert (model.novelty_[[0, 1, -1]] == 1).all()
    assert_array_equal(model.labels_[2:-1], adapted.labels_)  # and change nothing
    nothing = NamedTexts().fit(demo.classes).adapt(["", " "])
    assert not nothing.adapted_ and nothing.labels_.tolist() == ["", ""]


def test_vectors_and_texts_get_the_same_answer(demo, adapted):
    vectors = find_encoder().encode(demo.texts)
    other = NamedTexts().fit(demo.classes).adapt(vectors)
    assert_array_equal(other.labels_, adapted.labels_)
    one = [adapted.predict_proba([text])[0] for text in demo.texts[:5]]
    close(one, adapted.predict_proba(vectors)[:5], digits=5)


def test_given_labels_may_name_a_new_class_or_none(demo):
    rows = {i: "animals at home" for i in np.flatnonzero(demo.truth == "pets")[:8]}
    names = [name for name in demo.classes if name != "pets"]
    none = int(np.flatnonzero(demo.truth == "music")[0])
    model = NamedTexts().fit(names)
    model.adapt(demo.texts, given={**rows, none: unseen.NONE_OF_THESE})
    assert model.classes_.tolist() == [*names, "animals at home"]
    assert model.labels_[none] == unseen.NONE_OF_THESE
    found = model.labels_[demo.truth == "pets"] == "animals at home"
    assert found[8:].mean() > 0.4
    with pytest.raises(ValueError, match="given has a label for row 500"):
        NamedTexts().fit(names).adapt(demo.texts, given={500: "music"})
    vectors = unit(find_encoder().encode(demo.texts).astype(float))
    apart = vectors[list(rows)].mean(axis=0) - vectors.mean(axis=0)
    middle = unit(model.prototypes_[:-1]).mean(axis=0)
    close(model.prototypes_[-1], middle + apart, digits=6)
    assert model.predict_proba(demo.texts[:3]).shape == (3, 10)


def test_classes_that_only_given_labels_made_are_forgotten(demo, adapted, tmp_path):
    """As if the labels had never been given, also after a reading from disk."""
    few = NamedTexts().fit(demo.classes).adapt(demo.texts[:3])
    rows = dict.fromkeys(range(6), "a class of its own")
    model = NamedTexts().fit(demo.classes).adapt(demo.texts, given=rows)
    assert len(model.classes_) == len(demo.classes) + 1
    for one in (model, load_model(model.save(tmp_path / "m.unseen"))):
        for texts, fresh in (demo.texts, adapted), (demo.texts[:3], few):
            one.adapt(texts)
            assert_array_equal(one.classes_, fresh.classes_)
            assert_array_equal(one.labels_, fresh.labels_)
            close(one.novelty_, fresh.novelty_, digits=6)
            close(one.prototypes_, fresh.prototypes_)
            assert one.adapted_ == (len(texts) > 3)


def test_a_saved_model_answers_the_same(demo, adapted, tmp_path):
    again = load_model(adapted.save(tmp_path / "m.unseen"))
    assert again.encoder == "wordllama"
    new = ["the striker shot over the goal", "is it going to rain?", ""]
    assert_frame_equal(again.answer(new), adapted.answer(new))
    assert not any(text.encode() in (tmp_path / "m.unseen").read_bytes()
                   for text in demo.texts)  # fmt: skip


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: NamedTexts(template="about").fit(["a"]), "Write {} once"),
        (lambda: NamedTexts().fit(["a", "a"]), "named twice"),
        (
            lambda: NamedTexts().fit(["\ue000"]),
            "has no meaning for the encoder 'wordllama'",
        ),
        (
            lambda: NamedTexts().fit(["a"], descriptions={"b": "c"}),
            "'b' has a description",
        ),
        (lambda: NamedTexts().fit(["a"]).predict("text"), "X is one text"),
        (lambda: NamedTexts().fit(["a"]).predict([3]), "holds 3, which is not a text"),
        (lambda: NamedTexts().fit(["a"]).predict(np.ones((2, 3))), "Use one encoder"),
        (lambda: NamedTexts("nobody").fit(["a"]), "There is no text encoder 'nobody'"),
        (lambda: NamedTexts(3).fit(["a"]), "3 is not an encoder"),
    ],
)
def test_mistakes_are_told_in_a_sentence(make, words):
    with pytest.raises((ValueError, TypeError), match=words.replace("{}", r"\{\}")):
        make()
