"""ZeroShotData: features, labels, class embeddings by name, and who is unseen."""

import html
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from unseen._words import shown
from unseen.limits import limits

__all__ = ["ZeroShotData", "fuse_tables", "match_features"]

LABELS_AT_ONCE = 1 << 16
# Control characters, separators of lines and halves of letters.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


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
        What the columns of ``X`` are called, see :func:`match_features`.
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
            object.__setattr__(self, "seen_test", np.asarray(self.seen_test))
        self._check_split()

    def _check_split(self) -> None:
        strangers = {
            "unseen": self.unseen[~np.isin(self.unseen, self.classes)],
            "y": self.y[(self._class_rows < 0) & ~self._unlabelled],
        }
        for field, names in strangers.items():
            if len(names):
                raise ValueError(
                    f"{self.name}: {field} holds {few(names)}, not in the index of "
                    f"class_embeddings. Its classes are {few(self.classes)}."
                )
        aside = self._set_aside
        if aside.dtype.kind != "b" or aside.shape != self.y.shape:
            raise ValueError(
                f"{self.name}: seen_test is {aside.dtype} of shape {aside.shape}. "
                f"Give True or False for each of the {len(self.y)} rows."
            )
        wrong = aside & (self._in_unseen | self._unlabelled)
        if wrong.any():
            raise ValueError(
                f"{self.name}: seen_test holds rows of {few(self.y[wrong])}, which is "
                "unseen or no class. Set aside rows of seen classes only."
            )
        # An estimator would take a class without labels for an unseen one.
        learned = np.bincount(
            self._class_rows[self._in_training], minlength=self.n_classes
        )
        empty = self.classes[(learned == 0) & ~self._is_unseen]
        if len(empty):
            raise ValueError(
                f"{self.name}: {few(empty)} has no row to learn from and is not named "
                "in unseen. Name it there, or drop it from class_embeddings."
            )

    @property
    def classes(self) -> np.ndarray:
        """Names of all classes, in the order of the table."""
        return np.asarray(self.class_embeddings.index, dtype=str)

    @property
    def seen(self) -> np.ndarray:
        """Names of the seen classes, in the order of the table."""
        return self.classes[~self._is_unseen]

    @property
    def n_classes(self) -> int:
        """Number of classes, seen and unseen."""
        return len(self.class_embeddings)

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
    def X_unlabelled(self) -> np.ndarray:  # noqa: N802
        """Features of the rows without a label."""
        return self.X[self._unlabelled]

    @property
    def pile(self) -> np.ndarray:
        """Row numbers of what ``adapt`` may see, ``X[pile]``.

        The unlabelled rows, and those of unseen classes, whose labels stay behind.
        """
        return np.flatnonzero(self._in_unseen | self._unlabelled)

    def ids_of(self, rows: np.ndarray) -> np.ndarray:
        """Return what some rows are called: their ids, or else their numbers."""
        return np.asarray(rows) if self.ids is None else self.ids[rows]

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
        >>> load_data("digits").with_unseen(["3", "4"]).seen.tolist()
        ['0', '1', '2', '5', '6', '7', '8', '9']
        """
        return replace(self, unseen=np.asarray(names), seen_test=None)

    def with_tables(self, names: str | Sequence[str]) -> "ZeroShotData":
        """Keep only some of several fused class tables.

        Parameters
        ----------
        names : str or list of str
            One name gives a plain table, a list of names a table with two-level
            columns.

        Returns
        -------
        ZeroShotData
            The same rows and split with fewer class embeddings.

        Examples
        --------
        >>> from unseen.loading import load_data
        >>> data = load_data("digits", classes=["segments", "strokes"])
        >>> data.tables
        ('segments', 'strokes')
        >>> data.with_tables("segments").class_embeddings.shape
        (10, 7)
        """
        wanted = [names] if isinstance(names, str) else names
        missing = [name for name in wanted if name not in self.tables]
        if missing:
            raise ValueError(
                f"{self.name}: there is no class table {few(missing)}. "
                f"The tables are {few(self.tables)}."
            )
        found = {name: one_table(self.class_embeddings, name) for name in wanted}
        if isinstance(names, str):
            table = found[names].rename_axis(columns=names)
        else:
            table = fuse_tables(found)
        return replace(self, class_embeddings=table)

    def __repr__(self) -> str:
        n_aside, n_loose = int(self._set_aside.sum()), int(self._unlabelled.sum())
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

    def _repr_html_(self) -> str:
        """Return a small table for notebooks."""
        first, *rest = repr(self).split("\n")
        lines = "".join(f"<li>{html.escape(line.strip())}</li>" for line in rest)
        return f"<div><b>{html.escape(first)}</b><ul>{lines}</ul></div>"

    @cached_property
    def _class_rows(self) -> np.ndarray:
        """For every sample the row of its class in the table, -1 if there is none."""
        # Piece by piece: an index or a sort of millions of labels costs more than them.
        rows = np.empty(len(self.y), dtype=np.int64)
        for start in range(0, len(self.y), LABELS_AT_ONCE):
            here = slice(start, start + LABELS_AT_ONCE)
            names, place = np.unique(self.y[here], return_inverse=True)
            rows[here] = self.class_embeddings.index.get_indexer(pd.Index(names))[place]
        return rows

    @cached_property
    def _unlabelled(self) -> np.ndarray:
        return np.asarray(self.y == "")

    @cached_property
    def _in_training(self) -> np.ndarray:
        return ~self._in_unseen & ~self._set_aside & ~self._unlabelled

    @cached_property
    def _set_aside(self) -> np.ndarray:
        none = np.zeros(len(self.y), dtype=bool)
        return none if self.seen_test is None else self.seen_test

    @cached_property
    def _is_unseen(self) -> np.ndarray:
        return np.asarray(self.class_embeddings.index.isin(self.unseen))

    @cached_property
    def _in_unseen(self) -> np.ndarray:
        return np.append(self._is_unseen, False)[self._class_rows]


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
    odd = [label for label in table.index if not isinstance(label, str)]
    if odd:
        raise TypeError(
            f"{what}: the index holds {odd[0]!r}, which is no string. Index the table "
            "by class name."
        )
    most, longest = limits().name_letters, max(map(len, table.index))
    if longest > most or len(table) > limits().classes:
        raise ValueError(
            f"{what} has {len(table)} classes with names of up to {longest} letters. "
            f"Give at most {limits().classes} and {most} letters."
        )
    for label in table.index:
        if not label.strip() or UNPRINTABLE.search(label):
            raise ValueError(
                f"{what} has a class called {shown(label)}. Give a name of one line, "
                "without signs that cannot be printed."
            )
    if not table.index.is_unique:
        again = table.index[table.index.duplicated()]
        raise ValueError(f"{what} holds {few(again)} more than once.")
    odd = [c for c, dtype in table.dtypes.items() if dtype.kind not in "fiub"]
    if odd:
        raise TypeError(f"{what}: column {few(odd)} is not numeric. Give numbers only.")
    finite = np.isfinite(table.to_numpy(dtype=float, na_value=np.nan)).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{name}: the class embedding of {few(table.index[~finite])} holds NaN or "
            "infinity. Give finite numbers."
        )


def _check_features(name: str, X: np.ndarray) -> None:
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float32, np.float64):
        kind = X.dtype if isinstance(X, np.ndarray) else type(X).__name__
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
            raise TypeError(f"{name}: {field} holds {odd[0]!r}, which is no string.")
    again = [] if field == "y" else names[pd.Index(names).duplicated()]
    if len(again):
        raise ValueError(f"{name}: {field} holds {few(again)} more than once.")
    return names.astype(str, copy=False)


def few(names: Sequence[object] | np.ndarray | pd.Index, most: int = 5) -> str:
    """Quote the first few of some names."""
    names = list(dict.fromkeys(map(str, names)))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(shown, names[:most])) + more


def _side(side: str, names: np.ndarray, rows: np.ndarray) -> str:
    """Say in one line who is on one side of the split."""
    several = "class" if len(names) == 1 else "classes"
    n_rows = f"{rows.sum()} {'row' if rows.sum() == 1 else 'rows'}"
    listed = textwrap.shorten(", ".join(names), 60, placeholder=" ...")
    return f"  {len(names)} {side} {several}, {n_rows}: {listed}".rstrip(": ")


def match_features(
    X: np.ndarray,
    names: Sequence[str] | np.ndarray | None,
    known: Sequence[str] | np.ndarray | None,
    where: str = "X",
) -> np.ndarray:
    """Put the columns of new rows in the order of those a model has learned from.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        New rows.
    names : array of str or None
        What the columns of ``X`` are called.
    known : array of str or None
        What the columns were called that the model has learned from. If either has no
        names, the columns are taken as they come.
    where : str, default="X"
        What messages call the new rows.

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.data import match_features
    >>> match_features(np.array([[1.0, 2.0]]), ["b", "a"], known=["a", "b"])
    array([[2., 1.]])
    """
    if names is None or known is None:
        return X
    place = {str(name): column for column, name in enumerate(names)}
    wanted = [str(name) for name in known]
    missing = [name for name in wanted if name not in place]
    foreign = sorted(set(place) - set(wanted))
    if missing or foreign:
        lacks = f" It needs {few(missing)}, which is missing." if missing else ""
        knows = f" It does not know {few(foreign)}." if foreign else ""
        raise ValueError(
            f"{where}: the columns are not those the model has learned from."
            f"{lacks}{knows} Give the same columns, in any order."
        )
    order = [place[name] for name in wanted]
    return X if order == list(range(len(order))) else X[:, order]


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
        raise ValueError("fuse_tables got no table. Give at least one by name.")
    first_name, first = next(iter(tables.items()))
    for name, table in tables.items():
        twice = table.index[table.index.duplicated()]
        apart = first.index.symmetric_difference(table.index)
        if len(apart) or len(twice):
            raise ValueError(
                f"Class tables {first_name!r} and {name!r} differ in "
                f"{few([*apart, *twice])}. Fuse tables of the same classes."
            )
    plain = {
        name: table.reindex(first.index).rename_axis(columns=None)
        for name, table in tables.items()
    }
    return pd.concat(plain, axis=1)


def one_table(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Take table ``name`` out of fused ones; a plain table is its only one."""
    if table.columns.nlevels == 1:
        return table
    columns = table.columns.get_level_values(0) == name
    return table.loc[:, columns].droplevel(0, axis=1)
