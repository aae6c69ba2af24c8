"""``unseen demo --texts``: the whole road on two hundred bundled texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import typer

from unseen._command import command_line
from unseen.cli.options import file_errors, outputs


def demo_texts(out: Path, *, force: bool, as_json: bool) -> None:
    """Label 200 texts by ten class names, without a single labelled text."""
    page_path, labels = out / "texts.html", out / "labels.csv"
    asked = (out, "unseen demo --texts")
    with file_errors(), outputs(page_path, labels, results=asked, force=force):
        from unseen.labels import write_labels
        from unseen.report.texts import TextPage
        from unseen.texts import label_texts, load_demo_texts
        from unseen.texts.named import NamedTexts
        from unseen.trust.metrics import per_class_accuracy

        demo = load_demo_texts()
        table = label_texts(demo.texts, demo.classes, keep_text=True)
        table["id"] = demo.ids
        by_names = NamedTexts().fit(demo.classes).predict(demo.texts)
        page = TextPage(demo.classes)
        page.add(table)
        write_labels(table, labels)
        page.write(
            page_path, title="200 texts, ten names", about=table.attrs["message"]
        )
    answers = by_names, table["label"].to_numpy(str)
    before, after = (float(per_class_accuracy(demo.truth, one)) for one in answers)
    by_class = {
        name: tuple(float((one == name)[demo.truth == name].mean()) for one in answers)
        for name in demo.classes
    }
    if as_json:
        answer = {
            "data": "200 bundled texts",
            "metric": "per-class accuracy",
            "before": before,
            "after": after,
            "by_class": {
                name: {"before": one, "after": other}
                for name, (one, other) in by_class.items()
            },
            "report": str(page_path),
            "labels": str(labels),
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    rows = [(name, one, other) for name, (one, other) in by_class.items()]
    rows.append(("mean", before, after))
    typer.echo("Texts of each class that got its label, in %")
    typer.echo("\n".join(before_and_after(rows)))
    typer.echo(
        f"200 texts, no label: {100 * before:.1f} % by the names alone -> "
        f"{100 * after:.1f} % adapted (chance 10 %)."
    )
    typer.echo(f"Open {page_path}")
    typer.echo(f"Correct some, and it learns:  {command_line('review', labels)}")


def before_and_after(rows: Iterable[tuple[str, float, float]]) -> list[str]:
    """Write shares before and after adapting, and the gain, as lines of a table."""
    return [
        f"{'class':<12}{'names':>8}{'adapted':>8}{'gain':>8}",
        *(
            f"{name:<12}{100 * before:>8.1f}{100 * after:>8.1f}"
            f"{100 * (after - before):>+8.1f}"
            for name, before, after in rows
        ),
    ]
