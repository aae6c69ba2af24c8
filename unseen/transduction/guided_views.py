"""The guided mixture over several views of the same rows: features of two encoders.

Every view has a mixture of its own (guided_rounds.py): its names, clusters, neighbours,
whitening, and its own λ and a. What they share is one soft label per row:

    L = Σ_v w_v L_v + u,     R = softmax(L),     L_v  what view v says, as in a mixture

The worth of a view is measured on the pile. e_v is how many rows would have another
label if view v were asked alone, and counts as the view's error:

    w_v = (1 / e_v) / Σ (1 / e),        equal until classes have been learned

A view that errs often contradicts what the views agree on, and loses its say; errors of
views that are equally good fall on different rows, and such views keep theirs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import softmax

from unseen.core.base import LinearScorer
from unseen.rows.holders import Holder
from unseen.transduction.guided_passes import (
    Pass,
    PassSums,
    answered,
    certain_where_given,
    said,
    turned,
    without_own,
)
from unseen.transduction.guided_rounds import (
    SETTLING,
    START_SPREAD,
    Mixture,
    doubt,
)

__all__ = ["MixedViews", "columns_of", "mixture_of", "views_of"]


def columns_of(widths) -> list[slice]:
    """Return where each view lies in joined rows.

    >>> from unseen.transduction.guided_views import columns_of
    >>> columns_of((2, 3))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    edges = np.cumsum([0, *widths]).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]


def views_of(rows: Holder, places: list[slice]) -> list[Holder]:
    """Return each view of joined rows; rows without views are their only one."""
    return [rows] if len(places) == 1 else [ViewRows(rows, at) for at in places]


def mixture_of(rows: Holder, starts, places: list[slice], settings: tuple):
    """Return the mixture of rows, of one view or several, before its rounds."""
    if len(starts) > 1:
        return MixedViews(rows, starts, places, settings)
    P, offset = starts[0]
    return Mixture(rows, P, offset, *settings)


