"""ZeroShotData: features, labels, class embeddings by name, and who is unseen."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from unseen._data_checks import (
    as_name_array,
    check_features,
    check_names,
    check_table,
    check_unique,
    few,
    fuse_tables,
    match_features,
    one_table,
    pick_tables,
    side_line,
)

__all__ = ["ZeroShotData", "fuse_tables", "match_features"]

LABELS_AT_ONCE = 1 << 16


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
        check_names(self.name, self.class_embeddings)
        check_table(self.name, self.class_embeddings)
        check_features(self.name, self.X)
        # frozen: the one place where a field is written, to make lists into arrays
        object.__setattr__(self, "y", as_name_array(self.name, "y", self.y, gaps=True))
        object.__setattr__(
            self, "unseen", as_name_array(self.name, "unseen", self.unseen)
        )
        self._check_unseen()
        self._check_labels()
        if self.seen_test is not None:
            object.__setattr__(self, "seen_test", np.asarray(self.seen_test))
            self._check_seen_test(np.asarray(self.seen_test))
        n_rows, n_features = self.X.shape
        for field, count in {"feature_names": n_features, "ids": n_rows}.items():
            if getattr(self, field) is not None:
                names = as_name_array(self.name, field, getattr(self, field))
                check_unique(self.name, field, names, count)
                object.__setattr__(self, field, names)

    def _check_unseen(self) -> None:
        strangers = self.unseen[~pd.Index(self.unseen).isin(self.classes)]
        if len(strangers):
            raise ValueError(
                f"{self.name}: unseen names {few(strangers)}, not in the index of "
                f"class_embeddings. Its classes are {few(self.classes)}."
            )
        again = pd.Index(self.unseen).duplicated()
        if again.any():
            raise ValueError(
                f"{self.name}: unseen names {few(self.unseen[again])} more than once. "
                "Name each class once."
            )

    def _check_labels(self) -> None:
        if len(self.y) != len(self.X):
            raise ValueError(
                f"{self.name}: y has {len(self.y)} labels, but X has {len(self.X)} "
                "rows. Give one class name per row."
            )
        strange = (self._class_rows < 0) & ~self._unlabelled
        if strange.any():
            raise ValueError(
                f"{self.name}: y holds {few(self.y[strange])}, not in the index of "
                f"class_embeddings. Its classes are {few(self.classes)}."
            )
        # An estimator would take a class without labels for an unseen one.
        n_rows = self._count_rows(np.ones(len(self.y), dtype=bool))
        empty = self.classes[(n_rows == 0) & ~self._is_unseen]
        if len(empty):
            raise ValueError(
                f"{self.name}: {few(empty)} has no row in X and is not named in "
                "unseen. Name it there, or drop it from class_embeddings."
            )

    def _check_seen_test(self, aside: np.ndarray) -> None:
        if aside.dtype.kind != "b" or aside.shape != self.y.shape:
            raise ValueError(
                f"{self.name}: seen_test is {aside.dtype} of shape {aside.shape}. "
                f"Give True or False for each of the {len(self.y)} rows."
            )
        if (aside & self._unlabelled).any():
            raise ValueError(
                f"{self.name}: seen_test sets unlabelled rows aside. Set aside rows of "
                "seen classes only."
            )
        unseen = self.y[aside & self._in_unseen]
        if len(unseen):
            raise ValueError(
                f"{self.name}: seen_test holds rows of {few(unseen)}, which is "
                "unseen. Set aside rows of seen classes only."
            )
        left = self._count_rows(~aside)
        empty = self.classes[(left == 0) & ~self._is_unseen]
        if len(empty):
            raise ValueError(
                f"{self.name}: seen_test sets every row of {few(empty)} aside. "
                "Leave some to learn from."
            )

    def _count_rows(self, chosen: np.ndarray) -> np.ndarray:
        rows = self._class_rows[chosen & ~self._unlabelled]
        return np.bincount(rows, minlength=self.n_classes)

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
        """Return what some rows are called: their ids, or else their numbers.

        Parameters
        ----------
        rows : array of int
            Numbers of rows, such as ``pile``.

        Returns
        -------
        ndarray
        """
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
        table = self.class_embeddings
        found = {name: one_table(table, name) for name in self.tables}
        return replace(self, class_embeddings=pick_tables(self.name, found, names))

    def __repr__(self) -> str:
        n_unseen = int(self._in_unseen.sum())
        n_aside = int(self._set_aside.sum())
        n_loose = int(self._unlabelled.sum())
        rows = "row" if n_loose == 1 else "rows"
        loose = [f"  {n_loose} unlabelled {rows}"] if n_loose else []
        aside = f" (and {n_aside} rows for scoring)" if n_aside else ""
        n, p = self.X.shape
        dims = f"{self.class_embeddings.shape[1]} dimensions"
        named = f" ({' + '.join(self.tables)})" if self.tables else ""
        return "\n".join(
            [
                f"ZeroShotData {self.name!r}: {n} rows x {p} features ({self.X.dtype})",
                side_line("seen", self.seen, int(self._in_training.sum())) + aside,
                side_line("unseen", self.unseen, n_unseen),
                *loose,
                f"  class embeddings: {dims}{named}",
            ]
        )

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

    def _repr_html_(self) -> str:
        """Return a small table for notebooks."""
        first, *rest = repr(self).split("\n")
        lines = "".join(f"<li>{html.escape(line.strip())}</li>" for line in rest)
        return f"<div><b>{html.escape(first)}</b><ul>{lines}</ul></div>"

    @cached_property
    def _unlabelled(self) -> np.ndarray:
        return np.asarray(self.y == "")

    @cached_property
    def _in_training(self) -> np.ndarray:
        return ~self._in_unseen & ~self._set_aside & ~self._unlabelled

    @cached_property
    def _set_aside(self) -> np.ndarray:
        if self.seen_test is None:
            return np.zeros(len(self.y), dtype=bool)
        return np.asarray(self.seen_test)

    @cached_property
    def _is_unseen(self) -> np.ndarray:
        return np.asarray(self.class_embeddings.index.isin(self.unseen))

    @cached_property
    def _in_unseen(self) -> np.ndarray:
        return np.append(self._is_unseen, False)[self._class_rows]
