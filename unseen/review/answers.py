"""What the answers come to: a replay of the journal over the model's labels.

op      what it says
label   rows `ids` are of class `label`; "" for none of these classes
clear   nobody says anything about rows `ids` any more
class   there is a class `name`
rename  class `old` is called `new` from now on
check   rows `ids` are the random sample to be checked
teach   the model's labels are those of the table `file`
undo    entry `of` does not count
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen.review.journal import Entry

__all__ = ["UNDOABLE", "Answers", "Model", "drawn_since_taught", "replay"]

UNDOABLE = ("label", "clear", "class", "rename", "teach")


class Model(NamedTuple):
    """Labels by the model: texts, reliability 0 to 1 (NaN: unknown), second choice."""

    labels: np.ndarray
    reliability: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, table: pd.DataFrame) -> Model:
        """Take the model's labels from a table of labels."""
        columns = (table[name].to_numpy() for name in ("label", "reliability"))
        labels, reliability = columns
        return cls(
            labels.astype(object),
            reliability.astype(float),
            table["second"].to_numpy().astype(object),
        )

    def renamed(self, old: str, new: str) -> Model:
        """Return the same answer with another name for a class."""
        labels, second = self.labels.copy(), self.second.copy()
        labels[labels == old] = new
        second[second == old] = new
        second[second == labels] = ""
        return self._replace(labels=labels, second=second)


class Checked(NamedTuple):
    """A row of the random sample: what the model and what a person said."""

    row: int
    model: str
    person: str


@dataclass
class Answers:
    """Where a review stands.

    Attributes
    ----------
    model : Model
    classes : list of str
        All names, in order.
    given : dict
        Row to the name a person gave it, "" for none of these.
    sample : list of int
        Rows drawn for the check since the model last learned.
    checked : dict
        Row to :class:`Checked`, of that sample.
    renames : list of pairs
        Old and new names, in order.
    taught : list of int
        Numbers of the entries in which the model learned.
    lost : int
        Answers about rows that are not in the table any more.
    """

    model: Model
    classes: list[str]
    given: dict[int, str] = field(default_factory=dict)
    sample: list[int] = field(default_factory=list)
    checked: dict[int, Checked] = field(default_factory=dict)
    renames: list[tuple[str, str]] = field(default_factory=list)
    taught: list[int] = field(default_factory=list)
    lost: int = 0

    def labels(self) -> np.ndarray:
        """Return the label of every row: a person's where there is one."""
        labels = self.model.labels.copy()
        for row, name in self.given.items():
            labels[row] = name
        return labels

    def add_class(self, name: str) -> None:
        """Have a class of this name."""
        if name and name not in self.classes:
            self.classes.append(name)

    def rename(self, old: str, new: str) -> None:
        """Call a class otherwise; if there is one of that name, they become one."""
        self.model = self.model.renamed(old, new)
        self.given = {r: new if name == old else name for r, name in self.given.items()}
        names = [new if name == old else name for name in self.classes]
        self.classes = list(dict.fromkeys(names))
        self.checked = {
            row: Checked(row, *(new if name == old else name for name in labels))
            for row, (_, *labels) in self.checked.items()
        }
        self.renames.append((old, new))


def replay(
    entries: Sequence[Entry],
    first: Model,
    rows: dict[str, int],
    read: Callable[[str], Model],
) -> Answers:
    """Return where a review stands after all entries of its journal.

    Parameters
    ----------
    entries : sequence of dict
    first : Model
        The labels that the review started from.
    rows : dict
        Number of every id.
    read : callable
        Returns the labels of a table that teaching wrote.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.review.answers import Model, replay
    >>> first = Model(np.array(["cat", "dog"], object), np.ones(2), np.array(["", ""]))
    >>> said = {"seq": 1, "op": "label", "ids": ["b.jpg"], "label": "cat"}
    >>> replay([said], first, {"a.jpg": 0, "b.jpg": 1}, None).labels().tolist()
    ['cat', 'cat']
    """
    undone = {entry["of"] for entry in entries if entry["op"] == "undo"}
    names = sorted({str(name) for name in first.labels if name})
    answers = Answers(first, names)
    for entry in entries:
        if entry["seq"] not in undone:
            apply(entry, answers, rows, read)
    return answers


def apply(
    entry: Entry, answers: Answers, rows: dict[str, int], read: Callable[[str], Model]
) -> None:
    """Let one entry have its effect; ``undo`` has none here."""
    match entry["op"]:
        case "label":
            known = known_rows(entry["ids"], rows, answers)
            name = entry["label"]
            answers.add_class(name)
            for row in known:
                if row in answers.sample and row not in answers.given:
                    said = str(answers.model.labels[row])
                    answers.checked[row] = Checked(row, said, name)
                elif row in answers.checked:  # a second thought about the same row
                    answers.checked[row] = answers.checked[row]._replace(person=name)
                answers.given[row] = name
        case "clear":
            for row in known_rows(entry["ids"], rows, answers):
                answers.given.pop(row, None)
                answers.checked.pop(row, None)
        case "class":
            answers.add_class(entry["name"])
        case "rename":
            answers.rename(entry["old"], entry["new"])
        case "check":
            answers.sample += known_rows(entry["ids"], rows, answers)
        case "teach":
            answers.model = read(entry["file"])
            for name in sorted(set(answers.model.labels)):
                answers.add_class(name)
            # What was given is right in these labels: they say nothing of the rest.
            answers.sample, answers.checked = [], {}
            answers.taught.append(entry["seq"])


def known_rows(ids: Iterable[Any], rows: dict[str, int], answers: Answers) -> list[int]:
    """Return the rows of ids; those that are gone are counted."""
    found = [rows.get(name) for name in ids]
    answers.lost += sum(row is None for row in found)
    return [row for row in found if row is not None]


def drawn_since_taught(entries: Sequence[Entry]) -> set[str]:
    """Return the ids that were drawn at random since the model last learned.

    Examples
    --------
    >>> from unseen.review.answers import drawn_since_taught
    >>> drawn_since_taught([{"seq": 1, "op": "check", "ids": ["a.jpg"]}])
    {'a.jpg'}
    """
    undone = {entry["of"] for entry in entries if entry["op"] == "undo"}
    drawn: set[str] = set()
    for entry in entries:
        if entry["seq"] in undone:
            continue
        if entry["op"] == "teach":
            drawn = set()
        elif entry["op"] == "check":
            drawn |= set(entry["ids"])
    return drawn
