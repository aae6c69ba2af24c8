"""Many machines: Dask arrays and dataframes, whose workers hold rows and send sums.

    fit      every worker sums its chunks; sums are added up in a tree
    adapt    every worker keeps its chunks on the axes; ``each`` asks them there
    predict  the answer stays where the chunks are, as a Dask array

Whatever Dask runs on will do: threads of this process, a ``LocalCluster``, a cluster of
many machines. If a worker dies, Dask makes its chunks anew on another, and the answer
is the same.
"""

import os
from collections.abc import Callable
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import dask.array as da
import numpy as np
from dask import compute, delayed, persist

from unseen.core.rows import Elsewhere, Rows, carry, checked_chunk
from unseen.core.sums import RunningSums, row_blocks


class DaskUnlabelled(Elsewhere):
    """Rows in a Dask array or dataframe, of which ``y`` may name the labels."""

    def __init__(self, X: Any, y: Any = None):
        if isinstance(y, str):
            X, y = X.drop(columns=y), X[y]
        if not hasattr(X, "to_delayed") or X.ndim != 2:
            raise ValueError(
                f"X is a Dask {type(X).__name__} of {getattr(X, 'ndim', 'no')} "
                "dimensions. Give an array of two, or a dataframe."
            )
        array = hasattr(X, "chunks")
        X = X.rechunk({1: -1}) if array else X  # rows in one piece
        self.y, self.chunks = y, list(np.ravel(X.to_delayed()))
        self.head = np.zeros((1, X.shape[1]), X.dtype) if array else X._meta
        self.n_features = X.shape[1]
        # Lengths of chunks, where they are known.
        self.known = list(X.chunks[0] if array else np.nan * np.ones(len(self.chunks)))

    @cached_property
    def lengths(self) -> list[int]:
        """The number of rows of each chunk, counted where it is."""
        if np.isnan(self.known).any():
            return list(compute(*(delayed(len)(chunk) for chunk in self.chunks)))
        return self.known

    def __len__(self) -> int:
        """Count the rows, on the workers."""
        return sum(self.lengths)

    def each_chunk(self, work: Callable, *per_chunk: list) -> list[Any]:
        """Return delayed ``work(checked rows, own part of the others)``, by chunk."""
        shared = delayed(work, traverse=False)  # sent once
        return [
            delayed(on_chunk, nout=2)(shared, f"X, chunk {number}", *own)
            for number, own in enumerate(zip(self.chunks, *per_chunk, strict=True))
        ]

    def summed(self, y: Any, running: RunningSums) -> RunningSums:
        """Return empty sums with rows added where they are; only sums travel."""
        labels = self._labels(self.y if self.y is not None else y)
        work = partial(sum_chunk, running)
        numbers = list(range(len(labels)))
        return tree_sum(self.each_chunk(work, labels, numbers)).compute()

    def _labels(self, y: Any) -> list[Any]:
        """Return the labels of each chunk, delayed or here."""
        if y is None:
            raise ValueError(
                "A Dask X needs labels. Give y, as an array of Dask or NumPy."
            )
        if not hasattr(y, "to_delayed"):
            check_lengths("X", len(self), len(y))
            return np.split(np.asarray(y), np.cumsum(self.lengths)[:-1])
        if hasattr(y, "chunks") and not np.isnan([*self.known, *y.chunks[0]]).any():
            check_lengths("X", len(self), len(y))
            y = y.rechunk((tuple(self.known),))  # labels may move, rows do not
        found = list(np.ravel(y.to_delayed()))
        if len(found) != len(self.chunks):
            raise ValueError(
                f"X has {len(self.chunks)} chunks, but y has {len(found)}. Divide both "
                "into chunks at the same rows."
            )
        return found

    def answers(self, answer, n_classes):
        """See ``Unlabelled.answers``; they stay where the rows are."""
        dtype = checked_chunk(self.head, "X").dtype
        like = answer(np.zeros((1, self.n_features), dtype))
        found = [
            da.from_delayed(chunk, (n, *like.shape[1:]), like.dtype)
            for chunk, n in zip(self.each_chunk(answer), self.known, strict=True)
        ]
        return da.concatenate(found)

    def on(self, axes, unit_rows, mean=None):
        """See ``Unlabelled.on``; the workers keep the rows."""
        carried = self.each_chunk(partial(carry, axes=axes, unit_rows=unit_rows))
        rows, sums = zip(*carried, strict=True)
        held = persist(*rows, *sums)
        rows, sums = held[: len(rows)], compute(*held[len(rows) :])
        groups = by_worker(rows)
        lengths = compute(*(delayed(len)(chunk) for chunk in rows))
        mean = sum(sums) / max(sum(lengths), 1) if mean is None else mean
        together = [delayed(list)([rows[i] for i in those]) for those in groups]
        return DaskRows(persist(*together), groups, lengths, mean @ axes), mean


