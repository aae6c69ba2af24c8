"""Constants of the guided mixture, chosen without the set that they are judged on.

A setting changes one constant. Of all settings, the one with the best mean over all
*other* sets is judged on a set: the mean of that is what choosing is worth on data
nobody chose on. Beside it stand the setting in use and the best one for these very
sets. Kinds of piles count the same inside a cell, cells inside a set, sets inside a
group, groups in the choice.

Reliability is judged alike. Its one constant, the odds of a label where prototypes
alone decide nothing, multiplies all odds; it is the one with the least mean distance
between mean reliability and the share that is right, over all other sets.

    python studies/left_out_sets.py left-out-sets --data ../shared/data
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pandas as pd
from cells import make_cell, piles

from unseen.experiments.bench import Bench
from unseen.experiments.plan import Plan
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.tables import MAKERS, Table, number
from unseen.experiments.tasks import TASKS
from unseen.transduction import guided_mixture
from unseen.transduction.guided_mixture import GuidedMixture
from unseen.trust.metrics import per_class_accuracy

PLANS = ("left-out-sets",)
IN_USE = "in use"
SETTINGS: dict[str, dict] = {
    IN_USE: {},
    "names 4": {"NAMES": 4.0},
    "sharpness 20": {"SHARPNESS": 20.0},
    "neighbours 2": {"NEIGHBOURS": 2.0},
    "whitening 1": {"WHITENING": 1.0},
    "few 10": {"FEW": 10.0},
    "doubt 1": {"DOUBT": 1.0},
    "free .6": {"FREE": 0.6},
    "beyond .2": {"BEYOND": 0.2},
    "evening 3": {"EVENING": 3.0},
}
KINDS = ("full", "half absent", "Zipf", "ten rows per class")
MOST_ROWS = 400
SHIFTS = np.arange(-1.5, 1.51, 0.1)  # of the log odds of reliability


def left_out_sets(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Label a draw of every kind of pile by every setting."""
    cell = make_cell(bench.source, part, key.seed)
    plain = 0.0 if part.startswith("lite") else 0.5  # what photos by names are given
    for kind, X, y in piles(cell, key.seed):
        if kind not in KINDS:
            continue
        X, y = X[:MOST_ROWS], y[:MOST_ROWS]
        for name, changed in SETTINGS.items():
            start = time.process_time()
            with patch.dict(vars(guided_mixture), changed):
                model = GuidedMixture.from_prototypes(cell.prototypes, plain=plain)
                labels = model.adapt(X).labels_
            seconds = time.process_time() - start
            share = per_class_accuracy(y, labels)
            yield Finding(name, kind, value=share, seconds=seconds)
            if name == IN_USE:
                yield Finding("right", kind, value=float(np.mean(labels == y)))
                yield Finding("stated", kind, value=float(model.reliability_.mean()))


def by_set(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means of columns by group and set."""
    cells = frame.groupby(["group", "set", "data", "classes"]).mean(numeric_only=True)
    return cells.groupby(["group", "set"]).mean()


def left_out(scores: pd.DataFrame) -> tuple[pd.DataFrame, list]:
    """Return, by set: what is best on all of them, and what is best on the others.

    ``scores`` has a line per group and set and a column per setting; more is better.
    """
    best = scores.groupby("group").mean().mean().idxmax()
    chosen = [
        scores.drop(index=one).groupby("group").mean().mean().idxmax()
        for one in scores.index
    ]
    without = [
        scores.loc[one, name] for one, name in zip(scores.index, chosen, strict=True)
    ]
    return pd.DataFrame(
        {"best": scores[best].to_numpy(), "without": without}, index=scores.index
    ), [best, *dict.fromkeys(chosen)]


def left_out_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Show groups by accuracy and by how far reliability is off, judged three ways."""
    mine = results[results.task == plan.task]
    groups = {column.data: column.group for column in plan.columns}
    sets = mine["data"].str.split("/").str[-1].str.split("_").str[0]
    frame = mine.assign(group=mine["data"].map(groups), set=sets)
    wide = frame.pivot_table(
        index=["group", "set", "data", "classes", "seed", "item"],
        columns="measure",
        values="value",
    )
    if wide.empty:
        return Table(plan.title, plan.caption, [], [])
    accuracy = 100 * by_set(wide[[name for name in SETTINGS if name in wide]])
    odds = np.log(wide["stated"] / (1 - wide["stated"]))
    off = pd.DataFrame(
        {
            round(shift, 1): -100
            * (1 / (1 + np.exp(-odds - shift)) - wide["right"]).abs()
            for shift in SHIFTS
        }
    )
    off = by_set(off)
    rows, notes = [], []
    found = []
    for scores, now in ((accuracy, IN_USE), (off, 0.0)):
        judged, names = left_out(scores)
        judged.insert(0, "in use", scores[now])
        found.append(judged.abs())
        others = ", ".join(map(str, names[1:]))
        notes.append(
            f"{scores.shape[1]} settings compared; best on all: {names[0]}, "
            f"on all but one: {others}."
        )
    for group in dict.fromkeys(groups.values()):
        cells = [number(float(v)) for one in found for v in one.loc[group].mean()]
        rows.append(
            (group, [*cells, number(float(found[1].loc[group, "without"].max()))])
        )
    heads = [
        ("accuracy:", ["in use", "best", "without the set"]),
        ("reliability off by:", ["in use", "best", "without the set", "at most"]),
    ]
    return Table(plan.title, plan.caption, heads, rows, "sets", notes=notes)


TASKS["left-out-sets"] = left_out_sets
MAKERS["left-out-sets"] = left_out_table


if __name__ == "__main__":
    from laboratory import main

    main("left_out_sets")
