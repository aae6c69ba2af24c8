"""A pile larger than memory, on the axes of a model: asked block by block.

    B  (n, r)   rows of the pile on the axes, centred; in a file, or on Dask workers
    state       what is kept of a block between passes: label and reliability of rows

Self-training looks at B in two ways only. It scores rows, ``B @ W.T + offset``, and
wants each row's label and how sure it is; and it sums the rows it trusts. Both are
passes over blocks: a function meets every block and gives back a state, which stays
with the block, and sums, which add up. What holds the blocks is no matter of the
function, so files and clusters share all that is here.

Which rows to trust is a question of ranks over the whole pile: the k-th largest
reliability of every class. Histograms of its digits, which add up too, find it
exactly, without bringing the rows together.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from unseen.rows.blocks import fill
from unseen.rows.source import RowStream
from unseen.rows.sums import Sums, inverse_lengths, sum_rows

BLOCK_NUMBERS = 2**20  # of a block of B that is brought back from its file
DIGITS = ((53, 11), (42, 11), (31, 11), (20, 11), (9, 11), (0, 9))  # shift, bits


class BlockRows(ABC):
    """Rows in blocks that others hold; subclasses say where.

    Attributes
    ----------
    shape : tuple of int
    centre : ndarray of shape (n_axes,)
        Taken away from every row when a block is met.
    """

    shape: tuple[int, int]
    centre: np.ndarray
    starts: Sequence[int]  # number of the first row of each block

    def __len__(self) -> int:
        """Count the rows."""
        return self.shape[0]

    def __sub__(self, centre: np.ndarray) -> BlockRows:
        """Return the rows around another centre; nothing is copied."""
        shifted = copy(self)
        shifted.centre = self.centre + centre
        return shifted

    def __matmul__(self, weights: np.ndarray) -> BlockScores:
        """Return the scores ``B @ weights``, to be worked out in passes."""
        return BlockScores(self, weights.T, np.zeros(weights.shape[1]))

    @abstractmethod
    def run(self, work: Callable, *arguments, states: Sequence[Any] = ()):
        """Call ``work(block, *arguments, *states of the block)`` for every block.

        It returns (state, sums), where sums are a tuple of things that add up.
        Returns (list of states, sums over all blocks); ``states`` are such lists.
        """

    @abstractmethod
    def each(self, work: Callable, *states: Any, arguments: tuple = ()) -> list[Any]:
        """Return the new state ``work(*states of the block, *arguments)`` of each."""

    @abstractmethod
    def gather(self, states: list[Any]) -> list[Any]:
        """Bring states here."""

    def total(self, work: Callable, *states: Any, arguments: tuple = ()) -> Any:
        """Return the sum over blocks of ``work(*states of the block, *arguments)``."""
        first, *others = self.gather(self.each(work, *states, arguments=arguments))
        return sum(others, start=first)


class TemporaryBytes:
    """A temporary file that is closed, and so removed, with its last user."""

    def __init__(self) -> None:
        self.raw = tempfile.TemporaryFile(buffering=0)
        weakref.finalize(self, self.raw.close)


class DiskRows(BlockRows):
    """Rows in a temporary file that vanishes with them.

    Parameters
    ----------
    n_axes : int
    dtype : dtype
        As rows in memory would have after the product with the axes.
    """

    def __init__(self, n_axes: int, dtype: np.dtype):
        self.file = TemporaryBytes()  # shared with rows around other centres
        self.dtype, self.shape = np.dtype(dtype), (0, n_axes)
        self.centre = np.zeros(n_axes)

    @property
    def starts(self) -> range:  # type: ignore[override]
        """Number of the first row of each block."""
        return range(0, len(self), max(1, BLOCK_NUMBERS // self.shape[1]))

    def append(self, block: np.ndarray) -> None:
        """Write rows to the end of the file."""
        block = np.ascontiguousarray(block, dtype=self.dtype)
        view = memoryview(block).cast("B")  # type: ignore[arg-type]
        try:
            while len(view):
                view = view[self.file.raw.write(view) or 0 :]
        except OSError as error:
            raise no_space(len(self) * block.nbytes / len(block)) from error
        self.shape = len(self) + len(block), self.shape[1]

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the centred rows in float64, a block at a time.

        The next block takes the place of the one before.
        """
        n, r = self.shape
        step = self.starts.step
        stored = np.empty((min(step, n), r), dtype=self.dtype)
        centred = np.empty(stored.shape)
        self.file.raw.seek(0)
        for start in self.starts:
            block = stored[: min(step, n - start)]
            fill(self.file.raw, block, "the temporary file")
            yield np.subtract(block, self.centre, out=centred[: len(block)])

    def run(self, work, *arguments, states=()):
        """See ``BlockRows.run``."""
        kept: list[Any] = []
        sums: Any = None
        for i, block in enumerate(self.blocks()):
            state, new = work(block, *arguments, *(one[i] for one in states))
            kept.append(state)
            sums = new if sums is None else add_up([sums, new])
        return kept, sums

    def each(self, work, *states, arguments=()):
        """See ``BlockRows.each``."""
        return [work(*those, *arguments) for those in zip(*states, strict=True)]

    def gather(self, states):
        """Return them: they are here."""
        return states


