"""A table of text, as Markdown and LaTeX, and how its numbers are written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

__all__ = ["NOTHING", "Table", "difference", "mean_and_spread", "number", "signed"]

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
        escape = _escaper({"\\": "\\\\", "|": "\\|", "<": "&lt;", "\n": " "})
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
        escape = _escaper(LATEX)
        n_cells = sum(len(names) for _, names in self.heads)
        groups = [
            rf"\multicolumn{{{len(names)}}}{{c}}{{{escape(group)}}}"
            for group, names in self.heads
        ]
        names = [escape(name) for _, names in self.heads for name in names]
        body = [[escape(label), *map(escape, cells)] for label, cells in self.rows]
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{escape(self.title)}. {escape(self.words)}}}",
                r"\centering",
                rf"\begin{{tabular}}{{l{'r' * n_cells}}}",
                r"\toprule",
                " & ".join(["", *groups]) + r" \\",
                " & ".join([escape(self.corner), *names]) + r" \\",
                r"\midrule",
                *(" & ".join(line) + r" \\" for line in body),
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
            ]
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


LATEX = {
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


def _escaper(signs: dict[str, str]) -> Callable[[str], str]:
    table = str.maketrans(signs)
    return lambda text: text.translate(table)


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
