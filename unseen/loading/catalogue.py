"""Which sets of the paper lie below a folder, known by what the files hold.

``catalogue.toml`` beside this file says how to know a set: by the names of its classes,
or by how many there are where a layout has no names. No features are read, so a look
costs seconds however large they are.
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
from unseen.loading.parts import RawData, readers
from unseen.loading.tables import simple_name, standard_splits

__all__ = ["FoundSet", "catalogue", "find_sets", "what_was_there"]


SUFFIXES = (".npz", ".h5")  # of files that are looked into


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
    there = look(*map(os.path.abspath, folders)).values()
    return sorted(one for raw in there for one in known_sets(raw))


def what_was_there(folders: Sequence[str | os.PathLike[str]]) -> str:
    """Say what was looked for, and what is below the folders instead."""
    titles = [entry["title"] for entry in catalogue().values() if "split" in entry]
    seen = []
    for place, raw in look(*map(os.path.abspath, folders)).items():
        if isinstance(raw, str):
            seen.append(f"{place} ({raw})")
        elif not list(known_sets(raw)):
            seen.append(f"{place} ({len(raw.class_names)} classes of another set)")
    names = [entry for folder in folders for entry in sorted(os.listdir(folder))[:20]]
    return (
        f"Looked for the classes of {listed(titles)}, below every folder, in: pairs "
        "res101.mat and att_splits.mat (xlsa17), Train.mat and Test.mat, .npz and .h5 "
        "files with class_names, and the folders of AwA, CUB_200_2011 and "
        "SUNAttributeDB with features in them. There was: "
        f"{'; '.join(seen[:8]) or listed(names) or 'nothing'}."
    )


@cache
def look(*folders: str) -> dict[Path, RawData | str]:
    """Look at all that is below some folders; once for the same folders."""
    return {place: raw for one in folders for place, raw in _below(Path(one), 6)}


def _below(place: Path, depth: int) -> Iterator[tuple[Path, RawData | str]]:
    """Yield what a place is, or else what is below it; a layout has no other in it.

    What cannot be read is the reason why.
    """
    if place.suffix == ".mat" and place.is_file():  # one of a pair: its folder counts
        place = place.parent
    fault = ""
    known = (one for one in readers if not one.by_column and one.recognises(place))
    if (reader := next(known, None)) is not None:
        try:
            yield place, reader.read(place)
            return
        except (ValueError, OSError, ImportError) as error:
            fault = " ".join(str(error).removeprefix(f"{place}: ").split())
    inside = sorted(place.iterdir()) if depth and place.is_dir() else []
    sets = [entry for entry in inside if entry.is_dir() or entry.suffix in SUFFIXES]
    found = [one for entry in sets for one in _below(entry, depth - 1)]
    yield from found or ([(place, f"{fault:.200}")] if fault else [])


def known_sets(raw: RawData | str) -> Iterator[FoundSet]:
    """Yield which sets of the catalogue, at most one, something is."""
    if isinstance(raw, str):
        return
    named = list(raw.tables) != ["semantic"]  # the authors' program has no names
    place, mine = Path(raw.where), {simple_name(name) for name in raw.class_names}
    for key, entry in catalogue().items():
        if "split" not in entry:
            continue
        split = standard_splits()[entry["split"]]
        wanted = {simple_name(name) for name in (*split.seen, *split.unseen)}
        right = len(wanted & mine) >= 0.95 * max(len(wanted), len(mine))
        if not named and raw.unseen is not None:
            right = (len(raw.unseen), len(mine)) == (len(split.unseen), len(wanted))
        if right:
            about = place.stem if place.is_file() else Path(raw.called("X")).name
            known = entry.get("known", {}).get(place.stem, {})
            rank, tables = _rank(raw, entry), _roles(entry, raw)
            features = known.get("features", about)
            yield FoundSet(rank, raw.where, key, features, tables, named)


def _roles(entry: dict[str, Any], raw: RawData) -> dict[str, str]:
    """Return the class table for every part: by its name, or else by its width."""
    if list(raw.tables) == ["semantic"]:
        width = raw.tables["semantic"].shape[1]
        return {"attributes" if width == entry["width"] else "words": "semantic"}
    found = {}
    for part, names in entry.items():
        mine = [n for n in names if n in raw.tables] if isinstance(names, list) else []
        if mine:
            found[part] = mine[0]
    return found


def _rank(raw: RawData, entry: dict[str, Any]) -> int:
    """Rank VGG and the authors' files first, AwA2 and shallow features last."""
    name = f"{raw.called('X')} {raw.where}".lower()
    deep = [word in name for word in ("vgg", "train.mat", "res", "googlenet", "decaf")]
    place = deep.index(True) if any(deep) else len(deep)
    return place + 10 * (len(raw.y) > 1.1 * entry["rows"])
