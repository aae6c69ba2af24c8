"""Which labels need no look: the sure line, a promise from a random check.

    S_1 ⊂ … ⊂ S_8   the surest rows, by reliability: eight sizes up to those drawn from
    n_k, e_k        rows of S_k that were checked, and how many labels were wrong
    E_k             the fewest wrong labels that would be too many in S_k

A check of n answers draws four of five at random among the surest rows, whose number
:func:`drawn_from` decides before anything is answered, and one of five among all
others, for the accuracy of all labels. So the checked rows of S_k are a simple random
sample of it, whatever n_k is, and if S_k held E_k wrong labels or more, so few would be
found with a chance of at most

    p_k = P(X ≤ e_k),   X ~ Hypergeometric(|S_k|, E_k, n_k)

which is the binomial tail where |S_k| is large. The sets are tested in order, from the
first that has answers enough to pass; the line is below the last before p_k exceeds
the risk. To promise too much, the first S_k that is not as right as wanted must pass,
and that happens with at most the risk: no correction for many sets is needed
(fixed-sequence testing, Maurer, Hothorn and Lehmacher 1995). No assumption is made on
what reliability means; the better it orders, the lower the line.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

WANTED, CONFIDENCE = 0.95, 0.9  # the latter at the first look
PACE = 200  # a check of so many answers draws from all rows alike, of half from half
STEPS = 8  # sets that are tested
SPREAD = 0.5, 0.3  # of a and b around 0 and 1, chosen of five on development sets
ENOUGH = 20  # answers from which on reliability learns from them
MOST = 4_000  # rows, where so few answers need so few that it matters how many


class SureLine(NamedTuple):
    """How far down, from the surest label, labels are as right as wanted.

    Attributes
    ----------
    rows : ndarray of int
        The rows above the line, the surest first; none if there is no line.
    wanted, confidence : float
        Of ``rows`` at least the share ``wanted`` is right: this holds for at least the
        share ``confidence`` of all checks, however many looks each of them took.
    n_more : int
        Without a line: how many answers more, all of them right, would allow one; 0 if
        too many of the surest labels are wrong for that.
    at_best : float
        The share of all rows that it would then cover at best.
    """

    rows: np.ndarray
    wanted: float
    confidence: float
    n_more: int
    at_best: float

    def __str__(self) -> str:
        n, wanted = len(self.rows), f"{100 * self.wanted:g} %"
        if n:
            return (
                f"The {n:,} surest labels are at least {wanted} right, with "
                f"{100 * self.confidence:g} % confidence."
            )
        if not self.n_more:
            return (
                f"Too many of the surest labels are wrong to call any {wanted} right."
            )
        return (
            f"No labels can be called {wanted} right yet: {self.n_more:,} more "
            f"answers, all right, would allow that for {100 * self.at_best:.0f} % at "
            "best."
        )


def surest_first(reliability: Any, without: Any = ()) -> np.ndarray:
    """Return row numbers, the most reliable first; none of unknown reliability."""
    stated = np.array(reliability, dtype=np.float64)
    stated[np.asarray(without, dtype=np.intp)] = np.nan
    return np.argsort(-stated, kind="stable")[: np.isfinite(stated).sum()]


@lru_cache(maxsize=10_000)
def drawn_from(n: int, n_rows: int, wanted: float = WANTED, looks: int = 1) -> int:
    """Return how many of the surest rows four of five of n answers are drawn from.

    As many as allow a line, should all answers be right. Where that is any number, the
    larger the more answers there are: rates were compared on development sets.
    """
    upper, risk = min(n - n // 5, n_rows), risk_of(looks)
    if tail(n_rows, too_many(n_rows, wanted), upper, 0) <= risk:
        return min(n_rows, max(4 * upper, n_rows * n // PACE))
    sizes = np.arange(upper, min(n_rows, MOST) + 1)
    enough = tail(sizes, too_many(sizes, wanted), upper, 0) <= risk
    return int(sizes[enough].max(initial=upper))


def risk_of(looks: int) -> float:
    """Return the risk to promise too much at a look, half of that at the one before."""
    return (1 - CONFIDENCE) / 2 ** (looks - 1)


def draw_surest(reliability, n, without, random, wanted=WANTED, looks=1) -> np.ndarray:
    """Draw n rows to check: four of five among the surest, in the order to ask."""
    rows = surest_first(reliability, without)
    among = drawn_from(n, len(rows), wanted, looks)
    turn = random.permutation(len(reliability))  # the same for any n: checks can grow
    upper, others = (p[np.argsort(turn[p])] for p in np.split(rows, [among]))
    n_upper = min(len(upper), max(n - n // 5, n - len(others)))
    chosen = upper[:n_upper], others[: n - n_upper]
    when = np.concatenate([(np.arange(len(c)) + 0.5) / max(1, len(c)) for c in chosen])
    return np.concatenate(chosen)[np.argsort(when, kind="stable")]


def sure_line(
    order: np.ndarray,
    among: int,
    checked: Any,
    right: Any,
    *,
    wanted: float = WANTED,
    looks: int = 1,
) -> SureLine:
    """Find the sure line from checked rows.

    ``order`` are all rows, the surest first, of which the first ``among`` were drawn
    from at random; ``right`` says of every checked row whether its label is.
    """
    drawn = pd.Index(order).get_indexer(np.asarray(checked, dtype=np.intp))
    wrong = drawn[(drawn >= 0) & ~np.asarray(right, dtype=bool)]
    drawn = drawn[drawn >= 0]
    sizes = np.unique(np.ceil(among * np.arange(1, STEPS + 1) / STEPS).astype(int))
    n = np.searchsorted(np.sort(drawn), sizes)
    found = np.searchsorted(np.sort(wrong), sizes)
    limit, risk = too_many(sizes, wanted), risk_of(looks)
    confidence = 1 - 2 * (1 - CONFIDENCE) + risk  # of this and all looks before
    able = np.flatnonzero(tail(sizes, limit, n, 0) <= risk)
    if len(able):
        sizes, n, found, limit = (one[able[0] :] for one in (sizes, n, found, limit))
        passed = tail(sizes, limit, n, found) <= risk
        n_passed = len(passed) if passed.all() else int(passed.argmin())
        if n_passed:
            top = order[: sizes[n_passed - 1]]
            return SureLine(top, wanted, confidence, 0, len(top) / len(order))
    n_wrong = int((wrong < among).sum())
    more = missing(len(order), len(drawn), n_wrong, wanted, looks + 1)
    return SureLine(order[:0], wanted, confidence, *more)


def missing(
    n_rows: int, n: int, n_wrong: int, wanted: float, looks: int
) -> tuple[int, float]:
    """Return how many answers more would allow a line, and how much it would cover."""
    totals = np.arange(n + 1, min(n + PACE, n_rows))
    sizes = [drawn_from(total, n_rows, wanted, looks) for total in totals.tolist()]
    upper = np.minimum(sizes, totals - totals // 5)
    enough = tail(sizes, too_many(sizes, wanted), upper, n_wrong) <= risk_of(looks)
    if not enough.any():
        return 0, 0.0
    first = int(enough.argmax())
    return first + 1, sizes[first] / n_rows


def too_many(size: Any, wanted: float) -> Any:
    """Return the fewest wrong labels with which a set is less right than wanted."""
    return np.floor(np.multiply(size, 1 - wanted) + 1e-9) + 1


def tail(size: Any, limit: Any, n: Any, found: Any) -> np.ndarray:
    """Return the chance that n of a set with so many wrong labels show so few."""
    size, limit, n, found = np.broadcast_arrays(
        *map(np.double, (size, limit, n, found))
    )
    x = np.arange(int(found.max(initial=0)) + 1).reshape(-1, *[1] * size.ndim)
    ways = log_choose(limit, x) + log_choose(size - limit, n - x)
    chances = np.exp(ways - log_choose(size, n)) * (x <= found)
    return np.minimum(chances.sum(axis=0), 1)


def log_choose(n: Any, k: Any) -> np.ndarray:
    """Return the logarithm of how many choices of k among n there are."""
    there = (k >= 0) & (k <= n)
    k = np.where(there, k, 0)
    n = np.maximum(n, k)
    ways = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.where(there, ways, -np.inf)


# ---- reliability that learns from the check ------------------------------------------


def recalibrated(reliability: Any, checked: Any, right: Any) -> np.ndarray:
    """Return reliability as checked labels correct it, in the same order.

    With r the reliability, the chance of a right label is σ(a + b logit r), b > 0, and
    before any answer a is near 0 and b near 1, as label-free reliability was off on
    development sets. What is returned is the mean over all a and b by their posterior:
    few answers change little, fewer than ``ENOUGH`` nothing. Rows may have been drawn
    by their reliability.
    """
    stated = np.asarray(reliability, dtype=np.float64)
    if len(checked) < ENOUGH:
        return stated
    logits = special.logit(np.clip(stated, 1e-12, 1 - 1e-12))
    a, b = np.meshgrid(np.linspace(-5, 5, 81), np.linspace(0.05, 2.5, 50))
    log_prior = -((a / SPREAD[0]) ** 2 + ((b - 1) / SPREAD[1]) ** 2) / 2
    x, y = logits[checked, None, None], np.asarray(right)[:, None, None]
    log_likelihood = special.log_expit(np.where(y, 1, -1) * (a + b * x)).sum(axis=0)
    weight = special.softmax(log_prior + log_likelihood)
    at = np.linspace(-28, 28, 225)
    mean = (weight * special.expit(a + b * at[:, None, None])).sum(axis=(1, 2))
    return np.where(np.isfinite(stated), np.interp(logits, at, mean), np.nan)
