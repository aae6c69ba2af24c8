"""Plans: one TOML file per table and figure, with the paper's numbers as data.

title, caption    what the table says it is
location          where the paper has it
task              what a run does, see tasks.py
show              "table" or the drawing to make
[[column]]        head, data, classes: a set of catalogue.toml and the part its class
                  table plays, or the path of any set and the name of a class table;
                  split: who is unseen, by a name of ``standard_splits``;
                  group: columns that are averaged first;
                  foreign: the path of rows or texts of other classes
[[row]]           method, label, paper: one number of the paper per column, or nan, and
                  nan for columns behind the last; answer: "by row" for that of predict,
                  "together" for what self-training starts from; heading stands above
                  the row, in a line of its own
seeds             how often each is run; by default as often as its method draws
[counts]          of Table II: the paper's numbers by measure, one per column
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from unseen.experiments.run import RunKey
from unseen.experiments.sources import Source, find_path, find_source
from unseen.experiments.tasks import TASKS
from unseen.loading.catalogue import catalogue
from unseen.methods import METHODS


@dataclass(frozen=True)
class Column:
    """A data set with a class table, as the plan names them."""

    head: str
    data: str
    classes: str
    split: str = ""
    group: str = ""
    foreign: str = ""

    def source(self, folders: Sequence[str | Path]) -> Source | None:
        """Find the set, and rows of other classes if it asks for them."""
        found = find_source(self.data, self.classes, folders, self.split)
        if found is None or not self.foreign:
            return found
        strange = find_path(self.foreign, folders)
        return replace(found, foreign=str(strange)) if strange else None

    @property
    def bundled(self) -> bool:
        """Tell a set of the package."""
        return "bundled" in catalogue().get(self.data, {})


@dataclass(frozen=True)
class Row:
    """A method, with the paper's number for every column."""

    method: str
    label: str
    paper: tuple[float, ...]
    answer: str = "final"
    heading: str = ""


@dataclass(frozen=True)
class PlannedRun:
    """A run, and where its data is.

    Runs with the same key are one run: the key says all that decides its result.
    """

    key: RunKey
    part: str = field(compare=False)
    source: Source | None = field(compare=False)

    @property
    def cost(self) -> float:
        """Return its rough cost, for the order of runs and the time left."""
        method = METHODS.get(self.key.method)
        # The first seed makes the search; the others find it made.
        return method.cost if method is not None and self.key.seed == 0 else 2.0


@dataclass(frozen=True, eq=False)
class Plan:
    """A table or figure to make.

    Examples
    --------
    >>> from unseen.experiments.plan import read_plan
    >>> plan = read_plan("table5")
    >>> plan.title
    'Table V: what self-training adds to three bases'
    >>> [row.label for row in plan.rows][:3]
    ['CCA', 'ESZSL', 'JEDM, on the unlabelled rows together']
    >>> plan.rows[0].paper[:4]
    (72.5, 65.6, 46.2, 30.4)
    """

    name: str
    title: str
    caption: str
    task: str
    show: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    location: str = ""
    n_seeds: int | None = None
    counts: dict[str, tuple[float, ...]] = field(default_factory=dict)
    command: tuple[str, ...] = ()  # what repeats it, if not `unseen reproduce`
    source: Source | None = None  # of all columns, if it need not be found

    def runs(self, folders: Sequence[str | Path]) -> list[PlannedRun]:
        """Return every run for which there are data and a method."""
        runs: list[PlannedRun] = []
        if self.task and (not self.columns or self.task == "separation"):
            for seed in range(self.n_seeds or 1):
                key = RunKey(self.task, "made-up", "", "", seed)
                runs.append(PlannedRun(key, "", None))
        for column in self.columns:
            source = self.source or column.source(folders)
            if source is None:
                continue
            where = source.name, source.classes(column.classes)
            if column.data in catalogue() and self.task != "statistics":
                key = RunKey("statistics", *where, "", 0)  # for the caption
                runs.append(PlannedRun(key, column.classes, source))
            for name in dict.fromkeys(row.method for row in self.rows) or [""]:
                usual = METHODS[name].n_seeds if name else 1
                for seed in range(self.n_seeds or usual):
                    key = RunKey(self.task, *where, name, seed)
                    runs.append(PlannedRun(key, column.classes, source))
        return runs

    def absent(self, folders: Sequence[str | Path]) -> list[str]:
        """Return the data sets of the plan that are in none of the folders."""
        wanted = dict.fromkeys(column.data for column in self.columns)
        there = {column.data for column in self.columns if column.source(folders)}
        return [name for name in wanted if name not in there]

    def on(self, folders: Sequence[str | Path]) -> Plan:
        """Return the plan for what is there: without data, on bundled sets alone."""
        mine = [column for column in self.columns if column.source(folders)]
        if not mine or not all(column.bundled for column in mine):
            return self
        places = [self.columns.index(column) for column in mine]
        rows = [
            replace(row, paper=tuple(row.paper[i] for i in places)) for row in self.rows
        ]
        return replace(self, columns=tuple(mine), rows=tuple(rows))


