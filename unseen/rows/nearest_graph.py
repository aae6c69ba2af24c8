"""Nearly the nearest neighbours, by a navigable small-world graph (HNSW) of faiss.

The graph, on the leading axes of the rows, gives every row a list; the nearest of it on
all axes are kept. Some rows are searched exactly, and lists grow until nearly all of
their neighbours are in them. A few rows may be lost on their way through the graph:
they do not even find themselves, and are searched exactly, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unseen._threads import each, n_threads, product, strips
from unseen.rows.nearest_exact import by_all_pairs, cut

LINKS, BUILDING, BREADTH = 32, 32, 54  # of the graph; lists begin with that breadth
AXES, SAMPLE = 256, 20_000  # that the graph is made on, and rows that they are found by
AT_A_TIME = 2**16  # rows that the graph is asked for
HELD = 0.8  # of the squares that the axes must hold: with less, too many are missed
ENOUGH = 0.98  # of the true neighbours, in a sample of the rows
SAMPLED, WIDER = 500, (1, 2, 4, 8)  # rows in that sample; how long lists become
MOST_LOST = 0.05  # of the rows, which are searched exactly


class MissedNeighboursWarning(UserWarning):
    """An approximate search found fewer of the true neighbours than it should.

    Methods with ``neighbors="auto"`` or ``"approximate"`` warn of it.

    Examples
    --------
    >>> import warnings
    >>> import unseen
    >>> warnings.simplefilter("error", unseen.MissedNeighboursWarning)  # rather stop
    """


def graph_bytes(n_rows: int, n_features: int) -> float:
    """Estimate what an approximate search among rows takes beside them.

    A copy in float32, two on the axes of the graph while it is built, and its links.

    >>> from unseen.rows.nearest_graph import graph_bytes
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


def by_graph(
    rows, others, k: int, own: np.ndarray | None, *, checked: int
) -> np.ndarray:
    """Return the numbers of nearly the k nearest others, by faiss; -1 for none.

    The nearest ``checked`` of them are to be the true ones. What is searched exactly
    comes before the graph is made, or when it is gone: both have a copy of the rows.
    """
    some = slice(None, None, -(-len(rows) // SAMPLED))
    true = by_all_pairs(rows[some], others, checked, cut(own, some))
    numbers, lost = by_lists(rows, others, k, own, (some, true))
    if lost.any():
        numbers[lost] = by_all_pairs(rows[lost], others, k, cut(own, lost))
    return numbers


def by_lists(rows, others, k: int, own, known) -> tuple[np.ndarray, np.ndarray]:
    """Return what lists of a graph hold, and which rows are to be searched exactly.

    ``known`` says which rows' true neighbours are known, and their numbers.
    """
    library = faiss()
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(n_threads())
    try:
        graph = Graph(others, library)
        look = sampled(graph, rows, k, own, *known)
        first = graph.wider * max(BREADTH, 3 * k)
        breadth, mend = enough_breadth(look, first, len(others))
        numbers = np.empty((len(rows), k), dtype=np.intp)
        lost = np.zeros(len(rows), dtype=bool)
        # Some at a time: short lists of all rows would take as much as the graph.
        for here in strips(len(rows), 1, AT_A_TIME):
            found = graph.search(rows[here], k, cut(own, here), breadth)
            numbers[here], lost[here] = found
    finally:
        library.omp_set_num_threads(before)
    return numbers, lost & mend


class Missed(NamedTuple):
    """Share of true neighbours that lists of some length miss, and of rows lost."""

    all: float
    unless_lost: float
    lost: float


def sampled(graph: Graph, rows, k: int, own, some, true) -> Callable[[int], Missed]:
    """Return a function that tells what lists of some length miss, by some of the rows.

    ``true`` are the numbers of their nearest.
    """
    few, own, wanted = rows[some], cut(own, some), true.shape[1]
    worst = graph.distances(few, true).max(axis=1, keepdims=True)
    worst += 1e-5 * (np.abs(worst) + graph.half.mean())  # rounding

    def look(breadth: int) -> Missed:
        found, lost = graph.search(few, k, own, breadth)
        right = (graph.distances(few, found) <= worst).sum(axis=1)
        missed = 1 - np.minimum(right, wanted) / wanted
        return Missed(*(float(a.mean()) for a in (missed, missed * ~lost, lost)))

    return look


def enough_breadth(
    look: Callable[[int], Missed], breadth: int, most: int
) -> tuple[int, bool]:
    """Return how long lists must be, and whether lost rows are to be searched exactly.

    They are if they are few. Lists are doubled while others miss too many neighbours.

    >>> from unseen.rows.nearest_graph import Missed, enough_breadth
    >>> enough_breadth(lambda breadth: Missed(1 / breadth, 1 / breadth, 0), 16, 1_000)
    (64, True)
    """
    for times in WIDER:
        breadth_now = min(times * breadth, most)
        missed = look(breadth_now)
        mend = missed.lost <= MOST_LOST
        share = missed.unless_lost if mend else missed.all
        if share <= 1 - ENOUGH:
            return breadth_now, mend
    warnings.warn(
        f"The approximate search misses about {share:.0%} of the neighbours. "
        "Take neighbors='exact' if that is too many.",
        MissedNeighboursWarning,
        stacklevel=2,
    )
    return breadth_now, mend


class Graph:
    """A graph of rows on their leading axes, to be asked for neighbours.

    ``half`` has half the squared length of each. Distances are half the squared ones,
    less what is the same for all others of a row: |y|²/2 - x·y.
    """

    def __init__(self, others: np.ndarray, library) -> None:
        self.others, self.axes = others, leading_axes(others)
        self.half = np.einsum("ij,ij->i", others, others) / 2
        # Rows without leading axes have neighbours in all directions: harder to find.
        self.wider = 1 if self.axes.shape[1] < others.shape[1] else 2
        self.index = library.IndexHNSWFlat(self.axes.shape[1], self.wider * LINKS)
        self.index.hnsw.efConstruction = self.wider * BUILDING
        self.index.add(product(others, self.axes))

    def search(self, rows, k: int, own, breadth: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest of lists that long, on all axes, and who was lost.

        Lost is who has a place among the others, by number, and finds nobody there.
        """
        self.index.hnsw.efSearch = breadth
        apart, found = self.index.search(product(rows, self.axes), breadth)
        lost = np.zeros(len(rows), dtype=bool)
        if own is not None:
            lost = apart[:, 0] > 1e-6 * self.half.mean()
            found[found == own[:, None]] = -1
        return self.best_of_found(rows, found, k), lost

    def best_of_found(self, rows, found: np.ndarray, k: int) -> np.ndarray:
        """Return the k nearest of those found for every row, in no order."""
        numbers = np.empty((len(rows), k), dtype=np.intp)

        def choose(here: slice) -> None:
            far = self.distances(rows[here], found[here])
            best = np.argpartition(far, k - 1, axis=1)[:, :k]
            numbers[here] = np.take_along_axis(found[here], best, axis=1)

        each(choose, strips(len(rows), found.shape[1] * rows.shape[1]))
        return numbers

    def distances(self, rows, found: np.ndarray) -> np.ndarray:
        """Return how far those found are from every row; nobody is infinitely far."""
        products = np.matmul(self.others[found], rows[:, :, None])[:, :, 0]
        return np.where(found < 0, np.inf, self.half[found] - products)


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
