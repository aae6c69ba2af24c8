"""What bilinear models share: rows on axes, embeddings centred, one matrix between.

    score(x, a) = (x - mean) axes W (a - embedding_mean)ᵀ

Rows have unit length (if asked), are centred by the seen mean and carried to
the leading principal axes of the seen rows; embeddings have unit length, table by
table, and are centred by their mean over the seen rows. With
``per_domain_centering``, ``adapt`` puts the means of the pile and of the competing
classes in place of the seen ones.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unseen.class_table import ClassTable, unit_blocks
from unseen.competition import Competition
from unseen.models.adapting import Adapts, PileAnswer
from unseen.models.base import ZeroShotClassifier
from unseen.models.given import rows_of
from unseen.models.scoring import LinearRule, LinearScorer
from unseen.models.stated import stated
from unseen.rows.holders import Holder
from unseen.rows.labelling import best_score, share_by_rank
from unseen.rows.pile import Pile
from unseen.rows.sums import Reduced, Sums


class Seen(NamedTuple):
    """What a solver gets to see: reduced sums and centred embeddings of the seen."""

    reduced: Reduced
    sums: Sums
    A: np.ndarray
    embedding_mean: np.ndarray


class View(NamedTuple):
    """A pile and its competing classes, centred as the model says."""

    B: Holder
    mean: np.ndarray
    A: np.ndarray


class BilinearClassifier(ZeroShotClassifier, Adapts):
    """Base of the models that score by one matrix between rows and embeddings.

    A model file provides ``_fit_sums``, ``_coef_on_axes`` and ``learner``; its
    parameters include ``n_axes``, ``whitening``, ``unit_rows`` and
    ``per_domain_centering``.
    """

    @abstractmethod
    def _coef_on_axes(self, A: np.ndarray) -> np.ndarray:
        """Return one scorer per class on the axes, from centred embeddings."""

    @abstractmethod
    def learner(self, X, classes=None, *, lam: float, mu: float) -> Any:
        """Return this model, ready to learn from a pile; see ``SelfTraining``."""

    def _adapt(self, pile, competition, given=None) -> PileAnswer:
        """Take the means of the pile; no self-training."""
        if given is not None:
            name = type(self).__name__
            raise ValueError(
                f"{name} learns nothing from {len(given.rows)} given labels: its adapt "
                f"only centres the rows. Put rounds around it, SelfTraining({name}()), "
                "or use AnchoredSelfTraining."
            )
        learner = self.learner(pile, competition, lam=1.0, mu=1.0)
        self.take_over(learner)
        return answer_of(learner, [], self._adapted)

    def _describe(self, pile, rows, name):
        """Describe a new class by the embedding that would score its rows best.

        Of the length of other embeddings, all of them centred.
        """
        some = rows_of(pile, rows)
        b = some.on_axes(self.axes_, self.unit_rows).mean(axis=0, dtype=np.float64)
        units = unit_blocks(self._table.embeddings, self._table.widths)
        A = units - self.embedding_mean_
        coef = self._coef_on_axes(np.eye(A.shape[1]))
        a = coef @ (b - self.mean_ @ self.axes_)
        length = np.sqrt(np.mean(np.sum(A * A, axis=1)))
        size = np.linalg.norm(a)
        return self.embedding_mean_ + a * (length / size if size > 0 else 0.0)

    def take_over(self, learner) -> None:
        """Predict from now on as the learner would; see ``SelfTraining``."""
        competition = learner.competition
        self._adapted = LinearRule(competition, learner.scorer(), self._unit_rows())
        self._set_competition(competition)

    def _unit_rows(self) -> bool:
        return self.unit_rows

    def _streams_piles(self) -> bool:
        return True

    def _see(self, sums: Sums, table: ClassTable) -> Seen:
        """Return what the solver sees of the seen classes."""
        n_axes = None if self._n_axes() == "all" else self._n_axes()
        if self.whitening is None:
            reduced = sums.reduced(n_axes)
        else:
            reduced = unit_on_average(sums.whitened(n_axes, self.whitening))
        units = unit_blocks(table.embeddings, table.widths)
        embedding_mean = sums.counts @ units / sums.n_rows
        A = (units - embedding_mean)[table.seen]
        return Seen(reduced, reduced.sums.for_classes(table.seen), A, embedding_mean)

    def _n_axes(self):
        return self.n_axes

    def _store_seen(self, X, table: ClassTable, seen: Seen) -> None:
        """Store means, axes and table; the last step of a ``fit``."""
        self.mean_, self.axes_ = seen.reduced.mean, seen.reduced.axes
        self.embedding_mean_ = seen.embedding_mean
        self._store_table(X, table)

    def _scorer_on_axes(self, competition: Competition) -> LinearScorer:
        """Return the inductive scorer of rows on the axes, centred."""
        A = unit_blocks(competition.embeddings, self._table.widths)
        coef = self._coef_on_axes(A - self.embedding_mean_)
        return LinearScorer(coef, np.zeros(len(coef)))

    def _scorer(self, competition: Competition) -> LinearScorer:
        on_axes = self._scorer_on_axes(competition)
        coef = on_axes.coef @ self.axes_.T
        return LinearScorer(coef, on_axes.intercept - coef @ self.mean_)

    def _label_pile(self, pile: Pile) -> np.ndarray:
        """Label a pile inductively; a search has it on the axes already."""
        coef, intercept = self._scorer_on_axes(self._default)
        B = pile.on_axes(self.axes_, self._unit_rows()) - self.mean_ @ self.axes_
        return self._default.names[(B @ coef.T + intercept).argmax(axis=1)]

    def _view(self, pile: Pile, competition: Competition) -> View:
        """Return the pile on the axes and the competing embeddings, centred."""
        A = unit_blocks(competition.embeddings, self._table.widths)
        B = pile.hold(self.axes_, self.unit_rows)  # a stream tells its mean by it
        if self.per_domain_centering:
            mean, embedding_mean = pile.mean(self.unit_rows), A.mean(axis=0)
        else:
            mean, embedding_mean = self.mean_, self.embedding_mean_
        return View(B.centred(mean @ self.axes_), mean, A - embedding_mean)


def unit_on_average(reduced: Reduced) -> Reduced:
    """Scale the axes so that rows have unit mean square, as unit rows would.

    Whitened rows are as long as they have dimensions; ridges and weights that suit
    rows of unit length then suit these.
    """
    square = np.trace(reduced.sums.gram) / reduced.sums.n_rows
    scale = 1 / np.sqrt(square) if square > 0 else 1.0
    sums = reduced.sums
    scaled = replace(
        sums, gram=sums.gram * scale**2, class_sums=sums.class_sums * scale
    )
    return Reduced(reduced.mean, reduced.axes * scale, scaled)


def answer_of(learner, rounds: list, rule: LinearRule | None) -> PileAnswer:
    """Return what a learner says of its pile."""
    labelling = learner.labelling(best_score)
    codes = labelling.codes
    ranks = share_by_rank(codes, labelling.strength)
    reliability = stated(ranks, rounds, learner.competition.names[codes])
    return PileAnswer(learner.competition, codes, reliability, rounds, rule)
