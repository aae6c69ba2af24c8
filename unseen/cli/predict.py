"""``unseen predict``: label rows by a saved model, alone or with self-training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen._command import command_line
from unseen.cli.bars import show_work
from unseen.cli.data import (
    Column,
    Tables,
    Unseen,
    as_options,
    chosen,
    file_errors,
    telling_holes,
)
from unseen.cli.outputs import Force, outputs
from unseen.cli.trusting import (
    Generalized,
    MinReliability,
    leave_unknown,
    mixed_pile,
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
    """Label rows by MODEL and write them as CSV: id (row), label, reliability.

    Rows get one of the unseen classes. With --generalized all classes compete, and
    rows of seen classes that the set keeps for scoring are labelled too. No label in
    FEATURES is used.
    """
    reading = [model, features, *(classes or []), unseen]
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
        rows, X, scored = read_features(
            features,
            fitted,
            classes=classes,
            unseen=unseen,
            column=column,
            mixed=generalized,
        )
        who = "all" if generalized else None
        reliability = None
        messages: list[str] = []
        if adapt:
            if not hasattr(fitted, "adapt"):
                raise ValueError(f"{type(fitted).__name__} cannot adapt: drop --adapt.")
            with telling_holes(features, *as_options(classes, None, column)):
                fitted.adapt(X, classes=who)
            labels = fitted.labels_
            reliability = fitted.reliability_
            messages = [str(done) for done in fitted.rounds_]
        else:
            with telling_holes(features, *as_options(classes, None, column)):
                labels = fitted.predict(X, classes=who)
        table = label_table(labels, ids=rows, reliability=reliability)
        table = leave_unknown(table, min_reliability)
        labels = table["label"].to_numpy()
        path = write_labels(table, out)
        if save is not None:
            fitted.save(save)
    say(labels, path, adapted=adapt, rounds=messages, as_json=as_json)
    if scored and not as_json:
        words = ["score", path, features, *as_options(None, None, column)]
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


def read_features(
    source: str,
    model: Any,
    *,
    classes: list[str] | None,
    unseen: str | None,
    column: str | None,
    mixed: bool = False,
) -> tuple[np.ndarray, Any, bool]:
    """Return row numbers, rows, and whether the source knows their true classes.

    All rows of an array; of a set those that have no label of a seen class, and for a
    mixed pile those that are set aside.
    """
    import numpy as np

    from unseen.loading import open_npy, read_parts
    from unseen.loading.npy import is_npy
    from unseen.loading.parts import as_float

    if is_npy(Path(source)):
        X = open_npy(source)
        if X.ndim != 2:
            raise ValueError(f"{source}: has shape {X.shape}. Give one row per item.")
        return np.arange(len(X)), X, False
    parts = read_parts(source, column)
    if not classes and unseen is None and not parts.tables:
        y = parts.named("y", parts.y)  # rows alone: those that have no seen class
        rows = np.flatnonzero(~np.isin(y, seen_classes(model)))
        X = as_float(parts.X, f"{source}: the features")[rows]
        return rows, X, bool(np.isin(y[rows], model.unseen_classes_).all())
    data = parts.build(chosen(classes), unseen)
    theirs = getattr(model, "unseen_classes_", data.unseen)
    apart = sorted(set(theirs.tolist()) ^ set(data.unseen.tolist()))
    if apart:
        raise ValueError(
            f"Model and {data.name} do not agree on who is unseen: {apart[0]!r} is for "
            "one of them only. Give --unseen the same value as for unseen fit."
        )
    pile = mixed_pile(data) if mixed else data.pile
    return pile, data.X[pile], bool((data.y[pile] != "").all())


def seen_classes(model: Any) -> np.ndarray:
    """Return the names of the classes that a model has seen rows of."""
    import numpy as np

    theirs = np.asarray(getattr(model, "classes_", []))
    return theirs[~np.isin(theirs, getattr(model, "unseen_classes_", theirs))]


def count(labels: np.ndarray) -> dict[str, int]:
    """Count how many rows got each name, most frequent first."""
    import pandas as pd

    counts = pd.Series(labels).value_counts()
    return {str(name): int(n) for name, n in counts.items()}
