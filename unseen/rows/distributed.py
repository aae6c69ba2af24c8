"""Many machines: Dask arrays and dataframes, whose workers send sums.

    fit      every worker sums its chunks; sums are added up in a tree
    adapt    every worker keeps its chunks on the axes (distributed_rows.py)
    predict  the answer stays where the chunks are, as a Dask array

Rows stay where they are: the work on a block is asked of the worker that holds it, of
another only when that one is gone. Whatever Dask runs on will do: threads of this
process, a ``LocalCluster``, a cluster of many machines. If a worker dies, Dask makes
its chunks anew on another, and the answer is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from unseen.core.classes import ClassTable, encode, read_table
from unseen.core.rows import check_finite, float_type
from unseen.core.sums import Sums, sum_rows

__all__ = ["score_dask", "sum_dask"]

TREE_WIDTH = 8  # results that are added up at a time
PER_PILE = ("labels_", "reliability_", "rounds_", "_running")  # of no use to a worker


class Parts(NamedTuple):
    """A Dask collection taken apart: one delayed chunk of rows each."""

    chunks: list[Any]
    lengths: list[int] | None
    head: Any


def take_apart(X: Any) -> Parts:
    """Return the chunks of a Dask array or dataframe.

    Examples
    --------
    >>> import dask.array as da
    >>> from unseen.rows.distributed import take_apart
    >>> parts = take_apart(da.ones((10, 4), chunks=(3, 2)))
    >>> parts.lengths, parts.head.shape
    ([3, 3, 3, 1], (1, 4))
    """
    if hasattr(X, "columns"):
        return Parts(list(X.to_delayed()), None, X._meta)
    if getattr(X, "ndim", 0) != 2 or not hasattr(X, "to_delayed"):
        raise ValueError(
            f"X is a Dask {type(X).__name__} of {getattr(X, 'ndim', 'no')} dimensions. "
            "Give an array of two, or a dataframe."
        )
    if X.numblocks[1] > 1:  # a row must be whole where it is summed
        X = X.rechunk({1: -1})
    known = not np.isnan(X.chunks[0]).any()
    head = np.zeros((1, X.shape[1]), dtype=X.dtype)
    chunks = list(X.to_delayed().ravel())
    return Parts(chunks, list(X.chunks[0]) if known else None, head)


def checked_part(X: Any, number: int) -> np.ndarray:
    """Return a chunk as finite numbers in float32 or float64; runs on a worker."""
    where = f"X, chunk {number}"
    rows = np.ascontiguousarray(X, dtype=float_type(X, where))
    check_finite(rows, where)
    return rows


def tree_sum(parts: Iterable[Any], add: Callable[[list], Any]) -> Any:
    """Return the delayed sum of delayed parts, a few at a time."""
    from dask import delayed

    parts = list(parts)
    while len(parts) > 1:
        groups = [parts[i : i + TREE_WIDTH] for i in range(0, len(parts), TREE_WIDTH)]
        parts = [
            delayed(add)(group) if len(group) > 1 else group[0] for group in groups
        ]
    return parts[0]


def plain_sum(parts: list[Any]) -> Any:
    """Return the sum of things that add."""
    first, *others = parts
    return sum(others, start=first)


# ---- fit -----------------------------------------------------------------------------


def sum_dask(
    X: Any, y: Any, class_embeddings: Any = None, *, unit_rows: bool = False
) -> tuple[Sums, ClassTable, Any]:
    """Sum labelled rows where they are; only the sums travel.

    Parameters
    ----------
    X : Dask array or dataframe
    y : Dask array or series, array-like, or str
        Labels; of a dataframe also the name of their column.
    class_embeddings : optional
        As for ``fit``.
    unit_rows : bool, default=False
        Scale each row to unit length first.

    Returns
    -------
    sums : Sums
    table : ClassTable
    head : array or DataFrame
        What names the features.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from unseen.rows.distributed import sum_dask
    >>> X = da.from_array(np.eye(4), chunks=(2, 4))
    >>> sums, table, _ = sum_dask(X, np.array([0, 0, 1, 1]))
    >>> sums.counts
    array([2., 2.])
    """
    from dask import compute, delayed

    if isinstance(y, str):
        X, y = X.drop(columns=y), X[y]
    parts = take_apart(X)
    labels = label_parts(y, parts)
    if class_embeddings is None:
        met = compute(*(delayed(unique_labels)(part) for part in labels))
        names = np.unique(np.concatenate(met))
    else:
        given, embeddings, _ = read_table(class_embeddings)
        names = np.arange(len(embeddings)) if given is None else given
    shared = delayed(names, traverse=False)
    summed = [
        delayed(sum_part)(chunk, part, shared, unit_rows, number)
        for number, (chunk, part) in enumerate(zip(parts.chunks, labels, strict=True))
    ]
    sums = tree_sum(summed, plain_sum).compute()
    # Twice each: names that occur once look like numbers to be predicted.
    table, _ = encode(np.repeat(names[sums.counts > 0], 2), class_embeddings)
    return sums, table, parts.head


def label_parts(y: Any, parts: Parts) -> list[Any]:
    """Return the labels of each chunk, delayed or here."""
    if y is None:
        raise ValueError("A Dask X needs labels. Give y: Dask, an array, or a column.")
    if hasattr(y, "to_delayed"):
        known = getattr(y, "chunks", None)
        if known and parts.lengths and not np.isnan(known[0]).any():
            check_lengths(sum(parts.lengths), sum(known[0]))
            y = y.rechunk((tuple(parts.lengths),))  # labels may move, rows do not
        found = list(np.ravel(y.to_delayed()))
        if len(found) != len(parts.chunks):
            raise ValueError(
                f"X has {len(parts.chunks)} chunks, but y has {len(found)}. Cut both "
                "at the same rows."
            )
        return found
    y = np.asarray(y)
    lengths = parts.lengths or part_lengths(parts.chunks)
    check_lengths(sum(lengths), len(y))
    return np.split(y, np.cumsum(lengths)[:-1])


def check_lengths(n_rows: int, n_labels: int) -> None:
    """Raise if there is not one label per row."""
    if n_rows != n_labels:
        raise ValueError(f"X has {n_rows} rows, but y has {n_labels} labels.")


def part_lengths(chunks: list[Any]) -> list[int]:
    """Count the rows of each chunk, on the workers."""
    from dask import compute, delayed

    return list(compute(*(delayed(len)(chunk) for chunk in chunks)))


def unique_labels(y: Any) -> np.ndarray:
    """Return the classes of a chunk; runs on a worker."""
    return np.unique(plain_labels(y))


def plain_labels(y: Any) -> np.ndarray:
    """Return labels as NumPy has them: text as text, not as objects."""
    return np.array(np.asarray(y).tolist())


def sum_part(X: Any, y: Any, names: np.ndarray, unit_rows: bool, number: int) -> Sums:
    """Return the sums of a chunk; runs on a worker."""
    rows, labels = checked_part(X, number), plain_labels(y)
    if len(rows) != len(labels):
        raise ValueError(
            f"X, chunk {number}: {len(rows)} rows, but {len(labels)} labels. Cut X and "
            "y at the same rows."
        )
    codes = pd.Index(names).get_indexer(pd.Index(labels))
    if (codes < 0).any():
        stranger = labels[codes < 0][0].item()
        raise ValueError(
            f"X, chunk {number}: the labels hold {stranger!r}, but class_embeddings "
            f"has {len(names)} classes without it. Give one row per class."
        )
    return sum_rows(rows, codes, len(names), unit_rows=unit_rows)


# ---- predict -------------------------------------------------------------------------


def score_dask(model: Any, X: Any, classes: Any, finish: Callable) -> Any:
    """Return ``finish(competition, scores)`` of all rows as a Dask array.

    Parameters
    ----------
    model : fitted zero-shot model
        Sent to the workers without what it holds of a pile.
    X : Dask array or dataframe
    classes : as for ``predict``
    finish : callable

    Examples
    --------
    >>> import dask.array as da
    >>> from unseen import ESZSL, load_data
    >>> data = load_data("digits")
    >>> model = ESZSL().fit(data.X_seen, data.y_seen,
    ...                     class_embeddings=data.class_embeddings)
    >>> labels = model.predict(da.from_array(data.X_unseen, chunks=(200, 64)))
    >>> bool((labels.compute() == model.predict(data.X_unseen)).all())
    True
    """
    import dask.array as da
    from dask import delayed

    parts = take_apart(X)
    validate_data(model, parts.head, skip_check_array=True, reset=False)
    lengths: list[Any] = parts.lengths or [np.nan] * len(parts.chunks)
    competition = model._competition(classes)
    dtype = float_type(parts.head, "X")
    sample = finish(competition, np.zeros((1, len(competition)), dtype=dtype))
    slim = copy(model)
    for name in PER_PILE:
        slim.__dict__.pop(name, None)
    shared = delayed((slim, competition), traverse=False)
    scored = [
        da.from_delayed(
            delayed(score_part)(chunk, shared, finish),
            shape=(n, *sample.shape[1:]),
            dtype=sample.dtype,
        )
        for chunk, n in zip(parts.chunks, lengths, strict=True)
    ]
    return da.concatenate(scored)


def score_part(X: Any, shared: tuple, finish: Callable) -> np.ndarray:
    """Score one chunk; runs on a worker."""
    model, competition = shared
    return model._finished(X, competition, finish)
