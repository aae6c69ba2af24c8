"""The page of ``reproduce`` and ``compare``: tables, figures and what is behind."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

import unseen
from unseen.experiments.plan import Plan, plan_names
from unseen.experiments.run import read_results
from unseen.experiments.tables import MAKERS, make_table
from unseen.files import replace_file
from unseen.report.figures import draw_plan
from unseen.report.page import as_files, inline_svg, render, write_page


def write_experiment_report(
    results: str | os.PathLike[str],
    *,
    plans: Sequence[Plan],
    folders: Sequence[str] = (),
) -> list[Path]:
    """Write a page, every table and every figure beside the results.

    Parameters
    ----------
    results : path
        ``results.csv``, or the folder it is in.
    plans : sequence of Plan
        What to show.
    folders : sequence of str, optional
        Where the data was, for the command that repeats it.

    Returns
    -------
    list of Path
        ``report.html``, which needs no other file; then tables as Markdown, LaTeX and
        HTML in ``tables``, and figures as SVG in ``figures``.

    Examples
    --------
    >>> import tempfile
    >>> from unseen.experiments import read_plan, run_plans
    >>> from unseen.report import write_experiment_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_plans([], [], folder)
    ...     files = write_experiment_report(folder, plans=[read_plan("table5")])
    >>> [file.name for file in files]
    ['report.html', 'table5.md', 'table5.tex', 'table5.html']
    """
    results = Path(results)
    home = results if results.is_dir() else results.parent
    found = read_results(results)
    files: dict[Path, bytes] = {}
    page: dict[str, Any] = {
        "title": page_title(plans),
        "about": what_was_run(found),
        "sections": [make_section(plan, found, home, files) for plan in plans],
        "troubles": find_troubles(found),
        "chosen": what_was_chosen(found),
        "command": repeat_command(plans, folders),
    }
    for path, text in files.items():
        with replace_file(path) as file:
            file.write(text)
    target = files_of([], home)[0]
    write_page("experiment.html", target, version=unseen.__version__, **page)
    return [target, *files]


def files_of(plans: Sequence[Plan], out: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a report is written to.

    >>> from unseen.experiments import read_plan
    >>> [file.as_posix() for file in files_of([read_plan("fig5")], "results")]
    ['results/report.html', 'results/figures/fig5.svg', 'results/figures/fig5.pdf',
     'results/figures/fig5.png']
    """
    names = ["report.html"]
    for plan in plans:
        if plan.show in MAKERS:
            names += [f"tables/{plan.name}.{kind}" for kind in ("md", "tex", "html")]
        else:
            names += [f"figures/{plan.name}.{kind}" for kind in ("svg", "pdf", "png")]
    return [Path(out, name) for name in names]


def make_section(
    plan: Plan, results: pd.DataFrame, home: Path, files: dict[Path, bytes]
) -> dict[str, Any]:
    """Return a plan's table or figure for the page; add its files to ``files``."""
    section: dict[str, Any] = {"plan": plan, "table": None, "figure": None}
    paths = files_of([plan], home)[1:]
    if plan.show in MAKERS:
        table = make_table(plan, results)
        section["table"] = Markup(render("table.html", table=table, titled=False))
        whole = render("table.html", table=table, titled=True)
        texts = table.to_markdown(), table.to_latex(), whole
        coded = [f"{text}\n".encode() for text in texts]
        files.update(zip(paths, coded, strict=True))
        return section
    figure = draw_plan(plan, results)
    if figure is not None:
        section["figure"] = inline_svg(figure, plan.name)
        files.update(zip(paths, as_files(figure, plan.name), strict=True))
    return section


# ---- what happened -------------------------------------------------------------------


def page_title(plans: Sequence[Plan]) -> str:
    """Return the first thing to read."""
    if len(plans) == 1 or not {plan.name for plan in plans} <= set(plan_names()):
        return "; ".join(plan.title for plan in plans)
    return "The paper, reproduced on the data at hand"


def what_was_run(results: pd.DataFrame) -> str:
    """Say in a sentence how much was run."""
    ends = results[results.measure.isin(["done", "failed"])]
    n_failed = int((ends.measure == "failed").sum())
    sets = [name for name in ends["data"].unique() if name != "made-up"]
    methods = [name for name in ends.method.unique() if name]
    seconds = ends["seconds"].sum()
    spent = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
    return (
        f"{len(ends)} runs of {len(methods)} methods on {', '.join(sets) or 'no set'}; "
        f"{n_failed} of them failed. {spent} of processor time in all."
    )


def find_troubles(results: pd.DataFrame) -> list[tuple[str, str]]:
    """Return failed runs and warnings, the same words once with all their runs."""
    runs: dict[tuple[str, str], list[str]] = {}
    for row in results[results.measure.isin(["failed", "warning"])].itertuples():
        words = f"{'Failed: ' if row.measure == 'failed' else ''}{row.note}"
        where = " ".join(filter(None, [str(row.data), str(row.classes)]))
        runs.setdefault((str(row.method) or str(row.task), words), []).append(where)
    return [
        (f"{method} on {', '.join(dict.fromkeys(where))}", words)
        for (method, words), where in runs.items()
    ]


def what_was_chosen(results: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return what every search chose: method, data, class table, choice, time."""
    first = results[(results.task == "accuracy") & (results.seed == 0)]
    run = ["method", "data", "classes"]
    times = first.loc[first.measure == "done", [*run, "seconds"]]
    searches = first.loc[first.measure == "chosen", [*run, "note"]].merge(times, on=run)
    return [
        (
            *(str(cell) for cell in key),
            ", ".join(f"{name} {value}" for name, value in json.loads(note).items()),
            f"{seconds:.1f} s",
        )
        for *key, note, seconds in searches.itertuples(index=False)
        if note != "{}"
    ]


def repeat_command(plans: Sequence[Plan], folders: Sequence[str]) -> str:
    """Return what to type to get the page again."""
    if len(plans) == 1 and plans[0].command:
        return shlex.join(["unseen", *plans[0].command])
    names = [plan.name for plan in plans]
    wanted = ["all"] if names == list(plan_names()) else names
    data = [word for folder in folders for word in ("--data", folder)]
    return shlex.join(["unseen", "reproduce", *wanted, *data])
