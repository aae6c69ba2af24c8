"""Rows larger than memory: met chunk by chunk, summed, never held.

    source   memory map, .npy or parquet file, HDF5 dataset, iterable of chunks
    chunk    what the source gives: (rows, n_features), alone or with its labels
    block    as many rows as memory would take at a time (``rows_per_block``)

Chunks are cut and joined to blocks, so that their size changes nothing: a fit adds
up the very numbers it would add up in memory, in the same order. Files are read, not
mapped, because the pages of a map count as memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from unseen._progress import steps
from unseen._threads import each, strips
from unseen.loading.blocks import read_blocks
from unseen.loading.npy import is_npy, open_npy
from unseen.loading.parquet import is_arrow_dataset, iter_parquet
from unseen.rows.sums import rows_per_block

__all__ = ["RowStream", "is_stream", "open_stream"]


class Chunk(NamedTuple):
    """Checked rows, and their labels if the source has them."""

    X: np.ndarray
    y: np.ndarray | None


class RowStream:
    """Rows from anywhere, in blocks.

    Parameters
    ----------
    chunks : callable
        Returns an iterator of chunks: 2-D arrays or frames, or pairs of one with
        labels.
    what : str
        What the rows are called in messages.
    n_rows : int, optional
        How many rows there are, if that is known before they are met.
    once : bool, default=False
        Whether ``chunks`` can be gone through only once.

    Attributes
    ----------
    head : array or DataFrame with one row
        As the source gave it: a frame names its features.
    n_features : int
    dtype : dtype
        float32 where rows are float32, else float64, as in memory.
    n_rows : int or None
        Known after one pass.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.source import RowStream
    >>> stream = RowStream(lambda: iter([np.ones((3, 2)), np.zeros((4, 2))]), "X")
    >>> [block.X.shape for block in stream.blocks(step=5)]
    [(5, 2), (2, 2)]
    >>> stream.n_rows
    7
    """

    def __init__(
        self,
        chunks: Callable[[], Iterator[Any]],
        what: str,
        *,
        n_rows: int | None = None,
        once: bool = False,
    ):
        self._open = chunks
        self.what, self.n_rows, self.once = what, n_rows, once
        self._passes = 0
        self._first, self._opened = self._peek()

    def _peek(self) -> tuple[Any, Iterator[Any]]:
        opened = iter(self._open())
        for first in opened:
            X, y = split_pair(first)
            if getattr(X, "ndim", 0) != 2:
                raise ValueError(
                    f"{self.what}: the first chunk is a {type(X).__name__} of shape "
                    f"{getattr(X, 'shape', '?')}. Give chunks of rows, two dimensions "
                    "each, or pairs (rows, labels)."
                )
            if len(X):
                self.head = X[:1]
                self.labelled = y is not None
                self.n_features, self.dtype = X.shape[1], float_type(X, self.what)
                return first, opened
        raise ValueError(f"{self.what} gave no row. Give at least one chunk with rows.")

    def blocks(
        self, task: str | None = None, *, step: int | None = None
    ) -> Iterator[Chunk]:
        """Yield checked blocks of ``step`` rows; the last may be shorter.

        The next block may take the memory of this one. ``task`` names the pass for
        ``show_progress``.
        """
        step = step or rows_per_block(self.n_features)
        n_steps = None if self.n_rows is None else -(-self.n_rows // step)
        with steps(task or "reading", n_steps) as advance:
            for block in joined(self._checked(), step):
                yield block
                advance()

    def as_given(self, X: np.ndarray) -> Any:
        """Return rows with the column names of the source, if it has some."""
        if isinstance(self.head, pd.DataFrame):
            return pd.DataFrame(X, columns=self.head.columns, copy=False)
        return X

    def _pass(self) -> Iterator[Any]:
        self._passes += 1
        if self._passes > 1 and self.once:
            raise ValueError(
                f"{self.what} can be gone through only once, and is needed again. Give "
                "a list of chunks, a file, or an object whose __iter__ starts anew."
            )
        if self._passes > 1:
            yield from self._open()
            return
        yield self._first
        self._first = None
        yield from self._opened

    def _checked(self) -> Iterator[Chunk]:
        start = 0
        for number, chunk in enumerate(self._pass()):
            X, y = split_pair(chunk)
            where = f"{self.what}, chunk {number}"
            X = self._check_rows(X, where, start)
            if (y is not None) != self.labelled or (y is not None and len(y) != len(X)):
                found = "no labels" if y is None else f"{len(y)} labels"
                raise ValueError(
                    f"{where}: {len(X)} rows with {found}. Give every chunk one label "
                    "per row, or none of them any."
                )
            start += len(X)
            if len(X):
                yield Chunk(X, None if y is None else np.asarray(y))
        if self.n_rows is not None and self.n_rows != start:
            raise ValueError(
                f"{self.what} gave {start} rows where {self.n_rows} were expected."
            )
        self.n_rows = start

    def _check_rows(self, X: Any, where: str, start: int) -> np.ndarray:
        if getattr(X, "ndim", 0) != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"{where} has shape {getattr(X, 'shape', '?')}, but the first had "
                f"{self.n_features} columns. Give every chunk the same columns."
            )
        if isinstance(self.head, pd.DataFrame) and not (
            isinstance(X, pd.DataFrame) and self.head.columns.equals(X.columns)
        ):
            raise ValueError(f"{where} does not name the columns of the first chunk.")
        if float_type(X, where) != self.dtype:
            raise ValueError(
                f"{where} is {np.asarray(X).dtype}, but the first chunk made the rows "
                f"{self.dtype}. Give all chunks one type."
            )
        X = np.ascontiguousarray(X, dtype=self.dtype)
        check_finite(X, where, start)
        return X


def split_pair(chunk: Any) -> tuple[Any, Any]:
    """Return (rows, labels or None) of a chunk as it came."""
    if isinstance(chunk, tuple):
        if len(chunk) != 2:
            raise ValueError(
                f"A chunk is a tuple of {len(chunk)}. Give rows, or (rows, labels)."
            )
        return chunk
    return chunk, None


def float_type(X: Any, where: str) -> np.dtype:
    """Return float32 for float32 and float64 for other real numbers, as in memory."""
    kinds = set(X.dtypes) if isinstance(X, pd.DataFrame) else {X.dtype}
    if not all(getattr(kind, "kind", "O") in "fiub" for kind in kinds):
        odd = next(k for k in kinds if getattr(k, "kind", "O") not in "fiub")
        raise ValueError(f"{where} holds {odd}. Give real numbers.")
    return np.dtype(np.float32 if kinds == {np.dtype(np.float32)} else np.float64)


def check_finite(X: np.ndarray, where: str, start: int = 0) -> None:
    """Raise and name the row if X holds NaN or infinity."""
    with np.errstate(all="ignore"):
        # Sums are quickly made, and NaN or infinity would stay in them.
        if all(each(lambda here: np.isfinite(X[here].sum()), strips(*X.shape))):
            return
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        more = f", and {len(bad) - 1} more of its rows" if len(bad) > 1 else ""
        raise ValueError(
            f"{where} holds NaN or infinity in its row {bad[0]} (row {start + bad[0]} "
            f"of all{more}). Mend or drop such rows first."
        )


def joined(chunks: Iterable[Chunk], step: int) -> Iterator[Chunk]:
    """Cut and join chunks to blocks of ``step`` rows; the last may be shorter."""
    waiting: list[Chunk] = []
    count = 0
    for X, y in chunks:
        start = 0
        while count + len(X) - start >= step:
            end = start + step - count
            here = Chunk(X[start:end], None if y is None else y[start:end])
            yield together([*waiting, here]) if count else here
            start, count, waiting = end, 0, []
        if start < len(X):  # copied: the source may use its memory again
            rest = X[start:].copy(), None if y is None else y[start:].copy()
            waiting.append(Chunk(*rest))
            count += len(X) - start
    if count:
        yield together(waiting)


def together(chunks: list[Chunk]) -> Chunk:
    """Return one chunk of several."""
    if len(chunks) == 1:
        return chunks[0]
    labels = [chunk.y for chunk in chunks if chunk.y is not None]
    X = np.concatenate([chunk.X for chunk in chunks])
    return Chunk(X, np.concatenate(labels) if labels else None)


# ---- sources -------------------------------------------------------------------------


def is_stream(X: Any) -> bool:
    """Tell rows that are met in chunks from rows in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.source import is_stream
    >>> is_stream(np.eye(3)), is_stream([[1, 2], [3, 4]])
    (False, False)
    >>> is_stream("features.npy"), is_stream([np.eye(3), np.eye(3)])
    (True, True)
    """
    if isinstance(X, RowStream | np.memmap | str | os.PathLike | Iterator):
        return True
    if root_module(X) in ("h5py", "dask") or is_arrow_dataset(X):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and getattr(split_pair_or_none(X[0]), "ndim", 0) == 2
    array_like = ("__array__", "__array_interface__", "__dataframe__", "__len__")
    return (
        hasattr(X, "__iter__")
        and not sparse.issparse(X)
        and not any(hasattr(X, name) for name in array_like)
    )


def split_pair_or_none(chunk: Any) -> Any:
    """Return the rows of a chunk, or None where it is something else."""
    if isinstance(chunk, tuple):
        return chunk[0] if len(chunk) == 2 else None
    return chunk


def root_module(X: Any) -> str:
    """Return the package that an object's type comes from."""
    return type(X).__module__.split(".")[0]


