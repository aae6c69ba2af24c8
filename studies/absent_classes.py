"""How `drop_absent` of anchored self-training should tell who is not in the pile.

    python studies/absent_classes.py ../shared/data [--data cub awa] [--folds 4]
        [--handicap 16.7 3.7]

In each fold a quarter of the seen classes of CUB and AwA plays the unseen ones (as in
the plan `open_study`); no row of a class that is truly unseen is read. Piles: the list
as it is, all classes offered, half of the classes absent, ten rows a class, and sizes
by Zipf's law. The handicap of seen classes, one number a set, is what `Calibrated`
measures on folds of the seen classes; without it, all classes offered come out worse,
and a setting that does harm there may look good. Printed is per-class accuracy in %,
mean over folds, one line a setting: the list kept, the constants of
unseen/transduction/anchored_open.py as they are, no matching anew in the end, and one
constant at a time changed. Then where the rest is lost, for the list kept, the
constants as they are and the true list: rows of classes that were dropped, rows that
went to absent classes, and rows that were mistaken among those that are there; and how
many classes were dropped though they are there, and kept though they are not.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from unittest.mock import patch

import numpy as np
from trust import fitting_lists, held_out, long_lists, with_rows_aside

from unseen import AnchoredSelfTraining, ZeroShotData
from unseen.experiments.sources import find_source
from unseen.transduction import anchored_open
from unseen.trust.metrics import per_class_accuracy

CONSTANTS = {
    "ROWS_COUNT": [0.35, 0.75, 1.0],
    "ABSENT": [0.1, 0.4],
    "FEW": [0.25, 1.0],
    "SURER": [0.0, 5.0],
}
LOST = ("of dropped", "to absent", "mistaken", "dropped", "kept")


def as_it_is(n, s, Z, p, own: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Match nothing anew: every class keeps its own prototype."""
    return own


def settings() -> Iterator[tuple[str, bool, AbstractContextManager]]:
    """Yield names, whether classes are dropped, and what is other than it is."""
    yield "list kept", False, nullcontext()
    yield "as it is", True, nullcontext()
    other = patch.object(anchored_open, "rematched", as_it_is)
    yield "no matching anew", True, other
    for name, values in CONSTANTS.items():
        for value in values:
            other = patch.object(anchored_open, name, value)
            yield f"{name} {value:g}", True, other


def accuracies(model, data: ZeroShotData, fold: int) -> dict[str, float]:
    """Return the accuracy on every pile of a fold."""
    found = {}
    for make in (long_lists, fitting_lists):
        for name, rows, offered in make(data, fold):
            labels = model.adapt(data.X[rows], classes=offered).labels_
            found[name] = 100 * per_class_accuracy(data.y[rows], labels)
    return found


def where_lost(y: np.ndarray, labels: np.ndarray, kept: np.ndarray) -> list[float]:
    """Return what per-class accuracy loses, in %: to whom, and by how many classes.

    Rows of classes that are not kept; rows that went to absent classes; the others that
    are wrong; then classes that are there and not kept, and kept and not there.

    Examples
    --------
    Of a and b, b was dropped; c is kept and absent. A row of a went to c.

    >>> where_lost(np.array(list("aabb")), np.array(list("acaa")), np.array(list("ac")))
    [50.0, 25.0, 0.0, 1.0, 1.0]
    """
    present, codes = np.unique(y, return_inverse=True)
    weight = 100 / np.bincount(codes)[codes] / len(present)
    gone = ~np.isin(y, kept)
    away = ~gone & ~np.isin(labels, present)
    mistaken = ~gone & ~away & (labels != y)
    shares = [float(weight @ lost) for lost in (gone, away, mistaken)]
    n_gone = float((~np.isin(present, kept)).sum())
    return [*shares, n_gone, float((~np.isin(kept, present)).sum())]


def losses(model, data: ZeroShotData, fold: int) -> dict[tuple[str, str], list[float]]:
    """Return where accuracy is lost on every pile of a fold, by who was offered."""
    found = {}
    for name, rows, offered in [*long_lists(data, fold), *fitting_lists(data, fold)]:
        y = data.y[rows]
        asked = [("list kept", offered, False), ("as it is", offered, True)]
        for who, names, drop in [*asked, ("true list", np.unique(y), False)]:
            model.set_params(drop_absent=drop)
            labels = model.adapt(data.X[rows], classes=names).labels_
            found[name, who] = where_lost(y, labels, model.competing_classes_)
    return found


def main() -> None:
    """Compare the settings, data set by data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--data", nargs="+", default=["cub", "awa"])
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--handicap", nargs="+", type=float, default=[16.7, 3.7])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, handicap in zip(asked.data, asked.handicap, strict=True):
        source = find_source(name, "attributes", [asked.folder])
        if source is None:
            raise SystemExit(f"{asked.folder} holds no data set {name!r}.")
        whole = with_rows_aside(source.load("attributes"))
        lines: dict[str, list[dict[str, float]]] = {}
        lost: dict[tuple[str, str], list[list[float]]] = {}
        for fold in range(asked.folds):
            data = held_out(whole, fold)
            model = AnchoredSelfTraining(handicap=handicap)
            model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
            for setting, drop, other in settings():
                with other:
                    found = accuracies(model.set_params(drop_absent=drop), data, fold)
                lines.setdefault(setting, []).append(found)
            for key, shares in losses(model, data, fold).items():
                lost.setdefault(key, []).append(shares)
        heads = list(lines["as it is"][0])
        print(f"\n{name}, {asked.folds} folds, {len(lines)} settings")
        print(f"{'':18}" + "".join(f"{head:>21}" for head in heads))
        for setting, folds in lines.items():
            means = [np.mean([found[head] for found in folds]) for head in heads]
            print(f"{setting:18}" + "".join(f"{mean:21.1f}" for mean in means))
        print(f"{'':32}" + "".join(f"{head:>12}" for head in LOST))
        for (pile, who), folds_lost in lost.items():
            means = np.mean(folds_lost, axis=0)
            print(f"{pile:22}{who:10}" + "".join(f"{mean:12.1f}" for mean in means))


if __name__ == "__main__":
    main()
