"""The folders of AwA, CUB and SUN as their archives unpack.

Animals with Attributes, versions 1 and 2::

    classes.txt                       1 antelope ...
    predicates.txt                    1 black ...             names of the attributes
    predicate-matrix-continuous.txt   (n_classes, 85); -1 marks what is missing
    predicate-matrix-binary.txt       (n_classes, 85)
    trainclasses.txt, testclasses.txt the 40/10 split
    Features/<kind>/...               the features, text or .npy, in one of two forms:
        <name>-features.txt and <name>-labels.txt     version 2: one row per image
        <class>/*.txt                                 version 1: one file per image

With several kinds of features, give the folder of one: ``AwA/Features/decaf``.

Caltech-UCSD Birds 200-2011::

    images.txt                    1 001.Black_footed_Albatross/....jpg
    image_class_labels.txt        1 1                           image, class
    classes.txt                   1 001.Black_footed_Albatross
    attributes/class_attribute_labels_continuous.txt            (200, 312), per cent

SUN Attribute database::

    attributes.mat                  attributes (102, 1): their names
    images.mat                      images (n, 1): a/abbey/sun_aqwerty.jpg
    attributeLabels_continuous.mat  labels_cv (n, 102): how many workers agreed

An image's class is its folder, ``apse_indoor`` for ``a/apse/indoor``; a class's
embedding is the mean over its images. CUB and SUN need features of yours,
``features.npy`` (or ``.txt``) with one row per image of the list; ``testclasses.txt``
names the unseen classes, else the proposed split is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from unseen._words import listed
from unseen.limits import check_plain_file
from unseen.loading.arrays import is_mat, open_mat, open_npy, whole_numbers
from unseen.loading.parts import (
    RawData,
    as_texts,
    check_count,
    damaged_file,
    read_lines,
    reader,
)
from unseen.loading.tables import match_names, standard_splits

# ---- Animals with Attributes ---------------------------------------------------------


def find_root(path: Path) -> Path | None:
    """Return the folder with classes.txt and a predicate matrix, here or above."""
    for folder in [path, *path.resolve().parents][:4] if path.is_dir() else []:
        if (folder / "classes.txt").is_file():
            below = path.resolve().relative_to(folder.resolve()).parts
            mine = not below or below[0] == "Features"
            return folder if mine and any(folder.glob(MATRICES)) else None
    return None


MATRICES = "predicate-matrix-*.txt"


@reader("Animals with Attributes folder", lambda path: find_root(path) is not None)
def read_awa(path: Path) -> RawData:
    """Read Animals with Attributes, by its folder or one of features below it."""
    root = find_root(path) or path
    names = read_names(root / "classes.txt")
    folder = _feature_folder(path, root, names.tolist())
    y, read = _awa_rows(folder, names)
    predicates = root / "predicates.txt"
    columns = read_names(predicates) if predicates.is_file() else None
    tables = {}
    for file in sorted(root.glob(MATRICES), reverse=True):  # continuous first
        values = read_numbers(file, len(names))
        kind = file.stem.rpartition("-")[2]
        with damaged_file(predicates):  # that may name too many
            tables[kind] = pd.DataFrame(values, pd.Index(names), columns)
    return RawData(
        name=root.resolve().name,
        where=str(path),
        X=read,
        y=y,
        tables=tables,
        unseen=_side(root / "testclasses.txt"),
        first=1,
        origin={
            "X": f"{folder}",
            "y": f"the labels of {folder}",
            "unseen": "testclasses.txt",
            "classes": "classes.txt",
        },
    )


def _side(path: Path) -> np.ndarray | None:
    return as_texts(read_lines(path), f"{path}:") if path.is_file() else None


def _feature_folder(path: Path, root: Path, names: list[str]) -> Path:
    """Return the folder of features that was given, or else the only one."""

    def has_features(folder: Path) -> bool:
        whole = len(_files(folder, "*-features")) == 1
        return whole or any((folder / name).is_dir() for name in names)

    places = [root, *sorted(root.glob("Features")), *sorted(root.glob("Features/*"))]
    found = [place for place in places if has_features(place)]
    if has_features(path):
        found = [path]
    if len(found) != 1:
        kinds = listed(place.name for place in found) or "none"
        raise ValueError(
            f"{path}: the kinds of features are: {kinds}. Give the folder of one, "
            "Features/<kind>, with a folder per class, or *-features.txt and "
            "*-labels.txt."
        )
    return found[0]


def _files(folder: Path, stem: str) -> list[Path]:
    """Return the files of numbers with a stem, sorted by name."""
    return sorted([*folder.glob(f"{stem}.txt"), *folder.glob(f"{stem}.npy")])


def _awa_rows(
    folder: Path, names: np.ndarray
) -> tuple[np.ndarray, Callable[[], np.ndarray]]:
    """Return the numbers of the rows' classes, and what reads the rows."""
    whole = _files(folder, "*-features")
    if len(whole) == 1:
        stem = whole[0].stem.replace("-features", "-labels")
        labels = next(iter(_files(folder, stem)), folder / f"{stem}.txt")
        y = whole_numbers(read_numbers(labels).ravel(), f"{labels}:", first=1)
        return y, lambda: read_numbers(whole[0], len(y))
    images = [
        (code, file)
        for code, name in enumerate(names.tolist())
        for file in _files(folder / name, "*")
    ]

    def read() -> np.ndarray:
        with damaged_file(folder, "the folder"):  # if its files differ in length
            return np.stack([read_numbers(file).ravel() for _, file in images])

    return np.array([code for code, _ in images], dtype=int), read


