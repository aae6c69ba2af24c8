"""``unseen label``: photos or texts, and a list of class names."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen._command import command_line
from unseen._words import printable
from unseen.cli.bars import show_items
from unseen.cli.encode import list_skipped
from unseen.cli.options import AsJson, Force, file_errors, outputs

if TYPE_CHECKING:
    import pandas as pd

    from unseen.named import LabelJob

EXAMPLES = """
Examples:

  unseen label photos/ --classes "zebra,okapi,tapir"

  unseen label photos/ --classes classes.txt --out labels.csv --report

  unseen label photos/ --classes classes.txt --dry-run

  unseen label photos/ --classes "cat,dog" --save pets.unseen

  unseen label new/ --model pets.unseen --out new.csv

  unseen label photos/ --classes "cat,dog" --given labels.review/corrections.csv

  unseen label tickets.csv --column text --classes "card lost, refund, opening hours"

  cat headlines.txt | unseen label - --classes topics.txt --out - > labels.csv

In classes.txt a line is a name, or a name, a colon and a description. For texts a
description may be several texts of such a class, with | between them.
"""
TRUST = {
    "exact": "ImageNet has a class of this name",
    "close": "ImageNet has a few classes of this kind",
    "broad": "ImageNet has many classes of this kind, or none that is near",
    "vague": "the name says little about how it looks; describe it",
    "unknown": "not an English noun; describe it",
}


def label(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder of photos; or texts: a .csv, .jsonl, .txt or .parquet file, "
            "a folder of .txt files, or - for standard input."
        ),
    ],
    classes: Annotated[
        str | None, typer.Option(help="Names between commas, or a .txt or .csv file.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="CSV file to write; for texts - is standard output.")
    ] = Path("labels.csv"),
    report: Annotated[
        bool,
        typer.Option("--report", help="Also write an HTML page, beside the CSV."),
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Photos: lite0, lite2, clip, or a file of features; after a + what "
            "reads the names, such as lite0+minilm or features.npz+vectors.npy. Texts: "
            "wordllama, minilm, model2vec:NAME, sentence-transformers:NAME, or a "
            "model's folder.",
            show_default="lite0 for photos, wordllama for texts",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the adapted model, for use with --model.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Label with a saved model instead of --classes.")
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option(help="CSV file of id and label, for labels you are sure of."),
    ] = None,
    unknown: Annotated[
        bool,
        typer.Option("--unknown", help="Label what is like no class 'none of these'."),
    ] = False,
    column: Annotated[
        str | None,
        typer.Option(
            help="Texts only: the column of the texts.",
            show_default="the only one, or text",
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(help="Texts only: column of ids.", show_default="numbers from 0"),
    ] = None,
    learn_from: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Texts only: learn from at most this many. All are labelled.",
            show_default="5000, or 10 per class, up to 20000",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only show how the class names are understood."),
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Label photos or texts by the names of their classes, without a labelled example.

    Writes id (the path, or the number of the text), label, reliability, second choice,
    and the round since which the label has been used. Files that cannot be read are
    listed with the reason. A second run takes features from the cache. In the file of
    --given, a new name adds a class, and "none of these" says that no class fits.
    """
    from unseen.texts.source import holds_texts

    texts = {"column": column, "id": id, "learn_from": learn_from}
    of_texts = holds_texts(source)
    piped = str(out) == "-"
    if piped and (report or as_json):
        raise typer.BadParameter("labels go to standard output; give --out a file.")
    page = out.with_suffix(".html") if report else None
    used = [encoder, *(encoder or "").split("+")]
    reading = [None if source == "-" else source, classes, model, given, *used]
    written = None if piped or dry_run else out, None if dry_run else page, save
    with file_errors(), outputs(*written, reading=reading, force=force):
        warnings.simplefilter("default")  # as long as file_errors shows them
        if dry_run:
            show_names(classes, of_texts, as_json)
            return
        with show_items("texts" if of_texts else "files") as progress:
            options = {
                "model": model,
                "given": read_given(given),
                "unknown": unknown,
                "progress": progress,
            }
            if of_texts:
                job = job_of_texts(source, classes, encoder, page, options | texts)
            else:
                refuse("photos", texts)
                job = job_of_photos(source, classes, encoder, options)
            tally = Tally()
            write(job, tally, out, page, piped)
        if save:
            job.fitted.save(save)
        if not piped and source != "-":
            note(job, source, out, save or model, texts)
    files = {"out": out, "report": page, "model": save}
    tell(job, tally, files, as_json, piped)


