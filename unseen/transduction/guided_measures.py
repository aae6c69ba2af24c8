"""What :class:`GuidedMixture` measures on a pile, and the spaces it looks in."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.special import softmax

from unseen.rows.holders import Holder
from unseen.transduction.graph import graph, near_neighbours, neighbours

MOST_AXES = 1024
MOST_PAIRED = 20_000  # rows whose neighbours are looked for among all others
UNADAPTED_SPREAD = 2.0  # of a row's scores before anything was learned
SMALL = 1e-9


def tightness(counts, squares, totals, n: int) -> float:
    """Return the root of the mean cosine of two different rows of a class.

    Without the products of rows with themselves: unbiased however few rows there are.
    """
    pairs = np.maximum(counts**2 - squares, 1e-12)
    between = np.maximum(np.sum(totals**2, axis=1) - squares, 0) / pairs
    return float(np.sqrt(np.clip(counts / n @ between, 0, 1)))


def evenness(sizes: np.ndarray) -> float:
    """Return exp(entropy of sizes) over the number of classes; 1 if all are equal.

    With Miller's correction for few rows.

    >>> import numpy as np
    >>> from unseen.transduction.guided_measures import evenness
    >>> round(evenness(np.array([100_000, 100_000, 0, 0])), 3)
    0.5
    """
    n, used = sizes.sum(), sizes[sizes > 0]
    p = used / n
    entropy = -(p @ np.log(p)) + (len(used) - 1) / (2 * n)
    return float(np.exp(entropy) / len(sizes))


def mutual_neighbours(rows: np.ndarray, k: int) -> sparse.csr_array:
    """Return the graph of each row's k nearest and of those it is nearest to.

    Weights are cosines, none below 0; they sum to 1 for every row with any.
    """
    search = neighbours if len(rows) <= MOST_PAIRED else near_neighbours
    distances, numbers = search(rows, k)
    W = graph(np.maximum(1 - distances**2 / 2, 0), numbers)
    W = sparse.csr_array(W + W.T)
    sums = np.asarray(W.sum(axis=1)).ravel()
    scale = sparse.diags_array(np.where(sums > 0, 1 / np.where(sums > 0, sums, 1), 0))
    return sparse.csr_array(scale @ W)


def principal_axes(rows: Holder, P: np.ndarray) -> np.ndarray | None:
    """Return the axes of rows and names where features are many; else None: all.

    At most MOST_AXES of them, those in which rows and names, at one length, vary most.
    """
    n, d = rows.shape
    if d <= MOST_AXES:
        return None
    length = np.sqrt(rows_length(rows) / n) or 1.0
    names = P * (length / max(np.sqrt(np.mean(np.sum(P**2, axis=1))), SMALL))
    names = names * np.sqrt(n / len(P))
    if hasattr(rows, "B") and n + len(P) < d:
        stacked = np.vstack([np.asarray(rows), names])
        m = len(stacked)
        top = (max(0, m - MOST_AXES), m - 1)
        values, basis = linalg.eigh(stacked @ stacked.T, subset_by_index=top)
        keep = values > 1e-10 * values[-1]
        return stacked.T @ (basis[:, keep] / np.sqrt(values[keep]))
    gram = rows.gram() + names.T @ names
    return linalg.eigh(gram, subset_by_index=(d - MOST_AXES, d - 1))[1]


def rows_length(rows: Holder) -> float:
    """Return the sum of squared lengths."""
    return float(rows.run(sum_squares)[1][0])


def sum_squares(block, kept):
    """Sum the squares of a block."""
    return None, (np.einsum("ij,ij->", block, block),)


def by_spread(scores: np.ndarray) -> np.ndarray:
    """Return posteriors of scores on an unknown scale: that of each row's spread."""
    around = scores - scores.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(around**2, axis=1, keepdims=True))
    return softmax(UNADAPTED_SPREAD * around / np.where(spread > 0, spread, 1), axis=1)
