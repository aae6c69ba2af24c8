"""How a class name is read: which sense of which noun, and how far to trust it.

    name → words → the longest ending that is a noun → its senses → one of them

A name is folded first: case, underscores, hyphens, plurals, British spellings, numbers
in front. Of its senses the one with the most points is meant:

    exact    it is a class of ImageNet or a node above them, by this very name
    kind     what people photograph: animals before their meat, fruit before its tree,
             things before persons that are called so
    narrow   it says what the thing looks like, not that it is some object
    count    how frequent the sense is
    list     how near it is to the other names: a mouse among cats, or among keyboards

A description decides alone: a sense that agrees with it, else the description's own
noun. A single thing (Paris, Einstein) is not a class, and has no sense at all.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from unseen.naming.nouns import N_CLASSES, Sense, nouns

# How much rather a noun means a thing of this kind; by the words of a node. A thing of
# several kinds has the points of the first.
KINDS = {
    "person": -1.0,
    "animal": 0.8,
    "produce": 0.6,
    "food": 0.3,
    "plant": -0.3,
    "substance": -0.3,
}
BROAD = 300  # classes of ImageNet below a place that says little
NUMBER = re.compile(r"^(?:class|category|label)?[\s_]*#?\d+[\s_.):-]+(?=\D)", re.I)
ONLY_NUMBER = re.compile(r"^(?:class|category|label)[\s_]*#?\d+$", re.I)


class Reading(NamedTuple):
    """How a name was read.

    Attributes
    ----------
    name : str
    place : tuple of int
        The lowest nodes of the tree it is a kind of; () if it has none.
    how : str
        What decided, in a few words.
    trust : {'exact', 'close', 'broad', 'vague', 'unknown'}
        It is a class of ImageNet; its place has few of them below it, or many, or
        most; or it has no place. A place that says less than half of what WordNet does
        is broad at best, and vague below a fifth.
    known : float
        Share of what WordNet says of the sense that its place says, too.
    noun : str
        The noun that was read, in the name; "" where a description was.
    """

    name: str
    place: tuple[int, ...]
    how: str
    trust: str
    known: float = 1.0
    noun: str = ""


def read_names(
    names: Sequence[str], descriptions: Mapping[str, str] | None = None
) -> list[Reading]:
    """Read a list of class names, each in the light of the others.

    Parameters
    ----------
    names : sequence of str
    descriptions : mapping of str to str, optional
        What some of them mean.

    Returns
    -------
    list of Reading

    Examples
    --------
    >>> from unseen.naming.reading import read_names
    >>> for names in (["mouse", "cat"], ["mouse", "keyboard"]):
    ...     reading = read_names(names)[0]
    ...     reading.place, reading.how, reading.trust
    ((1238,), 'a kind of rodent', 'close')
    ((673,), 'a class of ImageNet, a kind of electronic device', 'exact')
    """
    descriptions = descriptions or {}
    found = [_candidates(name, descriptions.get(name, "")) for name in names]
    found = [(_without_nicknames(senses), how) for senses, how in found]
    first = [max(senses, key=_points, default=None) for senses, _how in found]
    total = np.zeros(len(nouns().words))
    for sense in first:
        if sense is not None:
            above, values = _unit(sense.place)
            total[above] += values
    readings = []
    for name, own, (senses, how) in zip(names, first, found, strict=True):
        if len(senses) > 1 and own is not None and len(names) > 1:
            others = total.copy()
            above, values = _unit(own.place)
            others[above] -= values
            others /= len(names) - 1
            points = [_points(sense, others) for sense in senses]
            own = senses[points.index(max(points))]
        noun = "" if descriptions.get(name) else head_noun(name)
        readings.append(_reading(name, own, how)._replace(noun=noun))
    return readings


def read_name(name: str, description: str = "") -> Reading:
    """Tell how one class name is understood without other names beside it.

    Examples
    --------
    >>> from unseen.naming.reading import read_name
    >>> read_name("old fire trucks").how
    "a class of ImageNet, a kind of truck, by 'fire trucks'"
    >>> read_name("mouse", "a small animal").place == read_name("rodent").place
    True
    """
    return read_names([name], {name: description})[0]


def _candidates(name: str, description: str) -> tuple[list[Sense], str]:
    """Return the senses a name may have in the light of its description, and why."""
    if description and ONLY_NUMBER.match(name.strip()):
        name = ""
    senses, how = _senses(name)
    # What a thing is comes before: "horse | with stripes", "cup | of tea".
    ends = r"[,;:.(]|\b(?:with|of|that|which|in|on|for|from|used|like)\b"
    head = words_of(re.split(ends, description, maxsplit=1)[0])
    described, noun = _of_ending(head)
    if not described:
        return senses, how
    if not senses:
        return described, f"by {noun!r} in its description"
    alike = [max(likeness(sense, other) for other in described) for sense in senses]
    best = max(alike)
    if best >= 0.25:  # they mean one thing
        kept = [s for s, one in zip(senses, alike, strict=True) if one == best]
        return kept, "as described"
    defines = r"\s*(?:an?|the|my|our|some|any|(?:kind|type|sort)s? of)\s"
    if re.match(defines, description.lower()):
        return described, f"by {noun!r} in its description"
    return senses, how


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters, without a number in front."""
    name = NUMBER.sub("", name.strip()).lower()
    return "".join(c if c.isalnum() else " " for c in name).split()


