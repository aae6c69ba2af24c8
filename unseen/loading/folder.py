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

import csv
import json
from array import array
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from unseen.limits import check_plain_file
from unseen.loading.arrays import open_npy
from unseen.loading.frames import frame_to_table
from unseen.loading.parts import (
    RawData,
    as_texts,
    check_widths,
    damaged_file,
    iter_lines,
    read_whole,
    reader,
)
from unseen.loading.spreadsheets import read_table

__all__ = ["read_folder"]

HEADERS = ("label", "labels", "class", "class_name", "name", "y")


def is_folder(path: Path) -> bool:
    """Tell a folder with features.npy, labels.csv and classes.csv."""
    return all((path / name).is_file() for name in ("features.npy", "labels.csv"))


@reader("folder with features.npy, labels.csv, classes.csv", recognises=is_folder)
def read_folder(path: Path) -> RawData:
    r"""Read a folder of plain files, see the head of :mod:`unseen.loading.folder`.

    Parameters
    ----------
    path : Path
        The folder; its name names the set.

    Returns
    -------
    RawData
        ``X`` is a memory map.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from unseen.loading.folder import read_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     zoo = Path(folder)
    ...     np.save(zoo / "features.npy", np.eye(2, dtype=np.float32))
    ...     _ = (zoo / "labels.csv").write_text("label\nzebra\nokapi\n")
    ...     _ = (zoo / "classes.csv").write_text(
    ...         "class,split,stripes\nzebra,seen,1\nokapi,unseen,0.5\n")
    ...     data = read_folder(zoo).build()
    >>> type(data.X).__name__, data.unseen.tolist()
    ('memmap', ['okapi'])
    """
    X = open_npy(path / "features.npy")
    with damaged_file(path / "labels.csv"):
        y, splits, names = read_labels(path / "labels.csv")
    if len(y) > len(X) and not any(y[len(X) :]):  # empty lines at the end
        y, splits = y[: len(X)], None if splits is None else splits[: len(X)]
    about = _about(path / "about.json")
    raw = RawData(
        name=about.get("name", path.resolve().name),
        where=str(path),
        X=X,
        y=y,
        class_names=np.sort(names),
        seen_test=None if splits is None else splits == "test",
        fused=bool(about.get("fused", False)),
        origin={
            "X": "features.npy",
            "y": "labels.csv",
            "unseen": "classes.csv",
            "classes": "classes.csv",
        },
    )
    if raw.seen_test is not None and not raw.seen_test.any():
        raw.seen_test = None
    _add_tables(raw, path, about.get("tables", {}))
    return raw


def read_labels(path: Path) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Return (labels, splits or None, distinct labels) of one row per sample.

    Names are kept once each: a million rows cost a million small numbers.
    """
    codes: list[array] = [array("i"), array("i")]
    known: list[dict[str, int]] = [{}, {}]
    check_plain_file(path)
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(iter_lines(file, path), strict=True)
        width = 1
        for number, row in enumerate(rows):
            if number == 0:
                width = len(row)
                if width not in (1, 2):
                    raise ValueError(
                        f"{path}: has {width} columns. Give labels, at most a split."
                    )
                if row[0].strip().lower() in HEADERS:
                    continue
            row = row or [""]  # an empty line: unlabelled
            if len(row) != width:
                raise ValueError(
                    f"{path}: line {rows.line_num} is {','.join(row)[:50]!r}. "
                    "Give one class name per row, or none if it is unlabelled."
                )
            for column, value in enumerate(row):
                value = value if value.strip() else ""
                seen = known[column]
                codes[column].append(seen.setdefault(value, len(seen)))
    y, split = (
        _spelled_out(list(names), np.frombuffer(rows, dtype=np.intc), path)
        for names, rows in zip(known, codes, strict=True)
    )
    names = as_texts([name for name in known[0] if name], f"{path}:")
    return y, split if width == 2 else None, names


def _spelled_out(names: list[str], rows: np.ndarray, path: Path) -> np.ndarray:
    if not names:
        return np.array([], dtype=str)
    lengths = np.array([len(name) for name in names])
    check_widths(int(lengths.max()), len(rows), int(lengths[rows].sum()), f"{path}:")
    return np.array(names, dtype=str)[rows]


def _about(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    with damaged_file(path):
        about = json.loads(read_whole(path))
        kinds = {"name": str, "fused": bool, "tables": dict}
        for key, kind in kinds.items():
            if not isinstance(about, dict) or not isinstance(
                about.get(key, kind()), kind
            ):
                raise ValueError(
                    f"{path}: {key!r} is no {kind.__name__}. Save the set again."
                )
        return about


def _add_tables(raw: RawData, path: Path, dtypes: dict[str, Any]) -> None:
    found = {}
    main = path / "classes.csv"
    if main.is_file():
        with damaged_file(main):
            table, raw.unseen = frame_to_table(read_table(main, names_first=True), main)
        raw.class_names = table.index.to_numpy().astype(str)
        if table.shape[1]:
            found[""] = table
    for file in sorted((path / "classes").glob("*.csv")):
        with damaged_file(file):
            frame = read_table(file, names_first=True)
            found[unquote(file.stem)] = frame_to_table(frame, file)[0]
    order = [name for name in dtypes if name in found]
    for name in [*order, *(name for name in found if name not in order)]:
        table, dtype = found[name], dtypes.get(name)
        if dtype in ("float32", "float64"):
            table = table.astype(dtype)
        numbers = [str(i) for i in range(table.shape[1])]
        if table.columns.tolist() == numbers:
            table = table.set_axis(range(table.shape[1]), axis=1)
        raw.tables[name] = table
