"""The pair of MATLAB files of Xian et al. (xlsa17): features, and attributes + splits.

    res101.mat       features (n_features, n_samples), labels (n_samples, 1) from 1
    att_splits.mat   att, original_att (n_dims, n_classes), allclasses_names,
                     trainval_loc, test_seen_loc, test_unseen_loc from 1

Rows of ``test_seen_loc`` are set aside as ``seen_test``; rows in none of the three
locations are left out. A label that is NaN is an unlabelled row. Version 5 and 7.3
are both read.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from unseen.loading.matlab import MatFile, mat_keys
from unseen.loading.parts import Parts, as_float
from unseen.loading.registry import reader

__all__ = ["read_xlsa17"]

FEATURES = {"features", "labels"}
SPLITS = {"att", "test_unseen_loc"}
NAMES = ("res101.mat", "att_splits.mat")


def is_xlsa17(path: Path) -> bool:
    """Tell a folder with the pair, or one file of a pair."""
    return find_pair(path) is not None


@reader("xlsa17 pair (res101.mat, att_splits.mat)", recognises=is_xlsa17)
def read_xlsa17(path: Path) -> Parts:
    """Read the pair of files that a folder of xlsa17 holds.

    Parameters
    ----------
    path : Path
        The folder, such as ``xlsa17/data/CUB``, or one of its files.

    Returns
    -------
    Parts
        Class tables ``att`` and ``original_att``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unseen.loading import load_data
    >>> from unseen.loading.writing import write_data
    >>> from unseen.loading.xlsa17 import read_xlsa17
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_data(load_data("digits"), Path(folder) / "D", kind="xlsa17")
    ...     read_xlsa17(path).build().unseen.tolist()
    ['2', '5', '8']
    """
    pair = find_pair(path)
    if pair is None:
        raise ValueError(f"{path}: holds no {NAMES[0]} and {NAMES[1]}.")
    features, splits = MatFile(pair[0]), MatFile(pair[1])
    y = features.rows("labels", gaps=True)
    X = samples_by_row(features, "features", len(y))
    tables = _tables(splits)
    names = _class_names(splits, len(next(iter(tables.values()))))
    kept, aside, sides = _locations(splits, y)
    unseen, seen = (np.unique(y[rows]) for rows in sides)
    if (y[kept] < 0).any():  # unlabelled rows: who is not seen is unseen
        unseen = np.setdiff1d(np.arange(len(names)), seen)
    return Parts(
        name=pair[0].resolve().parent.name,
        where=str(path),
        X=X if len(kept) == len(X) else X[kept],
        y=_without_gaps(y[kept], names, features),
        class_names=names,
        tables={k: v.set_axis(names, axis=0) for k, v in tables.items()},
        unseen=unseen,
        seen=seen,
        seen_test=aside[kept] if aside.any() else None,
        first=1,
        origin={
            "X": f"features of {pair[0].name}",
            "y": f"labels of {pair[0].name}",
            "unseen": "test_unseen_loc",
            "seen": "trainval_loc",
            "classes": pair[1].name,
        },
    )


def _without_gaps(y: np.ndarray, names: np.ndarray, features: MatFile) -> np.ndarray:
    """Return labels by name where some rows have none: numbers have no gap."""
    labels = features.numbers("labels")
    if labels.dtype.kind != "f" or not np.isnan(labels).any():
        return y
    if y.max(initial=0) >= len(names):
        raise ValueError(
            f"{features.path}: 'labels' holds {y.max() + 1}, but there are "
            f"{len(names)} classes. Count classes from 1."
        )
    return np.append(names, "")[y]


def find_pair(path: Path) -> tuple[Path, Path] | None:
    """Return (features, splits) among the MATLAB files of a folder, by content."""
    folder = path if path.is_dir() else path.parent
    if path.is_file() and not (mat_keys(path) & (FEATURES | SPLITS)):
        if path.name not in NAMES:
            return None
    if all((folder / name).is_file() for name in NAMES):
        return folder / NAMES[0], folder / NAMES[1]
    keys = {file: mat_keys(file) for file in sorted(folder.glob("*.mat"))[:20]}
    features = [file for file, names in keys.items() if names >= FEATURES]
    splits = [file for file, names in keys.items() if names >= SPLITS]
    if path in features:
        features = [path]
    if path in splits:
        splits = [path]
    return (features[0], splits[0]) if features and splits else None


def samples_by_row(file: MatFile, key: str, n_samples: int) -> np.ndarray:
    """Return a matrix with one row per sample; MATLAB's files have columns."""
    X = file.numbers(key)
    if X.shape[1] == n_samples:
        return X.T
    raise ValueError(
        f"{file.path}: {key!r} has shape {X.shape}, but there are {n_samples} labels. "
        "Give one column per sample."
    )


def _tables(splits: MatFile) -> dict[str, pd.DataFrame]:
    found = {
        key: splits.numbers(key)
        for key in ("att", "original_att")
        if key in splits.keys
    }
    if "att" not in found:
        raise ValueError(f"{splits.path}: there is no variable 'att'. Fetch it again.")
    n_classes = found["att"].shape[1]
    for key, values in found.items():
        if values.shape[1] != n_classes:
            raise ValueError(
                f"{splits.path}: {key!r} has {values.shape[1]} columns, but 'att' has "
                f"{n_classes}. Give one column per class."
            )
    return {
        key: pd.DataFrame(np.ascontiguousarray(as_float(values).T))
        for key, values in found.items()
    }


def _class_names(splits: MatFile, n_classes: int) -> np.ndarray:
    if "allclasses_names" not in splits.keys:  # Oxford Flowers has none
        return np.array([str(i + 1) for i in range(n_classes)])
    names = splits.texts("allclasses_names")
    if len(names) != n_classes:
        raise ValueError(
            f"{splits.path}: 'allclasses_names' names {len(names)} classes, but 'att' "
            f"has {n_classes} columns. Give one name per class."
        )
    return names


def _locations(
    splits: MatFile, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return (rows kept, mask of rows set aside, (unseen rows, training rows))."""
    places = {}
    for key in ("trainval_loc", "test_seen_loc", "test_unseen_loc"):
        rows = splits.rows(key)
        outside = rows[(rows < 0) | (rows >= len(y))]
        if len(outside):
            raise ValueError(
                f"{splits.path}: {key!r} speaks of row {outside[0] + 1}, but there are "
                f"{len(y)} samples. Count rows from 1."
            )
        places[key] = rows
    train, aside, unseen = places.values()
    mask = np.zeros(len(y), dtype=bool)
    mask[aside] = True
    if mask[unseen].any() or mask[train].any() or np.isin(train, unseen).any():
        raise ValueError(
            f"{splits.path}: a row is in two of trainval_loc, test_seen_loc and "
            "test_unseen_loc. Put every row in one."
        )
    kept = np.unique(np.concatenate([train, aside, unseen]))
    return kept, mask, (unseen, train)
