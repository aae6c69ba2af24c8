"""A folder of plain files, the simplest way to bring data along.

Its files::

    features.npy    (n_samples, n_features), opened as a memory map
    labels.csv      a class name per row, empty for unlabelled rows; a second column
                    "split" may say "test" for rows of seen classes that are set aside
                    for scoring
    classes.csv     one row per class: its name, "split" (seen or unseen), its numbers
    classes/*.csv   further class tables, each with a name per row; optional
    about.json      name of the set, order and precision of its tables; optional
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd

from unseen.limits import check_plain_file
from unseen.loading.arrays import open_npy
from unseen.loading.frames import read_table_of_classes
from unseen.loading.parts import RawData, as_texts, damaged_file, read_whole, reader

__all__ = ["read_folder"]


def is_folder(path: Path) -> bool:
    """Tell a folder with features.npy, labels.csv and classes.csv."""
    return all((path / name).is_file() for name in ("features.npy", "labels.csv"))


@reader("folder with features.npy, labels.csv, classes.csv", recognises=is_folder)
def read_folder(path: Path) -> RawData:
    r"""Read a folder of plain files, see the head of :mod:`unseen.loading.folder`."""
    X = open_npy(path / "features.npy")
    rows = _read_labels(path / "labels.csv")
    if not rows[len(X) :].to_numpy().any():  # empty lines at the end
        rows = rows[: len(X)]
    y = as_texts(rows[0].tolist(), f"{path / 'labels.csv'}:")
    aside = rows[1].to_numpy() == "test" if 1 in rows else np.zeros(len(rows), bool)
    about = _about(path / "about.json")
    raw = RawData(
        name=about.get("name", path.resolve().name),
        where=str(path),
        X=X,
        y=y,
        class_names=np.unique(y[y != ""]),
        seen_test=aside if aside.any() else None,
        fused=about.get("fused", False),
        origin={
            "X": "features.npy",
            "y": "labels.csv",
            "unseen": "classes.csv",
            "classes": "classes.csv",
        },
    )
    _add_tables(raw, path, about.get("tables", {}))
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


def _about(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    with damaged_file(path):
        about = json.loads(read_whole(path))
        kinds = {"name": str, "fused": bool, "tables": dict}
        if not all(isinstance(about.get(k, kind()), kind) for k, kind in kinds.items()):
            raise ValueError(f"{path} holds other kinds. Save the set again.")
        return about


def _add_tables(raw: RawData, path: Path, dtypes: dict[str, Any]) -> None:
    found = {}
    if (path / "classes.csv").is_file():
        table, raw.unseen = read_table_of_classes(path / "classes.csv")
        raw.class_names = table.index.to_numpy().astype(str)
        if table.shape[1]:
            found[""] = table
    for file in sorted((path / "classes").glob("*.csv")):
        found[unquote(file.stem)] = read_table_of_classes(file)[0]
    for name in sorted(found, key=[*dtypes, *found].index):
        table = found[name]
        if dtypes.get(name) in ("float32", "float64"):
            table = table.astype(dtypes[name])
        if table.columns.tolist() == [str(i) for i in range(table.shape[1])]:
            table = table.set_axis(range(table.shape[1]), axis=1)
        raw.tables[name] = table
