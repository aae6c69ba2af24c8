"""Which rows to ask a person about, and how right labels are by what was checked.

Which rows to ask a person about: medoids of clusters first, then doubt x density.

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

How right labels are, from a few that a person checked.

    N_h, n_h   rows of part h, and how many of them were drawn at random and checked
    p_h        share of these that was right
    known      rows whose right label is known without having been drawn

Rows are drawn by :func:`draw_check` at random, so that each stands for N_h / n_h rows
of its part. What was checked for another reason, because :func:`suggest` asked for it,
say, is not like the rest: it counts as itself and stands for no other row. So

    accuracy = (right among known + Σ_h (N_h - known_h) p_h) / N

where h are the surest rows and all others, or all rows as one where they were drawn
alike. The interval is that of the sum of Beta posteriors (Jeffreys' prior) of p_h, each
drawn together by what was checked already.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import linalg, special
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from unseen.core.given import read_given
from unseen.core.linalg import inverse_lengths
from unseen.core.params import DTYPES
from unseen.core.rows import in_one_piece
from unseen.trust.sure import (
    WANTED,
    SureLine,
    draw_surest,
    drawn_from,
    sure_line,
    surest_first,
)

SAMPLE = 2_000  # rows that tell axes and density
MORE, STARTS = 1.5, 10  # clusters for each label, starts of k-means


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
        The unlabelled rows.
    n : int
        Rows to ask for; fewer come back if fewer are left.
    reliability : array-like of shape (n_samples,), optional
        Estimated chances that their labels are right, as ``reliability_`` of an adapted
        model; doubt is shared evenly without.
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
    rows = check_array(in_one_piece(X), dtype=DTYPES, input_name="X")
    if n < 0:
        raise ValueError(f"n={n} rows cannot be asked for. Give 0 or more.")
    labelled = np.zeros(len(rows), dtype=bool)
    if given is not None:
        labelled[read_given(given, len(rows))[0]] = True
    doubt = np.ones(len(rows))
    if reliability is not None:
        sure = np.asarray(reliability, dtype=np.float64)
        if sure.shape != (len(rows),):
            raise ValueError(
                f"reliability has shape {sure.shape}, but X has {len(rows)} rows. Give "
                "one number for each."
            )
        doubt = 1 - np.clip(np.nan_to_num(sure, nan=0.0), 0, 1)
    n = min(int(n), int((~labelled).sum()))
    if n == 0:
        return np.empty(0, dtype=np.intp)
    B = directions(rows)
    first = medoids(B, doubt, labelled, n, random_state)
    if len(first) == n:
        return first
    asked = labelled.copy()
    asked[first] = True
    rest = by_doubt_and_density(B, doubt, asked, n - len(first))
    return np.concatenate([first, rest])


def directions(rows: np.ndarray) -> np.ndarray:
    """Return rows on their leading axes, centred, at unit length before and after."""
    units = rows * inverse_lengths(rows)[:, None]
    units = units - units.mean(axis=0, dtype=np.float64).astype(units.dtype)
    if units.shape[1] > 64:
        some = units[:: -(-len(units) // SAMPLE)].astype(np.float64)
        axes = linalg.svd(some, full_matrices=False)[2][:64].T
        units = units @ axes.astype(units.dtype)
    units = units.astype(np.float64)
    return units * inverse_lengths(units)[:, None]


def medoids(B, doubt, labelled, n: int, random_state: int) -> np.ndarray:
    """Return rows nearest to the centres of clusters that have no given row."""
    from sklearn.cluster import KMeans  # slow to import

    some = B[:: -(-len(B) // 20_000)]  # in so many rows clusters are looked for
    wanted = math.ceil(MORE * (n + labelled.sum()))
    k = min(wanted, len(np.unique(some, axis=0)))
    starts = STARTS if len(some) * k <= 100_000 else 1  # it takes long
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
    some = B[:: -(-len(B) // SAMPLE)]
    near = min(11, len(some))  # ten rows, and mostly the row itself
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


# ---- how right labels are ------------------------------------------------------------


class AccuracyEstimate(NamedTuple):
    """How right labels are.

    Attributes
    ----------
    accuracy, low, high : float
        Share of all rows whose label is right, and its interval.
    n_checked : int
        Rows that were drawn at random and checked.
    n_known : int
        Rows that were checked for another reason; they count as themselves.
    by_label : DataFrame
        The same for the rows of each label: ``rows``, ``checked``, ``known``,
        ``accuracy``, ``low`` and ``high``, NaN where nothing was checked.
    sure : SureLine or None
        The sure line, where reliability was given: which labels need no look.
    """

    accuracy: float
    low: float
    high: float
    n_checked: int
    n_known: int
    by_label: pd.DataFrame
    sure: SureLine | None = None

    def __str__(self) -> str:
        seen = self.n_checked + self.n_known
        if self.accuracy == 1 and seen < self.by_label.rows.sum():
            return (
                f"All {self.n_checked:,} checks drawn at random are right: at least "
                f"{100 * self.low:.0f} % of labels are, with 90 % confidence."
            )
        share, low, high = (
            f"{100 * value:.1f} %" for value in (self.accuracy, self.low, self.high)
        )
        return (
            f"{share} of labels are right ({low} to {high}), by {self.n_checked:,} "
            "checks drawn at random."
        )


def draw_check(
    labels: Any,
    n: int,
    *,
    reliability: Any = None,
    without: Iterable[int] = (),
    wanted: float = WANTED,
    random_state: Any = 0,
) -> np.ndarray:
    """Draw rows whose labels a person is to check.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The labels to check.
    n : int
        Rows to draw; all if there are fewer.
    reliability : array-like of shape (n_samples,), optional
        Estimated chances that the labels are right. With them most rows are drawn among
        the surest, so that few answers allow a sure line, see
        :func:`estimate_accuracy`; without them from all rows alike.
    without : iterable of int
        Rows not to draw: their right labels are known.
    wanted : float, default=0.95
        How right the labels above the line are to be.
    random_state : int, RandomState or None, default=0

    Returns
    -------
    ndarray of int
        Row numbers in the order in which to check them.

    Examples
    --------
    >>> from unseen import draw_check
    >>> rows = draw_check(["okapi"] * 80 + ["zebra"] * 20, 10)
    >>> len(rows), len(set(rows))
    (10, 10)
    """
    labels = np.asarray(labels)
    if n < 0:
        raise ValueError(f"n={n} rows cannot be drawn. Give 0 or more.")
    random = check_random_state(random_state)
    known = np.fromiter(without, dtype=np.intp)
    if reliability is not None:
        return draw_surest(reliability, n, known, random, wanted)
    return random.permutation(np.setdiff1d(np.arange(len(labels)), known))[:n]


def estimate_accuracy(
    labels: Any,
    checked: Any,
    *,
    drawn: Iterable[int] | None = None,
    reliability: Any = None,
    wanted: float = WANTED,
    looks: int = 1,
) -> AccuracyEstimate:
    """Estimate how many labels are right, and which of them are sure.

    Nine of ten intervals hold the truth, and nine of ten sure lines keep their promise.
    Decide how many rows to check before you see an answer: who goes on until a line
    appears gets one by luck more often than that; ``looks`` allows for it.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The labels, as they were when rows were drawn: made without these checks. A
        model that was taught them is right there, which says nothing of other rows.
    checked : mapping or Series of row to right label, or array-like
        What a person said, as ``given`` of ``adapt``.
    drawn : iterable of int, default=None
        Which of these rows :func:`draw_check` drew; by default all. The others, which
        were chosen (by :func:`suggest`, or by a person), count as themselves and stand
        for no other row.
    reliability : array-like of shape (n_samples,), optional
        As :func:`draw_check` had it. With it the answer has a sure line. Rows that are
        not said to be ``drawn`` by it count as drawn from all rows alike.
    wanted : float, default=0.95
        How right the labels above the line are to be, as :func:`draw_check` had it.
    looks : int, default=1
        Which estimate of these labels this is, each from more answers. A line is held
        to half the risk of the one before, and states the confidence of all looks
        together: 90 %, 85 %, 82.5 %, and never less than 80 %.

    Returns
    -------
    AccuracyEstimate

    Examples
    --------
    >>> from unseen import draw_check, estimate_accuracy
    >>> labels = ["okapi"] * 80 + ["zebra"] * 20
    >>> checked = {int(row): labels[row] for row in draw_check(labels, 10)}
    >>> print(estimate_accuracy(labels, checked))
    All 10 checks drawn at random are right: at least 8... % of labels are, with ...
    """
    labels = np.asarray(labels)
    rows, truth = read_given(checked, len(labels))
    pairs = zip(labels[rows].tolist(), truth, strict=True)
    right = np.array([label == true for label, true in pairs], dtype=bool)
    at_random = np.ones(len(rows), dtype=bool)
    planned = None if drawn is None else np.fromiter(drawn, dtype=np.intp)
    if planned is not None:
        at_random = np.isin(rows, planned)
    if not at_random.any():
        raise ValueError(
            f"Of {len(rows)} checked rows none was drawn at random, and rows that were "
            "chosen say nothing of others. Check some that draw_check gives."
        )
    names, codes = np.unique(labels, return_inverse=True)
    strata, line = np.zeros(len(labels), dtype=int), None
    if reliability is not None:
        order = surest_first(reliability, rows[~at_random])
        among = len(order)
        if planned is not None:
            among = drawn_from(len(planned), len(order), wanted, looks)
        strata = np.isin(np.arange(len(labels)), order[:among]).astype(int)
        own = rows[at_random], right[at_random]
        line = sure_line(order, among, *own, wanted=wanted, looks=looks)
    kinds = at_random, at_random & right, ~at_random, ~at_random & right
    those = [np.arange(len(labels)), *(rows[kind] for kind in kinds)]

    def counts(of: np.ndarray) -> np.ndarray:  # in every stratum
        parts = [strata[rows][of[rows]] for rows in those]
        return np.array([np.bincount(own, minlength=strata.max() + 1) for own in parts])

    sizes = [np.bincount(codes[those[k]], minlength=len(names)) for k in (0, 1, 3)]
    found = [interval(counts(codes == h)) for h in range(len(names))]
    by_label = pd.DataFrame(dict(zip(("rows", "checked", "known"), sizes, strict=True)))
    by_label[["accuracy", "low", "high"]] = found
    by_label.index = pd.Index(names, name="label")
    n_known = int((~at_random).sum())
    whole = interval(counts(np.ones(len(labels), dtype=bool)))
    return AccuracyEstimate(*whole, len(rows) - n_known, n_known, by_label, line)


def interval(counts: np.ndarray) -> tuple[float, float, float]:
    """Return accuracy, low and high from counts; NaN if nothing was checked.

    ``counts`` (5, n_strata) are the rows of each stratum: all, drawn, right among
    these, known, and right among these.
    """
    N, n, right, known, known_right = counts[:, counts[0] > 0]
    left = N - known
    if left.any() and not n.any():
        return float("nan"), float("nan"), float("nan")
    weight = left / max(left.sum(), 1)
    # A stratum of which nothing was drawn is taken to be as the other, but for the
    # interval nothing is known of it.
    p = np.where(n, right, right.sum()) / np.maximum(np.where(n, n, n.sum()), 1)
    shrink = np.sqrt(np.maximum(0, 1 - n / np.maximum(left, 1)))
    at = (np.arange(200)[:, None] + 0.5) / 200  # parts that are equally likely
    beta = special.betaincinv(right + 0.5, n - right + 0.5, at)
    sums = reduce(np.add.outer, (weight * (p + shrink * (beta - p))).T)
    low, high = np.quantile(sums, [0.05, 0.95], method="hazen")
    low, high = low if right.any() else 0, high if (right < n).any() else left.any()
    made = known_right.sum() + left.sum() * np.array([weight @ p, low, high])
    share, low, high = (made / N.sum()).tolist()
    return share, low, high
