"""Which photos to ask a person about: the study of two constants.

    python studies/photo_asking.py FOLDER [--more 1 1.5 2 3] [--starts 1 10] [--draws 3]

FOLDER holds sets, a set holds classes, a class holds photos, as for photo_sets.py; the
bundled photos are a set, too. As many labels as there are classes are given, for photos
drawn at random and for those that ``suggest`` asks for, with MORE clusters per label
and STARTS of k-means. Printed are, per set: accuracy on the photos nobody gave a label
for, in percent, how many classes were met, and the share of all photos that is right,
the given ones included; means over draws. The last lines are means over sets.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from unseen.metrics import per_class_accuracy
from unseen.photos import NamedPhotos, WeakNamesWarning, encode_folder
from unseen.photos.bundled import load_photos

# The package has a function of that name.
asking: Any = import_module("unseen.asking.suggest")


def sets(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray, Any]]:
    """Yield name, features, truth and encoders of every set."""
    own = load_photos()
    yield "bundled", own.features, own.truth, (own.image_encoder, own.text_encoder)
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        photos = encode_folder(place, workers=0)
        truth = np.array([path.split("/")[0] for path in photos.paths])
        yield place.name, photos.features(), truth, (photos.encoder, "wordllama")


def ways(
    model: NamedPhotos, X: np.ndarray, n: int, seed: int, settings: list
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the rows to ask for, at random and in every setting."""
    yield "random", np.random.default_rng([11, seed]).permutation(len(X))[:n]
    for asking.MORE, asking.STARTS in settings:
        rows = asking.suggest(X, n, reliability=model.reliability_, random_state=seed)
        yield f"{asking.MORE:g} clusters, {asking.STARTS} starts", rows


def main() -> None:
    """Print one line per set and way, then the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--more", type=float, nargs="+", default=[1, 1.5, 2, 3])
    parser.add_argument("--starts", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    settings = list(product(options.more, options.starts))
    warnings.simplefilter("ignore", WeakNamesWarning)
    over_sets = defaultdict(list)
    for name, X, truth, encoders in sets(options.folder):
        names = sorted(set(truth.tolist()))
        alone = NamedPhotos(*encoders).fit(names, allow_unknown=True).adapt(X)
        found = defaultdict(list)
        for seed in range(options.draws):
            for way, rows in ways(alone, X, len(names), seed, settings):
                model = NamedPhotos(*encoders).fit(names, allow_unknown=True)
                given = dict(zip(rows.tolist(), truth[rows].tolist(), strict=True))
                labels = model.adapt(X, given=given).labels_
                left = np.setdiff1d(np.arange(len(X)), rows)
                others = per_class_accuracy(truth[left], labels[left])
                met = len(set(truth[rows]))
                found[way].append([100 * others, met, 100 * np.mean(labels == truth)])
        before = 100 * np.mean(alone.labels_ == truth)
        print(f"{name}\tno label\t\t\t{before:.1f}")
        for way, values in found.items():
            mean = np.mean(values, axis=0)
            over_sets[way].append(mean)
            print(name, way, *(f"{value:.1f}" for value in mean), sep="\t", flush=True)
    for way, values in over_sets.items():
        mean = np.mean(values, axis=0)
        print("mean", way, *(f"{value:.1f}" for value in mean), sep="\t")


if __name__ == "__main__":
    main()
