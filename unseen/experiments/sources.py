"""Which data sets a plan can have: what is in the user's folders, and what is not.

Sets of ``unseen/loading/catalogue.toml`` are known by their content, wherever below the
folders they lie. Any other set is named by its path, its class tables by their names.
"""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unseen._command import command_line
from unseen._download import hash_of
from unseen.data import ZeroShotData
from unseen.loading.catalogue import (
    best_first,
    catalogue,
    is_named,
    roles_of,
)
from unseen.loading.parts import RawData


@dataclass(frozen=True)
class Source:
    """One file or folder that stands for a data set."""

    path: str  # file, folder or bundled set, as ``load_data`` takes it
    name: str  # what it is called in ``results.csv``
    about: str  # what its features are, where that is known
    tables: dict[str, Any]  # class tables by the part they play: "attributes"
    n_folds: int = 5  # of the class-wise search
    foreign: str = ""  # where rows of other classes are
    options: dict[str, str] = field(default_factory=dict)  # unseen, column or id

    def load(self, part: str) -> ZeroShotData:
        """Load the set with the class table that plays a part."""
        from unseen.loading import load_data

        return load_data(self.path, classes=self.tables[part], **self.options)

    def classes(self, part: str) -> str:
        """Return the name of a class table in ``results.csv``; ``+`` fuses."""
        table = self.tables[part] or ""
        if table and "/" in self.name:
            return part
        return table if isinstance(table, str) else "+".join(table)

    def digest(self, part: str) -> str:
        """Return the digest of all that decides what a run loads."""
        path = Path(self.path)
        beside = path.parent.glob(f"{glob.escape(path.stem)}.classes.*")
        tables = np.atleast_1d(self.tables[part] or []).tolist()
        given = [f"{key} {one}" for key, one in sorted(self.options.items())]
        return digest_of(
            [self.path, *map(str, sorted(beside)), *tables, *given, self.foreign]
        )


def digest_of(given: Sequence[str]) -> str:
    """Return the SHA-256 of files and folders, by content, and of other texts."""
    sha = hashlib.sha256()
    for one in given:
        places = [Path(one), *sorted(Path(one).rglob("*"))] if one else []
        files = [hash_of(place) for place in places if place.is_file()]
        sha.update(" ".join(files or [one]).encode())
    return sha.hexdigest()


def find_source(
    data: str, part: str, folders: Sequence[str | Path], split: str = ""
) -> Source | None:
    """Find a data set with a class table among the user's folders; None if it is not.

    ``data`` is a set of the catalogue, or the path of any other, by itself or below one
    of the folders; ``part`` the part a class table plays, such as "attributes" or
    "attributes_and_words", or for a path the name of the table, or names joined by
    ``+``; ``split`` who is unseen instead of those the set names.
    """
    options = {"unseen": split} if split else {}
    entry = catalogue().get(data)
    if entry is None:
        place, names = find_path(data, folders), part.split("+")
        tables = {part: names if len(names) > 1 else part or None}
        name = Path(data).as_posix() + (f"@{split}" if split else "")
        if place is None:
            return None
        return Source(str(place.absolute()), name, "", tables, options=options)
    if "bundled" in entry:
        path = entry["bundled"]
        tables = _tables(part, {role: role for role in entry})
        folds = entry.get("folds", 5)
        return Source(path, path, "", tables, folds, "", options) if tables else None
    for raw in best_first(folders, data):
        place = Path(raw.where)
        if tables := _tables(part, roles_of(raw, entry)):
            name = _name(raw, data, entry, split)
            options = options if name.endswith(f"@{split}") else {}
            about = place.stem if place.is_file() else Path(raw.called("X")).name
            about = entry.get("known", {}).get(place.stem, {}).get("features", about)
            return Source(raw.where, name, about, tables, options=options)
    return None


def _tables(part: str, roles: dict[str, str]) -> dict[str, Any]:
    """Return the class table, or tables, for a part; nothing if one is absent."""
    names = part.split("_and_")
    if not all(name in roles for name in names):
        return {}
    tables = [roles[name] for name in names]
    return {part: tables if len(tables) > 1 else tables[0]}


def _name(raw: RawData, key: str, entry: dict[str, Any], split: str) -> str:
    """Return what ``results.csv`` calls a set; behind @ stands who is unseen."""
    stem = Path(raw.where).stem
    known = entry.get("known", {}).get(stem)
    if not is_named(raw):
        return f"{key}/{stem}@own"
    if known is None:
        return f"{key}/{stem}" + (f"@{split}" if split else "")
    return stem if split in ("", known["split"]) else f"{stem}@{split}"


def plays(data: str, classes: str, column: Any) -> bool:
    """Tell whether a set, as ``results.csv`` calls it, is that of a plan's column."""
    entry = catalogue().get(column.data)
    name, _, split = data.partition("@")
    if entry is None:
        where = Path(column.data).as_posix()
        return (name, split, classes) == (where, column.split, column.classes)
    if name.startswith(f"{column.data}/"):
        return classes == column.classes and split in (column.split, "own")
    known = entry.get("known", {}).get(name)
    if known is None and name != entry.get("bundled"):
        return False
    usual = known["split"] if known else ""
    roles = column.classes.split("_and_")
    tables = "+".join(entry[role][0] for role in roles if role in entry)
    return classes == tables and (split or usual) == (column.split or usual)


def find_path(data: str, folders: Sequence[str | Path]) -> Path | None:
    """Return where a path leads, by itself or below one of the folders."""
    places = [Path(data), *(Path(folder, data) for folder in folders)]
    return next((place for place in places if place.exists()), None)


def how_to_fetch(data: str) -> str:
    """Say how to get a data set that is absent."""
    from unseen.loading.fetch import CATALOGUE

    entry = catalogue().get(data, {})
    if "fetch" not in entry:
        return (
            f"There is no {data}. Give its path in the plan, or its folder as --data."
        )
    name = entry["fetch"]
    fetch = command_line("data", "fetch", name, "--out", "benchmarks")
    return (
        f"{entry['title']} is not in --data. Fetch it: {fetch}; "
        f"then add: --data benchmarks/{name}/{CATALOGUE[name].below}"
    )
