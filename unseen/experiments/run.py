"""From plans to results.csv: every run that is missing, in parallel, and nothing twice.

``results.csv`` has one line per finding, in long form:

    task, data, classes, method, seed   which run
    measure, item, round                which finding of it
    value, note                         the finding, as a number or in words
    seconds                             processor time of one thread: the one column in
                                        which two runs differ

The lines of a run are added when it has ended, the last with the measure ``done`` or
``failed``. The file is replaced as a whole: a kill leaves it as it was.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

import unseen
from unseen._command import command_line
from unseen.files import lock, replace_file
from unseen.labels import csv_lines

if TYPE_CHECKING:
    from unseen.experiments.plan import Plan, PlannedRun
    from unseen.methods import Method


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
    path = out / "results.csv"
    with open(out / ".results.csv.lock", "wb") as own:  # for one writer at a time
        lock(own, path)
        lines = read_lines(path) if path.exists() else []
        lines = [line for line in lines if line[5] != "failed"]  # made again
        finished = {RunKey._make([*line[:4], int(line[4])]) for line in lines}
        remember_origin(out / "origin.json", wanted)
        missing = [run for run in wanted if run.key not in finished]
        total, left = (sum(run.cost for run in runs) for runs in (wanted, missing))
        write_lines(path, lines)
        for run, findings in run_all(missing, n_jobs):
            lines += as_lines(run.key, findings)
            write_lines(path, lines)
            left -= run.cost
            if progress is not None:
                progress(run, findings, 1 - left / total)
    return path


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


def as_lines(key: RunKey, findings: Sequence[Finding]) -> list[list[str]]:
    """Return the lines of a run; six digits, so that they are the same in every run."""
    cells = [["" if one is None else one for one in (*key, *f)] for f in findings]
    return [[f"{c:.6g}" if isinstance(c, float) else str(c) for c in x] for x in cells]


def write_lines(path: Path, lines: Sequence[Sequence[str]]) -> None:
    """Write the lines of all runs."""
    with replace_file(path) as file:
        file.write("".join(csv_lines([COLUMNS, *lines])).encode())


def read_lines(path: Path) -> list[list[str]]:
    """Return the lines of all runs, unless something else stands in the file."""
    text = path.read_bytes().decode("utf-8", errors="replace")
    head, *lines = list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    wrong = [x for x in lines if len(x) != len(COLUMNS) or not x[4].isdecimal()]
    if head != list(COLUMNS) or wrong:
        raise ValueError(
            f"{path} is not a results.csv of this version: it holds the line "
            f"{','.join((wrong or [head])[0])!r:.80}. Give another --out."
        )
    return lines


def read_results(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read results.csv.

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
    frame = pd.DataFrame(read_lines(path), columns=list(COLUMNS))
    numbers = ["seed", "round", "value", "seconds"]
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    return frame.astype({"seed": int})
