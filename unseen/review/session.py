"""A review in progress: one table of labels, its journal, any number of tabs.

    labels.csv                       what was labelled; never written
    labels.review/answers.jsonl      the journal: what people said
    labels.review/taught-7.csv       the model's labels after the lesson in entry 7
    labels.review/corrections.csv    every given label, for ``unseen label --given``
    labels.review/reviewed.csv       the whole table, corrected

The last two are made anew from the journal a moment after every answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._words import shown
from unseen.asking import draw_check, estimate_accuracy
from unseen.labels import label_table, read_labels, write_labels
from unseen.review.answers import UNDOABLE, Answers, Model, apply, replay
from unseen.review.journal import Entry, Journal
from unseen.review.lessons import Lessons, RefusedError, moves
from unseen.review.tables import write_tables
from unseen.review.teaching import Teacher
from unseen.review.things import Things

__all__ = ["RefusedError", "Session", "review_folder"]

LONGEST_NAME = 200  # characters of a class name
NOBODY = "\0"  # stands for "none of these" where "" means that nothing is known
WAIT = 0.5  # seconds after an answer until the tables are written anew


def review_folder(labels: Path) -> Path:
    """Return the folder beside a table of labels that holds its review.

    Examples
    --------
    >>> from pathlib import Path
    >>> from unseen.review.session import review_folder
    >>> review_folder(Path("zoo/labels.csv")).as_posix()
    'zoo/labels.review'
    """
    return labels.with_name(f"{labels.stem}.review")


class Session:
    """A review of one table of labels.

    Parameters
    ----------
    labels : path
        The table; it is read, never written.
    things : callable
        Makes the things to look at from the table.
    prepare : callable, optional
        Makes the teacher, on a thread: it may take a while, and may raise.
    """

    def __init__(
        self,
        labels: Path,
        things: Callable[[pd.DataFrame], Things],
        prepare: Callable[[], Teacher] | None = None,
    ) -> None:
        self.labels = Path(labels)
        self.table = read_labels(labels)
        if not len(self.table):
            raise ValueError(f"{labels}: has no row. There is nothing to look at.")
        self.things = things(self.table)
        self.ids: list[str] = self.table["id"].tolist()
        self.rows = {name: row for row, name in enumerate(self.ids)}
        self.first = Model.of(self.table)
        self.folder = review_folder(self.labels)
        self.lock = threading.RLock()
        self.journal = Journal(self.folder / "answers.jsonl")
        self.answers = self._replay()
        self.done = {entry["uid"] for entry in self.journal.entries if "uid" in entry}
        self.lessons = Lessons(prepare)
        self._stale, self._closed = threading.Event(), False
        self._writer = threading.Thread(target=self._write_on, daemon=True)
        self._stale.set()
        self._writer.start()

    # ---- what people say -----------------------------------------------------------

    def say(self, entries: Sequence[Mapping[str, Any]], tab: str = "") -> int:
        """Write down answers, then let them count; return the number of the last.

        An entry that was written down before (same ``uid``) is not written twice.
        """
        with self.lock:
            new = [
                self._checked(entry) | {"tab": tab, "at": int(time.time())}
                for entry in entries
                if entry.get("uid") not in self.done
            ]
            for entry in self.journal.append(new):
                self.done.add(entry.get("uid", ""))
                if entry["op"] == "undo":
                    self.answers = self._replay()
                else:
                    apply(entry, self.answers, self.rows, self._read)
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
                    self.say([{"op": "undo", "of": entry["seq"], "uid": uid}], tab)
                    return entry
        return None

    def _checked(self, entry: Mapping[str, Any]) -> Entry:
        """Return an entry as it is written down; raise if it makes no sense."""
        noted: Entry = {"uid": str(entry.get("uid", ""))[:64]}
        match entry.get("op"):
            case "label":
                label = self._name(entry.get("label"), empty=True)
                ids = self._ids(entry.get("rows"))
                return noted | {"op": "label", "ids": ids, "label": label}
            case "clear":
                return noted | {"op": "clear", "ids": self._ids(entry.get("rows"))}
            case "class":
                return noted | {"op": "class", "name": self._name(entry.get("name"))}
            case "rename":
                old, new = self._name(entry.get("old")), self._name(entry.get("new"))
                if old not in self.answers.classes:
                    raise RefusedError(f"There is no class {shown(old)}.")
                return noted | {"op": "rename", "old": old, "new": new}
            case "check":
                return noted | {"op": "check", "ids": self._ids(entry.get("rows"))}
            case "undo":
                return noted | {"op": "undo", "of": self._undoable(entry.get("of"))}
            case "teach":
                return noted | {"op": "teach", "file": str(entry["file"])}
        raise RefusedError(f"op is {entry.get('op')!r}, which is none that is known.")

    def _ids(self, rows: Any) -> list[str]:
        sound = isinstance(rows, list) and all(type(row) is int for row in rows)
        if not sound or not all(0 <= row < len(self.ids) for row in rows):
            raise RefusedError(
                f"rows are no list of numbers from 0 to {len(self.ids) - 1}."
            )
        return [self.ids[row] for row in rows]

    def _name(self, name: Any, empty: bool = False) -> str:
        if not isinstance(name, str) or len(name) > LONGEST_NAME:
            raise RefusedError(
                f"A class name is text of at most {LONGEST_NAME} characters."
            )
        name = " ".join(name.split())
        if not name and not empty:
            raise RefusedError("A class needs a name.")
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise RefusedError("A class name is no Unicode text.")
        return name

    def _undoable(self, number: Any) -> int:
        known = self.journal.entries
        sound = type(number) is int and 1 <= number <= len(known)
        if not sound or known[number - 1]["op"] not in UNDOABLE:
            raise RefusedError(f"There is nothing number {number!r} to undo.")
        return number

    # ---- what there is to see --------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return classes with their sizes, and how far the review is."""
        with self.lock:
            labels, answers = self.answers.labels(), self.answers
            sizes = pd.Series(labels).value_counts()
            mine = pd.Series(list(answers.given.values())).value_counts()
            return {
                "title": self.labels.name,
                "kind": self.things.kind,
                "n": len(labels),
                "seq": len(self.journal.entries),
                "classes": [
                    {
                        "name": name,
                        "size": int(sizes.get(name, 0)),
                        "mine": int(mine.get(name, 0)),
                    }
                    for name in answers.classes
                ],
                "none": int(sizes.get("", 0)),
                "given": len(answers.given),
                "changed": int((labels != self.first_names()).sum()),
                "lost": answers.lost,
                "hindrance": self.lessons.hindrance,
                "lesson": self.lessons.last,
                "corrections": str(self.folder / "corrections.csv"),
                "check": self.accuracy(),
            }

    def first_names(self) -> np.ndarray:
        """Return the labels that the review started from, by their names of now."""
        model = self.first
        for old, new in self.answers.renames:
            model = model.renamed(old, new)
        return model.labels

    def index(
        self,
        *,
        order: str = "doubt",
        label: str | None = None,
        least: float = 0.0,
        most: float = 1.0,
        changed: bool = False,
        mine: bool = False,
        not_mine: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the numbers of the rows of every class, in order, under a filter."""
        with self.lock:
            answers, labels = self.answers, self.answers.labels()
            trust = np.nan_to_num(answers.model.reliability, nan=0.0)
            given = np.zeros(len(labels), dtype=bool)
            given[list(answers.given)] = True
            first = self.first_names()
            names = ["", *answers.classes]
        shown_rows = (given | (trust >= least)) & (given | (trust <= most))
        if changed:
            shown_rows &= labels != first
        if mine or not_mine:
            shown_rows &= given if mine else ~given
        if order == "name":
            place = np.argsort(np.argsort(np.array(self.ids, dtype=object)))
        else:
            place = np.where(given, 2.0, trust)  # what is certain comes last
            place = place if order == "doubt" else -place
        rows = np.flatnonzero(shown_rows)
        rows = rows[np.argsort(place[rows], kind="stable")]
        own = labels[rows]
        wanted = [name for name in names if label is None or name == label]
        found = [{"name": name, "rows": rows[own == name].tolist()} for name in wanted]
        return [part for part in found if part["name"] or part["rows"]]

    def items(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return what the page tells of some rows."""
        with self.lock:
            self._ids(list(rows))
            model, given = self.answers.model, self.answers.given
            return [
                {
                    "row": row,
                    "id": printable(self.ids[row]),
                    "label": given.get(row, model.labels[row]),
                    "model": model.labels[row],
                    "reliability": number(model.reliability[row]),
                    "second": model.second[row],
                    "mine": row in given,
                    "first": self.first.labels[row],
                    "text": self.things.text(row)[:300],
                }
                for row in rows
            ]

    # ---- what to ask, and what it is worth -------------------------------------------

    def suggest(self, n: int) -> list[int]:
        """Return rows whose labels would help most, none that has one."""
        with self.lock:
            model, taken = self.answers.model, set(self.answers.given)
        if self.lessons.teacher is not None:
            return self.lessons.teacher.suggest(model, n, taken)
        free = np.setdiff1d(np.arange(len(self.ids)), np.fromiter(taken, int))
        doubt = np.nan_to_num(model.reliability[free])
        return free[np.argsort(doubt, kind="stable")][:n].tolist()

    def check(self, n: int, uid: str, tab: str) -> list[int]:
        """Return the rows of the random sample nobody has checked, at least n if so.

        What was drawn before and is not answered comes first: a sample is not drawn
        again because some of it is hard.
        """
        with self.lock:
            answers = self.answers
            waiting = [row for row in answers.sample if row not in answers.given]
            if len(waiting) < n:
                new = draw_check(
                    answers.model.labels.astype(str),
                    n - len(waiting),
                    without={*answers.given, *answers.sample},
                    random_state=len(self.journal.entries),
                ).tolist()
                if new:
                    self.say([{"op": "check", "rows": new, "uid": uid}], tab)
                waiting += new
            return waiting[:n]

    def accuracy(self) -> dict[str, Any]:
        """Return how many labels are right, by the checked rows of the sample.

        Rows that were given for another reason count as themselves. The sample is
        judged by the labels the model had when it was asked.
        """
        answers = self.answers
        checked = answers.checked
        drawn = {"checked": len(checked), "drawn": len(answers.sample)}
        if not checked:
            return drawn
        labels = answers.labels()
        for row, one in checked.items():
            labels[row] = one.model
        named = [name or NOBODY for name in labels]
        said = {row: name or NOBODY for row, name in answers.given.items()}
        found = estimate_accuracy(named, said, drawn=checked)
        right = sum(one.model == one.person for one in checked.values())
        share = {"share": found.accuracy, "low": found.low, "high": found.high}
        return {"right": right, **drawn, **share}

    # ---- learning ----------------------------------------------------------------

    def teach(self, uid: str, tab: str) -> None:
        """Start a lesson on a thread; :meth:`state` tells how it goes."""
        with self.lock:
            if not self.answers.given:
                raise RefusedError(
                    "There is no answer to learn from yet. Correct some first."
                )
            answers, renames = self.answers, list(self.answers.renames)

            def take_over(new: Model, seconds: float, given: dict[int, str]) -> dict:
                with self.lock:
                    for old, name in self.answers.renames[len(renames) :]:  # meanwhile
                        new = new.renamed(old, name)
                    return self._take_over(new, uid, tab)

            self.lessons.start(answers.model, dict(answers.given), renames, take_over)

    def _take_over(self, new: Model, uid: str, tab: str) -> dict[str, Any]:
        """Make a model's new labels the current ones; return what that changes."""
        before = self.answers.labels()
        number = len(self.journal.entries) + 1
        file = f"taught-{number}.csv"
        table = label_table(
            new.labels, ids=self.ids, reliability=new.reliability, second=new.second
        )
        write_labels(table, self.folder / file)
        self.say([{"op": "teach", "file": file, "uid": uid}], tab)
        return {"seq": number, **moves(before, self.answers.labels())}

    # ---- on the disk ---------------------------------------------------------------

    def _read(self, file: str) -> Model:
        table = read_labels(self.folder / file).set_index("id")
        known = table.reindex(self.ids)
        filled = known.reset_index().fillna({"label": "", "second": ""})
        return Model.of(filled)

    def _replay(self) -> Answers:
        return replay(self.journal.entries, self.first, self.rows, self._read)

    def write_tables(self) -> None:
        """Write corrections and the corrected table, each whole or not at all."""
        with self.lock:
            answers, first = self.answers, self.first_names()
            given, model, labels = dict(answers.given), answers.model, answers.labels()
        write_tables(self.folder, self.table, given, model, labels, first)

    def _write_on(self) -> None:
        while not self._closed:
            self._stale.wait()
            time.sleep(WAIT)
            self._stale.clear()
            if not self._closed:
                self.write_tables()

    def close(self) -> None:
        """Write the tables a last time and let go of the journal."""
        self._closed = True
        self._stale.set()
        self._writer.join()
        self.write_tables()
        self.journal.close()


def number(value: float) -> float | None:
    """Return a number for JSON, which has no NaN."""
    return None if np.isnan(value) else round(float(value), 4)


def printable(text: str) -> str:
    """Return text that can be sent as UTF-8; stray bytes of file names show as such."""
    return text.encode("utf-8", "backslashreplace").decode()
