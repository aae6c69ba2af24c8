"""Rows wherever they are: an array, a file, chunks, Dask; and what is asked of them.

    Unlabelled   the rows a model predicts for, or adapts to; in memory
    RowStream    rows that are met chunk by chunk, each chunk checked
    Rows         rows on axes, centred; ``each`` runs a function on every block

Only ``each`` knows where rows are. It hands over a block and its part of arrays with an
entry per row, and returns what the function made of every block, in the order of the
rows: callers join or add. The function may run on another machine: it must not hold
more than it needs.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from unseen.core.linalg import DOUBLE, inverse_lengths
from unseen.core.params import DTYPES, not_finite
from unseen.core.sums import RunningSums, Sums, indicator, row_blocks
from unseen.progress import steps

CHUNK_NUMBERS = 2**22  # that are read from an array on disk at a time


# ---- rows on axes --------------------------------------------------------------------


class Rows:
    """Rows on axes, centred, in memory."""

    B: np.ndarray | None = None
    shape: tuple[int, int]
    keeps_labels = True  # whether a round may keep all labels by name
    _summed: tuple[np.ndarray, np.ndarray] | None = None  # rows, their Gram matrix

    def __init__(self, B: np.ndarray):
        self.B, self.shape = B, B.shape

    def __len__(self) -> int:
        """Count the rows."""
        return self.shape[0]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return all rows; only memory has them."""
        if self.B is None:
            raise whole_needed()
        return self.B

    def each(self, work: Callable, *per_row: np.ndarray) -> list:
        """Return ``work(block, its part of every per-row array)`` of all blocks."""
        found = []
        for here in self.blocks:
            found.append(work(self.block(here), *(one[here] for one in per_row)))
        return found

    @cached_property
    def blocks(self) -> list[slice]:
        """Which rows are worked on at a time."""
        return row_blocks(*self.shape) or [slice(0, 0)]

    def total(self, work: Callable, *per_row: np.ndarray) -> Any:
        """Return what ``each`` would, added up."""
        return reduce(add, self.each(work, *per_row))

    def block(self, here: slice) -> np.ndarray:
        """Return some of the rows."""
        return np.asarray(self)[here]

    def sample(self, step: int) -> np.ndarray:
        """Return every ``step``-th row."""
        wanted = np.arange(len(self)) % step == 0
        return np.concatenate(self.each(lambda block, own: block[own], wanted))

    def best(self, *scorers: tuple) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, by each (coef, offset), the best class of every row and its score."""

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
        return self.sums(np.zeros(len(self), dtype=np.intp), 1).gram

    def sums(self, codes: np.ndarray, n_classes: int) -> Sums:
        """Return the sums of rows under these labels; those with -1 are left out.

        The Gram matrix is that of the last call with rows that came or went since.
        """
        kept = codes >= 0
        none = np.zeros_like(kept)
        before, gram = self._summed or (none, 0.0)
        came, went = kept & ~before, before & ~kept
        if came.sum() + went.sum() > kept.sum():
            gram, came, went = 0.0, kept, none

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

    def append(self, rows: np.ndarray) -> None:
        """Write rows to the end of the file."""
        self.shape = self.shape[0] + len(rows), self.shape[1]
        self.__dict__.pop("blocks", None)
        try:
            self.file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
        except OSError as error:
            raise OSError(
                f"{tempfile.gettempdir()} has no room for {self.shape[0]:,} rows on "
                "the model's axes. Set TMPDIR to a folder on a larger disk."
            ) from error

    def block(self, here: slice) -> np.ndarray:
        """Return some of the rows, centred, in float64."""
        n, r = here.stop - here.start, self.shape[1]
        self.file.seek(here.start * r * self.dtype.itemsize)
        stored = np.fromfile(self.file, self.dtype, n * r).reshape(n, r)
        return stored - self.centre


# ---- the rows a model predicts for, or adapts to -------------------------------------


class Unlabelled:
    """Unlabelled rows in memory.

    What they are on some axes is worked out once, so that a search over
    hyper-parameters, or several models on the same rows, share the passes.
    """

    X: np.ndarray

    def __init__(self, X: np.ndarray):
        self.X = X
        self._carried: dict = {}

    def __len__(self) -> int:
        """Count the rows; a stream is gone through once for it."""
        return len(self.X)

    def only(self, rows: np.ndarray) -> Unlabelled:
        """Return some of the rows; they must be in memory."""
        return Unlabelled(self.X[rows])

    def answers(self, answer: Callable, n_classes: int) -> Any:
        """Return ``answer(rows)`` of all rows, block by block."""
        blocks = row_blocks(len(self), self.X.shape[1], least=8 * n_classes)
        return np.concatenate([answer(self.X[here]) for here in blocks])

    def on(
        self, axes: np.ndarray, unit_rows: bool, mean: np.ndarray | None = None
    ) -> tuple[Rows, np.ndarray]:
        """Return rows on axes around a mean row, and it; by default their own mean."""
        key = id(axes), unit_rows
        if key not in self._carried:
            # The axes are kept with the answer: their id stays theirs.
            self._carried[key] = axes, *carry(self.X, axes, unit_rows)
        _, rows, total = self._carried[key]
        mean = total / max(len(self), 1) if mean is None else mean
        return Rows(np.subtract(rows, mean @ axes, dtype=DOUBLE)), mean

    def around(self, mean: np.ndarray, axes: np.ndarray, unit_rows: bool) -> np.ndarray:
        """Return the rows, less a mean row, on axes, in float64."""
        return np.asarray(self.on(axes, unit_rows, mean)[0])


class Elsewhere(Unlabelled):
    """Rows that are not in memory: ``head`` names their features and has their type."""

    head: Any
    n_features: int

    @property
    def X(self) -> np.ndarray:  # type: ignore[override] # noqa: N802
        """Refuse: whoever asks needs all rows at once."""
        raise whole_needed()


def carry(X: np.ndarray, axes: np.ndarray, unit_rows: bool) -> tuple:
    """Return rows, of unit length or as they are, on axes, and their sum."""
    scales = inverse_lengths(X) if unit_rows else np.ones(len(X), X.dtype)
    with np.errstate(all="ignore"):  # what is not finite is refused below
        rows = X @ axes.astype(X.dtype, copy=False)
        rows *= scales[:, None]
        sums = (scales[here] @ X[here] for here in row_blocks(*X.shape))
        total = sum(sums, start=np.zeros(X.shape[1]))
    if not (np.isfinite(rows).all() and np.isfinite(total).all()):
        raise not_finite(X)
    return rows, total


# ---- rows in chunks ------------------------------------------------------------------


class RowStream(Elsewhere):
    """Rows from anywhere, in chunks; on axes they go to a temporary file.

    ``chunks()`` returns an iterator of 2-D arrays or frames, or of pairs of one with
    labels; with ``once`` it can be called only once. ``what`` is what the rows are
    called in messages. ``n_rows`` is known after one pass, ``head`` is the first row as
    it came: a frame names its features.
    """

    def __init__(
        self,
        chunks: Callable[[], Iterator[Any]],
        what: str,
        *,
        n_rows: int | None = None,
        once: bool = False,
    ):
        self.what, self.n_rows, self.once, self._open = what, n_rows, once, chunks
        self.head = None  # the first chunk says what the others have to be
        opened = self._checked()
        first = next(opened, None)
        if first is None:
            raise ValueError(f"{what} gave no row. Give at least one chunk with rows.")
        self.dtype = first[0].dtype
        self._begun: Iterator | None = chain([first], opened)

    def blocks(self, task: str = "reading") -> Iterator[tuple]:
        """Yield checked (rows, labels or None); the next may take the memory of these.

        ``task`` names the pass for ``show_progress``.
        """
        if self._begun is None and self.once:
            raise ValueError(
                f"{self.what} can be gone through only once, and is needed again. Give "
                "a list of chunks, a file, or an object whose __iter__ starts anew."
            )
        blocks, self._begun, n_rows = self._begun or self._checked(), None, 0
        with steps(task, None) as advance:
            for block in blocks:
                n_rows += len(block[0])
                yield block
                advance()
        self.n_rows = n_rows

    def _checked(self) -> Iterator[tuple]:
        """Yield (rows, labels or None) of every chunk with rows, alike in kind."""
        dtype = None
        for number, chunk in enumerate(self._open()):
            X, y = chunk if isinstance(chunk, tuple) else (chunk, None)
            where = f"{self.what}, chunk {number}"
            if getattr(X, "ndim", 0) != 2:
                raise ValueError(
                    f"{where} is a {type(X).__name__}. Give chunks of rows, two "
                    "dimensions each, or pairs (rows, labels)."
                )
            if not len(X):
                continue
            if self.head is None:
                self.head, self.n_features = X[:1], X.shape[1]
                self.labelled = y is not None
            names, own = (getattr(one, "columns", None) for one in (self.head, X))
            if X.shape[1] != self.n_features or not (
                names is None or (own is not None and names.equals(own))
            ):
                raise ValueError(
                    f"{where} has shape {X.shape}, and does not have the columns of "
                    f"the first chunk, which had {self.n_features}."
                )
            if (y is not None) != self.labelled or (y is not None and len(y) != len(X)):
                found = "no labels" if y is None else f"{len(y)} labels"
                raise ValueError(
                    f"{where}: {len(X)} rows with {found}. Give every chunk one label "
                    "per row, or none of them any."
                )
            rows = checked_chunk(X, where, dtype)
            dtype = rows.dtype
            yield rows, None if y is None else np.asarray(y)

    def __len__(self) -> int:
        """Count the rows; the stream is gone through once for it."""
        if self.n_rows is None:
            for _ in self.blocks("counting"):
                pass
        assert self.n_rows is not None
        return self.n_rows

    def summed(self, y: Any, running: RunningSums) -> RunningSums:
        """Return sums with all rows added; labels are given, or come with the rows."""
        y = None if isinstance(y, str) else y  # a column comes with the rows
        if (y is None) != self.labelled:
            raise ValueError(
                f"{self.what} comes {'with' if self.labelled else 'without'} labels. "
                "Give y, or chunks that are pairs (rows, labels), but not both."
            )
        n_rows = 0
        for rows, labels in self.blocks("summing"):
            own = labels if y is None else np.asarray(y[n_rows : n_rows + len(rows)])
            n_rows += len(rows)
            if len(own) == len(rows):
                running = running.add(rows, own)
        if y is not None and n_rows != len(y):
            raise ValueError(
                f"{self.what} has {n_rows} rows, but y has {len(y)} labels."
            )
        return running

    def answers(self, answer, n_classes):
        """See ``Unlabelled.answers``."""
        return np.concatenate([answer(rows) for rows, _ in self.blocks("scoring")])

    def on(self, axes, unit_rows, mean=None):
        """See ``Unlabelled.on``."""
        rows = FileRows(axes.shape[1], self.dtype)
        total = np.zeros(len(axes))
        for X, _ in self.blocks("projecting"):
            projected, own = carry(X, axes, unit_rows)
            total += own
            rows.append(projected)
        mean = total / len(rows) if mean is None else mean
        rows.centre = mean @ axes
        return rows, mean


def checked_chunk(X: Any, where: str, dtype: Any = None) -> np.ndarray:
    """Return finite rows in float32 or float64; name the first that is not finite."""
    rows = check_array(
        X,
        dtype=dtype or DTYPES,
        order="C",
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name=where,
    )
    with np.errstate(all="ignore"):
        # Sums are quickly made, and NaN or infinity would stay in them.
        finite = np.isfinite(rows.sum()) or np.isfinite(rows).all()
    if not finite:
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        raise ValueError(
            f"{where} holds NaN or infinity in its row {bad[0]}. Mend or drop such "
            "rows first."
        )
    return rows


# ---- sources -------------------------------------------------------------------------


def is_stream(X: Any) -> bool:
    """Tell rows that are met in chunks from rows in memory."""
    kinds = RowStream | np.memmap | str | os.PathLike | Iterator
    if isinstance(X, kinds) or root_module(X) in ("h5py", "dask") or issparse(X):
        return True
    if isinstance(X, list | tuple):
        first = X[0] if X else None
        first = first[0] if isinstance(first, tuple) and first else first
        return getattr(first, "ndim", 0) == 2
    arrays = hasattr(X, "__len__") or hasattr(X, "__array__")
    return hasattr(X, "__iter__") and not arrays


def root_module(X: Any) -> str:
    """Return the package that an object's type comes from."""
    return type(X).__module__.split(".")[0]


