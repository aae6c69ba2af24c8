"""The page of labelled texts: per class the surest and the least sure, as snippets.

It is filled batch by batch and keeps a few texts per class, so a file of millions
makes a page that opens at once. It needs no script and no other file.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen.report.gallery import printable
from unseen.report.page import write_page

__all__ = ["TextPage"]

PER_CLASS, ON_PAGE, FEWEST = 30, 3000, 4  # snippets: of a class, in all, at least
SNIPPET, MOST = 240, 4000  # characters at first sight, and when opened


class TextPage:
    """Collects labelled texts, and writes the page.

    Parameters
    ----------
    classes : sequence of str
        The names, in the order of the page.
    doubtful : float, default=0.5
        Texts less reliable than this are marked.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.labels import label_table
    >>> from unseen.report.texts import TextPage
    >>> page = TextPage(["pets", "weather"])
    >>> page.add(label_table(["pets"], reliability=[0.9], text=["<b>cats</b> purr"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = page.write(Path(folder) / "texts.html", title="Tickets")
    ...     "&lt;b&gt;cats" in written.read_text()
    True
    """

    def __init__(self, classes: Iterable[str], doubtful: float = 0.5) -> None:
        self.doubtful = doubtful
        self.classes = [str(name) for name in classes]
        self.n_texts = self.n_doubtful = 0
        each = ON_PAGE // max(1, 2 * len(self.classes))
        self.each = max(FEWEST, min(PER_CLASS, each))
        self._groups: dict[str, _Group] = {}

    def add(self, part: pd.DataFrame) -> None:
        """Take in a table of labels with their texts."""
        sure = part["reliability"].to_numpy(dtype=float)
        self.n_texts += len(part)
        self.n_doubtful += int((sure < self.doubtful).sum())
        for label, rows in part.groupby("label", sort=False).indices.items():
            if label not in self._groups:
                self._groups[str(label)] = _Group(self.each)
            self._groups[str(label)].add(part, np.asarray(rows), sure)

    def write(
        self, path: str | os.PathLike[str], *, title: str, about: str = ""
    ) -> Path:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : path
        title, about : str
            Its head, and a sentence or two below.

        Returns
        -------
        Path
            The page written.
        """
        others = sorted(set(self._groups) - set(self.classes))
        names = [name for name in [*self.classes, *others] if name in self._groups]
        return write_page(
            "texts.html",
            path,
            title=printable(title),
            about=printable(about),
            n_texts=self.n_texts,
            n_doubtful=self.n_doubtful,
            doubtful=self.doubtful,
            groups=[self._groups[name].shown(name, self.doubtful) for name in names],
            empty=[printable(n) for n in self.classes if n not in self._groups],
        )


class _Group:
    """The texts of one class: how many, and the surest and least sure of them."""

    def __init__(self, each: int) -> None:
        self.each, self.n, self.n_seen = each, 0, 0
        self._surest: list[tuple[float, int, dict[str, Any]]] = []
        self._least: list[tuple[float, int, dict[str, Any]]] = []

    def add(self, part: pd.DataFrame, rows: np.ndarray, sure: np.ndarray) -> None:
        self.n += len(rows)
        order = rows[np.argsort(np.nan_to_num(sure[rows], nan=-1), kind="stable")]
        for heap, some, sign in (
            (self._surest, order[-self.each :], 1),
            (self._least, order[: self.each], -1),
        ):
            for row in some:
                value = float(np.nan_to_num(sure[row], nan=-1))
                self.n_seen += 1
                entry = sign * value, -self.n_seen, snippet(part.iloc[row])
                if len(heap) < self.each:
                    heapq.heappush(heap, entry)
                elif entry[0] > heap[0][0]:
                    heapq.heapreplace(heap, entry)

    def shown(self, name: str, doubtful: float) -> dict[str, Any]:
        """Return what the page shows of the class."""
        surest = [entry for _, _, entry in sorted(self._surest, reverse=True)]
        known = {entry["id"] for entry in surest}
        least = [entry for _, _, entry in sorted(self._least, reverse=True)]
        least = [entry for entry in least if entry["id"] not in known]
        for entry in (*surest, *least):
            entry["is_doubtful"] = not entry["sure"] >= doubtful
        return {
            "name": printable(name) or "(no label)",
            "n": self.n,
            "surest": surest,
            "least": least,
        }


def snippet(row: pd.Series) -> dict[str, Any]:
    """Return what the page tells of a text: its start, and the rest to be opened."""
    text = printable(row["text"]).strip()
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
