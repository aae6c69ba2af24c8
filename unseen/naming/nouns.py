"""English nouns and the tree of ImageNet's classes, after WordNet 3.0.

ImageNet's 1,000 classes are leaves of WordNet: a tabby is a cat, a feline, a mammal, an
animal. The tree above them has 860 more nodes, each with a name of its own. Every sense
of a noun has a place in it: the lowest nodes it is a kind of (*deer*, which ImageNet
lacks, at *ruminant*). A place is described by all nodes above:

    a_j = sqrt(-log(share of the 1,000 classes below node j))     if it is below j

so that two classes are alike if they share rare ancestors. Of a sense far below its
lowest node (*suburb*, a kind of location) the tree knows little, and the share it knows
is noted: what its ancestors within the tree say, of what all its ancestors in WordNet
say, which is -log(share of WordNet's nouns below them). Which sense is meant is
decided in :mod:`unseen.naming.reading`. The table is made by ``tools/build_nouns.py``;
WordNet's licence is in ``data/NOTICE.md``.
"""

import gzip
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import NamedTuple

import numpy as np

N_CLASSES = 1000
PLURALS = (
    ("ies", "y"), ("ves", "f"), ("ves", "fe"), ("ses", "s"), ("xes", "x"),
    ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("oes", "o"), ("men", "man"),
    ("s", ""),
)  # fmt: skip
# British endings and their American ones, for words WordNet has only so.
BRITISH = (
    ("our", "or"), ("ours", "ors"), ("tre", "ter"), ("ised", "ized"), ("yse", "yze"),
    ("grey", "gray"), ("lled", "led"), ("lling", "ling"), ("tyre", "tire"),
    ("aeo", "eo"), ("mould", "mold"), ("plough", "plow"), ("ae", "e"), ("oe", "e"),
)  # fmt: skip


class Sense(NamedTuple):
    """One meaning of a noun.

    ``place`` holds the lowest nodes it is a kind of, ``exact`` says whether it is that
    node itself, ``met`` how often it was met in the texts that WordNet counted,
    ``known`` which share of what WordNet says of it the tree says, too.
    """

    place: tuple[int, ...]
    exact: bool
    met: int
    known: float = 1.0