def no_space(needed: float) -> OSError:
    """Return the error for a temporary folder that is too small."""
    folder = tempfile.gettempdir()
    return OSError(
        f"{folder} has no room for the pile on the model's axes ({needed / 1e9:.1f} GB "
        "so far). Set the environment variable TMPDIR to a folder on a larger disk."
    )


def add_up(many: Sequence[tuple]) -> tuple:
    """Return tuples of things that add, added up part by part."""
    first, *others = many
    return tuple(
        sum(parts, start=start) for start, *parts in zip(first, *others, strict=True)
    )


# ---- the pile ------------------------------------------------------------------------


class StreamedPile:
    """Unlabelled rows from a stream, with what every adaptation asks of them.

    One pass over the source brings mean and rows on axes; the rows go to a temporary
    file, so that the rounds need the source no more.

    Parameters
    ----------
    stream : RowStream

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.holders import StreamedPile
    >>> from unseen.rows.source import open_stream
    >>> pile = StreamedPile(open_stream(iter([np.array([[3.0, 4.0], [0.0, 2.0]])])))
    >>> rows = pile.on_axes(np.eye(2), unit_rows=True)
    >>> pile.mean(unit_rows=True)
    array([0.3, 0.9])
    """

    def __init__(self, stream: RowStream):
        self.stream = stream
        self._means: dict[bool, np.ndarray] = {}

    def __len__(self) -> int:
        """Count the rows; known after a pass."""
        if self.stream.n_rows is None:
            raise TypeError("The rows of a stream are counted by the first pass.")
        return self.stream.n_rows

    @property
    def X(self) -> np.ndarray:  # noqa: N802, as for a pile in memory
        """Refuse: whoever asks needs all rows at once."""
        raise whole_needed(f"{self.stream.what} is met chunk by chunk")

    def mean(self, unit_rows: bool) -> np.ndarray:
        """Return the mean row in float64."""
        if unit_rows not in self._means:
            total = np.zeros(self.stream.n_features)
            for block, _ in self.stream.blocks("averaging"):
                total += scaled_sum(block, row_scales(block, unit_rows))
            self._means[unit_rows] = total / len(self)
        return self._means[unit_rows]

    def on_axes(self, axes: np.ndarray, unit_rows: bool) -> DiskRows:
        """Return the rows times ``axes``, not centred, in a file."""
        dtype, n_rows = self.stream.dtype, self.stream.n_rows or 0
        needed = n_rows * axes.shape[1] * dtype.itemsize
        if needed > shutil.disk_usage(tempfile.gettempdir()).free:
            raise no_space(needed)
        rows = DiskRows(axes.shape[1], dtype)
        total = np.zeros(self.stream.n_features)
        for block, _ in self.stream.blocks("projecting"):
            scales = row_scales(block, unit_rows)
            total += scaled_sum(block, scales)
            rows.append(project(block, axes, scales))
        self._means[unit_rows] = total / len(self)
        return rows


def whole_needed(found: str) -> TypeError:
    """Return the error for a method that cannot go without all rows at once."""
    return TypeError(
        f"{found}, but this method needs all rows at once. Give an array, or a method "
        "that streams: AnchoredSelfTraining, TSTD, JEDM, or SelfTraining around a "
        "linear model."
    )


def row_scales(X: np.ndarray, unit_rows: bool) -> np.ndarray:
    """Return the factor of each row: ``1 / |x|``, or 1."""
    return inverse_lengths(X) if unit_rows else np.ones(len(X), dtype=X.dtype)


