"""What the answers come to: a label for every row, as pages and tables show it.

A replay of the journal leads to a state, the state to a view of all rows:

op      what it says
label   rows `ids` are of class `label`; "" for none of these classes
class   there is a class `name`
rename  class `old` is called `new` from now on
check   rows `ids` are the random sample to be checked, all of it; most are drawn from
        the `among` surest, to find labels that are `wanted` % right
teach   the model's labels are those of the table `file`
undo    entry `of` does not count
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen.core.given import NONE_OF_THESE
from unseen.labels import COLUMNS, label_table
from unseen.review.journal import Entry
from unseen.trust.asking import estimate_accuracy
from unseen.trust.sure import ENOUGH, recalibrated, sure_line, surest_first


class ModelLabels(NamedTuple):
    """Labels by the model: texts, reliability 0 to 1 (NaN: unknown), second choice."""

    labels: np.ndarray
    reliability: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, table: pd.DataFrame) -> ModelLabels:
        """Take the model's labels from a table of labels."""
        labels, second = (table[name].to_numpy(object) for name in ("label", "second"))
        return cls(labels.copy(), table["reliability"].to_numpy(float), second.copy())

    def renamed(self, renames: Iterable[tuple[str, str]]) -> ModelLabels:
        """Return the same labels with other names for classes, old and new in pairs."""
        labels, second = self.labels.copy(), self.second.copy()
        for old, new in renames:
            labels[labels == old] = new
            second[second == old] = new
            second[second == labels] = ""
        return self._replace(labels=labels, second=second)


@dataclass
class ReviewState:
    """Where a review stands."""

    model: ModelLabels
    classes: list[str]  # all names, in order
    given: dict[int, str] = field(default_factory=dict)  # by people; "" for none
    sample: list[int] = field(default_factory=list)  # rows to check, since it learned
    checked: dict[int, str] = field(default_factory=dict)  # the model's label of these
    renames: list[tuple[str, str]] = field(default_factory=list)  # old, new
    aside: set[int] = field(default_factory=set)  # given before the sample was drawn
    among: int = 0  # so many of the surest most of the sample was drawn from
    wanted: float = 0.95
    looks: int = 0  # samples that were drawn since it learned, each larger
    above: Any = field(default_factory=list)  # rows above an earlier sure line
    seed: int = 0  # of all of these

    def stated(self) -> np.ndarray:
        """Return the model's reliability; NaN for rows without a label."""
        return np.where(
            self.model.labels == "", np.nan, np.nan_to_num(self.model.reliability)
        )

    def labels(self) -> np.ndarray:
        """Return the label of every row: a person's where there is one."""
        labels = self.model.labels.copy()
        labels[list(self.given)] = list(self.given.values())
        return labels

    def rename(self, old: str, new: str) -> None:
        """Call a class otherwise; if there is one of that name, they become one."""
        called = {old: new}
        self.model = self.model.renamed([(old, new)])
        self.classes = list(dict.fromkeys(called.get(one, one) for one in self.classes))
        self.given, self.checked = (
            {row: called.get(name, name) for row, name in labels.items()}
            for labels in (self.given, self.checked)
        )
        self.renames.append((old, new))


def replay(
    entries: Sequence[Entry],
    state: ReviewState,
    rows: dict[str, int],
    read: Callable[[str], ModelLabels],
) -> ReviewState:
    """Let the entries of a journal change where a review stands, and return it.

    ``rows`` are the numbers of ids; ``read`` returns labels that teaching wrote.
    """
    undone = {entry["of"] for entry in entries if entry["op"] == "undo"}
    for entry in entries:
        if entry["seq"] in undone:
            continue
        known = [rows[name] for name in entry.get("ids", []) if name in rows]
        names = [entry.get("label") or entry.get("name") or ""]
        match entry["op"]:
            case "label":
                asked = set(state.sample).intersection(known)
                state.checked |= {row: str(state.model.labels[row]) for row in asked}
                state.given.update((row, entry["label"]) for row in known)
            case "rename":
                state.rename(entry["old"], entry["new"])
            case "check":
                state.above = estimate(state)[1]
                if not state.looks:
                    state.aside, state.seed = set(state.given), entry["seq"]
                state.sample, state.looks = known, state.looks + 1
                state.among, state.wanted = entry["among"], entry["wanted"] / 100
                had = set(known).intersection(state.given)
                state.checked |= {row: str(state.model.labels[row]) for row in had}
            case "teach":
                state.model = read(entry["file"])
                names = sorted(set(state.model.labels))
                # What was given is right there: it says nothing of the rest.
                state.sample, state.checked, state.looks, state.above = [], {}, 0, []
        state.classes += [n for n in names if n and n not in state.classes]
    return state


class View(NamedTuple):
    """All labels, row by row."""

    names: list[str]  # "" for none of the classes, then all classes
    labels: np.ndarray
    codes: np.ndarray  # of labels, by the order of names
    given: np.ndarray  # by a person
    changed: np.ndarray  # since the review began
    model: ModelLabels  # its reliability as the check corrects it
    accuracy: dict[str, Any]  # by the random sample
    sure: np.ndarray  # "yes", "look", "none of these"; "unchecked" without a check


