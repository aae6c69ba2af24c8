"""What is asked of a table of labels before it is used."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from unseen._words import listed, shown

__all__ = ["check_columns", "check_ids", "check_text", "numbers_in"]


def check_columns(heads: list[str], where: str) -> None:
    for name in ("id", "label"):
        if name not in heads:
            known = listed(heads) or "none"
            raise ValueError(
                f"{where}: there is no column {name!r}; its columns are {known}."
            )
    doubled = [head for head, n in _count(heads).items() if n > 1]
    if doubled:
        raise ValueError(f"{where}: has two columns {shown(doubled[0])}. Keep one.")


def _count(names: list[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


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


def check_text(names: list[str], path: Path, place: Callable[[int], str]) -> None:
    for row, name in enumerate(names):
        if not name.isascii() and any("\udc80" <= char <= "\udcff" for char in name):
            raise ValueError(
                f"{path}: {place(row)} is no UTF-8 text. Save the file as 'CSV UTF-8'."
            )


def numbers_in(
    path: Path,
    table: dict[str, list[str]],
    name: str,
    decimal: str,
    place: Callable[[int], str],
    most: float = math.inf,
) -> np.ndarray:
    """Return a column as numbers, NaN where it is empty."""
    texts = table.get(name, [""] * len(table["id"]))
    numbers = np.full(len(texts), np.nan)
    for row, text in enumerate(texts):
        if not text.strip():
            continue
        try:
            numbers[row] = float(text.replace(decimal, "."))
        except ValueError:
            pass
        whole = most < math.inf or numbers[row] == np.floor(numbers[row])
        if not (whole and 0 <= numbers[row] <= min(most, 2**53)):
            span = "whole, 0 or more" if most == math.inf else f"0 to {most:.0f}"
            raise ValueError(
                f"{path}: {name} in {place(row)} is {shown(text)}. Give a number, "
                f"{span}, "
                "or leave it empty."
            )
    return numbers
