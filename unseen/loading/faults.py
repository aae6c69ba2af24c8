"""Every fault of a data set in one go, with the file and the row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from unseen.data import Fault, row_list
from unseen.loading.arrays import read_blocks
from unseen.loading.parts import RawData


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
    return [*_feature_faults(raw), *raw.split_faults(), *_table_faults(raw)]


def _feature_faults(raw: RawData) -> Iterator[Fault]:
    where = raw.called("X")
    if raw.X.ndim != 2 or raw.X.size == 0:
        yield Fault(where, "", f"has shape {raw.X.shape}; give rows and features")
        return
    for what, faulty in _rows_at_fault(raw.X, "so it has no direction").items():
        if faulty.any():
            yield Fault(where, row_list(np.flatnonzero(faulty)), what)


def _table_faults(raw: RawData) -> Iterator[Fault]:
    if not raw.tables:
        yield Fault(raw.where, "", "has no class table; give one with --classes")
    for name, table in raw.tables.items():
        rows = _rows_at_fault(_numbers(table), "so nothing tells it from others")
        for what, faulty in rows.items():
            for label in table.index[faulty]:
                yield Fault(_called(raw, name), f"class {str(label)!r}", what)
    tables = dict(raw.tables)
    if raw.fused and all(table.index.is_unique for table in tables.values()):
        tables = {" + ".join(tables): pd.concat(list(tables.values()), axis=1)}
    for name, table in tables.items():  # fused, they may tell more
        first: dict[bytes, str] = {}
        for label, row in zip(map(str, table.index), _numbers(table), strict=True):
            twin = first.setdefault(row.tobytes(), label)
            if twin != label and np.isfinite(row).all() and row.any():
                fault = f"has the embedding of {twin!r}"
                yield Fault(_called(raw, name), f"class {label!r}", fault)


def _called(raw: RawData, name: str) -> str:
    return f"table {name!r}" if name else raw.called("classes")


def _numbers(table: pd.DataFrame) -> np.ndarray:
    return table.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0  # -0.0 is 0.0


def _rows_at_fault(X: np.ndarray, why: str) -> dict[str, np.ndarray]:
    missing, zero = _measure(X)
    return {"holds NaN or infinity": missing > 0, f"is all zeros, {why}": zero}


def _measure(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for every row how many numbers are missing, and whether all are zero."""
    missing, zero = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=bool)]
    for block in read_blocks(X):
        numbers = block.astype(float, copy=False)
        missing.append((~np.isfinite(numbers)).sum(axis=1))
        zero.append((numbers == 0).all(axis=1))
    return np.concatenate(missing), np.concatenate(zero)


def describe(raw: RawData) -> dict[str, Any]:
    """Return what was found, as plain numbers and names."""
    unseen = raw.unseen
    if unseen is None:  # the classes without rows
        unseen = raw.class_names[~np.isin(raw.class_names, raw.y)]
    n_unseen = int(np.isin(raw.class_names, unseen).sum())
    side, unlabelled = np.isin(raw.y, unseen), int((raw.y == "").sum())
    aside = 0 if raw.seen_test is None else int(np.count_nonzero(raw.seen_test))
    tables = {
        name: {
            "dimensions": table.shape[1],
            "missing values": int(_measure(_numbers(table))[0].sum()),
        }
        for name, table in raw.tables.items()
    }
    return {
        "name": raw.name,
        "rows": len(raw.X),
        "features": int(raw.X.shape[1]),
        "dtype": str(raw.X.dtype),
        "memory-mapped": isinstance(raw.X, np.memmap),
        "classes": len(raw.class_names),
        "seen classes": len(raw.class_names) - n_unseen,
        "unseen classes": n_unseen,
        "seen rows": len(raw.y) - int(side.sum()) - aside - unlabelled,
        "seen rows set aside": aside,
        "unseen rows": int(side.sum()),
        "unlabelled rows": unlabelled,
        "missing values": int(_measure(raw.X)[0].sum()),
        "tables": tables,
    }
