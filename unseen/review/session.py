"""A review in progress: one table of labels, its journal, any number of tabs.

    labels.csv                       what was labelled; never written
    labels.review/answers.jsonl      the journal: what people answered
    labels.review/taught-7.csv       the model's labels after it learned in entry 7
    labels.review/corrections.csv    every given label, for ``unseen label --given``
    labels.review/reviewed.csv       the whole table, corrected

The last two are made anew from the journal a moment after every answer. Answers belong
to the table they were given for: another table of that name gets labels.review-2.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen.labels import label_table, read_labels, write_labels
from unseen.review.answers import (
    ModelLabels,
    ReviewState,
    View,
    replay,
    rows_by_class,
    tables_of,
    view_of,
)
from unseen.review.items import Items
from unseen.review.journal import FIELDS, UNDOABLE, Entry, Journal, fault_of, is_number
from unseen.review.teaching import Learning, Stop, Teacher
from unseen.trust.asking import suggest
from unseen.trust.sure import draw_surest, drawn_from, surest_first


class Session:
    """A review of one table of labels.

    ``head`` is the first line of its journal, which is in ``folder``. ``prepare``
    makes the teacher, on a thread: it may take a while, and may raise.
    """

    def __init__(
        self,
        labels: Path,
        table: pd.DataFrame,
        items: Items,
        folder: Path,
        head: Entry,
        prepare: Callable[[Stop], Teacher],
    ) -> None:
        if not len(table):
            raise ValueError(f"{labels} has no row. There is nothing to look at.")
        self.labels, self.table, self.items = labels, table, items
        self.folder, self.head = folder, head
        self.ids: list[str] = table["id"].tolist()
        self.rows = {name: row for row, name in enumerate(self.ids)}
        self.original = ModelLabels.of(table)
        self.journal = Journal(folder / "answers.jsonl", head)
        try:
            self.state = self._replay()
        except BaseException:
            self.journal.close()
            raise
        self.carried: dict[int, str] = {}  # answers to an earlier table that fit
        self.notices: list[str] = []  # what people should know
        if self.journal.torn:
            self.notices.append(
                "The last line of answers.jsonl was not whole, or changed by others; "
                f"it is set aside in {folder / 'answers.torn'} and does not count."
            )
        entries = self.journal.entries
        self.done = {entry["uid"] for entry in entries if "uid" in entry}
        self.trouble = ""  # why the tables are not written
        self._view: tuple[int, View] | None = None
        self.lock = threading.RLock()
        self.learning = Learning(prepare)
        self._closing = threading.Event()
        self._writer = threading.Thread(target=self._keep_writing, daemon=True)
        self._writer.start()

    # ---- what people answer ----------------------------------------------------------

    def record(self, entries: Sequence[Mapping[str, Any]], tab: str = "") -> int:
        """Write down answers, then let them count; return the number of the last.

        An entry that was written down before (same ``uid``) is not written twice.
        """
        with self.lock:
            checked = [self._checked(entry) for entry in entries]
            noted = {"tab": tab, "at": int(time.time())}
            new = [one | noted for one in checked if one.get("uid") not in self.done]
            for entry in self.journal.append(new):
                if "uid" in entry:
                    self.done.add(entry["uid"])
                if entry["op"] == "undo":
                    self.state = self._replay()
                else:
                    replay([entry], self.state, self.rows, self._read)
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

    def offer(self, other: Path, answers: Mapping[str, str]) -> None:
        """Offer the answers of another table's review whose item and class are here."""
        self.carried = {
            self.rows[name]: label
            for name, label in answers.items()
            if name in self.rows and label in self.head["classes"]
        }
        fit = f" Earlier answers that fit this table: {len(self.carried)}."
        self.notices.append(
            f"{other} holds the review of another table that had this name, so the "
            f"review of this one is in {self.folder}.{fit if self.carried else ''}"
        )

    def carry_over(self, tab: str) -> int:
        """Take over answers to an earlier table that fit this one; return how many."""
        with self.lock:
            given = self.state.given
            rows = pd.Series({r: n for r, n in self.carried.items() if r not in given})
            entries = [
                {"op": "label", "rows": part.index.tolist(), "label": name}
                for name, part in rows.groupby(rows)
            ]
            self.record(entries, tab)
            self.carried, self.notices = {}, []
            return len(rows)

    def _checked(self, entry: Mapping[str, Any]) -> Entry:
        """Return an entry as it is written down; raise if it makes no sense."""
        fields = FIELDS.get(str(entry.get("op")), ())
        known = {name: entry.get(name) for name in ("op", *fields)}
        if entry.get("uid"):
            known["uid"] = entry["uid"]
        noted = {
            name: " ".join(value.split()) if isinstance(value, str) else value
            for name, value in known.items()
        }
        if "ids" in fields:
            n, rows = len(self.ids), entry.get("rows")
            if not isinstance(rows, list) or not all(
                is_number(row, 0, n - 1) for row in rows
            ):
                raise ValueError(f"rows are not a list of numbers from 0 to {n - 1}.")
            noted["ids"] = [self.ids[row] for row in rows]
        fault = fault_of(noted, self.journal.entries)
        if not fault and noted.get("old", "") not in ("", *self.state.classes):
            fault = f"there is no class {noted['old']!r}"
        if fault:
            raise ValueError(f"This answer was not accepted: {fault}.")
        return noted

    # ---- what there is to see --------------------------------------------------------

    def view(self) -> View:
        """Return all labels as they are now."""
        with self.lock:
            seq = len(self.journal.entries)
            if self._view is None or self._view[0] != seq:
                self._view = seq, view_of(self.state, self.original)
            return self._view[1]

    def summary(self) -> dict[str, Any]:
        """Return classes with their sizes, and how far the review is."""
        with self.lock:
            view = self.view()
            sizes = np.bincount(view.codes, minlength=len(view.names)).tolist()
            return {
                "title": self.labels.name,
                "kind": self.items.kind,
                "n": len(self.ids),
                "seq": len(self.journal.entries),
                "classes": [
                    {"name": name, "size": size}
                    for name, size in zip(view.names[1:], sizes[1:], strict=True)
                ],
                "none": sizes[0],
                "given": len(self.state.given),
                "changed": int(view.changed.sum()),
                "check": {k: v for k, v in view.accuracy.items() if k != "planned"},
                "hindrance": self.learning.hindrance,
                "learning": self.learning.last,
                "trouble": self.trouble,
                "notices": self.notices,
                "carried": len(self.carried),
            }

    def index(self, order: str = "doubt", **filters: Any) -> list[dict[str, Any]]:
        """Return the numbers of the rows of every class, in order, under a filter."""
        by = pd.factorize(self.table["id"], sort=True)[0] if order == "name" else order
        return rows_by_class(self.view(), by, **filters)

    def details(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return what the page shows of some rows."""
        view = self.view()
        labels, sure, second = view.model
        return [
            {
                "row": row,
                "id": self.ids[row],
                "label": view.labels[row],
                "model": labels[row],
                "reliability": None if np.isnan(sure[row]) else float(sure[row]),
                "second": second[row],
                "mine": bool(view.given[row]),
                "sure": view.sure[row],
                "text": self.items.texts[row][:300],
            }
            for row in rows
        ]

    # ---- what to ask ---------------------------------------------------------------

    def suggest(self, n: int) -> list[int]:
        """Return rows whose labels would help most, none that has one."""
        with self.lock:
            given = dict.fromkeys(self.state.given, "known")
            sure = self.state.model.reliability
        if (teacher := self.learning.teacher) is not None:
            return suggest(teacher.units, n, reliability=sure, given=given).tolist()
        doubtful = np.argsort(np.nan_to_num(sure), kind="stable").tolist()
        return [row for row in doubtful if row not in given][:n]

    def check(self, n: int, uid: str, tab: str, wanted: int = 95) -> list[int]:
        """Return a random sample of rows to check; what was drawn before comes first.

        A larger sample is drawn once all of it is answered.
        """
        with self.lock:
            state = self.state
            if all(row in state.given for row in state.sample):
                known, seed = list(state.given), len(self.journal.entries) + 1
                if state.looks:
                    known, seed = list(state.aside), state.seed
                    wanted = round(100 * state.wanted)
                stated = state.stated()
                n_rows = len(surest_first(stated, known))
                n_all = min(n_rows, len(state.sample) + n)
                random = np.random.RandomState(seed)
                terms = wanted / 100, state.looks + 1
                sample = draw_surest(stated, n_all, known, random, *terms)
                if not set(sample.tolist()) - set(state.given):
                    return []
                among = drawn_from(n_all, n_rows, *terms)
                entry = {"op": "check", "rows": sample.tolist(), "among": among}
                self.record([entry | {"wanted": wanted, "uid": uid}], tab)
            return [row for row in self.state.sample if row not in self.state.given]

    # ---- learning ---------------------------------------------------------------

    def teach(self, uid: str, tab: str) -> dict[str, Any]:
        """Let the model learn, on a thread, and tell how it goes."""
        with self.lock:
            if not self.state.given:
                raise ValueError(
                    "There are no answers to learn from yet. Correct some labels first."
                )
            model, given = self.state.model, dict(self.state.given)
            renames = list(self.state.renames)

        def learn(teacher: Teacher) -> dict[str, Any]:
            began = time.monotonic()
            new = teacher.teach(model, given, renames)
            with self.lock:
                if self._closing.is_set():
                    raise ValueError("The review has ended.")
                new = new.renamed(self.state.renames[len(renames) :])  # meanwhile
                before, seq = self.state.labels(), len(self.journal.entries) + 1
                file = f"taught-{seq}.csv"
                table = label_table(ids=self.ids, **new._asdict())
                write_labels(table, self.folder / file)
                self.record([{"op": "teach", "file": file, "uid": uid}], tab)
                after = self.state.labels()
            both = pd.DataFrame({"old": before, "new": after})[before != after]
            moves = both.value_counts().reset_index(name="n").to_dict("records")
            reply = {"given": len(given), "seq": seq, "changed": len(both)}
            return reply | {"moves": moves, "seconds": time.monotonic() - began}

        self.learning.start(learn)
        return self.learning.last

    # ---- on the disk ---------------------------------------------------------------

    def _read(self, file: str) -> ModelLabels:
        table = read_labels(self.folder / file)
        if table["id"].tolist() != self.ids:
            raise ValueError(
                f"{self.folder / file} does not have the rows of {self.labels.name}. "
                f"Put the old files back, or move {self.folder.name} away."
            )
        return ModelLabels.of(table)

    def _replay(self) -> ReviewState:
        start = ReviewState(self.original, list(self.head["classes"]))
        return replay(self.journal.entries, start, self.rows, self._read)

    def write_tables(self) -> None:
        """Write ``corrections.csv`` and ``reviewed.csv``, each whole or not at all."""
        corrections, reviewed = tables_of(self.view(), self.table)
        write_labels(corrections, self.folder / "corrections.csv")
        write_labels(reviewed, self.folder / "reviewed.csv")

    def _keep_writing(self) -> None:
        written = -1
        while not self._closing.wait(0.5):  # seconds: more answers may come
            seq = len(self.journal.entries)
            if seq == written:
                continue
            try:
                self.write_tables()
                written, self.trouble = seq, ""
            except OSError as error:
                self.trouble = (
                    "corrections.csv and reviewed.csv cannot be written: "
                    f"{error.strerror or error}. Answers that were called saved are "
                    "safe in answers.jsonl; the tables are tried again."
                )

    def close(self) -> bool:
        """Write the tables a last time; return whether the model is at rest, too."""
        if self._closing.is_set():
            return True
        self._closing.set()
        self._writer.join()
        try:
            self.write_tables()
            return self.learning.stop()
        finally:
            self.journal.close()
