"""Which results belong to a column of a plan, and what is to be said of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from unseen.experiments.plan import Column, Plan
from unseen.experiments.sources import known_sources, own_name
from unseen.methods import METHODS


def in_column(results: pd.DataFrame, column: Column) -> pd.Series:
    """Tell which results belong to a column; of several sources the first found."""
    for name, classes, _ in sources_of(column):
        found = (results["data"] == name) & (results["classes"] == classes)
        if found.any():
            return found
    return pd.Series(False, index=results.index)


def sources_of(column: Column) -> list[tuple[str, str, list[str]]]:
    """Return (name, class table, differences) of what may fill a column."""
    if column.data not in known_sources():
        return [(own_name(column.data), column.classes, [])]
    found = []
    for entry in known_sources()[column.data]["source"]:
        if column.classes in entry:
            table = entry[column.classes]
            name = entry.get("bundled") or Path(entry["file"]).stem
            classes = table if isinstance(table, str) else "+".join(table)
            about = [entry["about"]] if entry["about"] else []  # not of the paper
            if "words" in column.classes and "about_words" in entry:
                about.append(entry["about_words"])
            found.append((name, classes, about))
    return found


def notes(plan: Plan, results: pd.DataFrame) -> list[str]:
    """Say how the data differs from the paper's, what is missing and what failed."""
    mine = results[results.task == plan.task]
    mine = mine[mine.method.isin([row.method for row in plan.rows] or [""])]
    differ: list[str] = []
    missing: list[str] = []
    for column in plan.columns:
        about = [
            message
            for name, classes, message in sources_of(column)
            if ((mine["data"] == name) & (mine["classes"] == classes)).any()
        ]
        if about:
            differ += about[0]
        else:
            missing.append(column.head)
    said = []
    if differ:
        message = "; ".join(dict.fromkeys(differ))
        said.append(f"The data is not the paper's. {message}.")
    if missing:
        said.append(f"Without results: {', '.join(missing)}.")
    waiting = [row.label for row in plan.rows if not METHODS[row.method].built]
    if waiting:
        said.append(f"Not built yet: {', '.join(dict.fromkeys(waiting))}.")
    n_failed = int((mine.measure == "failed").sum())
    if n_failed:
        runs = "run" if n_failed == 1 else "runs"
        said.append(f"{n_failed} {runs} failed; results.csv says why.")
    return said
