"""The class names a person gives, in any of the ways one would write them down.

    "zebra, okapi, tapir"               names between commas
    'zebra, "okapi: a giraffe, striped"'  in quotes a comma belongs to the class
    classes.txt                         a name per line, or  name: description
    classes.csv                         names in the first column; columns of text
                                        describe, columns of numbers are attributes
    ["zebra", "okapi"], {"okapi": ""}   from Python; also a DataFrame

A text is the file of that name if there is one, else the names themselves. A
description ends where the next ``name:`` or line starts; a list that can be read in two
ways is refused with both readings.

Attributes become words: a class is described by the attributes it has more of than the
middle between the least and the most of any class.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen.limits import limits, read_small

__all__ = ["ClassNames", "checked_names", "existing_file", "read_classes", "spoken"]

# name, "name", name: text, name: "text" or "name: text", up to the next comma
ENTRY = re.compile(
    r'\s*(?:"(?P<whole>[^"]*)"|(?P<name>[^",:][^,:]*)?)\s*'
    r'(?P<colon>:\s*(?:"(?P<quoted>[^"]*)"|(?P<text>[^,]*))\s*)?(?:,|$)'
)
# cardLost -> card Lost, HTTPError -> HTTP Error
HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class ClassNames(NamedTuple):
    """Class names in the order given, and descriptions of those that have one."""

    names: list[str]
    descriptions: dict[str, str]


def read_classes(source: Any) -> ClassNames:
    """Read class names, and descriptions if there are any.

    Parameters
    ----------
    source : str, path, list of str, dict or DataFrame
        Names between commas, in quotes if a comma belongs to one; a ``.txt`` or
        ``.csv`` file; names; descriptions by name; or a table indexed by name.

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
    >>> read_classes('zebra, "okapi: a giraffe, striped"').descriptions
    {'okapi': 'a giraffe, striped'}
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
    names = checked_names([name for name, _ in pairs], where)
    described = {name: text or spell_out(name) for name, text in pairs}
    return ClassNames(names, {name: text for name, text in described.items() if text})


def checked_names(
    names: Iterable[str],
    where: str = "The list of classes",
    descriptions: Iterable[str] = (),
) -> list[str]:
    """Return class names as a list, or say what is wrong with them.

    Whatever is described must be named, too.
    """
    if isinstance(names, str):
        raise ValueError(f"names is one text, {names!r}. Give a list of class names.")
    names, bounds = [str(name) for name in names], limits()
    if not names:
        raise ValueError(f"{where} names no class. Give at least one.")
    if not all(name.strip() for name in names):
        raise ValueError(f"{where}: a class has no name. Name each.")
    if (again := twice(names)) is not None:
        raise ValueError(f"{where}: class {again!r} is named twice.")
    if broken := [name for name in names if len(name.splitlines()) > 1]:
        raise ValueError(
            f"Class name {broken[0]!r} runs over several lines. Write names between "
            "commas, or one per line in a .txt file."
        )
    if len(names) > bounds.classes:
        raise ValueError(
            f"{where}: {len(names):,} classes are more than {bounds.classes:,}."
        )
    if len(longest := max(names, key=len)) > bounds.name_letters:
        raise ValueError(
            f"{where}: a name of {len(longest):,} letters ({longest[:20]!r}...) is "
            f"longer than {bounds.name_letters:,}. Put what describes a class behind a "
            "colon."
        )
    if strange := sorted(set(map(str, descriptions)) - set(names)):
        raise ValueError(f"{strange[0]!r} is described, but no class has that name.")
    return names


def twice(names: Iterable[str]) -> str | None:
    """Return the first name that was there before, None if there is none."""
    listed = pd.Index(list(names), dtype=object)
    return next(iter(listed[listed.duplicated()]), None)


def spoken(name: str) -> str:
    """Return a name as one would say it: words apart, however they were joined.

    Examples
    --------
    >>> from unseen.naming.classes import spoken
    >>> spoken("card_payment-fee"), spoken("cardLost"), spoken("HTTPError")
    ('card payment fee', 'card Lost', 'HTTP Error')
    """
    parts = re.sub(r"[_/|.]+|(?<=\w)-(?=\w)", " ", HUMPS.sub(" ", name))
    return " ".join(parts.split()) or name


