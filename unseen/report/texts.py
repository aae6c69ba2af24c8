"""The page of labelled texts: per class the surest and the least sure, as snippets.

It is filled batch by batch and keeps a few texts per class, so a file of millions
makes a page that opens at once. It needs no script and no other file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._words import printable
from unseen.report.page import write_page

__all__ = ["TextPage"]

PER_CLASS, ON_PAGE, FEWEST = 30, 3000, 4  # snippets: of a class, in all, at least
SNIPPET, MOST = 240, 4000  # characters at first sight, and when opened


class TextPage:
    """Collects labelled texts, and writes them by class, doubtful ones marked."""

    def __init__(self, classes: Iterable[str], doubtful: float = 0.5) -> None:
        self.doubtful = doubtful
        self.classes = [str(name) for name in classes]
        self.n_doubtful = 0
        self._counts: Counter[str] = Counter()
        each = ON_PAGE // max(1, 2 * len(self.classes))
        self._each = max(FEWEST, min(PER_CLASS, each))
        self._kept = pd.DataFrame(columns=["label", "reliability"])

    def add(self, part: pd.DataFrame) -> None:
        """Take in a table of labels with their texts."""
        self._counts.update(part["label"].tolist())
        self.n_doubtful += int((part["reliability"] < self.doubtful).sum())
        both = pd.concat([self._kept, part]) if len(self._kept) else part
        both = both.sort_values("reliability", ascending=False, kind="stable")
        by_class = both.groupby("label")["label"]
        place, n = by_class.cumcount(), by_class.transform("size")
        self._kept = both[(place < self._each) | (place >= n - self._each)]

    def write(
        self, path: str | os.PathLike[str], *, title: str, about: str = ""
    ) -> Path:
        """Write the page: its head, a sentence or two, and the texts."""
        others = sorted(set(self._counts) - set(self.classes))
        names = [name for name in [*self.classes, *others] if name in self._counts]
        return write_page(
            "texts.html",
            path,
            title=printable(title),
            about=printable(about),
            n_texts=self._counts.total(),
            n_doubtful=self.n_doubtful,
            doubtful=self.doubtful,
            groups=[self._shown(name) for name in names],
            empty=[printable(n) for n in self.classes if n not in self._counts],
        )

    def _shown(self, name: str) -> dict[str, Any]:
        """Return what the page shows of a class: the surest, then the least sure."""
        own = self._kept[self._kept["label"] == name]
        entries = [snippet(row) for _, row in own.iterrows()]
        for entry in entries:
            entry["is_doubtful"] = not entry["sure"] >= self.doubtful
        return {
            "name": printable(name) or "(no label)",
            "n": self._counts[name],
            "surest": entries[: self._each],
            "least": entries[self._each :][::-1],
        }


def snippet(row: pd.Series) -> dict[str, Any]:
    """Return what the page shows of a text: its start, and the rest to be opened."""
    text = printable(row["text"], keep="\n\t").strip()
    start, rest = text[:SNIPPET], text[SNIPPET:MOST]
    cut = start.rfind(" ") + 1
    if rest and cut > SNIPPET // 2:  # between words, where there are any
        start, rest = text[:cut], text[cut:MOST]
    return {
        "id": printable(row["id"]),
        "start": start or "(empty)",
        "rest": rest,
        "n_more": max(0, len(text) - MOST),
        "sure": float(row["reliability"]),
        "second": printable(row["second"]),
        "novelty": float(row.get("novelty", np.nan)),
    }
