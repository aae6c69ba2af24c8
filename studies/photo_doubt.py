"""How sure photos by names may be called: the study of three constants.

    python studies/photo_doubt.py FOLDER [--encoder lite0 lite2] [--lists 6]

FOLDER holds sets, a set holds classes, a class holds photos, as for photo_sets.py. Of
every set and of the bundled photos, the whole list of names is offered, and short lists
drawn from it (3 to 8 names, with the photos of these alone). Reliability is

    e p + (1 - e) / classes,    p = posterior ** SHARPER, at sum 1,
    e = (agreement - NOTHING) / (ENOUGH - NOTHING), within 0 and 1

and a setting is as good as the mean of it is near to the share that is right: the mean
distance over whole sets and over short lists, and how many whole sets are further than
.10 off. The last lines leave out one set at a time: the setting is the one with the
least distance on the other sets, the distance is that of the set left out. Beside it
stands the distance by the constants in use.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unseen.photos import NamedPhotos, WeakNamesWarning, doubt, encode_folder, named
from unseen.photos.bundled import load_photos
from unseen.photos.doubt import agreement

SHARPER = (1, 2, 3, 4, 5, 6, 8, 12)
NOTHING = (-0.1, -0.05, 0.0, 0.05)
ENOUGH = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
FAR = 0.10


class Answer(NamedTuple):
    """Of one pile: its set, is it whole, posteriors, agreement, the share right."""

    name: str
    whole: bool
    posterior: np.ndarray
    agreement: float
    right: float


def piles(folder: Path, encoders: list[str], n_lists: int) -> Iterator[Answer]:
    """Label every set whole, then short lists of its classes."""
    own = load_photos()
    both = own.image_encoder, own.text_encoder
    yield from answers("bundled", own.features, own.truth, both, n_lists)
    for encoder in encoders:
        for place in sorted(path for path in folder.iterdir() if path.is_dir()):
            photos = encode_folder(place, encoder=encoder)
            truth = np.array([path.split("/")[0] for path in photos.paths])
            X, both = photos.features(), (photos.encoder, "wordllama")
            yield from answers(place.name, X, truth, both, n_lists)


def answers(name, X, truth, encoders, n_lists: int) -> Iterator[Answer]:
    """Label photos by all their classes, then by short lists."""
    rng, names = np.random.default_rng(0), np.unique(truth)
    sizes = rng.integers(3, min(8, len(names) - 1) + 1, size=n_lists)
    short = [rng.choice(names, size, replace=False) for size in sizes]
    for offered in [names, *short]:
        rows = np.isin(truth, offered)
        model = NamedPhotos(*encoders).fit(sorted(offered), allow_unknown=True)
        model.adapt(X[rows])
        found = agreement(X[rows], model.projected_, len(offered))
        right = float(np.mean(model.labels_ == truth[rows]))
        posterior = model.model_.predict_proba(np.asarray(X[rows], np.float32))
        yield Answer(name, len(offered) == len(names), posterior, found, right)


def too_sure(answer: Answer, sharper: float, nothing: float, enough: float) -> float:
    """Return by how much the mean reliability is above the share that is right."""
    chances = answer.posterior**sharper
    sure = np.mean(chances.max(axis=1) / chances.sum(axis=1))
    share = np.clip((answer.agreement - nothing) / (enough - nothing), 0, 1)
    return share * sure + (1 - share) / chances.shape[1] - answer.right


def main() -> None:
    """Print the best settings, and those of each set left out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encoder", nargs="+", default=["lite0", "lite2"])
    parser.add_argument("--lists", type=int, default=6)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakNamesWarning)
        found = list(piles(options.folder, options.encoder, options.lists))
    in_use = named.SHARPER, doubt.NOTHING, doubt.ENOUGH
    settings = [*product(SHARPER, NOTHING, ENOUGH), in_use]
    off = np.abs([[too_sure(one, *setting) for one in found] for setting in settings])
    whole = np.array([one.whole for one in found])
    sets = np.array([one.name for one in found])
    print(f"The ten best of {len(settings) - 1} settings, then the one in use:")
    print("sharper\tnothing\tenough\twhole sets\tshort lists\tfar off")
    for best in [*np.argsort(score(off[:-1], whole), kind="stable")[:10], -1]:
        mine = off[best]
        far = f"{np.sum(mine[whole] > FAR)} of {whole.sum()}"
        means = f"{mine[whole].mean():.3f}\t{mine[~whole].mean():.3f}"
        print(*settings[best], means, far, sep="\t")
    for name in np.unique(sets):
        kept = sets != name
        best = int(np.argmin(score(off[:-1, kept], whole[kept])))
        both = (f"{off[which, ~kept].mean():.3f}" for which in (best, -1))
        print("without", name, *settings[best], *both)


def score(off: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the mean distance of every setting; both kinds of piles count alike."""
    return (off[:, whole].mean(axis=1) + off[:, ~whole].mean(axis=1)) / 2


if __name__ == "__main__":
    main()
