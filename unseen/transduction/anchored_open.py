"""Lists that are too long, and rows of no class: what anchored self-training may do.

    R  (n, N)   soft labels            n_c, s_c   rows of a class and their sum
    Z  (N, r)   prototypes             p = 1/v    how sure they are, per direction

First those classes go that few rows go to, and that the rows would lose little by:
others would take these rows as gladly (:func:`to_drop`). What is left may still share
the rows of a class among two, or hold a part of it that looks different. A class needs
a mean of its own, and that has a price. With the mean integrated out, its rows are as
likely as

    E(n, s; Z) = Σ_j [(s_j + p_j Z_j)² / (n + p_j) - p_j Z_j² - log(1 + n / p_j)] / 2

but for terms that no labelling changes. A class goes if its rows are likelier with the
next best classes (:func:`unneeded`). Rows count half: they are not independent.

A class that is there may have gone before its rows could speak for it, and one that is
like it has taken them. So once nobody goes any more, the rows of those that are left
are dealt anew among all prototypes of the list, one to each and as likely as can be
(:func:`rematched`), and whoever gets rows that way is back. A seen class, which rows of
its own have placed, does not come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from unseen.core.classes import Candidates
from unseen.core.outcome import nearest_scorer
from unseen.transduction.rounds import evidence

ABSENT = 0.2  # of what an effective class has: a class that rows lose less by may go
FEW = 0.5  # of the rows of an effective class: with more it is not dropped for that
ROWS_COUNT = 0.5  # one self-labelled row, as evidence for a class
SURER = 2.0  # log-evidence by which rows must fit another class better
FAR = np.exp(-30)  # chance of others that rows far from everybody leave at least


def gaussian_scores(B: np.ndarray, m: np.ndarray, q: np.ndarray | float = 1.0):
    """Return Σ q b m - Σ q m²/2 for every row and class."""
    coef, offset = nearest_scorer(m, q)
    return B @ coef.T + offset


def effective_number(counts: np.ndarray) -> float:
    """Return how many classes of one size would be as uneven: n² / Σ n_c².

    >>> import numpy as np
    >>> from unseen.transduction.anchored_open import effective_number
    >>> effective_number(np.array([5.0, 5, 0, 0]))
    2.0
    """
    squares = np.sum(counts * counts)
    return float(counts.sum() ** 2 / squares) if squares > 0 else float(len(counts))


def relative_to_effective(shares: np.ndarray) -> np.ndarray:
    """Return shares in units of what an effective class has."""
    return shares * effective_number(shares) / max(shares.sum(), 1e-300)


# ---- who is there --------------------------------------------------------------------


def without_absent(teach: Callable, offered: Candidates, prototypes: Callable) -> Any:
    """Teach, drop who is not there, and teach anew while anybody comes or goes.

    ``teach(candidates)`` returns a learner, ``prototypes(candidates)`` their Z and the
    rows these rest on.
    """
    here, met = np.ones(len(offered), dtype=bool), []
    for _ in range(12):
        met.append(here.tolist())
        learner = teach(offered.only(here))
        here = still_there(learner, here, *prototypes(offered))
        if here.tolist() in met:
            break
    return learner


def still_there(learner: Any, here: np.ndarray, Z, own_rows) -> np.ndarray:
    """Return which of the offered classes take part next."""
    B, now = learner.sample, here.copy()
    S = learner.scores(B) + learner.u - learner.handicap
    lost = evidence(softmax(S, axis=1), FAR)
    drop = to_drop(lost, learner.counts) & (len(learner.m) > 1)
    sure = 1 / learner.anchors.variances + own_rows[:, None]
    # Rows that weigh less than the prototypes cannot say which of these are wrong.
    if not drop.any() and learner.weight >= 0.5 and len(learner.m) > 1:
        drop = unneeded(S, B, Z[here], sure[here])
    if drop.any():
        now[here] = ~drop
    elif not here.all():  # the rows of those left may be those of one who went
        own = np.flatnonzero(here)
        R = ROWS_COUNT * (S.argmax(axis=1)[:, None] == np.arange(len(own)))
        now[:] = False
        now[rematched(R.sum(axis=0), R.T @ B, Z, sure, own, own_rows == 0)] = True
    return now


def to_drop(losses: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return which classes most likely have no row: at most a third, the smallest.

    Those that the rows would lose little by, and that have not got a class's rows: two
    classes that are there and alike could do without one another as well. A class that
    only shares the rows of another is of little evidence, however many it has.
    """
    little = relative_to_effective(losses) < ABSENT
    few = relative_to_effective(counts) < FEW
    n = max(1, len(losses) // 3)
    smallest = np.isin(np.arange(len(losses)), np.argsort(losses, kind="stable")[:n])
    return little & few & smallest


def log_evidence(n, s: np.ndarray, Z: np.ndarray, p: np.ndarray) -> np.ndarray:
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
    for _ in range(max(1, N // 3)):
        gains = gains_without(S, B, Z, p)
        gains[gone] = -np.inf
        worst = int(gains.argmax())
        if gains[worst] <= 0 or N - gone.sum() <= 2:
            break
        gone[worst] = True
        S[:, worst] = -np.inf
    return gone


def gains_without(S: np.ndarray, B: np.ndarray, Z: np.ndarray, p) -> np.ndarray:
    """Return what the log-evidence rises by if each class leaves its rows to others.

    Every row goes to the class with the next best score, and may move its mean.
    """
    (n_rows, N), first, rest = S.shape, S.argmax(axis=1), S.copy()
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


def rematched(n, s, Z: np.ndarray, p, own: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the prototypes that K clusters of rows are likeliest with, one each.

    A cluster may stay with the one it has, ``own`` (K,), or go to another that may be
    gone to, ``new`` (N,), if it is likelier there by more than ``SURER``.
    """
    E = [log_evidence(n, s, z, sure) for z, sure in zip(Z, p, strict=True)]
    stays = own[:, None] == np.arange(len(Z))
    likely = np.column_stack(E) + SURER * stays
    likely[~(new | stays)] = -np.inf
    return linear_sum_assignment(likely, maximize=True)[1]


# ---- rows of no class ----------------------------------------------------------------


def background_evidence(B: np.ndarray, C: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return how likely rows B are under one broad class, and how long they are.

    The broad class is as wide as the seen class means C (M, r) scatter, in three
    columns::

        log N(b; 0, I + CᵀC/M) - log N(b; 0, I)      beside learned classes
        |b|² / 2r
        the first beside classes that are only predicted, and wider for it

        log N(b; Z_c, I + V) - log N(b; 0, I) = S_ic + Σ_j ((1 - q_j) b_ij² + log q_j)/2

    and the last term, the same for all classes, is taken off the background.
    """
    # I - (I + CᵀC/M)⁻¹ = V s²/(M + s²) Vᵀ by singular values s of C: the sums of
    # squares themselves, of means far apart, would round M away.
    _, s, Vt = np.linalg.svd(C, full_matrices=False)
    inside = (B @ Vt.T) * (s / np.hypot(s, len(C) ** 0.5))
    broad = (np.sum(inside**2, axis=1) - np.log1p(s**2 / len(C)).sum()) / 2
    early = broad - ((B * B) @ (1 - q) + np.log(q).sum()) / 2
    return np.column_stack([broad, (B * B).mean(axis=1) / 2, early])
