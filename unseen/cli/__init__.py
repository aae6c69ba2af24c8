"""The command line: one file per command, each a few lines over the library.

Modules of this folder import nothing heavy at the top, so that help comes at once.
"""

import os
import sys
from typing import Annotated

import typer

from unseen import __version__
from unseen._command import program
from unseen.cli import (
    compare,
    data,
    demo,
    encode,
    export,
    label,
    reproduce,
    review,
    run,
)
from unseen.cli.options import STDOUT, Command, complain, say

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for one in (demo, label, review, export, encode, run, compare, reproduce):
    name = one.__name__.rpartition(".")[2]
    app.command(epilog=one.EXAMPLES, cls=Command)(getattr(one, name))
app.add_typer(data.app, name="data")
for command in data.app.registered_commands:
    command.cls = Command


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"unseen {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with:  unseen demo")
def unseen(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Label photos, texts and rows of data whose classes have no labelled example."""
    context.info_name = program()  # in usage, and in "Try '... --help'"


def main() -> None:
    """Run the command line."""
    try:
        app(prog_name="unseen")
    except OSError as error:  # where results are printed to, such as a full disk
        complain(f"{STDOUT}: {error.strerror or error}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(2) from error
