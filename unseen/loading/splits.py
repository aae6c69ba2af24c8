"""The standard splits of the field: class names only, features are the user's.

Their sources stand in ``standard_splits.json`` beside this file. Names are
compared without case, numbering and separators, so ``001.Black_footed_Albatross``
is ``Black footed Albatross``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from unseen._words import listed

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
