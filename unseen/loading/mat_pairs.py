"""Data sets in two MATLAB files: xlsa17 of Xian et al., and those of the JEDM program.

Of the first::

    res101.mat       features (n_features, n_samples), labels (n_samples, 1) from 1
    att_splits.mat   att, original_att (n_dims, n_classes), allclasses_names,
                     trainval_loc, test_seen_loc, test_unseen_loc from 1

Rows of ``test_seen_loc`` are set aside as ``seen_test``; rows in none of the three
locations are left out. A label that is NaN is an unlabelled row. Of the second::

    Train.mat   im_fea (n_features, n_samples), semantic_fea (n_dims, n_samples),
                cla_num (n_classes): samples per class, which stand in order
    Test.mat    im_fea, semantic_uni (n_dims, n_classes), cla_num, index: the class of
                each sample, from 1

Classes have no names there: they are called ``seen 1``, ``unseen 1`` and so on.

MATLAB files of version 5 are read by SciPy, those of version 7.3, which are HDF5, by
h5py. Shapes are read first: a variable that claims far more than the file holds is
refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen._words import listed
from unseen.limits import check_unpacked, limits
from unseen.loading.arrays import (
    check_stored,
    counted_from_one,
    find_datasets,
    is_hdf5,
    open_hdf5,
    read_dataset,
)
from unseen.loading.parts import (
    Glance,
    RawData,
    as_float,
    as_texts,
    check_count,
    damaged_file,
    first_bytes,
    reader,
)

__all__ = ["MatFile", "is_mat", "read_authors", "read_xlsa17"]


class Pair(NamedTuple):
    """Two files by their usual names, and the variables that tell them under others."""

    names: tuple[str, str]
    first: frozenset[str]
    second: frozenset[str]

    def find(self, path: Path) -> tuple[Path, Path] | None:
        """Return the two files of a folder; of one of the files, its folder counts."""
        folder = path if path.is_dir() else path.parent
        if path.is_file() and path.name not in self.names:
            keys = mat_keys(path)
            if not (keys >= self.first or keys >= self.second):
                return None
        if all((folder / name).is_file() for name in self.names):
            return folder / self.names[0], folder / self.names[1]
        keys_of = {file: mat_keys(file) for file in sorted(folder.glob("*.mat"))[:20]}
        first = [file for file, keys in keys_of.items() if keys >= self.first]
        second = [file for file, keys in keys_of.items() if keys >= self.second]
        first, second = ([path] if path in one else one for one in (first, second))
        return (first[0], second[0]) if first and second else None

    def open(self, path: Path) -> tuple[MatFile, MatFile]:
        """Return both files, open."""
        found = self.find(path)
        if found is None:
            raise ValueError(f"{path} holds no {self.names[0]} and {self.names[1]}.")
        return MatFile(found[0]), MatFile(found[1])


XLSA17 = Pair(
    ("res101.mat", "att_splits.mat"),
    frozenset({"features", "labels"}),
    frozenset({"att", "test_unseen_loc"}),
)
AUTHORS = Pair(
    ("Train.mat", "Test.mat"),
    frozenset({"im_fea", "semantic_fea", "cla_num"}),
    frozenset({"im_fea", "semantic_uni", "index"}),
)


@reader(
    "xlsa17 pair (res101.mat, att_splits.mat)",
    recognises=lambda path: XLSA17.find(path) is not None,
)
def read_xlsa17(path: Path) -> RawData:
    """Read the folder of a set, such as ``xlsa17/data/CUB``, or one of its files."""
    features, splits = XLSA17.open(path)
    y = features.rows("labels")
    X = columns_of(features, "features", len(y))
    if "allclasses_names" in splits.keys:
        names = splits.texts("allclasses_names")
    else:  # Oxford Flowers has none
        names = np.arange(1, splits.numbers("att").shape[1] + 1).astype(str)
    tables: dict[str, pd.DataFrame] = {}
    for key in ("att", "original_att"):
        if key == "att" or key in splits.keys:
            values = as_float(columns_of(splits, key, len(names), "classes"))
            table = pd.DataFrame(np.ascontiguousarray(values), index=pd.Index(names))
            tables[key] = table
    train, aside, test = _locations(splits, len(y))
    kept = np.unique(np.concatenate([train, aside, test]))
    seen, unseen = np.unique(y[train]), np.unique(y[test])
    if (y[kept] < 0).any():  # unlabelled rows: who is not seen is unseen
        seen = seen[seen >= 0]
        unseen = np.setdiff1d(np.arange(len(names)), seen)
    return RawData(
        name=features.path.resolve().parent.name,
        where=str(path),
        X=X if len(kept) == len(X) else X[kept],
        y=y[kept],
        class_names=names,
        tables=tables,
        unseen=unseen,
        seen=seen,
        seen_test=np.isin(kept, aside) if len(aside) else None,
        first=1,
        origin={
            "X": f"features of {features.path.name}",
            "y": f"labels of {features.path.name}",
            "unseen": "test_unseen_loc",
            "seen": "trainval_loc",
            "classes": splits.path.name,
        },
    )


@reader(
    "Train.mat and Test.mat of the JEDM program",
    recognises=lambda path: AUTHORS.find(path) is not None,
)
def read_authors(path: Path) -> RawData:
    """Read the pair of files that the authors' program reads."""
    train, test = AUTHORS.open(path)
    seen_rows, unseen_rows = _codes_by_count(train), test.rows("index")
    X_seen = columns_of(train, "im_fea", len(seen_rows))
    X_unseen = columns_of(test, "im_fea", len(unseen_rows))
    A_seen = _seen_embeddings(train, seen_rows)
    A_unseen = test.numbers("semantic_uni").T
    if X_seen.shape[1] != X_unseen.shape[1] or A_seen.shape[1] != A_unseen.shape[1]:
        raise ValueError(
            f"{path}: Train.mat has {X_seen.shape[1]} features and {A_seen.shape[1]} "
            f"dimensions, but Test.mat {X_unseen.shape[1]} and {A_unseen.shape[1]}. "
            "Give both the same."
        )
    n_seen, n_unseen = len(A_seen), len(A_unseen)
    names = np.array(
        [f"seen {i + 1}" for i in range(n_seen)]
        + [f"unseen {i + 1}" for i in range(n_unseen)]
    )
    codes = np.where(unseen_rows < 0, -1, n_seen + unseen_rows)
    table = pd.DataFrame(np.vstack([A_seen, A_unseen]), index=pd.Index(names))
    return RawData(
        name=train.path.resolve().parent.name,
        where=str(path),
        X=np.concatenate([X_seen, X_unseen]),
        y=np.concatenate([seen_rows, codes]),
        class_names=names,
        tables={"semantic": table},
        unseen=n_seen + np.arange(n_unseen),
        origin={"X": "im_fea", "y": "index of Test.mat", "classes": "semantic_uni"},
    )


