"""ZeroShotData: features, labels, class embeddings by name, and who is unseen."""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen._words import listed, short_list, shown
from unseen.limits import limits


@dataclass(frozen=True, eq=False, repr=False)
class ZeroShotData:
    """A zero-shot data set that checks itself once and keeps the unseen labels apart.

    Parameters
    ----------
    name : str
        What the set is called in messages and reports.
    X : ndarray of shape (n_samples, n_features)
        Features, float32 or float64; may be a memory map. Whether they are finite is
        left to the estimators, which read every row anyway.
    y : array of str of shape (n_samples,)
        The class name of every row; empty if the row is unlabelled.
    class_embeddings : DataFrame of shape (n_classes, n_dims)
        One row of finite numbers per class, indexed by class name. Several tables at
        once have two-level columns, see :func:`fuse_tables`.
    unseen : array of str
        The classes without labelled rows. Every other class needs at least one row.
        Rows may be labelled with them all the same, for scoring: those labels are kept
        apart.
    seen_test : array of bool of shape (n_samples,), optional
        Rows of seen classes set aside for scoring, as generalized zero-shot learning
        does. They are in neither ``X_seen`` nor ``X_unseen``.
    feature_names : array of str of shape (n_features,), optional
        What the columns of ``X`` are called.
    ids : array of str of shape (n_samples,), optional
        What the rows are called; by default they have numbers only.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from unseen.data import ZeroShotData
    >>> table = pd.DataFrame(
    ...     {"stripes": [1.0, 0.0, 0.5], "hooves": [1.0, 0.0, 1.0]},
    ...     index=["zebra", "seal", "okapi"],
    ... )
    >>> X = np.array([[0.9, 0.8], [0.1, 0.2], [0.5, 0.9]])
    >>> data = ZeroShotData("zoo", X, ["zebra", "seal", "okapi"], table, ["okapi"])
    >>> data
    ZeroShotData 'zoo': 3 rows x 2 features (float64)
      2 seen classes, 2 rows: zebra, seal
      1 unseen class, 1 row: okapi
      class embeddings: 2 dimensions
    >>> data.X_seen.shape, data.X_unseen.shape
    ((2, 2), (1, 2))
    >>> data.y_seen.tolist()
    ['zebra', 'seal']
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    class_embeddings: pd.DataFrame
    unseen: np.ndarray
    seen_test: np.ndarray | None = None
    feature_names: np.ndarray | None = None
    ids: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_table(self.name, self.class_embeddings)
        _check_features(self.name, self.X)
        n_rows, n_features = self.X.shape
        counts = {"y": n_rows, "unseen": None, "feature_names": n_features}
        for field, count in {**counts, "ids": n_rows}.items():
            if getattr(self, field) is not None:
                names = _as_names(self.name, field, getattr(self, field), count)
                # frozen: here alone fields are written, to make lists into arrays
                object.__setattr__(self, field, names)
        if self.seen_test is not None:
            aside = np.asarray(self.seen_test)
            object.__setattr__(self, "seen_test", aside)
            if aside.dtype.kind != "b" or aside.shape != self.y.shape:
                raise ValueError(
                    f"{self.name}: seen_test is {aside.dtype} of shape {aside.shape}. "
                    f"Give True or False for each of the {n_rows} rows."
                )
        for fault in split_faults(self.classes, self.y, self.unseen, self.seen_test):
            raise ValueError(f"{self.name}: {fault}.")

    @property
    def classes(self) -> np.ndarray:
        """Names of all classes, in the order of the table."""
        return np.asarray(self.class_embeddings.index, dtype=str)

    @property
    def seen(self) -> np.ndarray:
        """Names of the seen classes, in the order of the table."""
        return self.classes[~self._is_unseen]

    @property
    def X_seen(self) -> np.ndarray:  # noqa: N802, the name of the matrix
        """Features of the labelled rows of seen classes: what ``fit`` may see."""
        return self.X[self._in_training]

    @property
    def y_seen(self) -> np.ndarray:
        """Class names of the labelled rows."""
        return self.y[self._in_training]

    @property
    def X_seen_test(self) -> np.ndarray:  # noqa: N802
        """Features of the rows of seen classes that are set aside for scoring."""
        return self.X[self._set_aside]

    @property
    def y_seen_test(self) -> np.ndarray:
        """Class names of the rows in ``X_seen_test``."""
        return self.y[self._set_aside]

    @property
    def X_unseen(self) -> np.ndarray:  # noqa: N802
        """Features of the rows of unseen classes."""
        return self.X[self._in_unseen]

    @property
    def y_unseen(self) -> np.ndarray:
        """True classes of the rows in ``X_unseen``: for scoring, never for fitting."""
        return self.y[self._in_unseen]

    @property
    def to_label(self) -> np.ndarray:
        """Row numbers of what ``adapt`` may see, ``X[to_label]``.

        The unlabelled rows, and those of unseen classes, whose labels stay behind.
        """
        return np.flatnonzero(self._in_unseen | (self.y == ""))

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the class tables: several if fused; empty if the one has no name."""
        columns = self.class_embeddings.columns
        if columns.nlevels == 2:
            return tuple(str(name) for name in columns.unique(0))
        return () if columns.name is None else (str(columns.name),)

    def with_unseen(self, names: Sequence[str] | np.ndarray) -> "ZeroShotData":
        """Hold out other classes.

        Parameters
        ----------
        names : array of str
            The classes that are unseen from now on; all others are seen.

        Returns
        -------
        ZeroShotData
            The same rows and classes, split anew; no row is set aside any more.

        Examples
        --------
        >>> from unseen.loading import load_data
        >>> load_data("photos-200").with_unseen(["tench", "robin"]).unseen.tolist()
        ['tench', 'robin']
        """
        return replace(self, unseen=np.asarray(names), seen_test=None)

    def __repr__(self) -> str:
        n_aside, n_loose = int(self._set_aside.sum()), int((self.y == "").sum())
        aside = f" (and {n_aside} rows for scoring)" if n_aside else ""
        loose = f"\n  {n_loose} unlabelled {'row' if n_loose == 1 else 'rows'}"
        n, p = self.X.shape
        named = f" ({' + '.join(self.tables)})" if self.tables else ""
        return (
            f"ZeroShotData {self.name!r}: {n} rows x {p} features ({self.X.dtype})\n"
            f"{_side('seen', self.seen, self._in_training)}{aside}\n"
            f"{_side('unseen', self.unseen, self._in_unseen)}{loose if n_loose else ''}"
            f"\n  class embeddings: {self.class_embeddings.shape[1]} dimensions{named}"
        )

    @cached_property
    def _in_training(self) -> np.ndarray:
        return ~self._in_unseen & ~self._set_aside & (self.y != "")

    @cached_property
    def _set_aside(self) -> np.ndarray:
        none = np.zeros(len(self.y), dtype=bool)
        return none if self.seen_test is None else self.seen_test

    @property
    def _is_unseen(self) -> np.ndarray:
        return np.asarray(self.class_embeddings.index.isin(self.unseen))

    @cached_property
    def _in_unseen(self) -> np.ndarray:
        return np.asarray(pd.Index(self.y).isin(self.unseen))