def scaled_sum(X: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the sum of scaled rows, in float64."""
    return (scales @ X).astype(np.float64)


def project(X: np.ndarray, axes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return scaled rows on axes, in the precision of the rows."""
    return X @ axes.astype(X.dtype, copy=False) * scales[:, None]


# ---- scores --------------------------------------------------------------------------


class BlockScores:
    """Scores ``B @ coef.T + offset`` that are worked out in passes, never held."""

    def __init__(self, rows: BlockRows, coef: np.ndarray, offset: np.ndarray):
        self.rows, self.coef, self.offset = rows, coef, offset
        self.shape = len(rows), len(coef)

    def __add__(self, offset: np.ndarray) -> BlockScores:
        """Return the scores with something added for each class."""
        return BlockScores(self.rows, self.coef, self.offset + offset)

    def __truediv__(self, lengths: np.ndarray) -> BlockScores:
        """Return the scores of each class divided by a number of its own."""
        coef = self.coef / lengths[:, None]
        return BlockScores(self.rows, coef, self.offset / lengths)

    def column_lengths(self) -> np.ndarray:
        """Return the length of each class's scores over the pile."""
        _, (squares,) = self.rows.run(column_squares, self.coef, self.offset)
        return np.sqrt(squares)

    def look(self, ranking: Callable[[np.ndarray], np.ndarray]) -> Looked:
        """Label and rank every row."""
        states, (sizes,) = self.rows.run(look_at, self.coef, self.offset, ranking)
        return Looked(self.rows, states, sizes)


class RowState(NamedTuple):
    """Class number and reliability of each row of a block."""

    codes: np.ndarray
    reliability: np.ndarray


def column_squares(block, coef, offset):
    """Return the squared length of each score column of a block."""
    scores = block @ coef.T + offset
    return None, (np.einsum("ij,ij->j", scores, scores),)


def look_at(block, coef, offset, ranking):
    """Return labels and reliability of a block, and how many rows each class got."""
    scores = block @ coef.T + offset
    codes = scores.argmax(axis=1)
    state = RowState(small_codes(codes, len(coef)), ranking(scores))
    return state, (np.bincount(codes, minlength=len(coef)),)


def small_codes(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return class numbers in as few bytes as they take."""
    return codes.astype(np.min_scalar_type(n_classes))


class Looked(NamedTuple):
    """What a pass found: the state of every block, and the rows of each class."""

    rows: BlockRows
    states: list[Any]
    sizes: np.ndarray

    def codes(self) -> np.ndarray:
        """Return the class number of every row."""
        return np.concatenate([s.codes for s in self.rows.gather(self.states)])

    def reliability(self) -> np.ndarray:
        """Return the reliability of every row."""
        return np.concatenate([s.reliability for s in self.rows.gather(self.states)])

    def n_other(self, before: Looked) -> int:
        """Count the rows whose label differs from that of another look."""
        return int(self.rows.total(count_other, self.states, before.states))

    def most_reliable(self, rate: float, how_many: Callable[[float], int]) -> Chosen:
        """Return the rows to trust, as ``rounds.most_reliable`` would."""
        quota = np.array([how_many(rate * int(size)) for size in self.sizes])
        if (quota >= self.sizes).all():
            return Chosen(self.rows, self.states, None, self.sizes)
        quota = np.minimum(quota, self.sizes)
        border, left = kth_largest(self, quota)
        # Rows on the border are taken in their order, as far as the quota goes.
        on_border = self.rows.each(count_border, self.states, arguments=(border,))
        kept, states = [], self.states
        for count in self.rows.gather(on_border):
            kept.append(np.minimum(count, left))
            left = left - kept[-1]
        masks = self.rows.each(keep_best, states, kept, arguments=(border, quota))
        return Chosen(self.rows, states, masks, quota)


class Chosen(NamedTuple):
    """Rows to learn from: a mask per block, or None for every row."""

    rows: BlockRows
    states: list[Any]
    kept: list[Any] | None
    counts: np.ndarray

    def sums(self) -> Sums:
        """Return the sums of the rows under their labels."""
        lists = [self.states] if self.kept is None else [self.states, self.kept]
        _, (sums,) = self.rows.run(sum_kept, len(self.counts), states=lists)
        return sums


def sum_kept(block, n_classes, state, kept=None):
    """Return the sums of the kept rows of a block."""
    codes = state.codes.astype(np.intp)
    if kept is not None:
        block, codes = block[kept], codes[kept]
    return None, (sum_rows(block, codes, n_classes),)


def count_other(state, before):
    """Count rows of a block whose label changed."""
    return np.count_nonzero(state.codes != before.codes)


class KeptSums:
    """Sums of the rows that a pupil learns from, followed from round to round.

    In memory the Gram matrix sees only rows that came or went since the round before;
    ``rows`` are in rising order.

    Parameters
    ----------
    B : ndarray or BlockRows of shape (n, r)
    n_classes : int

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.holders import KeptSums
    >>> kept = KeptSums(np.array([[1.0, 0], [0, 2], [3, 0]]), n_classes=2)
    >>> _ = kept.sums(np.array([0, 1]), np.array([0, 1]))
    >>> kept.sums(np.array([1, 2]), np.array([1, 1])).class_sums
    array([[0., 0.],
           [3., 2.]])
    """

    def __init__(self, B: Any, n_classes: int):
        self.B, self.n_classes = B, n_classes
        self._kept = np.zeros(len(B) if isinstance(B, np.ndarray) else 0, dtype=bool)
        self._gram = np.zeros((B.shape[1], B.shape[1]))

    def sums(self, rows: Any, labels: Any) -> Sums:
        """Return the sums of these rows under these labels."""
        if isinstance(rows, Chosen):
            return rows.sums()
        kept = np.zeros(len(self.B), dtype=bool)
        kept[rows] = True
        came, went = self.B[kept & ~self._kept], self.B[self._kept & ~kept]
        if len(came) + len(went) > len(rows):
            self._gram, came, went = 0 * self._gram, self.B[rows], self.B[:0]
        self._gram = self._gram + came.T @ came - went.T @ went
        self._kept = kept
        ends = np.append(0, kept.cumsum())  # rows that are not kept are empty
        ones = np.ones(len(rows))
        Y = sparse.csr_array((ones, labels, ends), shape=(len(kept), self.n_classes))
        counts = np.bincount(labels, minlength=self.n_classes).astype(np.float64)
        return Sums(self._gram, Y.T @ self.B, counts)


def class_scores(B, coef: np.ndarray) -> Any:
    """Return ``B @ coef.T``, in memory or to be worked out in blocks.

    In memory the scores of a class lie together, for what is asked of them is asked
    class by class.
    """
    return B @ coef.T if isinstance(B, BlockRows) else (coef @ B.T).T


def both_scores(B, one: np.ndarray, other: np.ndarray) -> tuple[Any, Any]:
    """Return the scores by two sets of coefficients; in memory B is met once."""
    if isinstance(B, BlockRows):
        return B @ one.T, B @ other.T
    scores = class_scores(B, np.vstack([one, other]))
    return scores[:, : len(one)], scores[:, len(one) :]


def column_lengths(scores) -> np.ndarray:
    """Return the length of each score column, in memory or in blocks."""
    if isinstance(scores, BlockScores):
        return scores.column_lengths()
    return np.linalg.norm(scores, axis=0)


# ---- the k-th largest of every class, by sums ----------------------------------------


def kth_largest(looked: Looked, quota: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, per class, the key of the ``quota``-th row and how many have that key.

    The second is what the quota leaves for rows on the border. Digit by digit, from
    the first: a histogram of the next digit, over rows that agree so far, tells which
    digit the k-th largest has.
    """
    n = len(quota)
    border, left = np.zeros(n, dtype=np.uint64), quota.astype(np.int64)
    every = np.arange(n)
    for shift, bits in DIGITS:
        arguments = border, shift, bits
        counts = looked.rows.total(count_digits, looked.states, arguments=arguments)
        from_top = counts[:, ::-1].cumsum(axis=1)
        place = (from_top < left[:, None]).sum(axis=1)
        place = np.minimum(place, counts.shape[1] - 1)  # quota 0: nothing is taken
        left = left - from_top[every, place] + counts[:, ::-1][every, place]
        digit = (counts.shape[1] - 1 - place).astype(np.uint64)
        border |= digit << np.uint64(shift)
    return border, np.where(quota > 0, left, 0)


def sortable(reliability: np.ndarray) -> np.ndarray:
    """Return whole numbers in the order of the floats."""
    bits = (reliability.astype(np.float64) + 0.0).view(np.uint64)  # one zero, not two
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(1 << 63))


def count_digits(state, border, shift, bits):
    """Count, per class, the next digit of rows that agree with the border so far."""
    keys, codes = sortable(state.reliability), state.codes
    above = np.uint64(shift + bits)
    if shift + bits < 64:
        agree = keys >> above == border[codes] >> above
        keys, codes = keys[agree], codes[agree]
    digit = keys >> np.uint64(shift) & np.uint64(2**bits - 1)
    place = codes.astype(np.int64) * 2**bits + digit.astype(np.int64)
    return np.bincount(place, minlength=len(border) * 2**bits).reshape(-1, 2**bits)


def count_border(state, border):
    """Count, per class, the rows of a block that lie on the border."""
    on = sortable(state.reliability) == border[state.codes]
    return np.bincount(state.codes[on], minlength=len(border))


def keep_best(state, n_border, border, quota):
    """Return the mask of rows above the border, and of the first ones on it."""
    keys, codes = sortable(state.reliability), state.codes
    kept = (keys > border[codes]) & (quota[codes] > 0)
    on = np.flatnonzero((keys == border[codes]) & (n_border[codes] > 0))
    order = on[np.argsort(codes[on], kind="stable")]
    sizes = np.bincount(codes[order], minlength=len(border))
    place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[codes[order]]
    kept[order[place < n_border[codes[order]]]] = True
    return kept
