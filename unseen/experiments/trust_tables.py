"""Tables of the plans on mixed piles, probabilities and open piles."""

from __future__ import annotations

import numpy as np
import pandas as pd

from unseen.experiments.lookup import in_column, notes
from unseen.experiments.plan import Plan
from unseen.experiments.tables import NOTHING, Table, mean_and_spread

__all__ = ["generalized_table", "open_table", "planted_table", "trust_table"]

# head: (measure, item); all in %
MIXED = {
    "U": ("U", ""),
    "S": ("S", ""),
    "H": ("H", ""),
    "plain": ("plain H", ""),
    "best": ("oracle H", ""),
    "AUSUC": ("AUSUC", ""),
    "told": ("told_H", ""),
    "error": ("ECE", ""),
}
TRUST = {
    "error": ("ECE", ""),
    "accuracy": ("accuracy", ""),
    "at 50 %": ("right at", "0.5"),
    "sets": ("coverage", "true classes"),
}
FOREIGN = {
    "AUROC": "AUROC",
    "false alarms": "false alarms",
    "found": "found",
    "without": "clean",
    "with": "accuracy",
}


def generalized_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by data sets: both sides, and what the handicap is worth."""
    return measures_table(plan, results, MIXED)


def trust_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by data sets: how far off probabilities are, and what sets hold."""
    table = measures_table(plan, results, TRUST)
    mine = results[results.task == plan.task]
    lines = []
    for row, (label, cells) in zip(plan.rows, table.rows, strict=True):
        here, step = [], len(TRUST)
        for number, column in enumerate(plan.columns):
            own = mine[in_column(mine, column) & (mine.method == row.method)]
            folds = own[(own.measure == "coverage") & own["item"].str.match("fold")]
            size = own[own.measure == "set size"]["value"].astype(float)
            low_high = NOTHING
            if len(folds):
                shares = 100 * folds["value"].astype(float)
                low_high = f"{shares.min():.1f} to {shares.max():.1f}"
            here += cells[number * step : (number + 1) * step]
            here += [f"{size.mean():.1f}" if len(size) else NOTHING, low_high]
        lines.append((label, here))
    names = [*TRUST, "classes in a set", "folds"]
    table.heads = [(column.head, names) for column in plan.columns]
    table.rows = lines
    return table


def measures_table(plan: Plan, results: pd.DataFrame, measures: dict) -> Table:
    """Methods by data sets, one cell per measure, in %."""
    mine = results[results.task == plan.task]
    rows = []
    for row in plan.rows:
        cells = []
        for column in plan.columns:
            own = mine[in_column(mine, column) & (mine.method == row.method)]
            cells += [in_percent(own, *measure) for measure in measures.values()]
        rows.append((row.label, cells))
    heads = [(column.head, list(measures)) for column in plan.columns]
    return Table(plan.title, plan.caption, heads, rows, notes=notes(plan, results))


def open_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Tell what was found, and how right labels are, pile by pile."""
    mine = results[results.task == plan.task]
    rows = []
    for column in plan.columns:
        for row in plan.rows:
            own = mine[in_column(mine, column) & (mine.method == row.method)]
            for pile in own.loc[own.measure == "clean", "item"].unique():
                cells = [in_percent(own, name, pile) for name in FOREIGN.values()]
                rows.append(
                    (column.head, [row.label, f"foreign {pile}", *cells, NOTHING])
                )
            for pile in own.loc[own.measure == "kept", "item"].unique():
                shown = [in_percent(own, name, pile) for name in ("kept", "dropped")]
                there = own[(own.measure == "present") & (own["item"] == pile)]["value"]
                found = f"{there.astype(float).mean():.0f}" if len(there) else NOTHING
                rows.append(
                    (column.head, [row.label, pile, *[NOTHING] * 3, *shown, found])
                )
    names = ["method", "pile", *list(FOREIGN)[:3], "before", "after", "classes there"]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, [("", names)], rows, "data", notes=said)


def planted_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Tell how often a wrong cell is among the first that the pile doubts."""
    mine = results[(results.task == plan.task) & (results.measure == "found")]
    places = sorted(mine["item"].astype(int).unique())
    heads = [f"{head} {n}" for n in places for head in ("first", "by chance")]
    rows = []
    for column in plan.columns:
        for row in plan.rows:
            own = results[in_column(results, column) & (results.method == row.method)]
            own = own[own.task == plan.task]
            own = own.assign(item=own["item"].astype(str))
            cells = [
                in_percent(own, measure, str(n))
                for n in places
                for measure in ("found", "by chance")
            ]
            rows.append((column.head, [row.label, *cells]))
    names = [("", ["method", *heads])]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, names, rows, "data", notes=said)


def in_percent(results: pd.DataFrame, measure: str, item: str) -> str:
    """Write a measure, its mean and spread over seeds."""
    own = results[(results.measure == measure) & (results["item"].fillna("") == item)]
    return mean_and_spread(100 * own["value"].to_numpy(np.float64))