def _check_table(name: str, table: pd.DataFrame) -> None:
    """Refuse what is not one row of finite numbers per class name."""
    what = f"{name}: class_embeddings"
    if not isinstance(table, pd.DataFrame) or table.columns.nlevels > 2:
        kind = type(table).__name__
        raise TypeError(
            f"{what} is a {kind}. Give a DataFrame indexed by class name, whose "
            "columns have one level, or two: table and dimension."
        )
    if table.size == 0:
        raise ValueError(f"{what} is empty, with shape {table.shape}.")
    # Control characters, separators of lines and halves of letters.
    unprintable = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
    for label in _as_names(name, "the index of class_embeddings", table.index, None):
        if unprintable.search(label) or len(label) > limits().name_letters:
            raise ValueError(
                f"{what} has a class called {shown(label)}. Give a name of one line "
                f"and at most {limits().name_letters} letters that can be printed."
            )
    columns = [c for c, dtype in table.dtypes.items() if dtype.kind not in "fiub"]
    if columns:
        raise TypeError(f"{what}: column {short_list(columns)} is not numeric.")
    finite = np.isfinite(table.to_numpy(dtype=float, na_value=np.nan)).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{name}: the class embedding of {short_list(table.index[~finite])} holds "
            "NaN or infinity. Give finite numbers."
        )


