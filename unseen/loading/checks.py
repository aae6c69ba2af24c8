"""Every fault of a data set in one go, with the file and the row.

:func:`find_faults` looks at what a reader found; it never stops at the first fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unseen._words import listed
from unseen.loading.blocks import iter_blocks
from unseen.loading.parts import Parts

__all__ = ["Fault", "describe", "find_faults"]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a data set.

    Examples
    --------
    >>> from unseen.loading.checks import Fault
    >>> print(Fault("labels.csv", "row 3", "names 'yak', which is no class"))
    labels.csv, row 3: names 'yak', which is no class
    """

    where: str
    place: str
    what: str

    def __str__(self) -> str:
        place = f", {self.place}" if self.place else ""
        return f"{self.where}{place}: {self.what}"


def find_faults(parts: Parts) -> list[Fault]:
    """Name everything that is wrong with a data set.

    Parameters
    ----------
    parts : Parts
        What :func:`unseen.loading.read_parts` returned.

    Returns
    -------
    list of Fault
        Empty if ``load_data`` and every model will take the set.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from unseen.loading.checks import find_faults
    >>> from unseen.loading.parts import Parts
    >>> names = np.array(["zebra", "okapi"])
    >>> looks = pd.DataFrame({"stripes": [0.0, 0.5]}, index=names)
    >>> X = np.array([[1.0, np.nan], [0.0, 1.0]])
    >>> y = np.array(["zebra", "yak"])
    >>> parts = Parts("zoo", "zoo.h5", X, y, names, {"looks": looks}, unseen=names[1:])
    >>> for fault in find_faults(parts):
    ...     print(fault)
    X, row 0: holds NaN or infinity
    y, row 1: names 'yak', which is none of the 2 classes
    table 'looks', class 'zebra': is all zeros, so nothing tells it from others
    """
    codes = class_codes(parts)
    return [
        *_features(parts),
        *_labels(parts, codes),
        *_names(parts),
        *_sides(parts, codes),
        *_tables(parts),
        *_aside(parts, codes),
    ]


def class_codes(parts: Parts) -> np.ndarray:
    """Return for every row the number of its class, -1 if it has none."""
    return _codes(parts, parts.y)


