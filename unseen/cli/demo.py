"""``unseen demo``: the whole road on the bundled digits."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.errors import one_line_errors

if TYPE_CHECKING:
    from unseen.experiments.demo import DemoResult


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the report; made if need be.")
    ] = Path("unseen-demo"),
    seed: Annotated[
        int, typer.Option(min=0, help="Decides every draw, also that of --splits.")
    ] = 0,
    splits: Annotated[
        int | None,
        typer.Option(min=1, help="Draw this many splits.", show_default="all 120"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON.")
    ] = False,
) -> None:
    """Learn from seven digits, teach itself the other three, write a report.

    Every split holds out three of the ten bundled digits. Prints the per-class accuracy
    on them before and after self-training, and where to find the report.
    """
    with one_line_errors():
        out.mkdir(parents=True, exist_ok=True)  # complain now, not after the work

        from unseen.experiments.demo import run_demo
        from unseen.report import write_demo_report

        result = run_demo(seed=seed, n_splits=splits, progress=show_progress)
        page = write_demo_report(result, out / "report.html")
    if as_json:
        numbers = result.to_dict() | {"report": str(page)}
        typer.echo(json.dumps(numbers, indent=2))
    else:
        typer.echo(summarise(result))
        typer.echo(f"Open {page}")


EXAMPLES = """
Examples:

  unseen demo

  unseen demo --splits 10 --seed 1 --out digits

  unseen demo --json > demo.json
"""


def show_progress(done: int, total: int) -> None:
    """Count the splits on stderr, in one line on a terminal."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        typer.echo(f"\rSplit {done} of {total}{end}", err=True, nl=False)
    elif done % 20 == 0 or done == total:
        typer.echo(f"Split {done} of {total}", err=True)


def summarise(result: DemoResult) -> str:
    """Write the results as a small table of text."""
    digits = result.by_class()
    rows = [
        (str(name), before, after)
        for name, before, after in zip(
            digits.index, digits["before"], digits["after"], strict=True
        )
    ]
    rows.append(("mean", result.before, result.after))
    lines = [
        f"{name:<8}{100 * before:>8.1f}{100 * after:>8.1f}"
        f"{100 * (after - before):>+8.1f}"
        for name, before, after in rows
    ]
    return "\n".join(
        [
            "Per-class accuracy on unseen digits, in %",
            f"{'unseen':<8}{'before':>8}{'after':>8}{'gain':>8}",
            *lines,
            f"Self-training: {100 * result.before:.1f} % -> {100 * result.after:.1f} % "
            f"over {len(result.splits)} splits (chance {100 * result.chance:.1f} %); "
            f"it helped in {result.n_improved}.",
        ]
    )