def _check_features(name: str, X: np.ndarray) -> None:
    kind = X.dtype if isinstance(X, np.ndarray) else type(X).__name__
    if kind not in (np.float32, np.float64):
        raise TypeError(
            f"{name}: X is {kind}. Give a NumPy array of float32 or float64."
        )
    if X.ndim != 2 or X.size == 0:
        raise ValueError(
            f"{name}: X has shape {X.shape}. "
            "Give two dimensions, rows and features, neither empty."
        )


def _as_names(name: str, field: str, values: object, count: int | None) -> np.ndarray:
    """Return names as text: as many as there are rows, or different ones; or both."""
    # NumPy would turn [1, "okapi"] into text.
    plain = isinstance(values, np.ndarray) and values.dtype.kind == "U"
    names = np.asarray(values) if plain else np.array(values, dtype=object)
    if names.ndim != 1 or count not in (None, len(names)):
        given = "one dimension" if count is None else f"{count} of them"
        raise ValueError(f"{name}: {field} has shape {names.shape}. Give {given}.")
    if names.dtype.kind != "U":
        if field == "y":  # a row without a label
            names = np.where(pd.isna(names), "", names)
        odd = [label for label in names.tolist() if not isinstance(label, str)]
        if odd:
            raise TypeError(f"{name}: {field} holds {odd[0]!r}, which is not a string.")
    again = pd.unique(names[pd.Index(names).duplicated()])
    if len(again) and field != "y":
        raise ValueError(f"{name}: {field} holds {short_list(again)} more than once.")
    return names.astype(str, copy=False)


def _side(side: str, names: np.ndarray, rows: np.ndarray) -> str:
    """Say in one line who is on one side of the split."""
    several = "class" if len(names) == 1 else "classes"
    n_rows = f"{rows.sum()} {'row' if rows.sum() == 1 else 'rows'}"
    listed = textwrap.shorten(", ".join(names), 60, placeholder=" ...")
    return f"  {len(names)} {side} {several}, {n_rows}: {listed}".rstrip(": ")


# ---- labels and the split ------------------------------------------------------------


class Fault(NamedTuple):
    """One thing that is wrong with a data set."""

    where: str
    place: str
    what: str

    def __str__(self) -> str:
        place = f", {self.place}" if self.place else ""
        return f"{self.where}{place}: {self.what}"


def split_faults(
    classes: np.ndarray,
    y: np.ndarray,
    unseen: np.ndarray | None,
    seen_test: np.ndarray | None = None,
    called: Callable[[str], str] = str,
) -> Iterator[Fault]:
    """Yield what is wrong with class names, the split and the labels of the rows.

    ``called`` says what a part is called in the file.
    """
    names = pd.Index(classes, dtype=object)
    for name in names[names.duplicated()].unique():
        rows, fault = np.flatnonzero(names == name), f"names class {name!r} more than"
        yield Fault(called("classes"), row_list(rows), f"{fault} once")
    for row in np.flatnonzero(np.char.strip(classes) == ""):
        yield Fault(called("classes"), f"row {row}", "has no name")
    foreign = [] if unseen is None else unseen[~np.isin(unseen, classes)].tolist()
    if foreign:
        fault = f"names {listed(foreign, 5)}, which is not a class"
        yield Fault(called("unseen"), "", fault)
    strange = ~pd.Index(y).isin(classes) & (y != "")
    by_name = pd.Series(np.flatnonzero(strange)).groupby(y[strange], sort=False)
    for name, theirs in by_name:
        fault = f"names {shown(name, 40)}, which is none of the {len(names)} classes"
        fault += _meant(str(name), classes)
        yield Fault(called("y"), row_list(theirs), fault)
    aside = np.zeros(len(y), dtype=bool) if seen_test is None else seen_test
    if unseen is None:  # the classes without rows
        return
    learned = names.isin(y[~aside])
    for name in names[~learned & ~names.isin(unseen)].unique():
        fault = "is seen but has no row to learn from; name it unseen, or drop it"
        yield Fault(called("y"), f"class {name!r}", fault)
    wrong = np.flatnonzero(aside & (np.isin(y, unseen) | (y == "")))
    if len(wrong):
        fault = "is set aside for scoring seen classes, but its class is unseen or none"
        yield Fault(called("y"), row_list(wrong), fault)


