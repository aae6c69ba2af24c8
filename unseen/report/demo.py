"""The pages of the demo: what adapting did, and the photos to look at."""

import os
from pathlib import Path

import numpy as np
from markupsafe import Markup

import unseen
from unseen._command import program
from unseen.experiments.demo import DemoResult
from unseen.report.figures import draw_recalls
from unseen.report.gallery import write_gallery
from unseen.report.page import (
    AFTER,
    BEFORE,
    FAINT,
    INK,
    inline_svg,
    new_figure,
    percent,
    write_page,
)

__all__ = ["write_demo_report"]


def write_demo_report(result: DemoResult, path: str | os.PathLike[str]) -> Path:
    """Write a demo's outcome as a short page, with a gallery of all photos beside it.

    Parameters
    ----------
    result : DemoResult
        From :func:`unseen.experiments.run_demo`.
    path : path
        The page to write; its folder is made if need be. The gallery is
        ``gallery.html`` in the same folder.

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
    path = Path(path)
    photos = result.photos
    gallery = write_gallery(
        result.labels(),
        path.with_name("gallery.html"),
        thumbnails=photos.jpegs.__getitem__,
        title=f"{len(photos.truth):,} photos, {len(photos.classes)} names, no label",
        classes=photos.classes,
        truth=photos.truth.tolist(),
        about="Test photos of CIFAR-10, labelled by class names alone after adapting. "
        "What they really show was used to mark mistakes, and for nothing else.",
    )
    return write_page(
        "demo.html",
        path,
        version=unseen.__version__,
        program=program(),
        result=result,
        gallery=gallery.name,
        by_class=result.by_class(),
        rounds=result.model.rounds_,
        classes_figure=inline_svg(draw_recalls(result.by_class()), "classes"),
        classes_alt="Accuracy by the names alone and adapted: "
        + "; ".join(
            f"{name} {percent(before)}, {percent(after)}"
            for name, before, after in result.by_class().itertuples(name=None)
        ),
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
    axes.set_xlabel("round of self-training")
    axes.set_ylabel("mean accuracy per class")
    axes.set_ylim(0, 1.03)
    axes.set_yticks(np.arange(0, 1.01, 0.25), ["0", "25", "50", "75", "100 %"])
    axes.grid(axis="y", color=FAINT, alpha=0.3, lw=0.8)
    return inline_svg(figure, "rounds")
