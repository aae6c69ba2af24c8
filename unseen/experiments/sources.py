"""Which data sets a plan can have: what is in the user's folders, and what is not.

``sources.toml`` names every set of the paper with the files that may stand for it, best
first. Any other set is named by its path, and its class tables by their names.
"""

from __future__ import annotations

import glob
import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from unseen._command import command_line
from unseen.data import ZeroShotData

__all__ = ["Source", "find_source", "how_to_fetch", "known_sources"]


@dataclass(frozen=True)
class Source:
    """One file that stands for a data set of the paper."""

    path: str  # file, folder or bundled set, as ``load_data`` takes it
    name: str  # what it is called in ``results.csv``
    about: str  # how it differs from what the paper had
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
        return table if isinstance(table, str) else "+".join(table)

    def origins(self, part: str) -> dict[str, str]:
        """Return the digest of each file that decides what a run loads, by its name.

        The split and the column of labels count as part of the rows.
        """
        given = [self.options.get(key, "") for key in ("unseen", "column", "id")]
        found = {self.name: digest_of([*with_class_tables(self.path), *given])}
        found |= {
            table: digest_of([table])
            for table in np.atleast_1d(self.tables[part] or []).tolist()
            if Path(table).is_file()
        }
        if self.foreign:
            found[f"foreign to {self.name}"] = digest_of([self.foreign])
        return found


def with_class_tables(path: str) -> list[str]:
    """Return a path with the class tables that are read beside it."""
    beside = Path(path).parent.glob(f"{glob.escape(Path(path).stem)}.classes.*")
    return [path, *map(str, beside)] if Path(path).is_file() else [path]


def digest_of(given: Sequence[str]) -> str:
    """Return the SHA-256 of files and folders, by content, and of other texts."""
    sha = hashlib.sha256()
    for one in given:
        path = Path(one)
        parts = sorted(path.rglob("*")) if one and path.is_dir() else [path]
        for part in parts:
            if part.is_file():
                with open(part, "rb") as file:
                    sha.update(hashlib.file_digest(file, "sha256").digest())
            elif part == path:
                sha.update(hashlib.sha256(one.encode()).digest())
    return sha.hexdigest()


@cache
def known_sources() -> dict[str, Any]:
    """Return the content of ``sources.toml``."""
    text = files("unseen.experiments").joinpath("sources.toml").read_text("utf-8")
    return tomllib.loads(text)


def find_source(data: str, part: str, folders: Sequence[str | Path]) -> Source | None:
    """Find a data set with a class table among the user's folders; None if it is not.

    ``data`` is a set of ``sources.toml``, or the path of any other, by itself or below
    one of the folders; ``part`` the part a class table plays, such as "attributes", or
    for a path the name of the table, or names joined by ``+``.
    """
    if data not in known_sources():
        place = find_path(data, folders)
        names = part.split("+")
        tables = {part: names if len(names) > 1 else part or None}
        return Source(str(place), Path(data).as_posix(), "", tables) if place else None
    for entry in known_sources()[data]["source"]:
        path = entry.get("bundled") or _locate(entry["file"], folders)
        if path and part in entry:
            name = entry.get("bundled") or Path(entry["file"]).stem
            folds = entry.get("folds", 5)
            return Source(str(path), name, entry["about"], dict(entry), folds)
    return None


def find_path(data: str, folders: Sequence[str | Path]) -> Path | None:
    """Return where a path leads, by itself or below one of the folders.

    A folder may end as the path begins: ``sets/birds.npz`` is found in ``my/sets``.
    """
    parts = Path(data).parts
    places = [Path(data)]
    for folder in map(Path, folders):
        for n in range(len(parts)):
            if folder.resolve().parts[-n:] == parts[:n] or n == 0:
                places.append(folder.joinpath(*parts[n:]))
    return next((place for place in places if place.exists()), None)


def _locate(name: str, folders: Sequence[str | Path]) -> Path | None:
    for folder in map(Path, folders):
        for path in (folder / name, folder):
            if path.name == Path(name).name and path.exists():
                return path
    return None


def how_to_fetch(data: str) -> str:
    """Say how to get a data set that is absent."""
    from unseen.loading.fetch import CATALOGUE

    entry = known_sources().get(data, {})
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