def describe(parts: Parts) -> dict[str, Any]:
    """Return what was found, as plain numbers and names.

    Parameters
    ----------
    parts : Parts

    Returns
    -------
    dict
        Rows, features, classes, split, tables, missing values and lengths of rows.

    Examples
    --------
    >>> from unseen.loading import read_parts
    >>> from unseen.loading.checks import describe
    >>> found = describe(read_parts("digits"))
    >>> found["rows"], found["seen classes"], found["unseen classes"]
    (1797, 7, 3)
    >>> found["tables"]["segments"]
    {'dimensions': 7, 'missing values': 0, 'mean length': 2.15...}
    """
    codes = class_codes(parts)
    loose = int(_unlabelled(parts).sum())
    unseen = _unseen_codes(parts, codes)
    lengths, missing = [], 0
    for block in iter_blocks(parts.X):
        missing += int((~np.isfinite(block)).sum())
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
        lengths.append(np.sqrt(squares))
    norms = np.concatenate(lengths) if lengths else np.zeros(1)
    norms = norms[np.isfinite(norms)] if np.isfinite(norms).any() else np.zeros(1)
    side = np.isin(codes, unseen)
    aside = 0 if parts.seen_test is None else int(np.count_nonzero(parts.seen_test))
    return {
        "name": parts.name,
        "rows": len(parts.X),
        "features": int(parts.X.shape[1]) if parts.X.ndim == 2 else 0,
        "dtype": str(parts.X.dtype),
        "memory-mapped": isinstance(parts.X, np.memmap),
        "classes": len(parts.class_names),
        "seen classes": len(parts.class_names) - len(unseen),
        "unseen classes": len(unseen),
        "seen rows": int(len(codes) - side.sum() - aside - loose),
        "seen rows set aside": aside,
        "unseen rows": int(side.sum()),
        "unlabelled rows": loose,
        "missing values": missing,
        "length of rows": [float(norms.min()), float(norms.mean()), float(norms.max())],
        "tables": {name: _describe_table(t) for name, t in parts.tables.items()},
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


def _codes(parts: Parts, labels: np.ndarray) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.dtype.kind in "iu":
        inside = (labels >= 0) & (labels < len(parts.class_names))
        return np.where(inside, labels, -1).astype(np.int64)
    place: dict[str, int] = {}
    for row, name in enumerate(parts.class_names.tolist()):
        place.setdefault(name, row)
    names, rows = np.unique(labels.astype(str), return_inverse=True)
    return np.array([place.get(name, -1) for name in names.tolist()], dtype=int)[rows]


def _unlabelled(parts: Parts) -> np.ndarray:
    y = np.asarray(parts.y)
    if y.dtype.kind in "iu":
        return (y == -1) if parts.first == 0 else np.zeros(len(y), dtype=bool)
    return y.astype(str) == ""


def _unseen_codes(parts: Parts, codes: np.ndarray) -> np.ndarray:
    if parts.unseen is not None:
        found = _codes(parts, parts.unseen)
        return np.unique(found[found >= 0])
    return np.setdiff1d(np.arange(len(parts.class_names)), codes)


def _features(parts: Parts) -> Iterator[Fault]:
    where = parts.called("X")
    X = parts.X
    if X.ndim != 2 or X.size == 0:
        yield Fault(where, "", f"has shape {X.shape}; give rows and features")
        return
    if len(parts.y) != len(X):
        yield Fault(
            parts.called("y"), "", f"has {len(parts.y)} labels for {len(X)} rows"
        )
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


def _labels(parts: Parts, codes: np.ndarray) -> Iterator[Fault]:
    strange = np.flatnonzero((codes < 0) & ~_unlabelled(parts))
    rows_of: dict[Any, list[int]] = {}
    for row, value in zip(
        strange.tolist(), np.asarray(parts.y)[strange].tolist(), strict=True
    ):
        rows_of.setdefault(value, []).append(row)
    for value, rows in rows_of.items():
        shown = value + parts.first if isinstance(value, int) else repr(value)
        yield Fault(
            parts.called("y"),
            _rows(rows),
            f"names {shown}, which is none of the {len(parts.class_names)} classes",
        )


def _names(parts: Parts) -> Iterator[Fault]:
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(parts.class_names.tolist()):
        rows_of.setdefault(name, []).append(row)
    for name, rows in rows_of.items():
        if len(rows) > 1:
            yield Fault(
                parts.called("classes"),
                _rows(rows),
                f"names class {name!r} more than once",
            )
    blank = np.char.strip(parts.class_names.astype(str)) == ""
    for row in np.flatnonzero(blank).tolist():
        yield Fault(parts.called("classes"), f"row {row}", "has no name")


def _sides(parts: Parts, codes: np.ndarray) -> Iterator[Fault]:
    unseen = _unseen_codes(parts, codes)
    names = parts.class_names.tolist()
    for part in ("unseen", "seen"):
        given = getattr(parts, part)
        if given is None:
            continue
        strange = np.asarray(given)[_codes(parts, given) < 0].tolist()
        if strange:
            yield Fault(
                parts.called(part), "", f"names {listed(strange, 5)}, which is no class"
            )
    if parts.seen is not None:
        seen = np.unique(_codes(parts, parts.seen))
        for row in np.intersect1d(seen[seen >= 0], unseen).tolist():
            yield Fault(
                parts.called("unseen"),
                f"class {names[row]!r}",
                f"is seen too, by {parts.called('seen')}",
            )
        neither = np.setdiff1d(np.arange(len(names)), np.union1d(seen, unseen))
        for row in neither.tolist():
            yield Fault(
                parts.called("unseen"),
                f"class {names[row]!r}",
                f"is neither here nor in {parts.called('seen')}",
            )
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    first = pd.Index(names).duplicated()
    apart = set(unseen.tolist())
    for row in np.flatnonzero((counts == 0) & ~first).tolist():
        if row not in apart:
            yield Fault(
                parts.called("y"),
                f"class {names[row]!r}",
                "is seen but has no row; name it unseen, or drop it",
            )


def _tables(parts: Parts) -> Iterator[Fault]:
    if not parts.tables:
        yield Fault(parts.where, "", "has no class table; give one with --classes")
    for name, table in parts.tables.items():
        where = f"table {name!r}" if name else parts.called("classes")
        values = table.to_numpy(dtype=np.float64, na_value=np.nan)
        names = [str(label) for label in table.index]
        finite = np.isfinite(values).all(axis=1)
        for row in np.flatnonzero(~finite).tolist():
            yield Fault(where, f"class {names[row]!r}", "holds NaN or infinity")
        for row in np.flatnonzero(finite & ~values.any(axis=1)).tolist():
            yield Fault(
                where,
                f"class {names[row]!r}",
                "is all zeros, so nothing tells it from others",
            )
    judged = dict(parts.tables)
    alike = all(t.index.is_unique for t in judged.values())
    if parts.fused and alike and len(judged) > 1:  # together they may tell more
        judged = {" + ".join(judged): pd.concat(list(judged.values()), axis=1)}
    for name, table in judged.items():
        yield from _twins(f"table {name!r}" if name else parts.called("classes"), table)


def _twins(where: str, table: pd.DataFrame) -> Iterator[Fault]:
    values = table.to_numpy(dtype=np.float64, na_value=np.nan)
    names = [str(label) for label in table.index]
    solid = np.flatnonzero(np.isfinite(values).all(axis=1) & values.any(axis=1))
    first: dict[bytes, int] = {}
    for row in solid.tolist():
        twin = first.setdefault((values[row] + 0.0).tobytes(), row)  # -0.0 is 0.0
        if twin != row:
            yield Fault(
                where,
                f"class {names[row]!r}",
                f"has the embedding of {names[twin]!r}",
            )


def _aside(parts: Parts, codes: np.ndarray) -> Iterator[Fault]:
    mask = parts.seen_test
    if mask is None or len(mask) != len(codes):
        return
    wrong = np.flatnonzero(mask & np.isin(codes, _unseen_codes(parts, codes)))
    if len(wrong):
        yield Fault(
            parts.called("y"),
            _rows(wrong.tolist()),
            "is set aside for scoring seen classes, but its class is unseen",
        )


def _rows(rows: list[int], most: int = 5) -> str:
    several = "row" if len(rows) == 1 else "rows"
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"{several} {', '.join(map(str, rows[:most]))}{more}"
