"""Two hundred short texts of ten kinds, written for this package."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

__all__ = ["DemoTexts", "load_demo_texts"]


@dataclass(frozen=True, eq=False)
class DemoTexts:
    """The bundled texts.

    Attributes
    ----------
    classes : list of str
        The ten class names, in order.
    ids, texts : list of str
    truth : ndarray of str
        Their classes, for scoring only.
    """

    classes: list[str]
    ids: list[str]
    texts: list[str]
    truth: np.ndarray


@cache
def load_demo_texts() -> DemoTexts:
    """Read the bundled texts, once.

    Returns
    -------
    DemoTexts

    Examples
    --------
    >>> from unseen.texts import load_demo_texts
    >>> len(load_demo_texts().texts)
    200
    """
    text = files("unseen.texts").joinpath("data", "texts.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    truth = np.array([row["label"] for row in rows])
    return DemoTexts(
        classes=sorted(set(truth.tolist())),
        ids=[row["id"] for row in rows],
        texts=[row["text"] for row in rows],
        truth=truth,
    )
