"""The paper's figures from results.csv alone.

Every line has its own mark and dashes as well as a colour, from a palette that
colour-blind readers can tell apart (Okabe and Ito).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unseen.experiments.plan import Plan
from unseen.experiments.tables import in_column
from unseen.report.page import AFTER, BEFORE, FAINT, INK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_confusion", "draw_plan", "draw_recalls"]

# Readable on white and on black.
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
MARKS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">"]
DASHES = ["-", "--", "-.", ":"]


def draw_plan(plan: Plan, results: pd.DataFrame) -> Figure | None:
    """Draw a plan's figure from results, or return None if nothing of it was found."""
    mine = results[results.task == plan.task]
    found = DRAWINGS[plan.show](plan, mine)
    return found if found is not None and len(found.axes) else None


def draw_latent(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Fig. 3: dots are rows, large marks are prototypes."""
    here = mine[in_column(mine, plan.columns[0])]
    if here.empty:
        return None
    figure = new_figure(5.6, 5.4)
    (axes,) = figure.axes
    wide = here[here["round"].notna()].pivot_table(
        index=["round", "item"], columns="measure", values="value"
    )
    names = sorted(wide.index.get_level_values("item").unique())
    for place, name in enumerate(names):
        style: dict[str, Any] = {
            "color": PALETTE[place % len(PALETTE)],
            "marker": MARKS[place % len(MARKS)],
        }
        own = wide.xs(name, level="item")
        axes.scatter(own["row x"], own["row y"], s=14, alpha=0.55, lw=0, **style)
        axes.scatter(
            own["prototype x"],
            own["prototype y"],
            s=170,
            edgecolors=INK,
            linewidths=1.5,
            label=plain(name),
            zorder=3,
            **style,
        )
    axes.set(xticks=[], yticks=[])
    finish(figure, 3, grid=None)
    return figure


def draw_convergence(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Fig. 4: the objective after every sweep, as a share of the start."""
    figure = new_figure(5.2, 3.8)
    (axes,) = figure.axes
    n_lines = 0
    for column in plan.columns:
        here = mine[in_column(mine, column) & (mine.measure == "objective")]
        for variant, own in here.groupby("item", sort=True):
            own = own.sort_values("round")
            axes.plot(
                own["round"],
                own["value"] / own["value"].iloc[0],
                label=f"{column.head}, {variant}",
                markevery=5,
                **line_style(n_lines),
            )
            n_lines += 1
    if not n_lines:
        return None
    axes.set_ylim(bottom=0)
    axes.set_xlabel("sweep, α = β = 0.1")
    axes.set_ylabel("objective, share of the start")
    finish(figure, 2)
    return figure


def draw_rates(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Fig. 5: accuracy after the round of each rate, a panel per data set."""
    mine = mine[mine.method == plan.rows[0].method]
    columns = [column for column in plan.columns if in_column(mine, column).any()]
    if not columns:
        return None
    panels = list(dict.fromkeys(column.data for column in columns))
    figure = new_figure(4.0 * len(panels), 3.6, n_panels=len(panels))
    for n_lines, column in enumerate(columns):
        axes = figure.axes[panels.index(column.data)]
        here = mine[in_column(mine, column)]
        curve, by_row = accuracy_by_rate(here)
        style = line_style(n_lines)
        axes.plot(curve.index, curve["mean"], label=column.head, **style)
        low, high = curve["mean"] - curve["std"], curve["mean"] + curve["std"]
        axes.fill_between(curve.index, low, high, color=style["color"], alpha=0.2, lw=0)
        axes.plot(0, by_row, **style | {"mfc": "none", "ls": "none"})
        axes.set_xlabel("rate δ of self-labelled rows")
    figure.axes[0].set_ylabel("per-class accuracy, %")
    for axes in figure.axes:
        axes.set_ylim(bottom=0)
    finish(figure, 2)
    return figure


def accuracy_by_rate(found: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """Return mean and deviation in % by rate, the start at 0; and that of predict."""
    rounds = found[found.measure == "accuracy"]
    by_row = rounds.loc[rounds["round"] == 0, "value"].mean()
    start = found[found.measure == "together"].assign(item="0")
    points = pd.concat([start, rounds[rounds["round"] > 0]])
    shares = (100 * points["value"]).groupby(pd.to_numeric(points["item"]))
    return shares.agg(["mean", "std"]).fillna(0.0), 100 * float(by_row)


def draw_complexity(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Draw time against size on logarithmic scales, with the fitted exponent."""
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    figure = new_figure(5.2, 3.8)
    (axes,) = figure.axes
    here = mine[mine.measure == "fit"]
    for n_lines, (letter, own) in enumerate(here.groupby("item", sort=False)):
        own = own.sort_values("round")
        sizes, times = own["round"].to_numpy(float), own["seconds"].to_numpy(float)
        slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        label = f"{letter} (time ∝ {letter}^{slope:.2f})"
        axes.plot(sizes / sizes[0], times, label=label, **line_style(n_lines))
    if here.empty:
        return None
    axes.set(xscale="log", yscale="log")
    axes.set_xticks([1, 2, 4, 8])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(ScalarFormatter())
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("size, as a multiple of the smallest")
    axes.set_ylabel("seconds of a fit")
    finish(figure, 2)
    return figure


DRAWINGS: dict[str, Callable[[Plan, pd.DataFrame], Any]] = {
    "latent": draw_latent,
    "convergence": draw_convergence,
    "rates": draw_rates,
    "complexity": draw_complexity,
}


def draw_recalls(recalls: pd.DataFrame) -> Figure:
    """Draw the shares ``before`` and ``after`` of every class, the worst first."""
    ordered = recalls.sort_values("after")
    figure = new_figure(4.8, 1.2 + 0.24 * len(ordered))
    (axes,) = figure.axes
    places = np.arange(len(ordered))
    before, after = 100 * ordered["before"], 100 * ordered["after"]
    axes.hlines(places, before, after, color=FAINT, lw=2, alpha=0.6)
    axes.scatter(before, places, color=BEFORE, marker="D", s=26, label="before")
    axes.scatter(after, places, color=AFTER, marker="o", s=34, label="after", zorder=3)
    axes.set_yticks(places, [plain(name) for name in ordered.index], fontsize=9)
    axes.set_ylim(-0.8, len(ordered) - 0.2)
    axes.set_xlim(-3, 103)
    axes.set_xlabel("rows of the class that got its name, %")
    finish(figure, 2, grid="x")
    return figure


def draw_confusion(counts: pd.DataFrame) -> Figure:
    """Draw what the rows of each class (a row) were called, as shares of the class."""
    shares = counts.div(counts.sum(axis=1).clip(lower=1), axis=0)
    n_rows, n_columns = shares.shape
    side = max(4.2, 1.6 + 0.2 * max(n_rows, n_columns))
    figure = new_figure(side + 1, side)
    (axes,) = figure.axes
    size = 9 if n_rows <= 25 else 7
    mesh = axes.imshow(shares.to_numpy(float), cmap="cividis", vmin=0, vmax=1)
    columns, rows = map(plain, shares.columns), map(plain, shares.index)
    axes.set_xticks(np.arange(n_columns), list(columns), rotation=90, fontsize=size)
    axes.set_yticks(np.arange(n_rows), list(rows), fontsize=size)
    axes.set_xlabel("name given")
    axes.set_ylabel("true class")
    if n_rows <= 15:  # each share of 1 % and more fits into its square
        for (i, j), share in np.ndenumerate(shares.to_numpy(float)):
            if share >= 0.01:
                colour = "black" if share > 0.5 else "white"
                text = f"{100 * share:.0f}"
                axes.text(j, i, text, ha="center", va="center", color=colour)
    bar = figure.colorbar(mesh, ax=axes, shrink=0.6)
    bar.ax.tick_params(colors=INK, labelsize=9)
    bar.set_label("share of the true class", color=INK)
    return figure


def line_style(number: int) -> dict[str, Any]:
    """Return colour, mark and dashes of a line: no two lines share all three."""
    return {
        "color": PALETTE[number % len(PALETTE)],
        "marker": MARKS[number % len(MARKS)],
        "ls": DASHES[number % len(DASHES)],
        "lw": 2,
        "ms": 6,
    }


def plain(name: Any) -> str:
    """Return a name of the user as text: a dollar sign starts no formula."""
    return str(name).replace("$", r"\$")


def finish(figure: Any, n_columns: int, grid: Any = "both") -> None:
    """Add a grid, unless it is None, and name the marks above the figure."""
    for axes in figure.axes:
        if grid is not None:
            axes.grid(visible=True, axis=grid, color=FAINT, alpha=0.3, lw=0.8)
        axes.set_axisbelow(True)
    figure.legend(
        loc="outside upper center",
        ncols=n_columns,
        frameon=False,
        labelcolor=INK,
        fontsize=10,
    )
