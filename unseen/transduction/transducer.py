"""What the transductive methods share: a start, an answer, and rows to come.

A method file provides ``_transduce``: from a :class:`~unseen.transduction.start.Start`
to the scores of the pile and what happened round by round. Everything about fitting,
who competes, and new rows is here.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unseen._params import HasMethods, check_rows, fit_context
from unseen.class_table import Competition
from unseen.models.base import (
    LinearScorer,
    best_names,
    decisions,
    linear_scores,
)
from unseen.rows.labelling import rank_share
from unseen.transduction.anchored import AnchoredSelfTraining
from unseen.transduction.around import AroundBase
from unseen.transduction.rounds import Round
from unseen.transduction.start import Start, ask, competing, start_from

START: dict = {
    "base": [HasMethods(["fit", "predict"]), None],
    "prototypes": ["array-like", None],
}


class Outcome(NamedTuple):
    """What a method says of a pile.

    ``scores`` (n, N) are those its labels follow. ``scorer``, if the method has a
    rule for new rows, is linear in the rows of the start; by default the nearest of
    the class means of the labelled pile wins.
    """

    scores: np.ndarray
    rounds: list[Round]
    scorer: LinearScorer | None = None


class Transducer(AroundBase):
    """Base of the methods that relabel a pile, starting from a model's answer.

    Parameters of every subclass: ``base``, a zero-shot model (by default
    ``AnchoredSelfTraining``, of which only the inductive part is used), and
    ``prototypes``, for a start without any seen class.
    """

    _adapt_parameters: frozenset[str] = frozenset()
    _adapted: tuple[Competition, LinearScorer, bool] | None

    @abstractmethod
    def _transduce(self, start: Start) -> Outcome:
        """Relabel the pile."""

    @classmethod
    def from_prototypes(cls, prototypes, **parameters):
        """Return a method that starts from prototypes instead of seen classes.

        Parameters
        ----------
        prototypes : array of shape (n_classes, n_features) or DataFrame
            One prototype per class, in the space of the rows (text embeddings of a
            model like CLIP); a frame names them. Then ``adapt`` needs no ``fit``.
        **parameters
            Of the constructor.
        """
        return cls(prototypes=prototypes, **parameters)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, *, class_embeddings=None):
        """Fit the base on rows of seen classes; its ``fit`` explains the arguments."""
        return self._fit_base(X, y, class_embeddings)

    @fit_context(prefer_skip_nested_validation=False)
    def adapt(self, X, *, classes=None):
        """Relabel a pile of unlabelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        classes : None, str, list of names, or table, default=None
            Who competes; explained at ``JEDM.decision_function``.

        Returns
        -------
        self
        """
        if self.prototypes is not None and not self.__sklearn_is_fitted__():
            self._store(self._base())
        check_is_fitted(self)
        start = start_from(self.base_, X, classes)
        self._store(self.base_)  # what an earlier pile left is gone
        outcome = self._transduce(start)
        scorer = outcome.scorer or nearest_mean(start, outcome.scores)
        self._adapted = start.competition, start.for_features(scorer), start.unit_rows
        names = start.competition.names
        self.labels_ = names[outcome.scores.argmax(axis=1)]
        self.reliability_ = rank_share(outcome.scores)
        self.rounds_ = outcome.rounds
        return self

    def decision_function(self, X, *, classes=None):
        """Score rows by what ``adapt`` learned, or else by the base.

        ``classes`` is explained at ``JEDM.decision_function``. After ``adapt``, its
        classes do not compete with others: their scores have another scale.
        """
        return decisions(*self._scores(X, classes))

    def predict(self, X, *, classes=None):
        """Return the best-scoring class for every row; see ``decision_function``."""
        return best_names(*self._scores(X, classes))

    @property
    def competing_classes_(self):
        """Who competes by default."""
        check_is_fitted(self)
        adapted = getattr(self, "_adapted", None)
        return adapted[0].columns if adapted else self.base_.competing_classes_

    def _base(self):
        if self.prototypes is not None:
            return AnchoredSelfTraining(prototypes=self.prototypes)
        return AnchoredSelfTraining() if self.base is None else self.base

    def _store(self, base):
        self._adapted = None
        return super()._store(base)

    def _scores(self, X, classes) -> tuple[Competition, np.ndarray]:
        """Return who competes and the scores, one column per distinct class."""
        if self.prototypes is not None and not self.__sklearn_is_fitted__():
            self._store(self._base())
        check_is_fitted(self)
        if self._adapted is None:
            return self._ask_base(X, classes)
        theirs, scorer, unit_rows = self._adapted
        wanted = theirs if classes is None else competing(self.base_, classes)
        columns = theirs.find(wanted.names, wanted.embeddings)
        if (columns < 0).all():
            return self._ask_base(X, classes)
        self._refuse_strangers(wanted.names[columns < 0])
        rows = check_rows(self, X, reset=False, ensure_all_finite=False)
        return wanted, linear_scores(rows, scorer, unit_rows)[:, columns]

    def _refuse_strangers(self, names: np.ndarray) -> None:
        if len(names):
            stranger, n_own = names.tolist()[0], len(self.competing_classes_)
            raise ValueError(
                f"{type(self).__name__} was adapted to {n_own} classes, and "
                f"{stranger!r} is not one of them. Ask for either kind alone, or adapt "
                "with all that shall compete: adapt(X, classes='all')."
            )

    def _ask_base(self, X, classes) -> tuple[Competition, np.ndarray]:
        if self.prototypes is not None and not self.base_.__sklearn_is_fitted__():
            self.base_._store_prototypes(X)
        competition = competing(self.base_, classes)
        return competition, ask(self.base_, X, competition, classes)


def nearest_mean(start: Start, scores: np.ndarray) -> LinearScorer:
    """Score rows by their distance to the class means of the labelled pile.

    The largest b·m - |m|²/2 is the nearest m. A class without a row keeps its
    prototype.
    """
    labels = scores.argmax(axis=1)
    counts = np.bincount(labels, minlength=scores.shape[1])
    sums = np.zeros((len(counts), start.rows.shape[1]))
    np.add.at(sums, labels, start.rows)
    empty = counts == 0
    means = sums / np.maximum(counts, 1)[:, None]
    means[empty] = start.prototypes[empty]
    return LinearScorer(means, -np.sum(means * means, axis=1) / 2)


def keep_unreached(F: np.ndarray, start: Start) -> tuple[np.ndarray, int]:
    """Give rows that no label reached the base's answer, as the least reliable.

    Returns the scores and how many rows that were.
    """
    unreached = ~(F > 0).any(axis=1)
    if not unreached.any():
        return F, 0
    reached = F[F > 0]
    F = F.copy()
    F[unreached] = start.probabilities[unreached]
    if reached.size:
        F[unreached] *= max(reached.min(), 1e-200)
    return F, int(unreached.sum())


def as_round(
    before: np.ndarray,
    scores: np.ndarray,
    competition: Competition,
    *,
    objective: float = float("nan"),
    note: str = "",
) -> Round:
    """Tell one step of a method that keeps every row as a :class:`Round`.

    ``before`` are the scores the step began with.
    """
    labels = scores.argmax(axis=1)
    return Round(
        rate=1.0,
        selected=competition.count(np.bincount(labels, minlength=len(competition))),
        n_changed=int((before.argmax(axis=1) != labels).sum()),
        objective=objective,
        labels=competition.names[labels],
        note=note,
    )
