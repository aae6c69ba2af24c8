"""``unseen label``: a folder of photos and a list of class names."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen.cli.data import AsJson, file_errors
from unseen.cli.encode import Cache, Folder, Workers, list_skipped, show_photos
from unseen.cli.errors import printable
from unseen.cli.outputs import Force, outputs

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:

  unseen label photos/ --classes "zebra,okapi,tapir"

  unseen label photos/ --classes classes.txt --out labels.csv --report

  unseen label photos/ --classes "cat,dog" --save pets.unseen

  unseen label new/ --model pets.unseen --out new.csv

In classes.txt a line is a name, or a name, a colon and a description.
"""


def label(
    folder: Folder,
    classes: Annotated[
        str | None, typer.Option(help="Names between commas, or a .txt or .csv file.")
    ] = None,
    out: Annotated[Path, typer.Option(help="CSV file to write.")] = Path("labels.csv"),
    report: Annotated[
        bool,
        typer.Option("--report", help="Write a gallery too, a page beside the CSV."),
    ] = False,
    encoder: Annotated[
        str, typer.Option(help="lite0, lite2, clip, or a file of features.")
    ] = "lite0",
    text: Annotated[
        str | None,
        typer.Option(
            help="wordllama, minilm, clip, or a .npy file of class vectors.",
            show_default="wordllama; clip with clip",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the adapted model for new photos.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="A saved model, instead of --classes.")
    ] = None,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Take names no one knows, too.")
    ] = False,
    cache: Cache = None,
    workers: Workers = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Label the photos below FOLDER with class names; no photo needs a label.

    Writes id (the path), label, reliability, second choice and the round in which the
    label was first trusted. Files that are no photo are listed with the reason. A
    second run takes the features from the cache.
    """
    page = out.with_suffix(".html")
    writing = out, page if report else None, save
    reading = folder, classes, encoder, text, model
    with (
        file_errors(),
        warnings.catch_warnings(),
        outputs(*writing, reading=reading, force=force),
    ):
        warnings.simplefilter("default")
        warnings.showwarning = show_warning
        from unseen.labels import write_labels
        from unseen.photos import label_folder

        with show_photos() as progress:
            frame = label_folder(
                folder,
                classes,
                encoder=encoder,
                text=text,
                cache=cache,
                workers=workers,
                progress=progress,
                model=model,
                report=page if report else None,
                save=save,
                allow_unknown=allow_unknown,
            )
        write_labels(frame, out)
    skipped = frame.attrs["skipped"]
    if as_json:
        answer = {
            "photos": len(frame),
            "labels": frame["label"].value_counts().to_dict(),
            "adapted": frame.attrs.get("adapted", False),
            "message": frame.attrs["message"],
            "weak_names": frame.attrs.get("weak_names", ""),
            "classes": [
                {"name": str(name), "trust": str(trust), "read_as": str(how)}
                for name, trust, how in frame.attrs.get("readings", [])
            ],
            "out": str(out),
            "report": str(page) if report else None,
            "model": str(save) if save else None,
            "skipped": [{"path": path, "reason": reason} for path, reason in skipped],
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    list_skipped(skipped)
    list_readings(frame.attrs.get("readings", []))
    typer.echo(summarise(frame))
    typer.echo(frame.attrs["message"])
    typer.echo(f"Labels are in {out}")
    if save:
        typer.echo(f"The model is in {save}")
    if report:
        typer.echo(f"Open {page}")


def list_readings(readings: Any, most: int = 20) -> None:
    """Say on stderr how names were read, those that say least first."""
    order = ["unknown", "vague", "broad", "close", "exact", ""]
    shown = sorted(readings, key=lambda entry: order.index(entry[1]))[:most]
    width = max((len(name) for name, _, _ in shown), default=0)
    for name, trust, how in shown:
        typer.echo(f"{name:<{width}}  {trust:<8}{how}", err=True)
    if len(readings) > most:
        typer.echo(f"{len(readings) - most} more names; --json lists all", err=True)


def show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    """Say a warning in one line on stderr."""
    typer.echo(f"warning: {' '.join(str(message).split())}", err=True)


def summarise(frame: pd.DataFrame) -> str:
    """Write how many photos each class got, and how sure they are, as text."""
    found = frame.groupby("label")["reliability"].agg(["size", "median"])
    found = found.sort_values(["size", "median"], ascending=False)
    names = [printable(str(name)) for name in found.index]
    width = max(5, *map(len, names))
    lines = [f"{'label':<{width}}{'photos':>8}{'reliability':>13}"]
    counts = zip(names, found["size"], found["median"], strict=True)
    lines += [
        f"{name:<{width}}{int(size):>8}{median:>13.2f}" for name, size, median in counts
    ]
    return "\n".join(lines)
