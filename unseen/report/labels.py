"""The page of labels: who got which name, how far to trust it, and how right it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import unseen
from unseen.labels import find_truth, read_labels
from unseen.named import unlike_message
from unseen.report.figures import draw_confusion
from unseen.report.page import AFTER, inline_svg, new_figure, write_page
from unseen.trust.metrics import (
    confusion,
    expected_calibration_error,
    per_class_accuracy,
    reliability_curve,
    risk_coverage,
)

__all__ = ["write_labels_report"]


def write_labels_report(
    labels: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    data: Any = None,
) -> Path:
    """Write labels as one HTML page that needs no other file.

    Parameters
    ----------
    labels : path
        CSV of labels, see :func:`unseen.labels.read_labels`.
    path : path
        The page; its folder is made if need be.
    data : DataFrame or path, optional
        A table of the true labels by ``id``, or its file. With them the page also
        scores the labels.

    Returns
    -------
    Path
        The page written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.labels import label_table, write_labels
    >>> from unseen.report import write_labels_report
    >>> labels = label_table(["okapi", "zebra"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     labels = write_labels(labels, Path(folder) / "labels.csv")
    ...     page = write_labels_report(labels, Path(folder) / "report.html")
    ...     "okapi" in page.read_text()
    True
    """
    given = read_labels(labels)
    if not len(given):
        raise ValueError(f"{labels}: there is no label in it.")
    n_unlike = list(given.get("unlike", [])).count("yes")
    return write_page(
        "labels.html",
        path,
        version=unseen.__version__,
        n_rows=len(given),
        names=describe_names(given),
        foreign=unlike_message(n_unlike, len(given), "rows"),
        score=None if data is None else score(given, data),
    )


def describe_names(given: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return, for every name, its rows and their reliability; the largest first."""
    named = given.assign(name=given["label"].replace("", "(no label)"))
    found = named.groupby("name")["reliability"].agg(["size", "median", "count"])
    found = found.set_axis(["n_rows", "reliability", "known"], axis=1)
    found = found.sort_values("n_rows", ascending=False, kind="stable")
    return found.reset_index().to_dict("records")


def score(given: pd.DataFrame, data: Any) -> dict[str, Any]:
    """Return accuracy, class by class, confusion, and what reliability is worth."""
    given = given[~given["label"].isin(["", "unknown"])]
    truth = find_truth(given, data)
    called = given["label"].to_numpy(dtype=str)
    table = confusion(truth, called)
    present = table.loc[np.unique(truth)]
    return {
        "set": Path(data).stem if isinstance(data, str | os.PathLike) else "the set",
        "mean": per_class_accuracy(truth, called),
        "rows": float((truth == called).mean()),
        "confusion": inline_svg(draw_confusion(present), "confusion"),
        "trust": trust(truth == called, given["reliability"].to_numpy(float)),
        "classes": [
            {
                "name": str(name),
                "n_rows": int((truth == name).sum()),
                "share": float((called[truth == name] == name).mean()),
            }
            for name in present.index
        ],
    }


def trust(right: np.ndarray, reliability: np.ndarray) -> dict[str, Any] | None:
    """Return how far reliability is off, with two drawings; None if it is unknown."""
    if not ((reliability >= 0) & (reliability <= 1)).all():
        return None
    curve = reliability_curve(right, reliability)
    kept = risk_coverage(right, reliability)
    diagram, risk = new_figure(3.4, 3.0), new_figure(3.4, 3.0)
    diagram.axes[0].plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle="--")
    diagram.axes[0].plot(curve["stated"], curve["right"], color=AFTER, marker="o")
    risk.axes[0].plot(kept["coverage"], kept["right"], color=AFTER)
    for figure, what in ((diagram, "reliability"), (risk, "share of rows kept")):
        figure.axes[0].set(xlabel=what, ylabel="right", xlim=(0, 1), ylim=(0, 1.02))
    return {
        "error": expected_calibration_error(right, reliability),
        "diagram": inline_svg(diagram, "diagram"),
        "risk": inline_svg(risk, "risk"),
    }
