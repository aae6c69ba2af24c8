"""``unseen train``: a plain classifier from labels, for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen._command import command_line
from unseen.cli.data import (
    AsJson,
    FeaturesFile,
    LabelledBy,
    PhotosFolder,
    file_errors,
)
from unseen.cli.outputs import Force, outputs

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from unseen.asking.accuracy import AccuracyEstimate

EXAMPLES = """
Examples:

  unseen train labels.csv --out student.onnx

  unseen train labels.review/reviewed.csv --min-reliability 0.9

  unseen train labels.csv --checked checked.csv --features features.npz

  unseen predict student.onnx features.npz --out new.csv

labels.csv is what unseen label wrote. checked.csv holds id and label of rows that were
drawn at random and checked by a person; rows checked in unseen review are found.
"""


def train(
    labels: Annotated[
        Path, typer.Argument(help="Table of labels: a CSV file with id and label.")
    ],
    out: Annotated[Path, typer.Option(help="ONNX file to write.")] = Path(
        "student.onnx"
    ),
    min_reliability: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Learn from labels at least this reliable, and from corrected ones.",
        ),
    ] = 0.8,
    checked: Annotated[
        Path | None,
        typer.Option(help="CSV of id and label of rows drawn at random and checked."),
    ] = None,
    photos: PhotosFolder = None,
    features: FeaturesFile = None,
    encoder: LabelledBy = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Train a plain classifier on the reliable LABELS, and write it as ONNX.

    Logistic regression on the features, with calibrated probabilities. Prints how
    well it reproduces the labels and, if rows were checked by a person, how often it is
    right.
    """
    reading = labels, checked, photos, features, encoder
    with file_errors(), outputs(out, reading=reading, force=force):
        if out.suffix != ".onnx":
            raise ValueError(f"{out}: must end in .onnx.")
        from unseen.labels import read_labels
        from unseen.review.opening import find_features
        from unseen.review.origins import find_origin
        from unseen.student import Student, choose

        table = read_labels(labels)
        chosen = choose(table, min_reliability)
        origin = find_origin(labels)
        X = find_features(table["id"].tolist(), origin, photos, features, encoder, None)
        learned = chosen.labels != ""
        student = Student().fit(X[learned], chosen.labels[learned])
        said, drawn = people_said(labels, table, chosen.given, checked)
        right, accuracy = compare(student, X, chosen.labels, said, drawn)
        used = encoder or (origin.encoder if origin else "")
        student.to_onnx(out, encoder="" if features else used)
    n, n_given = int(learned.sum()), int((learned & chosen.given).sum())
    answer: dict[str, Any] = {
        "labels": n,
        "given": n_given,
        "classes": student.classes_.tolist(),
        "left_out": chosen.left_out,
        "agreement": round(student.agreement_, 4),
        "said_by_people": len(said),
        "right_where_people_said": right,
        "accuracy": None,
        "out": str(out),
    }
    if accuracy is not None:
        shares = {
            "share": accuracy.accuracy,
            "low": accuracy.low,
            "high": accuracy.high,
        }
        answer["accuracy"] = {name: round(float(s), 4) for name, s in shares.items()}
        answer["accuracy"]["checked"] = accuracy.n_checked
    if as_json:
        typer.echo(json.dumps(answer, indent=2))
        return
    for line in describe(answer, labels):
        typer.echo(line)
    folder = origin.source if origin and origin.kind == "photos" else photos
    for line in how_to_use(out, None if features else folder, used):
        typer.echo(line)
    hint_at_corrections(labels)


def people_said(
    labels: Path, table: pd.DataFrame, given: np.ndarray, checked: Path | None
) -> tuple[dict[int, str], set[int]]:
    """Return what people said of rows, and which of these were drawn at random."""
    from unseen.labels import read_labels
    from unseen.models.given import NONE_OF_THESE
    from unseen.review.answers import drawn_since_taught
    from unseen.review.journal import read_journal

    place = {name: row for row, name in enumerate(table["id"])}
    names = table["label"].tolist()
    said = {row: names[row] or NONE_OF_THESE for row in given.nonzero()[0].tolist()}
    journal = read_journal(labels.with_name("answers.jsonl")).entries
    at_random = {place[one] for one in drawn_since_taught(journal) if one in place}
    drawn = at_random & said.keys()
    if checked is not None:
        table = read_labels(checked)
        for name, label in zip(table["id"], table["label"], strict=True):
            if name not in place:
                raise ValueError(
                    f"{checked}: {name!r} is not in {labels}. Check rows of that table."
                )
            said[place[name]] = label or NONE_OF_THESE
            drawn.add(place[name])
    return said, drawn


def compare(
    student: Any, X: Any, learned: np.ndarray, said: dict[int, str], drawn: set[int]
) -> tuple[int, AccuracyEstimate | None]:
    """Return how often the student agrees with people, and what that says of all."""
    from unseen.student import judge, left_out_answers

    answers = left_out_answers(student, X, learned)
    right = sum(answers[row] == name for row, name in said.items())
    return right, judge(answers, said, drawn) if drawn else None


def describe(answer: dict[str, Any], labels: Path) -> list[str]:
    """Say what was learned, how well, and what that rests on."""
    n, k = answer["labels"], len(answer["classes"])
    yours = f", {answer['given']:,} of them given by people" if answer["given"] else ""
    lines = [f"Learned {k} classes from {n:,} labels{yours}."]
    lines += [f"  {count:,} {why}" for why, count in answer["left_out"].items()]
    lines.append(
        f"It gives {answer['agreement']:.1%} of these labels when it has not learned "
        "from them (5 folds). That is how well it imitates these, the reliable ones: "
        "where they are wrong, so is it."
    )
    found, said = answer["accuracy"], answer["said_by_people"]
    if found:
        lines.append(
            f"It is right on {found['share']:.1%} of all rows ({found['low']:.1%} to "
            f"{found['high']:.1%} at 90 %), by {found['checked']:,} that were drawn at "
            "random and checked by a person; none was learned from before it answered."
        )
    else:
        lines.append("How often it is right is unknown: no random rows were checked.")
        review = command_line("review", labels)
        lines.append(f"Check some at random:  {review}")
        lines.append("or give rows that were checked, with --checked.")
    if said and not (found and found["checked"] == said):
        lines.append(
            f"It agrees with people on {answer['right_where_people_said']:,} of the "
            f"{said:,} rows they named. Rows that people pick say little of others."
        )
    lines.append(f"The student is in {answer['out']}")
    return lines


def how_to_use(student: Path, photos: Path | str | None, encoder: str) -> list[str]:
    """Say which commands label new photos, or what a student takes instead."""
    if photos is None or Path(encoder).is_file():
        return ["It labels features of the same encoder, in .npz or .npy files."]
    made = student.with_suffix(".features.npz")
    encode = command_line(
        *("encode", photos, "--out", made),
        *(("--encoder", encoder) if encoder else ()),
    )
    answers = student.with_suffix(".labels.csv")
    predict = command_line("predict", student, made, "--out", answers)
    return [f"Label photos with it:  {encode}", f"                       {predict}"]


def hint_at_corrections(labels: Path) -> None:
    """Say that there are corrections of a table, if there are."""
    corrected = labels.with_name(f"{labels.stem}.review") / "reviewed.csv"
    if corrected.exists():
        typer.echo(
            f"Corrections of these labels are in {corrected}; train on that file to "
            "have them.",
            err=True,
        )
