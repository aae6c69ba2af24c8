"""A folder of plain files, the simplest way to bring data along.

Its files::

    features.npy    (n_samples, n_features), opened as a memory map
    labels.csv      a class name per row, empty for unlabelled rows; a second column
                    "split" may say "test" for rows of seen classes that are set aside
                    for scoring
    classes.csv     one row per class: its name, "split" (seen or unseen), its numbers
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from unseen.limits import check_plain_file
from unseen.loading.arrays import open_npy
from unseen.loading.frames import add_class_table
from unseen.loading.parts import RawData, as_texts, damaged_file, reader

__all__ = ["read_folder"]


def is_folder(path: Path) -> bool:
    """Tell a folder with features.npy and labels.csv."""
    return all((path / name).is_file() for name in ("features.npy", "labels.csv"))


@reader("folder with features.npy, labels.csv, classes.csv", is_folder)
def read_folder(path: Path) -> RawData:
    """Read a folder of plain files, see the head of :mod:`unseen.loading.folder`."""
    X = open_npy(path / "features.npy")
    rows = _read_labels(path / "labels.csv")
    if not rows[len(X) :].to_numpy().any():  # empty lines at the end
        rows = rows[: len(X)]
    y = as_texts(rows[0].tolist(), f"{path / 'labels.csv'}:")
    aside = rows.get(1, rows[0]).to_numpy() == "test"
    raw = RawData(
        name=path.resolve().name,
        where=str(path),
        X=X,
        y=y,
        class_names=np.unique(y[y != ""]),
        seen_test=aside if 1 in rows and aside.any() else None,
        origin={
            "X": "features.npy",
            "y": "labels.csv",
            "unseen": "classes.csv",
            "classes": "classes.csv",
        },
    )
    add_class_table(raw, path / "classes.csv")
    return raw


def _read_labels(path: Path) -> pd.DataFrame:
    """Return columns 0 and, if there is one, 1: labels and splits, empty for none."""
    check_plain_file(path)
    with damaged_file(path):
        rows = pd.read_csv(
            path,
            header=None,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
            encoding="utf-8-sig",
        ).fillna("")
    if rows.shape[1] > 2:
        raise ValueError(
            f"{path} has {rows.shape[1]} columns. Give labels, at most a split."
        )
    rows = rows.where(rows.apply(lambda column: column.str.strip() != ""), "")
    heads = ("label", "labels", "class", "class_name", "name", "y")
    return rows[1:] if str(rows.iloc[0, 0]).strip().lower() in heads else rows
