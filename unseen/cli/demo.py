"""``unseen demo``: from class names to labels and pages, on bundled photos or texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen._command import command_line
from unseen.cli.options import (
    AsJson,
    Force,
    examples,
    print_json,
    say,
)

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = examples(
    "unseen demo",
    "unseen demo --out photos-demo",
    "unseen demo --texts",
    "unseen demo --json > demo.json",
)


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the page and the labels.")
    ] = Path("unseen-demo"),
    texts: Annotated[
        bool, typer.Option("--texts", help="Label 200 short texts instead of photos.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Label 1,000 photos by ten class names, without a single labelled photo.

    Prints how many labels are right by the names alone and after learning from the
    photos, and writes a page that shows all of them. With --texts, the same for 200
    short texts. Nothing is downloaded.
    """
    page, labels = out / ("texts.html" if texts else "report.html"), out / "labels.csv"
    question = "unseen demo --texts" if texts else "unseen demo"
    from unseen.files import check_results

    check_results(out, question, page, labels, force=force)
    say("Labelling by the names, then learning from the unlabelled items ...", err=True)
    numbers, by_class = (run_texts if texts else run_photos)(page, labels)
    if as_json:
        shares = {"by_class": by_class.to_dict("index")}
        print_json(numbers | shares | {"report": page, "labels": labels})
        return
    items = "texts" if texts else "photos"
    before, after = 100 * numbers["before"], 100 * numbers["after"]
    rows = [*(100 * by_class).itertuples(name=None), ("mean", before, after)]
    say(
        f"{items.capitalize()} of each class that got the right label, in %",
        f"{'class':<12}{'names':>8}{'learned':>8}{'gain':>8}",
        *(
            f"{row[0]:<12}{row[1]:>8.1f}{row[2]:>8.1f}{row[2] - row[1]:>+8.1f}"
            for row in rows
        ),
        f"{200 if texts else 1000:,} {items}, none labelled: {before:.1f} % right by "
        f"the names alone, {after:.1f} % after learning from the {items}. "
        "Guessing would give 10 %.",
        f"See all {items}: open {page}",
        f"Check some, correct some, and it learns: {command_line('review', labels)}",
    )


def run_photos(page: Path, labels: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Label the photos, write pages and table; return shares that are right."""
    from unseen.experiments import demo
    from unseen.labels import write_labels
    from unseen.report.demo import write_demo_report
    from unseen.review.origins import Origin, note_origin

    result = demo.run_demo()
    write_demo_report(result, page)
    write_labels(result.labels().assign(sure="unchecked"), labels)
    note_origin(labels, Origin("demo", names=list(result.photos.classes)))
    about = {"data": "1,000 test photos of CIFAR-10", "metric": "per-class accuracy"}
    shares = {name: getattr(result, name) for name in ("before", "after", "chance")}
    return {**about, **shares, "by_round": result.by_round()}, result.by_class()


def run_texts(page: Path, labels: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Label the texts, write page and table; return shares that are right."""
    import pandas as pd

    from unseen.labels import write_labels
    from unseen.report.gallery import TextPage
    from unseen.review.origins import Origin, note_origin
    from unseen.texts import NamedTexts, label_texts, load_demo_texts
    from unseen.texts.bundled import TEXTS

    demo = load_demo_texts()
    table = label_texts(demo.texts, demo.classes)
    table["id"] = demo.ids
    shown = TextPage(demo.classes)
    shown.add(table)
    write_labels(table.assign(sure="unchecked"), labels)
    origin = Origin("texts", str(TEXTS), names=demo.classes, column="text", id="id")
    note_origin(labels, origin)
    shown.write(page, title="200 texts, ten names", about=table.attrs["message"])
    by_names = NamedTexts().fit(demo.classes).predict(demo.texts)
    answers = {"before": by_names, "after": table["label"].to_numpy(str)}
    right = pd.DataFrame({when: one == demo.truth for when, one in answers.items()})
    by_class = right.groupby(demo.truth).mean().loc[list(demo.classes)]
    about = {"data": "200 bundled texts", "metric": "per-class accuracy"}
    return {**about, **dict(by_class.mean())}, by_class
