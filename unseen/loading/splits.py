"""The standard splits of the field: class names only, features are the user's.

Their sources stand in ``standard_splits.json`` beside this file. Names are
compared without case, numbering and separators, so ``001.Black_footed_Albatross``
is ``Black footed Albatross``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unseen._words import listed
from unseen.loading.parts import read_lines
from unseen.naming.classes import existing_file, read_classes

if TYPE_CHECKING:
    from unseen.loading.parts import Parts

__all__ = ["Split", "load_split", "match_names", "standard_splits"]


@dataclass(frozen=True)
class Split:
    """Who is seen and who is not, by class name.

    Examples
    --------
    >>> from unseen.loading import load_split
    >>> split = load_split("apy-ps")
    >>> split.title, len(split.seen), len(split.unseen)
    ('aPascal-aYahoo, proposed split, 20/12', 20, 12)
    """

    name: str
    title: str
    source: str
    seen: tuple[str, ...]
    unseen: tuple[str, ...]


@cache
def standard_splits() -> dict[str, Split]:
    """Return the standard splits by name.

    Examples
    --------
    >>> from unseen.loading import standard_splits
    >>> list(standard_splits())
    ['awa', 'awa-ps', 'cub-ps', 'sun-ps', 'sun-707', 'apy-ps']
    """
    text = resources.files("unseen.loading").joinpath("standard_splits.json")
    return {
        name: Split(
            name,
            entry["title"],
            entry["source"],
            tuple(entry["seen"]),
            tuple(entry["unseen"]),
        )
        for name, entry in json.loads(text.read_text("utf-8")).items()
    }


def load_split(name: str) -> Split:
    """Return one standard split.

    Parameters
    ----------
    name : str
        ``"awa"`` (40/10), ``"awa-ps"``, ``"cub-ps"`` (150/50), ``"sun-ps"`` (645/72),
        ``"sun-707"`` (707/10) or ``"apy-ps"`` (20/12).

    Returns
    -------
    Split

    Examples
    --------
    >>> from unseen.loading import load_split
    >>> load_split("awa").unseen[:3]
    ('chimpanzee', 'giant+panda', 'leopard')
    """
    try:
        return standard_splits()[name]
    except KeyError:
        raise ValueError(
            f"There is no standard split {name!r}. "
            f"The splits are {listed(standard_splits())}."
        ) from None


def match_names(wanted: Sequence[str], known: Sequence[str]) -> np.ndarray:
    """Return for every wanted name the one it is known by.

    Parameters
    ----------
    wanted : sequence of str
    known : sequence of str

    Returns
    -------
    ndarray of str
        Entries of ``known``; raises if one is missing.

    Examples
    --------
    >>> from unseen.loading.splits import match_names
    >>> match_names(["Black footed Albatross"], ["001.Black_footed_Albatross"]).item()
    '001.Black_footed_Albatross'
    """
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
    """Return a name without case, numbering and separators.

    Examples
    --------
    >>> from unseen.loading.splits import simple_name
    >>> simple_name("014.Indigo_Bunting"), simple_name("grizzly+bear")
    ('indigobunting', 'grizzlybear')
    """
    return re.sub(r"[\W_]+", "", re.sub(r"^\d+\.", "", name)).lower()


def choose_unseen(
    parts: Parts, unseen: Any, table: pd.DataFrame, y: np.ndarray
) -> np.ndarray:
    """Return who is unseen: as asked, as the file says, or the classes without rows."""
    known = [str(name) for name in table.index]
    if unseen is not None:
        try:
            return _asked_for(unseen, known)
        except ValueError as error:
            raise ValueError(f"{parts.where}: {error}") from None
    if parts.unseen is not None:
        names = parts.named("unseen", parts.unseen)
        if parts.seen is not None:
            _check_sides(parts, parts.named("seen", parts.seen), names)
        return names
    present = set(np.unique(y).tolist())
    return np.array([name for name in known if name not in present], dtype=str)


def _asked_for(unseen: Any, known: list[str]) -> np.ndarray:
    if isinstance(unseen, str | os.PathLike):
        if isinstance(unseen, str) and unseen in standard_splits():
            return match_names(standard_splits()[unseen].unseen, known)
        simple = {simple_name(name) for name in known}
        names = [name.strip() for name in str(unseen).split(",")]
        if all(simple_name(name) in simple for name in names):
            return match_names(names, known)
        path = existing_file(unseen)
        if path is not None:
            unseen = read_lines(path)
        else:
            unseen = read_classes(str(unseen)).names
            if not any(simple_name(name) in simple for name in unseen):
                raise ValueError(
                    f"unseen={', '.join(unseen)!r} names no class of the table, no "
                    "file of class names and no standard split. Its classes are "
                    f"{listed(known, 5)}; the splits are {listed(standard_splits())}."
                )
    return match_names([str(name) for name in unseen], known)


def _check_sides(parts: Parts, seen: np.ndarray, unseen: np.ndarray) -> None:
    sides = {name: 0 for name in parts.class_names.tolist()}
    for name in [*np.unique(seen).tolist(), *np.unique(unseen).tolist()]:
        sides[name] = sides.get(name, 0) + 1
    for row, (name, count) in enumerate(sides.items()):
        if count != 1:
            both = "both" if count else "neither"
            raise ValueError(
                f"{parts.where}: class row {row + parts.first} ({name}) is in {both} "
                f"of {parts.called('seen').strip(chr(39))} and "
                f"{parts.called('unseen').strip(chr(39))}. Put every class on one side."
            )
