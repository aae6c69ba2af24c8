"""Which class table, and who is unseen: from the set itself or from anywhere else.

``classes=`` of :func:`unseen.load_data` may name tables of the set, point to files, or
be frames; :func:`choose_table` makes one table of whatever it is. ``unseen=`` may be
names, a file of names, or a standard split, whose class names and sources stand in
``standard_splits.json`` beside this file. Names are compared without case, numbering
and separators, so ``001.Black_footed_Albatross`` is ``Black footed Albatross``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen._words import listed
from unseen.data import as_pandas, fuse_tables
from unseen.loading.arrays import is_npy, open_npy
from unseen.loading.frames import (
    frame_to_table,
    is_table,
    read_table_of_classes,
)
from unseen.loading.parts import RawData, check_count, read_lines
from unseen.loading.word_vectors import embed_names, is_word_vectors
from unseen.naming.classes import existing_file, read_classes


def choose_table(raw: RawData, classes: Any) -> pd.DataFrame:
    """Return the class table that was asked for, several of them fused."""
    if classes is None:
        return _default(raw)
    if isinstance(classes, list | tuple):
        classes = {_name(item): item for item in classes}
    elif not isinstance(classes, Mapping):
        return _one(raw, _name(classes), classes)
    found = {str(key): _one(raw, str(key), item) for key, item in classes.items()}
    if any(table.columns.nlevels == 2 for table in found.values()):
        raise TypeError("A table with two-level columns joins several. Give it alone.")
    return fuse_tables(found)


def read_class_table(
    path: str | os.PathLike[str], class_names: np.ndarray
) -> pd.DataFrame:
    """Read one class table from a file of its own, indexed by class name.

    CSV, parquet or .xlsx with one row per class and its name in a column ``class``,
    ``name``, ``class_name`` or ``label``, or in the first column; columns ``split`` and
    ``unseen`` are no dimensions. Or ``.npy`` with rows in the order of ``class_names``.
    Or a file of word vectors, in which the names are looked up.
    """
    path = Path(path)
    if is_npy(path):
        values = np.array(open_npy(path))
        check_count(path, len(values), len(class_names), "classes")
        return pd.DataFrame(values, index=pd.Index(class_names))
    if is_word_vectors(path):
        found = embed_names(class_names, path)
        absent = [n for n in class_names.tolist() if n not in found.table.index]
        if absent:
            raise ValueError(
                f"{path} has no vector for {listed(absent, 5)}. Give other vectors, or "
                "build the table with embed_names and add what is missing."
            )
        return found.table
    if is_table(path):
        return read_table_of_classes(path)[0]
    raise ValueError(
        f"{path} is not a class table. Give CSV, parquet, .xlsx, .npy or word vectors."
    )


def _default(raw: RawData) -> pd.DataFrame:
    if not raw.tables:
        raise ValueError(
            f"{raw.where}: there is no class table. Give one with classes=, which "
            "takes a file with one row of numbers per class, or word vectors to look "
            "the class names up in."
        )
    if raw.fused:
        return fuse_tables(raw.tables)
    name, table = next(iter(raw.tables.items()))
    return table.rename_axis(columns=name or None)


def _one(raw: RawData, name: str, source: Any) -> pd.DataFrame:
    if isinstance(source, str) and source in raw.tables:
        return raw.tables[source].rename_axis(columns=source)
    if isinstance(source, str | os.PathLike):
        if not os.path.exists(source):  # however long the text is
            raise ValueError(
                f"{raw.where}: there is no class table {str(source)!r}, nor a file "
                "of that name. The tables are: "
                f"{listed(filter(None, raw.tables)) or 'none that has a name'}."
            )
        return read_class_table(source, raw.class_names).rename_axis(columns=name)
    source = as_pandas(source)
    if not isinstance(source, pd.DataFrame):
        raise TypeError(
            f"{raw.where}: classes is a {type(source).__name__}. Give the name of a "
            "table, a file, a frame, or a list or mapping of these."
        )
    if source.columns.nlevels == 2:
        return source
    return frame_to_table(source, f"{raw.where}: classes")[0]


def _name(source: Any) -> str:
    if isinstance(source, str) and not existing_file(source):
        return source  # a table of the set
    return Path(source).stem if isinstance(source, str | os.PathLike) else "classes"


def choose_unseen(unseen: Any, known: list[str]) -> np.ndarray:
    """Return the unseen classes: by name, as a standard split, or from a file."""
    if unseen == "proposed" and "proposed" not in known:
        unseen = _proposed(known)
    if isinstance(unseen, str) and unseen in standard_splits():
        unseen = standard_splits()[unseen].unseen
    elif isinstance(unseen, str | os.PathLike):
        simple = {simple_name(name) for name in known}
        names = [name.strip() for name in str(unseen).split(",")]
        path = existing_file(unseen)
        if not all(simple_name(name) in simple for name in names):
            names = read_lines(path) if path else read_classes(str(unseen)).names
        if path is None and not any(simple_name(name) in simple for name in names):
            raise ValueError(
                f"unseen={', '.join(names)!r} names no class of the table, no "
                "file of class names and no standard split. Its classes are "
                f"{listed(known, 5)}; the splits are {listed(standard_splits())}."
            )
        unseen = names
    return match_names([str(name) for name in unseen], known)


def _proposed(known: list[str]) -> str:
    """Return the name of the proposed split (Xian et al.) of the set with classes."""
    mine = {simple_name(name) for name in known}
    proposed = [name for name in standard_splits() if name.endswith("-ps")]
    for name in proposed:
        if mine >= {simple_name(one) for one in standard_splits()[name].unseen}:
            return name
    raise ValueError(
        f"There is no proposed split of {listed(known, 3)}; only {listed(proposed)}."
    )


# ---- the standard splits of the field ------------------------------------------------


class Split(NamedTuple):
    """Who is seen and who is not, by class name."""

    name: str
    title: str
    source: str
    seen: list[str]
    unseen: list[str]


@cache
def standard_splits() -> dict[str, Split]:
    """Return the standard splits of the field by name; ``unseen=`` takes such a name.

    Returns
    -------
    dict of str to Split

    Examples
    --------
    >>> from unseen.loading import standard_splits
    >>> {name: len(split.unseen) for name, split in standard_splits().items()}
    {'awa': 10, 'awa-ps': 10, 'cub-ss': 50, 'cub-ps': 50, 'sun-ps': 72, 'sun-707': 10,
     'apy-ps': 12}
    """
    text = resources.files("unseen.loading").joinpath("standard_splits.json")
    entries = json.loads(text.read_text("utf-8"))
    return {name: Split(name=name, **entry) for name, entry in entries.items()}


def match_names(wanted: Sequence[str], known: Sequence[str]) -> np.ndarray:
    """Return for every wanted name the one it is known by."""
    exact = set(known)
    plain = {simple_name(name): name for name in reversed(list(known))}
    found = [name if name in exact else plain.get(simple_name(name)) for name in wanted]
    missing = [w for w, name in zip(wanted, found, strict=True) if name is None]
    if missing:
        raise ValueError(
            f"{len(missing)} of {len(found)} classes are not in the set: "
            f"{listed(missing, 5)}. Its classes are {listed(known, 5)}."
        )
    return np.array([name for name in found if name is not None], dtype=str)


def simple_name(name: str) -> str:
    """Return a name without case, numbering and separators."""
    return re.sub(r"[\W_]+", "", re.sub(r"^\d+\.", "", name)).lower()
