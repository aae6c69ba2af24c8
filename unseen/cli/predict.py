"""``unseen predict``: label rows by a saved model, alone or with self-training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen._command import command_line
from unseen.cli.asked import Asked
from unseen.cli.bars import show_work
from unseen.cli.data import Column, Tables, Unseen, file_errors
from unseen.cli.outputs import Force, outputs
from unseen.cli.trusting import (
    Generalized,
    MinReliability,
    leave_unknown,
    names_given,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

EXAMPLES = """
Examples:

  unseen predict digits.unseen digits --adapt

  unseen predict cub.unseen xlsa17/data/CUB --adapt --out labels.csv

  unseen predict cub.unseen features.npy --adapt --save adapted.unseen

  unseen predict student.onnx features.npz
"""


def predict(
    model: Annotated[Path, typer.Argument(help="File written by unseen fit or train.")],
    features: Annotated[
        str,
        typer.Argument(help="Data set with unlabelled rows, or a .npy file."),
    ],
    out: Annotated[Path, typer.Option(help="File for the labels.")] = Path(
        "labels.csv"
    ),
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    adapt: Annotated[
        bool, typer.Option("--adapt", help="First adapt the model to the rows.")
    ] = False,
    generalized: Generalized = False,
    min_reliability: MinReliability = 0.0,
    save: Annotated[
        Path | None, typer.Option(help="Save the adapted model here.")
    ] = None,
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was done as JSON.")
    ] = False,
) -> None:
    """Label rows with MODEL: a CSV file of id (the row), label and reliability.

    Rows get one of the unseen classes. With --generalized all classes compete, and
    rows of seen classes that the set keeps for scoring are labelled too. No label in
    FEATURES is used.
    """
    asked = Asked(features, classes, unseen, column)
    reading = [model, *asked.files]
    with file_errors(), outputs(out, save, reading=reading, force=force), show_work():
        from unseen.labels import label_table, write_labels
        from unseen.storage import load_model

        if model.suffix == ".onnx":
            if adapt or generalized or save or classes or unseen or column:
                raise ValueError(
                    f"{model}: with a model written by unseen train, only --out and "
                    "--min-reliability can be used."
                )
            table = leave_unknown(ask_student(model, Path(features)), min_reliability)
            write_labels(table, out)
            say(table["label"].to_numpy(), out, as_json=as_json)
            return
        fitted = load_model(model)
        rows, X, scored = asked.features(fitted, mixed=generalized)
        who = "all" if generalized else None
        reliability = None
        messages: list[str] = []
        if adapt:
            if not hasattr(fitted, "adapt"):
                raise ValueError(f"{type(fitted).__name__} cannot adapt: drop --adapt.")
            with asked.telling_holes():
                fitted.adapt(X, classes=who)
            labels = fitted.labels_
            reliability = fitted.reliability_
            messages = [str(done) for done in fitted.rounds_]
        else:
            with asked.telling_holes():
                labels = fitted.predict(X, classes=who)
        table = label_table(labels, ids=rows, reliability=reliability)
        table = leave_unknown(table, min_reliability)
        labels = table["label"].to_numpy()
        path = write_labels(table, out)
        if save is not None:
            fitted.save(save)
    say(labels, path, adapted=adapt, rounds=messages, as_json=as_json)
    if scored and not as_json:
        words = ["score", path, features, *Asked(features, column=column).options()]
        words += ["--generalized"] if generalized else []
        typer.echo(f"How good they are:  {command_line(*words)}")


def say(
    labels: np.ndarray,
    path: Path,
    *,
    adapted: bool = False,
    rounds: Sequence[str] = (),
    as_json: bool,
) -> None:
    """Say how many rows got which names."""
    counts = count(labels)
    if as_json:
        answer = {
            "labels": str(path),
            "rows": len(labels),
            "adapted": adapted,
            "counts": counts,
            "rounds": list(rounds),
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    for number, line in enumerate(rounds, start=1):
        typer.echo(f"Round {number}: {line}", err=True)
    typer.echo(f"{names_given(labels)}; wrote {path}")


def ask_student(model: Path, features: Path) -> pd.DataFrame:
    """Return what a student says of features, as a table of labels."""
    from unseen.labels import label_table
    from unseen.naming.answer import second_best
    from unseen.photos.precomputed import read_features as read_file
    from unseen.student import StudentFile

    student = StudentFile(model)
    X, paths, _ = read_file(features)
    chances = student.predict_proba(X)
    labels = student.classes_[chances.argmax(axis=1)]
    return label_table(
        labels,
        ids=paths,
        reliability=chances.max(axis=1, initial=0).astype(float),
        second=second_best(chances, labels, student.classes_),
    )


def count(labels: np.ndarray) -> dict[str, int]:
    """Count how many rows got each name, most frequent first."""
    import pandas as pd

    counts = pd.Series(labels).value_counts()
    return {str(name): int(n) for name, n in counts.items()}
