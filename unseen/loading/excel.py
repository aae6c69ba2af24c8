"""Excel workbooks (.xlsx): the first sheet, as :mod:`unseen.loading.frames` says.

A class table beside it, ``birds.classes.xlsx`` for ``birds.xlsx``, is taken along. Of
formulas the value counts that Excel saved; links to other files are not followed.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pandas as pd

from unseen._command import needs_extra
from unseen.limits import unpacked_allowance
from unseen.loading.csv_file import (
    NAMING,
    check_heads,
    numbers_if_all,
    with_table_beside,
)
from unseen.loading.frames import read_frame
from unseen.loading.parts import Parts, damaged_file
from unseen.loading.registry import reader

__all__ = ["is_excel", "read_excel", "read_excel_frame"]


def is_excel(path: Path) -> bool:
    """Tell a zip archive that holds a workbook."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "xl/workbook.xml" in archive.namelist()


@reader(
    "Excel workbook (.xlsx) with a column of labels",
    recognises=is_excel,
    general=True,
    by_column=True,
)
def read_excel(path: Path, column: str | None = None, id: str | None = None) -> Parts:
    """Read the first sheet, with ``<stem>.classes.xlsx`` if it is there.

    Parameters
    ----------
    path : Path
        The file; its stem names the set.
    column, id : str, optional
        The columns of labels and of ids.

    Returns
    -------
    Parts
    """
    with damaged_file(path):
        frame = read_excel_frame(path)
        parts = read_frame(frame, path.stem, str(path), label=column, id=id)
    return with_table_beside(parts, path, ".classes.xlsx")


def read_excel_frame(path: Path) -> pd.DataFrame:
    """Read the first sheet of a workbook; its first row names the columns.

    Parameters
    ----------
    path : Path

    Returns
    -------
    DataFrame
        Cells of text stay text; a column whose texts are all numbers is one of numbers,
        unless it is called like a column of names.
    """
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > unpacked_allowance(path.stat().st_size):
        raise ValueError(f"{path}: unpacks to {size} bytes. Save it as CSV.")
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
    columns = {
        head: values if head.lower() in NAMING else _typed(values)
        for head, (_, values) in zip(heads, cells.iloc[1:].items(), strict=True)
    }
    return pd.DataFrame(columns).reset_index(drop=True)


def _typed(column: pd.Series) -> pd.Series:
    column = column.infer_objects()
    return column if column.dtype.kind in "fiub" else numbers_if_all(column)
