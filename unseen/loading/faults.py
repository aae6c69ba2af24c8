"""Every fault of a data set in one go, with the file and the row.

:func:`find_faults` looks at what a reader found; it never stops at the first fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from unseen._words import listed, shown
from unseen.loading.blocks import iter_blocks
from unseen.loading.parts import RawData

__all__ = ["Fault", "describe", "find_faults"]

LONGEST_HINT = 60  # letters of a name that is compared with others
# What people write where there is no label; a class may be called so all the same.
UNLABELLED_WORDS = {
    *("?", "-", "na", "n/a", "nan", "none", "null", "unknown"),
    *("unlabelled", "unlabeled"),
}


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a data set."""

    where: str
    place: str
    what: str

    def __str__(self) -> str:
        place = f", {self.place}" if self.place else ""
        return f"{self.where}{place}: {self.what}"


def find_faults(raw: RawData) -> list[Fault]:
    """Name everything that is wrong with a data set.

    Parameters
    ----------
    raw : RawData
        What :func:`unseen.loading.read_raw` returned.

    Returns
    -------
    list of Fault
        Empty if ``load_data`` and every model will take the set.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from unseen.loading.faults import find_faults
    >>> from unseen.loading.parts import RawData
    >>> names = np.array(["zebra", "okapi"])
    >>> looks = pd.DataFrame({"stripes": [0.0, 0.5]}, index=names)
    >>> X = np.array([[1.0, np.nan], [0.0, 1.0]])
    >>> y = np.array(["zebra", "yak"])
    >>> raw = RawData("zoo", "zoo.h5", X, y, names, {"looks": looks}, unseen=names[1:])
    >>> for fault in find_faults(raw):
    ...     print(fault)
    X, row 0: holds NaN or infinity
    y, row 1: names 'yak', which is none of the 2 classes
    table 'looks', class 'zebra': is all zeros, so nothing tells it from others
    """
    return [
        *_features(raw),
        *split_faults(raw),
        *label_faults(raw),
        *table_faults(raw),
    ]


def describe(raw: RawData) -> dict[str, Any]:
    """Return what was found, as plain numbers and names.

    Parameters
    ----------
    raw : RawData

    Returns
    -------
    dict
        Rows, features, classes, split, tables, missing values and lengths of rows.

    Examples
    --------
    >>> from unseen.loading import read_raw
    >>> from unseen.loading.faults import describe
    >>> found = describe(read_raw("digits"))
    >>> found["rows"], found["seen classes"], found["unseen classes"]
    (1797, 7, 3)
    >>> found["tables"]["segments"]
    {'dimensions': 7, 'missing values': 0, 'mean length': 2.15...}
    """
    codes = _codes(raw, raw.y)
    loose = int((raw.y == "").sum())
    unseen = _unseen_codes(raw, codes)
    lengths, missing = [], 0
    for block in iter_blocks(raw.X):
        missing += int((~np.isfinite(block)).sum())
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
        lengths.append(np.sqrt(squares))
    norms = np.concatenate(lengths) if lengths else np.zeros(1)
    norms = norms[np.isfinite(norms)] if np.isfinite(norms).any() else np.zeros(1)
    side = np.isin(codes, unseen)
    aside = 0 if raw.seen_test is None else int(np.count_nonzero(raw.seen_test))
    return {
        "name": raw.name,
        "rows": len(raw.X),
        "features": int(raw.X.shape[1]) if raw.X.ndim == 2 else 0,
        "dtype": str(raw.X.dtype),
        "memory-mapped": isinstance(raw.X, np.memmap),
        "classes": len(raw.class_names),
        "seen classes": len(raw.class_names) - len(unseen),
        "unseen classes": len(unseen),
        "seen rows": int(len(codes) - side.sum() - aside - loose),
        "seen rows set aside": aside,
        "unseen rows": int(side.sum()),
        "unlabelled rows": loose,
        "missing values": missing,
        "length of rows": [float(norms.min()), float(norms.mean()), float(norms.max())],
        "tables": {name: _describe_table(t) for name, t in raw.tables.items()},
    }


def _describe_table(table: pd.DataFrame) -> dict[str, Any]:
    values = table.to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(np.nan_to_num(values), axis=1)
    return {
        "dimensions": values.shape[1],
        "missing values": int((~np.isfinite(values)).sum()),
        "mean length": float(lengths.mean()) if len(lengths) else 0.0,
    }


def _codes(raw: RawData, labels: np.ndarray) -> np.ndarray:
    """Return the row of each label in the class table, -1 for none."""
    place: dict[str, int] = {}
    for row, name in enumerate(raw.class_names.tolist()):
        place.setdefault(name, row)
    names, rows = np.unique(labels.astype(str), return_inverse=True)
    return np.array([place.get(name, -1) for name in names.tolist()], dtype=int)[rows]


def _unseen_codes(raw: RawData, codes: np.ndarray) -> np.ndarray:
    if raw.unseen is not None:
        found = _codes(raw, raw.unseen)
        return np.unique(found[found >= 0])
    return np.setdiff1d(np.arange(len(raw.class_names)), codes)


