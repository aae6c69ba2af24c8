"""Scores of rows that are linear: made in blocks, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unseen._linalg import inverse_lengths
from unseen._threads import STRIP_NUMBERS, each
from unseen.competition import Competition
from unseen.rows.pile import not_finite

SCORED_ELEMENTS = 2**16  # numbers that are scored at a time: they stay in the cache
SCORED_PRODUCTS = 2**24  # of which more are, if classes are few: calls take time, too
ROWS_PER_CLASS = 8  # fewer would unpack the coefficients too often


class LinearScorer(NamedTuple):
    """One linear score per class: ``x @ coef.T + intercept``.

    ``coef`` has shape (n_classes, n_features), ``intercept`` (n_classes,).
    """

    coef: np.ndarray
    intercept: np.ndarray


class LinearRule(NamedTuple):
    """Who competes, and how rows are scored: all that answers for new rows.

    A model that was adapted holds one; prediction, Dask, model files and ONNX take it.
    """

    competition: Competition
    scorer: LinearScorer
    unit_rows: bool


def decisions(competition: Competition, scores: np.ndarray) -> np.ndarray:
    """Return the scores, or one number per row where two classes compete."""
    scores = competition.spread(scores)
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def best_names(competition: Competition, scores: np.ndarray) -> np.ndarray:
    """Return the name of the best-scoring class of every row."""
    return competition.names[scores.argmax(axis=1)]


def linear_scores(X: np.ndarray, scorer: LinearScorer, unit_rows: bool) -> np.ndarray:
    """Return ``x @ coef.T + intercept`` with each row scaled to unit length or not."""
    scores = np.empty((len(X), len(scorer.intercept)), dtype=X.dtype)

    def take(here: slice, block: np.ndarray) -> None:
        scores[here] = block

    score_blocks(X, scorer, unit_rows, take)
    return scores


def best_codes(X: np.ndarray, scorer: LinearScorer, unit_rows: bool) -> np.ndarray:
    """Return the number of the best-scoring class of every row; scores are not kept."""
    codes = np.empty(len(X), dtype=np.intp)

    def take(here: slice, block: np.ndarray) -> None:
        block.argmax(axis=1, out=codes[here])

    score_blocks(X, scorer, unit_rows, take)
    return codes


def rows_scored(n_features: int, n_classes: int) -> int:
    """Return how many rows are scored at a time."""
    most = SCORED_PRODUCTS // max(1, n_classes)
    numbers = min(STRIP_NUMBERS, max(SCORED_ELEMENTS, most))
    return max(1, numbers // n_features, ROWS_PER_CLASS * n_classes)


def score_blocks(
    X: np.ndarray,
    scorer: LinearScorer,
    unit_rows: bool,
    take: Callable[[slice, np.ndarray], None],
) -> None:
    """Hand over the scores of each block of rows; the next takes their place.

    Blocks small enough for the cache, so that neither the lengths of the rows nor what
    is made of the scores costs a second journey through memory, and X is not copied.
    Threads share many blocks, and ``take`` is called by all of them.
    """
    with np.errstate(over="ignore"):  # float32 has no number for what float64 learned
        coef = np.asarray(scorer.coef.T, dtype=X.dtype, order="F")
        intercept = scorer.intercept.astype(X.dtype)
    step = rows_scored(X.shape[1], len(intercept))

    def score(strip: range) -> None:
        room = np.empty((min(step, len(X)), len(intercept)), dtype=X.dtype)
        for start in strip:
            here = slice(start, start + step)
            rows = X[here]
            with np.errstate(all="ignore"):  # what is not finite is told below
                block = np.matmul(rows, coef, out=room[: len(rows)])
                if unit_rows:
                    block *= inverse_lengths(rows)[:, None]
                block += intercept
            if not np.isfinite(block).all():
                raise not_finite(X)
            take(here, block)

    starts = range(0, len(X), step)
    several = max(1, STRIP_NUMBERS // (step * X.shape[1]))
    each(score, [starts[i : i + several] for i in range(0, len(starts), several)])
