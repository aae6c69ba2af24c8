"""Where a class name was placed in ImageNet's tree, in words."""

from __future__ import annotations

from unseen.naming.nouns import N_CLASSES, Sense, nouns
from unseen.naming.reading import Reading, first_word, likeness

__all__ = ["nearest_classes", "way_up"]

ENOUGH = 0.6  # share of what WordNet says of a sense that its place must say


def nearest_classes(reading: Reading, most: int = 3) -> list[str]:
    """Return the names of the classes of ImageNet nearest to a reading.

    They are those nearest in the tree; where that says little, those that WordNet
    explains by the noun, if there are any. A vague reading is near to none.

    Examples
    --------
    >>> from unseen.naming import read_name
    >>> from unseen.naming.places import nearest_classes
    >>> nearest_classes(read_name("zebra")), len(nearest_classes(read_name("deer")))
    (['zebra'], 3)
    >>> nearest_classes(read_name("kitchen"))
    ['microwave', 'toaster', 'waffle iron']
    >>> nearest_classes(read_name("sunrise"))
    []
    """
    if reading.trust == "vague":
        return []
    if not reading.place or reading.trust == "exact":
        return [first_word(node, nouns()) for node in reading.place]
    tree, own = nouns(), Sense(reading.place, False, 0)
    if reading.known < ENOUGH and (mentioning := tree.mentioning(reading.noun)):
        return [first_word(leaf, tree) for leaf in mentioning[:most]]
    inside = {leaf for node in reading.place for leaf in tree.members[node]}
    alike = [likeness(Sense((leaf,), True, 0), own) for leaf in range(N_CLASSES)]
    order = sorted(inside or range(N_CLASSES), key=lambda leaf: -alike[leaf])
    return [first_word(leaf, tree) for leaf in order[:most]]


def way_up(reading: Reading) -> list[str]:
    """Return the names of the nodes from a reading's place to the top of the tree.

    Examples
    --------
    >>> from unseen.naming import read_name
    >>> from unseen.naming.places import way_up
    >>> way_up(read_name("zebra"))[:3]
    ['zebra', 'equine', 'odd-toed ungulate']
    """
    tree, way = nouns(), list(reading.place[:1])
    while way and tree.parents[way[-1]]:
        way.append(tree.parents[way[-1]][0])
    return [first_word(node, tree) for node in way]
