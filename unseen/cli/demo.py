"""``unseen demo``: the whole road on a thousand bundled photos."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.errors import one_line_errors
from unseen.cli.outputs import Force, outputs

if TYPE_CHECKING:
    from unseen.experiments.demo import DemoResult


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for report and gallery; made if need be.")
    ] = Path("unseen-demo"),
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON.")
    ] = False,
) -> None:
    """Name 1,000 photos by ten class names, without one labelled photo.

    Prints the accuracy by the names alone and after adapting to the photos, and where
    to find the report and the gallery. Nothing is downloaded.
    """
    pages = out / "report.html", out / "gallery.html"
    with one_line_errors(), outputs(*pages, force=force):
        typer.echo(
            "Turning names into prototypes, adapting to the photos ...", err=True
        )

        from unseen.experiments.demo import run_demo
        from unseen.report import write_demo_report

        result = run_demo()
        page = write_demo_report(result, pages[0])
    if as_json:
        numbers = result.to_dict() | {"report": str(page)}
        typer.echo(json.dumps(numbers, indent=2))
    else:
        typer.echo(summarise(result))
        typer.echo(f"All photos: {page.with_name('gallery.html')}")
        typer.echo(f"Open {page}")


EXAMPLES = """
Examples:

  unseen demo

  unseen demo --out photos-demo

  unseen demo --json > demo.json
"""


def summarise(result: DemoResult) -> str:
    """Write the results as a small table of text."""
    classes = result.by_class()
    rows = [*classes.itertuples(name=None), ("mean", result.before, result.after)]
    lines = [
        f"{name:<12}{100 * before:>8.1f}{100 * after:>8.1f}"
        f"{100 * (after - before):>+8.1f}"
        for name, before, after in rows
    ]
    return "\n".join(
        [
            "Photos of each class that got its label, in %",
            f"{'class':<12}{'names':>8}{'adapted':>8}{'gain':>8}",
            *lines,
            f"{len(result.photos.truth):,} photos, no label: "
            f"{100 * result.before:.1f} % by the names alone -> "
            f"{100 * result.after:.1f} % adapted (chance {100 * result.chance:.0f} %).",
        ]
    )
