"""What a method says of rows: labels, how sure they are, its rounds, its rule.

LinearScorer   one linear score per class
LinearRule     who competes, and the scorer: labels rows to come
Round          what one round of a method did
Outcome        all of it: what ``_adapt`` returns and ``adapt`` stores
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unseen.core.classes import Candidates
from unseen.core.linalg import inverse_lengths


class LinearScorer(NamedTuple):
    """One linear score per class: ``x @ coef.T + intercept``."""

    coef: np.ndarray
    intercept: np.ndarray

    def of(self, X: np.ndarray, unit_rows: bool = False) -> np.ndarray:
        """Return the scores of rows, in their precision; at unit length, if asked."""
        with np.errstate(all="ignore"):  # who asked refuses what is not finite
            scores = X @ self.coef.T.astype(X.dtype)
            if unit_rows:
                scores *= inverse_lengths(X)[:, None]
            scores += self.intercept.astype(X.dtype)
        return scores

    def on_features(self, axes: np.ndarray | None, mean: np.ndarray) -> LinearScorer:
        """Return this score of ``(x - mean) @ axes`` as one of x."""
        coef = self.coef if axes is None else self.coef @ axes.T
        return LinearScorer(coef, self.intercept - coef @ mean)


def nearest_scorer(Z: np.ndarray, q: np.ndarray | float = 1.0) -> LinearScorer:
    """Score rows by their distance to Z: Σ q b z - Σ q z²/2 is largest at the nearest.

    ``q`` is how far each direction counts.
    """
    return LinearScorer(Z * q, -np.sum(q * Z * Z, axis=1) / 2)


class LinearRule(NamedTuple):
    """Who competes, and how rows are scored: all that answers for new rows."""

    candidates: Candidates
    scorer: LinearScorer
    unit_rows: bool
    turning: Any = None  # what unit rows go through before, if anything

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of rows."""
        if self.turning is not None:
            return self.scorer.of(self.turning(X))
        return self.scorer.of(X, self.unit_rows)


@dataclass(frozen=True, eq=False, repr=False)
class Round:
    """What one round of self-training did.

    Attributes
    ----------
    rate : float
        Share of each predicted class that was kept.
    selected : ndarray of shape (n_competing,)
        Rows kept of each competing class.
    n_changed : int
        Rows whose reported label differs from the round before.
    objective : float
        Value of the objective after the refit.
    labels : ndarray of shape (n_samples,) or None
        Labels after the round; not kept where the rows are not in memory.
    note : str
        What the model has to say of the round, if anything.
    n_rows : int or None
        How many unlabelled rows there are.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.core.outcome import Round
    >>> print(Round(0.5, np.array([2, 1]), 1, 0.0, None, n_rows=6))
    Learned from 3 of 6 rows (rate 0.5); 1 label changed.
    """

    rate: float
    selected: np.ndarray
    n_changed: int
    objective: float
    labels: np.ndarray | None
    note: str = ""
    n_rows: int | None = None

    @classmethod
    def of_all(
        cls,
        candidates: Candidates,
        before: np.ndarray,
        codes: np.ndarray,
        objective: float = float("nan"),
        note: str = "",
    ) -> Round:
        """Return the round of a method that keeps every row; labels are by number."""
        counts = np.bincount(codes, minlength=len(candidates))
        changed, labels = int((before != codes).sum()), candidates.names[codes]
        objective = float(objective)
        return cls(1.0, candidates.count(counts), changed, objective, labels, note)

    @property
    def n_selected(self) -> int:
        """Rows kept in all."""
        return int(self.selected.sum())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        n_rows = self.n_rows if self.labels is None else len(self.labels)
        message = (
            f"Learned from {self.n_selected:,} of {n_rows:,} rows (rate "
            f"{self.rate:g}); {self.n_changed:,} "
            f"{'label' if self.n_changed == 1 else 'labels'} changed."
        )
        return f"{message} {self.note}".rstrip()


class Outcome(NamedTuple):
    """What a method says of unlabelled rows.

    ``codes`` (n,) number the class of every row among the distinct ones of
    ``rule.candidates``; ``confidence`` (n,) orders the rows, and with ``calibrated`` is
    the chance that the label is right. ``rule`` labels rows to come.
    """

    codes: np.ndarray
    confidence: np.ndarray
    rounds: list[Round]
    rule: LinearRule
    calibrated: bool = False


# ---- how sure ----------------------------------------------------------------------


def rank_within(
    codes: np.ndarray, confidence: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Order rows by class, most confident first; ties keep the order of the rows.

    Returns (order, place of each ordered row in its class, size of each class).
    """
    order = np.lexsort((-confidence, codes))
    sizes = np.bincount(codes)
    first = np.cumsum(sizes) - sizes
    place = np.arange(len(codes)) - first[codes[order]]
    return order, place, sizes


def reliability_by_rank(
    codes: np.ndarray, confidence: np.ndarray, rounds: list[Round]
) -> np.ndarray:
    """Return reliability for methods whose scores have no scale.

        r_i   share of its class's rows that row i is not behind: 1 for the clearest
        s     one less the changes of labels per row, over all rounds

        p_i = r_i^(1/s - 1),   whose mean over the rows is s

    Labels that two answers share are more often right, and a share of that size is
    about what is right: with nothing held out, there is no better witness. The order of
    rows is the method's own. :class:`unseen.Calibrated` measures what is right on seen
    classes.
    """
    changed = sum(done.n_changed for done in rounds) / max(1, len(codes))
    share = 1 - changed if rounds else 0.5  # without rounds, one label in two
    share = min(max(share, 0.02), 0.98)  # never all, never none
    order, place, sizes = rank_within(codes, confidence)
    ranks = np.empty(len(codes))
    ranks[order] = 1 - place / sizes[codes[order]]
    return ranks ** (1 / share - 1)
