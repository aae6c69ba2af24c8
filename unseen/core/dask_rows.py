"""Many machines: Dask arrays and dataframes, whose workers hold rows and send sums.

    fit      every worker sums its chunks; sums are added up in a tree
    adapt    every worker keeps its chunks on the axes; ``each`` asks them there
    predict  the answer stays where the chunks are, as a Dask array

Rows stay where they are: work on a chunk is asked of the worker that holds it, of
another only when that one is gone. Whatever Dask runs on will do: threads of this
process, a ``LocalCluster``, a cluster of many machines. If a worker dies, Dask makes
its chunks anew on another, and the answer is the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from unseen.core.linalg import DOUBLE, inverse_lengths
from unseen.core.rows import Rows, Unlabelled, check_finite, float_type, whole_needed
from unseen.core.sums import RunningSums, row_blocks

TREE_WIDTH = 8  # results that are added up at a time
GROUP_BYTES = 2**28  # of the chunks that one task takes


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


def checked_chunk(X: Any, number: int) -> np.ndarray:
    """Return a chunk as finite numbers in float32 or float64; runs on a worker."""
    where = f"X, chunk {number}"
    rows = np.ascontiguousarray(X, dtype=float_type(X, where))
    check_finite(rows, where)
    return rows


# ---- fit -----------------------------------------------------------------------------


def sum_dask(X: Any, y: Any, running: RunningSums) -> RunningSums:
    """Return running sums with labelled rows added where they are; only sums travel.

    Parameters
    ----------
    X : Dask array or dataframe
    y : Dask array or series, array-like, or str
        Labels; of a dataframe also the name of their column.
    running : RunningSums
        Empty ones.
    """
    from dask import delayed

    chunks, shared = chunks_of(X), delayed(running, traverse=False)
    known = [one.chunks[0] for one in (X, y) if hasattr(one, "chunks")]
    if len(known) == 2 and not np.isnan(np.concatenate(known)).any():
        check_lengths(sum(known[0]), sum(known[1]))
        y = y.rechunk((known[0],))  # labels may move, rows do not
    pairs = enumerate(zip(chunks, label_parts(y, chunks), strict=True))
    return tree_sum(
        delayed(sum_chunk)(shared, *pair, number) for number, pair in pairs
    ).compute()


def sum_chunk(empty: RunningSums, X: Any, y: Any, number: int) -> RunningSums:
    """Return the sums of a chunk; runs on a worker."""
    rows, labels = checked_chunk(X, number), np.array(np.asarray(y).tolist())
    if len(rows) != len(labels):
        raise ValueError(
            f"X, chunk {number}: {len(rows)} rows, but {len(labels)} labels. Cut X and "
            "y at the same rows."
        )
    return replace(empty).add(rows, labels)


def tree_sum(parts: Iterable[Any]) -> Any:
    """Return the delayed sum of delayed parts, a few at a time."""
    from dask import delayed

    parts = list(parts)
    while len(parts) > 1:
        groups = [parts[i : i + TREE_WIDTH] for i in range(0, len(parts), TREE_WIDTH)]
        parts = [delayed(add_up)(g) if len(g) > 1 else g[0] for g in groups]
    return parts[0]


def add_up(parts: list[Any]) -> Any:
    """Return the sum of things that add."""
    return reduce(add, parts)


def label_parts(y: Any, chunks: list[Any]) -> list[Any]:
    """Return the labels of each chunk, delayed or here."""
    if y is None:
        raise ValueError("A Dask X needs labels. Give y: Dask, an array, or a column.")
    if not hasattr(y, "to_delayed"):
        lengths = lengths_of(chunks)
        check_lengths(sum(lengths), len(y))
        return np.split(np.asarray(y), np.cumsum(lengths)[:-1])
    found = list(np.ravel(y.to_delayed()))
    if len(found) != len(chunks):
        raise ValueError(
            f"X has {len(chunks)} chunks, but y has {len(found)}. Cut both at the same "
            "rows."
        )
    return found


def check_lengths(n_rows: int, n_labels: int) -> None:
    """Raise if there is not one label per row."""
    if n_rows != n_labels:
        raise ValueError(f"X has {n_rows} rows, but y has {n_labels} labels.")


def lengths_of(chunks: list[Any]) -> list[int]:
    """Return the number of rows of each chunk, counted where it is."""
    from dask import compute, delayed

    return list(compute(*(delayed(len)(chunk) for chunk in chunks)))


# ---- predict -------------------------------------------------------------------------


def map_chunks(X: Any, answer: Callable, example: np.ndarray) -> Any:
    """Return ``answer(rows)`` of every chunk as a Dask array.

    ``example`` is the answer for one row: its shape and type.
    """
    import dask.array as da
    from dask import delayed

    lengths = getattr(X, "chunks", [[np.nan] * X.npartitions])[0]
    shared = delayed(answer, traverse=False)
    found = [
        da.from_delayed(
            delayed(answer_chunk)(shared, chunk, number),
            shape=(n, *example.shape[1:]),
            dtype=example.dtype,
        )
        for number, (chunk, n) in enumerate(zip(chunks_of(X), lengths, strict=True))
    ]
    return da.concatenate(found)


def answer_chunk(answer: Callable, X: Any, number: int) -> np.ndarray:
    """Answer for one chunk; runs on a worker."""
    return answer(checked_chunk(X, number))


# ---- adapt ---------------------------------------------------------------------------


class DaskUnlabelled(Unlabelled):
    """Unlabelled rows in a Dask collection."""

    def __init__(self, X: Any):
        self.chunks, self.head = chunks_of(X), head_of(X)
        self._length: int | None = None

    @property
    def X(self) -> np.ndarray:  # type: ignore[override] # noqa: N802
        """Refuse: whoever asks needs all rows at once."""
        raise whole_needed("X is a Dask collection")

    def __len__(self) -> int:
        """Count the rows, on the workers."""
        if self._length is None:
            self._length = sum(lengths_of(self.chunks))
        return self._length

    def mean(self, unit_rows: bool) -> np.ndarray:
        """Return the mean row in float64."""
        return self.on(np.zeros((self.head.shape[1], 0)), unit_rows)[1]

    def on(self, axes, unit_rows, mean=None):
        """See ``Unlabelled.on``; the workers keep the rows."""
        from dask import compute, delayed, persist

        shared = delayed((axes, unit_rows), traverse=False)
        carried = persist(
            *(
                delayed(carry_chunk)(shared, chunk, number)
                for number, chunk in enumerate(self.chunks)
            )
        )
        # Where a chunk is, its length and sum are asked for, lest it travel for them.
        homes, found = find_homes(list(carried)), []
        for home, one in zip(homes, carried, strict=True):
            with at_home(home):
                found.append(delayed(describe_chunk)(one))
        lengths, sums = zip(*compute(*found), strict=True)
        mean = sum(sums) / max(sum(lengths), 1) if mean is None else mean
        width = axes.shape[1]
        row_bytes = width * float_type(self.head, "X").itemsize
        groups = group_chunks(homes, [n * row_bytes for n in lengths])
        rows = DaskRows(list(carried), homes, groups, list(lengths), width)
        rows.centre = mean @ axes
        return rows, mean


def carry_chunk(shared: tuple, X: Any, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Carry a chunk to the axes; return (rows, sum of X). Runs on a worker."""
    axes, unit_rows = shared
    X = checked_chunk(X, number)
    scales = inverse_lengths(X) if unit_rows else np.ones(len(X), X.dtype)
    total = (scales @ X).astype(DOUBLE)
    return (X @ axes.astype(X.dtype)) * scales[:, None], total