def refuse(items: str, options: dict[str, Any]) -> None:
    """Raise if an option was given that does nothing for these items."""
    for option, value in options.items():
        if value:
            words = f"--{option.replace('_', '-')}"
            raise ValueError(f"{words} does nothing for {items}. Leave it out.")


def job_of_photos(source: str, classes: Any, encoder: Any, options: Any) -> LabelJob:
    """Return what labels photos."""
    from unseen.photos.label import PhotoJob

    seeing, reading = encoder, None
    if encoder is not None and not os.path.exists(encoder) and "+" in encoder:
        seeing, _, reading = encoder.rpartition("+")
    return PhotoJob(source, classes, encoder=seeing, text=reading, **options)


def job_of_texts(
    source: str, classes: Any, encoder: Any, page: Any, options: Any
) -> LabelJob:
    """Return what labels texts."""
    from unseen.texts.label import TextJob

    kept = page is not None
    return TextJob(source, classes, encoder=encoder, keep_text=kept, **options)


def show_names(classes: str | None, of_texts: bool, as_json: bool) -> None:
    """Show how class names are understood; exit code 1 if one is no English noun.

    Names of texts are read by their encoder, names of photos by WordNet, too.
    """
    from unseen.naming import read_classes, read_names
    from unseen.naming.places import nearest_classes, way_up

    if classes is None:
        raise ValueError("--dry-run shows how names are understood. Give --classes.")
    named = read_classes(classes)
    rows = [
        {"name": name, "description": named.descriptions.get(name, "")}
        for name in named.names
    ]
    if not of_texts:
        for row, read in zip(
            rows, read_names(named.names, named.descriptions), strict=True
        ):
            near: Any = nearest_classes(read)
            more = {"read_as": read.how, "place": way_up(read), "nearest": near}
            row |= {**more, "trust": read.trust}
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(as_lines(rows)))
        for trust in dict.fromkeys(row.get("trust", "") for row in rows):
            if trust:
                typer.echo(f"{trust}: {TRUST[trust]}", err=True)
    if any(row.get("trust") == "unknown" for row in rows):
        raise typer.Exit(1)