def glance_xlsa17(folder: Path) -> Iterator[Glance]:
    """Look at the names of a pair's classes, and at the shapes."""
    if XLSA17.find(folder):
        features, splits = XLSA17.open(folder)
        keys = [key for key in ("att", "original_att") if key in splits.keys]
        if "allclasses_names" in splits.keys:
            names = tuple(splits.texts("allclasses_names").tolist())
            tables = {str(key): splits.shape(key)[0] for key in keys}
            name, rows = features.path.name, max(features.shape("labels"))
            yield Glance(str(folder), name, names, tables, rows)


def glance_authors(folder: Path) -> Iterator[Glance]:
    """Look at the counts of a pair without names."""
    if AUTHORS.find(folder):
        train, test = AUTHORS.open(folder)
        width, n_unseen = test.shape("semantic_uni")
        counts = max(train.shape("cla_num")), n_unseen
        rows, tables = train.shape("im_fea")[1], {"semantic": width}
        yield Glance(str(folder), "Train.mat", (), tables, rows, counts)


def columns_of(
    file: MatFile, key: str, count: int, what: str = "samples"
) -> np.ndarray:
    """Return a matrix with one row for each column of MATLAB's."""
    rows = file.numbers(key).T
    check_count(f"{file.path}: {key!r}", len(rows), count, what)
    return rows


def _locations(splits: MatFile, n_rows: int) -> list[np.ndarray]:
    """Return the rows to learn from, those set aside, and those of unseen classes."""
    places = []
    for key in ("trainval_loc", "test_seen_loc", "test_unseen_loc"):
        rows = splits.rows(key)
        if rows.max(initial=0) >= n_rows:
            raise ValueError(
                f"{splits.path}: {key!r} speaks of row {rows.max() + 1}, but there are "
                f"{n_rows} samples. Count rows from 1."
            )
        places.append(np.unique(rows))
    if np.unique(np.concatenate(places)).size < sum(map(len, places)):
        raise ValueError(
            f"{splits.path}: a row is in two of trainval_loc, test_seen_loc and "
            "test_unseen_loc. Put every row in one."
        )
    return places


def _codes_by_count(train: MatFile) -> np.ndarray:
    counts = train.rows("cla_num") + 1
    n = train.numbers("im_fea").shape[1]
    if (counts < 1).any() or (counts > n).any() or counts.sum() != n:
        raise ValueError(
            f"{train.path}: 'cla_num' counts {counts.sum()} samples, but 'im_fea' has "
            f"{n} columns. Give every class its samples, one column each."
        )
    return np.repeat(np.arange(len(counts)), counts)


