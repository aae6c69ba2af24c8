"""The bundled photos are what they say, and self-training gains on them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.checks import close
from unseen import (
    ESZSL,
    JEDM,
    TSTD,
    AnchoredSelfTraining,
    SelfTraining,
    load_data,
    per_class_accuracy,
)
from unseen.naming.nouns import nouns
from unseen.photos.bundled import load_photos, load_thumbnails


@pytest.mark.parametrize("name", ["photos", "photos-200"])
def test_seen_rows_are_of_the_head_and_unseen_rows_are_the_photos(name):
    data, photos = load_data(name), load_photos()
    head, _ = photos.image_encoder.head()
    every = len(head) // len(data.seen)
    assert_array_equal(data.X_seen, head[::every])
    assert_array_equal(data.y_seen, data.seen)
    assert_array_equal(data.X_unseen, photos.features)
    assert_array_equal(data.y_unseen, photos.truth)
    assert data.ids[data.to_label].tolist() == photos.paths  # so that jpegs[i] is X[i]
    assert data.unseen.tolist() == photos.classes


def test_both_tables_describe_every_class_by_its_own_name():
    data = load_data("photos")
    assert data.tables == ("words", "tree") and len(data.classes) == 1010
    assert data.class_embeddings.columns.is_unique
    cranes = [name for name in data.seen if name.startswith("crane")]
    assert cranes == ["crane (wading bird)", "crane (lifting device)"]
    first = [words.split(",")[0] for words in nouns().words[:1000]]
    assert [name.split(" (")[0] for name in data.seen] == first
    words, tree = (data.class_embeddings[table] for table in data.tables)
    for name, text in {"tench": "tench, Tinca tinca", "dog": "dog"}.items():
        vector = load_photos().text_encoder.encode([text])[0]
        close(words.loc[name], vector / np.linalg.norm(vector), digits=4)
    below = tree.columns[tree.loc["dog"] > 0]
    assert {"dog", "animal"} <= set(below) and "vehicle" not in below
    assert tree.loc["pug", "dog"] > 0 == tree.loc["tench", "dog"]


def adapted(model, data, dtype=np.float32):
    X_seen, X_unseen = data.X_seen.astype(dtype), data.X_unseen.astype(dtype)
    model.fit(X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    return model.adapt(X_unseen)


@pytest.mark.parametrize("models, wanted", [
    ((JEDM(), TSTD()), (59.3, 64.4)), ((ESZSL(), SelfTraining(ESZSL())), (54.9, 76.8)),
])  # fmt: skip
def test_self_training_gains_on_the_photos_by_word_vectors(models, wanted):
    data = load_data("photos", "words")
    labels = (adapted(model, data).labels_ for model in models)
    found = [100 * per_class_accuracy(data.y_unseen, one) for one in labels]
    close(found, wanted, within=0.3)


def test_self_training_gains_on_the_pets_by_their_attributes():
    data = load_data("pets")
    assert len(data.classes) == 37 and len(data.X) == 555
    assert data.unseen.tolist() == data.classes[::4].tolist()
    assert load_thumbnails("pets").keys() == set(data.ids)
    folders = [path.split("/")[0].replace("_", " ") for path in data.ids]
    assert_array_equal(folders, data.y)
    model = adapted(TSTD(), data)
    found = [100 * per_class_accuracy(data.y_unseen, labels) for labels in (
        JEDM().fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
        .predict(data.X_unseen), model.labels_)]  # fmt: skip
    close(found, (74.7, 89.3), within=1.5)
    table = data.class_embeddings.sample(frac=1, random_state=0).set_axis(data.classes)
    other = JEDM().fit(data.X_seen, data.y_seen, class_embeddings=table)
    assert per_class_accuracy(data.y_unseen, other.predict(data.X_unseen)) < 0.3


@pytest.mark.filterwarnings("ignore::unseen.transduction.anchored.WeakStartWarning")
def test_one_row_per_class_leaves_no_width_to_rounding():
    data = load_data("photos-200")
    one, other = (
        adapted(AnchoredSelfTraining(), data, dtype)
        for dtype in (np.float32, np.float64)
    )
    assert (one.labels_ == other.labels_).mean() > 0.995
    close(one.reliability_, other.reliability_, within=0.02)
