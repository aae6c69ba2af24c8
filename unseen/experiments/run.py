"""From plans to results.csv: every run that is missing, in parallel, and nothing twice.

``results.csv`` has one line per finding, in long form:

    task, data, classes, method, seed   which run
    measure, item, round                which finding of it
    value, note                         the finding, as a number or in words
    seconds                             processor time of one thread: the one column in
                                        which two runs differ

All lines of a run are appended by one write and end with the measure ``done`` or
``failed``. Whatever does not is the trace of a kill and is dropped on the next start.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

import unseen
from unseen._command import command_line
from unseen.files import append, check_target, lock, named, replace_file
from unseen.labels import csv_lines

if TYPE_CHECKING:
    from unseen.experiments.plan import Plan, PlannedRun
    from unseen.methods import Method

__all__ = ["COLUMNS", "Finding", "ResultsFile", "RunKey", "read_results", "run_plans"]


class RunKey(NamedTuple):
    """Which run a line belongs to."""

    task: str
    data: str
    classes: str
    method: str
    seed: int


class Finding(NamedTuple):
    """One finding of a run."""

    measure: str
    item: str = ""
    round: int | None = None
    value: float | int | None = None
    note: str = ""
    seconds: float | None = None


COLUMNS = (*RunKey._fields, *Finding._fields)
Progress = Callable[["PlannedRun", list[Finding], float], None]


# ---- runs ----------------------------------------------------------------------------


def run_plans(
    plans: Sequence[Plan],
    folders: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    n_jobs: int = 2,
    progress: Progress | None = None,
) -> Path:
    """Make all runs of some plans that ``out`` does not hold yet.

    Parameters
    ----------
    plans : sequence of Plan
    folders : sequence of paths
        Where data sets are.
    out : path
        Folder of ``results.csv``; made if need be.
    n_jobs : int, default=2
        Processes, with one BLAS thread each; 1 for this process alone.
    progress : callable, optional
        Called after every run with the run, its findings, and the share of the work
        that is done.

    Returns
    -------
    Path
        ``results.csv``.

    Examples
    --------
    >>> import tempfile
    >>> from unseen.experiments import read_plan, read_results, run_plans
    >>> with tempfile.TemporaryDirectory() as folder:  # no data: nothing to run
    ...     path = run_plans([read_plan("table2")], [], folder)
    ...     len(read_results(path))
    0
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    paths = [Path(folder) for folder in folders]
    planned = (run for plan in plans for run in plan.runs(paths))
    wanted = list({run.key: run for run in planned}.values())  # every run once
    with ResultsFile(out / "results.csv") as results:
        remember_origin(out / "origin.json", wanted)
        missing = [run for run in wanted if run.key not in results.finished]
        total, left = (sum(run.cost for run in runs) for runs in (wanted, missing))
        for run, findings in run_all(missing, n_jobs):
            results.append(run.key, findings)
            left -= run.cost
            if progress is not None:
                progress(run, findings, 1 - left / total)
    return results.path