def describe_chunk(carried: tuple) -> tuple[int, np.ndarray]:
    """Return the length of a chunk, and the sum that came with it; on a worker."""
    rows, total = carried
    return len(rows), total


class DaskRows(Rows):
    """Rows on axes that workers hold; arrays with an entry per row are sent in parts.

    A task costs Dask about a millisecond on the scheduler, on the worker and here,
    whatever is in it. So it takes several chunks of one worker, as ``group_chunks``
    says; they are not copied, and do not travel.
    """

    keeps_labels = False

    def __init__(
        self, chunks: list, homes: list, groups: list, lengths: list[int], width: int
    ):
        from dask import delayed, persist

        self.groups, self.lengths = groups, lengths
        self.shape, self.centre = (sum(lengths), width), np.zeros(width)
        self.homes, held = [homes[those[0]] for those in groups], []
        for home, those in zip(self.homes, groups, strict=True):
            with at_home(home):
                held.append(delayed(rows_of)([chunks[i] for i in those]))
        self.held = list(persist(*held))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Refuse: only memory has all rows at once."""
        raise whole_needed("X is a Dask collection")

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
        """Return a delayed task for every group, asked where its chunks are."""
        from dask import delayed

        ends = np.cumsum(self.lengths)[:-1]
        parts = [np.split(one, ends) for one in per_row]
        shared = delayed((work, self.centre), traverse=False)  # sent once
        asked = []
        for home, those, held in zip(self.homes, self.groups, self.held, strict=True):
            own = [[part[i] for part in parts] for i in those]
            with at_home(home):
                asked.append(delayed(task)(shared, held, delayed(own, traverse=False)))
        return asked


def rows_of(carried: list[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """Return the rows of chunks that came with their sums; runs on a worker."""
    return [rows for rows, _ in carried]


def work_on_chunks(shared: tuple, chunks: list, per_row: list) -> list[list]:
    """Return what work makes of the blocks of every chunk; runs on a worker."""
    work, centre = shared
    return [
        [
            work(chunk[here] - centre, *(one[here] for one in own))
            for here in row_blocks(*chunk.shape) or [slice(0, 0)]
        ]
        for chunk, own in zip(chunks, per_row, strict=True)
    ]


def add_over_chunks(shared: tuple, chunks: list, per_row: list) -> Any:
    """Return the same, added up; runs on a worker."""
    return add_up(
        [one for own in work_on_chunks(shared, chunks, per_row) for one in own]
    )


# ---- workers -------------------------------------------------------------------------


def group_chunks(homes: list[tuple], sizes: list[int]) -> list[list[int]]:
    """Group chunks, by number, of one worker each: small enough, one per thread."""
    n_threads = threads_of_workers()
    groups: list[list[int]] = []
    for home in dict.fromkeys(homes):
        own = [i for i, one in enumerate(homes) if one == home]
        at_once = n_threads.get(home[0] if home else "", 1)
        most = min(GROUP_BYTES, -(-sum(sizes[i] for i in own) // at_once))
        room = -1
        for i in own:
            if sizes[i] > room:
                groups.append([])
                room = most
            groups[-1].append(i)
            room -= sizes[i]
    return groups


def find_homes(chunks: list[Any]) -> list[tuple[str, ...]]:
    """Return the workers that hold each chunk; nobody where there is no cluster.

    Waits until the chunks are there: before, nobody holds them.
    """
    from distributed import default_client, wait
    from distributed.client import futures_of

    futures = [futures_of(chunk) for chunk in chunks]
    if not all(futures):  # threads of this process: all is here
        return [()] * len(chunks)
    firsts = [found[0] for found in futures]
    wait(firsts)
    holders = default_client().who_has(firsts)
    return [tuple(holders[future.key])[:1] for future in firsts]


def threads_of_workers() -> dict[str, int]:
    """Return how many threads each worker has; under "" those of this process."""
    from distributed import get_client

    here = {"": os.cpu_count() or 1}
    try:
        return here | get_client().nthreads()
    except ValueError:  # there is no cluster
        return here


def at_home(workers: tuple[str, ...]) -> AbstractContextManager:
    """Ask tasks made inside of these workers, of others only if they are gone."""
    from dask import annotate

    if not workers:
        return nullcontext()
    return annotate(workers=list(workers), allow_other_workers=True)
