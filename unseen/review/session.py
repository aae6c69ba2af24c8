"""A review in progress: one table of labels, its journal, any number of tabs.

    labels.csv                       what was labelled; never written
    labels.review/answers.jsonl      the journal: what people answered
    labels.review/taught-7.csv       the model's labels after it learned in entry 7
    labels.review/corrections.csv    every given label, for ``unseen label --given``
    labels.review/reviewed.csv       the whole table, corrected

The last two are made anew from the journal a moment after every answer. Answers belong
to the table they were given for: another table of that name gets labels.review-2.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen.asking import draw_check
from unseen.labels import label_table, read_labels, write_labels
from unseen.review.answers import ModelLabels, ReviewState, apply, replay
from unseen.review.folders import answers_about, digest_of, find_review
from unseen.review.items import Items
from unseen.review.journal import UNDOABLE, Entry, Journal, fault_of
from unseen.review.learning import Learning, RefusedError, Stop, moves
from unseen.review.origins import Origin
from unseen.review.teaching import Teacher
from unseen.review.views import View, estimate, rows_by_class, tables_of, view_of

__all__ = ["RefusedError", "Session"]

PAUSE, AGAIN = 0.5, 2.0  # seconds until tables are written anew, and tried again


class Session:
    """A review of one table of labels.

    Parameters
    ----------
    labels : path
        The table; it is read, never written.
    table : DataFrame
        What it holds.
    items : Items
        What its rows are.
    origin : Origin, optional
        How the table was made.
    prepare : callable, optional
        Makes the teacher, on a thread: it may take a while, and may raise.
    """

    def __init__(
        self,
        labels: Path,
        table: pd.DataFrame,
        items: Items,
        origin: Origin | None = None,
        prepare: Callable[[Stop], Teacher] | None = None,
    ) -> None:
        if not len(table):
            raise ValueError(f"{labels}: has no row. There is nothing to look at.")
        self.labels, self.table, self.items = Path(labels), table, items
        self.ids: list[str] = table["id"].tolist()
        self.rows = {name: row for row, name in enumerate(self.ids)}
        names = {*table["label"], *(origin.names if origin is not None else [])}
        self.classes = sorted(names - {""})
        self.original = ModelLabels.of(table)
        head = {
            "table": digest_of(self.labels),
            "kind": origin.kind if origin is not None else "",
            "source": origin.source if origin is not None else "",
            "classes": self.classes,
        }
        self.folder, others = find_review(self.labels, head)
        self.lock = threading.RLock()
        self.journal = Journal(self.folder / "answers.jsonl", head)
        try:
            self.state = self._replay()
            self.notices, self.carried = self._notices(others, head)
        except BaseException:
            self.journal.close()
            raise
        self.done = {entry["uid"] for entry in self.journal.entries if "uid" in entry}
        entries = self.journal.entries
        self.version = sum(one["op"] != "check" for one in entries)  # of the index
        self.trouble = ""  # why the tables are not written
        self._views: tuple[int, View] | None = None
        self._accuracy: tuple[int, dict[str, Any]] | None = None
        self.learning = Learning(prepare)
        self._stale, self._closing = threading.Event(), threading.Event()
        self._stale.set()
        self._writer = threading.Thread(target=self._keep_writing, daemon=True)
        self._writer.start()

    # ---- what people answer ----------------------------------------------------------

    def record(self, entries: Sequence[Mapping[str, Any]], tab: str = "") -> int:
        """Write down answers, then let them count; return the number of the last.

        An entry that was written down before (same ``uid``) is not written twice.
        """
        with self.lock:
            new = []
            for entry in entries:
                checked = self._checked(entry) | {"tab": tab, "at": int(time.time())}
                if checked.get("uid") not in self.done:
                    new.append(checked)
            for entry in self.journal.append(new):
                if "uid" in entry:
                    self.done.add(entry["uid"])
                if entry["op"] == "undo":
                    self.state = self._replay()
                else:
                    apply(entry, self.state, self.rows, self._read)
                self.version += entry["op"] != "check"
            self._stale.set()
            return len(self.journal.entries)

    def undo(self, tab: str, uid: str) -> Entry | None:
        """Undo the last thing that was done in a tab; return it, None if none is."""
        with self.lock:
            entries = self.journal.entries
            undone = {entry["of"] for entry in entries if entry["op"] == "undo"}
            for entry in reversed(entries):
                own = entry.get("tab") == tab and entry["op"] in UNDOABLE
                if own and entry["seq"] not in undone:
                    self.record([{"op": "undo", "of": entry["seq"], "uid": uid}], tab)
                    return entry
        return None

    def carry_over(self, tab: str) -> int:
        """Take over the answers that an earlier table's review has for this one."""
        with self.lock:
            by_name: dict[str, list[int]] = {}
            for row, name in self.carried.items():
                if row not in self.state.given:
                    by_name.setdefault(name, []).append(row)
            entries = [
                {"op": "label", "rows": rows, "label": name}
                for name, rows in by_name.items()
            ]
            self.record(entries, tab)
            self.carried, self.notices = {}, []
            return sum(map(len, by_name.values()))

    def _checked(self, entry: Mapping[str, Any]) -> Entry:
        """Return an entry as it is written down; raise if it makes no sense."""
        noted: Entry = {"op": entry.get("op")}
        if entry.get("uid", "") != "":
            noted["uid"] = entry["uid"]
        if "rows" in entry:
            noted["ids"] = self._ids(entry["rows"])
        for field in ("label", "name", "old", "new", "of", "file"):
            if field in entry:
                value = entry[field]
                is_text = isinstance(value, str)
                noted[field] = " ".join(value.split()) if is_text else value
        fault = fault_of(noted, self.journal.entries)
        if not fault and noted["op"] == "rename":
            known = noted["old"] in self.state.classes
            fault = "" if known else f"there is no class {noted['old']!r}"
        if fault:
            raise RefusedError(f"This cannot be taken: {fault}.")
        return noted

    def _ids(self, rows: Any) -> list[str]:
        known = isinstance(rows, list) and all(type(row) is int for row in rows)
        if not known or not all(0 <= row < len(self.ids) for row in rows):
            raise RefusedError(
                f"rows are no list of numbers from 0 to {len(self.ids) - 1}."
            )
        return [self.ids[row] for row in rows]

    # ---- what there is to see --------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Return classes with their sizes, and how far the review is."""
        with self.lock:
            view, state = self.view(), self.state
            sizes = np.bincount(view.codes, minlength=len(state.classes) + 1)
            mine = Counter(state.given.values())
            return {
                "title": self.labels.name,
                "kind": self.items.kind,
                "n": len(self.ids),
                "seq": len(self.journal.entries),
                "version": self.version,
                "classes": [
                    {"name": name, "size": int(sizes[code]), "mine": mine[name]}
                    for code, name in enumerate(state.classes, 1)
                ],
                "none": int(sizes[0]),
                "given": len(state.given),
                "changed": int(view.changed.sum()),
                "hindrance": self.learning.hindrance,
                "learning": self.learning.last,
                "corrections": str(self.folder / "corrections.csv"),
                "check": self.accuracy(),
                "trouble": self.trouble,
                "notices": self.notices,
                "carried": len(self.carried),
            }

    def view(self) -> View:
        """Return all labels as they are now."""
        seq = len(self.journal.entries)
        with self.lock:
            if self._views is None or self._views[0] != seq:
                self._views = seq, view_of(self.state, self.original)
            return self._views[1]

    @cached_property
    def _places(self) -> np.ndarray:
        """The place of every row in the order of ids."""
        return np.argsort(np.argsort(np.array(self.ids, dtype=object)))

    def index(self, order: str = "doubt", **filters: Any) -> list[dict[str, Any]]:
        """Return the numbers of the rows of every class, in order, under a filter."""
        view = self.view()
        return rows_by_class(
            view, self._places if order == "name" else order, **filters
        )

    def details(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return what the page shows of some rows."""
        with self.lock:
            ids = self._ids(list(rows))
            model, given = self.state.model, self.state.given
            return [
                {
                    "row": row,
                    "id": name,
                    "label": given.get(row, model.labels[row]),
                    "model": model.labels[row],
                    "reliability": number(model.reliability[row]),
                    "second": model.second[row],
                    "mine": row in given,
                    "text": self.items.text(row)[:300],
                }
                for row, name in zip(rows, ids, strict=True)
            ]

    # ---- what to ask, and what it is worth -------------------------------------------

    def suggest(self, n: int) -> list[int]:
        """Return rows whose labels would help most, none that has one."""
        with self.lock:
            model, given = self.state.model, set(self.state.given)
        if self.learning.teacher is not None:
            return self.learning.teacher.suggest(model, n, given)
        free = np.setdiff1d(np.arange(len(self.ids)), np.fromiter(given, int))
        doubt = np.nan_to_num(model.reliability[free])
        return free[np.argsort(doubt, kind="stable")[:n]].tolist()

    def check(self, n: int, uid: str, tab: str) -> list[int]:
        """Return a random sample of rows to check, as large as asked for.

        What was drawn before and is not answered comes first: a sample is not drawn
        again because some of it is hard.
        """
        with self.lock:
            state = self.state
            waiting = [row for row in state.sample if row not in state.given]
            if len(waiting) < n:
                new = draw_check(
                    state.model.labels.astype(str),
                    n - len(waiting),
                    without={*state.given, *state.sample},
                    random_state=len(self.journal.entries),
                ).tolist()
                if new:
                    self.record([{"op": "check", "rows": new, "uid": uid}], tab)
                waiting += new
            return waiting[:n]

    def accuracy(self) -> dict[str, Any]:
        """Return how many labels are right, by the checked rows of the sample."""
        seq = len(self.journal.entries)
        if self._accuracy is None or self._accuracy[0] != seq:
            self._accuracy = seq, estimate(self.state)
        return self._accuracy[1]

    # ---- learning ----------------------------------------------------------------

    def teach(self, uid: str, tab: str) -> None:
        """Let the model learn, on a thread; :meth:`summary` tells how it goes."""
        with self.lock:
            if not self.state.given:
                raise RefusedError(
                    "There is no answer to learn from yet. Correct some first."
                )
            renames, model = list(self.state.renames), self.state.model
            given = dict(self.state.given)

        def learn(teacher: Teacher) -> dict[str, Any]:
            new = teacher.teach(model, given, renames)
            with self.lock:
                if self._closing.is_set():
                    raise RefusedError("The review has ended.")
                meanwhile = self.state.renames[len(renames) :]
                return self._take_over(new.renamed(meanwhile), uid, tab)

        self.learning.start(learn, len(given))

    def _take_over(self, new: ModelLabels, uid: str, tab: str) -> dict[str, Any]:
        """Make a model's new labels the current ones; return what that changes."""
        before = self.state.labels()
        seq = len(self.journal.entries) + 1
        file = f"taught-{seq}.csv"
        table = label_table(
            new.labels, ids=self.ids, reliability=new.reliability, second=new.second
        )
        write_labels(table, self.folder / file)
        self.record([{"op": "teach", "file": file, "uid": uid}], tab)
        return {"seq": seq, **moves(before, self.state.labels())}

    # ---- on the disk ---------------------------------------------------------------

    def _read(self, file: str) -> ModelLabels:
        path = self.folder / file
        table = read_labels(path)
        if table["id"].tolist() != self.ids:
            raise ValueError(
                f"{path}: does not have the rows of {self.labels.name}. Put back what "
                f"teaching wrote, or move {self.folder.name} away to start anew."
            )
        return ModelLabels.of(table)

    def _replay(self) -> ReviewState:
        start = ReviewState(self.original, list(self.classes))
        return replay(self.journal.entries, start, self.rows, self._read)

    def _notices(
        self, others: list[Path], head: Entry
    ) -> tuple[list[str], dict[int, str]]:
        """Return what people should know at the start, and answers to carry over."""
        notices, carried = [], {}
        if self.journal.torn:
            notices.append(
                "The last line of answers.jsonl was not whole, or changed by others; "
                f"it is set aside in {self.folder / 'answers.torn'} and does not count."
            )
        if others and not self.journal.entries:
            carried = {
                self.rows[name]: label
                for name, label in answers_about(others[-1], head).items()
                if name in self.rows and label in self.classes
            }
            offer = f" {len(carried)} of its answers fit this table." if carried else ""
            notices.append(
                f"{others[-1]} holds the review of another table that had this name, "
                f"so the review of this one is in {self.folder}.{offer}"
            )
        return notices, carried

    def write_tables(self) -> None:
        """Write ``corrections.csv`` and ``reviewed.csv``, each whole or not at all."""
        view = self.view()
        corrections, reviewed = tables_of(view, self.table)
        write_labels(corrections, self.folder / "corrections.csv")
        write_labels(reviewed, self.folder / "reviewed.csv")

    def _keep_writing(self) -> None:
        while not self._closing.is_set():
            self._stale.wait()
            if self._closing.wait(PAUSE):
                return
            self._stale.clear()
            try:
                self.write_tables()
                self.trouble = ""
            except OSError as error:
                self.trouble = (
                    f"corrections.csv and reviewed.csv cannot be written: "
                    f"{error.strerror or error}. Answers that were called saved are "
                    "safe in answers.jsonl; the tables are tried again."
                )
                self._closing.wait(AGAIN)
                self._stale.set()

    def close(self) -> bool:
        """Write the tables a last time; return whether the model is at rest, too."""
        if self._closing.is_set():
            return True
        self._closing.set()
        self._stale.set()
        self._writer.join()
        try:
            self.write_tables()
            return self.learning.stop()
        finally:
            self.journal.close()


def number(value: float) -> float | None:
    """Return a number for JSON, which has no NaN."""
    return None if np.isnan(value) else round(float(value), 4)
