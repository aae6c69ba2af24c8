"""The page of the demo: before and after, and the digits to look at."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

import unseen
from unseen.experiments.demo import DemoResult, SplitResult
from unseen.report.page import (
    AFTER,
    BEFORE,
    FAINT,
    INK,
    inline_png,
    inline_svg,
    new_figure,
    percent,
    write_page,
)

__all__ = ["write_demo_report"]

IMAGE_SHAPE = (8, 8)
MOST_IMAGES = 24


def write_demo_report(result: DemoResult, path: str | os.PathLike[str]) -> Path:
    """Write a demo's outcome as one HTML page that needs no other file.

    Parameters
    ----------
    result : DemoResult
        From :func:`unseen.experiments.run_demo`.
    path : path
        The page to write; its folder is made if need be.

    Returns
    -------
    Path
        The page written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.experiments import run_demo
    >>> from unseen.report import write_demo_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_demo_report(run_demo(n_splits=1), Path(folder) / "demo.html")
    ...     page.read_text()[:15]
    '<!doctype html>'
    """
    return write_page(
        "demo.html",
        path,
        version=unseen.__version__,
        result=result,
        by_class=result.by_class(),
        n_dims=result.data.class_embeddings.shape[1],
        splits_figure=draw_splits(result),
        splits_alt=describe_splits(result),
        rounds_figure=draw_rounds(result),
        rounds_alt=describe_rounds(result),
        galleries=[
            make_gallery(which, split) for which, split in telling_splits(result)
        ],
    )


def draw_splits(result: DemoResult) -> Markup:
    """One dot per split: accuracy before, to the right; after, upwards."""
    figure = new_figure(4.6, 4.6)
    (axes,) = figure.axes
    starts = [split.before for split in result.splits]
    afters = [split.after for split in result.splits]
    axes.plot([0, 1], [0, 1], color=FAINT, lw=1.2, ls="--", label="no change")
    axes.scatter(starts, afters, s=22, color=AFTER, alpha=0.65, label="one split")
    axes.scatter(
        [result.before],
        [result.after],
        s=110,
        marker="D",
        color=BEFORE,
        edgecolors="white",
        label="mean",
        zorder=3,
    )
    axes.set_aspect("equal")
    axes.set_xlabel("before self-training")
    axes.set_ylabel("after self-training")
    finish_share_axis(axes.xaxis, axes.set_xlim)
    finish_share_axis(axes.yaxis, axes.set_ylim)
    legend(figure)
    return inline_svg(figure, "splits")


def draw_rounds(result: DemoResult) -> Markup:
    """Accuracy round by round: the mean, and the middle half of the splits."""
    figure = new_figure(4.6, 4.6)
    (axes,) = figure.axes
    curves = full_curves(result)
    rounds = np.arange(curves.shape[1])
    low, high = np.quantile(curves, [0.25, 0.75], axis=0)
    axes.fill_between(
        rounds, low, high, color=FAINT, alpha=0.3, lw=0, label="middle half"
    )
    axes.plot(rounds, curves.mean(axis=0), color=BEFORE, lw=3, marker="D", label="mean")
    axes.axhline(result.chance, color=FAINT, ls=":", lw=1.5, label="chance")
    axes.set_xticks(rounds, ["before", *map(str, rounds[1:])])
    axes.set_xlabel("round of self-training")
    axes.set_ylabel("per-class accuracy")
    finish_share_axis(axes.yaxis, axes.set_ylim)
    legend(figure)
    return inline_svg(figure, "rounds")


def full_curves(result: DemoResult) -> np.ndarray:
    """Accuracies by split and round; a curve that ended early keeps its last value."""
    curves = [split.by_round for split in result.splits]
    length = max(map(len, curves))
    return np.array([curve + curve[-1:] * (length - len(curve)) for curve in curves])


def finish_share_axis(axis: Any, set_limits: Any) -> None:
    """Let an axis run from 0 to 100 %."""
    set_limits(-0.03, 1.03)
    axis.set_ticks(np.arange(0, 1.01, 0.25), ["0", "25", "50", "75", "100 %"])
    axis.grid(visible=True, color=FAINT, alpha=0.3, lw=0.8)
    axis.axes.set_axisbelow(True)


def legend(figure: Any) -> None:
    """Name the marks in one line above the figure."""
    figure.legend(
        loc="outside upper center", ncols=3, frameon=False, labelcolor=INK, fontsize=10
    )


def describe_splits(result: DemoResult) -> str:
    """Say the first figure in words."""
    return (
        f"One dot per split. Mean accuracy {percent(result.before)} before and "
        f"{percent(result.after)} after self-training, which helped in "
        f"{result.n_improved} of {len(result.splits)} splits. All are in the table."
    )


def describe_rounds(result: DemoResult) -> str:
    """Say the second figure in words."""
    means = full_curves(result).mean(axis=0)
    return "Mean accuracy before and after each round: " + ", ".join(
        map(percent, means)
    )


def telling_splits(result: DemoResult) -> list[tuple[str, SplitResult]]:
    """Pick the splits to look at: middle, largest gain, smallest gain."""
    ranked = sorted(result.splits, key=lambda split: split.gain, reverse=True)
    places = {"middle": len(ranked) // 2, "largest gain": 0, "smallest gain": -1}
    chosen = {name: ranked[place] for name, place in places.items()}
    return list(chosen.items())[: len(ranked)]


def make_gallery(which: str, split: SplitResult) -> dict[str, Any]:
    """For each unseen class some of the images that got its label."""
    return {
        "which": which,
        "unseen": " ".join(split.unseen),
        "before": split.before,
        "after": split.after,
        "labels": [make_shelf(split, name) for name in split.unseen],
    }


def make_shelf(split: SplitResult, name: str) -> dict[str, Any]:
    """Images labelled ``name``, taken evenly from the most reliable to the least."""
    rows = np.flatnonzero(split.labels == name)
    rows = rows[np.argsort(-split.reliability[rows], kind="stable")]
    places = np.linspace(0, len(rows) - 1, min(MOST_IMAGES, len(rows)))
    return {
        "name": name,
        "n_rows": len(rows),
        "n_right": int((split.y_true[rows] == name).sum()),
        "images": [
            {
                "uri": inline_png(split.X[row].reshape(IMAGE_SHAPE)),
                "truth": str(split.y_true[row]),
                "right": bool(split.y_true[row] == name),
            }
            for row in rows[places.round().astype(int)]
        ],
    }
