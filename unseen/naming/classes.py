"""The class names a person gives, in any of the ways one would write them down.

    "zebra, okapi, tapir"               names between commas
    classes.txt                         a name per line, or  name: description
    classes.csv                         names in the first column; columns of text
                                        describe, columns of numbers are attributes
    ["zebra", "okapi"], {"okapi": ""}   from Python; also a DataFrame

Attributes become words: a class is described by the attributes it has more of than the
middle between the least and the most of any class.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen.limits import check_plain_file, limits
from unseen.naming.names import broken_name, twice

__all__ = ["ClassNames", "read_classes"]


class ClassNames(NamedTuple):
    """Class names in the order given, and descriptions of those that have one."""

    names: list[str]
    descriptions: dict[str, str]


def read_classes(source: Any) -> ClassNames:
    """Read class names, and descriptions if there are any.

    Parameters
    ----------
    source : str, path, list of str, dict or DataFrame
        Names between commas; a ``.txt`` or ``.csv`` file; names; descriptions by name;
        or a table indexed by name.

    Returns
    -------
    ClassNames
        ``(names, descriptions)``. A name without any letter, such as an emoji, is
        described by what Unicode calls it.

    Examples
    --------
    >>> from unseen.naming import read_classes
    >>> read_classes("zebra, okapi")
    ClassNames(names=['zebra', 'okapi'], descriptions={})
    >>> read_classes(["🦓", "okapi: a giraffe with the legs of a zebra"])
    ClassNames(names=['🦓', 'okapi'], descriptions={'🦓': 'zebra',
    'okapi': 'a giraffe with the legs of a zebra'})
    >>> import pandas as pd
    >>> looks = pd.DataFrame({"stripes": [1, 1, 0], "long neck": [0, 1, 0]},
    ...                      index=["zebra", "okapi", "tapir"])
    >>> read_classes(looks).descriptions
    {'zebra': 'stripes', 'okapi': 'stripes, long neck'}
    """
    where, pairs = _pairs(source)
    names = [name for name, _ in pairs]
    if not names:
        raise ValueError(f"{where} names no class. Give at least one.")
    if "" in names:
        raise ValueError(f"{where}: a class has no name ({_shown(pairs)}).")
    if (again := twice(names)) is not None:
        raise ValueError(f"{where}: class {again!r} is named twice.")
    check_limits(where, names)
    described = {name: text or _spell_out(name) for name, text in pairs}
    return ClassNames(names, {name: text for name, text in described.items() if text})


def check_limits(where: str, names: list[str]) -> None:
    """Raise if there are more classes, or longer names, than anyone would mean."""
    bounds = limits()
    if len(names) > bounds.classes:
        raise ValueError(
            f"{where}: {len(names):,} classes are more than {bounds.classes:,} "
            "(UNSEEN_LIMITS=classes=... raises this)."
        )
    longest = max(names, key=len)
    if len(longest) > bounds.name_letters:
        raise ValueError(
            f"{where}: a name of {len(longest):,} letters ({longest[:20]!r}...) is "
            f"longer than {bounds.name_letters:,} (UNSEEN_LIMITS=name_letters=... "
            "raises this). Put what describes a class behind a colon."
        )


def _pairs(source: Any) -> tuple[str, list[tuple[str, str]]]:
    """Return where the names come from, and (name, description) of each."""
    if isinstance(source, pd.DataFrame):
        return "The table of classes", _from_table(source)
    if isinstance(source, Mapping):
        return "The dict of classes", [
            (_name(name), _clean(text or "")) for name, text in source.items()
        ]
    if isinstance(source, os.PathLike) or _is_file_name(source):
        path = Path(source)
        return str(path), _from_file(path)
    if isinstance(source, str):
        parts = [part for part in source.split(",") if part.strip()]
        return "The list of classes", _from_lines(parts)
    return "The list of classes", _from_lines(str(name) for name in source)


def _is_file_name(source: Any) -> bool:
    return isinstance(source, str) and source.lower().endswith((".txt", ".csv"))


def _from_file(path: Path) -> list[tuple[str, str]]:
    check_plain_file(path)
    if path.stat().st_size > limits().text_bytes:
        raise ValueError(
            f"{path}: is larger than {limits().text_bytes:,} bytes "
            "(UNSEEN_LIMITS=text_bytes=... raises this)."
        )
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is not UTF-8 text. Save it as UTF-8.") from error
    if path.suffix.lower() != ".csv":
        lines = (line for line in text.splitlines() if line.strip())
        return _from_lines(line for line in lines if not line.startswith("#"))
    try:
        table = pd.read_csv(StringIO(text), skipinitialspace=True)
    except pd.errors.EmptyDataError:
        return []
    except (pd.errors.ParserError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: is no table of commas ({reason}).") from error
    return _from_table(table.set_index(table.columns[0]))


def _from_lines(lines: Iterable[str]) -> list[tuple[str, str]]:
    parts = (line.partition(":") for line in lines)
    return [(_name(name), _clean(text)) for name, _, text in parts]


def _from_table(table: pd.DataFrame) -> list[tuple[str, str]]:
    numeric = table.select_dtypes(include=["number", "bool"]).astype(float)
    texts = table.drop(columns=numeric.columns)
    middle = (numeric.min() + numeric.max()) / 2
    much = numeric.gt(middle) | (numeric.gt(0) & numeric.min().eq(numeric.max()))
    words = np.array([_clean(str(column).replace("_", " ")) for column in numeric])
    cells, has = texts.to_numpy(dtype=object), much.to_numpy(dtype=bool)
    pairs = []
    for row, name in enumerate(table.index):
        said = [_clean(text) for text in cells[row] if isinstance(text, str)]
        said += list(words[has[row]])
        named = isinstance(name, str) or not pd.isna(name)
        pairs.append((_name(name) if named else "", ", ".join(filter(None, said))))
    return pairs


def _name(text: Any) -> str:
    """Return a name cleaned; one of several lines is more likely several names."""
    if (broken := broken_name([str(text).strip()])) is not None:
        raise ValueError(
            f"Class name {broken!r} runs over several lines. Write names between "
            "commas, or one per line in a .txt file."
        )
    return _clean(str(text))


def _clean(text: str) -> str:
    """Return a text in one line, composed as Unicode prefers, without outer spaces."""
    return " ".join(unicodedata.normalize("NFC", str(text)).split())


def _spell_out(name: str) -> str:
    """Return what Unicode calls the signs of a name without letters: 🦓 is a zebra."""
    if any(char.isalnum() for char in name):
        return ""
    signs = [char for char in name if unicodedata.category(char) == "So"]
    spelt = (unicodedata.name(sign, "").lower() for sign in signs)
    return " ".join(text.removesuffix(" face") for text in spelt if text)


def _shown(pairs: list[tuple[str, str]]) -> str:
    text = next(text for name, text in pairs if not name)
    return f"its description is {text!r}" if text else "a line is empty"
