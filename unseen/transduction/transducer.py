"""What the transductive methods share: a start, an answer, and rows to come.

A method file provides ``_transduce``: from a :class:`~unseen.transduction.start.Start`
to the scores of the pile and what happened round by round. Everything about fitting,
who competes, and new rows is here.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from unseen._params import HasMethods, Interval, StrOptions, fit_context
from unseen.competition import Competition
from unseen.models.adapting import Adapts, PileAnswer
from unseen.models.answers import Answers
from unseen.models.scoring import LinearRule, LinearScorer
from unseen.models.stated import stated
from unseen.rows.labelling import rank_share
from unseen.rows.nearest_graph import graph_bytes
from unseen.rows.neighbours import NEIGHBOUR_SEARCHES, chosen_search
from unseen.rows.source import in_one_piece
from unseen.transduction.anchored import AnchoredSelfTraining
from unseen.transduction.memory import check_memory
from unseen.transduction.rounds import Round
from unseen.transduction.start import Start, ask, competing, start_from
from unseen.transduction.wrapper import Wrapper

START: dict = {"estimator": [HasMethods(["fit", "predict"]), None]}
SEARCH: dict = {"neighbors": [StrOptions(set(NEIGHBOUR_SEARCHES))]}
# Of a mixture that the neighbours of a row have a say in.
MIXTURE: dict = {
    **SEARCH,
    "likelihood_weight": [Interval(Real, 0, None, closed="left")],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "n_rounds": [Interval(Integral, 1, None, closed="left")],
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


class Transducer(Answers, Adapts, Wrapper):
    """Base of the methods that relabel a pile, starting from a model's answer.

    Every subclass has the parameter ``estimator``, a zero-shot model; by default
    ``AnchoredSelfTraining``, of which only the inductive part is used. After ``adapt``
    its classes do not compete with others: their scores have another scale.
    """

    _adapt_parameters: frozenset[str] = frozenset()

    def _search(self, rows: np.ndarray) -> str:
        """Choose how the neighbours of rows are found, and leave it to be read."""
        n, p = rows.shape
        search = chosen_search(self.neighbors, n, n, p)
        if search == "approximate":
            what = f"the neighbours of {n:,} rows"
            check_memory(type(self).__name__, graph_bytes(n, p), what)
        self.neighbor_search_ = search
        return search

    @abstractmethod
    def _transduce(self, start: Start) -> Outcome:
        """Relabel the pile."""

    @classmethod
    def from_prototypes(cls, prototypes, **parameters):
        """Return ``cls(**parameters).fit_prototypes(prototypes)``.

        Parameters
        ----------
        prototypes : array of shape (n_classes, n_features) or DataFrame
            One prototype per class, in the space of the rows (text embeddings of a
            model like CLIP); a frame names them.
        **parameters
            Of the constructor.
        """
        return cls(**parameters).fit_prototypes(prototypes)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, *, class_embeddings=None):
        """Fit the estimator on rows of seen classes, as its own ``fit`` does."""
        return self._fit_estimator(X, y, class_embeddings)

    @fit_context(prefer_skip_nested_validation=False)
    def fit_prototypes(self, prototypes):
        """Start from prototypes instead of seen classes.

        Parameters
        ----------
        prototypes : array of shape (n_classes, n_features) or DataFrame
            One prototype per class, in the space of the rows; a frame names them.

        Returns
        -------
        self
        """
        estimator = self._estimator()
        if not hasattr(estimator, "fit_prototypes"):
            raise ValueError(
                f"estimator={estimator} learns from seen classes and cannot start from "
                "prototypes. Leave estimator at None, or call fit(X, y)."
            )
        return self._store(clone(estimator).fit_prototypes(prototypes))

    def _check_pile(self, X):
        return in_one_piece(X)

    def _compete(self, classes) -> Competition:
        return competing(self.estimator_, classes)

    def _describe(self, pile, rows, name):
        """Describe a new class by its rows, where the start has prototypes of its own.

        Others are known by their descriptions only.
        """
        own = self.estimator_
        if isinstance(own, AnchoredSelfTraining):
            return own._describe(own._check_pile(pile), rows, name)
        return super()._describe(pile, rows, name)

    def _adapt(self, pile, competition, given=None) -> PileAnswer:
        start = start_from(self.estimator_, pile, competition)
        if given is not None:
            start = start.with_given(given)
        self._store(self.estimator_)  # what an earlier pile left is gone
        outcome = self._transduce(start)
        scorer = outcome.scorer or nearest_mean(start, outcome.scores)
        rule = LinearRule(competition, start.for_features(scorer), start.unit_rows)
        codes, ranks = outcome.scores.argmax(axis=1), rank_share(outcome.scores)
        reliability = stated(ranks, outcome.rounds, competition.names[codes])
        return PileAnswer(competition, codes, reliability, outcome.rounds, rule)

    @property
    def competing_classes_(self):
        """Who competes by default."""
        check_is_fitted(self)
        if self._adapted is not None:
            return self._adapted.competition.columns
        return self.estimator_.competing_classes_

    def _estimator(self):
        return AnchoredSelfTraining() if self.estimator is None else self.estimator

    def _store(self, estimator):
        self._adapted = None
        return super()._store(estimator)

    def _competition(self, classes) -> Competition:
        if classes is None and self._adapted is not None:
            return self._adapted.competition
        return competing(self.estimator_, classes)

    def _rule(self, competition: Competition) -> LinearRule:
        """Score as ``adapt`` learned, or else as the estimator does."""
        columns = self._adapted_columns(competition)
        if columns is None:
            return self.estimator_.linear_rule(competition)
        _, (coef, intercept), unit_rows = self._adapted  # type: ignore[misc]
        scorer = LinearScorer(coef[columns], intercept[columns])
        return LinearRule(competition, scorer, unit_rows)

    def _is_linear(self) -> bool:
        adapted = getattr(self, "_adapted", None) is not None
        return adapted or hasattr(
            getattr(self, "estimator_", self._estimator()), "linear_rule"
        )

    def _scores(self, X, competition: Competition) -> np.ndarray:
        if self._adapted_columns(competition) is None:
            return ask(self.estimator_, X, competition)
        return super()._scores(X, competition)

    def _finished(self, X, competition, finish):
        if self._adapted_columns(competition) is None:
            return finish(competition, self._scores(X, competition))
        return super()._finished(X, competition, finish)

    def _adapted_columns(self, competition: Competition) -> np.ndarray | None:
        """Return where classes stand among the adapted ones; None if nowhere."""
        if self._adapted is None:
            return None
        theirs = self._adapted.competition
        columns = theirs.find(competition.names, competition.embeddings)
        if (columns < 0).all():
            return None
        if (columns < 0).any():
            stranger = competition.names[columns < 0].tolist()[0]
            raise ValueError(
                f"{type(self).__name__} was adapted to {len(theirs.columns)} classes, "
                f"and {stranger!r} is not one of them. Ask for either kind alone, or "
                "adapt with all that shall compete: adapt(X, classes='all')."
            )
        return columns


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
    """Give rows that no label reached the estimator's answer, as the least reliable.

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
