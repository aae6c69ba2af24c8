"""Labelled rows become sums in one pass, wherever the rows are.

sum_stream    rows from any source, or from Dask
sum_seen      the labelled rows of a data set
RunningSums   rows that come a chunk at a time, with classes met on the way
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from unseen.class_table import ClassTable, encode, read_table
from unseen.data import ZeroShotData
from unseen.loading.blocks import iter_blocks
from unseen.rows.source import open_stream, root_module
from unseen.rows.span import is_wide
from unseen.rows.sums import Sums, sum_blocks, sum_rows

WIDE_CHUNKS = 8192  # features: from here on rows are kept until they are too many


def sum_stream(
    X: Any, y: Any = None, class_embeddings: Any = None, *, unit_rows: bool = False
) -> tuple[Sums, ClassTable, Any]:
    """Sum labelled rows in one pass, holding one block.

    Parameters
    ----------
    X : any source of :func:`open_stream`, or a Dask array or dataframe
    y : array-like of shape (n_samples,), str or None
        Labels; for parquet also the name of their column. None if every chunk comes
        as a pair (rows, labels).
    class_embeddings : optional
        As for ``fit``.
    unit_rows : bool, default=False
        Scale each row to unit length first.

    Returns
    -------
    sums : Sums
    table : ClassTable
    head : array or DataFrame
        One row, as the source gave it.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.labelled import sum_stream
    >>> chunks = [(np.eye(2), [0, 1]), (np.ones((1, 2)), [1])]
    >>> sums, table, _ = sum_stream(chunks)
    >>> sums.class_sums
    array([[1., 0.],
           [1., 2.]])
    """
    if root_module(X) == "dask":
        from unseen.rows.distributed import sum_dask

        return sum_dask(X, y, class_embeddings, unit_rows=unit_rows)
    stream = open_stream(X, y)
    y = None if isinstance(y, str) else y
    if (y is None) != stream.labelled:
        raise ValueError(
            f"{stream.what} comes with labels already. Leave y at None."
            if stream.labelled
            else f"{stream.what} comes without labels. Give y, or chunks that are "
            "pairs (rows, labels)."
        )
    if y is None:
        running = RunningSums(class_embeddings, unit_rows=unit_rows)
        kept = Kept(running, stream.n_features)
        for X, labels in stream.blocks("summing"):
            kept.add(X, np.asarray(labels))
        return *kept.finish(), stream.head
    table, codes = encode(np.asarray(y), class_embeddings)
    if stream.n_rows not in (None, len(codes)):
        raise ValueError(
            f"{stream.what} has {stream.n_rows} rows, but y has {len(codes)} labels."
        )

    def labelled() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        start = 0
        for block, _ in stream.blocks("summing"):
            here = codes[start : start + len(block)]
            if len(here) == len(block):
                yield block, here
            start += len(block)
        if start != len(codes):
            raise ValueError(
                f"{stream.what} gave {start} rows, but y has {len(codes)} labels."
            )

    p = stream.n_features
    return (
        sum_labelled(labelled(), len(codes), p, len(table), unit_rows=unit_rows),
        table,
        stream.head,
    )


def sum_labelled(blocks, n_rows: int, p: int, n_classes: int, *, unit_rows) -> Sums:
    """Sum blocks; few and wide rows are gathered, for they are less than their Gram."""
    if not is_wide(n_rows, p):
        return sum_blocks(blocks, p, n_classes, unit_rows=unit_rows)
    kept = [(np.array(X), codes) for X, codes in blocks]
    rows, codes = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return sum_rows(rows, codes, n_classes, unit_rows=unit_rows, span=True)


class Kept:
    """Chunks of wide rows, kept as long as they are few; then summed as they come."""

    def __init__(self, running: RunningSums, n_features: int):
        self.running, self.n_features = running, n_features
        self.chunks: list | None = [] if n_features >= WIDE_CHUNKS else None

    def add(self, X: np.ndarray, y: np.ndarray) -> None:
        """Keep a chunk, or sum it, with all that were kept if they became too many."""
        if self.chunks is None:
            self.running.add(X, y)
            return
        self.chunks.append((np.array(X), y))  # a source may use its memory again
        if not is_wide(sum(len(rows) for rows, _ in self.chunks), self.n_features):
            chunks, self.chunks = self.chunks, None
            for rows, labels in chunks:
                self.running.add(rows, labels)

    def finish(self) -> tuple[Sums, ClassTable]:
        """Return the sums and the class table."""
        if not self.chunks:
            return self.running.finish()
        X = np.concatenate([rows for rows, _ in self.chunks])
        y = np.concatenate([labels for _, labels in self.chunks])
        table, codes = encode(y, self.running.class_embeddings)
        unit_rows = self.running.unit_rows
        return sum_rows(X, codes, len(table), unit_rows=unit_rows, span=True), table


class RunningSums:
    """Sums that grow, with the classes they have met so far.

    Parameters
    ----------
    class_embeddings : optional
        As for ``fit``; without it the classes are those that labels name.
    unit_rows : bool, default=False
        Scale each row to unit length first.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.labelled import RunningSums
    >>> running = RunningSums()
    >>> _ = running.add(np.eye(2), np.array(["seal", "otter"]))
    >>> _ = running.add(np.ones((1, 2)), np.array(["seal"]))
    >>> sums, table = running.finish()
    >>> table.names.tolist(), sums.counts
    (['otter', 'seal'], array([1., 2.]))
    """

    def __init__(self, class_embeddings: Any = None, *, unit_rows: bool = False):
        self.class_embeddings, self.unit_rows = class_embeddings, unit_rows
        self.names: pd.Index = pd.Index([])
        if class_embeddings is not None:
            given, embeddings, _ = read_table(class_embeddings)
            self.names = pd.Index(
                np.arange(len(embeddings)) if given is None else given
            )
        self.sums: Sums | None = None

    def add(self, X: np.ndarray, y: np.ndarray) -> Sums:
        """Add rows in float32 or float64 and their labels; return the sums of all."""
        codes = self.names.get_indexer(pd.Index(y))
        if (codes < 0).any():
            self._meet(y, codes)
            codes = self.names.get_indexer(pd.Index(y))
        new = sum_rows(X, codes, len(self.names), unit_rows=self.unit_rows)
        if self.sums is not None:
            known = np.arange(len(self.names)) < len(self.sums.counts)
            new = self.sums.for_table(known) + new
        self.sums = new
        return new

    def _meet(self, y: np.ndarray, codes: np.ndarray) -> None:
        strangers = np.unique(y[codes < 0])
        if self.class_embeddings is not None:
            raise ValueError(
                f"The labels hold {strangers[0].item()!r}, but class_embeddings has "
                f"{len(self.names)} classes without it. Give one row per class."
            )
        self.names = pd.Index([*self.names, *strangers.tolist()])

    def state(self) -> tuple:
        """Return plain values and arrays that :meth:`of` builds the sums from again."""
        sums = self.sums
        numbers: tuple = ()
        if sums is not None:
            numbers = sums.gram, sums.class_sums, sums.counts, sums.dtype.str
        names = np.array(self.names.tolist())
        return self.class_embeddings, self.unit_rows, names, numbers

    @classmethod
    def of(cls, state: tuple) -> RunningSums:
        """Return the sums with this :meth:`state`."""
        class_embeddings, unit_rows, names, numbers = state
        running = cls(class_embeddings, unit_rows=unit_rows)
        running.names = pd.Index(names)
        if numbers:
            gram, class_sums, counts, dtype = numbers
            running.sums = Sums(gram, class_sums, counts, np.dtype(dtype))
        return running

    @property
    def n_features(self) -> int | None:
        """Features of the rows so far; None before the first."""
        return None if self.sums is None else len(self.sums.gram)

    def finish(self) -> tuple[Sums, ClassTable]:
        """Return the sums and the class table, which needs two classes with rows."""
        if self.sums is None:
            raise ValueError("No rows were added. Give at least one chunk.")
        names = np.array(self.names.tolist())
        met = names[self.sums.counts > 0]
        # Twice each: names that occur once look like numbers to be predicted.
        table, _ = encode(np.repeat(met, 2), self.class_embeddings)
        order = pd.Index(names).get_indexer(pd.Index(table.names))
        return self.sums.for_classes(order), table


# ---- a data set --------------------------------------------------------------------


def sum_seen(
    data: ZeroShotData, *, unit_rows: bool = False, rows: int | None = None
) -> Sums:
    """Sum the labelled rows of a data set, holding one block at a time.

    Parameters
    ----------
    data : ZeroShotData
        ``X`` may be a memory map of any size.
    unit_rows : bool, default=False
        Scale each row to unit length first, as JEDM and TSTD do.
    rows : int, optional
        Rows at a time; by default blocks of about eight million numbers.

    Returns
    -------
    Sums
        Of the rows in ``X_seen``; classes are numbered as in ``class_embeddings``.

    Examples
    --------
    >>> from unseen import load_data
    >>> from unseen.rows import sum_seen
    >>> sums = sum_seen(load_data("digits"), rows=100)
    >>> int(sums.n_rows), sums.gram.shape
    (1264, (64, 64))
    """
    codes, chosen = data._class_rows, data._in_training

    def labelled() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        start = 0
        for block in iter_blocks(data.X, rows):
            here = slice(start, start + len(block))
            kept = chosen[here]
            yield (block if kept.all() else block[kept]), codes[here][kept]
            start += len(block)

    n_rows, p = int(chosen.sum()), data.X.shape[1]
    return sum_labelled(labelled(), n_rows, p, data.n_classes, unit_rows=unit_rows)


def fit_seen(model: Any, data: ZeroShotData, *, rows: int | None = None) -> Any:
    """Fit a model on the labelled rows of a data set larger than memory.

    Parameters
    ----------
    model : zero-shot model that fits from sums
        The linear ones do, also inside ``SelfTraining``; those that learn by ranking
        need the rows, and their pages say so.
    data : ZeroShotData
        ``X`` may be a memory map of any size.
    rows : int, optional
        Rows at a time; by default blocks of about eight million numbers.

    Returns
    -------
    model
        Fitted, up to rounding, as by ``fit`` on ``X_seen`` and ``y_seen``.

    Examples
    --------
    >>> from unseen import JEDM, load_data
    >>> from unseen.rows import fit_seen
    >>> data = load_data("digits")
    >>> fit_seen(JEDM(), data, rows=100).predict(data.X_unseen).shape
    (533,)
    """
    if not hasattr(model, "_fit_sums"):
        raise TypeError(
            f"{type(model).__name__} needs the rows themselves. Give a model that fits "
            "from sums, or call its fit."
        )
    model._validate_params()
    table, _ = encode(data.seen, data.class_embeddings)
    sums = sum_seen(data, unit_rows=model._unit_rows(), rows=rows)
    if not np.isfinite(sums.gram).all():
        raise ValueError(
            f"{data.name}: X holds NaN or infinity, or numbers too large to square. "
            "To list the rows, give the file to: unseen data check"
        )
    return model._fit_sums(sums, table, np.asarray(data.X[:1]))
