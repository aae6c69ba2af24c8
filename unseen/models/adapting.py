"""The one way through ``adapt``: validate, compete, adapt, record.

An estimator that learns from a pile provides ``_adapt``, and nothing else about it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unseen._params import fit_context
from unseen._threads import one_thread
from unseen.class_table import ClassTable
from unseen.competition import Competition
from unseen.models.given import (
    NONE_OF_THESE,
    Given,
    GivenRows,
    as_given,
    clamped,
    count_rows,
    include,
    put_back,
    read_given,
    rows_of,
    with_none,
)
from unseen.models.given_alone import prototypes_of
from unseen.models.scoring import LinearRule


class PileAnswer(NamedTuple):
    """What an estimator says of a pile.

    ``codes`` number the class of every row among the distinct ones of the competition,
    -1 where it was given that none fits; ``rule`` labels rows to come, None where
    another estimator keeps it.
    """

    competition: Competition
    codes: np.ndarray
    reliability: np.ndarray
    rounds: list
    rule: LinearRule | None


class Adapts:
    """Gives an estimator ``adapt``."""

    _adapted: LinearRule | None
    given_: Given
    labels_: np.ndarray
    rounds_: list

    @one_thread()  # of BLAS; strips have all of them
    @fit_context(prefer_skip_nested_validation=False)
    def adapt(self, X, *, classes=None, given=None):
        """Learn from a pile of rows, none of which needs a label.

        Starts from what ``fit`` learned, whatever was adapted to before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a stream
            Files, chunks and Dask collections where the method can go through a pile
            block by block; others say so. With ``given``, a stream is met twice.
        classes : None, str, list of names, or table, default=None
            Who competes; explained at ``decision_function``.
        given : mapping or Series of row number to class, or array-like, default=None
            Labels of some rows, from 0, which are certain; in an array, None, NaN and
            "" stand for rows without. Any class of the table may be named, also one
            that does not compete; where the method can, a name that no class has adds
            a class whose prototype is its rows. ``unseen.NONE_OF_THESE`` says that no
            class fits: the row has that label, -1 if classes are numbers, and nothing
            is learned from it. A method that takes prototypes needs no other start:
            ``GuidedMixture().adapt(X, given=...)``.

        Returns
        -------
        self
            With ``labels_``, ``reliability_`` and ``rounds_``; and ``given_``, if
            labels were given.
        """
        if given is not None and self._begins_with_given():
            return self._adapt_alone(X, given, classes)
        check_is_fitted(self)
        pile = self._check_pile(X)
        competition = self._compete(classes)
        self.__dict__.pop("given_", None)
        if given is None:
            return self._record(self._adapt(pile, competition))
        return self._adapt_given(pile, competition, given)

    def _adapt_given(self, pile, competition: Competition, given: Any, alone=False):
        """Take rows that no class fits out of the pile, adapt, and put them back."""
        n = count_rows(pile)
        rows, labels = read_given(given, n)
        none = np.array([label == NONE_OF_THESE for label in labels], dtype=bool)
        kept = np.ones(n, dtype=bool)
        kept[rows[none]] = False
        if none.any():
            pile = rows_of(pile, np.flatnonzero(kept))
        left = (kept.cumsum() - 1)[rows[~none]], labels[~none]
        answer = self._adapt_among(pile, competition, int(kept.sum()), *left)
        if none.any():
            answer = put_back(answer, kept)
        self._record(answer)
        if answer.competition.offered is not None:  # another class answers for some
            told = rows[~none], labels[~none]
            self.labels_ = as_given(self.labels_, *told)
            self.rounds_ = [
                done
                if done.labels is None
                else replace(done, labels=as_given(done.labels, *told))
                for done in self.rounds_
            ]
        self.given_ = Given(rows, self.labels_[rows], alone)
        return self

    def _adapt_among(self, pile, competition, n: int, rows, labels) -> PileAnswer:
        """Adapt to n rows with given labels of classes."""
        if not len(rows):
            return self._adapt(pile, competition)
        competition, codes, new = include(
            competition,
            labels,
            self._known_classes(),
            lambda places: self._describe(pile, rows[places], labels[places][0]),
        )
        given = GivenRows(np.full(n, -1), new)
        given.codes[rows] = codes
        return clamped(self._adapt(pile, competition, given), given)

    def suggest(self, X, n: int) -> np.ndarray:
        """Return the rows of the pile to ask a person about; see ``unseen.suggest``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The pile that was adapted to.
        n : int

        Returns
        -------
        ndarray of int
            Row numbers; none that has a given label.
        """
        from unseen.asking.suggest import suggest

        check_is_fitted(self, "labels_")
        given = self.given_.rows.tolist() if hasattr(self, "given_") else []
        asked = dict.fromkeys(given, NONE_OF_THESE)  # whatever it was
        return suggest(X, n, reliability=self.reliability_, given=asked)

    # ---- nothing but given labels ------------------------------------------------

    def _begins_with_given(self) -> bool:
        """Tell whether given labels are all there is to start from."""
        if not hasattr(self, "fit_prototypes"):
            return False
        fitted = self.__sklearn_is_fitted__()  # type: ignore[attr-defined]
        return not fitted or (hasattr(self, "given_") and self.given_.alone)

    def _adapt_alone(self, X, given: Any, classes: Any):
        """Take the means of given rows as prototypes, and adapt."""
        if classes is not None:
            raise ValueError(
                f"classes={classes!r}, but given labels are all there is: they say "
                "which classes compete. Leave classes out, or start from prototypes."
            )
        self.fit_prototypes(prototypes_of(X, given))  # type: ignore[attr-defined]
        pile, competition = self._check_pile(X), self._compete(None)
        return self._adapt_given(pile, competition, given, alone=True)

    # ---- for the estimators ------------------------------------------------------

    @abstractmethod
    def _check_pile(self, X) -> Any:
        """Return the pile, or say why it cannot be one."""

    @abstractmethod
    def _compete(self, classes: Any) -> Competition:
        """Return who competes, by default as after ``fit``."""

    @abstractmethod
    def _adapt(
        self, pile: Any, competition: Competition, given: GivenRows | None = None
    ) -> PileAnswer:
        """Learn from the pile; given rows have their labels in the answer anyway."""

    def _known_classes(self) -> ClassTable | None:
        """Return the table of classes that a given label may name."""
        return getattr(self, "_table", None)

    def _describe(self, pile: Any, rows: np.ndarray, name: Any) -> np.ndarray:
        """Return the embedding of a class of which only rows are known, or raise."""
        raise ValueError(
            f"given names the class {name!r}, which is not in the table, and "
            f"{type(self).__name__} needs a description of every class. Add it to the "
            "table, or use AnchoredSelfTraining or GuidedMixture."
        )

    def _record(self, answer: PileAnswer):
        if answer.rule is not None:
            self._adapted = answer.rule
        fits, names = answer.codes >= 0, answer.competition.names
        if fits.all():
            self.labels_ = names[answer.codes]
        else:
            self.labels_ = with_none(names[answer.codes[fits]], fits)
        self.reliability_, self.rounds_ = answer.reliability, answer.rounds
        return self
