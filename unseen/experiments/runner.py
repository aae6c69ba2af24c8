"""From plans to results.csv: every run that is missing, and nothing twice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import unseen
from unseen.experiments.plan import Plan, PlannedRun
from unseen.experiments.results import Finding, ResultsFile, RunKey
from unseen.files import replace_file

__all__ = ["run_plans"]


def run_plans(
    plans: Sequence[Plan],
    folders: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    n_jobs: int = 2,
    retry_failed: bool = False,
    progress: Callable[[PlannedRun, list[Finding], float], None] | None = None,
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
        Processes.
    retry_failed : bool, default=False
        Make runs that failed again.
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
    wanted = without_duplicates(run for plan in plans for run in plan.runs(paths))
    with ResultsFile(out / "results.csv", retry_failed=retry_failed) as results:
        remember_origin(out / "origin.json", wanted)
        todo = [run for run in wanted if run.key not in results.finished]
        total, left = (sum(run.cost for run in runs) for runs in (wanted, todo))
        if todo:
            from unseen.experiments.workers import run_all

            for run, findings in run_all(todo, n_jobs):
                results.append(run.key, findings)
                left -= run.cost
                if progress is not None:
                    progress(run, findings, 1 - left / total)
    return results.path


def read_origin(path: Path) -> dict[str, str]:
    """Return version and data of the results beside ``path``; nothing if it is new."""
    if not path.exists():
        return {}
    try:
        before = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        before = None
    if not isinstance(before, dict) or {type(v) for v in before.values()} - {str}:
        raise ValueError(
            f"{path}: is damaged, so nobody knows which data these results are of. "
            "Give another --out."
        )
    return before


def remember_origin(path: Path, runs: Sequence[PlannedRun]) -> None:
    """Write down version and data; complain if results of others are there."""
    before = read_origin(path)
    now = {"unseen": unseen.__version__}
    sources = {(run.key.task, run.key.data, run.part): run.source for run in runs}
    for (task, _, part), source in sources.items():
        for name, digest in source.origins(part).items() if source else ():
            known = f"{task}: {name}" if name.startswith("foreign") else name
            now[known] = digest
    for name in now.keys() & before.keys():
        if now[name] != before[name]:
            raise ValueError(
                f"{path.parent} holds results of {name} {before[name]:.12}, this is "
                f"{now[name]:.12}. Give another --out."
            )
    with replace_file(path) as file:
        file.write(json.dumps({**before, **now}, indent=2).encode())


def without_duplicates(runs: Iterable[PlannedRun]) -> list[PlannedRun]:
    """Return every run once; complain of two sets that go by one name."""
    known: dict[RunKey, PlannedRun] = {}
    for run in runs:
        other = known.setdefault(run.key, run)
        if run.source != other.source and run.source and other.source:
            raise ValueError(
                f"{other.source.path} and {run.source.path} are both called "
                f"{run.key.data} in results.csv. Give one of them another name."
            )
    return list(known.values())
