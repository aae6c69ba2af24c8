"""What commands share: options, the data they name, and faults in a line."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from unseen._command import command_line
from unseen._words import printable

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
        return words + [w for key, one in self.given.items() for w in (f"--{key}", one)]

    @property
    def given(self) -> dict[str, str]:
        """Return what was said of split and columns, as ``load_data`` takes it."""
        said = {"unseen": self.unseen, "column": self.column, "id": self.id}
        return {name: one for name, one in said.items() if one is not None}

    def parts(self) -> RawData:
        """Return what the files say, neither checked nor chosen."""
        from unseen.loading import read_raw

        return read_raw(self.source, self.column, self.id)

    def load(self) -> ZeroShotData:
        """Return the data set."""
        from unseen.loading import load_data

        return load_data(self.source, self.tables, **self.given)

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
    """Let a fault that the user can mend be one line and exit code 2, no traceback.

    A warning is one line on stderr too.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning  # type: ignore[assignment]
            yield
    except (OSError, ValueError, TypeError, ImportError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            text = f"{error.filename}: {error.strerror}"
        complain(text)
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


def labels_and_page(out: Path) -> tuple[Path, Path | None]:
    """Return where labels are written, and the page if ``--out`` is a folder.

    >>> [path.as_posix() for path in labels_and_page(Path("birds"))]
    ['birds/labels.csv', 'birds/report.html']
    """
    if out.suffix or (out.exists() and not out.is_dir()):
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
    typer.echo(json.dumps(answer, indent=2, default=str))


class Command(TyperCommand):
    """A command whose arguments have the names that its help speaks of.

    Left alone, typer shows ``{data}`` and ``--classes <list[str]>``, and other releases
    of it other signs.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for param in self.params:
            if param.metavar is not None or getattr(param, "is_flag", False):
                continue
            is_option = param.param_type_name == "option"
            param.metavar = kind_of(param) if is_option else f"{param.name}".upper()


def kind_of(param: Any) -> str:
    """Return what an option takes; typer has kept its type in two places so far."""
    kinds = {"path": "PATH", "int": "NUMBER", "float": "NUMBER"}
    described = getattr(param, "type_descriptor", None)
    kind = str(getattr(described, "annotation", None) or param.type).lower()
    return next((word for key, word in kinds.items() if key in kind), "TEXT")