@cache
def plan_names() -> tuple[str, ...]:
    """Return the names of the plans in the package, tables first.

    Examples
    --------
    >>> from unseen.experiments.plan import plan_names
    >>> plan_names()[1:6]
    ('table2', 'table3', 'table4', 'table5', 'table6')
    """
    folder = files("unseen.experiments").joinpath("plans")
    found = {Path(entry.name).stem for entry in folder.iterdir()}
    return (*(name for name in ORDER if name in found), *sorted(found - set(ORDER)))


ORDER = (
    "fig1",
    *(f"table{number}" for number in range(2, 7)),
    *("fig3", "fig4", "fig5", "complexity"),
    *("gains", "separation", "readings"),
)


def read_plan(name: str | Path) -> Plan:
    """Read a plan of the package by name, or any plan by its file.

    Parameters
    ----------
    name : str or path
        A name of :func:`plan_names`, or a ``.toml`` file.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from unseen.experiments.plan import read_plan
    >>> read_plan("table7")
    Traceback (most recent call last):
    ValueError: There is no plan 'table7'. The plans are fig1, ...
    """
    path = Path(name)
    if str(name) in plan_names():
        folder = files("unseen.experiments").joinpath("plans")
        text = folder.joinpath(f"{name}.toml").read_text("utf-8")
    elif path.suffix == ".toml":
        text = path.read_text("utf-8")
    else:
        raise ValueError(
            f"There is no plan {str(name)!r}. The plans are {', '.join(plan_names())}; "
            "a plan of your own is a .toml file."
        )
    try:
        return _build(path.stem, tomllib.loads(text))
    except Exception as error:  # whatever stands in a file
        reason = f"lacks {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"Plan {str(name)!r}: {reason!s:.400}") from error


def _build(name: str, content: dict[str, Any]) -> Plan:
    columns = tuple(Column(**column) for column in content.pop("column", []))
    for column in columns:
        if not Path(column.data).suffix and "/" not in column.data:
            _known("data", column.data, catalogue())
    _known("task", content["task"], {"": "a drawing alone", **TASKS})
    rows = content.pop("row", [])
    for entry in rows:
        _known("method", entry["method"], METHODS)
        entry.setdefault("label", METHODS[entry["method"]].label)
        paper = entry.get("paper", [])
        if len(paper) > len(columns):
            raise ValueError(
                f"{entry['method']} has {len(paper)} numbers of the paper, but there "
                f"are {len(columns)} columns. Write nan where the paper has none."
            )
        behind = [math.nan] * (len(columns) - len(paper))
        entry["paper"] = (*map(float, paper), *behind)
    counts = content.pop("counts", {})
    return Plan(
        name=name,
        columns=columns,
        rows=tuple(Row(**entry) for entry in rows),
        n_seeds=content.pop("seeds", None),
        counts={key: tuple(map(float, row)) for key, row in counts.items()},
        **content,
    )


def _known(what: str, name: str, known: Any) -> None:
    if name not in known:
        raise ValueError(f"There is no {what} {name!r}. Known: {', '.join(known)}.")
