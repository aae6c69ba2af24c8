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
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from unseen.loading.arrays import Arrays, is_mat, open_mat
from unseen.loading.parts import RawData, as_float, damaged_file, reader


def find_pair(path: Path, names: list[str], keys: tuple[set[str], ...]) -> list[Path]:
    """Return two files of a folder, or none; of one of the files, its folder counts.

    They have the usual names, or hold variables that tell each of them.
    """
    folder = path if path.is_dir() else path.parent
    usual = [folder / name for name in names]
    if path in (folder, *usual) and all(file.is_file() for file in usual):
        return usual
    if path.is_file() and path.suffix != ".mat":
        return []
    files = sorted(folder.glob("*.mat"), key=lambda file: (file != path, file))[:20]
    held = {file: mat_keys(file) for file in files}
    found = [[file for file in files if held[file] >= those] for those in keys]
    pair = [fitting[0] for fitting in found if fitting]
    return pair if len(pair) == 2 and (path in pair or path.is_dir()) else []


def mat_keys(path: Path) -> set[str]:
    """Return the names of the variables, none for what is not a MATLAB file."""
    try:
        return set(open_mat(path).shapes) if is_mat(path) else set()
    except ImportError:
        raise
    except Exception:  # damaged: whoever reads it will say so
        return set()


find_xlsa17 = partial(
    find_pair,
    names=["res101.mat", "att_splits.mat"],
    keys=({"features", "labels"}, {"att", "test_unseen_loc"}),
)
find_authors = partial(
    find_pair,
    names=["Train.mat", "Test.mat"],
    keys=(
        {"im_fea", "semantic_fea", "cla_num"},
        {"im_fea", "semantic_uni", "index"},
    ),
)


@reader("xlsa17 pair (res101.mat, att_splits.mat)", lambda path: any(find_xlsa17(path)))
def read_xlsa17(path: Path) -> RawData:
    """Read the folder of a set, such as ``xlsa17/data/CUB``, or one of its files."""
    features, splits = map(open_mat, find_xlsa17(path))
    y = features.rows("labels")
    if "allclasses_names" in splits:
        names = splits.names("allclasses_names")
    else:  # Oxford Flowers has none
        names = np.arange(1, splits.shape("att")[1] + 1).astype(str)
    tables = {}
    for key in ("att", "original_att"):
        if key == "att" or key in splits:
            values = as_float(splits.columns(key, len(names), "classes"))
            tables[key] = pd.DataFrame(np.ascontiguousarray(values), pd.Index(names))
    train, aside, test = _locations(splits, len(y))
    kept = np.unique(np.concatenate([train, aside, test]))
    unseen = np.unique(y[test])
    if (y[kept] < 0).any():  # unlabelled rows: who is not seen is unseen
        unseen = np.setdiff1d(np.arange(len(names)), y[train])

    def read() -> np.ndarray:
        X = features.columns("features", len(y))
        return X if len(kept) == len(X) else X[kept]

    return RawData(
        name=features.path.resolve().parent.name,
        where=str(path),
        X=read,
        y=y[kept],
        tables=tables,
        unseen=unseen,
        seen_test=np.isin(kept, aside) if len(aside) else None,
        first=1,
        origin={
            "X": features.path.name,
            "y": f"labels of {features.path.name}",
            "unseen": "test_unseen_loc",
            "classes": splits.path.name,
        },
    )


@reader(
    "Train.mat and Test.mat of the JEDM program", lambda path: any(find_authors(path))
)
def read_authors(path: Path) -> RawData:
    """Read the pair of files that the authors' program reads."""
    train, test = map(open_mat, find_authors(path))
    seen_rows, unseen_rows = _codes_by_count(train), test.rows("index")
    A_seen, A_unseen = _seen_embeddings(train, seen_rows), test.columns("semantic_uni")
    n_seen, n_unseen = len(A_seen), len(A_unseen)
    names = [f"seen {i}" for i in range(1, n_seen + 1)]
    names += [f"unseen {i}" for i in range(1, n_unseen + 1)]
    codes = np.where(unseen_rows < 0, -1, n_seen + unseen_rows)
    with damaged_file(path, "the pair"):  # one file may have more dimensions
        table = pd.DataFrame(np.concatenate([A_seen, A_unseen]), index=pd.Index(names))

    def read() -> np.ndarray:
        X_seen = train.columns("im_fea", len(seen_rows))
        X_unseen = test.columns("im_fea", len(unseen_rows))
        with damaged_file(path, "the pair"):
            return np.concatenate([X_seen, X_unseen])

    return RawData(
        name=train.path.resolve().parent.name,
        where=str(path),
        X=read,
        y=np.concatenate([seen_rows, codes]),
        tables={"semantic": table},
        unseen=n_seen + np.arange(n_unseen),
        origin={"X": "Train.mat", "y": "index of Test.mat", "classes": "semantic_uni"},
    )


def _locations(splits: Arrays, n_rows: int) -> list[np.ndarray]:
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


def _codes_by_count(train: Arrays) -> np.ndarray:
    counts = train.rows("cla_num") + 1
    n = train.shape("im_fea")[-1]
    if (counts < 1).any() or (counts > n).any() or counts.sum() != n:
        raise ValueError(
            f"{train.path}: 'cla_num' counts {counts.sum()} samples, but 'im_fea' has "
            f"{n} columns. Give every class its samples, one column each."
        )
    return np.repeat(np.arange(len(counts)), counts)


def _seen_embeddings(train: Arrays, rows: np.ndarray) -> np.ndarray:
    A = train.columns("semantic_fea", len(rows))
    first = np.unique(rows, return_index=True)[1]
    odd = np.flatnonzero((A != A[first][rows]).any(axis=1))
    if len(odd):
        raise ValueError(
            f"{train.path}: sample {odd[0] + 1} has another 'semantic_fea' than the "
            "first of its class. Sort the samples by class, in the order in which "
            "cla_num counts them."
        )
    return A[first]