def open_stream(X: Any, y: Any = None) -> Any:
    """Return a ``RowStream`` or Dask's rows; of a table, y may name a column."""
    from unseen.loading.arrays import is_npy, open_npy, read_blocks
    from unseen.loading.frames import iter_parquet

    if isinstance(X, RowStream):
        return X
    if root_module(X) == "dask":
        from unseen.core.dask_rows import DaskUnlabelled

        return DaskUnlabelled(X, y)
    what = "X"
    if isinstance(X, str | os.PathLike):
        X, what = Path(X), str(X)
        if not X.exists():
            raise FileNotFoundError(f"X: there is no file {X}.")
        if not is_npy(X):
            column = y if isinstance(y, str) else None
            return RowStream(lambda: iter_parquet(X, column), what)
        X = open_npy(X)
    if issparse(X):  # centred rows are dense: they are made so a chunk at a time
        n, rows, step = X.shape[0], X.tocsr(), max(1, CHUNK_NUMBERS // X.shape[1])
        places = range(0, n, step)
        return RowStream(
            lambda: (rows[i : i + step].toarray() for i in places), what, n_rows=n
        )
    if isinstance(X, np.ndarray) or root_module(X) == "h5py":
        if X.ndim != 2 or not X.shape[1]:
            raise ValueError(f"{what} has shape {X.shape}. Give two dimensions.")
        step = max(1, CHUNK_NUMBERS // X.shape[1])
        return RowStream(lambda: read_blocks(X, step), what, n_rows=len(X))
    return RowStream(lambda: iter(X), what, once=isinstance(X, Iterator))


def in_one_piece(X: Any) -> Any:
    """Return X, a memory map as an array; refuse what comes chunk by chunk."""
    if isinstance(X, np.memmap):
        return np.asarray(X)
    if is_stream(X):
        raise whole_needed("sparse" if issparse(X) else type(X).__name__)
    return X


def whole_needed(kind: str = "stream") -> TypeError:
    """Return the error for a method that cannot go without all rows at once."""
    return TypeError(
        f"X is met chunk by chunk ({kind}), but this method needs all rows at once. "
        "Give an array, or a method that streams: AnchoredSelfTraining, TSTD, JEDM, "
        "GuidedMixture(n_neighbors=0), or SelfTraining around a linear model."
    )
