"""Photos by class names alone, as ``unseen label`` labels them, beside plain baselines.

A set is a folder with a folder of photos per class, or the bundled photos; the names of
the folders are all that is known of the classes. The class table that a column names is
the image encoder; ``+sun`` behind it describes scenes by SUN's attributes, see sun.py.
Photos are labelled in five ways, the ITEMS of results.csv:

    words      nearest prototype; prototypes from word vectors of the names alone
    ImageNet   the encoder's own posterior over ImageNet's classes below the place of a
               name in WordNet's tree: its sum over their number, for else the widest
               name gets all; the first of several names at one place gets theirs
    names      nearest prototype; words and places, what ``unseen label`` starts from
    k-means    from that start
    adapted    what ``unseen label`` answers

With the encoder of the package, the photos are also thrown among its cats and dogs,
with nothing but *cat* and *dog* offered: how well novelty tells them apart.

    python studies/photos.py photos --data ../shared/data
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import variants  # noqa: F401, registers k-means
from scipy.special import softmax
from sun import described_by_sun

from unseen.experiments.bench import Bench
from unseen.experiments.plan import Column, Plan
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.sources import Source
from unseen.experiments.tables import (
    MAKERS,
    NOTHING,
    Table,
    in_column,
    notes,
    number,
    signed,
)
from unseen.experiments.tasks import TASKS
from unseen.methods import METHODS
from unseen.trust.metrics import per_class_accuracy

PLANS = ("photos",)
BUNDLED = "cifar10"  # what the catalogue calls the photos of the package
PETS, PETS_ENCODER = ["cat", "dog"], "lite0"


class PhotoSet(NamedTuple):
    """Features, their classes, the class names, the encoders, and descriptions."""

    X: np.ndarray
    truth: np.ndarray
    names: list[str]
    image: Any
    text: Any
    descriptions: dict[str, str] | None = None


def photos(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Label photos in every way; score the labels and what is said about them."""
    from unseen.photos import NamedPhotos, WeakNamesWarning
    from unseen.photos.prototypes import cosines

    found = read_set(bench.source.path, part)
    # Names that no dictionary has are part of the case: nobody describes them here.
    more: dict[str, Any] = {
        "descriptions": found.descriptions,
        "allow_unknown": True,
    }
    model = NamedPhotos(found.image, found.text).fit(found.names, **more)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakNamesWarning)  # it is a finding here
        model.adapt(found.X)
        seconds = time.process_time() - start
    names = np.array(found.names)
    around = METHODS["k-means"].from_prototypes(model.prototypes_).adapt(found.X)
    scores = posterior_by_tree(found.X, found.image.head(), found.names)
    answers = {
        "words": names[cosines(found.X, by_words(found)).argmax(axis=1)],
        "ImageNet": names[scores.argmax(axis=1)],
        "names": model.projected_,
        "k-means": names[around.labels_],
        "adapted": model.labels_,
    }
    for item, labels in answers.items():
        right = labels == found.truth
        lowest = min(right[found.truth == name].mean() for name in found.names)
        share = per_class_accuracy(found.truth, labels)
        took = seconds if item == "adapted" else None
        yield Finding("accuracy", item, value=share, seconds=took)
        yield Finding("lowest class", item, value=float(lowest))
    right = model.labels_ == found.truth
    yield Finding("right", value=float(right.mean()))
    yield Finding("reliability", value=float(model.reliability_.mean()))
    yield Finding("adapted", value=int(model.adapted_), note=model.stopped_because_)
    yield Finding("weak names", value=int(model.weak_names_ != ""))
    yield Finding("photos", value=len(found.truth))
    if found.image.name == PETS_ENCODER:
        yield from among_pets(found)


def among_pets(found: PhotoSet) -> Iterator[Finding]:
    """Tell whether photos of no cat and no dog are found among cats and dogs."""
    from sklearn.metrics import roc_auc_score

    from unseen.photos import NamedPhotos
    from unseen.photos.bundled import load_photos
    from unseen.photos.label import FOREIGN

    own = load_photos()
    pets = own.features[np.isin(own.truth, PETS)]
    foreign = found.X[~np.isin(found.truth, PETS)]
    model = NamedPhotos(own.image_encoder, own.text_encoder).fit(PETS)
    novelty = model.novelty(np.vstack([pets, foreign]))
    strange = np.arange(len(novelty)) >= len(pets)
    yield Finding("foreign", "AUROC", value=float(roc_auc_score(strange, novelty)))
    apart = novelty > FOREIGN
    yield Finding("foreign", "found", value=float(apart[strange].mean()))
    yield Finding("foreign", "mistaken", value=float(apart[~strange].mean()))


