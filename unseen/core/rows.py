"""Rows wherever they are: an array, a file, chunks, Dask; and what is asked of them.

    RowStream    rows that are met chunk by chunk, each chunk checked
    Unlabelled   the rows a model adapts to: their mean, and themselves on some axes
    Rows         rows on axes, centred; ``each`` runs a function on every block

Only ``each`` knows where rows are. It hands over a block and its part of arrays with an
entry per row, and returns what the function made of every block, in the order of the
rows: callers join or add. The function may run on another machine: it must not hold
more than it needs.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from unseen.core.linalg import DOUBLE, inverse_lengths
from unseen.core.params import not_finite
from unseen.core.sums import Sums, indicator, row_blocks
from unseen.progress import steps

CHUNK_NUMBERS = 2**22  # that are read from an array on disk at a time


# ---- rows on axes --------------------------------------------------------------------


class Rows:
    """Rows on axes, centred, in memory."""

    shape: tuple[int, int]
    keeps_labels = True  # whether a round may keep all labels by name
    _summed: tuple[np.ndarray, np.ndarray] | None = None

    def __init__(self, B: np.ndarray):
        self.B, self.shape = B, B.shape

    def __len__(self) -> int:
        """Count the rows."""
        return self.shape[0]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return all rows; only memory has them."""
        return self.B

    def each(self, work: Callable, *per_row: np.ndarray) -> list:
        """Return ``work(block, its part of every per-row array)`` of all blocks."""
        places = row_blocks(*self.shape) or [slice(0, 0)]
        return [work(self.block(s), *(one[s] for one in per_row)) for s in places]

    def total(self, work: Callable, *per_row: np.ndarray) -> Any:
        """Return what ``each`` would, added up."""
        return reduce(add, self.each(work, *per_row))

    def block(self, here: slice) -> np.ndarray:
        """Return some of the rows."""
        return self.B[here]

    def sample(self, step: int) -> np.ndarray:
        """Return every ``step``-th row."""
        wanted = np.arange(len(self)) % step == 0
        return np.concatenate(self.each(lambda block, own: block[own], wanted))

    def best(self, *scorers: tuple) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, for every (coef, offset), the best class of each row and its score.

        All by one pass.
        """

        def label(block):
            found = []
            for coef, offset in scorers:
                scores = block @ coef.T + offset
                codes = scores.argmax(axis=1)
                found += [codes, scores[np.arange(len(codes)), codes]]
            return found

        parts = [np.concatenate(part) for part in zip(*self.each(label), strict=True)]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def gram(self) -> np.ndarray:
        """Return BᵀB."""
        everything = np.ones(len(self), dtype=bool)
        if self._summed is None or not self._summed[0].all():
            self._summed = everything, self.total(lambda block: block.T @ block)
        return self._summed[1]

    def sums(self, codes: np.ndarray, n_classes: int) -> Sums:
        """Return the sums of rows under these labels; those with -1 are left out.

        The Gram matrix is that of the last call with rows that came or went since.
        """
        kept = codes >= 0
        before, gram = self._summed or (~kept & False, 0.0)
        came, went = kept & ~before, before & ~kept
        if came.sum() + went.sum() > kept.sum():
            gram, came, went = 0.0, kept, ~kept & False

        def changes(block, own, came, went):
            new, old, chosen = block[came], block[went], own >= 0
            class_sums = indicator(own[chosen], n_classes).T @ block[chosen]
            return np.vstack([new.T @ new - old.T @ old, class_sums])

        small = codes.astype(np.min_scalar_type(-max(n_classes, 1)))
        found = self.total(changes, small, came, went)
        r = self.shape[1]
        self._summed = kept, gram + found[:r]
        counts = np.bincount(codes[kept], minlength=n_classes).astype(DOUBLE)
        return Sums(self._summed[1], found[r:], counts)


class FileRows(Rows):
    """Rows on axes in a temporary file; read, not mapped: pages of a map are memory."""

    keeps_labels = False

    def __init__(self, width: int, dtype: np.dtype):
        self.file = tempfile.TemporaryFile()
        weakref.finalize(self, self.file.close)
        self.dtype, self.shape = np.dtype(dtype), (0, width)
        self.centre = np.zeros(width)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Refuse: only memory has all rows at once."""
        raise whole_needed("X is met chunk by chunk")

    def append(self, rows: np.ndarray) -> None:
        """Write rows to the end of the file."""
        n, r = self.shape
        try:
            self.file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
        except OSError as error:
            raise no_space((n + len(rows)) * r * self.dtype.itemsize) from error
        self.shape = n + len(rows), r

    def block(self, here: slice) -> np.ndarray:
        """Return some of the rows, centred, in float64."""
        n, r = here.stop - here.start, self.shape[1]
        self.file.seek(here.start * r * self.dtype.itemsize)
        stored = np.fromfile(self.file, self.dtype, n * r).reshape(n, r)
        return stored - self.centre


