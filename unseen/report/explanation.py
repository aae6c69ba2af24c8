"""The page of explanations: what speaks for labels, with a picture of each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import unseen
from unseen.report.figures import plain
from unseen.report.page import AFTER, BEFORE, inline_svg, new_figure, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["write_explanation_report"]


def write_explanation_report(
    answer: dict[str, Any], path: str | os.PathLike[str]
) -> Path:
    """Write explanations as one HTML page that needs no other file.

    Parameters
    ----------
    answer : dict
        What ``unseen explain --json`` prints: ``rows`` and ``class``, each optional.
    path : path

    Returns
    -------
    Path
        The page written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.report.explanation import write_explanation_report
    >>> row = {"id": "3", "label": "okapi", "runner-up": "zebra", "margin": 1.5,
    ...        "evidence": [{"evidence": "neck", "contribution": 1.5}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_explanation_report({"rows": [row]}, Path(folder) / "why.html")
    ...     "okapi" in page.read_text()
    True
    """
    rows = [
        row | {"picture": inline_svg(draw_evidence(row), f"row-{number}")}
        for number, row in enumerate(answer.get("rows", []))
    ]
    return write_page(
        "explanation.html",
        path,
        version=unseen.__version__,
        rows=rows,
        told=answer.get("class"),
    )


def draw_evidence(row: dict[str, Any]) -> Figure:
    """Draw what speaks for a label and against it."""
    names = [plain(str(part["evidence"])) for part in row["evidence"]][::-1]
    values = np.array([part["contribution"] for part in row["evidence"]][::-1])
    figure = new_figure(5.6, 0.8 + 0.26 * len(names))
    (axes,) = figure.axes
    places = np.arange(len(names))
    axes.barh(places, values, color=np.where(values > 0, AFTER, BEFORE).tolist())
    axes.set_yticks(places, names, fontsize=9)
    axes.set_xlabel("adds to the lead")
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    return figure
