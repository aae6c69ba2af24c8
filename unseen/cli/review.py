"""``unseen review``: look at labels in the browser, correct some, and teach."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from unseen._command import command_line
from unseen.cli.options import Labels, PhotosFolder, examples, say

EXAMPLES = examples(
    "unseen review labels.csv",
    "unseen review labels.csv --photos moved/photos/",
    "unseen review labels.csv --show length,weight",
    "unseen review labels.csv --features features.npz --no-browser",
    then="Your answers are in labels.review/: answers.jsonl as you gave them, "
    "corrections.csv for other commands, reviewed.csv with all labels, corrected. "
    "labels.csv stays as it is.",
)


def review(
    labels: Labels,
    photos: PhotosFolder = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Features to learn from, .npz or .npy, a row per label."),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            help="Columns by which to judge rows of features, between commas.",
            show_default="those that tell its label from the second choice",
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="Port of the page; 0 takes any that is free."
        ),
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page by itself.")
    ] = True,
) -> None:
    """Look at LABELS in the browser, correct some, teach the model.

    Shows photos, texts or rows by class, the doubtful ones first. Every answer is on
    disk before the page says saved. Only this machine can open the page. Ctrl-C ends
    it.
    """
    from unseen.review.app import serve
    from unseen.review.opening import open_review

    columns = [name.strip() for name in (show or "").split(",") if name.strip()]
    session = open_review(labels, folder=photos, features=features, show=columns)
    say(*session.notices, err=True)

    def ready(address: str, once: str) -> None:
        say(f"Open {address}")
        say("Press Ctrl-C to end the review. Your answers are saved already.", err=True)
        if browser:
            webbrowser.open(once)

    at_rest = serve(session, port=port, ready=ready)
    answers, made = (
        session.folder / f"{one}.csv" for one in ("corrections", "reviewed")
    )
    say(f"Your answers are in {answers}, all labels in {made}")
    if session.items.kind == "photo":
        say(f"Sort the photos:  {command_line('export', made, '--to', 'folders')}")
    if not at_rest:  # torn down under native code, it would abort with a message
        sys.stdout.flush()
        os._exit(0)
