"""Nearest neighbours among rows: all pairs are looked at, while that takes minutes.

The search is scikit-learn's. What would take too long is refused before any work.
"""

import numpy as np

MOST_WORK = 2e13  # multiplications for all pairs: minutes of one core


def neighbours(
    rows: np.ndarray, k: int, others: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and numbers of each row's k nearest others, nearest first.

    Fewer than k if there are not that many others. By default the others are the rows
    themselves, each without itself.
    """
    from sklearn.neighbors import NearestNeighbors  # slow to import

    alone, among = others is None, rows if others is None else others
    k = min(k, len(among) - alone)
    if k < 1:
        return np.zeros((len(rows), 0)), np.zeros((len(rows), 0), dtype=np.intp)
    work = float(len(rows)) * len(among) * rows.shape[1]
    if work > MOST_WORK:
        raise ValueError(
            f"The neighbours of {len(rows):,} rows with {rows.shape[1]:,} numbers each "
            f"take about {work / 2e10 / 60:,.0f} minutes of one core. Adapt to a "
            "sample of the rows and predict the others."
        )
    centre = among.mean(axis=0, dtype=np.float64)
    A = among - centre  # centred and of ordinary size: squares keep their digits
    scale = np.abs(A).max() or 1.0
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(A / scale)
    found = search.kneighbors(None if alone else (rows - centre) / scale)
    return found[0] * scale, found[1]
