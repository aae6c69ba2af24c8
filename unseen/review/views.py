"""What the page and the tables show of a review, made anew after every answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen.asking import estimate_accuracy
from unseen.labels import label_table
from unseen.models.given import NONE_OF_THESE
from unseen.review.answers import ModelLabels, ReviewState

__all__ = ["View", "rows_by_class", "tables_of", "view_of"]

NO_CLASS = "\0"  # stands for "none of these" where "" means that nothing is known
OWN = {"id", "label", "reliability", "second", "first_trusted", "given", "changed"}


class View(NamedTuple):
    """All labels, row by row."""

    names: list[str]  # "" for none of the classes, then all classes
    labels: np.ndarray
    codes: np.ndarray  # of labels, by the order of names
    given: np.ndarray  # by a person
    changed: np.ndarray  # since the review began
    model: ModelLabels
    accuracy: dict[str, Any]  # by the random sample


def view_of(state: ReviewState, original: ModelLabels) -> View:
    """Return all labels of a review that started from others."""
    names, labels = ["", *state.classes], state.labels()
    codes = pd.Categorical(labels, categories=names).codes
    given = np.zeros(len(labels), dtype=bool)
    given[list(state.given)] = True
    changed = labels != original.renamed(state.renames).labels
    return View(names, labels, codes, given, changed, state.model, estimate(state))


def rows_by_class(
    view: View,
    order: str | np.ndarray = "doubt",
    *,
    label: str | None = None,
    least: float = 0.0,
    most: float = 1.0,
    changed: bool = False,
    mine: bool = False,
    not_mine: bool = False,
) -> list[dict[str, Any]]:
    """Return the numbers of the rows of every class, in order, under a filter.

    ``order`` is 'doubt' or 'sure' for what comes first, or the place of every row.
    """
    sure = np.nan_to_num(view.model.reliability, nan=0.0)
    shown = view.given | ((least <= sure) & (sure <= most))
    if changed:
        shown &= view.changed
    if mine or not_mine:
        shown &= view.given if mine else ~view.given
    if isinstance(order, str):
        certain = np.where(view.given, 2.0, sure)  # what people gave comes last
        order = certain if order == "doubt" else -certain
    rows = np.flatnonzero(shown)
    rows = rows[np.lexsort((order[rows], view.codes[rows]))]
    ends = np.searchsorted(view.codes[rows], np.arange(len(view.names) + 1))
    found = [
        {"name": name, "rows": rows[ends[code] : ends[code + 1]].tolist()}
        for code, name in enumerate(view.names)
        if label is None or name == label
    ]
    return [part for part in found if part["name"] or part["rows"]]


def tables_of(view: View, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the corrections alone, and the whole table, corrected."""
    ids, rows = table["id"].tolist(), np.flatnonzero(view.given)
    named = [name or NONE_OF_THESE for name in view.labels[rows]]
    corrections = label_table(named, ids=[ids[row] for row in rows])
    reviewed = label_table(
        view.labels,
        ids=ids,
        reliability=np.where(view.given, 1.0, view.model.reliability),
        second=np.where(view.given, "", view.model.second),
        first_trusted=table["first_trusted"],
        given=np.where(view.given, "yes", ""),
        changed=np.where(view.changed, "yes", ""),
        **{str(name): table[name] for name in table if name not in OWN},
    )
    return corrections[["id", "label"]], reviewed


def estimate(state: ReviewState) -> dict[str, Any]:
    """Return how many labels are right, by the checked rows of the sample.

    Rows that were given for another reason count as themselves. The sample is judged
    by the labels the model had when it was asked.
    """
    checked = state.checked
    drawn = {"checked": len(checked), "drawn": len(state.sample)}
    if not checked:
        return drawn
    labels = state.labels()
    labels[list(checked)] = list(checked.values())
    given = {row: name or NO_CLASS for row, name in state.given.items()}
    found = estimate_accuracy([n or NO_CLASS for n in labels], given, drawn=checked)
    right = sum(state.given[row] == name for row, name in checked.items())
    share = {"share": found.accuracy, "low": found.low, "high": found.high}
    return {"right": right, **drawn, **share}
