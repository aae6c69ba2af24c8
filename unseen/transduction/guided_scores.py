"""How :class:`GuidedMixture` scores new rows, after it has learned from a pile.

x  (d,)      a row of unit length less the pile's mean
T  (d, r)    how rows are turned; with several views, each by itself
scores = Σ_v  x_v·coef_v / |x_v T_v|  +  intercept
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unseen.core.base import LinearScorer
from unseen.core.linalg import inverse_lengths, to_unit
from unseen.transduction.guided_passes import widened


def as_scorer(V: np.ndarray, u: np.ndarray, turn: np.ndarray | None) -> LinearScorer:
    """Return V as coefficients of rows before they are turned, and intercepts."""
    coef = V[:, :-1] if turn is None else V[:, :-1] @ turn.T
    return LinearScorer(coef, V[:, -1] + u)


class Turning(NamedTuple):
    """How unit rows are turned: less a mean, and by a matrix, view by view.

    ``places`` has the columns of every view before and after; a view then has unit
    length.
    """

    mean: np.ndarray
    turn: np.ndarray | None
    places: Sequence[tuple[slice, slice]] = ((slice(None), slice(None)),)


def turned_scores(X: np.ndarray, scorer: LinearScorer, turning: Turning) -> np.ndarray:
    """Return scores of unit rows less the mean, turned, at unit length again."""
    mean, turn, places = turning
    rows, coef = to_unit(X) - mean.astype(X.dtype), scorer.coef.T.astype(X.dtype)
    scores = scorer.intercept.astype(X.dtype)
    for before, after in places:
        own, around = rows[:, before], rows[:, before]
        if turn is not None:
            around = own @ turn[before, after].astype(X.dtype)
        scores = scores + own @ coef[before] * inverse_lengths(around)[:, None]
    return scores


def unlearned_scorer(
    around: np.ndarray, turning: Turning, pulls: tuple | list[tuple[float, float]]
) -> LinearScorer:
    """Score classes that the pile was not asked about, as classes without rows.

    ``around`` are their prototypes as names were centred, ``pulls`` what such a class
    has in every view: times its direction, and times what the mean row says of it.
    """
    mean, turn, places = turning
    pulls = [pulls] if isinstance(pulls, tuple) else pulls  # of one view, in 0.1
    coefs, intercept = [], np.zeros(len(around))
    for (before, after), (direction, offset) in zip(places, pulls, strict=True):
        own, to = around[:, before], None if turn is None else turn[before, after]
        V = widened(direction * to_unit(own if to is None else own @ to), 0)
        coefs.append(as_scorer(V, np.zeros(len(V)), to).coef)
        intercept += offset * (own @ mean[before])
    return LinearScorer(np.hstack(coefs), intercept)
