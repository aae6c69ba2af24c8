"""Two hundred short texts of ten kinds, written for this package."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

TEXTS = Path(__file__).parent / "data" / "texts.csv"


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
    rows = list(csv.DictReader(TEXTS.read_text("utf-8").splitlines()))
    truth = np.array([row["label"] for row in rows])
    return DemoTexts(
        classes=sorted(set(truth.tolist())),
        ids=[row["id"] for row in rows],
        texts=[row["text"] for row in rows],
        truth=truth,
    )
