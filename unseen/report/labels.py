"""The page of labels: who got which name, how far to trust it, and how right it was."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import unseen
from unseen.labels import read_labels
from unseen.named import unlike_message
from unseen.report.page import write_page
from unseen.trust.metrics import per_class_accuracy


def write_labels_report(
    labels: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    truth: Any = None,
) -> Path:
    """Write labels as one HTML page that needs no other file.

    Parameters
    ----------
    labels : path
        CSV of labels, see :func:`unseen.labels.read_labels`.
    path : path
        The page; its folder is made if need be.
    truth : array of str of shape (n_rows,), optional
        The true label of every row, "" where nobody knows it. With some that are known
        the page also scores the labels.

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
        score=score(given["label"].to_numpy(str), truth),
    )


def describe_names(given: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return, for every name, its rows and their reliability; the largest first."""
    named = given.assign(name=given["label"].replace("", "(no label)"))
    found = named.groupby("name")["reliability"].agg(["size", "median"])
    found = found.sort_values("size", ascending=False, kind="stable")
    found["median"] = [
        "—" if np.isnan(median) else f"{min(median, 0.994):.2f}"  # never 1.00
        for median in found["median"]
    ]
    return found.reset_index().to_dict("records")


def score(labels: np.ndarray, truth: Any) -> dict[str, Any] | None:
    """Return accuracy, also class by class, or None if nothing is known."""
    truth = np.full(len(labels), "") if truth is None else np.asarray(truth, dtype=str)
    known = (truth != "") & ~np.isin(labels, ["", "unknown"])
    if not known.any():
        return None
    right, truth = (labels == truth)[known], truth[known]
    by_class = pd.Series(right).groupby(truth).agg(["size", "mean"])
    return {
        "mean": per_class_accuracy(truth, labels[known]),
        "rows": float(right.mean()),
        "classes": by_class.reset_index(names="name").to_dict("records"),
    }
