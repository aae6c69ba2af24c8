"""``unseen demo``: the whole road on bundled photos, or texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen._command import command_line
from unseen.cli.demo_texts import before_and_after, demo_texts
from unseen.cli.options import Force, file_errors, outputs

if TYPE_CHECKING:
    from unseen.experiments.demo import DemoResult


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the report, gallery and labels.")
    ] = Path("unseen-demo"),
    texts: Annotated[
        bool, typer.Option("--texts", help="Label 200 short texts instead of photos.")
    ] = False,
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON.")
    ] = False,
) -> None:
    """Label 1,000 photos by ten class names, without a single labelled photo.

    Prints the accuracy by the names alone and after adapting to the photos, then where
    to find the report and the gallery. With --texts, the same for 200 short texts.
    Nothing is downloaded.
    """
    if texts:
        demo_texts(out, force=force, as_json=as_json)
        return
    pages = out / "report.html", out / "gallery.html", out / "labels.csv"
    asked = (out, "unseen demo")
    with file_errors(), outputs(*pages, results=asked, force=force):
        typer.echo(
            "Turning names into prototypes, adapting to the photos ...", err=True
        )

        from unseen.experiments.demo import run_demo
        from unseen.labels import write_labels
        from unseen.report import write_demo_report
        from unseen.review.origins import Origin, note_origin

        result = run_demo()
        page = write_demo_report(result, pages[0])
        write_labels(result.labels(), pages[2])
        note_origin(pages[2], Origin("demo", names=list(result.photos.classes)))
    if as_json:
        numbers = result.to_dict() | {"report": str(page), "labels": str(pages[2])}
        typer.echo(json.dumps(numbers, indent=2))
    else:
        typer.echo(summarise(result))
        typer.echo(f"All photos: {page.with_name('gallery.html')}")
        typer.echo(f"Open {page}")
        review = command_line("review", pages[2])
        typer.echo(f"Correct some, and it learns:  {review}")


EXAMPLES = """
Examples:

  unseen demo

  unseen demo --out photos-demo

  unseen demo --texts

  unseen demo --json > demo.json
"""


def summarise(result: DemoResult) -> str:
    """Write the results as a small table of text."""
    classes = result.by_class()
    rows = [*classes.itertuples(name=None), ("mean", result.before, result.after)]
    return "\n".join(
        [
            "Photos of each class that got its label, in %",
            *before_and_after(rows),
            f"{len(result.photos.truth):,} photos, no label: "
            f"{100 * result.before:.1f} % by the names alone -> "
            f"{100 * result.after:.1f} % adapted (chance {100 * result.chance:.0f} %).",
        ]
    )
