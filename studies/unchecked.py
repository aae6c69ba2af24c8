"""What can be said of labels before a person has checked any: a range, and a warning.

A part is a set, or all items of 2 to 10 of its classes, drawn twice, whose names
alone are offered. By parts, each labelled as ``unseen label`` does it:

    off      share of labels that are right, minus their mean reliability; the range
             lies between quantiles of this
    warned   of labels by lite0: the names are called weak

Ranges are judged on every set by quantiles over all other sets.

    python studies/unchecked.py ../shared/data
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from photos import read_set
from texts import _read as read_texts

from unseen.photos import NamedPhotos
from unseen.texts import NamedTexts

SIZES, DRAWS, MOST = range(2, 11), 2, 1_000  # classes, draws of them, texts
TEXTS = ("agnews_test", "banking77_test", "clinc150_test", "trec")
ENCODERS = ("wordllama", "minilm-int8")  # of texts
MIDDLE = 0.9  # of all parts are meant to lie in the range


def parts_of(names: list[str], truth: np.ndarray) -> Iterator[tuple[list[str], Any]]:
    """Yield class names, and the rows that are of these classes."""
    draw = np.random.default_rng(0)
    sizes = [n for n in SIZES for _ in range(DRAWS) if n < len(names)]
    for n in [*sizes, len(names)]:
        own = sorted(draw.choice(names, n, replace=False).tolist())
        yield own, np.flatnonzero(np.isin(truth, own))


def finding(group: str, name: str, model: Any, truth: np.ndarray) -> dict[str, Any]:
    """Return what a part came to."""
    right, stated = np.mean(model.labels_ == truth), np.nanmean(model.reliability_)
    warned = getattr(model, "weak_names_", "") != ""
    return {"group": group, "set": name, "n": len(model.classes_), "right": right,
            "stated": stated, "off": right - stated, "warned": warned}  # fmt: skip


def photos(folder: Path) -> Iterator[dict[str, Any]]:
    """Label the parts of all sets of photos."""
    for one in sorted(folder.iterdir()):
        found = read_set(str(one), "lite0")
        for names, rows in parts_of(found.names, found.truth):
            model = NamedPhotos(found.image, found.text).fit(names, allow_unknown=True)
            model.adapt(found.X[rows])
            yield finding("photos", one.name, model, found.truth[rows])


def texts(folder: Path) -> Iterator[dict[str, Any]]:
    """Label the parts of all sets of texts, by both encoders of the package."""
    for name in TEXTS:
        for encoder in ENCODERS:
            found = read_texts(folder / f"{name}__{encoder}.npz", "names")
            for names, rows in parts_of(found.names, found.truth):
                own = np.random.default_rng(0).permutation(rows)[:MOST]
                model = NamedTexts(found.encoder).fit(names).adapt(found.items[own])
                yield finding("texts", name, model, found.truth[own])


def show(parts: pd.DataFrame) -> None:
    """Print sets, the range, what it is worth where it was not fitted, the warning."""
    means = parts.groupby("set")[["right", "stated", "off", "warned"]].mean()
    print(means.assign(parts=parts.groupby("set").size()).round(2).to_string())
    ends = (1 - MIDDLE) / 2, (1 + MIDDLE) / 2
    low, high = np.quantile(parts["off"], ends)
    held = []
    for name, own in parts.groupby("set"):
        least, most = np.quantile(parts[parts["set"] != name]["off"], ends)
        held.append(own["off"].between(least, most).mean())
        print(f"  {name}: {least:+.2f} to {most:+.2f} by others hold {held[-1]:.0%}")
    print(
        f"{len(parts)} parts: {MIDDLE:.0%} lie {low:+.2f} to {high:+.2f} from what is"
    )
    print(f"stated; by other sets {np.mean(held):.0%} do, at worst {min(held):.0%}\n")


def detector(parts: pd.DataFrame) -> None:
    """Print whom the warning meets, with its bound and with one of the other sets."""
    bad, good = parts["right"] < 0.4, parts["right"] > 0.8
    bounds = np.arange(0.4, 0.8, 0.02)
    by_others = np.zeros(len(parts), dtype=bool)
    for name in parts["set"].unique():
        own = parts["set"] == name
        gains = [
            (parts["stated"] < bound)[bad & ~own].mean()
            - (parts["stated"] < bound)[good & ~own].mean()
            for bound in bounds
        ]
        by_others[own] = parts["stated"][own] < bounds[int(np.argmax(gains))]
    for said, warned in (("", parts["warned"]), (", by a bound of others", by_others)):
        print(f"warned of {warned[bad].mean():.0%} of {bad.sum()} parts below 40 %")
        print(f"and of {warned[good].mean():.0%} of {good.sum()} above 80 %{said}")


def main(folder: Path, *kinds: str) -> None:
    """Print what both kinds come to."""
    if "photos" in kinds:
        seen = pd.DataFrame(photos(folder / "photos"))
        show(seen)
        detector(seen)
    if "texts" in kinds:
        show(pd.DataFrame(texts(folder / "texts")))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), *(sys.argv[2:] or ("photos", "texts")))