def _meant(label: str, classes: np.ndarray) -> str:
    """Return what a label that is not a class may have meant."""
    # What people write where there is no label; a class may be called so all the same.
    none = "? - na n/a nan none null unknown unlabelled unlabeled".split()
    if label.strip().lower() in none:
        return "; if it means unlabelled, leave the label empty"
    short = [name for name in classes.tolist() if len(name) <= 60 >= len(label)]
    near = [name for name in short if name.casefold() == label.casefold()]
    near = near or get_close_matches(label, short, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def row_list(rows: Sequence[int] | np.ndarray | pd.Series) -> str:
    """Name the first few of some rows."""
    more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    several = "row" if len(rows) == 1 else "rows"
    return f"{several} {', '.join(map(str, rows[:5]))}{more}"


# ---- columns and tables --------------------------------------------------------------


def fuse_tables(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Put several class tables side by side, under two-level columns.

    Parameters
    ----------
    tables : dict of str to DataFrame
        Tables indexed by the same class names, in any order.

    Returns
    -------
    DataFrame
        First level of the columns: the table's name; second: its dimension. The rows
        follow the first table.

    Examples
    --------
    >>> import pandas as pd
    >>> from unseen.data import fuse_tables
    >>> looks = pd.DataFrame({"stripes": [1.0, 0.0]}, index=["zebra", "seal"])
    >>> words = pd.DataFrame({0: [0.3, 0.1], 1: [0.2, 0.4]}, index=["zebra", "seal"])
    >>> fuse_tables({"looks": looks, "words": words})
            looks words
          stripes     0    1
    zebra     1.0   0.3  0.2
    seal      0.0   0.1  0.4
    """
    if not tables:
        raise ValueError(
            "There is no class table in an empty mapping. Give one by name."
        )
    first_name, first = next(iter(tables.items()))
    for name, table in tables.items():
        twice = table.index[table.index.duplicated()]
        apart = first.index.symmetric_difference(table.index)
        if len(apart) or len(twice):
            raise ValueError(
                f"Class tables {first_name!r} and {name!r} differ in "
                f"{short_list([*apart, *twice])}. Fuse tables of the same classes."
            )
    plain = {
        name: table.reindex(first.index).rename_axis(columns=None)
        for name, table in tables.items()
    }
    return pd.concat(plain, axis=1)


def as_pandas(frame: Any) -> Any:
    """Return a frame that narwhals reads as a pandas one; anything else as it is.

    Polars, pyarrow, modin and others; pandas' own keep their index.
    """
    if isinstance(frame, pd.DataFrame) or not hasattr(frame, "columns"):
        return frame
    import narwhals

    read = narwhals.from_native(frame, pass_through=True)
    if not isinstance(read, narwhals.DataFrame):
        return frame
    columns: dict[str, Any] = {}
    for one in read.iter_columns():
        numbers = one.dtype.is_numeric()
        texts = None if numbers else pd.Series(one.to_list(), dtype=object)
        columns[one.name] = one.to_numpy() if numbers else texts
    return pd.DataFrame(columns)


def one_table(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Take table ``name`` out of fused ones; a plain table is its only one."""
    return table if table.columns.nlevels == 1 else table[[name]].droplevel(0, axis=1)
