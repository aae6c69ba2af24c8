"""``unseen score``: how good labels are, for those who know the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from unseen._command import command_line
from unseen.cli.asked import Asked
from unseen.cli.data import Column, Source, Tables, file_errors
from unseen.cli.errors import printable
from unseen.cli.trusting import UNKNOWN

EXAMPLES = """
Examples:

  unseen score labels.csv digits

  unseen score labels.csv xlsa17/data/CUB --json

  unseen score labels.csv true_labels.csv

  unseen score labels.csv xlsa17/data/CUB --generalized
"""


def score(
    labels: Annotated[Path, typer.Argument(exists=True, help="CSV of labels.")],
    data: Source,
    generalized: Annotated[
        bool,
        typer.Option(
            "--generalized", help="Score seen and unseen classes apart: U, S and H."
        ),
    ] = False,
    classes: Tables = None,
    unseen: Annotated[
        str | None, typer.Option(help="Which classes are unseen, for --generalized.")
    ] = None,
    column: Column = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the scores as JSON.")
    ] = False,
) -> None:
    """Compare LABELS with the true classes in DATA.

    DATA is the set whose rows were labelled; it needs no class table. For photos, give
    a CSV file of the true labels with the columns id (the path) and label.

    Prints the accuracy of each class, and their mean, in which every class counts the
    same.
    """
    with file_errors():
        import numpy as np

        from unseen.labels import find_truth, read_labels
        from unseen.metrics import confusion, per_class_accuracy

        given = read_labels(labels)
        none = given["label"].isin(["", UNKNOWN])
        if none.any():
            typer.echo(f"{none.sum()} rows without a label are not scored.", err=True)
        given = given[~none]
        truth = find_truth(given, data, column)
        called = given["label"].to_numpy(dtype=str)
        mean = per_class_accuracy(truth, called)
        table = confusion(truth, called)
        sides = {}
        if generalized:
            known = Asked(data, classes, unseen, column).load()
            sides = score_sides(truth, called, known.unseen)
    by_class = {}
    for name in np.unique(truth):
        own = table.loc[name]
        wrong = own.drop(name).sort_values(ascending=False, kind="stable")
        by_class[str(name)] = {
            "rows": int(own.sum()),
            "accuracy": round(float(own[name] / own.sum()), 6),
            "mistaken for": str(wrong.index[0]) if wrong.sum() else None,
        }
    if as_json:
        answer = {
            "per-class accuracy": round(float(mean), 6),
            "share of rows": round(float((truth == called).mean()), 6),
            "rows": len(truth),
            **{name: round(value, 6) for name, value in sides.items()},
            "classes": by_class,
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    width = max(len(printable(name)) for name in (*by_class, "mean of classes")) + 2
    typer.echo(
        f"{'class':<{width}}{'rows':>8}{'right, %':>10}  most often mistaken for"
    )
    for name, found in by_class.items():
        share = 100 * float(str(found["accuracy"]))
        other = found["mistaken for"] or "-"
        shown = f"{printable(name):<{width}}{found['rows']:>8}{share:>10.1f}"
        typer.echo(f"{shown}  {printable(str(other))}")
    typer.echo(f"{'mean of classes':<{width}}{len(truth):>8}{100 * mean:>10.1f}")
    for name, value in sides.items():
        typer.echo(f"{name:<{width}}{'':>8}{100 * value:>10.1f}")


def score_sides(truth, called, unseen) -> dict[str, float]:
    """Return U, S and H: accuracy on unseen and on seen classes, harmonic mean."""
    import numpy as np

    from unseen.metrics import harmonic_mean, per_class_accuracy

    theirs = np.isin(truth, unseen)
    if theirs.all() or not theirs.any():
        lacks = "seen" if theirs.all() else "unseen"
        raise ValueError(
            f"No labelled row is of a class that is {lacks}, so there is no "
            f"harmonic mean. Label a mixed pile with {command_line('predict')} and "
            "its option --generalized."
        )
    U = per_class_accuracy(truth[theirs], called[theirs])
    S = per_class_accuracy(truth[~theirs], called[~theirs])
    return {"U": U, "S": S, "H": harmonic_mean(S, U)}