def no_space(needed: float) -> OSError:
    """Return the error for a temporary folder that is too small."""
    return OSError(
        f"{tempfile.gettempdir()} has no room for the rows on the model's axes "
        f"({needed / 1e9:.1f} GB so far). Set the environment variable TMPDIR to a "
        "folder on a larger disk."
    )


# ---- the rows a model adapts to ------------------------------------------------------


class Unlabelled:
    """Unlabelled rows in memory, with what every adaptation asks of them.

    Each is worked out once and kept, so that a search over hyper-parameters, or several
    models on the same rows, share the passes.
    """

    X: np.ndarray

    def __init__(self, X: np.ndarray):
        self.X = X
        self._scales: np.ndarray | None = None
        self._means: dict[bool, np.ndarray] = {}
        self._on_axes: dict = {}

    def __len__(self) -> int:
        """Count the rows; a stream is gone through once for it."""
        return len(self.X)

    def only(self, rows: np.ndarray) -> Unlabelled:
        """Return some of the rows; they must be in memory."""
        return Unlabelled(self.X[rows])

    def scales(self, unit_rows: bool) -> np.ndarray:
        """Return the factor of each row: ``1 / |x|``, or 1."""
        if not unit_rows:
            return np.ones(len(self.X), dtype=self.X.dtype)
        if self._scales is None:
            blocks = [inverse_lengths(self.X[s]) for s in row_blocks(*self.X.shape)]
            self._scales = np.concatenate(blocks or [np.ones(0)])
        return self._scales

    def mean(self, unit_rows: bool) -> np.ndarray:
        """Return the mean row in float64."""
        if unit_rows not in self._means:
            scales, total = self.scales(unit_rows), np.zeros(self.X.shape[1])
            for here in row_blocks(*self.X.shape):
                total += scales[here] @ self.X[here]
            self._means[unit_rows] = total / max(len(self.X), 1)
        return self._means[unit_rows]

    def on_axes(self, axes: np.ndarray, unit_rows: bool) -> np.ndarray:
        """Return the rows times ``axes``, not centred, in their own precision."""
        key = id(axes), unit_rows
        if key not in self._on_axes:
            with np.errstate(all="ignore"):  # what is not finite is told below
                projected = self.X @ axes.astype(self.X.dtype, copy=False)
                if unit_rows:
                    projected *= self.scales(True)[:, None]
            if not np.isfinite(projected).all():
                raise not_finite(self.X)
            # The axes are kept with the answer: their id stays theirs.
            self._on_axes[key] = axes, projected
        return self._on_axes[key][1]

    def on(
        self, axes: np.ndarray, unit_rows: bool, mean: np.ndarray | None = None
    ) -> tuple[Rows, np.ndarray]:
        """Return rows on axes around a mean row, and it; by default their own mean."""
        B = self.on_axes(axes, unit_rows)
        mean = self.mean(unit_rows) if mean is None else mean
        return Rows(np.subtract(B, mean @ axes, dtype=DOUBLE)), mean


class StreamedUnlabelled(Unlabelled):
    """Unlabelled rows from a stream.

    One pass over the source brings mean and rows on axes; the rows go to a temporary
    file, so that the rounds need the source no more.
    """

    def __init__(self, stream: RowStream):
        self.stream = stream

    @property
    def X(self) -> np.ndarray:  # type: ignore[override] # noqa: N802
        """Refuse: whoever asks needs all rows at once."""
        raise whole_needed(f"{self.stream.what} is met chunk by chunk")

    def __len__(self) -> int:
        """Count the rows; the stream is gone through once for it."""
        if self.stream.n_rows is None:
            for _ in self.stream.blocks("counting"):
                pass
        assert self.stream.n_rows is not None
        return self.stream.n_rows

    def mean(self, unit_rows: bool) -> np.ndarray:
        """Return the mean row in float64."""
        return self.on(np.zeros((self.stream.n_features, 0)), unit_rows)[1]

    def on(self, axes, unit_rows, mean=None):
        """See ``Unlabelled.on``."""
        rows = FileRows(axes.shape[1], self.stream.dtype)
        needed = (self.stream.n_rows or 0) * axes.shape[1] * rows.dtype.itemsize
        if needed > shutil.disk_usage(tempfile.gettempdir()).free:
            raise no_space(needed)
        total, carried = np.zeros(len(axes)), axes.astype(rows.dtype)
        for X, _ in self.stream.blocks("projecting"):
            scales = inverse_lengths(X) if unit_rows else np.ones(len(X), X.dtype)
            total += scales @ X
            rows.append((X @ carried) * scales[:, None])
        mean = total / len(self) if mean is None else mean
        rows.centre = mean @ axes
        return rows, mean


