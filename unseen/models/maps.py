"""What the models that learn one map share: a fit, class codes, and two refits.

    X  (n_samples, p)   rows on the axes, centred; see bilinear.py
    φ  (N, k)           codes of the classes, made from their embeddings A
    W  (p, k)           the map                                         coef_

    score(x, a) = x W φ(a) + offset(a)

A model file says what φ is and how W is learned: from the sums alone
(``SumsClassifier``) or from the rows.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import linalg

from unseen._linalg import solve_ridge
from unseen._params import Interval, StrOptions, fit_context
from unseen.class_table import ClassTable, unit_blocks
from unseen.competition import Competition
from unseen.models.base import FromSums
from unseen.models.bilinear import BilinearClassifier, Seen, View
from unseen.models.learners import PrototypeLearner
from unseen.models.scoring import LinearScorer
from unseen.rows.labelled import sum_stream
from unseen.rows.pile import Pile
from unseen.rows.source import is_stream
from unseen.rows.sums import Sums

POSITIVE = [Interval(Real, 0, None, closed="neither")]
ON_AXES: dict = {
    "n_axes": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
    "whitening": [Interval(Real, 0, None, closed="neither"), None],
    "unit_rows": ["boolean"],
    "per_domain_centering": ["boolean"],
}


class MapClassifier(BilinearClassifier):
    """Base of the models that learn one map ``coef_`` between rows and class codes."""

    _adapt_parameters = frozenset({"per_domain_centering"})
    coef_: np.ndarray

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, *, class_embeddings=None):
        """Learn the map from rows of seen classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class names, or row numbers of the table if that is an array.
        class_embeddings : DataFrame, array, mapping of tables or None, default=None
            One row per class, seen and unseen; without it every class is its own
            indicator.

        Returns
        -------
        self
        """
        if is_stream(X) and hasattr(self, "_fit_sums"):
            made = sum_stream(X, y, class_embeddings, unit_rows=self._unit_rows())
            return self._fit_sums(*made)
        rows, table, codes = self._check_training(X, y, class_embeddings)
        sums = self._sums(rows, codes, len(table))
        return self._fit_rows(rows, codes, sums, table, X)

    def _fit_rows(self, rows, codes, sums: Sums, table: ClassTable, X):
        """Fit from rows, their class numbers and their sums."""
        seen = self._see(sums, table)
        B = Pile(rows).on_axes(seen.reduced.axes, self._unit_rows())
        B = B - seen.reduced.mean @ seen.reduced.axes
        number = np.cumsum(table.seen) - 1  # of a class among the seen ones
        self._learn_rows(seen, B, number[codes])
        self._store_seen(X, table, seen)
        return self

    def _learn_rows(self, seen: Seen, B: np.ndarray, codes: np.ndarray) -> None:
        """Set ``coef_`` from the seen classes and their rows on the axes."""
        raise TypeError(f"{type(self).__name__} does not learn from rows.")

    def _diagonal(self) -> bool:
        """Tell whether the Gram matrix on the axes is diagonal."""
        return self.n_axes != "all" and self.whitening is None

    def _embed(self, A: np.ndarray) -> np.ndarray:
        """Return the codes φ of classes with these centred embeddings."""
        return A

    def _coef_on_axes(self, A):
        return self._embed(A) @ self.coef_.T

    def _view(self, pile: Pile, competition: Competition) -> View:
        """Return the pile on the axes and the codes of the competing classes."""
        B, mean, A = super()._view(pile, competition)
        return View(B, mean, self._embed(A))


class SumsClassifier(FromSums, MapClassifier):
    """Base of those that see sums only, so that searches and streams share them."""

    def _fit_sums(self, sums: Sums, table: ClassTable, X):
        seen = self._see(sums, table)
        self._learn(seen)
        self._store_seen(X, table, seen)
        return self

    def _learn(self, seen: Seen) -> None:
        """Set ``coef_`` from the sums of the seen classes."""
        raise TypeError(f"{type(self).__name__} does not learn from sums.")


class PrototypeClassifier(SumsClassifier):
    """Base of those that carry classes to the rows and ask for the nearest."""

    metric: str

    def _finish(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (coef, offset) on the axes of classes with prototypes Z there.

        The nearest prototype has the largest x · z - |z|² / 2; the one of largest
        cosine the largest x · z / |z|.
        """
        lengths = linalg.norm(Z, axis=1)
        if self.metric == "euclidean":
            return Z, -(lengths**2) / 2
        return Z / np.where(lengths > 0, lengths, 1)[:, None], np.zeros(len(Z))

    def _scorer_on_axes(self, competition: Competition) -> LinearScorer:
        A = unit_blocks(competition.embeddings, self._table.widths)
        return LinearScorer(*self._finish(self._coef_on_axes(A - self.embedding_mean_)))

    def learner(self, X, classes=None, *, lam=1.0, mu=1.0):
        """Return this model, ready to learn from a pile; see ``SelfTraining``."""
        pile = self._check_pile(X)
        return PrototypeLearner(self, pile, self._compete(classes), lam, mu)


def solve_on_axes(
    gram: np.ndarray, target: np.ndarray, lam: float, *, diagonal: bool
) -> np.ndarray:
    """Return (gram + lam I)⁻¹ target; on principal axes the inverse is a division."""
    if diagonal:
        return target / (np.diag(gram) + lam)[:, None]
    return solve_ridge(gram, lam, target)