def by_words(found: PhotoSet) -> np.ndarray:
    """Return prototypes by the words of names alone, without WordNet's tree."""
    from unseen.naming.reading import plain_text, read_names, saying
    from unseen.photos.prototypes import NameMap

    told = found.descriptions or {}
    readings = read_names(found.names, told)
    texts = [plain_text(r.name, told.get(r.name) or saying(r)) for r in readings]
    return NameMap(found.image.head()[0], found.text, tree=0.0)(texts, readings)


def posterior_by_tree(
    X: np.ndarray, head: tuple[np.ndarray, np.ndarray], names: list[str]
) -> np.ndarray:
    """Return what a classifier of ImageNet says of every name, (n_photos, n_names).

    That is the mean posterior of the classes below its place: names are as likely as
    one another, and so are the classes below one.

    Parameters
    ----------
    X : ndarray of shape (n_photos, n_features)
    head : (ndarray of shape (1000, n_features), ndarray of shape (1000,))
        The classifier's last layer.
    names : list of str
        A name without a place in the tree gets nothing.
    """
    from unseen.naming.nouns import nouns
    from unseen.naming.reading import read_names

    weights, bias = head
    posterior = softmax(np.asarray(X, np.float64) @ weights.T + bias, axis=1)
    columns = []
    for reading in read_names(names):
        below = {leaf for node in reading.place for leaf in nouns().members[node]}
        columns.append(posterior[:, sorted(below)].sum(axis=1) / max(len(below), 1))
    return np.stack(columns, axis=1)


def is_photo_set(source: Source) -> bool:
    """Tell whether a data set is photos, with nothing known of classes but names."""
    return source.path == BUNDLED or (Path(source.path).is_dir() and not source.about)


@lru_cache(maxsize=2)
def read_set(path: str, part: str) -> PhotoSet:
    """Encode a set; features are kept in the cache, so only the first time is long."""
    from unseen.naming import find_encoder
    from unseen.photos import encode_folder

    if path == BUNDLED:
        from unseen.photos.bundled import load_photos

        own = load_photos()
        return PhotoSet(
            own.features, own.truth, own.classes, own.image_encoder, own.text_encoder
        )
    encoder, _, described = part.partition("+")
    image = find_encoder(encoder, "image")
    encoded = encode_folder(path, encoder=image)
    truth = np.array([Path(photo).parts[0] for photo in encoded.paths])
    names = sorted(set(truth.tolist()))
    X, descriptions = np.asarray(encoded.features()), None
    if described:
        descriptions = described_by_sun(Path(path))
    return PhotoSet(X, truth, names, image, find_encoder("wordllama"), descriptions)


# ---- tables --------------------------------------------------------------------------

WAYS = ("words", "ImageNet", "names", "k-means", "adapted")
DOUBTS = [
    "lowest class", "reliability", "too sure by", "did adapt", "warned", "among pets",
]  # fmt: skip


def photos_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Accuracy of every way, and how far the adapted answer admits doubt."""
    rows = []
    for column in plan.columns:
        found = _findings(plan, results, column)
        cells = [_percent(found, "accuracy", way) for way in WAYS]
        cells += [_percent(found, "lowest class", "adapted")]
        cells += [_percent(found, "reliability"), _too_sure(found)]
        cells += [_yes(found, "adapted"), _yes(found, "weak names")]
        cells += [_percent(found, "foreign", "AUROC")]
        rows.append((column.head, cells))
    heads = [("", list(WAYS)), ("", DOUBTS)]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "photos", notes=said)


def photos_short_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Accuracy by names and adapted, and whether it warned."""
    rows = []
    for column in plan.columns:
        found = _findings(plan, results, column)
        cells = [_percent(found, "accuracy", way) for way in ("names", "adapted")]
        cells += [_percent(found, "reliability"), _yes(found, "weak names")]
        rows.append((column.head, cells))
    heads = [("", ["names alone", "adapted", "reliability", "warned"])]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "photos", notes=said)


Found = dict[tuple[str, str], float]


def _findings(plan: Plan, results: pd.DataFrame, column: Column) -> Found:
    mine = results[(results.task == plan.task) & in_column(results, column)]
    columns = mine["measure"], mine["item"].fillna(""), mine["value"]
    return {(str(m), str(i)): value for m, i, value in zip(*columns, strict=True)}


def _percent(found: Found, measure: str, item: str = "") -> str:
    key = measure, item
    return number(100 * found[key]) if key in found else NOTHING


def _too_sure(found: Found) -> str:
    keys = ("reliability", ""), ("right", "")
    if not all(key in found for key in keys):
        return NOTHING
    sure, right = (found[key] for key in keys)
    return signed(100 * (sure - right))


def _yes(found: Found, measure: str) -> str:
    value = found.get((measure, ""))
    return NOTHING if value is None else "yes" if value else "no"


TASKS["photos"] = photos
MAKERS |= {"photos": photos_table, "photos-short": photos_short_table}


if __name__ == "__main__":
    from laboratory import main

    main("photos")
