"""Chunks of a Dask pile in blocks of work: several that one worker holds, as one task.

A task costs Dask about a millisecond on the scheduler, on the worker and here, whatever
is in it. Chunks that are small are therefore taken together, as many of one worker as
make a quarter of a gigabyte. They are not copied, and do not travel: a block is the
list of arrays that are there already. Its chunks need not be neighbours in the pile, so
what comes back from blocks is put in the order of the chunks here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unseen.core.dask_rows import at_home, threads_of_workers

BLOCK_BYTES = 2**28  # of the chunks that one task takes


class Blocks:
    """Chunks that workers hold, a few of one worker in each block.

    Parameters
    ----------
    held : list of delayed
        For every block the list of its chunks.
    homes : list of tuple of str
        Addresses of the workers that hold each block; empty where all is here.
    places : list of list of int
        Numbers of the chunks in each block, rising.
    lengths : list of int
        Rows of every chunk, in the order of the pile.
    """

    def __init__(self, held: list, homes: list, places: list, lengths: list[int]):
        self.held, self.homes, self.places, self.lengths = held, homes, places, lengths

    @property
    def own_lengths(self) -> list[list[int]]:
        """Rows of the chunks of every block."""
        return [[self.lengths[i] for i in those] for those in self.places]

    def ask(self, work: Callable, shared: Any, *lists: Any) -> list[Any]:
        """Return delayed ``work(shared, *entries)``, asked where each block is.

        ``lists`` have an entry per block; None stands for a list of them.
        """
        from dask import delayed

        shared = delayed(shared, traverse=False)
        lists = tuple([None] * len(self.held) if one is None else one for one in lists)
        asked = []
        for home, *those in zip(self.homes, *lists, strict=True):
            with at_home(home):
                asked.append(delayed(work)(shared, *those))
        return asked

    def by_block(self, per_chunk: Sequence[Any]) -> list[list[Any]]:
        """Return what belongs to chunks, for every block."""
        return [[per_chunk[i] for i in those] for those in self.places]

    def in_order(self, found: Sequence[Any], lengths: Sequence[int]) -> np.ndarray:
        """Return rows that came by block, so many of each chunk, as in the pile.

        Examples
        --------
        >>> from unseen.rows.distributed_blocks import Blocks
        >>> blocks = Blocks([None] * 2, [()] * 2, [[0, 2], [1]], [1, 2, 1])
        >>> blocks.in_order([[10, 40], [20, 30]], blocks.lengths)
        array([10, 20, 30, 40])
        """
        pieces: dict[int, np.ndarray] = {}
        for those, part in zip(self.places, found, strict=True):
            ends = np.cumsum([lengths[i] for i in those])[:-1]
            pieces |= zip(those, np.split(np.asarray(part), ends), strict=True)
        return np.concatenate([pieces[i] for i in range(len(lengths))])


def gather(
    carried: list[Any], homes: list[tuple], lengths: list[int], row_bytes: int
) -> Blocks:
    """Take chunks that workers hold together to blocks of one worker each.

    Parameters
    ----------
    carried : list of delayed
        Pairs (rows, their sum), persisted, and there already.
    homes : list of tuple of str
        Who holds them, by :func:`find_homes`.
    lengths : list of int
    row_bytes : int
        Size of a row.
    """
    from dask import delayed, persist

    n_threads = threads_of_workers()
    places: list[list[int]] = []
    for home in dict.fromkeys(homes):
        own = [i for i, one in enumerate(homes) if one == home]
        sizes = [lengths[i] * row_bytes for i in own]
        at_once = n_threads.get(home[0] if home else "", 1)
        places += [[own[i] for i in those] for those in cut(sizes, at_once)]
    held, block_homes = [], [homes[those[0]] for those in places]
    for home, those in zip(block_homes, places, strict=True):
        with at_home(home):
            held.append(delayed(rows_of)([carried[i] for i in those]))
    return Blocks(list(persist(*held)), block_homes, places, lengths)


def rows_of(carried: list[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """Return the rows of chunks that came with their sums; runs on a worker."""
    return [rows for rows, _ in carried]


def cut(sizes: list[int], n_threads: int) -> list[list[int]]:
    """Cut a worker's chunks into blocks: small enough, and one per thread at least.

    >>> from unseen.rows.distributed_blocks import cut
    >>> cut([2**27] * 5, 1)
    [[0, 1], [2, 3], [4]]
    >>> cut([8] * 4, 2)
    [[0, 1], [2, 3]]
    """
    most = min(BLOCK_BYTES, -(-sum(sizes) // n_threads))
    blocks: list[list[int]] = []
    room = -1
    for i, size in enumerate(sizes):
        if size > room:
            blocks.append([])
            room = most
        blocks[-1].append(i)
        room -= size
    return blocks


def tree_sum(parts: Any, add: Callable[[list], Any]) -> Any:
    """Return the delayed sum of delayed parts, a few at a time."""
    from dask import delayed

    parts = list(parts)
    while len(parts) > 1:
        groups = [parts[i : i + 8] for i in range(0, len(parts), 8)]
        parts = [
            delayed(add)(group) if len(group) > 1 else group[0] for group in groups
        ]
    return parts[0]
