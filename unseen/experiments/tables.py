"""The tables of the plans, from results.csv alone, as Markdown and LaTeX.

Every column of a plan becomes a group: ours (mean ± standard deviation over seeds), the
oracle (the best round by the true labels, which nobody has), the paper's number, and
the difference. Data that is absent prints as ``—``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from unseen.experiments.plan import Column, Plan
from unseen.experiments.sources import known_sources

__all__ = ["MAKERS", "NOTHING", "Table", "in_column", "make_table", "notes"]

NOTHING = "—"


@dataclass
class Table:
    """A table of text, ready to be written in any form; ``report`` writes HTML.

    Parameters
    ----------
    title, caption : str
    heads : list of (str, list of str)
        Groups of columns: the name of the group, and of its columns.
    rows : list of (str, list of str)
        The label of each row, and a cell per column.
    corner : str
        What stands above the labels.

    Examples
    --------
    >>> from unseen.experiments.tables import Table
    >>> table = Table("T", "C", [("AwA", ["ours"])], [("CCA", ["72.5"])], "method")
    >>> print(table.to_markdown())
    **T.** C
    <BLANKLINE>
    | method | AwA ours |
    |---|---:|
    | CCA | 72.5 |
    >>> "AwA & " in table.to_latex()
    False
    """

    title: str
    caption: str
    heads: list[tuple[str, list[str]]]
    rows: list[tuple[str, list[str]]]
    corner: str = "method"
    notes: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Return the caption with its notes."""
        return " ".join([self.caption, *self.notes])

    def to_markdown(self) -> str:
        """Write the table as Markdown, one line of heads."""
        signs = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "&lt;", "\n": " "})

        def escape(text: str) -> str:
            return text.translate(signs)

        flat = [
            f"{group} {name}".strip() for group, names in self.heads for name in names
        ]
        lines = [
            [self.corner, *flat],
            ["---", *["---:"] * len(flat)],
            *([label, *cells] for label, cells in self.rows),
        ]
        body = [f"| {' | '.join(map(escape, line))} |" for line in lines]
        body[1] = f"|{'|'.join(lines[1])}|"
        return "\n".join([f"**{escape(self.title)}.** {escape(self.words)}", "", *body])

    def to_latex(self) -> str:
        """Write the table as LaTeX with booktabs, heads in two lines."""

        def escape(text: str) -> str:
            return text.translate(LATEX)

        heads = [
            (escape(group), escape(name))
            for group, names in self.heads
            for name in names
        ]
        return pd.DataFrame(
            [[*map(escape, cells)] for _, cells in self.rows],
            index=[escape(label) for label, _ in self.rows],
            columns=pd.MultiIndex.from_tuples(heads, names=["", escape(self.corner)]),
        ).to_latex(
            caption=f"{escape(self.title)}. {escape(self.words)}",
            column_format=f"l{'r' * len(heads)}",
            multicolumn_format="c",
        )

    @property
    def name(self) -> str:
        """Return a name for use as an id."""
        return re.sub(r"\W+", "-", self.title).strip("-").lower()

    @property
    def grouped(self) -> list[tuple[str, list[list[str]]]]:
        """Return the rows with their cells in the groups of the heads."""
        sizes = np.cumsum([0, *(len(names) for _, names in self.heads)])
        pairs = list(pairwise(sizes))
        return [(label, [cells[i:j] for i, j in pairs]) for label, cells in self.rows]


# ---- from results --------------------------------------------------------------------


def make_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Fill a plan's table from results.

    Parameters
    ----------
    plan : Plan
    results : DataFrame
        From :func:`unseen.experiments.read_results`.

    Returns
    -------
    Table

    Examples
    --------
    >>> import pandas as pd
    >>> from unseen.experiments import make_table, read_plan
    >>> from unseen.experiments.run import COLUMNS
    >>> nothing = pd.DataFrame(columns=list(COLUMNS))
    >>> make_table(read_plan("table4"), nothing).rows[0]
    ('CCA', ['—', '65.6', '—', '—', '30.4', '—'])
    """
    return MAKERS[plan.show](plan, results)


def accuracy_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by data sets: what was found, the best round, the paper's number."""
    mine = results[results.task == plan.task]
    adapts = mine[(mine.measure == "accuracy") & (mine["round"] > 0)].method
    methods = [row.method for row in plan.rows if row.round is None]
    names = list(GAINS) if plan.show == "gains" else []
    if plan.show != "plain table" and adapts.isin(methods).any():
        names.append("oracle")
    if any(not math.isnan(paper) for row in plan.rows for paper in row.paper):
        names += ["paper", "diff."]
    of_columns = [by_method(mine[in_column(mine, column)]) for column in plan.columns]
    nothing = pd.DataFrame(
        columns=["final", "by row", "together", "oracle"], dtype=float
    )
    lines = []
    for row in plan.rows:
        cells = []
        for found_of, paper in zip(of_columns, row.paper, strict=True):
            found = found_of.get(row.method, nothing)
            ours = found["by row" if row.round == 0 else "final"].dropna()
            others = {"oracle": mean_and_spread(found["oracle"].dropna().to_numpy())}
            for name, base in GAINS.items():
                gains = (found["final"] - found[base]).where(found["together"].notna())
                others[name] = signed(gains.mean()) if gains.notna().any() else NOTHING
            if row.round == 0:
                others = dict.fromkeys(others, NOTHING)
            others["paper"] = number(paper)
            others["diff."] = difference(ours.to_numpy(), paper)
            cells += [mean_and_spread(ours.to_numpy()), *(others[n] for n in names)]
        lines.append((row.label, cells))
    shown = ["ours", *names] if names else [""]
    heads = [(column.head, shown) for column in plan.columns]
    return Table(plan.title, plan.caption, heads, lines, notes=notes(plan, results))


