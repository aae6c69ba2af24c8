"""What class names alone are worth on sets of real photos, set by set.

    python studies/photo_sets.py FOLDER [--encoder lite0 lite2] [--cache FOLDER]
        [--mentioned 0 .25 .5] [--adjectives no yes]

FOLDER holds sets, a set holds classes, a class holds photos: the names of the folders
are the names given, and the truth that scores the answer. Accuracy is the mean over
classes, in percent: by the names alone, then after adapting. Beside it stand the mean
reliability of the labels, and whether the names were found weak. The last options are
what a name is worth that the tree says little of: the weight of classes that WordNet
explains by it, and whether it is read with its adjectives.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from unseen.naming import nouns
from unseen.photos import NamedPhotos, WeakNamesWarning, encode_folder, prototypes
from unseen.trust.metrics import per_class_accuracy


def measure(folder: Path, encoder: str, cache: Path | None) -> dict[str, object]:
    """Label one set and score it by the names of its folders."""
    photos = encode_folder(folder, encoder=encoder, cache=cache)
    truth = np.array([path.split("/")[0] for path in photos.paths])
    names = sorted(set(truth))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakNamesWarning)
        model = NamedPhotos(photos.encoder).fit(names, allow_unknown=True)
        model.adapt(photos.features())
    recalls = [np.mean(model.labels_[truth == name] == name) for name in names]
    return {
        "set": folder.name,
        "photos": len(truth),
        "names": 100 * per_class_accuracy(truth, model.projected_),
        "adapted": 100 * per_class_accuracy(truth, model.labels_),
        "worst class": 100 * min(recalls),
        "reliability": float(model.reliability_.mean()),
        "did": "adapted" if model.adapted_ else "names only",
        "weak": "weak" if model.weak_names_ else "",
    }


def main() -> None:
    """Print one row per set and encoder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoder", nargs="+", default=["lite0", "lite2"])
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--mentioned", type=float, nargs="+")
    parser.add_argument("--adjectives", nargs="+", choices=["no", "yes"])
    options = parser.parse_args()
    weights = options.mentioned or [prototypes.MENTIONED]
    endings = {"yes": nouns.ADJECTIVES, "no": ()}
    settings = product(options.encoder, options.adjectives or ["yes"], weights)
    for encoder, adjectives, prototypes.MENTIONED in settings:
        nouns.ADJECTIVES = endings[adjectives]
        for folder in sorted(
            path for path in options.folder.iterdir() if path.is_dir()
        ):
            row = measure(folder, encoder, options.cache)
            cells = (
                f"{v:.2f}" if isinstance(v, float) else str(v) for v in row.values()
            )
            setting = encoder, adjectives, prototypes.MENTIONED
            print(*setting, *cells, sep="\t", flush=True)


if __name__ == "__main__":
    main()
