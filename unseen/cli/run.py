"""``unseen run``: fit, adapt, labels and a page in one go, on data of your own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.data import Source, Tables, chosen, file_errors
from unseen.cli.fit import complete_method
from unseen.cli.outputs import Force, outputs

EXAMPLES = """
Examples:

  unseen run birds.csv --classes attributes.csv

  unseen run digits --method tstd --out digits-run
"""


def run(
    data: Source,
    classes: Tables = None,
    unseen: Annotated[
        str | None, typer.Option(help="Standard split, or file with a name per line.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="Method.", autocompletion=complete_method)
    ] = "ast",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for labels, page and model.")] = (
        Path("unseen-run")
    ),
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was done as JSON.")
    ] = False,
) -> None:
    """Learn from the labelled rows of DATA and label all others.

    DATA is a file, a folder or a bundled set. Rows with an empty label, and rows of
    classes that are unseen, get one of the unseen classes; their labels, if they have
    any, are not looked at.
    """
    files = [out / name for name in ("labels.csv", "report.html", "model.unseen")]
    reading = [data, *(classes or []), unseen]
    with file_errors(), outputs(*files, reading=reading, force=force):
        from unseen.experiments.tasks import Bench
        from unseen.labels import label_table, write_labels
        from unseen.loading import load_data
        from unseen.methods import find_method
        from unseen.report import write_labels_report

        way = find_method(method)
        given = load_data(data, chosen(classes), unseen=unseen)
        typer.echo(repr(given), err=True)
        if not len(given.pile):
            raise ValueError(
                f"{data}: every row has the label of a seen class, so there is nothing "
                "to label. Leave labels empty, or name unseen classes with --unseen."
            )
        model = Bench.of(given, None).fitted(way, "", seed)
        X, reliability = given.X[given.pile], None
        if hasattr(model, "adapt"):
            labels = model.adapt(X).labels_
            reliability = model.reliability_
        else:
            labels = model.predict(X)
        table = label_table(labels, ids=given.pile, reliability=reliability)
        write_labels(table, files[0])
        model.save(files[2])
        scored = data if (given.y[given.pile] != "").all() else None
        write_labels_report(files[0], files[1], data=scored)
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
    typer.echo(f"{len(table):,} rows got {table['label'].nunique()} names.")
    typer.echo(f"Labels: {files[0]}\nModel:  {files[2]}\nOpen {files[1]}")