def on_chunk(work: Callable, where: str, X: Any, *own: Any) -> Any:
    """Work on the checked rows of a chunk; runs on a worker."""
    return work(checked_chunk(X, where), *own)


def sum_chunk(empty: RunningSums, rows: np.ndarray, y: Any, number: int) -> RunningSums:
    """Return the sums of a chunk; runs on a worker."""
    labels = np.array(np.asarray(y).tolist())
    check_lengths(f"X, chunk {number}", len(rows), len(labels))
    return empty.add(rows, labels)


def check_lengths(where: str, n_rows: int, n_labels: int) -> None:
    """Raise if there is not one label per row."""
    if n_rows != n_labels:
        raise ValueError(f"{where} has {n_rows} rows, but y has {n_labels} labels.")


def tree_sum(parts: list[Any]) -> Any:
    """Return the delayed sum of delayed parts, eight at a time."""
    while len(parts) > 1:
        parts = [delayed(add_up)(parts[i : i + 8]) for i in range(0, len(parts), 8)]
    return parts[0]


def add_up(parts: list[Any]) -> Any:
    """Return the sum of things that add."""
    return reduce(add, parts)


def by_worker(chunks: tuple) -> list[list[int]]:
    """Group chunks, by number: those of one worker, in a part for each of its threads.

    Waits until the chunks are there: before, nobody holds them.
    """
    from distributed import default_client, wait
    from distributed.client import futures_of

    futures = [one for chunk in chunks for one in futures_of(chunk)]
    homes: list[tuple] = [()] * len(chunks)
    threads: dict[tuple, int] = {(): os.cpu_count() or 1}
    if futures:  # else threads of this process: all is here
        client = default_client()
        wait(futures)
        holders = client.who_has(futures)
        homes = [tuple(holders[future.key])[:1] for future in futures]
        threads |= {(worker,): n for worker, n in client.nthreads().items()}
    groups = []
    for home in dict.fromkeys(homes):
        own = [i for i, one in enumerate(homes) if one == home]
        parts = np.array_split(own, min(len(own), threads.get(home, 1)))
        groups += [part.tolist() for part in parts]
    return groups


class DaskRows(Rows):
    """Rows on axes that workers hold; arrays with an entry per row are sent in parts.

    A task costs Dask a millisecond or three, so each takes several chunks of a worker.
    """

    keeps_labels = False

    def __init__(self, held: tuple, groups: list, lengths: tuple, centre: np.ndarray):
        self.held, self.groups, self.lengths = held, groups, lengths
        self.shape, self.centre = (sum(lengths), len(centre)), centre

    def each(self, work, *per_row):
        """See ``Rows.each``."""
        found: dict[int, list] = {}
        answers = compute(*self._asked(work_on_chunks, work, per_row))
        for those, own in zip(self.groups, answers, strict=True):
            found |= zip(those, own, strict=True)
        return [one for i in range(len(self.lengths)) for one in found[i]]

    def total(self, work, *per_row):
        """See ``Rows.total``; workers add up their own."""
        return tree_sum(self._asked(add_over_chunks, work, per_row)).compute()

    def _asked(self, task: Callable, work: Callable, per_row: tuple) -> list:
        """Return a delayed task for every group."""
        ends = np.cumsum(self.lengths)[:-1]
        parts = [np.split(one, ends) for one in per_row]
        shared = delayed((work, self.centre), traverse=False)  # sent once
        owns = [[[part[i] for part in parts] for i in those] for those in self.groups]
        return [
            delayed(task)(shared, held, delayed(own, traverse=False))
            for held, own in zip(self.held, owns, strict=True)
        ]


def work_on_chunks(shared: tuple, chunks: list, per_row: list) -> list[list]:
    """Return what work makes of the blocks of every chunk; runs on a worker."""
    work, centre = shared
    return [
        [
            work(rows[here] - centre, *(one[here] for one in own))
            for here in row_blocks(*rows.shape) or [slice(0, 0)]
        ]
        for rows, own in zip(chunks, per_row, strict=True)
    ]


def add_over_chunks(shared: tuple, chunks: list, per_row: list) -> Any:
    """Return the same, added up; runs on a worker."""
    return add_up(add_up(work_on_chunks(shared, chunks, per_row)))