def run_all(
    runs: Sequence[PlannedRun], n_jobs: int
) -> Iterator[tuple[PlannedRun, list[Finding]]]:
    """Make all runs, the costly ones first, and yield each when it has ended."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import BrokenProcessPool

    from unseen.experiments.tasks import TASKS
    from unseen.methods import METHODS

    parallel = Parallel(n_jobs, return_as="generator_unordered", pre_dispatch=n_jobs)
    # Methods and tasks that the caller registered are sent along.
    work = (
        delayed(make_runs)(batch, TASKS[batch[0].key.task], METHODS)
        for batch in batches(runs)
    )
    try:
        yield from chain.from_iterable(parallel(work))
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "A process was stopped from outside, perhaps because memory ran out. "
            "Finished runs are in results.csv, and the same command continues."
        ) from error


def batches(runs: Sequence[PlannedRun]) -> list[list[PlannedRun]]:
    """Group the runs that share a search, set after set, costly groups first."""
    from unseen.methods import METHODS

    groups: dict[tuple, list[PlannedRun]] = {}
    of_set: dict[str, float] = defaultdict(float)
    for run in runs:
        method = run.key.method
        while method in METHODS and METHODS[method].start is not None:
            method = METHODS[method].start or method
        key = run.key.task, run.key.data, run.key.classes, method
        groups.setdefault(key, []).append(run)
        of_set[run.key.data] += run.cost
    # A set stays on the bench while runs on it follow each other.
    return sorted(groups.values(), key=lambda group: (
        -of_set[group[0].key.data], group[0].key.data, -sum(run.cost for run in group)
    ))  # fmt: skip


def make_runs(
    runs: Sequence[PlannedRun], task: Callable, methods: dict[str, Method]
) -> list[tuple[PlannedRun, list[Finding]]]:
    """Make some runs of one task on one data set, in this process."""
    from threadpoolctl import threadpool_limits

    from unseen.experiments.bench import bench_of
    from unseen.experiments.tasks import run_task
    from unseen.methods import METHODS

    METHODS.update(methods)
    with threadpool_limits(limits=1):
        return [
            (run, run_task(bench_of(run.source), run.part, run.key, task))
            for run in runs
        ]


# ---- where results come from ---------------------------------------------------------


def remember_origin(path: Path, runs: Sequence[PlannedRun]) -> None:
    """Write down version and data; complain if results of others are there."""
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    now = {"unseen": unseen.__version__}
    for where, run in {run.key[1:3]: run for run in runs}.items():
        if run.source is not None:
            now[" ".join(where)] = run.source.digest(run.part)
    for name, digest in now.items():
        other = known.setdefault(name, digest)
        if digest != other:
            raise ValueError(
                f"{path.parent} holds results of {name} {other:.12}, this is "
                f"{digest:.12}. Give another --out."
            )
    with replace_file(path) as file:
        file.write(json.dumps(known, indent=2).encode())


# ---- results.csv ---------------------------------------------------------------------


class ResultsFile:
    """The file while it is being written; one writer at a time.

    It is made if need be, without the trace of a kill; runs that failed are forgotten,
    so that they are made again.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    def __enter__(self) -> ResultsFile:
        with ExitStack() as opened:
            check_target(self.path)
            # Locked is a file of its own: mending puts another results.csv in place.
            aside = self.path.with_name(f".{self.path.name}.lock")
            with named(self.path):
                lock(opened.enter_context(open(aside, "wb")), self.path)
            lines = complete_runs(self.path) if self.path.exists() else []
            lines = [line for line in lines if line[5] != "failed"]
            text = as_csv([COLUMNS, *lines])
            if not self.path.exists() or self.path.read_bytes() != text:
                with replace_file(self.path) as file:
                    file.write(text)
            self.finished = {RunKey._make([*line[:4], int(line[4])]) for line in lines}
            self._file = opened.enter_context(open(self.path, "ab", buffering=0))
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def append(self, key: RunKey, findings: Sequence[Finding]) -> None:
        """Write all lines of a run, the last of which says how it ended."""
        lines = as_csv([(*key, *map(as_text, one)) for one in findings])
        with named(self.path):
            append(self._file, lines)
        self.finished.add(key)


def as_text(value: Any) -> str:
    """Write a value so that it reads the same in every run: six digits after all."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def as_csv(lines: Iterable[Sequence[Any]]) -> bytes:
    """Write lines as CSV."""
    return "".join(csv_lines(map(str, line) for line in lines)).encode()


def complete_runs(path: Path) -> list[list[str]]:
    """Return the lines of every run that came to its end."""
    text = path.read_bytes().decode("utf-8", errors="replace")
    if ",".join(COLUMNS).startswith(text.strip()):  # torn in its first line
        return []
    head, *lines = csv.reader(io.StringIO(text, newline=""))
    if not text.endswith("\n"):
        lines.pop()
    ended = {tuple(x[:5]) for x in lines if x[5:6] in (["done"], ["failed"])}
    lines = [line for line in lines if tuple(line[:5]) in ended]
    wrong = [x for x in lines if len(x) != len(COLUMNS) or not x[4].isdecimal()]
    if head != list(COLUMNS) or wrong:
        raise ValueError(
            f"{path} is not a results.csv of this version: it holds the line "
            f"{','.join((wrong or [head])[0])!r:.80}. Give another --out."
        )
    return lines


def read_results(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read results.csv, complete runs only.

    Parameters
    ----------
    path : path
        The file, or the folder it is in.

    Returns
    -------
    DataFrame
        One row per finding; ``value``, ``seconds`` and ``round`` as numbers.

    Examples
    --------
    >>> import tempfile
    >>> from unseen.experiments import read_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_results(folder)
    Traceback (most recent call last):
    FileNotFoundError: ... holds no results.csv. Make one with: unseen reproduce ...
    """
    path = Path(path)
    if path.is_dir():
        path /= "results.csv"
    if not path.exists():
        raise FileNotFoundError(
            f"{path.parent} holds no results.csv. Make one with: "
            f"{command_line('reproduce', 'table5', '--out', path.parent)}"
        )
    frame = pd.DataFrame(complete_runs(path), columns=list(COLUMNS))
    numbers = ["seed", "round", "value", "seconds"]
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    return frame.astype({"seed": int})
