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

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen.limits import limits, read_small

# "name: text", name: "text", or what has no quotes, up to the next comma
ENTRY = re.compile(r'\s*(?:([^",:]*:)?\s*"([^"]*)"\s*|([^,]*))(?:,|$)')


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
    found = [  # a name of several lines is left as it is, to be refused
        (name if len(name.strip().splitlines()) > 1 else _clean(name), text)
        for name, text in pairs
    ]
    names = checked_names([name for name, _ in found], where)
    described = {name: _clean(text) or spell_out(name) for name, text in found}
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
        raise ValueError(f"{where}: a class has no name. Give every class a name.")
    if (again := twice(names)) is not None:
        raise ValueError(f"{where}: class {again!r} is named twice.")
    longest = max(names, key=len)
    if len(names) > bounds.classes or len(longest) > bounds.name_letters:
        raise ValueError(
            f"{where}: {len(names):,} classes, a name of {len(longest):,} letters "
            f"({longest[:20]!r}...). Give at most {bounds.classes:,} and "
            f"{bounds.name_letters:,}; put longer descriptions after a colon."
        )
    if broken := [name for name in names if len(name.splitlines()) > 1]:
        raise ValueError(
            f"Class name {broken[0]!r} runs over several lines. Write names between "
            "commas, or one per line in a .txt file."
        )
    if strange := sorted(set(map(str, descriptions)) - set(names)):
        raise ValueError(
            f"{strange[0]!r} has a description, but it is not one of the classes."
        )
    return names


def twice(names: Iterable[str]) -> str | None:
    """Return the first name that was there before, None if there is none."""
    listed = pd.Index(list(names), dtype=object)
    return next(iter(listed[listed.duplicated()]), None)


def spoken(name: str) -> str:
    """Return a name as one would say it: words apart, however they were joined."""
    # cardLost -> card Lost, HTTPError -> HTTP Error
    humps = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    parts = re.sub(r"[_/|.]+|(?<=\w)-(?=\w)", " ", re.sub(humps, " ", name))
    return " ".join(parts.split()) or name


def _pairs(source: Any) -> tuple[str, list[tuple[str, str]]]:
    """Return where the names come from, and (name, description) of each."""
    if isinstance(source, pd.DataFrame):
        return "The table of classes", _from_table(source)
    if isinstance(source, Mapping):
        pairs = [(str(name), str(text or "")) for name, text in source.items()]
        return "The dict of classes", pairs
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
    pairs = _from_lines(lines) if len(lines) > 1 else _from_text(source)
    return "The list of classes", pairs


def existing_file(text: str | os.PathLike[str]) -> Path | None:
    """Return the file that a text names; None if there is none, however long it is."""
    return Path(text) if os.path.exists(text) and not os.path.isdir(text) else None


def _from_text(source: str) -> list[tuple[str, str]]:
    """Return (name, description) of each class of a list between commas."""
    apart: list[tuple[str, str]] = []  # every comma ends a class
    together: list[tuple[str, str]] = []  # a description ends at the next "name:"
    open_ended = False
    for head, quoted, plain in ENTRY.findall(source):
        if re.match(r'([^:]*:\s*)?"', plain):
            raise ValueError(
                "The list of classes has a quote that is not closed, or more behind "
                f"it: {plain[:60].strip()!r}."
            )
        name, colon, text = (head + quoted or plain).partition(":")
        if not (name.strip() or colon):
            continue
        apart.append((name.strip(), text.strip()))
        if open_ended and not colon and not quoted:
            # "World: politics, war": is war a class, or does it describe the world?
            last, before = together[-1]
            together[-1] = last, f"{before}, {name.strip()}"
        else:
            together.append(apart[-1])
            open_ended = bool(colon and not quoted)
    if len(together) == len(apart):
        return apart
    if apart[0][1] and any("," in text for _, text in together[:-1]):
        return together  # each name has its colon
    ways = []
    for pairs in (apart, together):
        some = [f'"{name}: {text}"' if text else name for name, text in pairs[:4]]
        ways.append(", ".join(some + ["..."] * (len(pairs) > 4)))
    raise ValueError(
        f"The list of classes can be read in two ways: as {len(apart)} classes, "
        f"{ways[0]}; or as {len(together)}, {ways[1]}. Put a class and what describes "
        "it in quotes, or each on a line of a .txt file."
    )


def _from_file(path: Path) -> list[tuple[str, str]]:
    try:
        text = read_small(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text. Save it as UTF-8.") from error
    if path.suffix.lower() != ".csv":
        lines = (line for line in text.splitlines() if line.strip())
        return _from_lines(line for line in lines if not line.startswith("#"))
    try:
        table = pd.read_csv(StringIO(text), skipinitialspace=True)
    except pd.errors.EmptyDataError:
        return []
    except (pd.errors.ParserError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is not a table of commas ({reason}).") from error
    return _from_table(table.set_index(table.columns[0]))


def _from_lines(lines: Iterable[str]) -> list[tuple[str, str]]:
    parts = (line.partition(":") for line in lines)
    return [(name, text) for name, _, text in parts]


def _from_table(table: pd.DataFrame) -> list[tuple[str, str]]:
    numeric = table.select_dtypes(include=["number", "bool"]).astype(float)
    texts = table.drop(columns=numeric.columns)
    middle = (numeric.min() + numeric.max()) / 2
    much = numeric.gt(middle) | (numeric.gt(0) & numeric.min().eq(numeric.max()))
    words = np.array([str(column).replace("_", " ") for column in numeric])
    cells, has = texts.to_numpy(dtype=object), much.to_numpy(dtype=bool)
    pairs = []
    for row, name in enumerate(table.index):
        parts = [text.strip() for text in cells[row] if isinstance(text, str)]
        parts += list(words[has[row]])
        pairs.append(
            ("" if pd.isna(name) else str(name), ", ".join(filter(None, parts)))
        )
    return pairs


def _clean(text: str) -> str:
    """Return a text in one line, composed as Unicode prefers, without outer spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def spell_out(text: str) -> str:
    """Return what Unicode calls the signs of a text without letters: 🦓 is a zebra."""
    if any(char.isalnum() for char in text):
        return ""
    signs = [char for char in text if unicodedata.category(char) == "So"][:50]
    spelt = (unicodedata.name(sign, "").lower() for sign in signs)
    return " ".join(words.removesuffix(" face") for words in spelt if words)
