"""What a pass of :class:`GuidedMixture` asks of every block of rows.

Letters are those of guided_rounds.py. A pass makes  L = [b, 1] Vᵀ + κ W R + u  and
R = softmax(L), and sums

    n_c = Σ_i R_ic,   q_c = Σ_i R_ic²,   M = Rᵀ B,   and the labels argmax L - u.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import softmax

from unseen.core.linalg import to_unit
from unseen.rows.labelling import RowState
from unseen.transduction.guided_measures import SMALL

LITTLE = 1e-4  # soft labels below this shape no mean


class PassSums(NamedTuple):
    """What a pass adds up; see the head of this file."""

    counts: np.ndarray
    squares: np.ndarray
    totals: np.ndarray
    free: np.ndarray


class Clusters(NamedTuple):
    """Class means in V: unit directions, lengths, and what their cosines count."""

    units: np.ndarray
    lengths: np.ndarray
    factor: float


class Pass(NamedTuple):
    """What every block is asked in a pass."""

    turn: np.ndarray | None
    V: np.ndarray
    u: np.ndarray
    graph: sparse.csr_array | None
    weight: float
    temperature: float
    certain: float
    clusters: Clusters | None


def widened(Z: np.ndarray, last: Any) -> np.ndarray:
    """Return Z with one more column."""
    return np.column_stack([Z, np.broadcast_to(last, len(Z))])


def turned(block: np.ndarray, kept: dict, turn: np.ndarray | None) -> np.ndarray:
    """Return the rows turned, at unit length; memory keeps them between passes."""
    if "rows" not in kept or kept["turn"] is not turn:
        kept["turn"], kept["rows"] = (
            turn,
            to_unit(block if turn is None else block @ turn),
        )
    return kept["rows"]


def describe(block, kept, turn):
    """Sum products and entries of turned rows, and the lengths of rows."""
    B = turned(block, kept, turn)
    lengths = np.sqrt(np.einsum("ij,ij->i", block, block)).sum()
    return None, (B.T @ B, B.sum(axis=0), lengths)


def soft_labels(block, kept, asked: Pass, given=None):
    """Return labels and reliability of a block, and the sums of a pass."""
    B = turned(block, kept, asked.turn)
    L, R = posteriors(B, kept, asked, given)
    free = (L - asked.u).argmax(axis=1)
    alone = without_own(L, R, B, asked.clusters)
    state, _ = answered(L, alone, asked.temperature, asked.certain, given)
    kept["soft"] = R
    squares = np.einsum("ij,ij->j", R, R)
    sizes = np.bincount(free, minlength=R.shape[1])
    return state, (R.sum(axis=0), squares, R.T @ B, sizes)


def answered(L, alone, temperature: float, certain: float, given) -> tuple:
    """Return labels with their reliability, and labels; what is given is certain."""
    codes, K = L.argmax(axis=1), L.shape[1]
    reported = softmax(alone / temperature, axis=1)[np.arange(len(L)), codes]
    reported = doubted(reported, certain, K)
    if given is not None:
        known = given >= 0
        codes[known], reported[known] = given[known], 1
    small = codes.astype(np.min_scalar_type(K))
    return RowState(small, reported, small, reported), codes


def posteriors(B, kept, asked: Pass, given) -> tuple[np.ndarray, np.ndarray]:
    """Return L + u and R of turned rows; what is given is certain."""
    L = said(B, kept.get("soft"), asked) + asked.u
    return L, certain_where_given(softmax(L, axis=1), given)


def said(B, soft, asked: Pass) -> np.ndarray:
    """Return L without what sizes add: of names and clusters, and of neighbours."""
    L = B @ asked.V[:, :-1].T + asked.V[:, -1]
    if asked.graph is not None and soft is not None:
        L += asked.weight * (asked.graph @ soft)
    return L


def certain_where_given(R: np.ndarray, given) -> np.ndarray:
    """Return soft labels, those of given rows certain."""
    if given is not None:
        rows = np.flatnonzero(given >= 0)
        R[rows] = 0
        R[rows, given[rows]] = 1
    return R


def without_own(L, R, B, clusters: Clusters | None) -> np.ndarray:
    """Return L as if no row had shaped the means it is compared with.

    A row of weight R adds R b to a mean m. Without it, with s = b·m / |m|, its cosine
    is (|m| s - R) / sqrt(|m|² - 2 R |m| s + R²): what is left is known in closed form.
    """
    if clusters is None:
        return L
    L = L.copy()
    units, lengths, factor = clusters
    for c, length in enumerate(lengths):
        rows = np.flatnonzero(R[:, c] > LITTLE)
        share, s = R[rows, c], B[rows] @ units[c]
        rest = np.sqrt(np.maximum(length**2 - 2 * share * length * s + share**2, SMALL))
        L[rows, c] += factor * ((length * s - share) / rest - s)
    return L


def doubted(posterior: np.ndarray, certain: float, K: int) -> np.ndarray:
    """Return posteriors of which a share is certain, and the rest any of K classes."""
    return certain * posterior + (1 - certain) / K


def carried(block, kept, asked: Pass, turn, given=None):
    """Sum rows by the soft labels of the last pass, turned another way."""
    if "soft" not in kept:  # nothing is kept of files and clusters: made once more
        B = turned(block, kept, asked.turn)
        kept["soft"] = posteriors(B, kept, asked, given)[1]
    return None, (kept["soft"].T @ turned(block, kept, turn),)
