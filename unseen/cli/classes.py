"""``unseen classes``: how class names are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.data import AsJson, file_errors

if TYPE_CHECKING:
    from unseen.naming import Reading

EXAMPLES = """
Examples:

  unseen classes 'crane, "mouse: a computer device", okapi'

  unseen classes classes.txt
"""
TRUST = {
    "exact": "ImageNet has a class of this name",
    "close": "ImageNet has a few classes of this kind",
    "broad": "ImageNet has many classes of this kind, or none that is near",
    "vague": "the name says little about how it looks; describe it",
    "unknown": "not an English noun; describe it",
}


def classes(
    names: Annotated[
        str, typer.Argument(help="Names between commas, or a .txt or .csv file.")
    ],
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Do not fail on unknown names.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how class NAMES are understood, and the ImageNet classes nearest to them.

    If a name is misunderstood, add a description after a colon. Exit code 1 if one is
    unknown.
    """
    with file_errors():
        from unseen.naming import read_classes, read_names
        from unseen.naming.places import nearest_classes, way_up

        named = read_classes(names)
        readings = read_names(named.names, named.descriptions)
        near = [nearest_classes(reading) for reading in readings]
    if as_json:
        answer = [
            {
                "name": reading.name,
                "read_as": reading.how,
                "place": way_up(reading),
                "nearest": nearest,
                "trust": reading.trust,
            }
            for reading, nearest in zip(readings, near, strict=True)
        ]
        typer.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        typer.echo(as_text(readings, near))
        for trust in dict.fromkeys(reading.trust for reading in readings):
            typer.echo(f"{trust}: {TRUST[trust]}", err=True)
    if not allow_unknown and any(r.trust == "unknown" for r in readings):
        raise typer.Exit(1)


def as_text(readings: list[Reading], near: list[list[str]]) -> str:
    """Write readings as lines: name, trust, reading, nearest classes."""
    width = max(len(reading.name) for reading in readings)
    lines = []
    for reading, nearest in zip(readings, near, strict=True):
        also = nearest if reading.trust != "exact" else []  # it is that class
        like = f"; like {', '.join(also)}" if also else ""
        lines.append(f"{reading.name:<{width}}  {reading.trust:<8}{reading.how}{like}")
    return "\n".join(lines)
