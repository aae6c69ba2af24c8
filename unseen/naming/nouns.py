"""Where an English noun sits in the tree of ImageNet's classes, after WordNet 3.0.

ImageNet's 1,000 classes are leaves of WordNet: a tabby is a cat, a feline, a mammal, an
animal. The tree above them has 860 more nodes, each with a name of its own. A noun is
placed at the lowest nodes it is a kind of (*deer*, which ImageNet lacks, at
*ruminant*), and described by all nodes above:

    a_j = sqrt(-log(share of the 1,000 classes below node j))     if it is below j

so that two classes are alike if they share rare ancestors. The table is made by
``tools/build_nouns.py``; WordNet's licence is in ``data/NOTICE.md``.
"""

from __future__ import annotations

import gzip
import re
from functools import cache, cached_property
from importlib.resources import files

import numpy as np

__all__ = ["Nouns", "nouns"]

N_CLASSES = 1000
# A node above more of the classes than this says too little to have a look of its own.
WIDEST = 300
PLURALS = (
    ("ies", "y"), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"),
    ("shes", "sh"), ("men", "man"), ("s", ""),
)  # fmt: skip

# What a thing is comes before: "horse | with stripes", "cup | of tea".
HEAD_ENDS = re.compile(r"[,;:.(]|\b(?:with|of|that|which|in|on|for|from)\b")


class Nouns:
    """Nouns, placed in the tree of ImageNet's classes.

    Parameters
    ----------
    text : str
        The table that ``tools/build_nouns.py`` writes.

    Attributes
    ----------
    wnids, words : list of str
        Of every node; the 1,000 classes of ImageNet come first, in its order.
    parents : list of list of int
        Of every node.

    Examples
    --------
    >>> from unseen.naming.nouns import nouns
    >>> [nouns().words[node] for node in nouns().place("deer")]
    ['ruminant']
    >>> [nouns().words[node] for node in nouns().place("old fire trucks")]
    ['fire engine, fire truck']
    >>> nouns().place("qwertz")
    []
    """

    def __init__(self, text: str):
        nodes, entries = text.split("\n\n")
        rows = [line.split("\t") for line in nodes.split("\n")]
        self.wnids, self.words = [row[0] for row in rows], [row[1] for row in rows]
        self.parents = [_numbers(row[2]) for row in rows]
        self._places = dict(line.split("\t") for line in entries.splitlines())

    def place(self, name: str) -> list[int]:
        """Return the lowest nodes that a noun is a kind of, or nothing.

        Plurals are known by their singular, and a name of several words by its last
        ones, as many as make a known noun.
        """
        words = "".join(c if c.isalnum() else " " for c in name.lower()).split()
        for start in range(len(words)):
            ending = " ".join(words[start:])
            for form in (ending, *_singulars(ending)):
                if form in self._places:
                    return _numbers(self._places[form])
        return []

    def place_class(self, name: str, description: str = "") -> list[int]:
        """Return the place of a class name, else that of what it is described as."""
        return self.place(name) or self.place(HEAD_ENDS.split(description, 1)[0])

    @cached_property
    def lineages(self) -> list[list[int]]:
        """Every node's own number and those of all nodes above it."""
        return [sorted(self._above([node])) for node in range(len(self.words))]

    @cached_property
    def members(self) -> list[list[int]]:
        """The classes of ImageNet below (or at) every node."""
        below: list[list[int]] = [[] for _ in self.words]
        for leaf in range(N_CLASSES):
            for node in self.lineages[leaf]:
                below[node].append(leaf)
        return below

    @cached_property
    def inner(self) -> list[int]:
        """The nodes above the classes that are narrow enough to have a look."""
        nodes = range(N_CLASSES, len(self.words))
        return [node for node in nodes if len(self.members[node]) <= WIDEST]

    def vectors(self, places: list[list[int]]) -> np.ndarray:
        """Return one row per place: the weights of all nodes above it, else 0."""
        shares = np.array([len(below) for below in self.members]) / N_CLASSES
        weights = np.sqrt(-np.log(shares))
        table = np.zeros((len(places), len(weights)))
        for row, place in zip(table, places, strict=True):
            above = sorted(self._above(place))
            row[above] = weights[above]
        return table

    def _above(self, place: list[int]) -> set[int]:
        found: set[int] = set()
        waiting = list(place)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += self.parents[node]
        return found


@cache
def nouns() -> Nouns:
    """Read the table of the package, once.

    Examples
    --------
    >>> from unseen.naming.nouns import nouns
    >>> nouns().words[0]
    'tench, Tinca tinca'
    """
    data = files("unseen.naming").joinpath("data", "nouns.tsv.gz").read_bytes()
    return Nouns(gzip.decompress(data).decode())


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _singulars(name: str) -> list[str]:
    return [name.removesuffix(end) + new for end, new in PLURALS if name.endswith(end)]
