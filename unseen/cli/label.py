"""``unseen label``: photos or texts, and a list of class names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unseen.cli.data import AsJson
from unseen.cli.encode import Cache
from unseen.cli.label_photos import label_photos
from unseen.cli.label_texts import label_texts
from unseen.cli.outputs import Force

EXAMPLES = """
Examples:

  unseen label photos/ --classes "zebra,okapi,tapir"

  unseen label photos/ --classes classes.txt --out labels.csv --report

  unseen label photos/ --classes "cat,dog" --save pets.unseen

  unseen label new/ --model pets.unseen --out new.csv

  unseen label photos/ --classes "cat,dog" --given labels.review/corrections.csv

  unseen label tickets.csv --column text --classes "card lost, refund, opening hours"

  cat headlines.txt | unseen label - --classes topics.txt --out - > labels.csv

In classes.txt a line is a name, or a name, a colon and a description. For texts a
description may be several texts of such a class, with | between them.
"""


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
            help="Photos: lite0, lite2, clip, or a file of features. Texts: wordllama, "
            "minilm, model2vec:NAME, sentence-transformers:NAME, or a model's folder.",
            show_default="lite0 for photos, wordllama for texts",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="Photos only: what turns class names into vectors: wordllama, minilm, "
            "clip, or a .npy file with a vector per class.",
            show_default="wordllama; clip with clip",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the adapted model, for use with --model.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Label with a saved model instead of --classes.")
    ] = None,
    allow_unknown: Annotated[
        bool,
        typer.Option(
            "--allow-unknown",
            help="Photos only: accept names that are not English nouns.",
        ),
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
    keep_text: Annotated[
        bool,
        typer.Option("--keep-text", help="Texts only: write the texts too."),
    ] = False,
    template: Annotated[
        str,
        typer.Option(
            help="Texts only: sentence to put each class name into, such as 'this text "
            "is about {}'."
        ),
    ] = "",
    given: Annotated[
        Path | None,
        typer.Option(help="CSV file of id and label, for labels you are sure of."),
    ] = None,
    unknown: Annotated[
        bool,
        typer.Option("--unknown", help="Label what is like no class 'none of these'."),
    ] = False,
    min_reliability: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Leave anything below this reliability without a label."
        ),
    ] = 0.0,
    learn_from: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Texts only: learn from at most this many. All are labelled.",
            show_default="5000, or 10 per class, up to 20000",
        ),
    ] = None,
    download: Annotated[
        bool,
        typer.Option("--download", help="Texts only: download a missing encoder."),
    ] = False,
    cache: Cache = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Label photos or texts by the names of their classes, without a labelled example.

    Writes id (the path, or the number of the text), label, reliability, second choice
    and the round since which the label has been used. Files that cannot be read are
    listed with the reason. A second run takes features from the cache. In the file of
    --given, a new name adds a class, and "none of these" says that no class fits.
    """
    from unseen.texts.source import holds_texts

    if holds_texts(source):
        refuse("texts", {"--text": text, "--allow-unknown": allow_unknown})
        label_texts(
            source,
            classes,
            out=out,
            report=report,
            encoder=encoder,
            save=save,
            model=model,
            given=given,
            column=column,
            id=id,
            keep_text=keep_text,
            template=template,
            unknown=unknown,
            min_reliability=min_reliability,
            learn_from=learn_from,
            download=download,
            cache=cache,
            force=force,
            as_json=as_json,
        )
        return
    only_texts = {
        "--column": column,
        "--id": id,
        "--keep-text": keep_text,
        "--template": template,
        "--learn-from": learn_from,
        "--download": download,
    }
    refuse("photos", only_texts)
    label_photos(
        Path(source),
        classes,
        out=out,
        report=report,
        encoder=encoder or "lite0",
        text=text,
        save=save,
        model=model,
        allow_unknown=allow_unknown,
        unknown=unknown,
        given=given,
        min_reliability=min_reliability,
        cache=cache,
        force=force,
        as_json=as_json,
    )


def refuse(things: str, options: dict[str, Any]) -> None:
    """Stop if an option was given that does nothing for photos, or for texts."""
    for option, value in options.items():
        if value:
            typer.echo(
                f"unseen: {option} does nothing for {things}. Leave it out.", err=True
            )
            raise typer.Exit(2)