def _pairs(source: Any) -> tuple[str, list[tuple[str, str]]]:
    """Return where the names come from, and (name, description) of each."""
    if isinstance(source, pd.DataFrame):
        return "The table of classes", _from_table(source)
    if isinstance(source, Mapping):
        return "The dict of classes", [
            (_name(name), _clean(text or "")) for name, text in source.items()
        ]
    if isinstance(source, os.PathLike):
        return str(source), _from_file(Path(source))
    if not isinstance(source, str):
        return "The list of classes", _from_lines(str(name) for name in source)
    path = existing_file(source)
    if path is None and source.strip().lower().endswith((".txt", ".csv")):
        path = Path(source.strip())  # whoever opens it says that it is not there
    if path is not None:
        return str(path), _from_file(path)
    lines = [line for line in source.strip().splitlines() if line.strip()]
    return "The list of classes", (
        _from_lines(lines) if len(lines) > 1 else _from_text(source)
    )


def existing_file(text: str | os.PathLike[str]) -> Path | None:
    """Return the file that a text names; None if there is none, however long it is."""
    return Path(text) if os.path.exists(text) and not os.path.isdir(text) else None


class _Entry(NamedTuple):
    """What stands between two commas; text is None if nothing describes the name."""

    name: str
    text: str | None
    quoted: bool


def _from_text(source: str) -> list[tuple[str, str]]:
    """Return (name, description) of each class of a list between commas."""
    entries = _entries(source)
    apart = [(_name(entry.name), _clean(entry.text or "")) for entry in entries]
    # "World: politics, war": is war a class, or does it describe the world?
    unclear = any(
        one.text is not None and not one.quoted and after.text is None
        for one, after in pairwise(entries)
    )
    if not unclear:
        return apart
    together = _grouped(entries)
    inner = any("," in text for _name, text in together[:-1])
    if entries[0].text is not None and inner:  # each name has its colon
        return together
    raise ValueError(
        f"The list of classes can be read in two ways: as {len(apart)} classes, "
        f"{_listing(apart)}; or as {len(together)}, {_listing(together)}. Put a class "
        "and what describes it in quotes, or each on a line of a .txt file."
    )


def _entries(source: str) -> list[_Entry]:
    entries, place = [], 0
    while place < len(source):
        found = ENTRY.match(source, place)
        if found is None:
            raise ValueError(
                f"The list of classes has a quote that is not closed, or more behind "
                f"it: {source[place : place + 60].strip()!r}."
            )
        place = found.end()
        name, text = found["whole"] or found["name"] or "", found["text"]
        quoted = found["whole"] is not None or found["quoted"] is not None
        if found["quoted"] is not None:
            text = found["quoted"]
        elif found["whole"] is not None and not found["colon"]:
            name, sign, rest = name.partition(":")
            text = rest if sign else None
        if name.strip() or text is not None:
            entries.append(_Entry(name, text, quoted))
    return entries


def _grouped(entries: list[_Entry]) -> list[tuple[str, str]]:
    """Return the classes if a description ends where the next ``name:`` starts."""
    pairs: list[tuple[str, str]] = []
    open_ended = False
    for entry in entries:
        if entry.text is None and open_ended and not entry.quoted:
            name, text = pairs[-1]
            pairs[-1] = name, _clean(f"{text}, {entry.name}")
            continue
        pairs.append((_name(entry.name), _clean(entry.text or "")))
        open_ended = entry.text is not None and not entry.quoted
    return pairs


def _listing(pairs: list[tuple[str, str]], most: int = 4) -> str:
    shown = [f'"{name}: {text}"' if text else name for name, text in pairs[:most]]
    return ", ".join(shown) + (", ..." if len(pairs) > most else "")


def _from_file(path: Path) -> list[tuple[str, str]]:
    try:
        text = read_small(path).decode("utf-8-sig")
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
        parts = [_clean(text) for text in cells[row] if isinstance(text, str)]
        parts += list(words[has[row]])
        named = isinstance(name, str) or not pd.isna(name)
        pairs.append((_name(name) if named else "", ", ".join(filter(None, parts))))
    return pairs


def _name(text: Any) -> str:
    """Return a name cleaned; one of several lines is left, to be refused."""
    return str(text) if len(str(text).strip().splitlines()) > 1 else _clean(str(text))


def _clean(text: str) -> str:
    """Return a text in one line, composed as Unicode prefers, without outer spaces."""
    return " ".join(unicodedata.normalize("NFC", str(text)).split())


def spell_out(text: str) -> str:
    """Return what Unicode calls the signs of a text without letters: 🦓 is a zebra."""
    if any(char.isalnum() for char in text):
        return ""
    signs = [char for char in text if unicodedata.category(char) == "So"][:50]
    spelt = (unicodedata.name(sign, "").lower() for sign in signs)
    return " ".join(words.removesuffix(" face") for words in spelt if words)
