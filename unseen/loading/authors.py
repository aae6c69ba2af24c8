"""The pair of MATLAB files of the JEDM program: Train.mat and Test.mat.

    Train.mat   im_fea (n_features, n_samples), semantic_fea (n_dims, n_samples),
                cla_num (n_classes): samples per class, which stand in order
    Test.mat    im_fea, semantic_uni (n_dims, n_classes), cla_num, index: the class of
                each sample, from 1

Classes have no names there: they are called ``seen 1``, ``unseen 1`` and so on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from unseen.loading.matlab import MatFile, mat_keys
from unseen.loading.parts import Parts
from unseen.loading.registry import reader
from unseen.loading.xlsa17 import samples_by_row

__all__ = ["read_authors"]

TRAIN, TEST = {"im_fea", "semantic_fea", "cla_num"}, {"im_fea", "semantic_uni", "index"}
NAMES = ("Train.mat", "Test.mat")


def is_authors(path: Path) -> bool:
    """Tell a folder with the pair, or one file of it."""
    return _find_pair(path) is not None


@reader("Train.mat and Test.mat of the JEDM program", recognises=is_authors)
def read_authors(path: Path) -> Parts:
    """Read the pair of files that the authors' program reads.

    Parameters
    ----------
    path : Path
        The folder, or one of its two files.

    Returns
    -------
    Parts

    Examples
    --------
    >>> import numpy as np, scipy.io, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.authors import read_authors
    >>> train = {"im_fea": np.eye(3), "cla_num": [[2], [1]],
    ...          "semantic_fea": np.array([[1.0, 1, 0], [0, 0, 1]])}
    >>> test = {"im_fea": np.ones((3, 1)), "semantic_uni": np.array([[0.5], [0.5]]),
    ...         "cla_num": [[1]], "index": [[1]]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scipy.io.savemat(Path(folder) / "Train.mat", train)
    ...     scipy.io.savemat(Path(folder) / "Test.mat", test)
    ...     read_authors(Path(folder)).build().y.tolist()
    ['seen 1', 'seen 1', 'seen 2', 'unseen 1']
    """
    pair = _find_pair(path)
    if pair is None:
        raise ValueError(f"{path}: holds no {NAMES[0]} and {NAMES[1]}.")
    train, test = MatFile(pair[0]), MatFile(pair[1])
    seen_rows = _codes_by_count(train)
    X_seen = samples_by_row(train, "im_fea", len(seen_rows))
    unseen_rows = test.rows("index")
    X_unseen = samples_by_row(test, "im_fea", len(unseen_rows))
    if X_seen.shape[1] != X_unseen.shape[1]:
        raise ValueError(
            f"{path}: Train.mat has {X_seen.shape[1]} features, but Test.mat "
            f"{X_unseen.shape[1]}. Give both the same."
        )
    A_seen = _seen_embeddings(train, seen_rows)
    A_unseen = test.numbers("semantic_uni").T
    if A_seen.shape[1] != A_unseen.shape[1]:
        raise ValueError(
            f"{path}: semantic_fea has {A_seen.shape[1]} dimensions, but semantic_uni "
            f"{A_unseen.shape[1]}. Give both the same."
        )
    n_seen, n_unseen = len(A_seen), len(A_unseen)
    outside = unseen_rows[(unseen_rows < 0) | (unseen_rows >= n_unseen)]
    if len(outside):
        raise ValueError(
            f"{pair[1]}: 'index' holds {outside[0] + 1}, but semantic_uni has "
            f"{n_unseen} columns. Count classes from 1."
        )
    names = np.array(
        [f"seen {i + 1}" for i in range(n_seen)]
        + [f"unseen {i + 1}" for i in range(n_unseen)]
    )
    table = pd.DataFrame(np.vstack([A_seen, A_unseen]), index=pd.Index(names))
    return Parts(
        name=pair[0].resolve().parent.name,
        where=str(path),
        X=np.concatenate([X_seen, X_unseen]),
        y=np.concatenate([seen_rows, n_seen + unseen_rows]),
        class_names=names,
        tables={"semantic": table},
        unseen=n_seen + np.arange(n_unseen),
        origin={"X": "im_fea", "y": "index of Test.mat", "classes": "semantic_uni"},
    )


def _find_pair(path: Path) -> tuple[Path, Path] | None:
    folder = path if path.is_dir() else path.parent
    if path.is_file() and not (mat_keys(path) >= TRAIN or mat_keys(path) >= TEST):
        if path.name not in NAMES:
            return None
    if all((folder / name).is_file() for name in NAMES):
        return folder / NAMES[0], folder / NAMES[1]
    keys = {file: mat_keys(file) for file in sorted(folder.glob("*.mat"))[:20]}
    train = [file for file, names in keys.items() if names >= TRAIN]
    test = [file for file, names in keys.items() if names >= TEST]
    return (train[0], test[0]) if train and test else None


def _codes_by_count(train: MatFile) -> np.ndarray:
    counts = train.rows("cla_num") + 1
    n = train.numbers("im_fea").shape[1]
    if (counts < 0).any() or (counts > n).any() or counts.sum() != n:
        raise ValueError(
            f"{train.path}: 'cla_num' counts {counts.sum()} samples, but 'im_fea' has "
            f"{n} columns. Give one column per sample."
        )
    return np.repeat(np.arange(len(counts)), counts)


def _seen_embeddings(train: MatFile, rows: np.ndarray) -> np.ndarray:
    A = samples_by_row(train, "semantic_fea", len(rows))
    classes, first = np.unique(rows, return_index=True)
    if (np.diff(classes) != 1).any() or (len(classes) and classes[0] != 0):
        raise ValueError(f"{train.path}: 'cla_num' has a class without samples.")
    odd = np.flatnonzero((A != A[first][rows]).any(axis=1))
    if len(odd):
        raise ValueError(
            f"{train.path}: sample {odd[0] + 1} has another 'semantic_fea' than the "
            "first of its class. Sort samples by class, as cla_num counts them."
        )
    return A[first]
