"""What commands share: options, the data they name, and faults in a line."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from unseen._command import program
from unseen._words import printable
from unseen.files import named

if TYPE_CHECKING:
    from unseen.data import ZeroShotData
    from unseen.loading import RawData

STDOUT = "standard output"
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
        help="Column with the names of the rows. It is no feature; labels keep it.",
        show_default="numbers from 0",
    ),
]
Given = Annotated[
    Path | None,
    typer.Option(help="CSV file of id and label, for labels you are sure of."),
]
Model = Annotated[
    Path | None, typer.Option(help="Label with a saved model instead of learning one.")
]
Save = Annotated[
    Path | None, typer.Option(help="Save the model, for use with --model.")
]
Labels = Annotated[
    Path, typer.Argument(help="Table of labels: a CSV file with id and label.")
]
PhotosFolder = Annotated[
    Path | None,
    typer.Option(help="Folder of the photos.", show_default="where they were labelled"),
]


class DataOptions(NamedTuple):
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
        from unseen.loading.frames import beside

        table = str(beside(Path(self.source).absolute()))
        return [self.source, table, *(self.classes or []), self.unseen]

    @property
    def tables(self) -> Any:
        """No table, one table or several, as ``load_data`` takes them."""
        if self.classes and len(self.classes) == 1:
            return self.classes[0]
        return self.classes or None

    @property
    def given(self) -> dict[str, str]:
        """Return what was said of split and columns, as ``load_data`` takes it."""
        said = {"unseen": self.unseen, "column": self.column, "id": self.id}
        return {name: one for name, one in said.items() if one is not None}

    def words(self) -> list[str]:
        """Return how the same data is named to another command."""
        words = [word for table in self.classes or [] for word in ("--classes", table)]
        return words + [w for key, one in self.given.items() for w in (f"--{key}", one)]

    def raw(self) -> RawData:
        """Return what the files say, unchecked, with the tables and the split."""
        from unseen.loading import read_raw

        found = read_raw(self.source, self.column, self.id)
        return found.choose(self.tables, self.unseen)

    def load(self) -> ZeroShotData:
        """Return the data set."""
        from unseen.loading import load_data

        return load_data(self.source, self.tables, **self.given)


def examples(*lines: str, then: str = "") -> str:
    """Return the end of a command's help: lines as they are typed here, and a text."""
    typed = [f"  {line.replace('unseen', program(), 1)}" for line in lines]
    return "\n".join(["\b", "Examples:", *typed, "", then])


class Command(TyperCommand):
    """A command whose faults are one line and exit code 2, and its warnings a line.

    Its help calls values by their options, ``--out OUT``.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for param in self.params:
            if not getattr(param, "is_flag", False):
                param.metavar = f"{param.name}".upper()

    def invoke(self, context: Any) -> Any:
        """Run the command."""
        try:
            with warnings.catch_warnings():
                # What it says, not where the code is.
                warnings.showwarning = lambda message, *_: complain(
                    f"warning: {message}"
                )
                return super().invoke(context)
        except (OSError, ValueError, TypeError, ImportError) as error:
            text = str(error)
            if isinstance(error, OSError) and error.filename is not None:
                if error.filename == STDOUT:
                    raise  # main ends it
                text = f"{error.filename}: {error.strerror}"
            complain(text)
            raise typer.Exit(2) from error


def say(*lines: Any, err: bool = False) -> None:
    """Print lines, which no terminal obeys."""
    with named(Path(STDOUT)):
        for line in lines:
            typer.echo(printable(line), err=err)


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


def complain(text: str) -> None:
    """Write an error or a warning on stderr: one line, which no terminal obeys."""
    line = in_options(" ".join(str(text).split()))
    say(f"unseen: {line}", err=True)


def labels_and_page(out: Path) -> tuple[Path, Path | None]:
    """Return where labels are written, and the page if ``--out`` is a folder.

    >>> [path.as_posix() for path in labels_and_page(Path("birds"))]
    ['birds/labels.csv', 'birds/report.html']
    """
    if not out.is_dir() and (out.suffix or out.exists()):
        return out, None
    return out / "labels.csv", out / "report.html"


def read_given(path: Path | None) -> dict[str, str]:
    """Return labels that somebody is sure of, by id."""
    if path is None:
        return {}
    from unseen.labels import read_labels

    table = read_labels(path)
    pairs = zip(table["id"], table["label"], strict=True)
    return {key: label for key, label in pairs if label}


def print_json(answer: Any) -> None:
    """Print an answer as JSON, which every program reads."""
    say(*json.dumps(answer, indent=2, default=str).split("\n"))
