"""Names become prototypes: oracles, limits and the ways it may fail."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

import unseen
from tests.checks import close
from unseen.naming.nouns import N_CLASSES, nouns
from unseen.naming.reading import read_names
from unseen.photos import NamedPhotos, prototypes
from unseen.photos.bundled import load_photos
from unseen.photos.prototypes import (
    TREE,
    cosines,
    drawn_to,
    measure_scale,
    named_prototypes,
)


class Letters:
    """A text encoder that counts letters: quick, and knows nothing of other scripts."""

    name, dimension, space = "letters", 26, None

    def encode(self, texts):
        alphabet = "abcdefghijklmnopqrstuvwxyz"
        return np.array([[t.lower().count(a) for a in alphabet] for t in texts], float)


class Eyes:
    """A small head whose rows follow the tree: kinds of one thing look alike."""

    name = "eyes"

    def head(self):
        random = np.random.default_rng(0)
        looks = random.normal(size=(len(nouns().words), 12))
        rows = np.array([looks[nouns().lineages[i]].sum(0) for i in range(N_CLASSES)])
        return rows, np.zeros(N_CLASSES)


@pytest.fixture(scope="module")
def photos():
    return load_photos()


@pytest.fixture(scope="module")
def demo(photos):
    model = NamedPhotos(photos.image_encoder, photos.text_encoder).fit(photos.classes)
    return model.adapt(photos.features[::4])


@pytest.fixture(scope="module")
def small():
    return NamedPhotos(Eyes(), Letters()).fit(["dog", "cat", "truck"])


# ---- prototypes -------------------------------------------------------------------


def test_the_ridge_and_what_it_makes_of_classes_left_out(monkeypatch):
    rng = np.random.default_rng(0)
    M, groups = 14, np.repeat(np.arange(5), [1, 2, 3, 4, 4])
    seen, places = rng.normal(size=(2 * M, 3)), 0.3 * rng.normal(size=(M, 2))
    C = np.hstack([places, seen[:M, :2]])
    monkeypatch.setattr(prototypes, "branches", lambda most: groups)
    learned = prototypes.learn_map(seen, places, C, TREE)

    texts, there = (np.exp(-cdist(a, a, "sqeuclidean")) for a in (seen, places))
    K, both = 0.7 * texts + 0.3 * np.tile(there, (2, 2)) + 100, np.vstack([C, C])
    alpha = np.linalg.solve(K + 0.5 * np.eye(len(K)), both)
    close(learned.alpha, alpha, digits=5)
    missed = np.empty_like(C)
    for m in range(M):
        kept = np.flatnonzero(np.tile(groups, 2) != groups[m])
        ridge = K[np.ix_(kept, kept)] + 0.5 * np.eye(len(kept))
        missed[m] = C[m] - K[m, kept] @ np.linalg.solve(ridge, both[kept])
    inverse = np.linalg.inv(K + 0.5 * np.eye(len(K)))
    close(prototypes.left_out(inverse, alpha, C, groups), C - missed, digits=6)
    close(learned.cosine_scale, measure_scale(C, C - missed), digits=4)


def test_a_description_changes_only_its_own_class(small):
    told = {"cat": "big wild beast"}
    model = NamedPhotos(Eyes(), Letters()).fit(["dog", "cat", "truck"],
                                               descriptions=told)  # fmt: skip
    close(model.prototypes_[[0, 2]], small.prototypes_[[0, 2]], digits=9)
    assert np.abs(model.prototypes_[1] - small.prototypes_[1]).max() > 1e-3


def test_text_vectors_of_the_same_space_are_the_prototypes():
    words = Letters()
    words.space = "eyes"
    model = NamedPhotos(Eyes(), words).fit(["dog", "cat"])
    assert_array_equal(model.prototypes_, words.encode(["dog", "cat"]))


@pytest.mark.parametrize(
    ("names", "told", "message"),
    [
        ("cat", None, "one text"),
        (["cat"], {"dog": "barks"}, "'dog' has a description"),
        (["cat", "斑馬"], None, "does not know '斑馬' as .* Describe them"),
    ],
)
def test_wrong_names_are_refused_in_one_sentence(names, told, message):
    with pytest.raises(ValueError, match=message):
        NamedPhotos(Eyes(), Letters()).fit(names, descriptions=told)


def test_an_encoder_without_head_needs_texts_of_its_space():
    class Blind:
        name = "blind"

    with pytest.raises(ValueError, match="no classifier head"):
        NamedPhotos(Blind(), Letters()).fit(["cat"])
    with pytest.raises(ValueError, match="head has 10 rows"):
        named_prototypes(np.eye(10))


# ---- adapting ---------------------------------------------------------------------


def test_the_answer_is_consistent(demo, photos):
    X = photos.features[::4]
    alone = demo.predict(X)  # without a say of their neighbours
    assert np.mean(alone == demo.labels_) > 0.9
    shares = demo.predict_proba(X)
    close(shares.sum(axis=1), 1, digits=5)
    assert_array_equal(demo.classes_[shares.argmax(axis=1)], alone)
    assert (demo.second_ != demo.labels_).all()
    assert ((demo.reliability_ > 0) & (demo.reliability_ <= 1)).all()
    assert demo.first_trusted_.max() <= len(demo.rounds_)
    answers = [demo.projected_, *(told.labels for told in demo.rounds_)]
    for number, labels in enumerate(answers):  # since then, and not before
        settled = demo.first_trusted_ <= number
        assert (labels[settled] == demo.labels_[settled]).all()
        just = demo.first_trusted_ == number + 1
        assert (labels[just] != demo.labels_[just]).all()
    assert ((demo.novelty_ >= 0) & (demo.novelty_ <= 1)).all()
    assert demo.weak_names_ == "" and demo.message_.startswith("Adapted to 250")
    close(demo.novelty(X), demo.novelty_, digits=5)


def test_saved_and_loaded_it_answers_the_same(demo, photos, tmp_path):
    again = unseen.load_model(demo.save(tmp_path / "photos.unseen"))
    assert again.image_encoder == "lite0" and again.text_encoder == "wordllama"
    X = photos.features[::4]
    assert_array_equal(again.predict(X), demo.predict(X))
    close(again.novelty(X), demo.novelty_, digits=5)
    assert demo.image_encoder is photos.image_encoder  # it keeps what it had


def test_a_name_nobody_knows_is_taken_if_asked_for(small):
    model = NamedPhotos(Eyes(), Letters())
    model.fit(["dog", "xqzzt"], allow_unknown=True)
    assert model.trust_.tolist() == ["broad", "unknown"]
    with pytest.raises(ValueError, match="The encoder does not know '斑馬'"):
        model.fit(["dog", "斑馬"], allow_unknown=True)


# ---- what is kept -----------------------------------------------------------------


def test_what_was_learned_is_kept(monkeypatch, small):
    fail = pytest.fail
    monkeypatch.setattr(prototypes, "learn_map", lambda *_: fail("learned again"))
    model = NamedPhotos(Eyes(), Letters()).fit(["dog", "cat", "truck"])
    assert_array_equal(model.prototypes_, small.prototypes_)
    assert model.cosine_scale_ == small.cosine_scale_


# ---- how sure it is ---------------------------------------------------------------


@pytest.mark.parametrize("noise", [2.9, 1.5])
def test_the_scale_is_as_sure_as_it_is_right(noise):
    rng = np.random.default_rng(0)
    n, p = 1000, 400
    C = rng.normal(size=(n, p))
    Z = C + noise * rng.normal(size=(n, p))
    found = measure_scale(C, Z)
    rows = [rng.choice(n, 10, replace=False) for _ in range(200)]
    scores = [cosines(C[r], Z[r]) for r in rows]

    def trust(s):
        chances = np.stack([np.exp(s * one) for one in scores])
        return (chances / chances.sum(axis=2, keepdims=True)).max(axis=2).mean()

    right = np.mean([one.argmax(axis=1) == np.arange(10) for one in scores])
    assert abs(trust(found) - right) < 0.05
    assert trust(100.0) > right - 0.05  # CLIP's scale is no less sure


def test_an_answer_that_was_not_adapted_is_read_on_its_own_scale(small):
    X = np.random.default_rng(1).normal(size=(2, 12))
    model = NamedPhotos(Eyes(), Letters()).fit(["dog", "cat", "truck"])
    model.adapt(X)
    assert not model.adapted_
    chances = np.exp(model.cosine_scale_ * cosines(X, model.prototypes_))
    chances /= chances.sum(axis=1, keepdims=True)
    close(model.reliability_, chances.max(axis=1), digits=6)
    close(model.predict_proba(X), chances, digits=4)
    assert_array_equal(model.labels_, model.projected_)


def test_a_name_the_tree_is_silent_of_is_drawn_to_what_it_explains():
    rng = np.random.default_rng(0)
    Z, C = rng.normal(size=(3, 5)), rng.normal(size=(N_CLASSES, 5))
    readings = read_names(["kitchen", "dog", "qwertz"])
    drawn = drawn_to(Z, C, readings)
    kind = np.sum([C[leaf] for leaf in nouns().mentioning("kitchen")], axis=0)
    kind *= np.linalg.norm(Z[0]) / np.linalg.norm(kind)
    share = 0.5 * (1 - readings[0].known)
    assert 0 < share < 0.5
    close(drawn[0], (1 - share) * Z[0] + share * kind)
    assert_array_equal(drawn[1:], Z[1:])  # dogs are well known, qwertz explains nothing
