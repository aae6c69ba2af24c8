"""What given labels do to anchored self-training: better prototypes, worth more.

    Z  (N, r)   prototypes, off their class means by v_j in direction j
    g_c, ḡ_c    given rows of class c, and their mean; rows have unit variance

    |ḡ_c - Z_c|² / r  is  v + 1/g_c  on average, so given rows *measure* v, each
class by as much as chance leaves to tell; and

    Z_c ← (Z_cj / v_j + g_c ḡ_cj) / (1 / v_j + g_c)

is what prototype and rows say together, worth g_c rows more than before. In the rounds
a self-labelled row counts as one, a prototype as κ / v and a given row as κ: what is
certain is not discounted. The mean of a class that has no prototype is that of its
rows, worth these rows and no more.

The first labels are those of the prototypes as they were. A corrected one lies nearer
to its class, and so to rows of all others; among prototypes that nothing corrected it
would take rows from its neighbours, and the rounds would not give them back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen.core.given import GivenRows
from unseen.rows.holders import Holder
from unseen.rows.pile import in_chunks

LEAST, MOST = 0.1, 10.0  # factors by which given rows may change v


class Anchors(NamedTuple):
    """Prototypes with given rows in them, and what they are worth.

    ``own_rows`` (N,) count as self-labelled rows do; ``described`` (N,) is 1 for
    classes with a prototype and 0 for those that have rows only; ``start`` (N, r) is
    what labels rows before the first round.
    """

    Z: np.ndarray
    variances: np.ndarray
    own_rows: np.ndarray
    described: np.ndarray
    n_given: np.ndarray
    codes: np.ndarray | list
    start: np.ndarray


def with_given(
    B: Holder,
    Z: np.ndarray,
    variances: np.ndarray,
    own_rows: np.ndarray,
    given: GivenRows,
    *,
    kappa: float,
    n_measured: float,
) -> Anchors:
    """Let given rows correct prototypes, and measure what these are worth.

    Parameters
    ----------
    B : Holder
        Rows of unit variance within classes.
    Z : ndarray of shape (n_classes, n_axes)
    variances : ndarray of shape (n_axes,)
    own_rows : ndarray of shape (n_classes,)
        Labelled rows that a prototype rests on already.
    given : GivenRows
    kappa : float
        Self-labelled rows that count as one.
    n_measured : float
        Classes on which v was measured before.
    """
    codes = in_chunks(given.codes, B)
    _, (sums,) = B.run(sum_given, len(Z), states=[codes])
    counts = given.counts.astype(np.float64)
    means = sums / np.maximum(counts, 1)[:, None]
    both = (counts > 0) & ~given.new
    factor = measured_factor(
        means[both] - Z[both], counts[both], variances.mean(), n_measured
    )
    variances = variances * factor
    prior = 1 / variances + own_rows[:, None]
    prior = np.where(given.new[:, None], 0.0, prior)
    weight = np.maximum(prior + counts[:, None], 1e-300)
    start = np.where(given.new[:, None], means, Z)
    Z = np.where((counts > 0)[:, None], (prior * Z + sums) / weight, Z)
    own_rows = own_rows + max(kappa, 1.0) * counts
    described = np.where(given.new, 0.0, 1.0)
    return Anchors(Z, variances, own_rows, described, counts, codes, start)


def measured_factor(
    off: np.ndarray, counts: np.ndarray, variance: float, n_measured: float
) -> float:
    """Return by how much v is larger than was measured, with given means ``off``.

    >>> import numpy as np
    >>> from unseen.transduction.anchored_given import measured_factor
    >>> measured_factor(np.full((1, 4), 2.0), np.array([1.0]), 1.0, n_measured=1)
    1.4
    """
    if not len(off) or np.isinf(n_measured):
        return 1.0
    found = (np.mean(off**2, axis=1) - 1 / counts) / variance
    # A mean of g rows tells v the less, the more of its distance is chance.
    weight = (1 + 1 / (counts * variance)) ** -2
    factor = (n_measured + weight @ found) / (n_measured + weight.sum())
    return float(np.clip(factor, LEAST, MOST))


def sum_given(block, kept, n_classes, given):
    """Sum the given rows of a block by class."""
    known = given >= 0
    sums = np.zeros((n_classes, block.shape[1]))
    np.add.at(sums, given[known], block[known])
    return None, (sums,)