def plain_text(name: str, description: str = "") -> str:
    """Return a name and its description as a text encoder is to read them."""
    if description and ONLY_NUMBER.match(name.strip()):
        return description
    name = NUMBER.sub("", name.strip()).replace("_", " ")
    if name.isalpha() and not nouns().senses(name.lower()):
        name = _split(name.lower())[1] or name
    return f"{name}, {description}" if description else name


def head_noun(name: str) -> str:
    """Return the longest ending of a name that is a noun, else its last word."""
    words = words_of(plain_text(name))
    return _of_ending(words)[1] or "".join(words[-1:])


def saying(reading: Reading) -> str:
    """Return the adjectives of a noun that says little about looks, to be read, too."""
    if reading.trust not in ("vague", "unknown"):
        return ""
    return ", ".join(nouns().adjectives_of(reading.noun))


def nearest_classes(reading: Reading, most: int = 3) -> list[str]:
    """Return the names of the classes of ImageNet nearest to a reading.

    They are those nearest in the tree; where that says little, those that WordNet
    explains by the noun, if there are any. A vague reading is near to none.
    """
    if reading.trust == "vague":
        return []
    tree, own = nouns(), Sense(reading.place, False, 0)
    if not reading.place or reading.trust == "exact":
        return [first_word(node) for node in reading.place]
    if reading.known < 0.6 and (mentioning := tree.mentioning(reading.noun)):
        return [first_word(leaf) for leaf in mentioning[:most]]
    inside = {leaf for node in reading.place for leaf in tree.members[node]}
    alike = [likeness(Sense((leaf,), True, 0), own) for leaf in range(N_CLASSES)]
    order = sorted(inside or range(N_CLASSES), key=lambda leaf: -alike[leaf])
    return [first_word(leaf) for leaf in order[:most]]


def _senses(name: str) -> tuple[list[Sense], str]:
    """Return the senses of a name, and which part of it they are of ("" for all)."""
    words = words_of(name)
    whole = " ".join(words)
    senses = nouns().senses(whole)
    if name[:1].isupper() and nouns().is_proper(whole):
        senses = [sense for sense in senses if sense.exact]
        if not senses:
            return [], ""
    if senses:
        return senses, ""
    apart = words_of(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))  # FireTruck
    for these in (words, apart) if apart != words else (words,):
        senses, ending = _of_ending(these)
        if senses:
            before = these[: len(these) - len(ending.split())]
            narrower = _narrowed(before, senses)
            return narrower or (senses, f"by {ending!r}" if before else "")
    if len(words) == 1:
        senses, apart_text = _split(words[0])
        return senses, f"by {apart_text!r}" if senses else ""
    # The last known word before unknown ones: beef carpaccio.
    known = [word for word in words if nouns().senses(word)]
    return (nouns().senses(known[-1]), f"only by {known[-1]!r}") if known else ([], "")


def _of_ending(words: list[str]) -> tuple[list[Sense], str]:
    """Return the senses of the longest ending that is a noun, and that noun."""
    endings = (" ".join(words[start:]) for start in range(len(words)))
    found = ((nouns().senses(ending), ending) for ending in endings)
    return next(((senses, ending) for senses, ending in found if senses), ([], ""))


