"""How well names of ImageNet's own classes find them, when these are left out.

    python studies/left_out_names.py [--ridge .15 .5 1.5] [--tree 0 .3 .6]

The ridge from names to prototypes (unseen/photos/prototypes.py) is learned without a
whole branch of the tree, of at most 12 or 60 classes, and asked for the prototypes of
these. Printed is how many of 100 classes are found by their prototypes: in lists of ten
classes drawn from all, and in lists drawn from one branch. One line per setting; the
encoders are Lite0 and WordLlama.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from unseen.core.linalg import inverse_positive, to_unit
from unseen.models.kernel_ridge import INTERCEPT
from unseen.naming.encoders import find_encoder
from unseen.naming.nouns import N_CLASSES, nouns
from unseen.photos.prototypes import (
    branches,
    cosines,
    left_out,
    named_prototypes,
    near,
    scaling,
)

BRANCHES = 12, 60
LISTS, OFFERED, FEWEST = 200, 10, 5


def kernels() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return prototypes, and how near texts and places of the classes are."""
    C, named, told = named_prototypes(find_encoder("lite0", "image").head()[0])
    encoder = find_encoder("wordllama")
    texts = []
    for words in (named, told):
        rows = to_unit(np.asarray(encoder.encode(words), dtype=np.float64))
        texts.append(scaling(rows)(rows))
    S = np.vstack(texts)
    leaves = nouns().vectors([[leaf] for leaf in range(N_CLASSES)])
    places = scaling(leaves)(leaves)
    return C, near(S, S), np.tile(near(places, places), (2, 2))


def lists_of(groups: np.ndarray, within: bool) -> list[np.ndarray]:
    """Draw lists of classes, from all or each from one group."""
    rng = np.random.default_rng(1)
    if not within:
        drawn = [rng.choice(N_CLASSES, OFFERED, replace=False) for _ in range(LISTS)]
        return drawn
    own = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    own = [members for members in own if len(members) >= FEWEST]
    return [
        rng.permutation(own[number % len(own)])[:OFFERED] for number in range(LISTS)
    ]


def found(C: np.ndarray, Z: np.ndarray, lists: list[np.ndarray]) -> float:
    """Return how many of 100 classes are nearest to their own prototype."""
    right = [
        np.mean(cosines(C[rows], Z[rows]).argmax(axis=1) == np.arange(len(rows)))
        for rows in lists
    ]
    return 100 * float(np.mean(right))


def main() -> None:
    """Print one line per setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ridge", type=float, nargs="+", default=[0.15, 0.5, 1.5])
    parser.add_argument("--tree", type=float, nargs="+", default=[0.0, 0.3, 0.6])
    options = parser.parse_args()
    C, texts, places = kernels()
    groups = {most: branches(most) for most in BRANCHES}
    heads = [f"{most} {where}" for most in BRANCHES for where in ("all", "branch")]
    print("ridge", "tree", *heads, sep="\t")
    for ridge, tree in product(options.ridge, options.tree):
        K = (1 - tree) * texts + tree * places + INTERCEPT
        inverse = inverse_positive(K + ridge * np.eye(len(K)))
        alpha = inverse @ np.vstack([C, C])
        row = []
        for own in groups.values():
            Z = left_out(inverse, alpha, C, own)
            row += [found(C, Z, lists_of(own, within)) for within in (False, True)]
        print(ridge, tree, *(f"{share:.1f}" for share in row), sep="\t", flush=True)


if __name__ == "__main__":
    main()
