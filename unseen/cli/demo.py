"""``unseen demo``: from class names to labels and pages, on bundled photos or texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unseen._command import command_line
from unseen.cli.options import Force, examples, say

EXAMPLES = examples(
    "unseen demo",
    "unseen demo --out photos-demo",
    "unseen demo --texts",
)


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the page and the labels.")
    ] = Path("unseen-demo"),
    texts: Annotated[
        bool, typer.Option("--texts", help="Label 200 short texts instead of photos.")
    ] = False,
    force: Force = False,
) -> None:
    """Label 1,000 photos by ten class names, without one example.

    Prints how many labels are right by the names alone and after learning from the
    photos, and writes a page that shows all of them. With --texts, the same for 200
    short texts. Nothing is downloaded.
    """
    page, labels = out / ("texts.html" if texts else "report.html"), out / "labels.csv"
    question = "unseen demo --texts" if texts else "unseen demo"
    from unseen.files import check_results

    check_results(out, question, page, labels, force=force)
    say("Labelling by the names, then learning from the unlabelled items ...", err=True)
    from unseen.experiments import run_demo
    from unseen.labels import write_labels
    from unseen.report.demo import write_demo_report
    from unseen.review.origins import Origin, note_origin
    from unseen.texts.bundled import TEXTS

    result = run_demo(texts=texts)
    write_demo_report(result, page)
    write_labels(result.labels().assign(sure="unchecked"), labels)
    names = list(result.items.classes)
    origin = Origin("demo", names=names)
    if texts:
        origin = Origin("texts", str(TEXTS), names=names, column="text", id="id")
    note_origin(labels, origin)
    by_class = result.by_class()
    items = "texts" if texts else "photos"
    before, after = 100 * result.before, 100 * result.after
    rows = [*(100 * by_class).itertuples(name=None), ("mean", before, after)]
    say(
        f"{items.capitalize()} of each class that got the right label, in %",
        f"{'class':<12}{'names':>8}{'learned':>8}{'gain':>8}",
        *(
            f"{row[0]:<12}{row[1]:>8.1f}{row[2]:>8.1f}{row[2] - row[1]:>+8.1f}"
            for row in rows
        ),
        f"{len(result.items.truth):,} {items}, none labelled: {before:.1f} % right by "
        f"the names alone, {after:.1f} % after learning from the {items}. "
        "Guessing would give 10 %.",
        f"See all {items}: open {page}",
        f"Check some, correct some, and it learns: {command_line('review', labels)}",
    )
