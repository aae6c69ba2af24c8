"""A fault the user can mend is one line and exit code 2, not a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors about files and folders into one line on stderr and exit code 2."""
    try:
        yield
    except OSError as error:
        reason = str(error)
        if error.filename is not None:
            reason = f"{error.filename}: {error.strerror}"
        typer.echo(f"unseen: {' '.join(reason.split())}", err=True)
        raise typer.Exit(2) from error
