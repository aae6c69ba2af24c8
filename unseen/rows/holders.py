"""Who holds the rows of a pile on the axes of a model, and what can be asked of them.

    B  (n, r)   rows of the pile on the axes, centred

Self-training looks at B in two ways only: it labels rows, and it sums those it trusts.
Both are passes over blocks. A function meets every block and returns a state, which
stays with the rows, and totals, which add up. Whoever holds the rows runs it:

    MemoryRows   strips of an array, which keep their scores from pass to pass
    DiskRows     a temporary file, a block at a time
    DaskRows     the workers of a cluster (distributed_rows.py)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from unseen._threads import each, scratch, strips
from unseen.core.linalg import DOUBLE
from unseen.core.rows import whole_needed
from unseen.core.sums import Sums, sum_rows
from unseen.rows.labelling import Labelling, RowState, Selection
from unseen.rows.temporary import TemporaryBytes, no_space

BLOCK_NUMBERS = 2**19  # of a block of B that a thread works on: it stays in its cache
IN_TURN = 4  # blocks that a thread meets one after the other: it is seldom waited for
AT_ONCE = 32  # threads' totals that wait to be added up


class Holder(ABC):
    """Rows on axes, wherever they are.

    Attributes
    ----------
    shape : tuple of int
    centre : ndarray of shape (n_axes,)
        What is taken away as rows are met; memory takes it away at once.
    """

    shape: tuple[int, int]
    centre: np.ndarray

    def __len__(self) -> int:
        """Count the rows."""
        return self.shape[0]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Refuse: only memory has all rows at once."""
        raise whole_needed("The rows are met block by block")

    def centred(self, centre: np.ndarray) -> Holder:
        """Return the rows with ``centre`` taken away; nothing is copied."""
        shifted = copy(self)
        shifted.centre = self.centre + centre
        return shifted

    @abstractmethod
    def run(self, work: Callable, *arguments, states: Sequence[Any] = ()):
        """Call ``work(block, kept, *arguments, *states of its rows)`` for every block.

        It returns (state, totals): arrays with an entry per row, in a RowState or
        None, and a tuple of things that add up. ``kept`` is a dict where the work may
        leave what it made of a block; memory gives it again in the next pass, others
        give an empty one. Returns (state of all rows, totals over all blocks).
        """

    @abstractmethod
    def sample(self, step: int) -> np.ndarray:
        """Return every ``step``-th row."""

    def undivided(self) -> Holder:
        """Return the rows as one block if they are in memory: for work that needs all.

        Others stay as they are.
        """
        return self

    def labelling(self, state: Any, sizes: np.ndarray) -> Labelling:
        """Return the labels that a pass left as state."""
        return Labelling(state, sizes, small=False)

    def gram(self) -> np.ndarray:
        """Return BᵀB."""
        return self.run(gram_of)[1][0]

    def sums(self, selection: Selection) -> Sums:
        """Return the sums of the selected rows under their labels."""
        n_classes, states = len(selection.counts), [selection.state, selection.kept]
        _, (sums,) = self.run(sum_selected, n_classes, states=states)
        return sums


