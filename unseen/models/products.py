"""Products of rows and label codings, made from the sums of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen.rows.sums import Sums


class Products(NamedTuple):
    """XᵀX, XᵀY and YᵀY: all that the sweeps know of the samples.

    ``dtype`` is the precision of the samples.
    """

    XtX: np.ndarray
    XtY: np.ndarray
    YtY: np.ndarray
    dtype: np.dtype


def one_hot_products(sums: Sums) -> Products:
    """Return the products for Y in 0/1."""
    return Products(sums.gram, sums.class_sums.T, np.diag(sums.counts), sums.dtype)


def signed_products(sums: Sums) -> Products:
    """Return the products for Y in ±1, which is 2 one_hot - 1."""
    n, counts, total = sums.n_rows, sums.counts, sums.class_sums.sum(axis=0)
    YtY = 4 * np.diag(counts) - 2 * (counts[:, None] + counts) + n
    XtY = 2 * sums.class_sums.T - total[:, None]
    return Products(sums.gram, XtY, YtY, sums.dtype)
