"""The tables of the plan ``photos``: sets down, ways to label and doubts across."""

from __future__ import annotations

import pandas as pd

from unseen.experiments.lookup import in_column, notes
from unseen.experiments.plan import Column, Plan
from unseen.experiments.tables import NOTHING, Table, number, signed

__all__ = ["photos_short_table", "photos_table"]

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