# ---- rows in chunks ------------------------------------------------------------------


class Chunk(NamedTuple):
    """Checked rows, and their labels if the source has them."""

    X: np.ndarray
    y: np.ndarray | None


class RowStream:
    """Rows from anywhere, in chunks.

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
    """

    def __init__(
        self,
        chunks: Callable[[], Iterator[Any]],
        what: str,
        *,
        n_rows: int | None = None,
        once: bool = False,
    ):
        self._open, self._passes = chunks, 0
        self.what, self.n_rows, self.once = what, n_rows, once
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
                self.head, self.labelled = X[:1], y is not None
                self.n_features, self.dtype = X.shape[1], float_type(X, self.what)
                return first, opened
        raise ValueError(f"{self.what} gave no row. Give at least one chunk with rows.")

    def blocks(self, task: str = "reading") -> Iterator[Chunk]:
        """Yield checked chunks; the next may take the memory of this one.

        ``task`` names the pass for ``show_progress``.
        """
        start = 0
        with steps(task, None) as advance:
            for number, chunk in enumerate(self._pass()):
                X, y = self._checked(*split_pair(chunk), number, start)
                start += len(X)
                if len(X):
                    yield Chunk(X, None if y is None else np.asarray(y))
                advance()
        if self.n_rows is not None and self.n_rows != start:
            raise ValueError(
                f"{self.what} gave {start} rows where {self.n_rows} were expected."
            )
        self.n_rows = start

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

    def _checked(self, X: Any, y: Any, number: int, start: int) -> tuple:
        where = f"{self.what}, chunk {number}"
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
        if (y is not None) != self.labelled or (y is not None and len(y) != len(X)):
            found = "no labels" if y is None else f"{len(y)} labels"
            raise ValueError(
                f"{where}: {len(X)} rows with {found}. Give every chunk one label "
                "per row, or none of them any."
            )
        X = np.ascontiguousarray(X, dtype=self.dtype)
        check_finite(X, where, start)
        return X, y


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
        if np.isfinite(X.sum()):
            return
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        more = f", and {len(bad) - 1} more of its rows" if len(bad) > 1 else ""
        raise ValueError(
            f"{where} holds NaN or infinity in its row {bad[0]} (row {start + bad[0]} "
            f"of all{more}). Mend or drop such rows first."
        )


# ---- sources -------------------------------------------------------------------------


def is_stream(X: Any) -> bool:
    """Tell rows that are met in chunks from rows in memory."""
    if isinstance(X, RowStream | np.memmap | str | os.PathLike | Iterator):
        return True
    if root_module(X) in ("h5py", "dask") or is_arrow_dataset(X):
        return True
    if isinstance(X, list | tuple):
        first = X[0] if X else None
        if isinstance(first, tuple):
            first = first[0] if len(first) == 2 else None
        return getattr(first, "ndim", 0) == 2
    array_like = ("__array__", "__array_interface__", "__dataframe__", "__len__")
    return (
        hasattr(X, "__iter__")
        and not sparse.issparse(X)
        and not any(hasattr(X, name) for name in array_like)
    )


def root_module(X: Any) -> str:
    """Return the package that an object's type comes from."""
    return type(X).__module__.split(".")[0]


def is_arrow_dataset(X: Any) -> bool:
    """Tell whether this is one of pyarrow's datasets."""
    return type(X).__module__ == "pyarrow._dataset"


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
    from unseen.loading.arrays import is_npy, open_npy
    from unseen.loading.parquet import iter_parquet

    if not is_arrow_dataset(X):
        path, what = Path(X), str(X)
        if not path.exists():
            raise FileNotFoundError(f"X: there is no file {path}.")
        if is_npy(path):
            return _open_array(open_npy(path), what)
    column = y if isinstance(y, str) else None
    return RowStream(lambda: iter_parquet(X, column), what)


def _open_array(X: Any, what: str) -> RowStream:
    from unseen.loading.blocks import read_blocks

    if X.ndim != 2 or not X.shape[1]:
        raise ValueError(f"{what} has shape {X.shape}. Give two dimensions.")
    step = max(1, CHUNK_NUMBERS // X.shape[1])
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
