"""Models that meet rows on principal axes: scores there are linear, and sums enough.

    B = (x - mean) axes       a row, at unit length before if the model likes
    A  (N, k)                 codes of the candidates, by default their embeddings: of
                              unit length, less the mean of the seen or, in ``adapt``,
                              their own

Such a model is a dataclass, and gives

    _learn(seen)                     learn from the seen classes; sets fitted names
    _refit(state, A, sums, lam, mu)  learn from self-labelled rows: (state, objective);
                                     without it there is no ``SelfTraining``

and, where it differs from the others,

    _state()                         what unlabelled rows may move, by default ``coef_``
    _score(state, A)                 ``LinearScorer`` on the axes from codes of classes,
                                     by default x W aᵀ, for a state W
    _embed(A)                        codes from centred embeddings
    _codes(candidates, own_mean)     the same from the candidates as they are
    _reported(state, view)           ``LinearScorer`` that labels are reported by
    _prototypes(state, A)            where classes lie on the axes, if that says more
                                     than the rows that score best for them
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unseen.core.base import ZeroShotClassifier
from unseen.core.classes import Candidates, ClassTable
from unseen.core.given import GivenRows
from unseen.core.outcome import LinearRule, LinearScorer, Outcome
from unseen.core.params import Axes, Positive
from unseen.core.rows import Rows, Unlabelled
from unseen.core.start import Start
from unseen.core.sums import Sums


class Seen(NamedTuple):
    """What a solver needs of the seen classes, projected on the axes and centred."""

    sums: Sums
    A: np.ndarray  # (M, q) embeddings
    diagonal: bool  # whether the Gram matrix is
    table: ClassTable
    B: Any = None  # (n, p) rows, for models that need them
    codes: Any = None  # (n,) their class numbers


class View(NamedTuple):
    """Rows on the axes and codes of candidates; ``mean`` is the row taken away."""

    B: Rows
    A: np.ndarray
    mean: np.ndarray


@dataclass(eq=False, repr=False, kw_only=True)
class OnAxes(ZeroShotClassifier):
    """Base of the models on axes."""

    n_axes: Axes = 500
    whitening: Positive | None = None
    unit_rows: bool = True
    per_domain_centering: bool = True

    # ---- learning from the seen classes ----------------------------------------------

    def _fit_sums(self, sums: Sums, table: ClassTable, rows: tuple | None = None):
        """Fit from the sums; ``rows`` are (X, class numbers) for models that need them.

        Searches, streams and Dask share the sums.
        """
        self._learn(self._see(sums, table, rows))
        return self._ready(table)

    def _see(self, sums: Sums, table: ClassTable, rows: tuple | None = None) -> Seen:
        """Choose where rows are met; return what the solver gets."""
        n_axes: Any = None if self.n_axes == "all" else self.n_axes
        if self.whitening is None:
            reduced = sums.reduced(n_axes)
        else:  # at unit mean square, so that ridges suit that suit rows of unit length
            reduced = sums.whitened(n_axes, self.whitening)
            square = np.trace(reduced.sums.gram) / reduced.sums.n_rows
            reduced = reduced.scaled(1 / np.sqrt(square) if square > 0 else 1.0)
        self.mean_, self.axes_, on_axes = reduced
        units = table.units()
        self.embedding_mean_ = sums.counts @ units / sums.n_rows
        A = (units - self.embedding_mean_)[table.seen]
        diagonal = n_axes is not None and self.whitening is None
        seen = Seen(on_axes.for_classes(table.seen), A, diagonal, table)
        if rows is None:
            return seen
        X, codes = rows
        B = Unlabelled(X).around(self.mean_, self.axes_, self.unit_rows)
        return seen._replace(B=B, codes=(np.cumsum(table.seen) - 1)[codes])

    # ---- scores ----------------------------------------------------------------------

    def _state(self) -> Any:
        return self.coef_

    def _score(self, state: Any, A: np.ndarray) -> LinearScorer:
        return LinearScorer(A @ state.T, np.zeros(len(A)))

    def _codes(self, candidates: Candidates, own_mean: bool) -> np.ndarray:
        """Return the codes of classes, less their own mean or that of the seen."""
        A = self._table.units(candidates.embeddings)
        return self._embed(A - (A.mean(axis=0) if own_mean else self.embedding_mean_))

    def _embed(self, A: np.ndarray) -> np.ndarray:
        return A

    def _scorer(self, candidates: Candidates) -> LinearScorer:
        """Return the inductive scorer of the competing classes."""
        scorer = self._score(self._state(), self._codes(candidates, False))
        return scorer.on_features(self.axes_, self.mean_)

    # ---- unlabelled rows -------------------------------------------------------------

    def _streams(self) -> bool:
        return True

    def _view(self, unlabelled: Unlabelled, candidates: Candidates) -> View:
        """Return rows on the axes and codes of the candidates, centred."""
        own = self.per_domain_centering
        mean = None if own else self.mean_
        B, mean = unlabelled.on(self.axes_, self.unit_rows, mean)
        return View(B, self._codes(candidates, own), mean)

    def _reported(self, state: Any, view: View) -> LinearScorer:
        return self._score(state, view.A)

    def _adapt(
        self, unlabelled: Unlabelled, candidates: Candidates, given: GivenRows | None
    ) -> Outcome:
        """Take the means of the rows, and no labels: what plain models do."""
        if given is not None:
            name = type(self).__name__
            raise ValueError(
                f"{name} learns nothing from {len(given.rows)} given labels: its adapt "
                f"only centres the rows. Wrap it, SelfTraining({name}()), or use "
                "AnchoredSelfTraining."
            )
        view = self._view(unlabelled, candidates)
        scorer = self._reported(self._state(), view)
        [(codes, confidence)] = view.B.best(scorer)
        rule = self._adapted_rule(candidates, scorer, view)
        return Outcome(codes, confidence, [], rule)

    def _adapted_rule(
        self, candidates: Candidates, scorer: LinearScorer, view: View
    ) -> LinearRule:
        """Return the rule of new rows from a scorer on the axes of a view."""
        scorer = scorer.on_features(self.axes_, view.mean)
        return LinearRule(candidates, scorer, self.unit_rows)

    def _describe(self, unlabelled: Unlabelled, rows: np.ndarray, name: Any):
        """Return the embedding that would score the rows of a new class best.

        It has the length of other embeddings, all of them centred.
        """
        some = unlabelled.only(rows)
        b = some.around(self.mean_, self.axes_, self.unit_rows).mean(axis=0)
        A = self._table.units() - self.embedding_mean_
        state, dims = self._state(), self._embed(np.eye(A.shape[1]))
        Z = self._prototypes(state, dims)
        a = (self._score(state, dims).coef if Z is None else Z) @ b
        length, size = np.sqrt(np.mean(np.sum(A * A, axis=1))), np.linalg.norm(a)
        return self.embedding_mean_ + a * (length / size if size > 0 else 0.0)

    def _prototypes(self, state: Any, A: np.ndarray) -> np.ndarray | None:
        return None

    def _lend(self, unlabelled: Unlabelled, candidates: Candidates) -> Start:
        """Lend the axes to other methods."""
        view, state = self._view(unlabelled, candidates), self._state()
        scorer, rows = self._reported(state, view), np.asarray(view.B)
        scores, Z = scorer.of(rows), self._prototypes(state, view.A)
        space = {"mean": view.mean, "axes": self.axes_, "unit_rows": self.unit_rows}
        return Start.of_scores(candidates, rows, scores, Z, scorer=scorer, **space)
