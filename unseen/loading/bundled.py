"""The bundled sets, which the notes of :func:`unseen.load_data` describe.

A row of an image classifier's last layer stands for the mean of a class, in the space
of its features. Of the class tables, ``words`` are of unit length, and ``tree`` has a
column per node of WordNet: more than 0 if the class is below it.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.resources import as_file, files

import numpy as np
import pandas as pd

from unseen.loading.parts import RawData
from unseen.naming.nouns import N_CLASSES, nouns
from unseen.naming.reading import read_names

DATA = files("unseen").joinpath("photos", "data")
BUNDLED = {
    "photos": "1,000 classes of ImageNet, and 1,000 photos of ten other names",
    "photos-200": "the same photos, every fifth of the seen classes: quick",
    "pets": "555 photos of 37 breeds, with attributes; every fourth breed is unseen",
}


@cache
def stored_photos(name: str = "photos") -> dict[str, np.ndarray]:
    """Read the arrays of the package, once; NOTICE.md beside them says whose."""
    with (
        as_file(DATA.joinpath(f"{name}.npz")) as path,
        np.load(path, allow_pickle=False) as stored,
    ):
        arrays = dict(stored)
    for key in {"features", "head", "vectors"} & set(arrays):
        arrays[key] = arrays[key].astype(np.float32)
    for array in arrays.values():
        array.flags.writeable = False  # all callers share them
    return arrays


def read_bundled(name: str) -> RawData:
    """Return a bundled set."""
    return read_pets() if name == "pets" else read_photos(name)


def read_pets() -> RawData:
    """Return the photos of pets, and the attributes of their breeds."""
    stored = stored_photos("pets")
    with DATA.joinpath("pets.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file, comment="#", index_col="class").astype(float)
    classes = stored["classes"]
    return RawData(
        name="pets",
        where="pets",
        X=stored["features"],
        y=classes[stored["y"]],
        tables={"attributes": table.loc[classes].rename_axis(index=None)},
        unseen=classes[::4],
        ids=stored["paths"],
    )


def small_photos(name: str) -> list[bytes]:
    """Return the photos of a stored set, as small JPEGs."""
    part = stored_photos(name)
    data, ends = part["jpegs"].tobytes(), part["ends"].tolist()
    return [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def read_photos(name: str) -> RawData:
    """Return rows of the head, then photos, and the class tables."""
    stored, tree = stored_photos(), nouns()
    leaves = np.arange(N_CLASSES)[:: 5 if name == "photos-200" else 1]
    unseen, columns = stored["classes"], short_names(range(len(tree.words)))
    classes = np.array([*short_names(range(N_CLASSES))[leaves], *unseen])
    readings = read_names(unseen.tolist())
    places = [*leaves[:, None], *(one.place for one in readings)]
    known = [*np.ones(len(leaves)), *(one.known for one in readings)]
    above = pd.DataFrame(tree.vectors(places, known), classes, columns)
    place = {text: row for row, text in enumerate(stored["texts"].tolist())}
    texts = [*(tree.words[leaf] for leaf in leaves), *unseen]
    vectors = stored["vectors"][[place[text] for text in texts]].astype(float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = pd.DataFrame(vectors, classes)
    return RawData(
        name=name,
        where=name,
        X=np.concatenate([stored["head"][leaves], stored["features"]]),
        y=np.concatenate([classes[: len(leaves)], unseen[stored["y"]]]),
        tables={"words": words, "tree": above.loc[:, above.any()]},
        unseen=unseen,
        fused=True,
        ids=np.array([*(f"imagenet_{leaf:03d}" for leaf in leaves), *photo_names()]),
    )


def photo_names() -> list[str]:
    """Return what each photo is called: its number among CIFAR-10's test photos."""
    return [f"test_{number:05d}.jpg" for number in stored_photos()["number"]]


def short_names(nodes: range) -> np.ndarray:
    """Return one name for each node of the tree; of two cranes one is a wading bird."""
    tree = nouns()
    first = [words.split(",")[0] for words in tree.words]
    often = Counter(first[node] for node in nodes)
    names: dict[str, int] = {}
    for node in nodes:
        name = first[node]
        if often[name] > 1:
            name = f"{name} ({first[tree.parents[node][0]]})"
        names[f"{name} 2" if name in names else name] = node
    return np.array(list(names))
