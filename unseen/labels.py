r"""The table of labels: one schema for photos, texts and rows, read and written here.

id              path of the photo, name of the text, or number of the row, from 0
label           the class it was given; empty if it has none
reliability     estimated chance that this label is right; empty if not estimated
second          the second choice; empty if there is none
first_trusted   round in which the label was first trusted, 0 for never

Further columns stay as they are. On disk it is a CSV file; what a spreadsheet makes of
it is read too: byte-order mark, semicolons with decimal commas, tabs, CR LF. A text
that a spreadsheet would run as a formula, since it starts with = + - @ or a tab and is
no number, is written behind an apostrophe, which is taken away when the table is read.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._encodings import table_rows
from unseen._words import listed, shown
from unseen.files import replace_file
from unseen.limits import check_plain_file

COLUMNS = ("id", "label", "reliability", "second", "first_trusted")
FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")  # wide signs count too
NUMBER = re.compile(r"[+-]?\d[\d.,]*(e[+-]?\d+)?", re.IGNORECASE)


def label_table(
    labels: Sequence[str] | np.ndarray,
    *,
    ids: Iterable[Any] | None = None,
    reliability: Any = None,
    second: Any = None,
    first_trusted: Any = None,
    **more: Any,
) -> pd.DataFrame:
    """Make a table of labels.

    Parameters
    ----------
    labels : array of shape (n,)
    ids : iterable, optional
        Paths or numbers of rows; by default 0, 1, ...
    reliability, second, first_trusted : array, optional
    **more : array
        Further columns.

    Returns
    -------
    DataFrame
        Columns as in :data:`COLUMNS`, then ``more``; ``id`` is text.

    Examples
    --------
    >>> from unseen.labels import label_table
    >>> label_table(["okapi", "zebra"], reliability=[0.9, 0.4])
      id  label  reliability second  first_trusted
    0  0  okapi          0.9                     0
    1  1  zebra          0.4                     0
    """
    n = len(labels)
    trust = np.nan if reliability is None else reliability
    columns = {
        "id": _texts(range(n) if ids is None else ids),
        "label": _texts(labels),
        "reliability": np.broadcast_to(np.asarray(trust, float), n),
        "second": _texts([""] * n if second is None else second),
        "first_trusted": 0 if first_trusted is None else first_trusted,
    }
    for name, values in more.items():
        is_text = any(isinstance(value, str) for value in values)
        columns[name] = _texts(values) if is_text else values
    return pd.DataFrame(columns, index=range(n))


def _texts(values: Iterable[Any]) -> pd.Series:
    """Return a column of text, which may hold bytes that are not UTF-8."""
    texts = ["" if value is None else str(value) for value in values]
    return pd.Series(texts, dtype=object)


def write_labels(
    labels: pd.DataFrame | Iterable[pd.DataFrame], path: str | os.PathLike[str]
) -> Path:
    """Write a table of labels as CSV, whole or not at all.

    Parameters
    ----------
    labels : DataFrame, or an iterable of them
        As :func:`label_table` makes it: at least ``id`` and ``label``. Several with
        the same columns are written below each other, one at a time in memory.
    path : path
        Its folder is made if need be.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.labels import label_table, write_labels
    >>> labels = label_table(["okapi"], ids=["a.jpg"], reliability=[0.75])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_labels(labels, Path(folder) / "labels.csv").read_text())
    id,label,reliability,second,first_trusted
    a.jpg,okapi,0.750000,,0
    """
    path = Path(path)
    with replace_file(path) as file:
        for content in labels_as_csv(labels, str(path)):
            file.write(content)
    return path


def labels_as_csv(
    labels: pd.DataFrame | Iterable[pd.DataFrame], where: str
) -> Iterator[bytes]:
    r"""Yield tables of labels as CSV; names that are not UTF-8 keep their bytes."""
    known: dict[str, int] = {}
    for part in [labels] if isinstance(labels, pd.DataFrame) else labels:
        heads = [str(name) for name in part.columns]
        check_columns(heads, where)
        first = [] if known else [[_as_text(head) for head in heads]]
        check_ids(part["id"].tolist(), where, lambda row: f"row {row}", known)
        cells = [[_as_text(value) for value in part[name]] for name in heads]
        for line in csv_lines([*first, *zip(*cells, strict=True)]):
            yield line.encode("utf-8", "surrogateescape")


def _as_text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.{_decimals(value)}f}"
    text = str(value)
    return f"'{text}" if _is_formula(text) else text


def _decimals(value: float) -> int:
    """Return how many decimals show six digits of a share's distance from 0 or 1.

    Rows are sorted by it, and most are close to 1: rounded, they would tie.
    """
    distance = min(abs(value), abs(1 - value))
    return 6 if distance == 0 else min(17, 5 + max(1, math.ceil(-math.log10(distance))))


def _is_formula(text: str) -> bool:
    return bool(FORMULA.match(text)) and not NUMBER.fullmatch(text)


def _without_guard(text: str) -> str:
    return text[1:] if text[:1] == "'" and _is_formula(text[1:]) else text


def csv_lines(lines: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield lines as CSV."""
    # csv before Python 3.13 leaves a carriage return unquoted, and reads it as an end.
    for cells in lines:
        quoted = (
            '"' + cell.replace('"', '""') + '"' if re.search('[,"\r\n]', cell) else cell
            for cell in cells
        )
        yield ",".join(quoted) + "\n"


