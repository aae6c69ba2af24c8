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

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._words import listed
from unseen.limits import check_plain_file
from unseen.loading.arrays import counted_from_one, open_npy
from unseen.loading.mat_pairs import MatFile, is_mat
from unseen.loading.parts import (
    Glance,
    RawData,
    as_texts,
    check_count,
    damaged_file,
    read_lines,
    reader,
)
from unseen.loading.tables import match_names, standard_splits

__all__ = ["read_awa", "read_cub", "read_sun"]


# ---- Animals with Attributes ---------------------------------------------------------


def _find_root(path: Path) -> Path | None:
    """Return the folder with classes.txt and a predicate matrix, here or above."""
    for folder in [path, *path.resolve().parents][:4] if path.is_dir() else []:
        if (folder / "classes.txt").is_file():
            below = path.resolve().relative_to(folder.resolve()).parts
            mine = not below or below[0] == "Features"
            return folder if mine and _matrices(folder) else None
    return None


def _matrices(root: Path) -> dict[str, Path]:
    """Return the files of the predicate matrices that are there."""
    kinds = ("continuous", "binary")
    files = {kind: root / f"predicate-matrix-{kind}.txt" for kind in kinds}
    return {kind: file for kind, file in files.items() if file.is_file()}


@reader(
    "Animals with Attributes folder",
    recognises=lambda path: _find_root(path) is not None,
)
def read_awa(path: Path) -> RawData:
    """Read Animals with Attributes, by its folder or one of features below it."""
    root = _find_root(path)
    if root is None:
        raise ValueError(f"{path} holds no classes.txt and predicate matrix.")
    names = read_names(root / "classes.txt")
    folder = _feature_folder(path, root, names.tolist())
    X, y = _awa_features(folder, names)
    predicates = root / "predicates.txt"
    columns = read_names(predicates) if predicates.is_file() else None
    tables = {}
    for kind, file in _matrices(root).items():
        values = read_numbers(file, len(names))
        with damaged_file(predicates):  # that may name too many
            tables[kind] = pd.DataFrame(values, pd.Index(names), columns)
    return RawData(
        name=root.resolve().name,
        where=str(path),
        X=X,
        y=y,
        class_names=names,
        tables=tables,
        unseen=_side(root / "testclasses.txt"),
        seen=_side(root / "trainclasses.txt"),
        first=1,
        origin={
            "X": f"{folder}",
            "y": f"the labels of {folder}",
            "unseen": "testclasses.txt",
            "seen": "trainclasses.txt",
            "classes": "classes.txt",
        },
    )


def _side(path: Path) -> np.ndarray | None:
    return as_texts(read_lines(path), f"{path}:") if path.is_file() else None


def _feature_folders(path: Path, root: Path, names: list[str]) -> list[Path]:
    """Return the folder of features that was given, or else all of them."""

    def has_features(folder: Path) -> bool:
        whole = len(_files(folder, "*-features")) == 1
        return whole or any((folder / name).is_dir() for name in names)

    if has_features(path):
        return [path]
    places = [root, *sorted(root.glob("Features")), *sorted(root.glob("Features/*"))]
    return [place for place in places if has_features(place)]


def _feature_folder(path: Path, root: Path, names: list[str]) -> Path:
    found = _feature_folders(path, root, names)
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"{path}: there are several kinds of features, "
            f"{listed(place.name for place in found)}. Give the folder of one."
        )
    raise ValueError(f"{path}: {NO_FEATURES}")


NO_FEATURES = (
    "the classes are here, but no features of them. Put them in Features/<kind>: a "
    "folder per class, or *-features.txt and *-labels.txt."
)


def _files(folder: Path, stem: str) -> list[Path]:
    """Return the files of numbers with a stem, sorted by name."""
    found = [*folder.glob(f"{stem}.txt"), *folder.glob(f"{stem}.npy")]
    return sorted(found)


