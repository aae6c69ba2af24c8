"""Names that say nothing about the photos are said to."""

import warnings

import numpy as np
import pytest

from unseen.photos import NamedPhotos, WeakNamesWarning
from unseen.photos.bundled import load_photos
from unseen.photos.doubt import agreement, look_for_doubt


def pile(n_classes=4, per_class=30, noise=0.3):
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(n_classes), per_class)
    centres = rng.normal(size=(n_classes, 20))
    return centres[truth] + noise * rng.normal(size=(len(truth), 20)), truth


def test_agreement_is_one_for_the_groups_and_none_for_others():
    X, truth = pile()
    assert agreement(X, truth, 4) == pytest.approx(1)
    renamed = np.array(list("dacb"))[truth]
    assert agreement(X, renamed, 4) == pytest.approx(1)
    shuffled = np.random.default_rng(1).permutation(truth)
    assert abs(agreement(X, shuffled, 4)) < 0.1


def test_a_weak_list_is_told_what_is_weak_about_it():
    X, truth = pile()
    shuffled = np.random.default_rng(1).permutation(truth)
    names = ["rain", "fog", "dog", "storm"]
    places = [(1001,), (1001,), (1169,), ()]
    trust = ["vague", "vague", "broad", "unknown"]
    evidence, message = look_for_doubt(X, shuffled, names, places, trust)
    assert evidence < 0.2
    assert "rain, fog are read as one kind of thing" in message
    assert "storm says little about looks" in message
    assert look_for_doubt(X, truth, names, places, trust) == (1.0, "")
    few = look_for_doubt(X[::10], shuffled[::10], names, places, trust)
    assert few == (1.0, "")  # too few to tell


def test_the_bundled_photos_and_their_names_are_not_weak():
    photos = load_photos()
    model = NamedPhotos(photos.image_encoder, photos.text_encoder)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakNamesWarning)
        model.fit(photos.classes).adapt(photos.features)
    assert model.weak_names_ == "" and model.message_.startswith("Adapted to 1,000")


def test_wrong_names_for_the_bundled_photos_are_weak():
    photos = load_photos()
    model = NamedPhotos(photos.image_encoder, photos.text_encoder)
    model.fit(photos.classes)
    rng = np.random.default_rng(0)
    model.prototypes_ = rng.normal(size=model.prototypes_.shape)
    with pytest.warns(WeakNamesWarning, match="say little about these photos"):
        model.adapt(photos.features)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "weak"),
    [("caltech20", False), ("trash6", True), ("weather", True), ("food10", True)],
)
def test_it_fires_where_it_should_on_real_photos(shared_data, name, weak):
    from unseen.photos import encode_folder

    photos = encode_folder(shared_data / "photos" / name, workers=0)
    names = sorted({path.split("/")[0] for path in photos.paths})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakNamesWarning)
        model = NamedPhotos().fit(names, allow_unknown=True).adapt(photos.features())
    assert bool(model.weak_names_) == weak
