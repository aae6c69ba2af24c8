"""``unseen reproduce``: plans to runs to tables, figures and a page."""

from __future__ import annotations

import json
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen.cli.options import Force, file_errors, outputs

if TYPE_CHECKING:
    from unseen.experiments.plan import Plan, PlannedRun
    from unseen.experiments.run import Finding

EXAMPLES = """
Examples:

  unseen reproduce digits

  unseen reproduce table5 fig5 --data my_sets --jobs 2

  unseen reproduce all --data my_sets --data benchmarks/xlsa17/data --out results

  unseen reproduce my_plan.toml --data my_sets --json
"""


def plans_there() -> list[str]:
    """List the plans by their files: ``--help`` does not wait for the library."""
    folder = files("unseen").joinpath("experiments", "plans")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir())


def complete_plan(typed: str) -> list[str]:
    """Offer the plans of the package to the shell."""
    from unseen.experiments.plan import plan_names

    return [name for name in ("all", *plan_names()) if name.startswith(typed)]


def reproduce(
    plan: Annotated[
        list[str],
        typer.Argument(
            help=f"Plans: {', '.join(plans_there())}, all, or a TOML file.",
            autocompletion=complete_plan,
        ),
    ],
    data: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True, help="Folder of data sets, or a set. May be repeated."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path(
        "unseen-results"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Processes at once.")] = 2,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat runs that failed.")
    ] = False,
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was written as JSON.")
    ] = False,
) -> None:
    """Repeat the paper's experiments; write its tables, its figures and a report.

    Every run adds its lines to OUT/results.csv as it ends. It may be stopped at
    any time, even killed: the same command continues. Exit code 1 if a run failed.
    """
    with file_errors():
        from unseen.experiments import plan_names, read_plan, read_results, run_plans
        from unseen.report.experiment import files_of, write_experiment_report

        names = list(plan_names()) if "all" in plan else list(dict.fromkeys(plan))
        plans = [read_plan(name) for name in names]
        folders = [str(folder) for folder in data or []]
        ready = say_what_is_absent(plans, folders)
        runs = [run for item in ready for run in item.runs(folders)]
        reading = {run.source.path for run in runs if run.source is not None}
        with outputs(
            *files_of(ready, out),
            results=(out, "unseen reproduce"),
            reading=reading,
            force=force,
        ):
            results = run_plans(
                ready,
                folders,
                out,
                n_jobs=jobs,
                retry_failed=retry_failed,
                progress=Progress(),
            )
            found = read_results(results)
            page, *files = write_experiment_report(
                results, plans=ready, folders=folders
            )
        keys = {run.key for run in runs}
    ends = found[found.measure.isin(["done", "failed"])]
    mine = [tuple(key) in keys for key in ends.iloc[:, :5].itertuples(index=False)]
    n_failed = int((ends[mine].measure == "failed").sum())
    if as_json:
        answer = {
            "runs": len(keys),
            "failed": n_failed,
            "results": str(results),
            "report": str(page),
            "files": [str(file) for file in files],
        }
        typer.echo(json.dumps(answer, indent=2))
    else:
        show(ready, found)
        typer.echo(f"{len(keys)} runs, {n_failed} failed. Tables and figures: {out}")
        typer.echo(f"Open {page}")
    if n_failed:
        raise typer.Exit(1)


def say_what_is_absent(plans: list[Plan], folders: list[str]) -> list[Plan]:
    """Return the plans that have data; tell what to fetch for the others."""
    from unseen.experiments.sources import how_to_fetch

    absent = dict.fromkeys(name for plan in plans for name in plan.absent(folders))
    for name in absent:
        typer.echo(how_to_fetch(name), err=True)
    ready = [plan for plan in plans if plan.runs(folders)]
    if not ready:
        raise ValueError("None of the data was found. Give its folder with --data.")
    for plan in plans:
        if plan not in ready:
            typer.echo(f"{plan.name} is left out: its data was not found.", err=True)
    return ready


class Progress:
    """Tell on stderr what ended, how much is done, and how long the rest may take."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.first_share: float | None = None

    def __call__(self, run: PlannedRun, findings: list[Finding], share: float) -> None:
        """Write one line; on a terminal it replaces the line before."""
        text = f"{share:4.0%} {self.left(share)}  {describe(run, findings)}"
        if not sys.stderr.isatty():
            typer.echo(text, err=True)
            return
        end = "\n" if share >= 1 or findings[-1].measure == "failed" else ""
        typer.echo(f"\r\033[K{text[:100]}{end}", err=True, nl=False)

    def left(self, share: float) -> str:
        """Guess the time left from the work done since the start."""
        if self.first_share is None:  # what was there before took no time now
            self.first_share, self.start_of_guess = share, time.monotonic()
            return "time left unknown"
        if share >= 1:
            return f"after {clock(time.monotonic() - self.start)}"
        done = share - self.first_share
        spent = time.monotonic() - self.start_of_guess
        return f"about {clock(spent * (1 - share) / done)} left"


def clock(seconds: float) -> str:
    """Write a time for people.

    >>> clock(42.3), clock(250)
    ('42 s', '4 min 10 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def describe(run: PlannedRun, findings: list[Finding]) -> str:
    """Say in a few words what a run was and found."""
    key = run.key
    words = " ".join(filter(None, [key.task, key.data, key.classes, key.method]))
    if findings[-1].measure == "failed":
        return f"{words} {key.seed}: failed, {findings[-1].note}"
    final = [f.value for f in findings if f.measure == "final" and f.value is not None]
    return f"{words} {key.seed}" + (f": {100 * final[0]:.1f} %" if final else "")


def show(plans: list[Plan], found: Any) -> None:
    """Print the tables of one or two plans; more are for the page."""
    from unseen.experiments import make_table
    from unseen.experiments.tables import MAKERS

    if len(plans) <= 2:
        for plan in plans:
            if plan.show in MAKERS:
                typer.echo(f"{make_table(plan, found).to_markdown()}\n")
