"""Nearest neighbours among rows: exact for as many as can be, else by faiss.

    exact        all pairs, in strips of rows that threads share: the time of one
                 ``X @ X.T`` in float32; distances of those found are made in float64
    approximate  a navigable small-world graph (HNSW) on the leading axes of the rows
                 gives a short list, its nearest on all axes are kept; by faiss, an
                 extra: ``pip install unseen[neighbors]``. Lists grow until 98 of 100
                 neighbours of some rows are the true ones, and a warning tells if they
                 are not; the few rows that are lost on their way, and do not even find
                 themselves, are searched exactly. Not the very same in every run where
                 threads build the graph
    auto         exact while that is minutes of work, approximate beyond

Whoever asks is told which of the two it was.
"""

from __future__ import annotations

import numpy as np

from unseen._threads import each, one_thread, strips
from unseen.rows.nearest_exact import by_all_pairs
from unseen.rows.nearest_graph import by_graph, faiss

__all__ = ["NEIGHBOUR_SEARCHES", "chosen_search", "nearest"]

NEIGHBOUR_SEARCHES = ("auto", "exact", "approximate")
MOST_WORK = 2e13  # multiplications of "auto" that are made exactly: minutes
PER_SECOND = 4e10  # of them on one core, about
SLACK = 8  # more than k are looked at in float64: what rounding may have swapped


def chosen_search(search: str, n_rows: int, n_others: int, n_features: int) -> str:
    """Return ``"exact"`` or ``"approximate"`` for what was asked, or say what it takes.

    >>> from unseen.rows.neighbours import chosen_search
    >>> chosen_search("auto", 50_000, 50_000, 512)
    'exact'
    """
    work = float(n_rows) * n_others * n_features
    if search == "exact" or (search == "auto" and work <= MOST_WORK):
        return "exact"
    if faiss() is not None:
        return "approximate"
    if search == "approximate":
        raise ImportError(
            "neighbors='approximate' needs faiss. Install it with "
            "pip install 'unseen[neighbors]', or take neighbors='exact'."
        )
    minutes = work / PER_SECOND / 60
    raise ValueError(
        f"The neighbours of {n_rows:,} rows among {n_others:,} with {n_features:,} "
        f"numbers each take about {minutes:,.0f} minutes of one core. Install faiss "
        "with pip install 'unseen[neighbors]' for an approximate search, or take "
        "neighbors='exact' to wait."
    )


@one_thread()  # of BLAS; strips and faiss have all of them
def nearest(
    rows: np.ndarray, k: int, others: np.ndarray | None = None, search: str = "exact"
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and numbers of each row's k nearest others, nearest first.

    Fewer than k if there are not that many others. By default the others are the rows
    themselves, each without itself.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    k : int
    others : ndarray of shape (n_others, n_features), optional
    search : {'exact', 'approximate'}, default='exact'

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.neighbours import nearest
    >>> nearest(np.array([[0.0], [1.0], [3.0]]), 1)[1]
    array([[1], [0], [1]])
    """
    alone = others is None
    among = rows if others is None else others
    k = min(k, len(among) - alone)
    if k < 1:
        return np.zeros((len(rows), 0)), np.zeros((len(rows), 0), dtype=np.intp)
    centre = among.mean(axis=0, dtype=np.float64)
    scale = largest(among, centre)
    if not np.isfinite(scale):
        raise ValueError("Rows hold NaN or infinity: they have no neighbours.")
    A = shrunk(among, centre, scale)
    B = A if alone else shrunk(rows, centre, scale)
    wanted = min(k + SLACK, len(among) - alone)
    own = np.arange(len(rows)) if alone else None
    if search == "exact":
        numbers = by_all_pairs(B, A, wanted, own)
    else:
        numbers = by_graph(B, A, wanted, own, checked=k)
    return by_distance(rows, among, numbers, k, scale)


def largest(rows: np.ndarray, centre: np.ndarray) -> float:
    """Return the largest number of centred rows, 1 if all are zero."""
    there = strips(*rows.shape)
    return max(each(lambda s: float(np.abs(rows[s] - centre).max()), there)) or 1.0


def shrunk(rows: np.ndarray, centre: np.ndarray, scale: float) -> np.ndarray:
    """Return centred rows of ordinary size in float32: squares keep their digits."""
    made = np.empty(rows.shape, dtype=np.float32)

    def shrink(here: slice) -> None:
        made[here] = (rows[here] - centre) / scale

    each(shrink, strips(*rows.shape))
    return made


def by_distance(rows, among, numbers, k, scale) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest of some candidates by distances in float64, nearest first.

    Of equally near ones the first.
    """
    distances = np.empty((len(rows), k))
    chosen = np.empty((len(rows), k), dtype=np.intp)

    def sort(here: slice) -> None:
        found = np.sort(numbers[here], axis=1)
        # One large array at a time: fresh memory takes longer than the numbers in it.
        apart = np.subtract(among[found], rows[here, None], dtype=np.float64)
        apart /= scale
        # A search may find too few: those have number -1.
        squares = np.where(found < 0, np.inf, np.einsum("ijk,ijk->ij", apart, apart))
        order = np.argsort(squares, axis=1, kind="stable")[:, :k]
        near = np.sqrt(np.take_along_axis(squares, order, axis=1))
        distances[here] = near * scale
        chosen[here] = np.take_along_axis(found, order, axis=1)

    width = numbers.shape[1] * rows.shape[1]
    each(sort, strips(len(rows), width, 2**18))
    return distances, chosen
