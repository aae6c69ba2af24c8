"""The command line: one file per command, each a few lines over the library.

Modules of this folder import nothing heavy at the top, so that help comes at once.
"""

from typing import Annotated

import typer

from unseen import __version__
from unseen.cli import (
    classes,
    data,
    demo,
    encode,
    fit,
    label,
    predict,
    report,
    reproduce,
    run,
    score,
)

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=demo.EXAMPLES)(demo.demo)
app.command(epilog=label.EXAMPLES)(label.label)
app.command(epilog=classes.EXAMPLES)(classes.classes)
app.command(epilog=encode.EXAMPLES)(encode.encode)
app.command(epilog=run.EXAMPLES)(run.run)
app.command(epilog=fit.EXAMPLES)(fit.fit)
app.command(epilog=predict.EXAMPLES)(predict.predict)
app.command(epilog=score.EXAMPLES)(score.score)
app.command(epilog=reproduce.EXAMPLES)(reproduce.reproduce)
app.command(epilog=report.EXAMPLES)(report.report)
app.add_typer(data.app, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unseen {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with:  unseen demo")
def unseen(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Label things whose classes have no labelled example."""


def main() -> None:
    """Run the command line.

    Examples
    --------
    >>> import sys
    >>> from unittest import mock
    >>> from unseen.cli import main
    >>> with mock.patch.object(sys, "argv", ["unseen", "--version"]):
    ...     try:
    ...         main()
    ...     except SystemExit as end:
    ...         print("exit", end.code)
    unseen ...
    exit 0
    """
    app(prog_name="unseen")