def open_stream(X: Any, y: Any = None, *, what: str = "X") -> RowStream:
    """Return the rows of any source as a stream.

    Parameters
    ----------
    X : memory map, path of a .npy or parquet file, HDF5 dataset, pyarrow dataset or
        iterable of chunks
    y : str, optional
        For parquet, the column that holds the labels.
    what : str, default="X"
        What the rows are called in messages.

    Returns
    -------
    RowStream

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.source import open_stream
    >>> open_stream([np.eye(3), np.ones((2, 3))]).n_features
    3
    """
    if isinstance(X, RowStream):
        return X
    if isinstance(X, str | os.PathLike) or is_arrow_dataset(X):
        return _open_path(X, y, what)
    if isinstance(X, np.ndarray) or root_module(X) == "h5py":
        return _open_array(X, what)
    if isinstance(X, Iterator):
        return RowStream(lambda: X, what, once=True)
    return RowStream(lambda: iter(X), what)


def _open_path(X: Any, y: Any, what: str) -> RowStream:
    if not is_arrow_dataset(X):
        path = Path(X)
        if not path.exists():
            raise FileNotFoundError(f"{what}: there is no file {path}.")
        if is_npy(path):
            return _open_array(open_npy(path), str(path))
        what = str(path)
    column = y if isinstance(y, str) else None
    return RowStream(lambda: iter_parquet(X, column), what)


def _open_array(X: Any, what: str) -> RowStream:
    if X.ndim != 2 or not X.shape[1]:
        raise ValueError(f"{what} has shape {X.shape}. Give two dimensions.")
    step = rows_per_block(X.shape[1])
    return RowStream(lambda: read_blocks(X, step), what, n_rows=len(X))


def in_one_piece(X: Any) -> Any:
    """Return X, a memory map as an array; refuse what comes chunk by chunk."""
    if isinstance(X, np.memmap):
        return np.asarray(X)
    if is_stream(X):
        raise whole_needed(f"X is met chunk by chunk ({type(X).__name__})")
    return X


def whole_needed(found: str) -> TypeError:
    """Return the error for a method that cannot go without all rows at once."""
    return TypeError(
        f"{found}, but this method needs all rows at once. Give an array, or a method "
        "that streams: AnchoredSelfTraining, TSTD, JEDM, or SelfTraining around a "
        "linear model."
    )
