"""Which rows to ask a person about: medoids of clusters first, then doubt x density.

    b_i     row i at unit length, less the mean row, on leading axes, at unit length
    d_i     doubt, 1 - reliability; 1 where there is no label yet
    ρ_i     density: mean cosine with the nearest of a sample of rows

n more labels are asked of MORE (n + g) clusters, where g labels are given. Clusters
without a given row come first, each by the row nearest to its centre, one at a time the
largest (1 - c_i) Σ d: much doubt in the cluster, and a row unlike those asked before,
with c_i the cosine to the nearest of them. What is left of n goes, one at a time, to
the largest d_i ρ_i (1 - c_i): doubtful, typical, and unlike the others. No label is
looked at. How many clusters there are and how often they are looked for was chosen on
development sets of photos, by ``studies/photo_asking.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_array

from unseen.core.given import read_given
from unseen.core.linalg import inverse_lengths
from unseen.core.params import DTYPES, refuse_masked
from unseen.core.rows import in_one_piece

MOST_AXES = 64
SAMPLE = 2_000  # rows that tell axes and density
NEAREST = 10  # rows of the sample that tell density
MOST_CLUSTERED = 20_000  # rows that clusters are looked for in
MORE, STARTS = 1.5, 10  # clusters for each label, starts of k-means
QUICK = 100_000  # rows times clusters, above which it starts but once


def suggest(
    X: Any,
    n: int,
    *,
    reliability: Any = None,
    given: Any = None,
    random_state: int = 0,
) -> np.ndarray:
    """Return the rows whose labels would help most, in the order to ask for them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The pile.
    n : int
        Rows to ask for; fewer come back if fewer are left.
    reliability : array-like of shape (n_samples,), optional
        How sure their labels are by now, as ``reliability_`` of an adapted model; doubt
        is shared evenly without.
    given : mapping or Series of row to label, or array-like, optional
        Labels that are given already, as for ``adapt``: none of them is asked again.
    random_state : int, default=0
        Where clusters start.

    Returns
    -------
    ndarray of int
        Row numbers, each once.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import suggest
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1, 2], 50)
    >>> X = 3 * rng.normal(size=(3, 20))[truth] + rng.normal(size=(150, 20))
    >>> sorted(truth[suggest(X, 3)].tolist())
    [0, 1, 2]
    """
    refuse_masked(X, "X")
    rows = check_array(in_one_piece(X), dtype=DTYPES, input_name="X")
    if n < 0:
        raise ValueError(f"n={n} rows cannot be asked for. Give 0 or more.")
    labelled = np.zeros(len(rows), dtype=bool)
    if given is not None:
        labelled[read_given(given, len(rows))[0]] = True
    doubt = checked_doubt(reliability, len(rows))
    n = min(int(n), int((~labelled).sum()))
    if n == 0:
        return np.empty(0, dtype=np.intp)
    B = directions(rows)
    first = medoids(B, doubt, labelled, n, random_state)
    asked = labelled.copy()
    asked[first] = True
    rest = by_doubt_and_density(B, doubt, asked, n - len(first))
    return np.concatenate([first, rest]).astype(np.intp)


def checked_doubt(reliability: Any, n_rows: int) -> np.ndarray:
    """Return 1 - reliability, or 1 for all rows."""
    if reliability is None:
        return np.ones(n_rows)
    sure = np.asarray(reliability, dtype=np.float64)
    if sure.shape != (n_rows,):
        raise ValueError(
            f"reliability has shape {sure.shape}, but X has {n_rows} rows. Give one "
            "number for each."
        )
    return 1 - np.clip(np.nan_to_num(sure, nan=0.0), 0, 1)


def directions(rows: np.ndarray) -> np.ndarray:
    """Return rows on their leading axes, centred, at unit length before and after."""
    units = rows * inverse_lengths(rows)[:, None]
    units = units - units.mean(axis=0, dtype=np.float64).astype(units.dtype)
    if units.shape[1] > MOST_AXES:
        some = units[:: -(-len(units) // SAMPLE)].astype(np.float64)
        axes = linalg.svd(some, full_matrices=False)[2][:MOST_AXES].T
        units = units @ axes.astype(units.dtype)
    units = units.astype(np.float64)
    return units * inverse_lengths(units)[:, None]


def medoids(B, doubt, labelled, n: int, random_state: int) -> np.ndarray:
    """Return rows nearest to the centres of clusters that have no given row."""
    from sklearn.cluster import KMeans  # slow to import

    step = -(-len(B) // MOST_CLUSTERED)
    some = B[::step]
    wanted = math.ceil(MORE * (n + labelled.sum()))
    k = min(wanted, len(np.unique(some, axis=0)))
    starts = STARTS if len(some) * k <= QUICK else 1
    found = KMeans(k, n_init=starts, random_state=random_state).fit(some)
    labels = found.predict(B)
    near = np.einsum("ij,ij->i", B, found.cluster_centers_[labels])
    covered = np.bincount(labels[labelled], minlength=k) > 0
    worth = np.bincount(labels, weights=doubt, minlength=k)
    order = np.lexsort((-np.where(labelled, -np.inf, near), labels))
    there, first = np.unique(labels[order], return_index=True)  # one per cluster
    free = ~covered[there]
    rows = order[first[free]]
    return rows[unlike(B[rows], worth[there[free]], n)]


def by_doubt_and_density(B, doubt, asked, n: int) -> np.ndarray:
    """Return n rows more: doubtful, typical, and unlike those asked so far."""
    if n <= 0:
        return np.empty(0, dtype=np.intp)
    some = B[:: -(-len(B) // SAMPLE)]
    near = min(NEAREST + 1, len(some))
    density = np.empty(len(B))
    for start in range(0, len(B), SAMPLE):
        cosines = B[start : start + SAMPLE] @ some.T
        best = np.partition(cosines, len(some) - near, axis=1)[:, -near:]
        density[start : start + SAMPLE] = best.mean(axis=1)
    worth = np.maximum(doubt, 1e-6) * np.maximum(density, 1e-6)
    rows = np.flatnonzero(~asked)
    return rows[unlike(B[rows], worth[rows], n, B[asked])]


def unlike(B, worth, n: int, before: Any = ()) -> np.ndarray:
    """Return n rows, one at a time the most worthy that is unlike those before it."""
    nearest = np.full(len(B), -1.0)
    for row in before:
        nearest = np.maximum(nearest, B @ row)
    left = np.ones(len(B), dtype=bool)
    chosen: list[int] = []
    for _ in range(min(n, len(B))):
        value = np.where(left, worth * np.maximum(1 - nearest, 1e-9), -np.inf)
        top = int(value.argmax())
        chosen.append(top)
        left[top] = False
        nearest = np.maximum(nearest, B @ B[top])
    return np.array(chosen, dtype=np.intp)
