"""Where a method around a model starts: unlabelled rows as the model sees them.

    rows        (n, r)   the unlabelled rows where they are compared: (x - mean) axes
    prototypes  (N, r)   the candidate classes there
    scores      (n, N)   what the model says of the rows
    logits      (n, N)   the same on a scale where softmax makes sense

A model that has a space of its own (whitened, on axes) lends it; any other is asked for
scores alone, rows are taken at unit length less their mean, and a class's prototype is
the mean of the rows that score best for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from unseen.core.classes import Candidates
from unseen.core.given import GivenRows
from unseen.core.outcome import LinearScorer, Round, nearest_scorer, rank_within
from unseen.core.sums import group_means

SHARPNESS = 3.0  # of scores with unit spread; cosines of CLIP come out at about this


@dataclass(frozen=True, eq=False)
class Start:
    """Unlabelled rows as a fitted model sees them; see the head."""

    candidates: Candidates
    rows: np.ndarray
    prototypes: np.ndarray
    scores: np.ndarray
    logits: np.ndarray
    _: KW_ONLY
    mean: np.ndarray
    axes: np.ndarray | None = None  # None where rows stay in the space of the features
    unit_rows: bool = True
    scorer: LinearScorer | None = None  # makes scores of rows, if linear in them
    # Where scores come from prototypes: the scorer of others, and logits over scores.
    rescore: Callable[[np.ndarray], LinearScorer] | None = None
    logit_scale: float = 1.0

    @classmethod
    def of_scores(
        cls,
        candidates: Candidates,
        rows: np.ndarray,
        scores: np.ndarray,
        prototypes: np.ndarray | None = None,
        **space: Any,
    ) -> Start:
        """Return a start from scores of any scale, and prototypes if there are some."""
        Z = best_row_means(rows, scores) if prototypes is None else prototypes
        return cls(candidates, rows, Z, scores, sharpened(scores), **space)

    @property
    def probabilities(self) -> np.ndarray:
        """Soft labels of the rows."""
        return softmax(self.logits, axis=1)

    @property
    def even_size(self) -> int:
        """How many rows a class has if all have the same, at least one."""
        n, n_classes = self.scores.shape
        return max(1, n // n_classes)

    def contrast(self) -> tuple[np.ndarray, LinearScorer | None]:
        """Return logits less the mean of each row, and what makes them of ``rows``."""
        S, raw = (M - M.mean(axis=1, keepdims=True) for M in (self.logits, self.scores))
        if self.scorer is None:
            return S, None
        spread = np.linalg.norm(raw)  # S is a multiple of raw
        factor = float(np.linalg.norm(S) / spread) if spread > 0 else 1.0
        centred = (factor * (one - one.mean(axis=0)) for one in self.scorer)
        return S, LinearScorer(*centred)

    def with_given(self, given: GivenRows) -> Start:
        """Return the start with given labels in it.

        Prototypes move to the mean of prototype and given rows, where what a prototype
        is worth in rows is measured by how far they lie apart; scores follow where they
        come from prototypes. Given rows score best for their class.
        """
        Z = corrected(self.rows, self.prototypes, self.logits, given)
        scores, logits, scorer = self.scores.copy(), self.logits.copy(), self.scorer
        if self.rescore is not None:
            scorer = self.rescore(Z)
            scores = scorer.of(self.rows)
            logits = scores * self.logit_scale
        rows, codes = given.rows, given.codes[given.rows]
        for M in (scores, logits):
            # The class changes places with the best, so that no score is out of the
            # common: some methods compare the rows of a class.
            own, best = M[rows, codes], M[rows].argmax(axis=1)
            M[rows, codes], M[rows, best] = M[rows, best], own
        moved: Any = {"prototypes": Z, "scores": scores, "logits": logits}
        return replace(self, scorer=scorer, **moved)

    def round(
        self,
        before: np.ndarray,
        scores: np.ndarray,
        objective: float = float("nan"),
        note: str = "",
    ) -> Round:
        """Tell one step of a method that keeps every row; it began with ``before``."""
        labels = before.argmax(axis=1), scores.argmax(axis=1)
        return Round.of_all(self.candidates, *labels, objective, note)

    def keep_unreached(self, F: np.ndarray) -> tuple[np.ndarray, int]:
        """Return scores, and how many rows no label reached: they keep the model's."""
        unreached = ~(F > 0).any(axis=1)
        least = max(F[F > 0].min(initial=1), 1e-200)
        F = np.where(unreached.reshape(-1, 1), least * self.probabilities, F)
        return F, int(unreached.sum())


def corrected(
    rows: np.ndarray, Z: np.ndarray, logits: np.ndarray, given: GivenRows
) -> np.ndarray:
    """Return prototypes that given rows have corrected; see ``Start.with_given``.

    With s² the spread of rows around class means and g given rows of mean ḡ,
    |ḡ - Z|² is v + s²/g on average: a prototype is worth s²/v rows.
    """
    means, counts = group_means(rows, given.codes, len(Z))
    own, sizes = group_means(rows, logits.argmax(axis=1), len(Z))
    spread = np.sum(rows.astype(np.float64) ** 2) - sizes @ np.sum(own**2, axis=1)
    spread = spread / max(len(rows) - np.count_nonzero(sizes), 1)
    both = (counts > 0) & ~given.new
    worth = np.zeros(len(Z))
    if both.any():
        off = np.sum((means - Z)[both] ** 2, axis=1) - spread / counts[both]
        # A prototype is worth a hundred rows at most.
        worth[~given.new] = spread / max(off.mean(), spread / 100, 1e-300)
    weight = worth / np.maximum(worth + counts, 1e-300)
    moved = means + weight[:, None] * (Z - means)
    return np.where((counts > 0)[:, None], moved, Z).astype(Z.dtype)


def sharpened(scores: np.ndarray) -> np.ndarray:
    """Give scores of any scale the spread that suits a softmax."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centred**2))
    return centred * (SHARPNESS / spread) if spread > 0 else centred


def best_row_means(rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return, for every class, the mean of the eight rows that score best for it.

    Of the rows that the class wins; of a class that wins none, its single best row.
    """
    labels = scores.argmax(axis=1)
    order, place, _ = rank_within(labels, scores.max(axis=1))
    best, means = order[place < 8], rows[scores.argmax(axis=0)].copy()
    for c in np.unique(labels):
        means[c] = rows[best[labels[best] == c]].mean(axis=0)
    return means


def nearest_mean(start: Start, codes: np.ndarray) -> LinearScorer:
    """Score rows by their distance to the class means of the labelled rows.

    A class without a row keeps its prototype.
    """
    means, counts = group_means(start.rows, codes, len(start.prototypes))
    return nearest_scorer(np.where(counts[:, None] > 0, means, start.prototypes))
