"""Which classes of a list are not in the pile: what anchored self-training may drop.

    R  (n, N)   soft labels            n_c, s_c   rows of a class and their sum
    Z  (N, r)   prototypes             p = 1/v    how sure they are, per direction

First those go that few rows go to, and that the pile would lose little by: others would
take these rows as gladly (:func:`to_drop`). What is left may still share the rows of a
class among two, or hold a part of it that looks different. A class needs a mean of its
own, and that has a price. With the mean integrated out, its rows are as likely as

    E(n, s; Z) = Σ_j [(s_j + p_j Z_j)² / (n + p_j) - p_j Z_j² - log(1 + n / p_j)] / 2

but for terms that no labelling changes. A class goes if its rows are likelier with the
next best classes (:func:`unneeded`). Rows count half: they are not independent.

A class that is there may have gone before its rows could speak for it, and one that is
like it has taken them. So once nobody goes any more, the rows of those that are left
are dealt anew among all prototypes of the list, one to each and as likely as can be
(:func:`rematched`), and whoever gets rows that way is back. A seen class,
which rows of its own have placed, does not come back.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

ABSENT = 0.2  # of what an effective class has: a class the pile loses less by may go
FEW = 0.5  # of the rows of an effective class: with more it is not dropped for that
ROWS_COUNT = 0.5  # one self-labelled row, as evidence for a class
SURER = 2.0  # log-evidence by which rows must fit another class better


def effective_number(counts: np.ndarray) -> float:
    """Return how many classes of one size would be as uneven: n² / Σ n_c².

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.transduction.anchored_absent import effective_number
    >>> effective_number(np.array([5.0, 5, 0, 0]))
    2.0
    """
    squares = np.sum(counts * counts)
    return float(counts.sum() ** 2 / squares) if squares > 0 else float(len(counts))


def relative_to_effective(shares: np.ndarray) -> np.ndarray:
    """Return shares in units of what an effective class has."""
    return shares * effective_number(shares) / max(shares.sum(), 1e-300)


def most_at_once(n_classes: int) -> int:
    """Return how many classes may go before the rounds start again: a third."""
    return max(1, n_classes // 3)


def to_drop(losses: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return which classes most likely have no row: at most a third, the smallest.

    Those that the pile would lose little by, and that have not got a class's rows:
    two classes that are there and alike could do without one another as well.
    """
    little = relative_to_effective(losses) < ABSENT
    few = relative_to_effective(counts) < FEW
    smallest = np.argsort(losses, kind="stable")[: most_at_once(len(losses))]
    return little & few & np.isin(np.arange(len(losses)), smallest)


def log_evidence(
    n: np.ndarray, s: np.ndarray, Z: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """Return E(n, s; Z) of every class."""
    n = n[:, None]
    fit = (s + p * Z) ** 2 / (n + p) - p * Z * Z
    return np.sum(fit - np.log1p(n / p), axis=1) / 2


def unneeded(S: np.ndarray, B: np.ndarray, Z: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the classes without which rows B, with scores S, are likelier.

    One after another, the one that is needed least first, as a class that took its rows
    is needed more; at most a third.
    """
    N, S = len(Z), S.copy()
    gone = np.zeros(N, dtype=bool)
    for _ in range(most_at_once(N)):
        gains = gains_without(S, B, Z, p)
        gains[gone] = -np.inf
        worst = int(gains.argmax())
        if gains[worst] <= 0 or N - gone.sum() <= 2:
            break
        gone[worst] = True
        S[:, worst] = -np.inf
    return gone


def gains_without(
    S: np.ndarray, B: np.ndarray, Z: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """Return what the log-evidence rises by if each class leaves its rows to others.

    Every row goes to the class with the next best score, and may move its mean.
    """
    n_rows, N = S.shape
    first = S.argmax(axis=1)
    rest = S.copy()
    rest[np.arange(n_rows), first] = -np.inf
    pairs, place = np.unique(first * N + rest.argmax(axis=1), return_inverse=True)
    weights = np.full(n_rows, ROWS_COUNT)
    gather = sparse.csr_array((weights, (place, np.arange(n_rows))))
    moved_n, moved_s = gather.sum(axis=1), gather @ B
    leaves, takes = pairs // N, pairs % N
    ones, columns = np.ones(len(pairs)), np.arange(len(pairs))
    own = sparse.csr_array((ones, (leaves, columns)), shape=(N, len(pairs)))
    n, s = own @ moved_n, own @ moved_s
    now = log_evidence(n, s, Z, p)
    more = log_evidence(n[takes] + moved_n, s[takes] + moved_s, Z[takes], p[takes])
    return own @ (more - now[takes]) - now


def clusters(codes: np.ndarray, B: np.ndarray, n_classes: int) -> tuple:
    """Return how many rows of B every class has, and their sums, as evidence."""
    R = ROWS_COUNT * (codes[:, None] == np.arange(n_classes))
    return R.sum(axis=0), R.T @ B


def rematched(
    n: np.ndarray,
    s: np.ndarray,
    Z: np.ndarray,
    p: np.ndarray,
    own: np.ndarray,
    new: np.ndarray,
) -> np.ndarray:
    """Return the prototypes that K clusters of rows are likeliest with, one each.

    A cluster may stay with the one it has, ``own`` (K,), or go to another that may be
    gone to, ``new`` (N,), if it is likelier there by more than ``SURER``.

    Examples
    --------
    Prototypes at 0, 4 and 9; of two clusters, one around 8 and one around 3.

    >>> import numpy as np
    >>> from unseen.transduction.anchored_absent import rematched
    >>> n, s = np.array([10.0, 10.0]), np.array([[80.0], [30.0]])
    >>> Z, p = np.array([[0.0], [4.0], [9.0]]), np.ones((3, 1))
    >>> rematched(n, s, Z, p, np.array([2, 0]), np.ones(3, dtype=bool))
    array([2, 1])
    """
    E = [log_evidence(n, s, z, sure) for z, sure in zip(Z, p, strict=True)]
    stays = own[:, None] == np.arange(len(Z))
    likely = np.column_stack(E) + SURER * stays
    likely[~(new | stays)] = -np.inf
    return linear_sum_assignment(likely, maximize=True)[1]
