"""``unseen label`` for photos: what is read, written and said."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import typer

from unseen._command import command_line
from unseen.cli.bars import show_items
from unseen.cli.data import file_errors
from unseen.cli.encode import list_skipped
from unseen.cli.label_output import Tally, list_readings, read_given, show_warning
from unseen.cli.outputs import outputs


def label_photos(
    folder: Path,
    classes: str | None,
    *,
    out: Path,
    report: bool,
    encoder: str,
    text: str | None,
    save: Path | None,
    model: Path | None,
    allow_unknown: bool,
    unknown: bool,
    given: Path | None,
    min_reliability: float,
    cache: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Label the photos below a folder, write the answer and say what it is."""
    page = out.with_suffix(".html")
    writing = out, page if report else None, save
    reading = folder, classes, encoder, text, model, given
    with (
        file_errors(),
        warnings.catch_warnings(),
        outputs(*writing, reading=reading, force=force),
    ):
        warnings.simplefilter("default")
        warnings.showwarning = show_warning
        from unseen.labels import write_labels
        from unseen.photos import label_folder

        with show_items() as progress:
            frame = label_folder(
                folder,
                classes,
                encoder=encoder,
                text=text,
                cache=cache,
                progress=progress,
                model=model,
                report=page_at(page) if report else None,
                save=save,
                allow_unknown=allow_unknown,
                unknown=unknown,
                given=read_given(given),
                min_reliability=min_reliability,
            )
        write_labels(frame, out)
        note_photos(
            out,
            folder,
            classes,
            encoder=encoder,
            text=text,
            model=save or model,
            cache=cache,
        )
    skipped = frame.attrs["skipped"]
    tally = Tally()
    tally.add(frame)
    if as_json:
        answer = {
            "photos": len(frame),
            "labels": tally.counts(),
            "without_label": tally.n_none,
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
    typer.echo(tally.summary("photos"))
    typer.echo(frame.attrs["message"])
    typer.echo(f"Labels are in {out}")
    typer.echo(f"Look at them and correct some:  {command_line('review', out)}")
    if save:
        typer.echo(f"The model is in {save}")
    if report:
        typer.echo(f"Open {page}")


def page_at(page: Path) -> Any:
    """Return what writes the page; only those who want one wait for its imports."""
    from unseen.report.gallery import gallery_at

    return gallery_at(page)


def note_photos(
    out: Path,
    folder: Path,
    classes: str | None,
    *,
    encoder: str,
    text: str | None,
    model: Path | None,
    cache: Path | None,
) -> None:
    """Note down how the labels were made, for ``unseen review``."""
    from unseen.naming.classes import read_classes
    from unseen.photos.precomputed import is_features
    from unseen.review.origins import Origin, absolute, note_origin
    from unseen.storage import load_model

    named = read_classes(classes) if classes is not None else None
    if model is not None and named is None and not is_features(encoder):
        encoder = load_model(model).image_encoder
    origin = Origin(
        "photos",
        source=absolute(folder),
        encoder=absolute(encoder),
        text=absolute(text),
        names=named.names if named else [],
        descriptions=named.descriptions if named else {},
        model=absolute(model),
        cache=absolute(cache),
    )
    note_origin(out, origin)
