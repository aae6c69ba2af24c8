"""What models share that first ask which *seen* classes a row resembles.

    m_c  (p,)     mean of the rows of seen class c, where the scatter inside classes
                  is round (shrunken and whitened; see ``Sums.whitened``)
    n_c           its number of rows

    Q(c | x)  ∝  exp( (x · m_c - |m_c|² / 2 + log n_c) / temperature )

the posterior of Gaussians with one covariance. Class means, counts and the pooled
scatter make it: sums are enough, and no row is looked at twice.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from unseen.core.base import LinearScorer, ZeroShotClassifier, linear_scores
from unseen.core.classes import Candidates, ClassTable
from unseen.core.params import N_AXES, POSITIVE, check_rows
from unseen.core.sums import Sums

GAUSSIAN: dict = {
    "temperature": POSITIVE,
    "shrinkage": POSITIVE,
    "n_axes": N_AXES,
    "unit_rows": ["boolean"],
}


class PosteriorClassifier(ZeroShotClassifier):
    """Base of the models that score by the posterior of the seen classes.

    Its parameters include ``temperature``, ``shrinkage``, ``n_axes`` and
    ``unit_rows``; a model file provides ``_score_posterior``.
    """

    _adapt_parameters = frozenset({"temperature"})

    def _fit_sums(self, sums: Sums, table: ClassTable, rows=None):
        n_axes = None if self.n_axes == "all" else self.n_axes
        self.seen_scorer_ = gaussian_scorer(sums, table.seen, n_axes, self.shrinkage)
        return self._ready(table)

    def seen_posterior(self, X) -> np.ndarray:
        """Return the posterior of the seen classes for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_seen)
            Rows sum to 1; columns follow the seen among ``classes_``.
        """
        check_is_fitted(self)
        return self._posterior(check_rows(self, X, reset=False))

    def _posterior(self, rows: np.ndarray) -> np.ndarray:
        logits = linear_scores(rows, self.seen_scorer_, self.unit_rows)
        return softmax(logits.astype(np.float64) / self.temperature, axis=1)

    @abstractmethod
    def _score_posterior(self, Q: np.ndarray, competition: Candidates) -> np.ndarray:
        """Return the scores of the competing classes from posteriors Q."""

    def _is_linear(self) -> bool:
        return False

    def _can_adapt(self) -> bool:
        return False

    def _scoring(self, candidates):
        def scores(rows):
            with np.errstate(invalid="ignore"):  # what is not finite is told later
                made = self._score_posterior(self._posterior(rows), candidates)
            return made.astype(rows.dtype, copy=False)

        return scores


def gaussian_scorer(
    sums: Sums, seen: np.ndarray, n_axes: int | None, shrinkage: float
) -> LinearScorer:
    """Return the log joint density of rows and seen classes, up to a term in x."""
    white = sums.whitened(n_axes, shrinkage)
    means = white.sums.class_means[seen]
    coef = means @ white.axes.T
    heights = np.log(sums.counts[seen]) - np.einsum("ij,ij->i", means, means) / 2
    return LinearScorer(coef, heights - coef @ white.mean)
