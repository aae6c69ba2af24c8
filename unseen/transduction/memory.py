"""Refusing, before any work, what would not fit."""

import numpy as np

from unseen.core.params import StrOptions
from unseen.rows.nearest_graph import graph_bytes
from unseen.rows.neighbours import NEIGHBOUR_SEARCHES, chosen_search

SEARCH: dict = {"neighbors": [StrOptions(set(NEIGHBOUR_SEARCHES))]}
MEMORY_LIMIT = 4e9  # bytes: what a laptop can spare


def check_memory(method: str, needed: float, what: str) -> None:
    """Raise ``MemoryError`` with an estimate if a method needs more than the limit.

    Parameters
    ----------
    method : str
    needed : float
        Bytes, by the sizes of the arrays.
    what : str
        What takes them, as ``"the distances of 100,000 rows"``.

    Examples
    --------
    >>> from unseen.transduction.memory import check_memory
    >>> check_memory("TMVHLP", 2e9, "three graphs of 1,000 rows")
    >>> check_memory("TMVHLP", 2e10, "three graphs of 100,000 rows")
    Traceback (most recent call last):
    ...
    MemoryError: TMVHLP would need about 20.0 GB for three graphs of 100,000 rows; ...
    """
    if needed > MEMORY_LIMIT:
        raise MemoryError(
            f"{method} would need about {needed / 1e9:.1f} GB for {what}; it stops at "
            f"{MEMORY_LIMIT / 1e9:.0f} GB. Adapt to a sample of the rows and predict "
            "the others, or choose a method that needs less."
        )


def spreading_bytes(n_nodes: int, n_classes: int, n_edges: int) -> float:
    """Estimate what spreading labels over a graph takes.

    Six arrays of labels, for conjugate gradients, and three graphs of ``n_edges`` per
    node: as found, symmetric, and normalised.
    """
    return n_nodes * (6 * 8 * n_classes + 3 * 16 * n_edges)


def affordable_search(method: str, neighbors: str, rows: np.ndarray) -> str:
    """Return how the neighbours of rows are found, ``'exact'`` or ``'approximate'``.

    ``neighbors`` is the parameter of the method; more memory than the limit is refused.
    """
    n, p = rows.shape
    search = chosen_search(neighbors, n, n, p)
    if search == "approximate":
        check_memory(method, graph_bytes(n, p), f"the neighbours of {n:,} rows")
    return search
