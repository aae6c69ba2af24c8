"""The tables of the plans, from results.csv alone, as Markdown and LaTeX.

Every column of a plan becomes a group: ours (mean ± standard deviation over seeds), and
the paper's number with the difference; or what self-training adds, and the oracle (the
best round by the true labels, which nobody has). Data that is absent prints as ``—``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from unseen._words import how_many
from unseen.experiments.plan import Column, Plan
from unseen.experiments.sources import plays
from unseen.loading.catalogue import catalogue

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
        The label of each row, and a cell per column; without cells it is a heading for
        the rows below it.
    corner : str
        What stands above the labels.
    notes : list of str
        Sentences behind the caption.
    beyond : int, optional
        The first group of columns that the paper does not have: a rule is before it.

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
    beyond: int | None = None

    @property
    def words(self) -> str:
        """Return the caption with its notes."""
        return " ".join([self.caption, *self.notes])

    def to_markdown(self) -> str:
        """Write the table as Markdown, one line of heads."""
        signs = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "&lt;", "\n": " "})
        flat = [f"{group} {name}".strip() for group, own in self.heads for name in own]
        empty = [""] * len(flat)
        lines = [[self.corner, *flat]]
        lines += [
            [x, *cells] if cells else [f"**{x}**", *empty] for x, cells in self.rows
        ]
        body = [f"| {' | '.join(c.translate(signs) for c in line)} |" for line in lines]
        body.insert(1, f"|---|{'---:|' * len(flat)}")
        caption = f"**{self.title.translate(signs)}.** {self.words.translate(signs)}"
        return "\n".join([caption, "", *body])

    def to_latex(self) -> str:
        """Write the table as LaTeX with booktabs, heads in two lines."""
        heads = [(group, name) for group, own in self.heads for name in own]
        coded = [tuple(part.translate(LATEX) for part in head) for head in heads]
        labels, lines = [], []
        for label, cells in self.rows:
            text = label.translate(LATEX)
            labels.append(text if cells else f"\\midrule\n\\emph{{{text}}}")
            lines.append([c.translate(LATEX) for c in cells or [""] * len(heads)])
        widths = ["r" * len(own) for _, own in self.heads]
        if self.beyond is not None:
            widths.insert(self.beyond, "|")
        corner = ["", self.corner.translate(LATEX)]
        columns = pd.MultiIndex.from_tuples(coded, names=corner)
        return pd.DataFrame(lines, index=labels, columns=columns).to_latex(
            caption=f"{self.title}. {self.words}".translate(LATEX),
            column_format=f"l{''.join(widths)}",
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


GAINS = {"gain together": "together", "gain by row": "by row"}


def accuracy_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by data sets: ours, and the paper's number or what self-training adds."""
    mine = results[results.task == plan.task]
    heads: list[tuple[str, list[str]]] = []
    lines = [(row.label, []) for row in plan.rows]  # type: list[tuple[str, list[str]]]
    for place, column in enumerate(plan.columns):
        found_of = by_method(mine[in_column(mine, column)])
        papers = [row.paper[place] for row in plan.rows]
        names = ["ours"]
        if plan.show == "gains":
            names += [*GAINS, "oracle"]
        elif plan.show == "table" and not all(map(math.isnan, papers)):
            names += ["paper", "diff."]
        heads.append((column.head, names if plan.show != "plain table" else [""]))
        for row, paper, (_, cells) in zip(plan.rows, papers, lines, strict=True):
            found = found_of.get(row.method, by_method(mine[:0]))
            ours = found[row.answer]
            adapted = found[found["together"].notna() & (row.answer == "final")]
            gains = {
                "ours": mean_and_spread(ours),
                "paper": number(paper),
                "diff.": signed(ours.mean() - paper),
                "oracle": mean_and_spread(adapted["oracle"]),
            }
            for name, base in GAINS.items():
                gains[name] = signed((adapted["final"] - adapted[base]).mean())
            cells += [gains[name] for name in names]
    headed = []
    for row, line in zip(plan.rows, lines, strict=True):
        headed += [(row.heading, []), line] if row.heading else [line]
    ours_alone = [column.bundled for column in plan.columns]
    beyond = ours_alone.index(True) if 0 < sum(ours_alone) < len(heads) else None
    told_of = notes(plan, results)
    return Table(plan.title, plan.caption, heads, headed, notes=told_of, beyond=beyond)


