"""The one way through ``adapt``: validate, compete, adapt, record.

An estimator that learns from a pile provides ``_adapt``, and nothing else about it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unseen._params import fit_context
from unseen.class_table import Competition
from unseen.models.scoring import LinearRule


class PileAnswer(NamedTuple):
    """What an estimator says of a pile.

    ``codes`` number the class of every row among the distinct ones of the competition;
    ``rule`` labels rows to come, None where another estimator keeps it.
    """

    competition: Competition
    codes: np.ndarray
    reliability: np.ndarray
    rounds: list
    rule: LinearRule | None


class Adapts:
    """Gives an estimator ``adapt``."""

    _adapted: LinearRule | None

    @fit_context(prefer_skip_nested_validation=False)
    def adapt(self, X, *, classes=None):
        """Learn from a pile of unlabelled rows.

        Starts from what ``fit`` learned, whatever was adapted to before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream
            Files, chunks and Dask collections where the method can go through a pile
            block by block; others say so.
        classes : None, str, list of names, or table, default=None
            Who competes; explained at ``decision_function``.

        Returns
        -------
        self
            With ``labels_``, ``reliability_`` and ``rounds_``.
        """
        check_is_fitted(self)
        pile = self._check_pile(X)
        competition = self._compete(classes)
        return self._record(self._adapt(pile, competition))

    @abstractmethod
    def _check_pile(self, X) -> Any:
        """Return the pile, or say why it cannot be one."""

    @abstractmethod
    def _compete(self, classes: Any) -> Competition:
        """Return who competes, by default as after ``fit``."""

    @abstractmethod
    def _adapt(self, pile: Any, competition: Competition) -> PileAnswer:
        """Learn from the pile."""

    def _record(self, answer: PileAnswer):
        if answer.rule is not None:
            self._adapted = answer.rule
        self.labels_ = answer.competition.names[answer.codes]
        self.reliability_, self.rounds_ = answer.reliability, answer.rounds
        return self