GAINS = {"gain": "together", "gain by row": "by row"}


def by_method(found: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the accuracies in % of every method on one data set, a row per seed.

    final     the answer
    by row    of ``predict``, a row at a time
    together  of what self-training starts from, on the unlabelled rows together
    oracle    the best round by the true labels; the authors never report less than
              the start on the unlabelled rows together
    """
    values = 100 * found.set_index(["method", "seed"])["value"].astype(float)
    measure, rounds = found["measure"].to_numpy(), found["round"].to_numpy(float)
    frame = pd.DataFrame(
        {
            "final": values[measure == "final"],
            "by row": values[(measure == "accuracy") & (rounds == 0)],
            "together": values[measure == "together"],
        }
    )
    adapted = values[(measure == "accuracy") & (rounds > 0)]
    best = adapted.groupby(level=[0, 1]).max()
    lowest = frame["together"].fillna(frame["by row"]).reindex(best.index)
    frame["oracle"] = best.clip(lower=lowest)
    return {str(name): own for name, own in frame.groupby(level="method")}


def statistics_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Table II: counts, ours beside the paper's."""
    measures = {
        "instances": "instances",
        "features": "features",
        "dimensions": "attributes",
        "seen": "seen classes",
        "unseen": "unseen classes",
    }
    mine = results[results.task == plan.task]
    rows = []
    for measure, label in measures.items():
        cells = []
        paper = plan.counts.get(measure, (math.nan,) * len(plan.columns))
        for column, theirs in zip(plan.columns, paper, strict=True):
            found = mine[(mine.measure == measure) & in_column(mine, column)]
            cells.append(f"{found['value'].iloc[0]:,.0f}" if len(found) else NOTHING)
            cells.append(NOTHING if math.isnan(theirs) else f"{theirs:,.0f}")
        rows.append((label, cells))
    heads = [(column.head, ["ours", "paper"]) for column in plan.columns]
    messages = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "count", notes=messages)


MAKERS: dict[str, Callable[[Plan, pd.DataFrame], Table]] = {
    "table": accuracy_table,
    "plain table": accuracy_table,
    "gains": accuracy_table,
    "statistics": statistics_table,
}


# ---- which results belong where ------------------------------------------------------


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
        return [(Path(column.data).as_posix(), column.classes, [])]
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
    messages = []
    if differ:
        message = "; ".join(dict.fromkeys(differ))
        messages.append(f"The data is not the paper's. {message}.")
    if missing:
        messages.append(f"Without results: {', '.join(missing)}.")
    n_failed = int((mine.measure == "failed").sum())
    if n_failed:
        runs = "run" if n_failed == 1 else "runs"
        messages.append(f"{n_failed} {runs} failed; results.csv says why.")
    return messages


# ---- how numbers are written ---------------------------------------------------------


LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "−": "$-$",
        "—": "---",
        "α": r"$\alpha$",
        "β": r"$\beta$",
        "→": r"$\to$",
        "\n": " ",
    }
)


def mean_and_spread(values: np.ndarray) -> str:
    """Write the mean, and the standard deviation if there are several.

    >>> mean_and_spread(np.array([50.0, 52.0])), mean_and_spread(np.array([7.25]))
    ('51.0 ± 1.4', '7.2')
    """
    if not len(values):
        return NOTHING
    if len(values) == 1:
        return f"{values[0]:.1f}"
    return f"{values.mean():.1f} ± {values.std(ddof=1):.1f}"


def number(value: float) -> str:
    """Write a number of the paper."""
    return NOTHING if math.isnan(value) else f"{value:.1f}"


def difference(ours: np.ndarray, paper: float) -> str:
    """Write ours less the paper's.

    >>> difference(np.array([50.0]), 47.6), difference(np.array([]), 47.6)
    ('+2.4', '—')
    """
    if not len(ours) or math.isnan(paper):
        return NOTHING
    return signed(ours.mean() - paper)


def signed(points: float) -> str:
    """Write points with their sign, a true minus."""
    text = f"{points:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")
