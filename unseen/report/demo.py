"""The page of the demo: the photos to look at, and what adapting did."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
from markupsafe import Markup

import unseen
from unseen._command import program
from unseen.experiments.demo import DemoResult
from unseen.report.gallery import write_gallery
from unseen.report.page import (
    AFTER,
    BEFORE,
    FAINT,
    INK,
    inline_svg,
    new_figure,
    percent,
)

__all__ = ["write_demo_report"]


def write_demo_report(result: DemoResult, path: str | os.PathLike[str]) -> Path:
    """Write a demo's outcome as a page: the photos first, then what happened, folded.

    Parameters
    ----------
    result : DemoResult
        From :func:`unseen.experiments.run_demo`.
    path : path
        The page to write; its folder is made if need be. Small copies of the photos
        go into a folder beside it.

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
    ...     page = write_demo_report(run_demo(), Path(folder) / "demo.html")
    ...     page.read_text()[:15]
    '<!doctype html>'
    """
    photos, model = result.photos, result.model
    answers = [model.projected_, *(one.labels for one in model.rounds_)]
    return write_gallery(
        result.labels(),
        path,
        thumbnails=photos.jpegs.__getitem__,
        title=f"{len(photos.truth):,} photos, {len(photos.classes)} names, no label",
        classes=photos.classes,
        truth=photos.truth.tolist(),
        doubtful=0.5,
        template="demo.html",
        version=unseen.__version__,
        program=program(),
        result=result,
        by_class=result.by_class(),
        changes=[int((one != other).sum()) for one, other in pairwise(answers)],
        rounds_figure=draw_rounds(result),
        rounds_alt="Mean accuracy by the names alone and after each round: "
        + ", ".join(map(percent, result.by_round())),
    )


def draw_rounds(result: DemoResult) -> Markup:
    """Draw the mean accuracy round by round."""
    figure = new_figure(4.6, 4.2)
    (axes,) = figure.axes
    curve = result.by_round()
    axes.plot(curve, color=AFTER, lw=2.5, marker="o")
    axes.plot(0, curve[0], color=BEFORE, marker="D", ms=8, ls="none")
    axes.axhline(result.chance, color=FAINT, ls=":", lw=1.5)
    axes.annotate("chance", (0, result.chance), xytext=(0, 4), color=INK,
                  textcoords="offset points")  # fmt: skip
    every = 1 if len(curve) < 10 else 2  # or the first would run into its neighbour
    rounds = range(every, len(curve), every)
    axes.set_xticks([0, *rounds], ["names", *map(str, rounds)])
    axes.set_xlabel("round")
    axes.set_ylabel("right, mean of the classes")
    axes.set_ylim(0, 1.03)
    axes.set_yticks(np.arange(0, 1.01, 0.25), ["0", "25", "50", "75", "100 %"])
    axes.grid(axis="y", color=FAINT, alpha=0.3, lw=0.8)
    return inline_svg(figure, "rounds")
