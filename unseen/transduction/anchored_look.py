"""One look of anchored self-training at a block of rows.

    B  (n, r)   rows, whitened       m  (N, r)  class means       C  (M, r)  of the seen

    S_ic = Σ_j q_j b_ij m_cj - Σ_j q_j m_cj²/2
    R_i  = softmax(S_i / T + u)

Beside the classes, a broad background may take rows: one Gaussian as wide as the seen
class means scatter. Its score is on the scale of the others, without log N(b; 0, I),

    log N(b; 0, I + CᵀC/M) - log N(b; 0, I)

and while means are only predicted, q_j = 1 / (1 + v_j), those classes are wider, too:

    log N(b; Z_c, I + V) - log N(b; 0, I) = S_ic + Σ_j ((1 - q_j) b_ij² + log q_j) / 2

The last term, the same for all classes, is taken off the background instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from unseen.rows.labelling import best_score, digest_of, held


def gaussian_scores(B: np.ndarray, m: np.ndarray, q: np.ndarray | float = 1.0):
    """Return Σ q b m - Σ q m²/2 for every row and class."""
    return B @ (m * q).T - np.sum(q * m * m, axis=1) / 2


class Means(NamedTuple):
    """What scores rows: class means, and how far each direction is trusted."""

    m: np.ndarray
    q: np.ndarray | float = 1.0


class Background(NamedTuple):
    """A Gaussian as wide as the seen class means: ``half`` (r, M) and a constant.

    ``metric`` is q while means are only predicted.
    """

    half: np.ndarray
    constant: float
    metric: np.ndarray

    @classmethod
    def of(cls, C: np.ndarray, metric: np.ndarray) -> Background:
        """Return the background of seen class means C."""
        # (I + CᵀC/M)⁻¹ = I - Cᵀ (M I + C Cᵀ)⁻¹ C, and the same for the determinant.
        lower = np.linalg.cholesky(C @ C.T + len(C) * np.eye(len(C)))
        log_det = 2 * np.log(np.diag(lower)).sum() - len(C) * np.log(len(C))
        half = solve_triangular(lower, C, lower=True).T
        return cls(half, float(log_det) / 2, metric)

    def scores(self, B: np.ndarray) -> np.ndarray:
        """Return its score of every row, beside classes that have learned."""
        return np.sum((B @ self.half) ** 2, axis=1) / 2 - self.constant

    def start_scores(self, B: np.ndarray) -> np.ndarray:
        """Return its score of every row, beside classes that are only predicted."""
        wider = (B * B) @ (1 - self.metric) + np.log(self.metric).sum()
        return self.scores(B) - wider / 2


# ---- what is done to a block ---------------------------------------------------------


def scores_of(block: np.ndarray, kept: dict, means: Means) -> np.ndarray:
    """Return the scores of a block, which are kept until the means move."""
    if kept.get("means") is not means:
        kept.clear()
        kept["means"], kept["S"] = means, gaussian_scores(block, *means)
    return kept["S"]


def look(
    block, kept, means, temperature, log_sizes, known, background=None, given=None
):
    """Label a block; return its state and its part of the totals.

    ``background`` is a :class:`Background` with its log size. What is given is in the
    prototypes already, and no part of the totals.
    """
    S = scores_of(block, kept, means)
    L = S / temperature + log_sizes
    if background is not None:
        broad, log_size = background
        scored = broad.start_scores if np.ndim(means.q) else broad.scores
        L = np.column_stack([L, scored(block) / temperature + log_size])
    R, evidence = posteriors(L)
    state = digest_of(S + known, best_score)
    if given is not None:
        R[given >= 0], evidence[given >= 0] = 0, 0
        state = held(state, given)
    n = S.shape[1]
    labels = np.bincount(state.codes, minlength=n)
    R, taken = R[:, :n], R[:, n:]
    return state, (R.sum(axis=0), R.T @ block, labels, evidence.sum(), taken.sum())


def posteriors(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return softmax(S) and log Σ exp S of every row, by one exponential."""
    best = S.max(axis=1, keepdims=True)
    R = np.exp(S - best)
    total = R.sum(axis=1, keepdims=True)
    R /= total
    return R, (best + np.log(total))[:, 0]


def temper(block, kept, means, known, temperature) -> tuple[Any, tuple]:
    """Return label and tempered posterior of each row of a block."""
    S = scores_of(block, kept, means) + known
    lead = S - S.max(axis=1, keepdims=True)
    best = 1 / np.exp(lead / temperature).sum(axis=1)  # the largest of a softmax
    state = digest_of(S, lambda scores: best)
    return state, (np.bincount(state.codes, minlength=S.shape[1]),)
