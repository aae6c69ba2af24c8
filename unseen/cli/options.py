"""What several commands share: options, the data they name, and how faults are told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen._command import command_line
from unseen.cli.errors import complain, one_line_errors

if TYPE_CHECKING:
    from unseen.data import ZeroShotData
    from unseen.loading import RawData

Source = Annotated[str, typer.Argument(help="File, folder or bundled set.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Force = Annotated[
    bool, typer.Option("--force", help="Write over files that exist already.")
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--classes",
        help="Class table: a file, or the name of one in the data. "
        "Repeat the option to join several tables.",
    ),
]
Unseen = Annotated[
    str | None,
    typer.Option(
        help="Which classes are unseen: names between commas, a file with a name per "
        "line, or a standard split."
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        help="Column of the labels, in a CSV or parquet file.",
        show_default="label, or the only column of text",
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        help="Column that names the rows: no feature, and kept in the labels.",
        show_default="numbers from 0",
    ),
]


@dataclass(frozen=True)
class DataOptions:
    """What DATA, ``--classes``, ``--unseen``, ``--column`` and ``--id`` say together.

    >>> DataOptions("birds.csv", ["looks.csv"], "moa").words()
    ['--classes', 'looks.csv', '--unseen', 'moa']
    """

    source: str
    classes: list[str] | None = None
    unseen: str | None = None
    column: str | None = None
    id: str | None = None

    @property
    def files(self) -> list[str | None]:
        """Everything that may be a file, which no output may be written over."""
        return [self.source, *(self.classes or []), self.unseen]

    @property
    def tables(self) -> Any:
        """No table, one table or several, as ``load_data`` takes them."""
        if not self.classes:
            return None
        return self.classes[0] if len(self.classes) == 1 else self.classes

    def words(self) -> list[str]:
        """Return how the same data is named to another command."""
        words = [word for table in self.classes or [] for word in ("--classes", table)]
        words += ["--unseen", self.unseen] if self.unseen else []
        words += ["--column", self.column] if self.column else []
        return words + (["--id", self.id] if self.id else [])

    def parts(self) -> RawData:
        """Return what the files say, neither checked nor chosen."""
        from unseen.loading import read_raw

        return read_raw(self.source, self.column, self.id)

    def load(self) -> ZeroShotData:
        """Return the data set."""
        from unseen.loading import load_data

        return load_data(
            self.source,
            self.tables,
            unseen=self.unseen,
            column=self.column,
            id=self.id,
        )

    @contextmanager
    def naming_gaps(self) -> Iterator[None]:
        """Where features are missing, say which command lists the rows."""
        try:
            yield
        except ValueError as error:
            if not re.search("contains (NaN|infinity)", str(error)):
                raise
            listing = command_line("data", "check", self.source, *self.words())
            raise ValueError(
                f"{self.source}: some features are missing or infinite. To list them: "
                f"{listing}"
            ) from error


@contextmanager
def file_errors() -> Iterator[None]:
    """Turn errors about files and their content into one line and exit code 2."""
    try:
        with one_line_errors():
            yield
    except (ValueError, TypeError, ImportError) as error:
        complain(str(error))
        raise typer.Exit(2) from error


def complete_method(typed: str) -> list[str]:
    """Offer the methods that are built to the shell."""
    from unseen.methods import METHODS

    return [m.name for m in METHODS.values() if m.offered and m.name.startswith(typed)]
