"""A fault the user can mend is one line and exit code 2, not a traceback."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from unseen._words import printable


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors about files and folders into one line on stderr and exit code 2.

    A warning is one line on stderr too.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning  # type: ignore[assignment]
            yield
    except OSError as error:
        reason = in_options(str(error))
        if error.filename is not None:
            reason = f"{error.filename}: {error.strerror}"
        complain(reason)
        raise typer.Exit(2) from error


def in_options(text: str) -> str:
    """Return a message of the library in the words of the command line.

    >>> in_options("birds.csv: give one with classes=, a file.")
    'birds.csv: give one with --classes, a file.'
    >>> in_options("unseen='moa' names no class; class_embeddings has five.")
    "--unseen 'moa' names no class; the class table has five."
    """
    text = re.sub(r"\b(classes|unseen|column|id)=(?=['\"])", r"--\1 ", text)
    text = re.sub(r"\b(classes|unseen|column|id)=", r"--\1", text)
    text = text.replace("force=True", "--force")
    return re.sub(r"\bclass_embeddings\b", "the class table", text)


def show_warning(message: Any, *where: Any) -> None:
    """Write a warning for people: what it says, not where the code is."""
    complain(f"warning: {message}")


def complain(text: str) -> None:
    """Write an error or a warning on stderr: one line, which no terminal obeys."""
    line = in_options(" ".join(str(text).split()))
    typer.echo(f"unseen: {printable(line)}", err=True)
