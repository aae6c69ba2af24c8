"""``unseen run``: fit, adapt, labels and a page in one go, on data of your own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from unseen._command import command_line
from unseen.cli.asked import Asked
from unseen.cli.bars import show_work
from unseen.cli.data import Column, Source, Tables, Unseen, file_errors
from unseen.cli.fit import complete_method
from unseen.cli.outputs import Force, outputs
from unseen.cli.trusting import (
    Generalized,
    MinReliability,
    leave_unknown,
    mixed_pile,
    names_given,
)

EXAMPLES = """
Examples:

  unseen run birds.csv --classes attributes.csv

  unseen run digits --method tstd --out digits-run

  unseen run birds.csv --classes attributes.csv --generalized --min-reliability 0.6
"""


def run(
    data: Source,
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    method: Annotated[
        str, typer.Option(help="Method.", autocompletion=complete_method)
    ] = "ast",
    generalized: Generalized = False,
    min_reliability: MinReliability = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    out: Annotated[
        Path,
        typer.Option(help="Folder for labels, page and model, or a .csv file."),
    ] = (Path("unseen-run")),
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was done as JSON.")
    ] = False,
) -> None:
    """Learn from the labelled rows of DATA and label all others.

    DATA is a file, a folder or a bundled set. Rows with an empty label, and rows of
    classes that are unseen, get one of the unseen classes; their labels, if they have
    any, are not used. With --generalized all classes compete: rows may be of seen
    classes too.
    """
    files = [out / name for name in ("labels.csv", "report.html", "model.unseen")]
    if out.suffix:  # the table itself, page and model beside it
        files = [out, out.with_suffix(".html"), out.with_suffix(".unseen")]
    asked = Asked(data, classes, unseen, column)
    with file_errors(), outputs(*files, reading=asked.files, force=force), show_work():
        from unseen.labels import label_table, write_labels
        from unseen.methods import find_method
        from unseen.report import write_labels_report
        from unseen.review.origins import Origin, absolute, note_origin

        way = find_method(method)
        given = asked.load_labelled()
        pile = mixed_pile(given) if generalized else given.pile
        if not len(pile):
            raise ValueError(
                f"{data}: every row has the label of a seen class, so there is nothing "
                "to label. Leave labels empty, or name unseen classes with --unseen."
            )
        X, reliability, who = given.X[pile], None, "all" if generalized else None
        model = asked.fitted(given, way, seed, generalized=generalized)
        with asked.telling_holes():
            if hasattr(model, "adapt"):
                labels = model.adapt(X, classes=who).labels_
                reliability = model.reliability_
            else:
                labels = model.predict(X, classes=who)
        table = label_table(labels, ids=pile, reliability=reliability)
        table = leave_unknown(table, min_reliability)
        write_labels(table, files[0])
        note_origin(files[0], Origin("rows", absolute(data), column=column or ""))
        model.save(files[2])
        scored = data if (given.y[pile] != "").all() else None
        write_labels_report(files[0], files[1], data=scored, column=column)
    if as_json:
        counts = table["label"].value_counts()
        answer = {
            "labels": str(files[0]),
            "report": str(files[1]),
            "model": str(files[2]),
            "rows": len(table),
            "counts": {str(name): int(n) for name, n in counts.items()},
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    typer.echo(f"{names_given(table['label'].to_numpy())}.")
    typer.echo(f"Labels: {files[0]}\nModel:  {files[2]}\nOpen {files[1]}")
    typer.echo(f"Look at them and correct some:  {command_line('review', files[0])}")
