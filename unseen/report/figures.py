"""The paper's figures from results.csv alone.

Every line has its own mark and dashes as well as a colour, from a palette that
colour-blind readers can tell apart (Okabe and Ito).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unseen.experiments.plan import Column, Plan
from unseen.experiments.tables import in_column
from unseen.methods import METHODS
from unseen.report.page import FAINT, INK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Readable on white and on black.
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
MARKS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">"]
DASHES = ["-", "--", "-.", ":"]


def draw_plan(plan: Plan, results: pd.DataFrame) -> Figure | None:
    """Draw a plan's figure from results, or return None if nothing of it was found."""
    mine = results[(results.task == plan.task) & (results.measure != "failed")]
    found = DRAWINGS[plan.show](plan, mine)
    return found if found is not None and len(found.axes) else None


def found_in(plan: Plan, mine: pd.DataFrame) -> list[tuple[Column, pd.DataFrame]]:
    """Return the columns of a plan of which something was found, each with that."""
    found = [(column, mine[in_column(mine, column)]) for column in plan.columns]
    return [(column, here) for column, here in found if len(here)]


def draw_workflow(plan: Plan, mine: pd.DataFrame) -> Figure:
    """Figs. 1 and 2: what is learned from what."""
    figure = new_figure(7.0, 3.6)
    (axes,) = figure.axes
    axes.set(xlim=(0, 100), ylim=(0, 52), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    boxes = {
        "rows": (13, 42, "labelled rows\nXₛ, Yₛ", FAINT),
        "seen": (13, 26, "embeddings of\nseen classes Aₛ", FAINT),
        "fit": (40, 34, "JEDM: dictionary D,\ncompatibility V", PALETTE[1]),
        "unseen": (13, 8, "embeddings of\nunseen classes Aₜ", FAINT),
        "prototypes": (40, 8, "prototypes V Aₜ\n(they stay)", PALETTE[1]),
        "label": (66, 21, "label the rows,\nrank them", PALETTE[0]),
        "unlabelled": (66, 42, "unlabelled rows Xₜ", FAINT),
        "keep": (89, 31, "keep the best δ of\neach class", PALETTE[0]),
        "refit": (89, 11, "learn Dₜ again,\nclose to D", PALETTE[0]),
    }
    drawn = {}
    for name, (x, y, text, colour) in boxes.items():
        style = {"boxstyle": "round,pad=0.5", "fc": "none", "ec": colour, "lw": 1.5}
        words: dict[str, Any] = {"ha": "center", "va": "center", "size": 8}
        drawn[name] = axes.text(x, y, text, bbox=style, color=INK, **words)
    arrows = """rows fit, seen fit, unseen prototypes, fit prototypes, fit label,
        prototypes label, unlabelled label, label keep, keep refit, refit label"""
    for pair in arrows.split(","):
        start, end = pair.split()
        reach: dict[str, Any] = {"arrowstyle": "-|>", "color": INK, "shrinkB": 2}
        for patch, name in {"patchA": start, "patchB": end}.items():
            reach[patch] = drawn[name].get_bbox_patch()
        axes.annotate("", boxes[end][:2], boxes[start][:2], arrowprops=reach)
    again = "a larger δ each round: .4, .6, .8, 1"
    axes.text(78, 1, again, ha="center", size=8, color=PALETTE[0])
    return figure


def draw_latent(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Fig. 3: rows and prototypes before and after, a row of panels per data set."""
    if not (found := found_in(plan, mine)):
        return None
    figure = new_figure(7.2, 0.3 + 3.7 * len(found), 2, len(found))
    for row, (column, here) in enumerate(found):
        names = sorted(here.loc[here.measure == "prototype x", "item"])
        wide = here[here["round"].notna()].pivot_table(
            index=["round", "item"], columns="measure", values="value"
        )
        places = here[here.measure.str.startswith("prototype")].pivot_table(
            index="item", columns="measure", values="value"
        )
        for when in (0, 1):
            axes = figure.axes[2 * row + when]
            for place, name in enumerate(names):
                own = wide[wide.index.get_level_values("item") == name]
                style = mark_style(place)
                draw_rows(axes, own, when, style)
                if column.data == "photos":
                    draw_photos(axes, own, when, style["color"])
                x, y = places.loc[name, ["prototype x", "prototype y"]]
                axes.scatter(x, y, s=90, edgecolors=INK, lw=1.2, zorder=4, **style)
            if len(names) <= 20:  # more would cover each other
                write_names(axes, places, names)
            right = wide[f"right {when}"].groupby("item").mean().mean()
            head = f"{column.head}, {'after' if when else 'before'}"
            axes.set_title(plain(f"{head}: {100 * right:.0f} %"), size=9, color=INK)
            axes.set(xticks=[], yticks=[])
            axes.spines[["top", "right"]].set_visible(True)
            axes.spines[:].set_color(FAINT)
    return figure


def draw_rows(axes: Any, own: pd.DataFrame, when: int, style: dict[str, Any]) -> None:
    """Draw the rows of a class, those with a wrong label as crosses."""
    x, y = own[f"x {when}"], own[f"y {when}"]
    right = own[f"right {when}"] == 1
    axes.scatter(x[right], y[right], s=9, alpha=0.7, lw=0, **style)
    wrong = {"marker": "x", "color": style["color"], "s": 7, "lw": 0.5, "alpha": 0.8}
    axes.scatter(x[~right], y[~right], **wrong)


def draw_photos(axes: Any, own: pd.DataFrame, when: int, colour: str) -> None:
    """Draw every sixth bundled photo in its place, with a frame if it is right."""
    from io import BytesIO

    from matplotlib.offsetbox import AnnotationBbox, OffsetImage
    from PIL import Image

    from unseen.photos.bundled import load_photos

    pictures = load_photos().jpegs
    for row in own.iloc[::6].itertuples(index=False, name=None):
        row_of = dict(zip(own.columns, row, strict=True))
        with Image.open(BytesIO(pictures[int(row_of["row"])])) as photo:
            image = OffsetImage(np.asarray(photo.convert("RGB")), zoom=0.34)
        frame = {"ec": colour, "lw": 1.2 if row_of[f"right {when}"] else 0}
        place = row_of[f"x {when}"], row_of[f"y {when}"]
        axes.add_artist(AnnotationBbox(image, place, pad=0.05, bboxprops=frame))


def write_names(axes: Any, places: pd.DataFrame, names: list[str]) -> None:
    """Write names beside prototypes, from top to bottom, none upon another."""
    from matplotlib.patheffects import withStroke

    low, high = axes.get_ylim()
    step, last = (high - low) / 22, np.inf
    for name in places.loc[names].sort_values("prototype y", ascending=False).index:
        x, y = places.loc[name, ["prototype x", "prototype y"]]
        last = min(y + step, last - step)
        words = {"size": 7, "color": INK, "zorder": 5, "va": "center", "ha": "center"}
        axes.plot([x, x], [y, last], color=INK, lw=0.4, zorder=3)
        text = axes.text(x, last, plain(name.replace("+", " ")), **words)
        text.set_path_effects([withStroke(linewidth=2, foreground="white", alpha=0.8)])


def draw_convergence(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Fig. 4: the objective, the change of D, and ADMM's steps."""
    if not (found := found_in(plan, mine)):
        return None
    figure = new_figure(9.6, 3.6, 3, sharey=False)
    lines = product(found, ("paper", "reference"))
    for number, ((column, here), reading) in enumerate(lines):
        own = here[here.item == reading].pivot_table(
            index="round", columns="measure", values="value"
        )
        style = line_style(number) | {"markevery": 5, "ms": 4, "lw": 1.5}
        cost = own["objective"] / own["objective"].iloc[0]
        changes = own["change of D"].dropna()
        label = f"{column.head}, {reading}"
        figure.axes[0].plot(cost.index, cost, label=label, **style)
        figure.axes[1].plot(changes.index, changes, **style)
        figure.axes[2].plot(own.index[1:], own["steps"].iloc[1:], **style)
    figure.axes[0].set(ylim=(0, 1.05), ylabel="objective, share of the start")
    figure.axes[1].set(yscale="log", ylabel="relative change of D")
    figure.axes[2].set(ylim=(0, None), ylabel="ADMM steps of a sweep")
    figure.axes[2].axhline(20, color=INK, lw=0.8, ls=":")
    for axes in figure.axes:
        axes.set_xlabel("sweep, α = β = 0.1")
    finish(figure, 3)
    return figure


def draw_rates(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Fig. 5: accuracy after the round of each rate, a panel per data set."""
    if not (columns := found_in(plan, mine)):
        return None
    panels = list(dict.fromkeys(column.data for column, _ in columns))
    figure = new_figure(1.2 + 3.0 * len(panels), 3.6, len(panels), sharey=False)
    for number, (column, here) in enumerate(columns):
        axes = figure.axes[panels.index(column.data)]
        for row in plan.rows:
            own = here[here.method == row.method]
            if own.empty:
                continue
            curve, by_row = accuracy_by_rate(own)
            style = line_style(number)
            searched = row is plan.rows[0]
            style |= {"ls": "-" if searched else "--", "ms": 5, "lw": 1.6}
            label = f"{column.head}{'' if searched else ', authors’ settings'}"
            axes.plot(curve.index, curve["mean"], label=label, **style)
            low, high = curve["mean"] - curve["std"], curve["mean"] + curve["std"]
            band = {"color": style["color"], "alpha": 0.15, "lw": 0}
            axes.fill_between(curve.index, low, high, **band)
            axes.plot(-0.06, by_row, **style | {"mfc": "none", "ls": "none"})
        axes.set(xlabel="self-labelled rate δ", xticks=[0, 0.4, 0.6, 0.8, 1])
    figure.axes[0].set_ylabel("per-class accuracy, %")
    finish(figure, min(2, len(panels)))
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

    if mine.empty:
        return None
    figure = new_figure(7.4, 4.0, 2, sharey=False)
    lines = {"m": "fit", "p": "fit", "d": "fit", "n": "adapt"}
    for number, (letter, what) in enumerate(lines.items()):
        for axes, measure in zip(figure.axes, (what, "predict"), strict=True):
            own = mine[(mine.measure == measure) & (mine.item == letter)]
            if own.empty:
                continue
            own = own.sort_values("round")
            sizes, times = own[["round", "seconds"]].to_numpy(float).T
            slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
            label: Any = (
                f"{what}, {letter} from {sizes[0]:,.0f}: ∝ {letter}^{slope:.2f}"
            )
            if measure == "predict":
                label, times = None, 1000 * times / own["value"].to_numpy(float)
            axes.plot(sizes / sizes[0], times, label=label, **line_style(number))
    left, right = figure.axes
    left.set_ylabel("seconds")
    right.set_ylabel("predict, milliseconds a row")
    right.axhline(0.01, color=INK, lw=0.8, ls=":")
    right.text(1, 0.0105, "the paper: 0.01", size=8, color=INK)
    for axes in figure.axes:
        axes.set(xscale="log", yscale="log", xlabel="size, times the smallest")
        axes.set_xticks([1, 2, 4, 8])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(ScalarFormatter())
            axis.set_minor_formatter(NullFormatter())
    finish(figure, 2)
    return figure


def draw_separation(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Draw accuracy against measured separation and error, and where real sets lie."""
    made_up = mine[mine["data"] == "made-up"]
    if made_up.empty:
        return None
    figure = new_figure(8.6, 4.2, 2)
    means = made_up.groupby(["measure", "item"], sort=False)["value"].mean()
    sides = {"separation": "distance", "error": "off"}
    for axes, (what, measured) in zip(figure.axes, sides.items(), strict=True):
        settings = [item for item in means[measured].index if item.startswith(what)]
        places = [means[measured, item] for item in settings]
        shares = means[what]
        methods = dict.fromkeys(item.rsplit(" ", 1)[0] for item in shares.index)
        for number, method in enumerate(methods):
            own = [v for item, v in shares.items() if item.rsplit(" ", 1)[0] == method]
            pair = number // 2 if method != "ast" else 4
            style = line_style(pair) | {"ls": "-" if number % 2 or pair == 4 else ":"}
            style |= {"ms": 4, "lw": 1.6}
            style["mfc"] = style["color"] if number % 2 else "none"
            name = METHODS[method].label if what == "separation" else None
            axes.plot(places, 100 * np.array(own), label=name, **style)
        found = found_in(plan, mine[mine.measure == measured])
        real = sorted((one["value"].iloc[0], plain(c.head)) for c, one in found)
        words: dict[str, Any] = {"rotation": 90, "size": 7, "color": INK}
        height, side = (0.99, "top") if what == "separation" else (0.02, "bottom")
        words |= {"va": side, "transform": axes.get_xaxis_transform()}
        before = -np.inf
        for place, head in real:  # beside its line, and not on the name before
            axes.axvline(place, color=FAINT, lw=1)
            near = place - before < 0.1 * np.ptp(places)
            axes.text(place, height, head, ha="left" if near else "right", **words)
            before = place
    figure.axes[0].set_xlabel("separation: distance to the nearest class, in widths")
    figure.axes[0].set_ylabel("per-class accuracy, %")
    figure.axes[1].set(xlabel="how far prototypes are off (0 exact, 1 chance)")
    finish(figure, 4)
    return figure


DRAWINGS: dict[str, Callable[[Plan, pd.DataFrame], Any]] = {
    "latent": draw_latent,
    "convergence": draw_convergence,
    "rates": draw_rates,
    "complexity": draw_complexity,
    "separation": draw_separation,
    "workflow": draw_workflow,
}


def mark_style(number: int) -> dict[str, Any]:
    """Return the colour and mark of a class."""
    colour, mark = PALETTE[number % len(PALETTE)], MARKS[number % len(MARKS)]
    return {"color": colour, "marker": mark}


def line_style(number: int) -> dict[str, Any]:
    """Return colour, mark and dashes of a line: no two lines share all three."""
    dashes = DASHES[number % len(DASHES)]
    return mark_style(number) | {"ls": dashes, "lw": 2, "ms": 6}


def plain(name: Any) -> str:
    """Return a name of the user as text: a dollar sign starts no formula."""
    return str(name).replace("$", r"\$")


def finish(figure: Any, n_columns: int) -> None:
    """Add a grid, and name the marks above the figure."""
    for axes in figure.axes:
        axes.grid(visible=True, color=FAINT, alpha=0.3, lw=0.8)
        axes.set_axisbelow(True)
    words = {"frameon": False, "labelcolor": INK, "fontsize": 10}
    figure.legend(loc="outside upper center", ncols=n_columns, **words)
