"""``unseen fit``: learn from the seen classes of a set, keep the model."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen._command import command_line
from unseen.cli.asked import Asked
from unseen.cli.bars import show_work
from unseen.cli.data import Column, Source, Tables, Unseen, file_errors
from unseen.cli.outputs import Force, outputs
from unseen.cli.trusting import Generalized

if TYPE_CHECKING:
    from unseen.methods import Method

EXAMPLES = """
Examples:

  unseen fit digits --out digits.unseen

  unseen fit xlsa17/data/CUB --method tstd --search --out cub.unseen

  unseen fit my_birds --classes attributes.csv --set kappa=8 --json

  unseen fit digits --generalized --out mixed.unseen
"""


def complete_method(typed: str) -> list[str]:
    """Offer the methods that are built to the shell."""
    from unseen.methods import METHODS

    return [m.name for m in METHODS.values() if m.offered and m.name.startswith(typed)]


def fit(
    data: Source,
    method: Annotated[
        str, typer.Option(help="Method.", autocompletion=complete_method)
    ] = "ast",
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search",
            help="First choose parameters by cross-validation over the seen classes.",
        ),
    ] = False,
    folds: Annotated[int, typer.Option(min=2, help="Folds of --search.")] = 5,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set a parameter: NAME=VALUE. May be repeated."),
    ] = None,
    generalized: Generalized = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    out: Annotated[Path, typer.Option(help="File for the model.")] = Path(
        "model.unseen"
    ),
    force: Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was done as JSON.")
    ] = False,
) -> None:
    """Learn from the labelled rows of DATA and save the model.

    DATA is a file, a folder or a bundled set. Rows of its unseen classes are not
    used. With --generalized, cross-validation over the seen classes also measures how
    much to favour the unseen ones where both occur, and how reliable the labels are.
    """
    asked = Asked(data, classes, unseen, column)
    with file_errors(), outputs(out, reading=asked.files, force=force), show_work():
        from unseen.methods import find_method

        way = find_method(method)
        wanted = dict(map(parse_setting, settings or []))
        given = asked.load_labelled()
        start = time.perf_counter()
        model = asked.fitted(
            given,
            way,
            seed,
            generalized=generalized,
            folds=folds_of(way, len(given.seen), folds, search),
            **wanted,
        )
        seconds = time.perf_counter() - start
        path = model.save(out)
    if as_json:
        answer = {
            "method": method,
            "model": str(path),
            "estimator": " ".join(repr(model).split()),
            "seen": len(given.seen),
            "unseen": given.unseen.tolist(),
            "seconds": round(seconds, 3),
        }
        typer.echo(json.dumps(answer, indent=2))
        return
    typer.echo(f"{' '.join(repr(model).split())}: fitted in {seconds:.1f} s.")
    words = ["predict", str(path), data, *asked.options()]
    if hasattr(model, "adapt"):
        words.append("--adapt")
    if generalized:
        words.append("--generalized")
    typer.echo(f"Label the unseen rows:  {command_line(*words)}")


def folds_of(way: Method, n_seen: int, folds: int, search: bool) -> int | None:
    """Return the folds of a search, or None if there is none; too many are an error."""
    if not search:
        return None
    if not way.grid and way.start is None:
        typer.echo(
            f"--search: {way.label} has nothing to search; it is fitted with its "
            "default settings.",
            err=True,
        )
        return None
    if n_seen < 2 * folds:
        enough = f"Try --folds {n_seen // 2}." if n_seen >= 4 else "Leave out --search."
        raise ValueError(
            f"--folds {folds} needs {2 * folds} classes with labels, two for each "
            f"fold; the data has {n_seen}. {enough}"
        )
    return folds


def parse_setting(text: str) -> tuple[str, Any]:
    """Turn NAME=VALUE into a parameter; a value is JSON, or else text.

    >>> parse_setting("kappa=8"), parse_setting("loss=squared")
    (('kappa', 8), ('loss', 'squared'))
    """
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError(f"--set {text!r} is not of the form NAME=VALUE.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
