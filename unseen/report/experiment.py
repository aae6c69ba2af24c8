"""The page of ``unseen reproduce``: tables, figures and what stands behind them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

import unseen
from unseen.experiments.plan import Plan, plan_names, read_plan
from unseen.experiments.run import read_results
from unseen.experiments.tables import MAKERS, make_table, sources_of
from unseen.files import replace_file
from unseen.methods import METHODS
from unseen.report.figures import draw_confusion, draw_plan, draw_recalls
from unseen.report.page import inline_svg, render, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unseen.experiments.tables import Table

__all__ = ["write_experiment_report", "write_tables_and_figures"]

# What a figure outside a page has in place of the page's colours.
ON_PAPER = {
    "currentColor": "#1b1f24",
    "var(--before)": "#b34d00",
    "var(--after)": "#0064a0",
}


def write_experiment_report(
    results: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    plans: Sequence[Plan],
    folders: Sequence[str] = (),
) -> Path:
    """Write what was reproduced as one HTML page that needs no other file.

    Parameters
    ----------
    results : path
        ``results.csv``, or the folder it is in.
    path : path, optional
        The page; by default ``report.html`` beside the results.
    plans : sequence of Plan
        What to show.
    folders : sequence of str, optional
        Where the data was, for the command that repeats it.

    Returns
    -------
    Path
        The page written.

    Examples
    --------
    >>> import tempfile
    >>> from unseen.experiments import run_plans
    >>> from unseen.report import write_experiment_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_plans([], [], folder)
    ...     write_experiment_report(folder, plans=[]).read_text()[:15]
    '<!doctype html>'
    """
    results = Path(results)
    found = read_results(results)
    home = results if results.is_dir() else results.parent
    with damaged_results(results):
        content: dict[str, Any] = {
            "headline": make_headline(plans, found),
            "about": what_was_run(found),
            "sections": [make_section(plan, found) for plan in plans],
            "cases": list(make_cases(found)),
            "troubles": list(find_troubles(found)),
            "chosen": list(what_was_chosen(found)),
            "command": repeat_command(plans, folders),
        }
    target = path or home / "report.html"
    return write_page("experiment.html", target, version=unseen.__version__, **content)


@contextmanager
def damaged_results(results: str | os.PathLike[str]) -> Iterator[None]:
    """Say of which file it is if findings are not what any run leaves behind."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{results}: its rows do not fit together ({type(error).__name__}: "
            f"{reason}). Make them anew, in another folder."
        ) from error


def write_tables_and_figures(
    results: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    plans: Sequence[Plan],
) -> list[Path]:
    """Write every table as Markdown, LaTeX and HTML, and every figure as SVG.

    Parameters
    ----------
    results : path
        ``results.csv``, or the folder it is in.
    out : path
        Gets the folders ``tables`` and ``figures``.
    plans : sequence of Plan

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> from unseen.experiments import read_plan, run_plans
    >>> from unseen.report import write_tables_and_figures
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_plans([], [], folder)
    ...     plans = [read_plan("table5")]
    ...     files = write_tables_and_figures(folder, folder, plans=plans)
    >>> [file.name for file in files]
    ['table5.md', 'table5.tex', 'table5.html']
    """
    found = read_results(results)
    contents: dict[Path, str] = {}
    with damaged_results(results):
        for plan in plans:
            files = files_of(plan, out)
            if plan.show in MAKERS:
                table = make_table(plan, found)
                texts = [table.to_markdown(), table.to_latex(), table_as_html(table)]
                contents |= zip(files, texts, strict=True)
            else:
                figure = draw_plan(plan, found)
                if figure is not None:
                    contents[files[0]] = on_paper(figure)
    for path, text in contents.items():
        with replace_file(path) as file:
            file.write(f"{text}\n".encode())
    return list(contents)


