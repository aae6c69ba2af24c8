"""Animals with Attributes, versions 1 and 2, as their archives unpack.

    classes.txt                       1 antelope ...
    predicates.txt                    1 black ...             names of the attributes
    predicate-matrix-continuous.txt   (n_classes, 85); -1 marks what is missing
    predicate-matrix-binary.txt       (n_classes, 85)
    trainclasses.txt, testclasses.txt the 40/10 split
    Features/<kind>/...               the features, in one of three forms:
        <name>-features.txt and <name>-labels.txt     version 2: one row per image
        <class>/*.txt or *.npy                        version 1: one file per image
        <class>.npy or <class>.txt                    one matrix per class

With several kinds of features, give the folder of one: ``AwA/Features/decaf``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from unseen._words import listed
from unseen.loading.arrays import whole_numbers
from unseen.loading.npy import open_npy
from unseen.loading.parts import Parts, as_texts
from unseen.loading.registry import reader
from unseen.loading.text_lists import read_lines, read_numbers, read_pairs

__all__ = ["read_awa"]

MATRICES = ("continuous", "binary")


def is_awa(path: Path) -> bool:
    """Tell a folder with classes.txt and a predicate matrix, or one below it."""
    return _find_root(path) is not None


@reader("Animals with Attributes folder", recognises=is_awa)
def read_awa(path: Path) -> Parts:
    r"""Read Animals with Attributes from its own files.

    Parameters
    ----------
    path : Path
        The folder with ``classes.txt``, or a folder of features below it.

    Returns
    -------
    Parts
        Class tables ``continuous`` and ``binary``, as far as they are there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.awa import read_awa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     root = Path(folder)
    ...     _ = (root / "classes.txt").write_text("1\tseal\n2\trat\n")
    ...     _ = (root / "predicate-matrix-binary.txt").write_text("1 0\n0 1\n")
    ...     _ = (root / "testclasses.txt").write_text("rat\n")
    ...     for name in ("seal", "rat"):
    ...         (root / "Features" / "decaf" / name).mkdir(parents=True)
    ...         file = root / "Features" / "decaf" / name / f"{name}_0001.txt"
    ...         _ = file.write_text("0.5 1.5\n")
    ...     read_awa(root).build().unseen.tolist()
    ['rat']
    """
    root = _find_root(path)
    if root is None:
        raise ValueError(f"{path}: holds no classes.txt and predicate matrix.")
    names = as_texts(read_pairs(root / "classes.txt"), f"{root / 'classes.txt'}:")
    folder = _feature_folder(path, root, set(names.tolist()))
    X, y = _read_features(folder, names)
    return Parts(
        name=root.resolve().name,
        where=str(path),
        X=X,
        y=y,
        class_names=names,
        tables=_tables(root, names),
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


def _find_root(path: Path) -> Path | None:
    if not path.is_dir():
        return None
    for folder in [path, *path.resolve().parents][:4]:
        if (folder / "classes.txt").is_file():
            below = path.resolve().relative_to(folder.resolve()).parts
            mine = not below or below[0] == "Features"
            if mine and any(_matrix(folder, kind).is_file() for kind in MATRICES):
                return folder
            return None
    return None


def _matrix(root: Path, kind: str) -> Path:
    return root / f"predicate-matrix-{kind}.txt"


def _tables(root: Path, names: np.ndarray) -> dict[str, pd.DataFrame]:
    predicates = root / "predicates.txt"
    columns = read_pairs(predicates) if predicates.is_file() else None
    tables = {}
    for kind in MATRICES:
        if _matrix(root, kind).is_file():
            values = read_numbers(_matrix(root, kind), len(names))
            if columns is not None and len(columns) != values.shape[1]:
                raise ValueError(
                    f"{predicates}: names {len(columns)} attributes, but "
                    f"{_matrix(root, kind).name} has {values.shape[1]} columns."
                )
            tables[kind] = pd.DataFrame(values, index=pd.Index(names), columns=columns)
    return tables


def _side(path: Path) -> np.ndarray | None:
    return as_texts(read_lines(path), f"{path}:") if path.is_file() else None


def _feature_folder(path: Path, root: Path, names: set[str]) -> Path:
    if _has_features(path, names):
        return path
    places = [root, *sorted(root.glob("Features")), *sorted(root.glob("Features/*"))]
    found = [place for place in places if _has_features(place, names)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ValueError(
            f"{path}: the classes are here, but no features of them. Put them in "
            "Features/<kind>: a folder or a file per class, or *-features.txt and "
            "*-labels.txt."
        )
    raise ValueError(
        f"{path}: there are several kinds of features, "
        f"{listed(place.name for place in found)}. Give the folder of one."
    )


def _has_features(folder: Path, names: set[str]) -> bool:
    if not folder.is_dir():
        return False
    if len(list(folder.glob("*-features.txt"))) == 1:
        return True
    return any(
        (file.is_dir() and file.name in names)
        or (file.stem in names and file.suffix in (".npy", ".txt"))
        for file in folder.iterdir()
    )


def _read_features(folder: Path, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    whole = list(folder.glob("*-features.txt"))
    if len(whole) == 1:
        labels = whole[0].with_name(whole[0].name.replace("-features", "-labels"))
        y = read_numbers(labels)
        if y.shape[1] != 1:
            raise ValueError(f"{labels}: holds more than one whole number per line.")
        X = read_numbers(whole[0], len(y))
        return X, whole_numbers(y[:, 0], f"{labels}: the column of labels") - 1
    blocks, codes = [], []
    for code, name in enumerate(names.tolist()):
        block = _class_features(folder, name)
        if block is not None:
            blocks.append(block)
            codes.append(np.full(len(block), code))
    widths = {block.shape[1] for block in blocks}
    if len(widths) != 1:
        raise ValueError(
            f"{folder}: the classes have {sorted(widths)} features. Give all as many."
        )
    return np.concatenate(blocks), np.concatenate(codes)


def _class_features(folder: Path, name: str) -> np.ndarray | None:
    if (folder / name).is_dir():
        files = sorted(f for f in (folder / name).iterdir() if f.suffix in KINDS)
        vectors = [_vector(file) for file in files]
        if len({vector.shape for vector in vectors}) > 1:
            raise ValueError(f"{folder / name}: the files hold vectors of unlike size.")
        return np.stack(vectors) if vectors else None
    for suffix in KINDS:
        file = folder / f"{name}{suffix}"
        if file.is_file():
            block = np.array(open_npy(file)) if suffix == ".npy" else read_numbers(file)
            if block.ndim != 2:
                raise ValueError(
                    f"{file}: has shape {block.shape}. Give rows of numbers."
                )
            return block
    return None


def _vector(file: Path) -> np.ndarray:
    values = np.array(open_npy(file)) if file.suffix == ".npy" else read_numbers(file)
    return values.ravel()


KINDS = (".npy", ".txt")
