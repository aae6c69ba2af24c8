"""``unseen export``: labels on to other programs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen._words import how_many
from unseen.cli.options import (
    Labels,
    PhotosFolder,
    examples,
    say,
)

if TYPE_CHECKING:
    from unseen.exporting.export import Export

EXAMPLES = examples(
    "unseen export labels.csv --to folders --out sorted",
    "unseen export labels.csv --to folders --out sorted --yes",
    "unseen export labels.review/reviewed.csv --to coco --min-reliability 0.9 --yes",
    "unseen export labels.review/reviewed.csv --to folders --sure --out sure --yes",
    then="Formats: folders (one per class), imagefolder and hf (Hugging Face), coco, "
    "label-studio, fiftyone, xmp (keywords for Lightroom, digiKam, darktable). "
    "Without --yes the command only says what it would do.",
)


def export(
    labels: Labels,
    to: Annotated[
        str,
        typer.Option(
            help="folders, imagefolder, hf, coco, label-studio, fiftyone or xmp."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder to write; new or empty, outside of the photos.")
    ] = Path("unseen-export"),
    min_reliability: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Export labels of at least this reliability, and all you corrected.",
        ),
    ] = 0.0,
    sure: Annotated[
        bool,
        typer.Option("--sure", help="Only labels above the sure line of a check."),
    ] = False,
    how: Annotated[
        str,
        typer.Option(help="What to do with photos: copy, hardlink or symlink."),
    ] = "copy",
    photos: PhotosFolder = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Write the files. Without it you only see what would be written.",
        ),
    ] = False,
) -> None:
    """Sort photos into folders by LABELS, or feed other tools.

    Without --yes it only says what it would do. No file is ever overwritten.
    """
    from unseen.exporting.export import plan_export
    from unseen.review.opening import finished_review

    corrected = finished_review(labels)
    if corrected is not None:  # said before an export of none that are sure fails
        say(
            f"Corrections of these labels are in {corrected}; export that file to "
            "have them.",
            err=True,
        )
    least: Any = {"min_reliability": min_reliability, "sure": sure}
    plan = plan_export(labels, to, out, how=how, photos=photos, **least)
    say(*describe(plan))
    if yes:
        plan.run()
    say(f"Written to {out}" if yes else "Nothing is written yet: add --yes to do it.")


def describe(plan: Export) -> list[str]:
    """Say what would be done, in a few lines."""
    rows, classes, left_out = plan.chosen
    items = how_many(len(rows), "photo" if plan.chosen.are_photos else "text")
    words = {
        "copy": "copied",
        "hardlink": "given a second name (hard link)",
        "symlink": "linked to",
    }
    done = f", {words[plan.how]}," if plan.places else ""
    into = how_many(len(classes), "class", "classes")
    lines = [f"{items}{done} in {into}, as {plan.to}, to {plan.out}"]
    lines += [f"  {count:,} {why} and stay" for why, count in left_out.items()]
    sizes = Counter(row.label for row in rows)
    lines += [f"  {sizes[name]:>7,} {name}" for name in classes[:20]]
    if len(classes) > 20:
        lines.append(f"  ... and {len(classes) - 20} more classes")
    for row, place in zip(rows[:3], plan.places or [""] * 3, strict=False):
        lines.append(f"  such as {row.source or row.id} -> {place or row.label}")
    return lines
