"""How many photos a saved model finds unlike those it was taught with, set by set.

    python studies/unlike.py ../shared/data/photos

The model of every set adapts to a random half of its photos. Rows of the table are
models, columns the other halves: in %, photos that are unlike. The message needs 20.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from photos import read_set

from unseen.named import ENOUGH
from unseen.photos import NamedPhotos


def main(folder: Path) -> None:
    """Print the table, and how often the message would be right."""
    sets = {one.name: read_set(str(one), "lite0") for one in sorted(folder.iterdir())}
    draw, models, others = np.random.default_rng(0), {}, {}
    for name, own in sets.items():
        half = np.array_split(draw.permutation(len(own.truth)), 2)
        model = NamedPhotos(own.image, own.text).fit(own.names, allow_unknown=True)
        models[name], others[name] = model.adapt(own.X[half[0]]), own.X[half[1]]
    found = np.array(
        [[m.unlike(X).mean() for X in others.values()] for m in models.values()]
    )
    print(f"{'':12}", *(f"{name[:7]:>7}" for name in sets))
    for name, row in zip(sets, found, strict=True):
        print(f"{name:12}", *(f"{100 * share:7.0f}" for share in row))
    own = np.eye(len(sets), dtype=bool)
    print(f"said of {(found[own] > ENOUGH).sum()} of {len(sets)} other halves,")
    print(f"of {(found[~own] > ENOUGH).sum()} of {(~own).sum()} other sets")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
