"""Tables in files: CSV, Excel and parquet, one row per sample or per class.

What the columns mean says :mod:`unseen.loading.frames`. A class table beside the rows,
``birds.classes.csv`` for ``birds.csv``, is taken along.

CSV is separated by comma, semicolon, tab or ``|``; unless by comma, numbers may have a
decimal comma. It is UTF-8, or UTF-16 with a byte-order mark; other bytes are read as
Windows-1252, with a warning. Of an Excel workbook (.xlsx) the first sheet is read, of
formulas the value that was saved; links to other files are not followed.
"""

from __future__ import annotations

import csv
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from unseen._command import needs_extra
from unseen._encodings import decoded, open_text, tell_odd
from unseen._words import shown
from unseen.limits import check_plain_file, check_unpacked, limits
from unseen.loading.frames import frame_to_table, read_frame
from unseen.loading.parquet import is_parquet, read_parquet
from unseen.loading.parts import RawData, damaged_file, iter_lines, reader

__all__ = ["is_table", "read_rows", "read_table"]

SEPARATORS = ",;\t|"
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


def _has_fields(line: str) -> bool:
    plain = all(letter >= " " or letter in "\t\r" for letter in line)
    return plain and any(sign in line for sign in SEPARATORS)


def is_excel(path: Path) -> bool:
    """Tell a zip archive that holds a workbook."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "xl/workbook.xml" in archive.namelist()


def is_table(path: Path) -> bool:
    """Tell a CSV, Excel or parquet file."""
    return is_parquet(path) or is_excel(path) or is_csv(path)


@reader(
    "CSV, Excel (.xlsx) or parquet with a column of labels",
    recognises=is_table,
    general=True,
    by_column=True,
)
def read_rows(path: Path, column: str | None = None, id: str | None = None) -> RawData:
    r"""Read a file with one row per sample, and the class table beside it."""
    frame = read_table(path, texts=[name for name in (column, id) if name])
    raw = read_frame(frame, path.stem, str(path), label=column, id=id)
    suffix = ".parquet" if is_parquet(path) else ".xlsx" if is_excel(path) else ".csv"
    beside = path.with_name(f"{path.stem}.classes{suffix}")
    if not beside.is_file():
        return raw
    table, unseen = frame_to_table(read_table(beside, names_first=True), beside)
    raw.tables[""] = table
    raw.class_names = table.index.to_numpy().astype(str)
    raw.unseen = raw.unseen if unseen is None else unseen
    raw.origin["classes"] = str(beside)
    return raw


def read_table(
    path: Path, *, names_first: bool = False, texts: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a CSV, Excel or parquet file whole.

    Columns of names stay text, so that class ``007`` is not class ``7``; so does the
    first column if ``names_first``, and so do the columns ``texts``.
    """
    check_plain_file(path)
    if is_parquet(path):
        return read_parquet(path)

    def is_text(heads: list[str]) -> list[str]:
        named = [head for head in heads if head.lower() in NAMING or head in texts]
        return named or (heads[:1] if names_first else [])

    with damaged_file(path):
        if is_excel(path):
            frame, commas = _excel_cells(path), False
        else:
            frame, commas = _csv_cells(path, is_text)
    named = is_text(frame.columns.tolist())
    columns = {
        head: values if head in named else _numbers_if_all(values, commas)
        for head, values in frame.items()
    }
    return pd.DataFrame(columns)  # at once: one by one is slow for wide frames


def check_heads(path: Path, heads: list[str]) -> None:
    """Refuse a table that has too many columns or names two of them alike."""
    if len(heads) > limits().columns:
        raise ValueError(
            f"{path}: has {len(heads)} columns. Give at most {limits().columns}; "
            "features.npy takes any number."
        )
    twice = pd.Index(heads)[pd.Index(heads).duplicated()]
    if len(twice):
        raise ValueError(
            f"{path}: names column {shown(twice[0])} twice. Give each its own."
        )


def _csv_cells(
    path: Path, is_text: Callable[[list[str]], list[str]]
) -> tuple[pd.DataFrame, bool]:
    """Return the columns of a CSV file, and whether numbers may have commas."""
    tell_odd(path)
    with open_text(path) as file:
        header = next(iter_lines(file, path), "")
        separator = max(SEPARATORS, key=header.count)
        heads = next(csv.reader([header], delimiter=separator), [])
        check_heads(path, heads)
        file.seek(0)
        with warnings.catch_warnings():  # of lines with too many fields
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                file,
                sep=separator,
                **EXACT,
                keep_default_na=False,
                na_values=[""],
                index_col=False,
                dtype=dict.fromkeys(is_text(heads), str),
            )
    return frame, separator != ","


def _excel_cells(path: Path) -> pd.DataFrame:
    """Return the columns of the first sheet; its first row names them."""
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    check_unpacked(size, path.stat().st_size, path)
    try:
        cells = pd.read_excel(
            path,
            engine="openpyxl",
            header=None,
            dtype=object,
            keep_default_na=False,
            na_values=[""],
        )
    except ImportError:
        raise needs_extra("openpyxl", "files", str(path)) from None
    if not len(cells):
        raise ValueError(f"{path}: the first sheet is empty.")
    first = cells.iloc[0].tolist()
    heads = [f"Unnamed: {i}" if pd.isna(h) else str(h) for i, h in enumerate(first)]
    check_heads(path, heads)
    return cells.iloc[1:].reset_index(drop=True).set_axis(heads, axis=1).infer_objects()


def _numbers_if_all(column: pd.Series, commas: bool) -> pd.Series:
    """Read 'nan', 'inf' and decimal commas where everything is a number."""
    if column.dtype.kind in "fiub":
        return column
    words = column[column.notna()].astype(str).str.strip()
    words = words[~words.str.lower().isin(["nan", "na", "null"])]
    if commas and words.str.contains(",", regex=False).any():
        if words.str.contains(".", regex=False).any():
            return column
        words = words.str.replace(",", ".")
    numbers = pd.to_numeric(words, errors="coerce")
    if not len(words) or numbers.isna().any():
        return column
    return numbers.reindex(column.index)