def _narrowed(before: list[str], heads: list[Sense]) -> tuple[list[Sense], str] | None:
    """Return the senses of a modifier that is a kind of its head: *patas* monkey."""
    tops = {node for head in heads if head.exact for node in head.place}
    for start in range(len(before)):
        modifier = " ".join(before[start:])
        senses = nouns().senses(modifier)
        kinds = [
            s for s in senses if any(tops & {*nouns().lineages[n]} for n in s.place)
        ]
        if kinds:
            return kinds, f"by {modifier!r}"
    return None


def _split(word: str) -> tuple[list[Sense], str]:
    """Return the senses of two words written as one, and both: living room."""
    for place in range(3, len(word) - 3):
        front, back = word[:place], word[place:]
        senses = nouns().senses(f"{front} {back}")
        if not senses and front in nouns().adjectives:
            senses = nouns().senses(back)
        if senses:
            return senses, f"{front} {back}"
    return [], ""


def _without_nicknames(senses: list[Sense]) -> list[Sense]:
    """Leave out persons that are called after a class of ImageNet: a tiger, a skunk."""
    if not any(_is_class(sense) for sense in senses):
        return senses
    return [s for s in senses if "person" not in _above(s.place) or _is_class(s)]


def _is_class(sense: Sense) -> bool:
    return sense.exact and sense.place[0] < N_CLASSES


def _points(sense: Sense, others: np.ndarray | None = None) -> float:
    """Return how likely a sense is meant; the more frequent of equals comes first."""
    points = 0.7 * math.log1p(sense.met)
    if _is_class(sense):
        points += 4.0
    else:
        points += 1.5 * sense.exact + _worth(sense.place)
    if others is not None:
        above, values = _unit(sense.place)
        points += 8.0 * float(others[above] @ values)
    return points


@cache
def _above(place: tuple[int, ...]) -> set[str]:
    """Return the first words of all nodes above a place."""
    return {first_word(up) for up in nouns().above(place)}


@cache
def _worth(place: tuple[int, ...]) -> float:
    """Return how much rather a noun means such a thing than another."""
    above = _above(place)
    kind = next((points for word, points in KINDS.items() if word in above), 0.0)
    if "physical entity" not in above or _below(place) > BROAD:
        kind -= 1.5
    return kind - 0.1 * math.log(_below(place))


@cache
def _below(place: tuple[int, ...]) -> int:
    """Return how many classes of ImageNet are below a place, or at it."""
    return len({leaf for node in place for leaf in nouns().members[node]})


@cache
def _unit(place: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes above a place, and their weights at unit length."""
    tree = nouns()
    above = np.array(tree.above(place))
    weights = tree.weights[above]
    return above, weights / max(float(np.linalg.norm(weights)), 1e-300)


def likeness(one: Sense, other: Sense) -> float:
    """Return the cosine of two places; 1 if one is a kind of the other."""
    tree = nouns()
    pairs = [(a, b) for a in one.place for b in other.place]
    if any(b in tree.lineages[a] or a in tree.lineages[b] for a, b in pairs):
        narrow = min(len(tree.members[b]) for _, b in pairs)
        return 1.0 if narrow <= BROAD else 0.5  # to be an animal says less
    above, values = _unit(one.place)
    row = np.zeros(len(tree.words))
    row[above] = values
    above, values = _unit(other.place)
    return float(row[above] @ values)


def _reading(name: str, sense: Sense | None, how: str) -> Reading:
    if sense is None:
        return Reading(name, (), "not a kind of thing that WordNet knows", "unknown")
    node, below = sense.place[0], _below(sense.place)
    if _is_class(sense):
        kind = first_word(nouns().parents[node][0])
        text = f"a class of ImageNet, a kind of {kind}"
    elif sense.exact:
        text = f"{below} class{'es' if below > 1 else ''} of ImageNet"
    else:
        text = f"a kind of {first_word(node)}"
    text = f"{text}, {how}" if how else text
    return Reading(name, sense.place, text, _trust(sense, below, how), sense.known)


def _trust(sense: Sense, below: int, how: str) -> str:
    """Return how much a sense says about looks, in a word."""
    if _is_class(sense):
        return "exact"
    abstract = "physical entity" not in _above(sense.place)
    if how.startswith("only") or abstract or below > BROAD or sense.known < 0.2:
        return "vague"
    return "broad" if below > 30 or sense.known < 0.5 else "close"


def first_word(node: int) -> str:
    """Return the first of a node's names."""
    return nouns().words[node].split(", ")[0]