def _awa_features(folder: Path, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the numbers of their classes."""
    whole = _files(folder, "*-features")
    if len(whole) == 1:
        stem = whole[0].stem.replace("-features", "-labels")
        labels = next(iter(_files(folder, stem)), folder / f"{stem}.txt")
        y = read_numbers(labels)
        if y.shape[1] != 1:
            raise ValueError(f"{labels} holds more than one whole number per line.")
        return read_numbers(whole[0], len(y)), counted_from_one(y[:, 0], f"{labels}:")
    vectors, codes = [], []
    for code, name in enumerate(names.tolist()):
        for file in _files(folder / name, "*"):
            vectors.append(read_numbers(file).ravel())
            codes.append(code)
    if len({len(vector) for vector in vectors}) != 1:
        raise ValueError(f"{folder}: the files differ in length. Give all as many.")
    return np.stack(vectors), np.array(codes)


def glance_awa(path: Path) -> Iterator[Glance]:
    """Look at the classes of AwA, once for each kind of features."""
    root = _find_root(path)
    if root is None:
        return
    names = read_names(root / "classes.txt").tolist()
    tables = {kind: 85 for kind in _matrices(root)}
    folders = _feature_folders(path, root, names)
    if not folders:
        yield Glance(str(path), fault=NO_FEATURES)
    for folder in folders:
        labels = _files(folder, "*-labels")
        rows = len(read_numbers(labels[0])) if labels else 0
        yield Glance(str(folder), folder.name, tuple(names), tables, rows)


# ---- CUB and SUN, with features of your own ------------------------------------------


def is_cub(path: Path) -> bool:
    """Tell a folder with images.txt and image_class_labels.txt."""
    files = ("images.txt", "image_class_labels.txt", "classes.txt")
    return all((path / name).is_file() for name in files)


@reader("Caltech-UCSD Birds folder", recognises=is_cub)
def read_cub(path: Path) -> RawData:
    """Read the folder ``CUB_200_2011``, with ``features.npy`` among its files."""
    names = read_names(path / "classes.txt")
    n_images = len(read_names(path / "images.txt"))
    labels = read_numbers(path / "image_class_labels.txt", n_images)
    tables = {}
    for place in (path, path / "attributes"):
        file = place / "class_attribute_labels_continuous.txt"
        if file.is_file():
            values = read_numbers(file, len(names)) / 100
            table = pd.DataFrame(values, index=pd.Index(names))
            tables = {f"att_{values.shape[1]}": table}
    return RawData(
        name=path.resolve().name,
        where=str(path),
        X=_own_features(path, n_images),
        y=counted_from_one(labels[:, -1], f"{path / 'image_class_labels.txt'}:"),
        class_names=names,
        tables=tables,
        unseen=_own_or_proposed(path, names, "cub-ps"),
        first=1,
        origin={
            "X": "features.npy",
            "y": "image_class_labels.txt",
            "classes": "classes.txt",
            "unseen": "testclasses.txt",
        },
    )


def is_sun(path: Path) -> bool:
    """Tell a folder with images.mat and attributeLabels_continuous.mat."""
    files = ("images.mat", "attributeLabels_continuous.mat")
    return path.is_dir() and all(is_mat(path / name) for name in files)


@reader("SUN Attribute folder", recognises=is_sun)
def read_sun(path: Path) -> RawData:
    """Read the folder ``SUNAttributeDB``, with ``features.npy`` among its files."""
    images = MatFile(path / "images.mat").texts("images")
    file = MatFile(path / "attributeLabels_continuous.mat")
    values = file.numbers("labels_cv")
    check_count(f"{file.path}: 'labels_cv'", len(values), len(images), "images")
    classes = [_sun_class(str(image), path) for image in images]
    labels = as_texts(classes, f"{path / 'images.mat'}:")
    means = pd.DataFrame(values).groupby(labels).mean().rename_axis(None)
    if is_mat(path / "attributes.mat"):
        columns = MatFile(path / "attributes.mat").texts("attributes")
        if len(columns) == values.shape[1]:
            means.columns = columns.tolist()
    names = means.index.to_numpy().astype(str)
    return RawData(
        name=path.resolve().name,
        where=str(path),
        X=_own_features(path, len(images)),
        y=labels,
        class_names=names,
        tables={"attributes": means},
        unseen=_own_or_proposed(path, names, "sun-ps"),
        origin={"X": "features.npy", "y": "images.mat", "classes": "images.mat"},
    )


def glance_cub(path: Path) -> Iterator[Glance]:
    """Look at the classes of CUB."""
    if is_cub(path):
        names = tuple(read_names(path / "classes.txt").tolist())
        yield _glance_own(path, names, {"att_312": 312}, path / "images.txt")


def glance_sun(path: Path) -> Iterator[Glance]:
    """Look at the classes of SUN."""
    if is_sun(path):
        images = MatFile(path / "images.mat").texts("images")
        names = tuple(sorted({_sun_class(str(image), path) for image in images}))
        yield _glance_own(path, names, {"attributes": 102}, path / "images.mat")


def _glance_own(path: Path, names: Any, tables: Any, images: Path) -> Glance:
    if not _files(path, "features"):
        fault = (
            f"no features in it: save features.npy there, a row per image of {images}"
        )
        return Glance(str(path), fault=fault)
    return Glance(str(path), "features of its owner's", names, tables)


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


def _own_features(path: Path, n_images: int) -> np.ndarray:
    """Return the user's features, one row per image of the list."""
    found = _files(path, "features")
    if not found:
        raise ValueError(
            f"{path}: the images and classes are here, but no features of them. Save "
            f"features.npy there, with one row for each of the {n_images} images in "
            "the order of their list."
        )
    return read_numbers(found[0], n_images)


def _own_or_proposed(path: Path, names: np.ndarray, split: str) -> np.ndarray | None:
    own = _side(path / "testclasses.txt")
    if own is not None:
        return own
    try:
        return match_names(standard_splits()[split].unseen, names.tolist())
    except ValueError:  # a part of the set: who is unseen must be said
        return None


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