class MemoryRows(Holder):
    """Rows in an array: strips that threads share, the same for any number of them.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.holders import MemoryRows
    >>> rows = MemoryRows(np.array([[1.0, 0], [0, 2], [3, 0]]))
    >>> rows.gram()
    array([[10.,  0.],
           [ 0.,  4.]])
    """

    def __init__(self, B: np.ndarray):
        self._given, self.shape = B, B.shape
        self._strips = strips(max(1, len(B)), B.shape[1])
        self._kept: list[dict] = [{} for _ in self._strips]
        self._summed: tuple | None = None

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return the rows."""
        return self.B

    @cached_property
    def B(self) -> np.ndarray:  # noqa: N802, the name of the matrix
        """The rows in float64, if they are asked for before they are centred."""
        return self._given.astype(np.float64, copy=False)

    def centred(self, centre):
        """See ``Holder.centred``."""
        shifted = np.empty(self.shape)

        def shift(here: slice) -> None:
            np.subtract(self._given[here], centre, out=shifted[here])

        each(shift, self._strips)
        return MemoryRows(shifted)

    def run(self, work, *arguments, states=()):
        """See ``Holder.run``."""

        def met(here: slice, kept: dict) -> tuple:
            cuts = (cut(one, here) for one in states)
            return work(self.B[here], kept, *arguments, *cuts)

        _ = self.B  # made before several ask for it
        made, totals = zip(*each(met, self._strips, self._kept), strict=True)
        return join(made), add_up(totals)

    def undivided(self):
        """See ``Holder.undivided``."""
        whole = MemoryRows(self._given)
        whole._strips, whole._kept = [slice(0, len(self))], [{}]
        return whole

    def sample(self, step):
        """See ``Holder.sample``."""
        return self.B[::step]

    def labelling(self, state, sizes):
        """See ``Holder.labelling``; here labels are few enough to be kept."""
        return Labelling(state, sizes)

    def sums(self, selection):
        """Return the sums; the Gram matrix sees only rows that came or went since."""
        B, kept, labels = self.B, selection.kept, selection.labels
        if kept is None:
            kept = np.ones(len(B), dtype=bool)
        before, gram = self._summed or (~kept & False, np.zeros((B.shape[1],) * 2))
        came, went = B[kept & ~before], B[before & ~kept]
        if len(came) + len(went) > len(labels):
            gram, came, went = 0 * gram, B[kept], B[:0]
        gram = gram + came.T @ came - went.T @ went
        self._summed = kept, gram
        ends = np.append(0, kept.cumsum())  # rows that are not kept are empty
        shape = len(B), len(selection.counts)
        Y = sparse.csr_array((np.ones(len(labels)), labels, ends), shape=shape)
        return Sums(gram, Y.T @ B, selection.counts.astype(np.float64))


class DiskRows(Holder):
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

    def append(
        self, places: list[slice], make: Callable[[slice, np.ndarray], object]
    ) -> None:
        """Write rows to the end of the file; ``make(which, room)`` makes some of them.

        Threads share the places, which follow each other from row 0 on. Each makes its
        rows in memory that it uses again, and writes them: no other has to wait.
        """
        first, r = self.shape

        def put(here: slice) -> None:
            rows = scratch((here.stop - here.start, r), self.dtype, "written")
            make(here, rows)
            self.file.write(rows, (first + here.start) * rows[:1].nbytes)

        stop = first + places[-1].stop
        try:
            each(put, places)
        except OSError as error:
            raise no_space(stop * r * self.dtype.itemsize) from error
        self.shape = stop, r

    def places(self) -> list[slice]:
        """Return which rows are brought back at a time."""
        n, r = self.shape
        step = max(1, BLOCK_NUMBERS // r)
        return [slice(i, min(i + step, n)) for i in range(0, n, step)]

    def block(self, here: slice) -> np.ndarray:
        """Return some rows, centred, in float64.

        The next block that this thread asks for takes the place of this one.
        """
        shape = here.stop - here.start, self.shape[1]
        stored = scratch(shape, self.dtype, "read")
        self.file.read(stored, here.start * stored[:1].nbytes)
        return np.subtract(stored, self.centre, out=scratch(shape, DOUBLE, "centred"))

    def run(self, work, *arguments, states=()):
        """See ``Holder.run``; threads share the blocks, some of which are out at once.

        What they give is added up in their order, whoever made it.
        """

        def met(several: list[slice]) -> tuple:
            blocks = ((here, self.block(here)) for here in several)
            return meet(blocks, work, arguments, states)

        places, made, sums = self.places(), [], None
        turns = [places[i : i + IN_TURN] for i in range(0, len(places), IN_TURN)]
        for first in range(0, len(turns), AT_ONCE):
            found = each(met, turns[first : first + AT_ONCE])
            made += [state for state, _ in found]
            totals = [new for _, new in found]
            sums = add_up(totals if sums is None else [sums, *totals])
        return join(made), sums

    def sample(self, step):
        """See ``Holder.sample``."""
        some = np.empty((-(-len(self) // step), self.shape[1]), dtype=self.dtype)
        for i, row in enumerate(some):
            self.file.read(row, i * step * row.nbytes)
        return some - self.centre


# ---- states and totals of blocks -----------------------------------------------------


def meet(blocks: Iterable, work: Callable, arguments: tuple, states: Sequence) -> tuple:
    """Do the work of a pass on blocks; return their state, joined, and totals."""
    made, totals = [], None
    for here, block in blocks:
        state, new = work(block, {}, *arguments, *(cut(one, here) for one in states))
        made.append(state)
        totals = new if totals is None else add_up([totals, new])
    return join(made), totals


def meet_chunks(shared, chunks: list[np.ndarray], *states):
    """Do the work of a pass on chunks of rows, one after the other; runs on a worker.

    In strips that stay in the cache of its processor.
    """
    centre, step, work, arguments = shared

    def centred() -> Iterator[tuple[slice, np.ndarray]]:
        first = 0
        for chunk in chunks:
            for here in range(0, max(len(chunk), 1), step):
                rows = chunk[here : here + step]
                place = slice(first + here, first + here + len(rows))
                yield (
                    place,
                    np.subtract(
                        rows, centre, out=scratch(rows.shape, DOUBLE, "centred")
                    ),
                )
            first += len(chunk)

    return meet(centred(), work, arguments, states)


def cut(state: Any, here: slice) -> Any:
    """Return the state of some of the rows."""
    if isinstance(state, RowState):
        return RowState(*(one[here] for one in state))
    return None if state is None else state[here]


def join(states: Sequence[Any]) -> Any:
    """Return the states of blocks as one."""
    if states[0] is None or len(states) == 1:
        return states[0]
    made: dict[int, np.ndarray] = {}
    for those in zip(*states, strict=True):  # what is there twice is joined once
        if id(those[0]) not in made:
            made[id(those[0])] = np.concatenate(those)
    return RowState(*(made[id(one)] for one in states[0]))


def add_up(many: Sequence[tuple]) -> tuple:
    """Return tuples of things that add, added up part by part."""
    first, *others = many
    return tuple(
        sum(parts, start=start) for start, *parts in zip(first, *others, strict=True)
    )


def gram_of(block, kept):
    """Return the Gram matrix of a block."""
    return None, (block.T @ block,)


def sum_selected(block, kept, n_classes, state, chosen):
    """Return the sums of the chosen rows of a block under their labels."""
    codes = state.codes.astype(np.intp)
    if chosen is not None:
        block, codes = block[chosen], codes[chosen]
    return None, (sum_rows(block, codes, n_classes),)
