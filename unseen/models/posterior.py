"""What models share that first ask which *seen* classes a row resembles.

    m_c  (p,)     mean of the rows of seen class c, where the scatter inside classes
                  is round (shrunken and whitened; see ``Sums.whitened``)
    n_c           its number of rows

    Q(c | x)  ∝  exp( (x · m_c - |m_c|² / 2 + log n_c) / temperature )

the posterior of Gaussians with one covariance. Class means, counts and the pooled
scatter make it: sums are enough, and no row is looked at twice.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from unseen.core.base import ZeroShotClassifier
from unseen.core.classes import ClassTable
from unseen.core.outcome import LinearScorer
from unseen.core.params import Axes, Positive, check_rows
from unseen.core.sums import Sums


@dataclass(eq=False, repr=False, kw_only=True)
class PosteriorClassifier(ZeroShotClassifier):
    """Base of the models that score by the posterior of the seen classes.

    They provide ``_score_posterior(Q, candidates)``.
    """

    temperature: Positive = 1.0
    shrinkage: Positive = 0.1
    n_axes: Axes = 500
    unit_rows: bool = True

    _adapt_parameters = frozenset({"temperature"})

    def _fit_sums(self, sums: Sums, table: ClassTable, rows=None):
        n_axes: Any = None if self.n_axes == "all" else self.n_axes
        white = sums.whitened(n_axes, self.shrinkage)
        means = white.sums.class_means[table.seen]
        heights = np.log(sums.counts[table.seen])
        heights -= np.einsum("ij,ij->i", means, means) / 2
        scorer = LinearScorer(means, heights)
        self.seen_scorer_ = scorer.on_features(white.axes, white.mean)
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
        logits = self.seen_scorer_.of(rows, self.unit_rows)
        return softmax(logits.astype(np.float64) / self.temperature, axis=1)

    def _can_adapt(self) -> bool:
        return False

    def _rule(self, candidates):
        def scores(rows):
            with np.errstate(invalid="ignore"):  # what is not finite is refused later
                made = self._score_posterior(self._posterior(rows), candidates)
            return made.astype(rows.dtype, copy=False)

        return scores
