"""Which sets of the paper lie below a folder, known by what the files hold.

``catalogue.toml`` beside this file says how to know a set: by the names of its classes,
or by how many there are where a layout has no names. Nothing is read but names and
shapes, so a look costs seconds however large the features are.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from unseen._words import listed
from unseen.loading.arrays import is_npz, open_npz
from unseen.loading.benchmarks import glance_awa, glance_cub, glance_sun
from unseen.loading.mat_pairs import glance_authors, glance_xlsa17
from unseen.loading.parts import Glance
from unseen.loading.tables import simple_name, standard_splits

__all__ = ["FoundSet", "catalogue", "find_sets", "what_was_there"]


class FoundSet(NamedTuple):
    """A set of the catalogue in one place; the lower the rank, the better for it."""

    rank: int
    path: str  # as ``load_data`` takes it
    key: str  # of the catalogue
    features: str
    tables: dict[str, str]  # class table by the part it plays
    named: bool  # whether the classes have names, so that it can be split by them


@cache
def catalogue() -> dict[str, Any]:
    """Return the content of ``catalogue.toml``."""
    text = files("unseen.loading").joinpath("catalogue.toml").read_text("utf-8")
    return tomllib.loads(text)


def find_sets(folders: Sequence[str | os.PathLike[str]]) -> list[FoundSet]:
    """Return every known set below some folders, the best for a set first."""
    found = [one for glance in glances(folders) for one in known_sets(glance)]
    return sorted(found)


def what_was_there(folders: Sequence[str | os.PathLike[str]]) -> str:
    """Say what was looked for, and what is below the folders instead."""
    titles = [entry["title"] for entry in catalogue().values() if "split" in entry]
    looked = (
        f"Looked for the classes of {listed(titles)}, below every folder, in: pairs "
        "res101.mat and att_splits.mat (xlsa17), Train.mat and Test.mat, .npz files "
        "with class_names, and the folders of AwA, CUB_200_2011 and SUNAttributeDB "
        "with features in them."
    )
    seen = []
    for glance in glances(folders):
        if not list(known_sets(glance)):
            count = len(glance.names) or sum(glance.counts)
            fault = glance.fault or f"{count} classes of another set"
            seen.append(f"{glance.path} ({fault})")
    names = [entry for folder in folders for entry in sorted(os.listdir(folder))[:20]]
    there = "; ".join(seen[:8]) or listed(names) or "nothing"
    return f"{looked} There was: {there}."


def glances(folders: Sequence[str | os.PathLike[str]]) -> tuple[Glance, ...]:
    """Look at all files of known layouts; once for the same folders."""
    return _glances(tuple(os.path.abspath(folder) for folder in folders))


@cache
def _glances(folders: tuple[str, ...]) -> tuple[Glance, ...]:
    found = {one.path: one for folder in folders for one in _below(Path(folder), 6)}
    return tuple(found.values())


def _below(place: Path, depth: int) -> Iterator[Glance]:
    """Yield what a place is, or else what is below it; a layout has no other in it."""
    if place.is_file():
        if place.suffix == ".npz" and is_npz(place):
            yield glance_npz(place)
        elif place.suffix == ".mat":  # one of a pair: its folder counts
            yield from _below(place.parent, 0)
        return
    for look in (glance_xlsa17, glance_authors, glance_awa, glance_cub, glance_sun):
        found = list(look(place))
        if found:
            yield from found
            return
    for entry in sorted(place.iterdir()) if depth else []:
        if entry.is_dir() or entry.suffix == ".npz":
            yield from _below(entry, depth - 1)


def glance_npz(path: Path) -> Glance:
    """Look at a NumPy archive: names of classes, and the tables of as many rows."""
    try:
        with open_npz(path) as arrays:
            names = arrays.names("class_names")
            shapes = arrays.shapes
            rows, _ = shapes["X"]
    except Exception as error:  # whatever else is a zip of arrays
        text = " ".join(str(error).removeprefix(f"{path}: ").split())
        return Glance(str(path), fault=f"no set: {text:.80}")
    tables = {
        key.removeprefix("classes/"): shape[1]
        for key, shape in shapes.items()
        if key != "X" and len(shape) == 2 and shape[0] == len(names)
    }
    return Glance(str(path), path.stem, tuple(names), tables, rows)


def known_sets(glance: Glance) -> Iterator[FoundSet]:
    """Yield which sets of the catalogue, at most one, a glance is of."""
    for key, entry in catalogue().items():
        if "split" not in entry or glance.fault:
            continue
        split = standard_splits()[entry["split"]]
        if glance.names:
            wanted = {simple_name(name) for name in (*split.seen, *split.unseen)}
            mine = {simple_name(name) for name in glance.names}
            right = len(wanted & mine) >= 0.95 * max(len(wanted), len(mine))
        else:
            right = glance.counts == (len(split.seen), len(split.unseen))
        if right:
            known = entry.get("known", {}).get(Path(glance.path).stem, {})
            features = known.get("features", glance.features)
            rank, tables = _rank(glance, entry), _roles(entry, glance)
            named = bool(glance.names)
            yield FoundSet(rank, glance.path, key, features, tables, named)


def _roles(entry: dict[str, Any], glance: Glance) -> dict[str, str]:
    """Return the class table for every part: by its name, or else by its width."""
    if list(glance.tables) == ["semantic"]:  # of the authors' program: no names
        width = glance.tables["semantic"]
        return {"attributes" if width == entry["width"] else "words": "semantic"}
    parts = {part: names for part, names in entry.items() if isinstance(names, list)}
    found = {}
    for part, names in parts.items():
        mine = [name for name in names if name in glance.tables]
        if mine:
            found[part] = mine[0]
    return found


def _rank(glance: Glance, entry: dict[str, Any]) -> int:
    """Rank VGG and the authors' files first, AwA2 and shallow features last."""
    name = f"{glance.features} {glance.path}".lower()
    deep = [word in name for word in ("vgg", "train.mat", "res", "googlenet", "decaf")]
    place = deep.index(True) if any(deep) else len(deep)
    return place + 10 * (glance.rows > 1.1 * entry["rows"])