def view_of(state: ReviewState, original: ModelLabels) -> View:
    """Return all labels of a review that started from others."""
    names, labels = ["", *state.classes], state.labels()
    codes = pd.Categorical(labels, categories=names).codes
    given = np.isin(np.arange(len(labels)), list(state.given))
    changed = labels != original.renamed(state.renames).labels
    accuracy, above = estimate(state)
    sure = np.full(len(labels), "look" if "line" in accuracy else "unchecked", object)
    sure[above] = "yes"
    sure[given] = "yes"
    sure[labels == ""] = NONE_OF_THESE
    right = [state.given[row] == name for row, name in state.checked.items()]
    new = recalibrated(state.model.reliability, list(state.checked), right)
    model = state.model._replace(reliability=new)
    return View(names, labels, codes, given, changed, model, accuracy, sure)


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
    doubt = isinstance(order, str) and order == "doubt"
    if isinstance(order, str):
        certain = np.where(view.given, 2.0, sure)  # what people gave comes last
        order = certain if doubt else -certain
    rows = np.flatnonzero(shown)
    rows = rows[np.lexsort((order[rows], view.codes[rows]))]
    ends = np.searchsorted(view.codes[rows], np.arange(len(view.names) + 1))
    found = []
    for code, name in enumerate(view.names):
        if label is None or name == label:
            own = rows[ends[code] : ends[code + 1]]
            found += split_by_line(view, name, own, look_first=doubt)
    return [part for part in found if part["name"] or part["rows"]]


def split_by_line(
    view: View, name: str, rows: np.ndarray, look_first: bool
) -> list[dict[str, Any]]:
    """Return the rows of a class in two parts, above and below the sure line."""
    if not view.accuracy.get("line", {}).get("n"):
        return [{"name": name, "rows": rows.tolist()}]
    above = view.sure[rows] == "yes"
    parts = [
        {"name": name, "rows": rows[above].tolist(), "sure": True},
        {"name": name, "rows": rows[~above].tolist(), "sure": False},
    ]
    parts = [part for part in parts if part["rows"]] or parts[1:]
    return parts[::-1] if look_first else parts


def tables_of(view: View, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the corrections alone, and the whole table, corrected."""
    ids, own = table["id"], {*COLUMNS, "given", "changed", "sure", "reliability_by"}
    named = [name or NONE_OF_THESE for name in view.labels[view.given]]
    rows = np.flatnonzero(view.given)
    drawn = [view.accuracy["planned"].get(row, "") for row in rows.tolist()]
    corrections = label_table(named, ids=ids[rows], check=drawn)
    reviewed = label_table(
        view.labels,
        ids=ids,
        reliability=np.where(view.given, 1.0, view.model.reliability),
        second=np.where(view.given, "", view.model.second),
        first_trusted=table["first_trusted"],
        given=np.where(view.given, "yes", ""),
        changed=np.where(view.changed, "yes", ""),
        sure=view.sure,
        reliability_by=np.full(len(ids), view.accuracy["reliability"]),
        **{str(name): table[name] for name in table if name not in own},
    )
    return corrections[["id", "label", "check"]], reviewed


def estimate(state: ReviewState) -> tuple[dict[str, Any], Any]:
    """Return what the check says, and the rows above the sure line.

    It is by the sample, and by what its rows were called when they were answered. A
    line is drawn once the whole sample is answered; one before that was lower stays.
    """
    checked, sample = state.checked, [r for r in state.sample if r in state.checked]
    n = len(sample)
    learned = f"{len(checked)} checked" if len(checked) >= ENOUGH else "unchecked"
    how: dict[str, Any] = {"wanted": state.wanted, "looks": max(state.looks, 1)}
    plan = f"{len(state.sample)} for {100 * state.wanted:g} %, look {how['looks']}"
    planned = dict.fromkeys(state.sample, plan) | dict.fromkeys(state.aside, "aside")
    reply: dict[str, Any] = {"checked": n, "drawn": len(state.sample)}
    reply |= {"reliability": learned, "planned": planned}
    if not sample:
        return reply, state.above
    labels, stated = state.labels(), state.stated()
    labels[list(checked)] = list(checked.values())
    # NUL stands for "none of these" where "" means that nothing is known.
    given = {row: name or "\0" for row, name in state.given.items()}
    names, drawn = [name or "\0" for name in labels], state.sample
    found = estimate_accuracy(names, given, drawn=drawn, reliability=stated, **how)
    reply |= {"share": found.accuracy, "low": found.low, "high": found.high}
    if n < len(state.sample):
        return reply, state.above
    right = [state.given[row] == checked[row] for row in sample]
    order = surest_first(stated, list(state.aside))
    line = sure_line(order, state.among, sample, right, **how)
    line = line._replace(rows=max(line.rows.tolist(), state.above, key=len))
    reply["line"] = {"n": len(line.rows), "wanted": line.wanted, "text": str(line)}
    return reply, line.rows
