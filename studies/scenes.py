"""Fifteen scenes described by SUN's attributes: a stand-in for SUN.

Forty grey photos of each of fifteen scenes, and for each scene the row of the class of
SUN that it is; ten scenes are seen and five are not. There are 3,003 such splits, of
which a run meets one of a fixed 200, by its seed. Nothing is searched: methods have
their default settings, for ten seen scenes are few to choose by.

    <folder>/<scene>/*.jpg         photos
    ../scene15_to_sun.csv          which class of SUN a scene is
    ../class_side.npz              sun_class_names, sun_att (717, 102)

With ``among_all`` the classes of SUN that have no photo are on offer as well.

    python studies/scenes.py scenes --data ../shared/data
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from unseen.data import ZeroShotData
from unseen.experiments.bench import Bench
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.tasks import TASKS
from unseen.methods import METHODS
from unseen.trust.metrics import per_class_accuracy

PLANS = ("scenes",)
N_UNSEEN = 5


@lru_cache(maxsize=2)
def load_scenes(folder: Path, among_all: bool) -> ZeroShotData:
    """Return the photos' features with SUN's attributes; split number 0.

    Features are kept in the user's cache, so that only the first time takes long.
    """
    from unseen.loading.parts import read_lines
    from unseen.photos import encode_folder

    above = folder.parent.parent
    lines = read_lines(above / "scene15_to_sun.csv")[1:]
    sun_class = dict(line.split(",") for line in lines)
    with np.load(above / "class_side.npz", allow_pickle=False) as stored:
        names = stored["sun_class_names"].astype(str)
        table = pd.DataFrame(stored["sun_att"].astype(np.float64), index=names)
    photos = encode_folder(folder)
    y = np.array([sun_class[Path(path).parts[0]] for path in photos.paths])
    table = table if among_all else table.loc[np.unique(y)]
    X = np.asarray(photos.features())
    without = table.index[~table.index.isin(y)].to_numpy(str)
    known = ZeroShotData("scene15", X, y, table, unseen=np.append(without, y[0]))
    return scene_split(known, 0)


def scene_split(data: ZeroShotData, number: int) -> ZeroShotData:
    """Return the set with five other scenes unseen; the order of splits is fixed.

    Classes that have no row are unseen in every split.
    """
    own = np.unique(data.y)
    choices = list(combinations(own.tolist(), N_UNSEEN))
    chosen = choices[np.random.default_rng(0).permutation(len(choices))[number]]
    seen = np.setdiff1d(own, chosen)
    unseen = data.classes[~np.isin(data.classes, seen)]
    return replace(data, unseen=unseen, seen_test=None)


def scenes(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Fit by default settings on one split of the scenes, adapt and score."""
    method = METHODS[key.method]
    data = load_scenes(Path(bench.source.path), part == "all of SUN")
    data = scene_split(data, key.seed)
    model = method.make().fit(
        data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
    )
    truth, pile = data.y_unseen, data.X_unseen
    labels = model.predict(pile)
    yield Finding("accuracy", round=0, value=per_class_accuracy(truth, labels))
    if method.adapts:
        labels = model.adapt(pile).labels_
    yield Finding("final", value=per_class_accuracy(truth, labels))


TASKS["scenes"] = scenes


if __name__ == "__main__":
    from laboratory import main

    main("scenes")
