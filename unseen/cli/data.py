"""``unseen data``: what is there, what is in it, what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from unseen._command import command_line
from unseen._words import how_many, printable
from unseen.cli.options import (
    AsJson,
    Column,
    DataOptions,
    Force,
    Id,
    Source,
    Tables,
    Unseen,
    examples,
    print_json,
    say,
)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Look at data sets; check, fetch and convert them.",
    epilog=examples(
        "unseen data info xlsa17/data/CUB",
        "unseen data check my_birds/",
        "unseen data convert xlsa17/data/CUB cub.h5",
    ),
)


@app.command("list", epilog=examples("unseen data list", "unseen data list --json"))
def list_sets(as_json: AsJson = False) -> None:
    """List bundled sets, benchmarks to fetch, standard splits and kinds of files."""
    from unseen.loading.bundled import BUNDLED
    from unseen.loading.fetch import CATALOGUE
    from unseen.loading.parts import readers
    from unseen.loading.tables import standard_splits
    from unseen.loading.writing import WRITERS

    answer: dict[str, Any] = {
        "bundled": BUNDLED,
        "to fetch": {name: entry.title for name, entry in CATALOGUE.items()}
        | {"clip": "weights of CLIP, an encoder of photos and texts"},
        "splits": {name: split.title for name, split in standard_splits().items()},
        "readable": [known.kind for known in readers],
        "writable": list(WRITERS),
    }
    if as_json:
        print_json(answer)
        return
    for title, entries in answer.items():
        texts = entries.values() if isinstance(entries, dict) else [""] * len(entries)
        lines = zip(entries, texts, strict=True)
        say(f"{title}:", *(f"  {name:<16}{text}".rstrip() for name, text in lines))


@app.command(
    epilog=examples(
        "unseen data info photos",
        "unseen data info birds.csv --classes attributes.csv --json",
    ),
)
def info(
    path: Source,
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    id: Id = None,
    as_json: AsJson = False,
) -> None:
    """Show what was found in PATH: rows, classes, split, class tables, missing values.

    The answer is what the files say, before anything is checked.
    """
    from unseen.loading.faults import describe

    asked = DataOptions(path, classes, unseen, column, id)
    found = describe(asked.raw())
    if as_json:
        print_json(found)
    else:
        say(*as_lines(found))


@app.command(
    epilog=examples(
        "unseen data check my_birds",
        "unseen data check birds.csv --classes attributes.csv",
    ),
)
def check(
    path: Source,
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    id: Id = None,
    as_json: AsJson = False,
) -> None:
    """List everything that is wrong with PATH. Exit code 1 if anything is wrong."""
    from unseen.loading.faults import find_faults

    asked = DataOptions(path, classes, unseen, column, id)
    faults = find_faults(asked.raw())
    if as_json:
        print_json({"path": path, "faults": [fault._asdict() for fault in faults]})
    else:
        n_faults = how_many(len(faults), "fault") if faults else "no faults"
        say(*faults, f"{path}: {n_faults}.")
    if faults:
        raise typer.Exit(1)


@app.command(epilog=examples("unseen data fetch xlsa17 --out benchmarks"))
def fetch(
    name: Annotated[str, typer.Argument(help="Name, as unseen data list shows it.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to unpack into.", show_default="the cache folder"),
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(help="SHA-256 that the archive must have.")
    ] = None,
) -> None:
    """Download a public benchmark, check it, unpack it, and say whom to cite.

    With the name clip, it fetches the weights of CLIP (605 MB, MIT licence) into the
    cache folder; from then on they are the default encoder of photos.
    """
    from rich.progress import DownloadColumn

    from unseen.loading.fetch import CATALOGUE
    from unseen.loading.fetch import fetch as fetch_archive
    from unseen.naming.clip import fetch_clip
    from unseen.progress import show_items

    with show_items(printable(name), DownloadColumn()) as progress:
        if name == "clip":
            say(f"CLIP's weights are in {fetch_clip(progress)}")
            return
        fetched = fetch_archive(name, out, sha256=sha256, progress=progress)
    entry = CATALOGUE[name]
    if fetched.trust == "first use":
        say(
            "The source gives no checksum for this archive, so this download could not "
            "be checked. Its SHA-256 is noted, and later downloads must match it.",
            err=True,
        )
    say(
        f"sha256   {fetched.sha256} ({fetched.trust})",
        f"licence  {entry.licence}",
        f"cite     {entry.citation}",
        *([f"note     {entry.note}"] if entry.note else []),
        f"Look at it:  {command_line('data', 'info', fetched.folder)}",
    )


@app.command(epilog=examples("unseen data convert xlsa17/data/CUB cub.h5"))
def convert(
    source: Source,
    target: Annotated[Path, typer.Argument(help="File to write.")],
    classes: Tables = None,
    unseen: Unseen = None,
    column: Column = None,
    id: Id = None,
    force: Force = False,
) -> None:
    """Convert a data set to another kind of file: .npz, .h5, .csv or .parquet.

    If the set has several class tables, its default one is written; repeat --classes to
    write more.
    """
    from unseen.files import check_outputs
    from unseen.loading import save_data
    from unseen.loading.writing import files_of

    asked = DataOptions(source, classes, unseen, column, id)
    check_outputs(*files_of(target), reading=asked.files, force=force)
    data = asked.load()
    written = save_data(data, target)
    offered = () if classes else asked.raw().tables
    left = sorted(set(offered) - {"", *data.tables})
    say(*repr(data).split("\n"))
    if left:
        say(f"Class tables not written: {', '.join(left)}. --classes keeps them.")
    say(f"Look at it:  {command_line('data', 'info', written)}")


def as_lines(found: dict[str, Any]) -> Iterator[str]:
    """Write what was found as lines of text."""
    tables = found.pop("tables")
    for key, value in found.items():
        shown = f"{value:,}" if type(value) is int else value
        if isinstance(value, bool):
            shown = "yes" if value else "no"
        yield f"{key:<22}{shown}"
    for name, table in tables.items():
        yield (
            f"{'class table':<22}{name or '(no name)'}: "
            f"{table['dimensions']} dimensions, "
            f"{table['missing values']} missing values"
        )
    if not tables:
        yield f"{'class table':<22}none; give one with --classes"
