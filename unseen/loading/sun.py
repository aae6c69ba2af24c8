"""The SUN Attribute database, as its archive unpacks, with features of your own.

    attributes.mat                  attributes (102, 1): their names
    images.mat                      images (n, 1): a/abbey/sun_aqwerty.jpg
    attributeLabels_continuous.mat  labels_cv (n, 102): how many workers agreed
    features.npy                    yours: row i belongs to image i
    testclasses.txt                 yours, optional: names of the unseen classes

An image's class is its folder, ``apse_indoor`` for ``a/apse/indoor``; a class's
embedding is the mean over its images. Without testclasses.txt the proposed split
(645/72) is taken; ``unseen="sun-707"`` takes the paper's 707/10.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from unseen.loading.cub import rows_of_images
from unseen.loading.matlab import MatFile, is_mat
from unseen.loading.parts import Parts, as_texts
from unseen.loading.registry import reader
from unseen.loading.splits import load_split, match_names
from unseen.loading.text_lists import read_lines

__all__ = ["read_sun"]


def is_sun(path: Path) -> bool:
    """Tell a folder with images.mat and attributeLabels_continuous.mat."""
    files = ("images.mat", "attributeLabels_continuous.mat")
    return path.is_dir() and all(is_mat(path / name) for name in files)


@reader("SUN Attribute folder", recognises=is_sun)
def read_sun(path: Path) -> Parts:
    """Read the SUN Attribute database, with ``features.npy`` among its files.

    Parameters
    ----------
    path : Path
        The folder ``SUNAttributeDB``.

    Returns
    -------
    Parts
        Class table ``attributes``.

    Examples
    --------
    >>> import numpy as np, scipy.io, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.sun import read_sun
    >>> images = np.array([["a/abbey/sun_1.jpg"], ["a/apse/indoor/sun_2.jpg"]], object)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     root = Path(folder)
    ...     scipy.io.savemat(root / "images.mat", {"images": images})
    ...     scipy.io.savemat(root / "attributeLabels_continuous.mat",
    ...                      {"labels_cv": np.eye(2)})
    ...     np.save(root / "features.npy", np.eye(2))
    ...     read_sun(root).build(unseen=["apse_indoor"]).seen.tolist()
    ['abbey']
    """
    images = MatFile(path / "images.mat").texts("images")
    file = MatFile(path / "attributeLabels_continuous.mat")
    values = file.numbers("labels_cv")
    if len(values) != len(images):
        raise ValueError(
            f"{file.path}: 'labels_cv' has {len(values)} rows, but images.mat names "
            f"{len(images)} images. Give one row per image."
        )
    labels = as_texts(
        [_class_of(str(image), path) for image in images], f"{path / 'images.mat'}:"
    )
    names, codes = np.unique(labels, return_inverse=True)
    means = np.zeros((len(names), values.shape[1]))
    np.add.at(means, codes, values)
    means /= np.bincount(codes)[:, None]
    table = pd.DataFrame(means, index=pd.Index(names), columns=_columns(path, values))
    return Parts(
        name=path.resolve().name,
        where=str(path),
        X=rows_of_images(path, len(images)),
        y=codes.astype(np.int64),
        class_names=names,
        tables={"attributes": table},
        unseen=_unseen(path, names),
        origin={"X": "features.npy", "y": "images.mat", "classes": "images.mat"},
    )


def _class_of(image: str, path: Path) -> str:
    folders = image.split("/")[:-1]
    if folders and len(folders[0]) == 1:  # the letter its name begins with
        folders = folders[1:]
    if not folders:
        raise ValueError(
            f"{path / 'images.mat'}: {image!r} is in no folder. "
            "Give images as a/abbey/name.jpg."
        )
    return "_".join(folders)


def _columns(path: Path, values: np.ndarray) -> list[str] | None:
    if not is_mat(path / "attributes.mat"):
        return None
    columns = MatFile(path / "attributes.mat").texts("attributes").tolist()
    return columns if len(columns) == values.shape[1] else None


def _unseen(path: Path, names: np.ndarray) -> np.ndarray | None:
    own = path / "testclasses.txt"
    if own.is_file():
        return as_texts(read_lines(own), f"{own}:")
    try:
        return match_names(load_split("sun-ps").unseen, names.tolist())
    except ValueError:
        return None