def files_of(plan: Plan, out: str | os.PathLike[str]) -> list[Path]:
    """Return the files that a plan's table or figure is written to.

    Examples
    --------
    >>> from unseen.experiments import read_plan
    >>> from unseen.report.experiment import files_of
    >>> [file.as_posix() for file in files_of(read_plan("fig5"), "results")]
    ['results/figures/fig5.svg']
    """
    if plan.show in MAKERS:
        endings = ("md", "tex", "html")
        return [Path(out, "tables", f"{plan.name}.{ending}") for ending in endings]
    return [Path(out, "figures", f"{plan.name}.svg")]


def on_paper(figure: Figure) -> str:
    """Return a figure as an SVG file in fixed colours."""
    svg = str(inline_svg(figure, "figure"))
    for name, colour in ON_PAPER.items():
        svg = svg.replace(name, colour)
    return svg


def make_section(plan: Plan, results: pd.DataFrame) -> dict[str, Any]:
    """Return a plan's table or figure for the page."""
    section: dict[str, Any] = {
        "name": plan.name,
        "title": plan.title,
        "location": plan.location,
        "words": plan.caption,
        "table": None,
        "figure": None,
    }
    if plan.show in MAKERS:
        section["table"] = Markup(
            table_as_html(make_table(plan, results), titled=False)
        )
        return section
    figure = draw_plan(plan, results)
    if figure is not None:
        section["figure"] = inline_svg(figure, plan.name)
    return section


