"""Arrays by key: the layout common in the field, and our own.

NumPy archives and HDF5 files hold the same keys.

Layout of the field:

    X            (n_samples, n_features)    any real dtype
    y            (n_samples,)               rows of the class tables, from 0; or names;
                                            -1, NaN or an empty name is unlabelled
    class_names  (n_classes,)               text
    <table>      (n_classes, n_dims)        any number of these, under any other key
    unseen       (n_unseen,)                rows of the unseen classes, from 0; or names
    seen         (n_seen,)                  the others; optional, checked if present

``ps_unseen`` and ``ps_seen`` (the proposed split) are used where ``unseen`` is missing.

Our own layout keeps all there is to a ZeroShotData:

    unseen_format       ()                  1
    name                ()                  text
    X, y, class_names, unseen               as above
    seen_test           (n_samples,)        bool; only if rows are set aside
    fused               ()                  whether the tables have two-level columns
    classes/<table>     (n_classes, n_dims) in their order
    dimensions/<table>  (n_dims,)           names or numbers of the dimensions
    feature_names       (n_features,)       text; only if the features have names
    ids                 (n_samples,)        text; only if the rows have names
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen._fused_tables import one_table
from unseen._words import listed
from unseen.data import ZeroShotData
from unseen.loading.parts import Parts, as_float, as_names

FORMAT = 1
MARK = "unseen_format"
NOT_TABLES = (
    "X",
    "y",
    "class_names",
    "seen",
    "unseen",
    "ps_seen",
    "ps_unseen",
    "seen_test",
)


NAMES = ("feature_names", "ids")
OWN = (MARK, "name", "X", "y", "class_names", "unseen", "fused", "seen_test", *NAMES)


class Arrays(ABC):
    """Arrays by key from some file, read one at a time."""

    path: Path
    keys: list[str]

    @abstractmethod
    def get(self, key: str) -> np.ndarray:
        """Return one array that is there."""

    def shape(self, key: str) -> tuple[int, ...]:
        """Return the shape of an array, if it can be told without reading it."""
        return self.get(key).shape

    def require(self, key: str) -> None:
        """Say what is there if an array is not."""
        if key not in self.keys:
            raise ValueError(
                f"{self.path}: there is no array {key!r} among {listed(self.keys)}. "
                "The arrays it needs are X, y, class_names, unseen and a class table."
            )

    def __getitem__(self, key: str) -> np.ndarray:
        self.require(key)
        return self.get(key)

    def features(self) -> np.ndarray:
        """Return X; a subclass may map it."""
        return self.numbers("X")

    def numbers(self, key: str) -> np.ndarray:
        """Return one array of real numbers."""
        values = self[key]
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.path}: {key!r} is {values.dtype}. Give real numbers."
            )
        return values

    def labels(self, key: str) -> np.ndarray:
        """Return one dimension of row numbers or names."""
        labels = self[key]
        if labels.dtype.kind == "f" and labels.ndim == 1:
            return whole_numbers(labels, f"{self.path}: {key!r}")
        if labels.dtype.kind not in "iu" or labels.ndim != 1:
            if labels.dtype.kind not in "USO" or labels.ndim != 1:
                raise ValueError(
                    f"{self.path}: {key!r} is {labels.dtype} of shape {labels.shape}. "
                    "Give one dimension of whole numbers, counted from 0, or of names."
                )
            if len(labels):
                return as_names(labels, f"{self.path}: {key!r}")
            return labels.astype(str)
        return labels.astype(np.int64)

    def text(self, key: str) -> str:
        """Return one text."""
        value = self[key]
        item = value.item() if value.shape == () else None
        item = item.decode() if isinstance(item, bytes) else item
        if not isinstance(item, str):
            raise ValueError(f"{self.path}: {key!r} is no text. Save the set again.")
        return item

    def table(
        self, key: str, names: np.ndarray, dimensions: str | None = None
    ) -> pd.DataFrame:
        """Return class table ``key``; its columns are named by ``dimensions``."""
        values = as_float(self.numbers(key))
        if values.ndim != 2 or len(values) != len(names):
            raise ValueError(
                f"{self.path}: {key!r} has shape {values.shape}, but there are "
                f"{len(names)} classes. Give one row per class."
            )
        columns = None
        if dimensions is not None:
            found = self[dimensions]
            if found.dtype.kind in "SO":
                found = as_names(found, f"{self.path}: {dimensions!r}")
            columns = pd.Index(found.ravel().tolist())
            if len(columns) != values.shape[1]:
                raise ValueError(
                    f"{self.path}: {dimensions!r} names {len(columns)} dimensions, "
                    f"but the table has {values.shape[1]}. Save the set again."
                )
            if columns.equals(pd.RangeIndex(len(columns))):
                columns = None
        return pd.DataFrame(np.asarray(values), index=pd.Index(names), columns=columns)


def read_field_layout(arrays: Arrays) -> Parts:
    """Return the parts of a file in the layout of the field.

    Rows, or rows and their classes, are enough where a class table comes from
    elsewhere; a file that has one says who is unseen as well.
    """
    if "class_names" not in arrays.keys and "X" in arrays.keys:
        alone = rows_alone(arrays)
        if alone is not None:
            return alone
    names = as_names(arrays["class_names"], f"{arrays.path}: 'class_names'")
    others = [key for key in arrays.keys if key not in NOT_TABLES]
    tables = {}
    for key in others:
        shape = arrays.shape(key)
        if len(shape) == 2 and shape[0] == len(names):
            if arrays.get(key).dtype.kind in "fiub":
                tables[key] = arrays.table(key, names)
    prefix = "" if "unseen" in arrays.keys else "ps_"
    said = f"{prefix}unseen" in arrays.keys
    if tables and not said:
        raise ValueError(
            f"{arrays.path}: neither 'unseen' nor 'ps_unseen' is among "
            f"{listed(arrays.keys)}. Give the rows of the unseen classes."
        )
    return Parts(
        name=arrays.path.stem,
        where=str(arrays.path),
        X=arrays.features(),
        y=arrays.labels("y"),
        class_names=names,
        tables=tables,
        unseen=arrays.labels(f"{prefix}unseen") if said else None,
        seen=arrays.labels(f"{prefix}seen") if f"{prefix}seen" in arrays.keys else None,
        seen_test=_mask(arrays),
        origin={
            "X": "'X'",
            "y": "'y'",
            "unseen": f"'{prefix}unseen'",
            "seen": f"'{prefix}seen'",
            "classes": "'class_names'",
        },
    )


def rows_alone(arrays: Arrays) -> Parts | None:
    """Return rows and their names, empty for unlabelled ones; None if y has numbers."""
    X = arrays.features()
    y = arrays.labels("y") if "y" in arrays.keys else np.zeros(len(X), dtype="<U1")
    if y.dtype.kind != "U":
        return None
    names = np.unique(y)
    return Parts(
        name=arrays.path.stem,
        where=str(arrays.path),
        X=X,
        y=y,
        class_names=names[names != ""],
        origin={"X": "'X'", "y": "'y'"},
    )


def read_own_layout(arrays: Arrays) -> Parts:
    """Return the parts of a file in our own layout."""
    version = arrays[MARK]
    if version.shape != () or version != FORMAT:
        raise ValueError(
            f"{arrays.path}: {MARK} is {version}, but this version of unseen reads "
            f"{FORMAT}. Save the set again or upgrade unseen."
        )
    names = as_names(arrays["class_names"], f"{arrays.path}: 'class_names'")
    keys = [key for key in arrays.keys if key.startswith("classes/")]
    about = [key.replace("classes/", "dimensions/", 1) for key in keys]
    strange = set(arrays.keys) - {*OWN, *keys, *about}
    if strange:  # a damaged name would lose what it names
        raise ValueError(
            f"{arrays.path}: holds {listed(sorted(strange), 3)}, which no set of ours "
            "does. Save the set again."
        )
    if not keys:
        raise ValueError(
            f"{arrays.path}: no class table under 'classes/'. Save the set again."
        )
    return Parts(
        name=arrays.text("name"),
        where=str(arrays.path),
        X=arrays.features(),
        y=arrays.labels("y"),
        class_names=names,
        tables={
            key.removeprefix("classes/"): arrays.table(
                key, names, key.replace("classes/", "dimensions/", 1)
            )
            for key in keys
        },
        unseen=arrays.labels("unseen"),
        seen_test=_mask(arrays),
        fused=bool(arrays["fused"].all()),
        origin={"X": "'X'", "y": "'y'", "unseen": "'unseen'"},
        feature_names=_names(arrays, "feature_names"),
        ids=_names(arrays, "ids"),
    )


def own_arrays(data: ZeroShotData) -> dict[str, Any]:
    """Return the arrays of our own layout, for whoever writes them."""
    names = pd.Index(data.classes)
    arrays: dict[str, Any] = {
        MARK: FORMAT,
        "name": data.name,
        "X": data.X,
        "y": names.get_indexer(pd.Index(data.y)),
        "class_names": data.classes,
        "unseen": names.get_indexer(pd.Index(data.unseen)),
        "fused": data.class_embeddings.columns.nlevels == 2,
    }
    for key in ("seen_test", *NAMES):
        if getattr(data, key) is not None:
            arrays[key] = getattr(data, key)
    for name in data.tables or ("",):
        table = one_table(data.class_embeddings, name)
        arrays[f"classes/{name}"] = as_float(table.to_numpy())
        arrays[f"dimensions/{name}"] = _dimension_array(table.columns)
    return arrays


def whole_numbers(values: np.ndarray, where: str) -> np.ndarray:
    """Return row numbers that were stored as floats; NaN, no number, becomes -1.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.loading.arrays import whole_numbers
    >>> whole_numbers(np.array([2.0, np.nan]), "zoo.npz: 'y'")
    array([ 2, -1])
    """
    gaps = np.isnan(values)
    known = np.where(gaps, -1, values)
    odd = np.flatnonzero((known != np.floor(known)) | (np.abs(known) > 2**53))
    if len(odd):
        raise ValueError(
            f"{where} holds {values[odd[0]]} (row {odd[0]}). Give whole numbers."
        )
    return known.astype(np.int64)


def _names(arrays: Arrays, key: str) -> np.ndarray | None:
    if key not in arrays.keys:
        return None
    return as_names(arrays[key], f"{arrays.path}: {key!r}")


def _mask(arrays: Arrays) -> np.ndarray | None:
    if "seen_test" not in arrays.keys:
        return None
    mask = arrays["seen_test"]
    if mask.dtype.kind != "b" or mask.ndim != 1:
        raise ValueError(
            f"{arrays.path}: 'seen_test' is {mask.dtype} of shape {mask.shape}. "
            "Give True or False for every row of X."
        )
    return mask


def _dimension_array(columns: pd.Index) -> np.ndarray:
    labels = columns.tolist()
    if all(isinstance(label, int) for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.array([str(label) for label in labels])
