"""``unseen report``: results or labels as one page to open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.data import Column, file_errors
from unseen.cli.outputs import Force, outputs

EXAMPLES = """
Examples:

  unseen report unseen-results

  unseen report labels.csv --out labels.html

  unseen report labels.csv --data digits
"""


def report(
    source: Annotated[
        Path,
        typer.Argument(
            exists=True, help="CSV of labels, or a folder that unseen reproduce wrote."
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(help="Data set with the true classes, to score labels."),
    ] = None,
    column: Column = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The page.", show_default="report.html beside SOURCE"),
    ] = None,
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the path as JSON.")
    ] = False,
) -> None:
    """Turn labels or results into one HTML page that needs no other file."""
    home = source if source.is_dir() else source.parent
    target = out or home / "report.html"
    found = source / "results.csv" if source.is_dir() else source
    with file_errors(), outputs(target, reading=[found, data], force=force):
        from unseen.labels import heads_of
        from unseen.report import write_experiment_report, write_labels_report

        if "label" in heads_of(source):
            page = write_labels_report(source, target, data=data, column=column)
        elif data is not None:
            raise ValueError("--data is for labels; results have their scores already.")
        else:
            page = write_experiment_report(source, target)
    if as_json:
        typer.echo(json.dumps({"report": str(page)}))
    else:
        typer.echo(f"Open {page}")
