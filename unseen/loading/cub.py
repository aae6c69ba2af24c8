"""Caltech-UCSD Birds 200-2011, as its archive unpacks, with features of your own.

    images.txt                    1 001.Black_footed_Albatross/....jpg
    image_class_labels.txt        1 1                           image, class
    classes.txt                   1 001.Black_footed_Albatross
    attributes/class_attribute_labels_continuous.txt            (200, 312)
    features.npy                  yours: row i belongs to line i of images.txt
    testclasses.txt               yours, optional: names of the unseen classes

Without testclasses.txt the proposed split (150/50) is taken.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from unseen._words import shown
from unseen.loading.npy import open_npy
from unseen.loading.parts import Parts, as_texts
from unseen.loading.registry import reader
from unseen.loading.splits import load_split, match_names
from unseen.loading.text_lists import read_lines, read_numbers, read_pairs

__all__ = ["read_cub"]

ATTRIBUTES = "class_attribute_labels_continuous.txt"


def is_cub(path: Path) -> bool:
    """Tell a folder with images.txt and image_class_labels.txt."""
    files = ("images.txt", "image_class_labels.txt", "classes.txt")
    return all((path / name).is_file() for name in files)


@reader("Caltech-UCSD Birds folder", recognises=is_cub)
def read_cub(path: Path) -> Parts:
    r"""Read Caltech-UCSD Birds from its own files, with ``features.npy`` among them.

    Parameters
    ----------
    path : Path
        The folder ``CUB_200_2011``.

    Returns
    -------
    Parts
        Class table ``att_312`` (per cent of workers, divided by 100).

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.cub import read_cub
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     root = Path(folder)
    ...     _ = (root / "classes.txt").write_text("1 001.Auk\n2 002.Wren\n")
    ...     _ = (root / "images.txt").write_text("1 001.Auk/a\n2 002.Wren/b\n")
    ...     _ = (root / "image_class_labels.txt").write_text("1 1\n2 2\n")
    ...     (root / "attributes").mkdir()
    ...     _ = (root / "attributes" / "class_attribute_labels_continuous.txt"
    ...         ).write_text("10 90\n80 20\n")
    ...     _ = (root / "testclasses.txt").write_text("002.Wren\n")
    ...     np.save(root / "features.npy", np.eye(2))
    ...     read_cub(root).build().unseen.tolist()
    ['002.Wren']
    """
    names = as_texts(read_pairs(path / "classes.txt"), f"{path / 'classes.txt'}:")
    images = read_pairs(path / "images.txt")
    labels = read_pairs(path / "image_class_labels.txt")
    odd = [text for text in labels if not text.isdigit()]
    if odd or len(labels) != len(images):
        raise ValueError(
            f"{path / 'image_class_labels.txt'}: "
            + (
                f"holds {shown(odd[0])}, which is no class number."
                if odd
                else f"has {len(labels)} lines, but images.txt has {len(images)}."
            )
        )
    return Parts(
        name=path.resolve().name,
        where=str(path),
        X=rows_of_images(path, len(images)),
        y=np.array([int(text) for text in labels], dtype=np.int64) - 1,
        class_names=names,
        tables=_tables(path, names),
        unseen=_unseen(path, names),
        first=1,
        origin={
            "X": "features.npy",
            "y": "image_class_labels.txt",
            "classes": "classes.txt",
            "unseen": "testclasses.txt",
        },
    )


def rows_of_images(path: Path, n_images: int) -> np.ndarray:
    """Return the user's features, one row per image of the list."""
    file = path / "features.npy"
    if not file.is_file():
        raise ValueError(
            f"{path}: the images and classes are here, but no features of them. Save "
            f"features.npy there, with one row for each of the {n_images} images in "
            "the order of their list."
        )
    X = open_npy(file)
    if X.ndim != 2 or len(X) != n_images:
        raise ValueError(
            f"{file}: has shape {X.shape}, but there are {n_images} images. "
            "Give one row per image, in the order of their list."
        )
    return X


def _tables(path: Path, names: np.ndarray) -> dict[str, pd.DataFrame]:
    for file in (path / "attributes" / ATTRIBUTES, path / ATTRIBUTES):
        if file.is_file():
            values = read_numbers(file, len(names)) / 100
            key = f"att_{values.shape[1]}"
            return {key: pd.DataFrame(values, index=pd.Index(names))}
    return {}


def _unseen(path: Path, names: np.ndarray) -> np.ndarray | None:
    own = path / "testclasses.txt"
    if own.is_file():
        return as_texts(read_lines(own), f"{own}:")
    try:
        return match_names(load_split("cub-ps").unseen, names.tolist())
    except ValueError:
        return None
