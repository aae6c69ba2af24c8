"""``unseen reproduce``: plans to runs to tables, figures and a page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen._words import how_many
from unseen.cli.options import Force, examples, say

if TYPE_CHECKING:
    from unseen.experiments.plan import PlannedRun
    from unseen.experiments.run import Finding

EXAMPLES = examples(
    "unseen reproduce table5 fig5 fig3 fig4",
    "unseen reproduce table5 fig5 --data my_sets --jobs 2",
    "unseen reproduce all --data my_sets --data benchmarks/xlsa17/data --out results",
    "unseen reproduce my_plan.toml --data my_sets",
)


def plans_there() -> list[str]:
    """List the plans by their files: ``--help`` does not wait for the library."""
    folder = files("unseen").joinpath("experiments", "plans")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir())


def reproduce(
    plan: Annotated[
        list[str],
        typer.Argument(help=f"Plans: {', '.join(plans_there())}, all, or a TOML file."),
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
    force: Force = False,
) -> None:
    """Repeat the experiments of the paper: tables, figures, report.

    Every run adds its lines to OUT/results.csv as it ends. It may be stopped at
    any time, even killed: the same command continues. Exit code 1 if a run failed.
    """
    from unseen.experiments import (
        make_table,
        plan_names,
        read_plan,
        read_results,
        run_plans,
    )
    from unseen.experiments.sources import how_to_fetch
    from unseen.experiments.tables import MAKERS
    from unseen.files import check_results
    from unseen.loading.catalogue import what_was_there
    from unseen.report.experiment import files_of, write_experiment_report

    names = plan_names() if "all" in plan else dict.fromkeys(plan)
    folders = [str(folder) for folder in data or []]
    plans = [read_plan(name).on(folders) for name in names]
    ready = [one for one in plans if one.runs(folders) or not one.columns]
    absent = dict.fromkeys(name for one in plans for name in one.absent(folders))
    say(*map(how_to_fetch, absent), err=True)
    if not ready:
        there = what_was_there(folders) if folders else "Give its folder: --data."
        raise ValueError(f"None of the data was found. {there}")
    for one in plans:
        if one not in ready:
            say(f"{one.name} is skipped: its data was not found.", err=True)
    runs = [run for item in ready for run in item.runs(folders)]
    reading = {run.source.path for run in runs if run.source is not None}
    outputs = files_of(ready, out)
    check_results(out, "unseen reproduce", *outputs, reading=reading, force=force)
    with show_runs() as progress:
        results = run_plans(ready, folders, out, n_jobs=jobs, progress=progress)
    found = read_results(results)
    page = write_experiment_report(results, plans=ready, folders=folders)[0]
    keys = {run.key for run in runs}
    failed = found[found.measure == "failed"].iloc[:, :5].itertuples(index=False)
    n_failed = sum(tuple(key) in keys for key in failed)
    tables = [plan for plan in ready if plan.show in MAKERS and len(ready) <= 2]
    for item in tables:  # more are for the page
        say(*make_table(item, found).to_markdown().split("\n"), "")
    ended = f"{how_many(len(keys), 'run')}, {n_failed} failed."
    say(f"{ended} Tables and figures: {out}", f"Open {page}")
    if n_failed:
        raise typer.Exit(1)


@contextmanager
def show_runs() -> Iterator[Callable[[PlannedRun, list[Finding], float], None]]:
    """Yield a function that tells on stderr what ended, and how much is done.

    A terminal shows a bar with the time left, and failed runs alone.
    """
    from unseen.progress import show_items

    with show_items("percent of runs") as advance:

        def tell(run: PlannedRun, findings: list[Finding], share: float) -> None:
            advance(round(100 * share), 100)
            found = [f"{100 * f.value:.1f} %" for f in findings
                     if f.measure == "final" and f.value is not None]  # fmt: skip
            failed = findings[-1].measure == "failed"
            if failed:
                found = [f"failed, {findings[-1].note}"]
            words = " ".join(str(part) for part in run.key if part != "")
            if failed or not sys.stderr.isatty():
                say(f"{share:4.0%}  {': '.join([words, *found])}", err=True)

        yield tell
