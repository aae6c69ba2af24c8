"""The table of the plan ``few-labels``: budgets of labels, and what comes of each."""

from __future__ import annotations

import pandas as pd

from unseen.experiments.few_labels import MEASURES
from unseen.experiments.lookup import in_column, notes
from unseen.experiments.plan import Plan
from unseen.experiments.tables import NOTHING, Table, mean_and_spread

__all__ = ["few_labels_table"]

WAYS = ("random", "suggested")


def few_labels_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Show what budgets of labels make of data sets: by plain classifiers and by us.

    Sets that have a budget in common get a line with their mean.
    """
    mine = results[(results.task == plan.task) & results.measure.isin(MEASURES)]
    budget = mine["item"].str.rsplit(", ", n=1)
    mine = mine.assign(budget=budget.str[0], way=budget.str[1])
    rows: list[tuple[str, list[str]]] = []
    shown: list[pd.DataFrame] = []
    for row in plan.rows:
        for column in plan.columns:
            here = mine[in_column(mine, column) & (mine.method == row.method)]
            for name, found in here.groupby("budget", sort=False):
                rows.append((column.head, [row.label, str(name), *_cells(found)]))
                shown.append(found.assign(head=column.head))
    everything = pd.concat(shown) if shown else mine.assign(head="")
    common = everything[everything.budget.str.endswith("per class")]
    for name, found in common.groupby("budget", sort=False):
        n = found["head"].nunique()
        if n > 1:
            means = found.groupby(["measure", "way", "seed"])["value"].mean()
            cells = _cells(means.reset_index())
            rows.append((f"mean of {n} sets", ["", str(name), *cells]))
    heads = [("", ["method", "labels given", "none given"])]
    heads += [(f"{way}:", ["nearest mean", "logistic", "ours"]) for way in WAYS]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "data", notes=said)


def _cells(found: pd.DataFrame) -> list[str]:
    """Write the answer without labels, and all others for either way to choose."""
    return [
        _cell(found, MEASURES[0], WAYS[0]),
        *(_cell(found, measure, way) for way in WAYS for measure in MEASURES[1:]),
    ]


def _cell(found: pd.DataFrame, measure: str, way: str) -> str:
    own = found.loc[(found.measure == measure) & (found.way == way), "value"]
    return mean_and_spread(100 * own.to_numpy(float)) if len(own) else NOTHING
