"""Which photos to ask a person about: the study of two constants, and of other ways.

    python studies/photo_asking.py FOLDER [--more 1 1.5 2 3] [--starts 1 10] [--draws 3]
        [--change 1 2 4] [--labels 10] [--bundled no] [--picked yes]

FOLDER holds sets, a set holds classes, a class holds photos, as for photo_sets.py; the
bundled photos are a set, too. As many labels as there are classes are given, for photos
drawn at random and for those that ``suggest`` asks for, with MORE clusters per label
and STARTS of k-means. Printed are, per set: accuracy on the photos nobody gave a label
for, in percent, how many classes were met, the share of all photos that is right, the
given ones included, and the share of the asked ones that was wrong before; means over
draws. The last lines are means over sets.

Two ways beside these: the least sure photos, and the largest expected change, one photo
at a time the one that takes most doubt from all others,

    Σ_j d_j max(0, k_ij - max of k over those asked before),   k = max(0, cosine)^POWER

with d the doubt, 1 - reliability. Where names are strong, both find what is wrong: of
ten photos asked among 20 objects 4 were wrong, of those that ``suggest`` asked for
none. Where names are weaker they are behind with few labels: one per class on five sets
gives 72.0 by ``suggest``, 67.1 at random, 67.5, 65.3 and 68.6 by change at POWER 1, 2
and 4, and 59.6 by the least sure. With three per class change at 2 and 4 is ahead by a
point (one draw). Asking, in the clusters of ``suggest``, for the row with most doubt
times nearness instead of the nearest finds what is wrong where names are strong, too,
and costs scenes 11 to 23 points. So ``suggest`` stayed as it was.

``--picked yes`` adds what people do who look for mistakes: labels for photos whose
label was wrong, drawn at random or the surest of them, and nothing else.
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

from unseen.photos import NamedPhotos, WeakNamesWarning, encode_folder
from unseen.photos.bundled import load_photos
from unseen.trust.metrics import per_class_accuracy

# The package has a function of that name.
asking: Any = import_module("unseen.trust.asking")


def sets(
    folder: Path, bundled: bool
) -> Iterator[tuple[str, np.ndarray, np.ndarray, Any]]:
    """Yield name, features, truth and encoders of every set."""
    if bundled:
        own = load_photos()
        yield "bundled", own.features, own.truth, (own.image_encoder, own.text_encoder)
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        photos = encode_folder(place)
        truth = np.array([path.split("/")[0] for path in photos.paths])
        yield place.name, photos.features(), truth, (photos.encoder, "wordllama")


def by_change(X: np.ndarray, n: int, sure: np.ndarray, power: float) -> np.ndarray:
    """Return rows whose labels would take most doubt from all others."""
    B = asking.directions(X)
    K = np.maximum(B @ B.T, 0) ** power
    covered, rows = np.zeros(len(B)), np.empty(0, dtype=int)
    for _ in range(n):
        gain = np.maximum(K - covered, 0) @ (1 - sure)
        gain[rows] = -1
        rows = np.append(rows, gain.argmax())
        covered = np.maximum(covered, K[rows[-1]])
    return rows


def mistakes(
    model: NamedPhotos, truth: np.ndarray, n: int, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield rows whose label was wrong: some of them, and the surest."""
    wrong = np.flatnonzero(model.labels_ != truth)
    yield "wrong", np.random.default_rng([12, seed]).permutation(wrong)[:n]
    by_trust = np.argsort(-model.reliability_[wrong], kind="stable")
    yield "wrong, the surest", wrong[by_trust][:n]


def ways(
    model: NamedPhotos, X: np.ndarray, n: int, seed: int, settings: list, powers: list
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the rows to ask for, at random, in every setting, and in other ways."""
    sure = model.reliability_
    yield "random", np.random.default_rng([11, seed]).permutation(len(X))[:n]
    if powers:
        yield "least sure", np.argsort(sure, kind="stable")[:n]
    for power in powers:
        yield f"change, power {power:g}", by_change(X, n, sure, power)
    for asking.MORE, asking.STARTS in settings:
        rows = asking.suggest(X, n, reliability=sure, random_state=seed)
        yield f"{asking.MORE:g} clusters, {asking.STARTS} starts", rows


def main() -> None:
    """Print one line per set and way, then the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--more", type=float, nargs="+", default=[1, 1.5, 2, 3])
    parser.add_argument("--starts", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--change", type=float, nargs="+", default=[])
    parser.add_argument("--labels", type=int, help="in all; default: one per class")
    parser.add_argument("--bundled", choices=["no", "yes"], default="yes")
    parser.add_argument("--picked", choices=["no", "yes"], default="no")
    options = parser.parse_args()
    settings = list(product(options.more, options.starts))
    warnings.simplefilter("ignore", WeakNamesWarning)
    over_sets = defaultdict(list)
    for name, X, truth, encoders in sets(options.folder, options.bundled == "yes"):
        names = sorted(set(truth.tolist()))
        alone = NamedPhotos(*encoders).fit(names, allow_unknown=True).adapt(X)
        found = defaultdict(list)
        n = options.labels or len(names)
        for seed in range(options.draws):
            asked = list(ways(alone, X, n, seed, settings, options.change))
            if options.picked == "yes":
                asked += mistakes(alone, truth, n, seed)
            for way, rows in asked:
                model = NamedPhotos(*encoders).fit(names, allow_unknown=True)
                given = dict(zip(rows.tolist(), truth[rows].tolist(), strict=True))
                labels = model.adapt(X, given=given).labels_
                left = np.setdiff1d(np.arange(len(X)), rows)
                others = per_class_accuracy(truth[left], labels[left])
                met, right = len(set(truth[rows])), 100 * np.mean(labels == truth)
                wrong = 100 * np.mean(alone.labels_[rows] != truth[rows])
                found[way].append([100 * others, met, right, wrong])
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
