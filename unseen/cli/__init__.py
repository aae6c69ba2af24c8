"""The command line: one file per command, each a few lines over the library.

Modules of this folder import nothing heavy at the top, so that help comes at once.
"""

import os
import re
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
from unseen.cli.options import Command, complain

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=demo.EXAMPLES)(demo.demo)
app.command(epilog=label.EXAMPLES)(label.label)
app.command(epilog=review.EXAMPLES)(review.review)
app.command(epilog=export.EXAMPLES)(export.export)
app.command(epilog=encode.EXAMPLES)(encode.encode)
app.command(epilog=run.EXAMPLES)(run.run)
app.command(epilog=compare.EXAMPLES)(compare.compare)
app.command(epilog=reproduce.EXAMPLES)(reproduce.reproduce)
app.add_typer(data.app, name="data")
for one in (*app.registered_commands, *data.app.registered_commands):
    one.cls = Command


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unseen {__version__}")
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
    for one in (*app.registered_commands, *data.app.registered_commands):
        one.epilog = spelled(one.epilog)
    try:
        app(prog_name="unseen")
    except OSError as error:  # where results are printed to, such as a full disk
        complain(f"standard output: {error.strerror or error}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(2) from error


def spelled(examples: str | None) -> str | None:
    """Return the examples of a command's help as they are typed here."""
    if examples is None or program() == "unseen":
        return examples
    return re.sub(r"(?m)^(  |.*\| )unseen ", rf"\g<1>{program()} ", examples)