class Nouns:
    """Nouns, and the tree of ImageNet's classes in which their senses have a place.

    Every node has ``words``, ``parents``, a gloss, and ``information``: what it says
    about a thing below it, in WordNet. The 1,000 classes come first, in their order.
    """

    def __init__(self, text: str):
        nodes, entries, plurals, adjectives = text.split("\n\n")
        rows = [line.split("\t") for line in nodes.split("\n")]
        _, self.words, above, counts, self.glosses = map(list, zip(*rows, strict=True))
        self.parents = [_numbers(one) for one in above]
        below = np.array(counts, dtype=int)  # nouns of WordNet
        self.information = np.sqrt(np.log(below.max() / below))
        # In order, to be looked up by bisection: a dictionary takes long to make.
        self._entries = sorted(entries.splitlines())
        self._singular = dict(line.split("\t") for line in plurals.splitlines())
        self.adjectives = set(adjectives.split())

    def senses(self, noun: str) -> list[Sense]:
        """Return what a noun can mean, the most frequent first; [] if it is none.

        Plurals are known by their singular, British spellings by their American one.
        """
        found = [senses for form in self._forms(noun) if (senses := self._own(form))]
        # "crabs" is an illness, too: a form yields to one that is better known.
        return max(found, key=_how_known, default=[])

    def is_proper(self, noun: str) -> bool:
        """Tell whether a noun is first of all one single thing, such as Paris."""
        return self._entry(noun).startswith("@")

    def _own(self, form: str) -> list[Sense]:
        texts = self._entry(form).split("|")
        return [_sense(text) for text in texts if text not in ("", "@")]

    def _entry(self, noun: str) -> str:
        head = f"{noun}\t"
        place = bisect_left(self._entries, head)
        line = self._entries[place] if place < len(self._entries) else ""
        return line.removeprefix(head) if line.startswith(head) else ""

    def _forms(self, noun: str) -> list[str]:
        forms = [noun, *filter(None, [self._singular.get(noun)])]
        ends = [(end, new) for end, new in PLURALS if noun.endswith(end)]
        forms += [noun.removesuffix(end) + new for end, new in ends]
        pairs = [(one, *both) for both in BRITISH for one in forms]
        return forms + [one.replace(old, new) for one, old, new in pairs if old in one]

    def mentioning(self, noun: str) -> list[int]:
        """Return the classes of ImageNet that WordNet explains by a noun.

        A vase is *an open jar of glass*, so it says how glass may look.
        """
        forms = [form for form in self._forms(noun) if self._own(form)] or [noun]
        mentioned = re.compile(rf"\b(?:{'|'.join(map(re.escape, forms))})(?:e?s)?\b")
        glosses = enumerate(self.glosses[:N_CLASSES])
        return [leaf for leaf, gloss in glosses if mentioned.search(gloss)]

    def adjectives_of(self, noun: str) -> list[str]:
        """Return the adjectives made of a noun: of clouds, clouded and cloudy."""
        forms = [form for form in self._forms(noun) if self._own(form)]
        stems = {stem for form in forms for stem in (form, form.removesuffix("e"))}
        endings = ("y", "al", "an", "ic", "ous", "ed")  # cloudy, suburban, metallic
        made = {f"{stem}{ending}" for stem in stems for ending in endings}
        return sorted(made & self.adjectives)

    def above(self, place: Iterable[int]) -> list[int]:
        """Return the nodes of a place and all above them, in order."""
        return sorted({up for node in place for up in self.lineages[node]})

    @cached_property
    def lineages(self) -> list[list[int]]:
        """Every node's own number and those of all nodes above it."""
        found: dict[int, list[int]] = {}

        def lineage(node: int) -> list[int]:
            if node not in found:
                above = {up for parent in self.parents[node] for up in lineage(parent)}
                found[node] = sorted(above | {node})
            return found[node]

        return [lineage(node) for node in range(len(self.words))]

    @cached_property
    def members(self) -> list[list[int]]:
        """The classes of ImageNet below (or at) every node."""
        below: list[list[int]] = [[] for _ in self.words]
        for leaf in range(N_CLASSES):
            for node in self.lineages[leaf]:
                below[node].append(leaf)
        return below

    @cached_property
    def weights(self) -> np.ndarray:
        """What every node says about a thing below it: more if fewer classes are."""
        shares = np.array([len(below) for below in self.members]) / N_CLASSES
        return np.sqrt(-np.log(shares))

    def vectors(
        self, places: Sequence[Sequence[int]], known: Sequence[float] | None = None
    ) -> np.ndarray:
        """Return one row per place: what all nodes above it say, else 0.

        Its squares sum to the share that is known, by default to 1.
        """
        table = np.zeros((len(places), len(self.words)))
        shares = np.ones(len(places)) if known is None else np.asarray(known)
        for row, place, share in zip(table, places, shares, strict=True):
            above = self.above(place)
            row[above] = self.information[above]
            length = np.sqrt(row @ row)
            row *= np.sqrt(share) / length if length > 0 else 0.0
        return table


@cache
def nouns() -> Nouns:
    """Read the table of the package, once."""
    data = files("unseen.naming").joinpath("data", "nouns.tsv.gz").read_bytes()
    return Nouns(gzip.decompress(data).decode())


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _how_known(senses: list[Sense]) -> int:
    """Return 2 for a noun that names a node, 1 for one that was met, else 0."""
    return max(2 * sense.exact or int(sense.met > 0) for sense in senses)


def _sense(text: str) -> Sense:
    head, _, share = text.removeprefix("=").partition("~")
    place, _, count = head.partition("*")
    known = int(share) / 100 if share else 1.0
    return Sense(tuple(_numbers(place)), text.startswith("="), int(count or 0), known)