def as_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Write readings as lines: name, trust, reading, nearest classes."""
    width = max(len(row["name"]) for row in rows)
    lines = []
    for row in rows:
        also = row.get("nearest", []) if row.get("trust") != "exact" else []
        like = f"; like {', '.join(also)}" if also else ""
        said = row.get("read_as") or row["description"]
        line = f"{row['name']:<{width}}  {row.get('trust', ''):<8}{said}{like}"
        lines.append(printable(line).rstrip())
    return lines


def read_given(path: Path | None) -> dict[str, str] | None:
    """Return given labels by id; rows without a label are left out."""
    if path is None:
        return None
    from unseen.labels import read_labels

    table = read_labels(path)
    pairs = zip(table["id"], table["label"], strict=True)
    return {key: label for key, label in pairs if label}


def write(job: Any, tally: Tally, out: Path, page: Path | None, piped: bool) -> None:
    """Write labels, and the page, as they come; count them on the way."""
    from unseen.labels import labels_as_csv, write_labels

    shown = None
    if page is not None:
        shown = text_page(job, page) if job.items == "texts" else photo_page(job, page)

    def parts() -> Iterator[pd.DataFrame]:
        for part in job.parts():
            tally.add(part)
            if shown is not None:
                shown.add(part)
            yield part.drop(columns="text", errors="ignore")

    if piped:
        for content in labels_as_csv(parts(), "standard output"):
            sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_labels(parts(), out)
    if shown is not None:
        shown.finish()


def text_page(job: Any, path: Path) -> Any:
    """Return what collects texts and writes them as a page."""
    from unseen.report.texts import TextPage

    page: Any = TextPage(job.fitted.classes_)
    title = f"{job.source.name}: {len(job.fitted.classes_)} classes"
    page.finish = lambda: page.write(path, title=title, about=job.message)
    return page


def photo_page(job: Any, path: Path) -> Any:
    """Return what collects photos and writes them as a page."""
    from unseen.report.gallery import GalleryPage

    return GalleryPage(job, path)


def note(
    job: Any, source: str, out: Path, model: Path | None, texts: dict[str, Any]
) -> None:
    """Note down how the labels were made, for ``unseen review``."""
    from unseen.naming.encoders import encoder_name
    from unseen.review.origins import Origin, absolute, note_origin

    if job.items == "texts":
        origin = Origin(
            "texts",
            source=absolute(source),
            encoder=absolute(encoder_name(job.fitted.encoder)),
            names=job.fitted.classes_.tolist(),
            column=texts["column"] or "",
            id=texts["id"] or "",
        )
    else:
        named, (seeing, reading) = job.named, job.asked
        origin = Origin(
            "photos",
            source=absolute(source),
            encoder=absolute(seeing or encoder_name(job.fitted.image_encoder)),
            text=absolute(reading),
            names=named.names if named else [],
            descriptions=named.descriptions if named else {},
            model=absolute(model),
        )
    note_origin(out, origin)


def tell(
    job: Any, tally: Tally, files: dict[str, Any], as_json: bool, piped: bool
) -> None:
    """Say what the answer is: on stderr where the labels themselves go to stdout."""
    readings = getattr(job, "readings", [])
    if as_json:
        answer = {
            job.items: job.n_items,
            "labels": tally.counts(),
            "without_label": tally.n_none,
            "adapted": job.adapted,
            "message": job.message,
            "weak_names": getattr(job, "weak_names", ""),
            "classes": [
                {"name": str(name), "trust": str(trust), "read_as": str(how)}
                for name, trust, how in readings
            ],
            **{key: str(path) if path else None for key, path in files.items()},
            "skipped": [{"path": path, "reason": why} for path, why in job.skipped],
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    list_skipped(job.skipped)
    list_readings(readings)
    typer.echo(tally.summary(job.items), err=piped)
    typer.echo(printable(job.message), err=piped)
    if not piped:
        typer.echo(f"Labels are in {files['out']}")
        look = command_line("review", files["out"])
        typer.echo(f"Look at them and correct some:  {look}")
    if files["model"]:
        typer.echo(f"The model is in {files['model']}", err=piped)
    if files["report"]:
        typer.echo(f"Open {files['report']}")


def list_readings(readings: Any, most: int = 20) -> None:
    """Say on stderr how names were read, those that say least first."""
    order = ["unknown", "vague", "broad", "close", "exact", "given", ""]
    shown = sorted(readings, key=lambda entry: order.index(entry[1]))[:most]
    width = max((len(name) for name, _, _ in shown), default=0)
    for name, trust, how in shown:
        typer.echo(printable(f"{name:<{width}}  {trust:<8}{how}"), err=True)
    if len(readings) > most:
        typer.echo(f"{len(readings) - most} more names; --json lists all", err=True)


class Tally:
    """Counts labels, batch by batch.

    Examples
    --------
    >>> from unseen.cli.label import Tally
    >>> from unseen.labels import label_table
    >>> tally = Tally()
    >>> tally.add(label_table(["pets", "pets"], reliability=[0.5, 0.75]))
    >>> print(tally.summary("texts"))
    label   texts  reliability
    pets        2         0.62
    """

    def __init__(self) -> None:
        self._sure: dict[str, list[Any]] = {}
        self.n_none = 0

    def add(self, part: pd.DataFrame) -> None:
        """Count the labels of a table."""
        for label, own in part.groupby("label")["reliability"]:
            if label:
                values = own.to_numpy(dtype="float32").tolist()
                self._sure.setdefault(str(label), []).extend(values)
            else:
                self.n_none += len(own)

    def counts(self) -> dict[str, int]:
        """Return how many items each class got."""
        return {name: len(sure) for name, sure in self._sure.items()}

    def summary(self, items: str) -> str:
        """Write how many items each class got, and how sure they are, as text."""
        from statistics import median

        rows = [
            (len(sure), median(sure), printable(name))
            for name, sure in self._sure.items()
        ]
        width = max([5, *(len(name) for _, _, name in rows)])
        lines = [f"{'label':<{width}}{items:>8}{'reliability':>13}"]
        lines += [
            f"{name:<{width}}{size:>8}{middle:>13.2f}"
            for size, middle, name in sorted(rows, key=lambda row: (-row[0], -row[1]))
        ]
        return "\n".join(lines) + (
            f"\n{self.n_none:,} without a label" if self.n_none else ""
        )