def _features(raw: RawData) -> Iterator[Fault]:
    where = raw.called("X")
    X = raw.X
    if X.ndim != 2 or X.size == 0:
        yield Fault(where, "", f"has shape {X.shape}; give rows and features")
        return
    bad, zero, start = [], [], 0
    for block in iter_blocks(X):
        finite = np.isfinite(block).all(axis=1)
        bad.extend((start + np.flatnonzero(~finite)).tolist())
        zero.extend((start + np.flatnonzero(~block.any(axis=1))).tolist())
        start += len(block)
    if bad:
        yield Fault(where, _rows(bad), "holds NaN or infinity")
    if zero:
        yield Fault(where, _rows(zero), "is all zeros, so it has no direction")


def split_faults(raw: RawData) -> Iterator[Fault]:
    """Yield what is wrong with the names of classes and who is seen or unseen."""
    names = raw.class_names.astype(str)
    where = raw.called("classes")
    for name in pd.Index(names)[pd.Index(names).duplicated()].unique():
        rows = np.flatnonzero(names == name).tolist()
        yield Fault(where, _rows(rows), f"names class {name!r} more than once")
    for row in np.flatnonzero(np.char.strip(names) == "").tolist():
        yield Fault(where, f"row {row}", "has no name")
    for part in ("unseen", "seen"):
        given = getattr(raw, part)
        strange = given[_codes(raw, given) < 0].tolist() if given is not None else []
        if strange:
            fault = f"names {listed(strange, 5)}, which is no class"
            yield Fault(raw.called(part), "", fault)
    if raw.seen is None or raw.unseen is None:
        return
    where = raw.called("unseen")
    seen, unseen = set(raw.seen.tolist()), set(raw.unseen.tolist())
    for name in dict.fromkeys(names.tolist()):
        if name in seen and name in unseen:
            fault = f"is seen too, by {raw.called('seen')}"
            yield Fault(where, f"class {name!r}", fault)
        elif name not in seen and name not in unseen:
            fault = f"is neither here nor in {raw.called('seen')}"
            yield Fault(where, f"class {name!r}", fault)


def label_faults(raw: RawData) -> Iterator[Fault]:
    """Yield what is wrong with the labels of the rows."""
    y, where, codes = raw.y, raw.called("y"), _codes(raw, raw.y)
    if len(y) != len(raw.X):
        yield Fault(where, "", f"has {len(y)} labels for {len(raw.X)} rows")
    strange = (codes < 0) & (y != "")
    rows = pd.Series(np.flatnonzero(strange))
    for name, theirs in rows.groupby(y[strange], sort=False):
        known = f"which is none of the {len(raw.class_names)} classes"
        hint = _hint(str(name), raw.class_names.tolist())
        fault = f"names {shown(str(name), 40)}, {known}{hint}"
        yield Fault(where, _rows(theirs.tolist()), fault)
    unseen = _unseen_codes(raw, codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(raw.class_names))
    again = pd.Index(raw.class_names).duplicated()
    empty = np.setdiff1d(np.flatnonzero((counts == 0) & ~again), unseen)
    for row in empty.tolist():
        fault = "is seen but has no row; name it unseen, or drop it"
        yield Fault(where, f"class {str(raw.class_names[row])!r}", fault)
    aside = raw.seen_test
    if aside is not None and len(aside) == len(codes):
        wrong = np.flatnonzero(aside & np.isin(codes, unseen)).tolist()
        if wrong:
            fault = "is set aside for scoring seen classes, but its class is unseen"
            yield Fault(where, _rows(wrong), fault)


def _hint(label: str, known: list[str]) -> str:
    """Return what a label that is no class may have meant."""
    if label.strip().lower() in UNLABELLED_WORDS:
        return "; if it means unlabelled, leave the label empty"
    if len(label) > LONGEST_HINT:
        return ""
    short = [name for name in known if len(name) <= LONGEST_HINT]
    near = [name for name in short if name.casefold() == label.casefold()]
    near = near or get_close_matches(label, short, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def table_faults(raw: RawData) -> Iterator[Fault]:
    """Yield what is wrong with the class tables."""
    if not raw.tables:
        yield Fault(raw.where, "", "has no class table; give one with --classes")
    for name, table in raw.tables.items():
        values = table.to_numpy(dtype=np.float64, na_value=np.nan)
        finite = np.isfinite(values).all(axis=1)
        empty = finite & ~values.any(axis=1)
        for what, faulty in {
            "holds NaN or infinity": ~finite,
            "is all zeros, so nothing tells it from others": empty,
        }.items():
            for label in table.index[faulty]:
                yield Fault(_table(raw, name), f"class {str(label)!r}", what)
    tables = dict(raw.tables)
    if raw.fused and all(table.index.is_unique for table in tables.values()):
        tables = {" + ".join(tables): pd.concat(list(tables.values()), axis=1)}
    for name, table in tables.items():  # fused, they may tell more
        yield from _twins(_table(raw, name), table)


def _table(raw: RawData, name: str) -> str:
    return f"table {name!r}" if name else raw.called("classes")


def _twins(where: str, table: pd.DataFrame) -> Iterator[Fault]:
    values = table.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0  # -0.0 is 0.0
    first: dict[bytes, str] = {}
    for label, row in zip(map(str, table.index), values, strict=True):
        if np.isfinite(row).all() and row.any():
            twin = first.setdefault(row.tobytes(), label)
            if twin != label:
                yield Fault(where, f"class {label!r}", f"has the embedding of {twin!r}")


def _rows(rows: list[int], most: int = 5) -> str:
    several = "row" if len(rows) == 1 else "rows"
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"{several} {', '.join(map(str, rows[:most]))}{more}"
