"""Nearest neighbours among rows: exact for as many as can be, else by faiss.

    exact        all pairs, in strips of rows that threads share: the time of one
                 ``X @ X.T`` in float32; distances of those found are made in float64
    approximate  a navigable small-world graph (HNSW) on the leading axes of the rows
                 gives a short list, its nearest on all axes are kept; by faiss, an
                 extra: ``pip install unseen[neighbors]``; about 99 of 100 are the true
                 ones, not the very same in every run where threads build the graph
    auto         exact while that is minutes of work, approximate beyond

Whoever asks is told which of the two it was.
"""

from __future__ import annotations

import numpy as np

from unseen._threads import each, n_threads, one_thread, product, strips

__all__ = ["NEIGHBOUR_SEARCHES", "chosen_search", "graph_bytes", "nearest"]

NEIGHBOUR_SEARCHES = ("auto", "exact", "approximate")
MOST_WORK = 2e13  # multiplications of "auto" that are made exactly: minutes
PER_SECOND = 4e10  # of them on one core, about
SLACK = 8  # more than k are looked at in float64: what rounding may have swapped
BLOCK = 4096  # others that a strip meets at a time
LINKS, BUILDING, BREADTH = 32, 40, 64  # of the graph: recall .99 on AwA's features
AXES, SAMPLE = 256, 20_000  # that the graph is made on, and rows that they are found by
AT_A_TIME = 2**16  # rows that the graph is asked for
HELD = 0.8  # of the squares that the axes must hold: with less, too many are missed


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


def graph_bytes(n_rows: int, n_features: int) -> float:
    """Estimate what an approximate search among rows takes beside them.

    A copy in float32, two on the axes of the graph while it is built, and its links.

    >>> from unseen.rows.neighbours import graph_bytes
    >>> graph_bytes(1_000_000, 512) / 1e9  # gigabytes
    4.352
    """
    return float(n_rows) * 4 * (n_features + 2 * min(n_features, AXES) + 2 * LINKS)


def faiss():
    """Return the module, or None if it is not installed."""
    try:
        import faiss
    except ModuleNotFoundError:
        return None
    return faiss


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
    find = by_all_pairs if search == "exact" else by_graph
    numbers = find(B, A, wanted, alone)
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


# ---- all pairs -----------------------------------------------------------------------


def by_all_pairs(rows, others, k: int, alone: bool) -> np.ndarray:
    """Return the numbers of the k nearest others of every row, in no order.

    |x - y|² = |x|² - 2 (x·y - |y|²/2): nearest is where the bracket is largest.
    """
    half = np.einsum("ij,ij->i", others, others) / 2
    minus = np.full((len(rows), 1), -1, dtype=np.float32)
    rows, others = np.hstack([rows, minus]), np.column_stack([others, half])
    numbers = np.empty((len(rows), k), dtype=np.intp)

    def search(here: slice) -> None:
        own = np.arange(len(rows))[here] if alone else None
        numbers[here] = best_of_strip(rows[here], others, k, own)

    # As many rows as keep the scores of a block in the cache.
    each(search, strips(len(rows), BLOCK, 2**20))
    return numbers


def best_of_strip(X, others, k: int, own: np.ndarray | None) -> np.ndarray:
    """Return the numbers of the k others with the largest products, for a few rows.

    Once k are known, few others of a block are better than the worst of them; only
    those are sorted in.
    """
    best = np.full((len(X), k), -np.inf, dtype=np.float32)
    numbers = np.zeros((len(X), k), dtype=np.intp)
    room = np.empty((len(X), min(BLOCK, len(others))), dtype=np.float32)
    for start in range(0, len(others), BLOCK):
        stop = min(start + BLOCK, len(others))
        S = np.matmul(X, others[start:stop].T, out=room[:, : stop - start])
        if own is not None:
            mine = np.flatnonzero((own >= start) & (own < stop))
            S[mine, own[mine] - start] = -np.inf
        if not start and stop > k:
            numbers = np.argpartition(S, -k, axis=1)[:, -k:]
            best = np.take_along_axis(S, numbers, axis=1)
            continue
        better = np.flatnonzero(S > best.min(axis=1, keepdims=True))
        row, column = np.divmod(better, stop - start)
        counts = np.bincount(row, minlength=len(X))
        # The better ones of every row side by side, after the best so far.
        place = k + np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        values = np.full((len(X), k + counts.max()), -np.inf, dtype=np.float32)
        which = np.zeros(values.shape, dtype=np.intp)
        values[:, :k], which[:, :k] = best, numbers
        values[row, place], which[row, place] = S[row, column], start + column
        top = np.argpartition(values, -k, axis=1)[:, -k:]
        best = np.take_along_axis(values, top, axis=1)
        numbers = np.take_along_axis(which, top, axis=1)
    return numbers


# ---- a graph -------------------------------------------------------------------------


def by_graph(rows, others, k: int, alone: bool) -> np.ndarray:
    """Return the numbers of nearly the k nearest others, by faiss; -1 for none.

    A graph of the rows on their leading axes gives more than k; the k nearest of those
    on all axes are kept.
    """
    library = faiss()
    axes = leading_axes(others)
    # Rows without leading axes have neighbours in all directions: harder to find.
    wider = 1 if axes.shape[1] < others.shape[1] else 2
    breadth = min(wider * max(BREADTH, 3 * k), len(others))
    half = np.einsum("ij,ij->i", others, others) / 2
    numbers = np.empty((len(rows), k), dtype=np.intp)
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(n_threads())
    try:
        index = library.IndexHNSWFlat(axes.shape[1], wider * LINKS)
        index.hnsw.efConstruction, index.hnsw.efSearch = wider * BUILDING, breadth
        index.add(product(others, axes))
        # Some at a time: short lists of all rows would take as much as the graph.
        for here in strips(len(rows), 1, AT_A_TIME):
            found = index.search(product(rows[here], axes), breadth)[1]
            if alone:
                found[found == np.arange(len(rows))[here, None]] = -1
            numbers[here] = best_of_found(rows[here], others, half, found, k)
    finally:
        library.omp_set_num_threads(before)
    return numbers


def leading_axes(rows: np.ndarray) -> np.ndarray:
    """Return orthonormal axes that hold most of what centred rows differ in.

    Two passes of a power iteration over some of the rows: near enough to the
    eigenvectors for a short list. All axes where a few do not hold enough.
    """
    p = rows.shape[1]
    every = np.eye(p, dtype=np.float32)
    if p <= AXES:
        return every
    some = rows[:: -(-len(rows) // SAMPLE)]
    axes = np.random.default_rng(0).standard_normal((p, AXES), dtype=np.float32)
    for _ in range(2):
        axes = np.linalg.qr(product(some.T, product(some, axes)))[0]
    held = np.linalg.norm(product(some, axes)) ** 2
    return axes if held >= HELD * np.linalg.norm(some) ** 2 else every


def best_of_found(rows, others, half, found: np.ndarray, k: int) -> np.ndarray:
    """Return the k nearest of those found for every row, in float32 and in no order.

    ``half`` has half the squared length of each of the others.
    """
    numbers = np.empty((len(rows), k), dtype=np.intp)

    def choose(here: slice) -> None:
        products = np.matmul(others[found[here]], rows[here, :, None])[:, :, 0]
        far = np.where(found[here] < 0, np.inf, half[found[here]] - products)
        best = np.argpartition(far, k - 1, axis=1)[:, :k]
        numbers[here] = np.take_along_axis(found[here], best, axis=1)

    each(choose, strips(len(rows), found.shape[1] * rows.shape[1]))
    return numbers