def case_keys(results: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return (data, class table, method) to show class by class: one of each set.

    Our own method if it was run, else the first that has figures class by class.
    """
    recalls = results[(results.task == "accuracy") & (results.measure == "recall")]
    keys = []
    for data, own in recalls.groupby("data", sort=False):
        methods = list(own.method.unique())
        method = "ast" if "ast" in methods else methods[0]
        classes = own[own.method == method].classes
        order = [name for name in preferred_tables() if name in set(classes)]
        keys.append((str(data), [*order, *classes][0], method))
    return keys


def preferred_tables() -> list[str]:
    """Return class tables in the order in which the plans name them."""
    plans = map(read_plan, plan_names())
    columns = [column for plan in plans for column in plan.columns]
    names = [classes for column in columns for _, classes, _ in sources_of(column)]
    return list(dict.fromkeys(names))


def one_run(
    results: pd.DataFrame, data: str, classes: str, method: str
) -> pd.DataFrame:
    """Return what the run with seed 0 found."""
    return results[
        (results.task == "accuracy")
        & (results["data"] == data)
        & (results["classes"] == classes)
        & (results.method == method)
        & (results.seed == 0)
    ]


def make_headline(plans: Sequence[Plan], results: pd.DataFrame) -> dict[str, Any]:
    """Return the first thing to read: what it is, and one method before and after."""
    title = "The paper, reproduced on the data at hand"
    if not {plan.name for plan in plans} <= set(plan_names()):
        title = "; ".join(plan.title for plan in plans)
    keys = case_keys(results)
    if not keys:
        return {"title": title, "before": None, "after": None, "words": ""}
    data, classes, method = keys[0]
    run = one_run(results, data, classes, method)
    start = run[(run.measure == "accuracy") & (run["round"] == 0)]
    n_classes = run[run.measure == "recall"]["item"].nunique()
    label = METHODS[method].label if method in METHODS else method
    return {
        "title": title,
        "before": float(start["value"].iloc[0]),
        "after": float(run[run.measure == "final"]["value"].iloc[0]),
        "words": (
            f"{label} on {data} with {classes}: per-class accuracy on {n_classes} "
            f"classes it saw no labelled row of; guessing would give "
            f"{100 / n_classes:.1f} %."
        ),
    }


def what_was_run(results: pd.DataFrame) -> str:
    """Say in a sentence how much was run."""
    ends = results[results.measure.isin(["done", "failed"])]
    n_failed = int((ends.measure == "failed").sum())
    sets = [name for name in ends["data"].unique() if name != "made-up"]
    methods = [name for name in ends.method.unique() if name]
    minutes = ends["seconds"].sum() / 60
    return (
        f"{len(ends)} runs of {len(methods)} methods on {', '.join(sets) or 'no set'}; "
        f"{n_failed} of them failed. {minutes:.1f} minutes of processor time in all."
    )


def make_cases(results: pd.DataFrame) -> list[dict[str, Any]]:
    """Return, for one class table of every set, what happened class by class."""
    return [
        make_case(number, one_run(results, *key), *key)
        for number, key in enumerate(case_keys(results))
    ]


def make_case(
    number: int, run: pd.DataFrame, data: str, classes: str, method: str
) -> dict[str, Any]:
    """Return recalls, confusion and rounds of one run."""
    recalls = run[run.measure == "recall"].pivot_table(
        index="item", columns="round", values="value"
    )
    recalls.columns = pd.Index(["before", "after"])
    given = run[run.measure == "given"]
    counts = given.pivot_table(
        index="item", columns="note", values="value", fill_value=0, aggfunc="sum"
    )
    by_round = run[run.measure == "accuracy"].sort_values("round")
    label = METHODS[method].label if method in METHODS else method
    rounds = [
        (note or "Before adapting, every row on its own.", value)
        for note, value in zip(by_round["note"], by_round["value"], strict=True)
    ]
    return {
        "title": f"{label} on {data}, {classes}",
        "before": rounds[0][1],
        "after": float(run[run.measure == "final"]["value"].iloc[0]),
        "rounds": rounds,
        "recalls": inline_svg(draw_recalls(recalls), f"recalls{number}"),
        "confusion": inline_svg(draw_confusion(counts), f"confusion{number}"),
        "classes": [
            {
                "name": name,
                "n_rows": int(own.sum()),
                "before": before,
                "after": after,
                "mistaken": mistaken_for(own, name),
            }
            for (name, own), before, after in zip(
                counts.iterrows(), recalls["before"], recalls["after"], strict=True
            )
        ],
    }


def mistaken_for(counts: pd.Series, name: Any) -> str:
    """Return the wrong name that a class got most often."""
    wrong = counts.drop(name, errors="ignore")
    if wrong.empty or not wrong.max():
        return "—"
    return f"{wrong.idxmax()} ({wrong.max():.0f})"


def find_troubles(results: pd.DataFrame) -> list[tuple[str, str]]:
    """Return failed runs and warnings, the same words once with all their runs."""
    said: dict[tuple[str, str], list[str]] = {}
    for row in results[results.measure.isin(["failed", "warning"])].itertuples():
        words = f"{'Failed: ' if row.measure == 'failed' else ''}{row.note}"
        where = " ".join(filter(None, [str(row.data), str(row.classes)]))
        said.setdefault((str(row.method) or str(row.task), words), []).append(where)
    return [
        (f"{method} on {', '.join(dict.fromkeys(where))}", words)
        for (method, words), where in said.items()
    ]


def what_was_chosen(results: pd.DataFrame) -> list[dict[str, str]]:
    """Return what every search chose, and the time of its run."""
    first = results[(results.task == "accuracy") & (results.seed == 0)]
    run = ["method", "data", "classes"]
    times = first.loc[first.measure == "done", [*run, "seconds"]]
    searches = first.loc[first.measure == "chosen", [*run, "note"]]
    searches = searches[searches["note"] != "{}"].merge(times, on=run)
    return [
        {
            "method": row.method,
            "data": row.data,
            "classes": row.classes,
            "chosen": ", ".join(f"{k} {v}" for k, v in json.loads(row.note).items()),
            "time": f"{row.seconds:.1f} s",
        }
        for _, row in searches.iterrows()
    ]


def repeat_command(plans: Sequence[Plan], folders: Sequence[str]) -> str:
    """Return what to type to get the page again."""
    if len(plans) == 1 and plans[0].command:
        return shlex.join(["unseen", *plans[0].command])
    names = [plan.name for plan in plans]
    wanted = ["all"] if names == list(plan_names()) else names
    data = [word for folder in folders or ["DIR"] for word in ("--data", folder)]
    return shlex.join(["unseen", "reproduce", *wanted, *data])


def table_as_html(table: Table, *, titled: bool = True) -> str:
    """Write a table as HTML, everything escaped; its title may be elsewhere."""
    return render("table.html", table=table, name=table.name, titled=titled)