def _seen_embeddings(train: MatFile, rows: np.ndarray) -> np.ndarray:
    A = columns_of(train, "semantic_fea", len(rows))
    first = np.unique(rows, return_index=True)[1]
    odd = np.flatnonzero((A != A[first][rows]).any(axis=1))
    if len(odd):
        raise ValueError(
            f"{train.path}: sample {odd[0] + 1} has another 'semantic_fea' than the "
            "first of its class. Sort the samples by class, in the order in which "
            "cla_num counts them."
        )
    return A[first]


# ---- MATLAB files -------------------------------------------------------------------


def is_mat(path: Path) -> bool:
    """Tell a MATLAB file of version 5 or 7.3 by its header."""
    start = first_bytes(path, 128)
    is_v5 = start.startswith(b"MATLAB ") or start[126:] in (b"IM", b"MI")
    return is_v5 or (path.suffix.lower() == ".mat" and is_hdf5(path))


def mat_keys(path: Path) -> frozenset[str]:
    """Return the names of the variables, none for what is not a MATLAB file."""
    if not is_mat(path):
        return frozenset()
    try:
        return frozenset(MatFile(path).keys)
    except ImportError:
        raise
    except Exception:  # damaged: whoever reads it will say so
        return frozenset()


class MatFile:
    """The variables of a MATLAB file, each read when it is asked for."""

    def __init__(self, path: Path) -> None:
        from scipy.io import whosmat

        self.path = path
        self.in_hdf5 = is_hdf5(path)
        if self.in_hdf5:
            with open_hdf5(path) as file:
                self.keys = [str(name) for name in file if not name.startswith("#")]
        else:
            with damaged_file(path):
                self._shapes = {name: shape for name, shape, _ in whosmat(path)}
            self.keys = list(self._shapes)

    def shape(self, key: str) -> tuple[int, ...]:
        """Return (rows, columns) of a matrix as MATLAB has it, without reading it."""
        if not self.in_hdf5:
            return self._shapes[key]
        with open_hdf5(self.path) as file:
            return file[key].shape[::-1]

    def numbers(self, key: str) -> np.ndarray:
        """Return a matrix of real numbers, (rows, columns) as MATLAB has it.

        It is in MATLAB's order of memory: the transpose is in C's.
        """
        values = self._read(key)
        if values.ndim != 2 or values.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.path}: {key!r} is {values.dtype} of shape {values.shape}. "
                "Give a matrix of real numbers."
            )
        return values

    def rows(self, key: str) -> np.ndarray:
        """Return row numbers, from 1 in the file and from 0 here; NaN becomes -1."""
        values = self.numbers(key).ravel(order="F").astype(np.float64)
        return counted_from_one(values, f"{self.path}: {key!r}")

    def texts(self, key: str) -> np.ndarray:
        """Return a cell array of text as one dimension of ``str``."""
        texts = []
        # SciPy keeps the text of a cell as an array with one entry, or none.
        for cell in map(np.asarray, self._read(key, text=True).ravel(order="F")):
            text = "" if cell.size == 0 else cell.ravel()[0]
            if not isinstance(text, str) or cell.size > 1:
                raise ValueError(f"{self.path}: {key!r} holds more than text.")
            texts.append(text.strip())
        return as_texts(texts, f"{self.path}: {key!r}")

    def _read(self, key: str, text: bool = False) -> np.ndarray:
        if key not in self.keys:
            raise ValueError(
                f"{self.path}: there is no variable {key!r} among {listed(self.keys)}."
            )
        if self.in_hdf5:
            return self._read_hdf5(key, text)
        from scipy.io import loadmat

        size = math.prod(self._shapes[key])
        check_unpacked(size, self.path.stat().st_size, f"{self.path}: {key!r}")
        with damaged_file(self.path):
            return loadmat(self.path, variable_names=[key])[key]

    def _read_hdf5(self, key: str, text: bool) -> np.ndarray:
        with open_hdf5(self.path) as file:
            dataset = find_datasets(file, self.path).get(key)
            if dataset is None:
                raise ValueError(f"{self.path}: {key!r} is a struct. Save a matrix.")
            if not text:
                return read_dataset(dataset, self.path).T
            check_stored(dataset, f"{self.path}: {key!r}")
            one = dataset.dtype.kind in "iu"  # one text: letters by number
            cells = [dataset] if one else [file[cell] for cell in dataset[()].flat]
            return np.array([self._letters(cell) for cell in cells], dtype=object)

    def _letters(self, cell: Any) -> str:
        check_stored(cell, f"{self.path}: {cell.name!r}")
        if cell.dtype.kind not in "iu" or cell.size > limits().name_letters:
            raise ValueError(f"{self.path}: {cell.name!r} is not a name.")
        return cell[()].astype("<u2").ravel().tobytes().decode("utf-16-le")
