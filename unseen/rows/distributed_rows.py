"""A pile on many machines: Dask workers hold its rows on the axes, and send sums.

Every worker carries its chunks to the axes and keeps them, in blocks of several
(distributed_blocks.py). A pass sends one function out, with class means or the like,
and brings totals back, added up in a tree; labels stay with the rows and come here
once, at the end. The work on a block is asked of the worker that holds it, of another
only when that one is gone.

Which rows to trust is a question of ranks over the whole pile: the k-th largest
reliability of every class. Histograms of its digits, which add up too, find it
exactly, without bringing the rows together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unseen.core.dask_rows import at_home, checked_chunk, find_homes
from unseen.core.rows import float_type, whole_needed
from unseen.rows.distributed_blocks import Blocks, gather, tree_sum
from unseen.rows.holders import BLOCK_NUMBERS, Holder, add_up, meet_chunks
from unseen.rows.labelling import Labelling, RowState
from unseen.rows.pile import carry

DIGITS = ((53, 11), (42, 11), (31, 11), (20, 11), (9, 11), (0, 9))  # shift, bits


def hold_dask(parts: Any, axes: np.ndarray, unit_rows: bool):
    """Return the rows times ``axes``, not centred, kept on the workers; their mean."""
    from dask import compute, delayed, persist

    shared = delayed(axes, traverse=False)
    carried = persist(
        *(
            delayed(carry_part)(chunk, shared, unit_rows, number)
            for number, chunk in enumerate(parts.chunks)
        )
    )
    # Where a chunk is, its length and sum are asked for, lest it travel for them.
    homes, found = find_homes(list(carried)), []
    for home, one in zip(homes, carried, strict=True):
        with at_home(home):
            found.append(delayed(describe)(one))
    lengths, sums = zip(*compute(*found), strict=True)
    row_bytes = axes.shape[1] * float_type(parts.head, "X").itemsize
    blocks = gather(list(carried), homes, list(lengths), row_bytes)
    return DaskRows(blocks, axes.shape[1]), sum(sums) / sum(lengths)


def carry_part(X: Any, axes: np.ndarray, unit_rows: bool, number: int) -> tuple:
    """Carry a chunk to the axes; return (rows, sum of X). Runs on a worker."""
    return carry(checked_chunk(X, number), axes, unit_rows)


def describe(carried: tuple[np.ndarray, np.ndarray]) -> tuple[int, np.ndarray]:
    """Return the length of a chunk, and the sum that came with it; on a worker."""
    rows, total = carried
    return len(rows), total


# ---- passes --------------------------------------------------------------------------


class DaskRows(Holder):
    """Rows on axes that Dask workers hold; a state is a delayed one for every block.

    A worker goes through a block in strips that stay in its cache.
    """

    def __init__(self, blocks: Blocks, n_axes: int):
        self.blocks = blocks
        self.shape = sum(blocks.lengths), n_axes
        self.centre = np.zeros(n_axes)
        self.step = max(1, BLOCK_NUMBERS // max(1, n_axes))

    def run(self, work, *arguments, states=()):
        """See ``Holder.run``."""
        from dask import persist

        shared = self.centre, self.step, work, arguments
        both = self.blocks.ask(meet_chunks, shared, self.blocks.held, *states)
        state, totals = persist(
            [one[0] for one in both], tree_sum([one[1] for one in both], add_up)
        )
        return state, totals.compute()

    def sample(self, step):
        """See ``Holder.sample``; these few rows travel, once."""
        from dask import compute

        blocks = self.blocks
        firsts = np.cumsum(blocks.lengths) - blocks.lengths
        wanted = [
            range(-int(first) % step, n, step)
            for first, n in zip(firsts, blocks.lengths, strict=True)
        ]
        asked = blocks.ask(take_rows, None, blocks.held, blocks.by_block(wanted))
        return blocks.in_order(compute(*asked), list(map(len, wanted))) - self.centre

    def labelling(self, state, sizes):
        """See ``Holder.labelling``."""
        return DaskLabelling(self.blocks, state, sizes)


def take_rows(_, chunks: list[np.ndarray], wanted: list[range]) -> np.ndarray:
    """Return some rows of each chunk in float64; runs on a worker."""
    some = [
        rows[one.start : one.stop : one.step]
        for rows, one in zip(chunks, wanted, strict=True)
    ]
    return np.concatenate(some).astype(np.float64)


# ---- labels, and which rows to trust -------------------------------------------------


class DaskLabelling(Labelling):
    """Labels that stay with the rows on the workers until they are asked for."""

    def __init__(self, blocks: Blocks, state: list[Any], sizes: np.ndarray):
        super().__init__(state, sizes, small=False)
        self.blocks = blocks

    @property
    def codes(self) -> np.ndarray:
        """Class number of every row, as it is reported."""
        return self._gathered("reported")

    @property
    def strength(self) -> np.ndarray:
        """How sure each of these is."""
        return self._gathered("strength")

    def n_other(self, before: DaskLabelling) -> int:  # type: ignore[override]
        """Count the rows whose reported label is another than before."""
        return int(self._total(count_other, None, before.state))

    def holding(self, given):
        """Refuse given labels: who is surest of all is not known to any worker."""
        raise whole_needed("X is a Dask collection, and rows are ranked with given")

    def _gathered(self, name: str) -> np.ndarray:
        from dask import compute

        found = compute(*self.blocks.ask(field, name, self.state))
        return self.blocks.in_order(found, self.blocks.lengths)

    def _total(self, work: Callable, shared: Any, *others: Any) -> Any:
        parts = self.blocks.ask(work, shared, self.state, *others)
        return tree_sum(parts, sum).compute()

    def _most_reliable(self, quota: np.ndarray) -> Any:
        """Return, block by block, the mask of rows that the quota takes."""
        from dask import compute, persist

        border, left = self._kth_largest(quota)
        blocks, lengths = self.blocks, self.blocks.own_lengths
        asked = blocks.ask(count_border, border, self.state, lengths)
        counts = {
            i: count
            for those, found in zip(blocks.places, compute(*asked), strict=True)
            for i, count in zip(those, found, strict=True)
        }
        # Rows on the border are taken in their order, as far as the quota goes.
        taken = []
        for i in range(len(counts)):
            taken.append(np.minimum(counts[i], left))
            left = left - taken[-1]
        by_block = [np.array(those) for those in blocks.by_block(taken)]
        kept = blocks.ask(keep_best, (border, quota), self.state, lengths, by_block)
        return persist(kept)[0]

    def _kth_largest(self, quota: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, per class, the key of the ``quota``-th row and what is left for it.

        Digit by digit, from the first: a histogram of the next digit, over rows that
        agree so far, tells which digit the k-th largest has.
        """
        n = len(quota)
        border, left = np.zeros(n, dtype=np.uint64), quota.astype(np.int64)
        every = np.arange(n)
        for shift, bits in DIGITS:
            counts = self._total(count_digits, (border, shift, bits))
            from_top = counts[:, ::-1].cumsum(axis=1)
            place = (from_top < left[:, None]).sum(axis=1)
            place = np.minimum(place, counts.shape[1] - 1)  # quota 0: nothing is taken
            left = left - from_top[every, place] + counts[:, ::-1][every, place]
            digit = (counts.shape[1] - 1 - place).astype(np.uint64)
            border = border | digit << np.uint64(shift)
        return border, np.where(quota > 0, left, 0)