def by_method(found: pd.DataFrame) -> Any:
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
    return {str(name): own for name, own in frame.groupby(level="method")} or frame


COUNTED = {
    "instances": "instances",
    "features": "features",
    "dimensions": "attributes",
    "seen": "seen classes",
    "unseen": "unseen classes",
}


def statistics_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Table II: counts, ours beside the paper's."""
    mine = results[results.task == plan.task]
    rows = []
    for measure, label in COUNTED.items():
        cells = []
        paper_has = plan.counts.get(measure, (math.nan,) * len(plan.columns))
        for column, paper in zip(plan.columns, paper_has, strict=True):
            found = mine[(mine.measure == measure) & in_column(mine, column)]
            cells += [number(v, ",.0f") for v in (found["value"].mean(), paper)]
        rows.append((label, cells))
    heads = [(column.head, ["ours", "paper"]) for column in plan.columns]
    told_of = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "count", notes=told_of)


MAKERS: dict[str, Callable[[Plan, pd.DataFrame], Table]] = {
    "table": accuracy_table,
    "plain table": accuracy_table,
    "gains": accuracy_table,
    "statistics": statistics_table,
}


# ---- which results belong where ------------------------------------------------------


def in_column(results: pd.DataFrame, column: Column) -> pd.Series:
    """Tell which results belong to a column; of several sources the first found."""
    for name, classes in results[["data", "classes"]].drop_duplicates().to_numpy():
        if plays(name, classes, column):
            return (results["data"] == name) & (results["classes"] == classes)
    return pd.Series(False, index=results.index)


def notes(plan: Plan, results: pd.DataFrame) -> list[str]:
    """Say what data was loaded, what the paper has, what is missing and what failed."""
    mine = results[results.task == plan.task]
    mine = mine[mine.method.isin([row.method for row in plan.rows] or [""])]
    loaded: dict[str, list[str]] = {}
    missing: list[str] = []
    for column in plan.columns:
        if not in_column(mine, column).any():
            missing.append(column.head)
        counted = results[results.measure == "loaded"]
        here = counted.loc[in_column(counted, column), "note"].tolist()
        loaded.setdefault(column.data, []).extend(here)
    messages = []
    for name, found in loaded.items():
        entry = catalogue().get(name, {})
        theirs = f" The paper has {entry['paper']}." if "paper" in entry else ""
        if found:
            parts = pd.Series(found).str.partition(", classes by ").drop_duplicates()
            by_rows = parts.groupby(0, sort=False)[2].agg(" and ".join)
            texts = [f"{rows}, classes by {tables}" for rows, tables in by_rows.items()]
            messages.append(
                f"{entry.get('title', name)} here: {'; '.join(texts)}.{theirs}"
            )
    if missing:
        messages.append(f"Without results: {', '.join(missing)}.")
    n_failed = int((mine.measure == "failed").sum())
    if n_failed:
        failed = how_many(n_failed, "run")
        messages.append(f"{failed} failed; results.csv says why.")
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


def mean_and_spread(values: Any) -> str:
    """Write the mean, and the standard deviation if there are several; no nan counts.

    >>> mean_and_spread([50.0, 52.0]), mean_and_spread([7.25]), mean_and_spread([])
    ('51.0 ± 1.4', '7.2', '—')
    """
    known = pd.Series(values, dtype=float).dropna()
    spread = f" ± {known.std():.1f}" if len(known) > 1 else ""
    return number(known.mean()) + spread


def number(value: float, form: str = ".1f") -> str:
    """Write a number, nan as a dash."""
    return NOTHING if math.isnan(value) else f"{value:{form}}"


def signed(points: float) -> str:
    """Write points with their sign, a true minus; nan as a dash."""
    text = number(points, "+.1f")
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")
