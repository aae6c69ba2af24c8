"""``unseen label`` for texts: what is read, written and said."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unseen._command import command_line
from unseen.cli.bars import show_items
from unseen.cli.data import file_errors
from unseen.cli.encode import list_skipped
from unseen.cli.label_output import Tally, read_given, show_warning
from unseen.cli.outputs import outputs

if TYPE_CHECKING:
    import pandas as pd

    from unseen.texts import TextJob


def label_texts(
    source: str,
    classes: str | None,
    *,
    out: Path,
    report: bool,
    save: Path | None,
    model: Path | None,
    given: Path | None,
    keep_text: bool,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Label the texts of a file or folder, write the answer and say what it is."""
    piped = str(out) == "-"
    if piped and (report or as_json):
        raise typer.BadParameter("labels go to standard output; give --out a file.")
    page_path = out.with_suffix(".html") if report else None
    files = None if piped else out, page_path, save
    encoder = options.get("encoder")
    reading = None if source == "-" else source, classes, encoder, model, given
    with (
        file_errors(),
        warnings.catch_warnings(),
        outputs(*files, reading=reading, force=force),
    ):
        warnings.simplefilter("default")
        warnings.showwarning = show_warning
        from unseen.labels import labels_as_csv, write_labels
        from unseen.report.texts import TextPage
        from unseen.texts import TextJob

        with show_items("texts") as progress:
            job = TextJob(
                source,
                classes,
                model=model,
                given=read_given(given),
                keep_text=keep_text or report,
                progress=progress,
                **options,
            )
            tally = Tally()
            page = TextPage(job.fitted.classes_) if report else None
            parts = watched(job, tally, page, keep_text)
            if piped:
                for content in labels_as_csv(parts, "standard output"):
                    sys.stdout.buffer.write(content)
                sys.stdout.buffer.flush()
            else:
                write_labels(parts, out)
        if save:
            job.fitted.save(save)
        if not piped and source != "-":
            note_texts(out, source, job, options)
        if page is not None and page_path is not None:
            title = f"{job.source.name}: {len(job.fitted.classes_)} classes"
            page.write(page_path, title=title, about=job.message)
    written = {
        "out": str(out),
        "report": str(page_path) if page_path else None,
        "model": str(save) if save else None,
    }
    say(job, tally, written, as_json, piped)


def note_texts(out: Path, source: str, job: TextJob, options: dict[str, Any]) -> None:
    """Note down how the labels were made, for ``unseen review``."""
    from unseen.naming.encoders import encoder_name
    from unseen.review.origins import Origin, absolute, note_origin

    origin = Origin(
        "texts",
        source=absolute(source),
        encoder=absolute(encoder_name(job.fitted.encoder)),
        names=job.fitted.classes_.tolist(),
        cache=absolute(options.get("cache")),
        column=options.get("column") or "",
        id=options.get("id") or "",
    )
    note_origin(out, origin)


def watched(
    job: TextJob, tally: Tally, page: Any, keep_text: bool
) -> Iterator[pd.DataFrame]:
    """Yield tables of labels as they are written, counted and shown on the way."""
    for part in job.parts():
        tally.add(part)
        if page is not None:
            page.add(part)
        yield part if keep_text or page is None else part.drop(columns="text")


def say(
    job: TextJob, tally: Tally, written: dict[str, Any], as_json: bool, piped: bool
) -> None:
    """Say what the answer is: on stderr where the labels themselves go to stdout."""
    if as_json:
        answer = {
            "texts": job.n_texts,
            "labels": tally.counts(),
            "without_label": tally.n_none,
            "adapted": job.adapts and bool(job.fitted.adapted_),
            "message": job.message,
            **written,
            "skipped": [{"path": p, "reason": why} for p, why in job.source.skipped],
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    list_skipped(job.source.skipped)
    typer.echo(tally.summary("texts"), err=piped)
    typer.echo(job.message, err=piped)
    if not piped:
        out = Path(written["out"])
        typer.echo(f"Labels are in {out}")
        typer.echo(f"Look at them and correct some:  {command_line('review', out)}")
    if written["model"]:
        typer.echo(f"The model is in {written['model']}", err=piped)
    if written["report"]:
        typer.echo(f"Open {written['report']}")