# What is done to the labels of a block; all of it runs on a worker.


def field(name: str, state: RowState) -> np.ndarray:
    """Return one of the numbers that rows of a block have."""
    return getattr(state, name)


def count_other(_, state: RowState, before: RowState) -> int:
    """Count rows of a block whose reported label changed."""
    return int(np.count_nonzero(state.reported != before.reported))


def sortable(reliability: np.ndarray) -> np.ndarray:
    """Return whole numbers in the order of the floats."""
    bits = (reliability.astype(np.float64) + 0.0).view(np.uint64)  # one zero, not two
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(1 << 63))


def count_digits(shared, state: RowState) -> np.ndarray:
    """Count, per class, the next digit of rows that agree with the border so far."""
    border, shift, bits = shared
    keys, codes = sortable(state.reliability), state.codes
    above = np.uint64(shift + bits)
    if shift + bits < 64:
        agree = keys >> above == border[codes] >> above
        keys, codes = keys[agree], codes[agree]
    digit = keys >> np.uint64(shift) & np.uint64(2**bits - 1)
    place = codes.astype(np.int64) * 2**bits + digit.astype(np.int64)
    return np.bincount(place, minlength=len(border) * 2**bits).reshape(-1, 2**bits)


def count_border(border, state: RowState, lengths: list[int]) -> np.ndarray:
    """Count, per chunk and class, the rows that lie on the border."""
    on = sortable(state.reliability) == border[state.codes]
    cells = cells_of(state.codes, lengths, len(border))[on]
    shape = len(lengths), len(border)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def keep_best(shared, state: RowState, lengths: list[int], n_border) -> np.ndarray:
    """Return the mask of rows above the border, and of the first ones on it.

    ``n_border`` says how many of those of each chunk and class.
    """
    border, quota = shared
    keys, codes = sortable(state.reliability), state.codes
    kept = (keys > border[codes]) & (quota[codes] > 0)
    cells, room = cells_of(codes, lengths, len(border)), n_border.ravel()
    on = np.flatnonzero((keys == border[codes]) & (room[cells] > 0))
    order = on[np.argsort(cells[on], kind="stable")]
    sizes = np.bincount(cells[order], minlength=len(room))
    place = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[cells[order]]
    kept[order[place < room[cells[order]]]] = True
    return kept


def cells_of(codes: np.ndarray, lengths: list[int], n_classes: int) -> np.ndarray:
    """Return a number for the chunk and the class of every row of a block."""
    return np.repeat(np.arange(len(lengths)), lengths) * n_classes + codes
