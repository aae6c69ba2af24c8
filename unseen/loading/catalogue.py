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
from typing import Any

from unseen._words import listed
from unseen.loading.parts import RawData, readers
from unseen.loading.tables import simple_name, standard_splits

SUFFIXES = (".npz", ".h5")  # of files that are looked into


@cache
def catalogue() -> dict[str, Any]:
    """Return the content of ``catalogue.toml``."""
    text = files("unseen.loading").joinpath("catalogue.toml").read_text("utf-8")
    return tomllib.loads(text)


def best_first(folders: Sequence[str | os.PathLike[str]], key: str) -> list[RawData]:
    """Return what is a set of the catalogue below some folders, the best for it first.

    VGG and the authors' files come first, AwA2 and shallow features last.
    """
    entry = catalogue()[key]
    there = look(*map(os.path.abspath, folders)).values()
    mine = [raw for raw in there if isinstance(raw, RawData) and is_set(raw, entry)]

    def rank(raw: RawData) -> tuple[int, str]:
        name = f"{raw.called('X')} {raw.where}".lower()
        deep = ("vgg", "train.mat", "res", "googlenet", "decaf")
        place = [word in name for word in deep] + [True]
        return place.index(True) + 10 * (len(raw.y) > 1.1 * entry["rows"]), raw.where

    return sorted(mine, key=rank)


def what_was_there(folders: Sequence[str | os.PathLike[str]]) -> str:
    """Say what was looked for, and what is below the folders instead."""
    titles = [entry["title"] for entry in catalogue().values() if "split" in entry]
    seen = []
    for place, raw in look(*map(os.path.abspath, folders)).items():
        if isinstance(raw, str):
            seen.append(f"{place} ({raw})")
        elif not any(is_set(raw, entry) for entry in catalogue().values()):
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


def is_set(raw: RawData, entry: dict[str, Any]) -> bool:
    """Tell whether something is a set of the catalogue, by its classes."""
    if "split" not in entry:
        return False
    split = standard_splits()[entry["split"]]
    mine, wanted = (
        {simple_name(name) for name in names}
        for names in (raw.class_names, (*split.seen, *split.unseen))
    )
    if not is_named(raw) and raw.unseen is not None:
        return (len(raw.unseen), len(mine)) == (len(split.unseen), len(wanted))
    return len(wanted & mine) >= 0.95 * max(len(wanted), len(mine))


def is_named(raw: RawData) -> bool:
    """Tell whether classes have names; the authors' program has none."""
    return list(raw.tables) != ["semantic"]


def roles_of(raw: RawData, entry: dict[str, Any]) -> dict[str, str]:
    """Return the class table for every part: by its name, or else by its width."""
    if not is_named(raw):
        width = raw.tables["semantic"].shape[1]
        return {"attributes" if width == entry["width"] else "words": "semantic"}
    lists = {part: names for part, names in entry.items() if isinstance(names, list)}
    found = {part: [n for n in lists[part] if n in raw.tables] for part in lists}
    return {part: names[0] for part, names in found.items() if names}