class ViewRows(Holder):
    """One view of rows that somebody else holds."""

    def __init__(self, rows: Holder, at: slice):
        self.rows: Any = rows
        self.at = at
        self.shape = len(rows), at.stop - at.start

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return the view, if all rows are in memory."""
        return np.asarray(self.rows)[:, self.at]

    def __getattr__(self, name: str) -> Any:
        """Return ``blocks`` of rows on a cluster: their states are cut by these."""
        if name == "blocks":
            return self.rows.blocks
        raise AttributeError(name)

    @property
    def B(self) -> np.ndarray:  # noqa: N802, the name of the matrix
        """The view in float64; only memory has it."""
        return self.rows.B[:, self.at]

    def run(self, work, *arguments, states=()):
        """See ``Holder.run``."""
        return self.rows.run(in_view, self.at, work, *arguments, states=states)

    def sample(self, step):
        """See ``Holder.sample``."""
        return self.rows.sample(step)[:, self.at]


def in_view(block, kept, at: slice, work, *rest):
    """Meet one view of a block; what is kept is kept by view."""
    return work(block[:, at], kept.setdefault(at.start, {}), *rest)


# ---- passes --------------------------------------------------------------------------


class Together(NamedTuple):
    """What every block is asked in a pass: of each view, at its columns."""

    views: list[Pass]
    places: list[slice]
    weights: np.ndarray
    u: np.ndarray
    temperature: float
    certain: float


def joint_labels(block, kept, asked: Together, given=None):
    """Return labels and reliability of a block, the sums of a pass, and all e_v."""
    seen, scores = looks(block, kept, asked)
    L, R = joint_posteriors(scores, asked, given)
    alone = L
    for B, one, weight in zip(seen, asked.views, asked.weights, strict=True):
        clusters = one.clusters
        if clusters is not None:
            clusters = clusters._replace(factor=weight * clusters.factor)
        alone = without_own(alone, R, B, clusters)
    state, codes = answered(L, alone, asked.temperature, asked.certain, given)
    others = [np.sum((one + asked.u).argmax(axis=1) != codes) for one in scores]
    kept["soft"] = R
    free = np.bincount((L - asked.u).argmax(axis=1), minlength=R.shape[1])
    squares, totals = np.einsum("ij,ij->j", R, R), (R.T @ B for B in seen)
    return state, (R.sum(axis=0), squares, free, np.array(others), *totals)


def looks(block, kept, asked: Together) -> tuple[list, list]:
    """Return turned rows and scores of a block, view by view."""
    seen = [
        turned(block[:, at], kept.setdefault(at.start, {}), one.turn)
        for one, at in zip(asked.views, asked.places, strict=True)
    ]
    scores = [
        said(B, kept.get("soft"), one) for B, one in zip(seen, asked.views, strict=True)
    ]
    return seen, scores


def joint_posteriors(scores, asked: Together, given) -> tuple[np.ndarray, np.ndarray]:
    """Return L and R; what is given is certain."""
    weighed = zip(asked.weights, scores, strict=True)
    L = sum(weight * one for weight, one in weighed) + asked.u
    return L, certain_where_given(softmax(L, axis=1), given)


def joint_carried(block, kept, asked: Together, turns, given=None):
    """Sum rows of every view by the last soft labels, turned another way."""
    if "soft" not in kept:  # nothing is kept of files and clusters: made once more
        scores = looks(block, kept, asked)[1]
        kept["soft"] = joint_posteriors(scores, asked, given)[1]
    return None, tuple(
        kept["soft"].T @ turned(block[:, at], kept.setdefault(at.start, {}), turn)
        for at, turn in zip(asked.places, turns, strict=True)
    )


# ---- the mixture ---------------------------------------------------------------------


class PartOfViews(Mixture):
    """The mixture of one view, whose soft labels are those of all."""

    joint: MixedViews
    number: int

    def carried(self, turn):
        """See ``Mixture.carried``."""
        turns = [turn if one is self else one.turn for one in self.joint.parts]
        return self.joint.carried(turns)[self.number]


class MixedViews:
    """The mixture of several views; to :func:`all_rounds` it is like a mixture.

    Parameters
    ----------
    rows : Holder
        Joined rows of unit length less their mean.
    starts : list of (P, offset)
        Of every view, as :class:`Mixture` takes them.
    places : list of slice
        Columns of every view.
    settings : tuple
        What :class:`Mixture` takes after them.
    """

    def __init__(self, rows: Holder, starts, places: list[slice], settings: tuple):
        self.rows, self.places = rows.undivided(), places
        self.parts = [
            PartOfViews(ViewRows(self.rows, at), *start, *settings)
            for start, at in zip(starts, places, strict=True)
        ]
        for number, part in enumerate(self.parts):
            part.joint, part.number = self, number
        first = self.parts[0]
        self.n, self.K, self.certain = first.n, first.K, first.certain
        self.weights = np.full(len(places), 1 / len(places))
        self._named = np.array([float(np.any(part.P)) for part in self.parts])

    def start(self) -> None:
        """Label by names alone, and let sizes settle."""
        for _ in range(SETTLING):
            for part in self.parts:
                part.centre_names()
            says = [START_SPREAD * part.names() for part in self.parts]
            self.label(says, judge=True)
        for part in self.parts:
            part.judge_share()

    def learn(self, sharpness: float) -> list[np.ndarray]:
        """Return V of every view from the sums of the last pass."""
        return [part.learn(sharpness) for part in self.parts]

    def label(self, V: list[np.ndarray], judge: bool = False) -> None:
        """Make a pass, and measure what each view is worth in the next."""
        for part, own in zip(self.parts, V, strict=True):
            part.ask(own)
        asked = [part.asked for part in self.parts]
        self.asked = Together(
            asked, self.places, self.weights, asked[0].u, self.temperature, self.certain
        )
        found = self.rows.run(joint_labels, self.asked, states=self._states)
        state, (counts, squares, free, others, *totals) = found
        self.labelling = self.rows.labelling(state, free)
        for part, M in zip(self.parts, totals, strict=True):
            part.take(PassSums(counts, squares, M, free), judge)
        leader = max(self.parts, key=lambda part: part.lead)
        for part in self.parts:
            part.u = leader.u
        self.evenness = leader.evenness
        if not judge:
            worth = 1 / (others + 1.0)  # one row more, of which nobody knows
            self.weights = worth / worth.sum()

    def whiten(self) -> None:
        """Make classes rounder in every view."""
        turns = [part.rounding_turn() for part in self.parts]
        totals = self.carried(turns)
        for part, turn, M in zip(self.parts, turns, totals, strict=True):
            part.turn_to(turn, M)

    def carried(self, turns) -> tuple:
        """Return sums of rows by the last soft labels, turned another way."""
        return self.rows.run(joint_carried, self.asked, turns, states=self._states)[1]

    @property
    def _states(self) -> list[Any]:
        given = self.parts[0].given
        return [] if given is None else [given]

    # ---- what it came to, the views counting as they did in the last pass ------------

    def _mean(self, what: str) -> float:
        numbers = [getattr(part, what) for part in self.parts]
        return float(self.asked.weights @ np.array(numbers))

    @property
    def names_share(self) -> float:
        """Mean λ."""
        return self._mean("names_share")

    @property
    def tightness(self) -> float:
        """Mean cosine of a row with its class."""
        return self._mean("tightness")

    @property
    def worth(self) -> float:
        """Mean worth of a prototype in rows."""
        return self._mean("worth")

    @property
    def temperature(self) -> float:
        """Of posteriors: by how far rows and names agree in views that have names."""
        likeness = [part.agreement * part.tightness for part in self.parts]
        counted = self.weights * self._named
        return doubt(float(counted @ np.array(likeness) / counted.sum()))

    @property
    def view_weights(self) -> np.ndarray:
        """What views counted."""
        return self.asked.weights

    @property
    def middle(self) -> np.ndarray:
        """What was taken from names to centre them."""
        return np.concatenate([part.middle for part in self.parts])

    @property
    def turn(self) -> np.ndarray:
        """How joined rows are turned: each view by itself."""
        return linalg.block_diag(*self._turns)

    @property
    def turned_widths(self) -> list[int]:
        """Columns of each view after turning."""
        return [turn.shape[1] for turn in self._turns]

    @property
    def _turns(self) -> list[np.ndarray]:
        return [part.turn for part in self.parts if part.turn is not None]  # all

    def pull(self) -> list[tuple[float, float]]:
        """Return what a class without rows has, view by view; see ``Mixture.pull``."""
        return [
            (weight * direction, weight * offset)
            for weight, part in zip(self.asked.weights, self.parts, strict=True)
            for direction, offset in part.pull()
        ]

    def scorer(self) -> LinearScorer:
        """Return scores of joined rows whose views have unit length after turning."""
        own = [part.scorer() for part in self.parts]
        weights = self.asked.weights
        coef = [w * one.coef for w, one in zip(weights, own, strict=True)]
        # Sizes are added once, and weights sum to 1.
        intercepts = np.array([one.intercept for one in own])
        return LinearScorer(np.hstack(coef), weights @ intercepts)
