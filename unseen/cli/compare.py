"""``unseen compare``: which method suits data of one's own, without unseen labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unseen._command import command_line
from unseen.cli.options import (
    Column,
    DataOptions,
    Force,
    Id,
    Source,
    Tables,
    Unseen,
    examples,
    say,
)

EXAMPLES = examples(
    "unseen compare photos --methods ast,tstd,eszsl",
    "unseen compare birds.csv --classes attributes.csv --methods ast,eszsl --seeds 3",
)
USUAL = "ast,tstd,eszsl,cca,to-visual"


def compare(
    data: Source,
    methods: Annotated[str, typer.Option(help="Methods between commas.")] = USUAL,
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    id: Id = None,
    seeds: Annotated[
        int,
        typer.Option(min=1, help="How often to divide the classes into folds."),
    ] = 1,
    out: Annotated[Path, typer.Option(help="Folder for results and page.")] = Path(
        "unseen-compare"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Processes at once.")] = 2,
    force: Force = False,
) -> None:
    """Compare methods on DATA, and say how certain the best one is.

    The labelled classes are divided into folds, and each method labels every fold as if
    its classes had no label. No label of an unseen class is used. If rows of unseen
    classes do have labels, another column shows the accuracy on them.

    Every run adds its lines to OUT/results.csv as it ends; the same command continues
    an interrupted run.
    """
    from unseen.cli.reproduce import show_runs
    from unseen.experiments import make_table, read_results, run_plans
    from unseen.experiments.compare import compare_plan, count_folds
    from unseen.files import check_results
    from unseen.report.experiment import files_of, write_experiment_report

    names = [*dict.fromkeys(filter(None, map(str.strip, methods.split(","))))]
    if not names:
        raise ValueError(f"--methods is empty. Try --methods {USUAL}")
    asked = DataOptions(data, classes, unseen, column, id)
    plan = compare_plan(data, names, asked.tables, n_seeds=seeds, **asked.given)
    loaded = asked.load()  # bad data fails here, before any run
    count_folds(loaded)
    say(*repr(loaded).split("\n"), err=True)
    question = command_line("compare", data, *asked.words())
    files = files_of([plan], out)
    check_results(out, question, *files, reading=asked.files, force=force)
    with show_runs() as progress:
        results = run_plans([plan], [], out, n_jobs=jobs, progress=progress)
    found = read_results(results)
    table = make_table(plan, found)
    page = write_experiment_report(results, plans=[plan])[0]
    ends = found[found.measure == "failed"]
    say(*table.to_markdown().split("\n"), "", f"Open {page}")
    for _, line in ends.iterrows():
        say(f"{line.method} failed: {line.note}", err=True)
    if len(ends):
        raise typer.Exit(1)
