"""CSV files: one row per sample, as :mod:`unseen.loading.frames` says.

A class table beside it, ``birds.classes.csv`` for ``birds.csv``, is taken along.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from unseen._encodings import decoded, open_text, tell_odd
from unseen._words import shown
from unseen.limits import check_plain_file, limits
from unseen.loading.frames import read_frame
from unseen.loading.parts import Parts, damaged_file
from unseen.loading.registry import reader
from unseen.loading.tables import frame_to_table
from unseen.loading.text_lists import iter_lines

__all__ = ["is_csv", "read_csv", "read_csv_frame"]

SEPARATORS = ",;\t|"
DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d*,\d+|\d+,)(e[+-]?\d+)?")
NAMING = ("label", "class", "class_name", "name", "target", "y")
# pandas 3 reads numbers exactly and deprecates saying so.
EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
)


def is_csv(path: Path) -> bool:
    """Tell text whose first lines have at least two fields."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        start = file.read(4096)
    lines = decoded(start).split("\n")
    # A line may be longer than this look at it.
    if len(lines) == 1:
        return len(start) == 4096 and _has_fields(lines[0])
    return _has_fields(lines[0]) and _has_fields(lines[1])


@reader("CSV with a column of labels", recognises=is_csv, general=True, by_column=True)
def read_csv(path: Path, column: str | None = None, id: str | None = None) -> Parts:
    r"""Read a CSV file of samples, with ``<stem>.classes.csv`` if it is there.

    Parameters
    ----------
    path : Path
        The file; its stem names the set. Fields are separated by comma, semicolon,
        tab or ``|``; unless by comma, numbers may have a decimal comma. It is UTF-8,
        or UTF-16 with a byte-order mark; other bytes are read as Windows-1252, with a
        warning.
    column, id : str, optional
        The columns of labels and of ids.

    Returns
    -------
    Parts

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.csv_file import read_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "zoo.csv"
    ...     _ = path.write_text("label,a,b\nzebra,1,2\nokapi,3,4.5\n")
    ...     table = path.with_name("zoo.classes.csv")
    ...     _ = table.write_text(
    ...         "class,split,stripes\nzebra,seen,1\nokapi,unseen,0.5\n")
    ...     read_csv(path).build()
    ZeroShotData 'zoo': 2 rows x 2 features (float64)
      1 seen class, 1 row: zebra
      1 unseen class, 1 row: okapi
      class embeddings: 1 dimensions
    """
    with damaged_file(path):
        frame = read_csv_frame(path, texts=[name for name in (column, id) if name])
        parts = read_frame(frame, path.stem, str(path), label=column, id=id)
    return with_table_beside(parts, path, ".classes.csv")


def with_table_beside(parts: Parts, path: Path, suffix: str) -> Parts:
    """Add the class table of ``<stem>.classes.<kind>``, if there is one."""
    from unseen.loading.tables import read_class_frame

    beside = path.with_name(path.stem + suffix)
    if not beside.is_file() or beside == path:
        return parts
    with damaged_file(beside):
        frame = read_class_frame(beside)
        if frame is None:
            raise ValueError(f"{beside}: is no CSV, parquet or Excel file.")
        table, unseen = frame_to_table(frame, beside)
    if table.shape[1] == 0:
        raise ValueError(
            f"{beside}: has no dimension. Give at least one number a class."
        )
    parts.tables[""] = table
    parts.class_names = table.index.to_numpy().astype(str)
    if unseen is not None:
        parts.unseen = unseen
    parts.origin["classes"] = str(beside)
    return parts


def read_csv_frame(
    path: Path, names_first: bool = False, texts: Sequence[str] = ()
) -> pd.DataFrame:
    r"""Read a CSV file whole, its separator told by its first line.

    Columns of names stay text, so that class ``007`` is not class ``7``; so does the
    first column if ``names_first``, and so do the columns ``texts``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.csv_file import read_csv_frame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "zoo.csv"
    ...     _ = path.write_text("label;a\nzebra;1\n")
    ...     read_csv_frame(path)
       label  a
    0  zebra  1
    """
    check_plain_file(path)
    tell_odd(path)
    with open_text(path) as file:
        header = next(iter_lines(file, path), "")
        separator = max(SEPARATORS, key=header.count)
        _check_columns(path, header.count(separator) + 1)
        heads = next(csv.reader([header], delimiter=separator), [])
        check_heads(path, heads)
        _check_lines(path, separator)
        named = [head for head in heads if head.lower() in NAMING or head in texts]
        named += heads[:1] if names_first and not named else []
        file.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                file,
                sep=separator,
                **EXACT,
                keep_default_na=False,
                na_values=[""],
                index_col=False,
                dtype=dict.fromkeys(named, str),
            )
    columns = {
        column: values
        if values.dtype.kind in "fiub" or column in named
        else numbers_if_all(values, commas=separator != ",")
        for column, values in frame.items()
    }
    return pd.DataFrame(columns)  # at once: one by one is slow for wide frames


def _check_columns(path: Path, n_columns: int) -> None:
    most = limits().columns
    if n_columns > most:
        raise ValueError(
            f"{path}: has {n_columns} columns. Give at most {most}; features.npy takes "
            "any number."
        )


def check_heads(path: Path, heads: list[str]) -> None:
    """Refuse a table that names two columns alike."""
    known: set[str] = set()
    for head in heads:
        if head in known:
            raise ValueError(
                f"{path}: names column {shown(head)} twice. Give each its own."
            )
        known.add(head)


def _check_lines(path: Path, separator: str) -> None:
    """Say which line has too many or too few fields: pandas would fill them up."""
    with open_text(path) as file:
        width = None
        for number, line in enumerate(iter_lines(file, path), 1):
            if not line.strip() or '"' in line:  # quoted fields are left to pandas
                continue
            width = line.count(separator) if width is None else width
            if line.count(separator) != width:
                raise ValueError(
                    f"{path}: line {number} has {line.count(separator) + 1} fields, "
                    f"but the first has {width + 1}. Fetch or save the file again."
                )


def numbers_if_all(column: pd.Series, commas: bool = False) -> pd.Series:
    """Read 'nan', 'inf' and decimal commas where everything is a number."""
    words = [str(value).strip().lower() for value in column if not pd.isna(value)]
    plain = [word for word in words if word not in ("nan", "na", "null")]
    if commas and any("," in word for word in plain):
        if not all(DECIMAL_COMMA.fullmatch(word) for word in plain):
            return column
        column = column.astype(str).str.replace(",", ".")
    elif not plain or not all(map(_is_number, plain)):
        return column
    return pd.to_numeric(
        column.astype(object).replace(["NA", "NULL", "null"], "nan"), errors="coerce"
    )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def _has_fields(line: str) -> bool:
    plain = all(letter >= " " or letter in "\t\r" for letter in line)
    return plain and any(sign in line for sign in SEPARATORS)


def to_csv_text(frame: pd.DataFrame) -> bytes:
    """Return a frame as CSV; numbers read back as they were."""
    text = io.StringIO()
    frame.to_csv(text, index=False, lineterminator="\n")
    return text.getvalue().encode()
