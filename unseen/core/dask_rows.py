"""Many machines: Dask arrays and dataframes, whose workers hold rows and send sums.

    fit      every worker sums its chunks; sums are added up in a tree
    adapt    every worker keeps its chunks on the axes; ``each`` asks them there
    predict  the answer stays where the chunks are, as a Dask array

Whatever Dask runs on will do: threads of this process, a ``LocalCluster``, a cluster of
many machines. If a worker dies, Dask makes its chunks anew on another, and the answer
is the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from unseen.core.rows import Elsewhere, Rows, carry, checked_chunk
from unseen.core.sums import RunningSums, row_blocks


def chunks_of(X: Any) -> list[Any]:
    """Return the delayed chunks of a Dask array or dataframe, rows in one piece."""
    if not hasattr(X, "to_delayed") or X.ndim != 2:
        raise ValueError(
            f"X is a Dask {type(X).__name__} of {getattr(X, 'ndim', 'no')} dimensions. "
            "Give an array of two, or a dataframe."
        )
    X = X.rechunk({1: -1}) if hasattr(X, "rechunk") else X
    return list(np.ravel(X.to_delayed()))


def head_of(X: Any) -> Any:
    """Return a row or none that names the features and has their type."""
    return X._meta if hasattr(X, "columns") else np.zeros((1, X.shape[1]), X.dtype)


def ask_chunks(chunks: list[Any], work: Callable, *more: list) -> list[Any]:
    """Return delayed ``work(checked rows, own part of more)`` of every chunk."""
    from dask import delayed

    shared = delayed(work, traverse=False)  # sent once
    return [
        delayed(on_chunk)(shared, f"X, chunk {number}", *own)
        for number, own in enumerate(zip(chunks, *more, strict=True))
    ]


def on_chunk(work: Callable, where: str, X: Any, *own: Any) -> Any:
    """Work on the checked rows of a chunk; runs on a worker."""
    return work(checked_chunk(X, where), *own)


# ---- fit -----------------------------------------------------------------------------


def sum_dask(X: Any, y: Any, running: RunningSums) -> RunningSums:
    """Return empty running sums with rows added where they are; only sums travel."""
    chunks = chunks_of(X)
    labels = label_parts(X, y, chunks)
    work, numbers = partial(sum_chunk, running), list(range(len(chunks)))
    return tree_sum(ask_chunks(chunks, work, labels, numbers)).compute()


def sum_chunk(empty: RunningSums, rows: np.ndarray, y: Any, number: int) -> RunningSums:
    """Return the sums of a chunk; runs on a worker."""
    labels = np.array(np.asarray(y).tolist())
    check_lengths(f"X, chunk {number}", len(rows), len(labels))
    return replace(empty).add(rows, labels)


def tree_sum(parts: Iterable[Any]) -> Any:
    """Return the delayed sum of delayed parts, eight at a time."""
    from dask import delayed

    parts = list(parts)
    while len(parts) > 1:
        parts = [delayed(add_up)(parts[i : i + 8]) for i in range(0, len(parts), 8)]
    return parts[0]


def add_up(parts: list[Any]) -> Any:
    """Return the sum of things that add."""
    return reduce(add, parts)


def label_parts(X: Any, y: Any, chunks: list[Any]) -> list[Any]:
    """Return the labels of each chunk of X, delayed or here."""
    if y is None:
        raise ValueError("A Dask X needs labels. Give y: Dask, an array, or a column.")
    if not hasattr(y, "to_delayed"):
        lengths = lengths_of(chunks)
        check_lengths("X", sum(lengths), len(y))
        return np.split(np.asarray(y), np.cumsum(lengths)[:-1])
    arrays = hasattr(X, "chunks") and hasattr(y, "chunks")
    if arrays and not np.isnan(X.shape[0] + y.shape[0]):
        check_lengths("X", X.shape[0], y.shape[0])
        y = y.rechunk((X.chunks[0],))  # labels may move, rows do not
    found = list(np.ravel(y.to_delayed()))
    if len(found) != len(chunks):
        raise ValueError(
            f"X has {len(chunks)} chunks, but y has {len(found)}. Divide both into "
            "chunks at the same rows."
        )
    return found


def check_lengths(where: str, n_rows: int, n_labels: int) -> None:
    """Raise if there is not one label per row."""
    if n_rows != n_labels:
        raise ValueError(f"{where} has {n_rows} rows, but y has {n_labels} labels.")


def lengths_of(chunks: list[Any]) -> list[int]:
    """Return the number of rows of each chunk, counted where it is."""
    from dask import compute, delayed

    return list(compute(*(delayed(len)(chunk) for chunk in chunks)))


# ---- predict -------------------------------------------------------------------------


def map_chunks(X: Any, answer: Callable, example: np.ndarray) -> Any:
    """Return ``answer(rows)`` of every chunk as a Dask array like an example."""
    import dask.array as da

    lengths = getattr(X, "chunks", [[np.nan] * X.npartitions])[0]
    found = [
        da.from_delayed(chunk, (n, *example.shape[1:]), example.dtype)
        for chunk, n in zip(ask_chunks(chunks_of(X), answer), lengths, strict=True)
    ]
    return da.concatenate(found)


# ---- adapt ---------------------------------------------------------------------------


class DaskUnlabelled(Elsewhere):
    """Unlabelled rows in a Dask collection."""

    def __init__(self, X: Any):
        self.chunks, self.head = chunks_of(X), head_of(X)
        self.n_features, self._length = self.head.shape[1], -1

    def __len__(self) -> int:
        """Count the rows, on the workers."""
        if self._length < 0:
            self._length = sum(lengths_of(self.chunks))
        return self._length

    def on(self, axes, unit_rows, mean=None):
        """See ``Unlabelled.on``; the workers keep the rows."""
        from dask import compute, delayed, persist

        work = partial(carry, axes=axes, unit_rows=unit_rows)
        carried = persist(*ask_chunks(self.chunks, work))
        groups = by_worker(carried)
        found = compute(*(delayed(describe_chunk)(chunk) for chunk in carried))
        lengths, sums = zip(*found, strict=True)
        mean = sum(sums) / max(sum(lengths), 1) if mean is None else mean
        held = [delayed(list)([carried[i] for i in those]) for those in groups]
        return DaskRows(persist(*held), groups, lengths, mean @ axes), mean


def describe_chunk(carried: tuple) -> tuple[int, np.ndarray]:
    """Return the length of a chunk, and the sum that came with it; on a worker."""
    return len(carried[0]), carried[1]


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
        from dask import compute

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
        from dask import delayed

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
        for (rows, _), own in zip(chunks, per_row, strict=True)
    ]


def add_over_chunks(shared: tuple, chunks: list, per_row: list) -> Any:
    """Return the same, added up; runs on a worker."""
    return add_up(add_up(work_on_chunks(shared, chunks, per_row)))