def read_labels(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Read a table of labels, as written here or as saved by a spreadsheet.

    Parameters
    ----------
    path : path
        CSV with at least ``id`` and ``label``.

    Returns
    -------
    DataFrame
        ``id``, ``label`` and ``second`` as text, ``reliability`` as float, NaN for
        none, ``first_trusted`` as int; other columns as text. Without duplicates.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.labels import read_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels.csv"
    ...     _ = path.write_text("id;label;reliability\r\n0;okapi;0,75\r\n")
    ...     read_labels(path)
      id  label  reliability second  first_trusted
    0  0  okapi         0.75                     0
    """
    path = Path(path)
    heads, lines, decimal = _read_lines(path)
    table = {name: [cells[i] for _, cells in lines] for i, name in enumerate(heads)}
    check_ids(table["id"], str(path), lambda row: f"line {lines[row][0]}")

    def places(name: str) -> Iterator[tuple[str, str]]:
        for (line, _), text in zip(lines, table.get(name, []), strict=False):
            yield f"{path}: {name} in line {line}", text

    # A path may be any bytes, a name may not.
    for name in ("label", "second"):
        for where, text in places(name):
            _check_utf8(text, where)
    sure = [_number(text, where, decimal) for where, text in places("reliability")]
    first = [
        _number(text, where, decimal, 1) for where, text in places("first_trusted")
    ]
    return label_table(
        table["label"],
        ids=table["id"],
        reliability=sure or None,
        second=table.get("second"),
        first_trusted=np.nan_to_num(first).astype(int) if first else None,
        **{name: table[name] for name in heads if name not in COLUMNS},
    )


def _read_lines(path: Path) -> tuple[list[str], list[tuple[int, list[str]]], str]:
    """Return heads, the number and cells of every line with any, the decimal sign."""
    check_plain_file(path)
    with open(path, "rb") as binary:
        start = binary.read(4)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in start:
        raise ValueError(f"{path} is not UTF-8 text. Save it as 'CSV UTF-8'.")
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        separator, rows = table_rows(file, str(path))
        heads = [_without_guard(head.strip()) for head in next(rows, (0, []))[1]]
        check_columns(heads, str(path))
        # Spreadsheets leave empty lines at the end.
        full = ((line, cells) for line, cells in rows if any(cells))
        lines = [
            (line, [_without_guard(cell) for cell in cells]) for line, cells in full
        ]
    return heads, lines, "," if separator == ";" else "."


def _check_utf8(text: str, where: str) -> None:
    if not text.isascii() and any("\udc80" <= char <= "\udcff" for char in text):
        raise ValueError(f"{where} is not UTF-8 text. Save the file as 'CSV UTF-8'.")


def _number(text: str, where: str, decimal: str, step: float = 0.0) -> float:
    """Return a share, or a whole number for a step of 1; NaN for an empty cell."""
    if not text.strip():
        return np.nan
    with suppress(ValueError):
        number = float(text.replace(decimal, "."))
        if 0 <= number <= (2**53 if step else 1) and not (step and number % step):
            return number
    span = "whole, 0 or more" if step else "0 to 1"
    raise ValueError(
        f"{where} is {shown(text)}. Give a number, {span}, or leave it empty."
    )


def check_columns(heads: list[str], where: str) -> None:
    """Raise if id or label is missing, or two columns have one name."""
    for name in ("id", "label"):
        if name not in heads:
            known = listed(heads) or "none"
            raise ValueError(
                f"{where}: there is no column {name!r}; its columns are {known}."
            )
    for i, name in enumerate(heads):
        _check_utf8(name, f"{where}: a head in line 1")
        if name in heads[:i]:
            raise ValueError(f"{where} has two columns {shown(name)}. Keep one.")


def check_ids(
    ids: list[str],
    where: str,
    place: Callable[[int], str],
    first: dict[str, int] | None = None,
) -> None:
    """Raise if an id is missing or there twice, also among those met before."""
    first = {} if first is None else first
    for row, name in enumerate(map(str, ids), start=len(first)):
        if not name:
            raise ValueError(f"{where}: {place(row)} has no id. Give a path or a row.")
        if name in first:
            raise ValueError(
                f"{where}: id {shown(name)} is there twice, in {place(first[name])} "
                f"and {place(row)}. Keep one."
            )
        first[name] = row