# ---- CUB and SUN, with features of your own ------------------------------------------


def is_cub(path: Path) -> bool:
    """Tell a folder with images.txt and image_class_labels.txt."""
    files = ("images.txt", "image_class_labels.txt", "classes.txt")
    return all((path / name).is_file() for name in files)


@reader("Caltech-UCSD Birds folder", is_cub)
def read_cub(path: Path) -> RawData:
    """Read the folder ``CUB_200_2011``, with ``features.npy`` among its files."""
    names = read_names(path / "classes.txt")
    n_images = len(read_names(path / "images.txt"))
    labels = path / "image_class_labels.txt"
    y = whole_numbers(read_numbers(labels, n_images)[:, -1], f"{labels}:", first=1)
    tables = {}
    attributes = path / "attributes" / "class_attribute_labels_continuous.txt"
    if attributes.is_file():
        values = read_numbers(attributes, len(names)) / 100
        tables[f"att_{values.shape[1]}"] = pd.DataFrame(values, index=pd.Index(names))
    origin = {"y": "image_class_labels.txt", "classes": "classes.txt"}
    return _with_own_features(path, y, names, tables, "cub-ps", origin)


def is_sun(path: Path) -> bool:
    """Tell a folder with images.mat and attributeLabels_continuous.mat."""
    files = ("images.mat", "attributeLabels_continuous.mat")
    return path.is_dir() and all(is_mat(path / name) for name in files)


@reader("SUN Attribute folder", is_sun)
def read_sun(path: Path) -> RawData:
    """Read the folder ``SUNAttributeDB``, with ``features.npy`` among its files."""
    images = open_mat(path / "images.mat").names("images")
    file = open_mat(path / "attributeLabels_continuous.mat")
    values = file.columns("labels_cv").T
    check_count(file.where("labels_cv"), len(values), len(images), "images")
    classes = [_sun_class(str(image), path) for image in images]
    y = as_texts(classes, f"{path / 'images.mat'}:")
    means = pd.DataFrame(values).groupby(y).mean().rename_axis(None)
    attributes = path / "attributes.mat"
    if is_mat(attributes):
        columns = open_mat(attributes).names("attributes")
        check_count(attributes, len(columns), values.shape[1], "attributes")
        means.columns = columns.tolist()
    names = means.index.to_numpy().astype(str)
    origin = {"y": "images.mat", "classes": "images.mat"}
    tables = {"attributes": means}
    return _with_own_features(path, y, names, tables, "sun-ps", origin)


def _sun_class(image: str, path: Path) -> str:
    folders = image.split("/")[:-1]
    if folders and len(folders[0]) == 1:  # the letter its name begins with
        folders = folders[1:]
    if not folders:
        raise ValueError(
            f"{path / 'images.mat'}: {image!r} is in no folder. "
            "Give images as a/abbey/name.jpg."
        )
    return "_".join(folders)


def _with_own_features(
    path: Path,
    labels: np.ndarray,
    names: np.ndarray,
    tables: dict[str, pd.DataFrame],
    split: str,
    origin: dict[str, str],
) -> RawData:
    """Return images and classes with the user's features, one row per image."""
    found = _files(path, "features")
    if not found:
        raise ValueError(
            f"{path}: the images and classes are here, but no features of them. Save "
            f"features.npy there, with one row for each of the {len(labels)} images in "
            "the order of their list."
        )
    unseen = _side(path / "testclasses.txt")
    if unseen is None:
        with suppress(ValueError):  # a part of the set: who is unseen must be said
            unseen = match_names(standard_splits()[split].unseen, names.tolist())
    return RawData(
        name=path.resolve().name,
        where=str(path),
        X=lambda: read_numbers(found[0], len(labels)),
        y=labels,
        class_names=names,
        tables=tables,
        unseen=unseen,
        first=1,
        origin={"X": found[0].name, "unseen": "testclasses.txt", **origin},
    )


# ---- their text files ----------------------------------------------------------------


def read_names(path: Path) -> np.ndarray:
    r"""Return the second fields of lines such as ``3 killer+whale``, counted from 1."""
    names = []
    for number, line in enumerate(read_lines(path), 1):
        first, _, name = line.replace("\t", " ").partition(" ")
        if not name.strip() or first != str(number):
            raise ValueError(
                f"{path}: line {number} is {line[:60]!r}. Number the lines from 1 and "
                "put one space or tab behind the number."
            )
        names.append(name.strip())
    return as_texts(names, f"{path}:")


def read_numbers(path: Path, n_rows: int | None = None) -> np.ndarray:
    """Return a matrix of numbers, separated by white space or in a .npy file."""
    check_plain_file(path)
    with damaged_file(path):
        if path.suffix == ".npy":
            rows = open_npy(path)
            rows = rows if rows.ndim == 2 else rows.reshape(len(rows), -1)
        else:
            rows = np.loadtxt(path, ndmin=2, encoding="utf-8-sig", comments=None)
    check_count(path, len(rows), len(rows) if n_rows is None else n_rows, "rows")
    return rows
