"""``unseen explain``: what speaks for a label, column by column of the class table."""

from __future__ import annotations

import json
from numbers import Integral
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.asked import Asked
from unseen.cli.data import AsJson, Column, Tables, Unseen, file_errors
from unseen.cli.errors import printable
from unseen.cli.outputs import Force, outputs
from unseen.cli.trusting import Generalized

EXAMPLES = """
Examples:

  unseen explain digits.unseen digits --rows 2,5

  unseen explain cub.unseen xlsa17/data/CUB --rows 8855 --adapt --out why.html

  unseen explain cub.unseen xlsa17/data/CUB --adapt --class "Least Auklet"
"""
MOST_ROWS = 100


def explain(
    model: Annotated[Path, typer.Argument(help="File written by unseen fit.")],
    features: Annotated[
        str,
        typer.Argument(help="Data set with unlabelled rows, or a .npy file."),
    ],
    rows: Annotated[
        str, typer.Option(help="Rows to explain, by number, as in labels.csv.")
    ] = "",
    of_class: Annotated[
        str | None,
        typer.Option(
            "--class",
            help="Class to explain.",
        ),
    ] = None,
    adapt: Annotated[
        bool, typer.Option("--adapt", help="First adapt the model to the rows.")
    ] = False,
    generalized: Generalized = False,
    top: Annotated[int, typer.Option(min=1, help="Columns to list.")] = 10,
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    out: Annotated[
        Path | None, typer.Option(help="HTML page to write as well.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Say why MODEL gave rows of FEATURES their labels.

    For a row: the second-best class, and how much each column of the class table and
    the other unlabelled rows add to the lead over it. For a class: the seen classes
    most like it, and entries of the class table that the unlabelled rows contradict.
    """
    asked = Asked(features, classes, unseen, column)
    reading = [model, *asked.files]
    with file_errors(), outputs(out, reading=reading, force=force):
        from unseen.storage import load_model

        fitted = load_model(model)
        if not hasattr(fitted, "explain"):
            raise ValueError(
                f"{type(fitted).__name__} cannot explain its labels. Fit with "
                "--method ast, the default."
            )
        if not rows and of_class is None:
            raise ValueError("Nothing to explain: give --rows 3,17 or --class NAME.")
        numbers, X, _ = asked.features(fitted, mixed=generalized)
        if adapt:
            fitted.adapt(X, classes="all" if generalized else None)
        columns = column_names(asked, fitted)
        answer: dict = {}
        if rows:
            chosen = row_places(rows, numbers)
            why = fitted.explain(X[chosen], columns=columns)
            names = [str(n) for n in numbers[chosen]]
            answer["rows"] = [
                {
                    "id": name,
                    "label": str(why.labels[i]),
                    "runner-up": str(why.runners_up[i]),
                    "margin": float(why.margins[i]),
                    "evidence": why.table(i, top).to_dict("records"),
                }
                for i, name in enumerate(names)
            ]
        if of_class is not None:
            inner = getattr(fitted, "estimator_", fitted)
            found = inner.explain_class(of_class, n_top=top, columns=columns)
            answer["class"] = {
                "name": of_class,
                "nearest": found.nearest.to_dict("records"),
                "doubts": found.doubts.to_dict("records"),
            }
        if out is not None:
            from unseen.report.explanation import write_explanation_report

            write_explanation_report(answer, out)
    if as_json:
        typer.echo(json.dumps(answer, indent=2, default=str))
        return
    show(answer)
    if out is not None:
        typer.echo(f"Open {out}")


def row_places(rows: str, numbers) -> list[int]:
    """Return where rows stand among those that are labelled."""
    places = {int(n): i for i, n in enumerate(numbers)}
    found = []
    for text in rows.split(","):
        if not text.strip().isdecimal() or int(text) not in places:
            raise ValueError(
                f"--rows names {text.strip()!r}, which is no row that is labelled. "
                f"Give numbers such as {numbers[0]}, with commas between."
            )
        found.append(places[int(text)])
    if len(found) > MOST_ROWS:
        raise ValueError(
            f"--rows names {len(found)} rows. Give at most {MOST_ROWS} at once."
        )
    return found


def column_names(asked: Asked, model):
    """Return the names of the class table's columns, None if the source has none."""
    from unseen.loading.npy import is_npy

    if is_npy(Path(asked.source)):
        return None
    parts = asked.parts()
    if not parts.tables and not asked.classes:
        return None
    table = parts.build(asked.tables, asked.unseen).class_embeddings
    width = getattr(model, "estimator_", model).class_embeddings_.shape[1]
    if table.shape[1] != width:
        return None
    apart = [c if isinstance(c, tuple) else (c,) for c in table.columns]
    return [" ".join(map(column_name, name)) for name in apart]


def column_name(name) -> str:
    """Return the name of a column; one without has a number.

    >>> column_name("stripes"), column_name(3)
    ('stripes', 'column 3')
    """
    return f"column {name}" if isinstance(name, Integral) else str(name)


def show(answer: dict) -> None:
    """Print what was found, for people."""
    for row in answer.get("rows", []):
        head = f"Row {row['id']}: {row['label']}, not {row['runner-up']}"
        typer.echo(f"{printable(head)} (ahead by {row['margin']:.2f})")
        for part in row["evidence"]:
            name = printable(str(part["evidence"]))
            typer.echo(f"  {part['contribution']:+8.2f}  {name}")
    if "class" in answer:
        found = answer["class"]
        typer.echo(f"{printable(found['name'])}: most like")
        for near in found["nearest"]:
            typer.echo(f"  {near['likeness']:8.2f}  {printable(str(near['class']))}")
        if not found["doubts"]:
            typer.echo("The rows contradict none of its entries in the class table.")
            return
        typer.echo("The rows contradict these entries of the class table:")
        for doubt in found["doubts"]:
            name = printable(str(doubt["column"]))
            typer.echo(f"  {doubt['doubt']:8.3f}  {name}: should be {doubt['should']}")
