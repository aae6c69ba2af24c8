"""Class-wise folds that share their work.

Rows are summed once, fold by fold. A fold's training sums are the whole less
its own, its principal axes are worked out once, and its pile is projected once;
a point of the grid costs the solver only.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from numbers import Integral
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from unseen._threads import each
from unseen.core.classes import ClassTable
from unseen.core.params import check_rows_and_labels
from unseen.core.rows import Unlabelled
from unseen.core.sums import check_range, is_wide, span_of, sums_in_span


def deal_classes(n_classes: int, n_folds: int, random_state) -> list[np.ndarray]:
    """Deal class numbers into folds as even as can be."""
    if n_classes < 2 * n_folds:
        raise ValueError(
            f"n_folds={n_folds} needs {2 * n_folds} seen classes, so that two compete "
            f"in every fold; y holds {n_classes}."
        )
    shuffled = check_random_state(random_state).permutation(n_classes)
    return [np.sort(shuffled[i::n_folds]) for i in range(n_folds)]


class ClasswiseFolds:
    """Rows of seen classes dealt into class-wise folds, each summed once.

    Give it to several searches in place of ``X`` and ``y``, and they share the pass
    over the rows, the sums, the principal axes of every fold and the projected piles,
    whatever the models and class tables.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or int
        Rows of seen classes only. A number alone says how many folds to make, for
        :class:`~unseen.Calibrated`, which brings the rows.
    y : array-like of shape (n_samples,)
    n_folds : int, default=5
    n_repeats : int, default=1
        How many times the classes are dealt; every deal adds ``n_folds`` folds.
    random_state : int, RandomState or None, default=0
        Deals the classes into folds.

    Attributes
    ----------
    names : ndarray of shape (n_seen,)
        The classes in ``y``.
    folds : list of Fold

    Examples
    --------
    >>> from unseen import CCA, ESZSL, ClasswiseFolds, ClasswiseSearchCV, load_data
    >>> data = load_data("digits")
    >>> folds = ClasswiseFolds(data.X_seen, data.y_seen, n_folds=3)
    >>> for model in (CCA(), ESZSL()):
    ...     search = ClasswiseSearchCV(model, {"n_axes": [10, 20]})
    ...     _ = search.fit(folds, class_embeddings=data.class_embeddings)
    """

    def __init__(self, X, y=None, *, n_folds=5, n_repeats=1, random_state=0):
        self.n_repeats, self.random_state = n_repeats, random_state
        if isinstance(X, Integral) and y is None:
            self.n_folds, self.folds = int(X), []
            return
        self.X_given, self.y_given = X, y
        self.X, self.y = check_rows_and_labels(X, y)
        self.names, self.codes = np.unique(self.y, return_inverse=True)
        random, n_classes = check_random_state(random_state), len(self.names)
        deals = [deal_classes(n_classes, n_folds, random) for _ in range(n_repeats)]
        every = [held_out for deal in deals for held_out in deal]
        self.folds = each(partial(Fold, self), every)
        self.n_folds = n_folds
        self._sums: dict[bool, Any] = {}
        self._spans: dict[bool, Any] = {}
        self._whole: dict[tuple, Any] = {}

    def sums(self, model):
        """Return the sums over all folds, as the model scales its rows."""
        key = model.unit_rows
        if key not in self._sums:
            deal = self.folds[: self.n_folds]  # one deal holds every class once
            self._sums[key] = reduce(add, [fold.own_sums(model) for fold in deal])
        return self._sums[key]

    def span(self, model):
        """Return the span of all rows and the rows in it; None if they are not wide.

        All folds are summed in it: sums of one span can be added and taken away.
        """
        if not is_wide(*self.X.shape):
            return None
        key = model.unit_rows
        if key not in self._spans:
            self._spans[key] = span_of(self.X, unit_rows=key)
        return self._spans[key]

    def seen_table(self, table: ClassTable) -> ClassTable:
        """Return the table of the classes in ``y`` alone, in the order of ``names``.

        Other classes are dropped here, so no fold can meet them.
        """
        rows = pd.Index(table.names).get_indexer(pd.Index(self.names))
        every = np.ones(len(rows), dtype=bool)
        return ClassTable(self.names, table.embeddings[rows], every, table.widths)

    def fit_all(self, model, class_embeddings, table: ClassTable) -> None:
        """Fit the model on every seen class, from the sums if it can."""
        if not from_sums(model):
            model.fit(self.X_given, self.y_given, class_embeddings=class_embeddings)
            return
        # The model meets the whole table again, unseen classes included.
        order = pd.Index(self.names).get_indexer(pd.Index(table.names[table.seen]))
        key = model.unit_rows, tuple(order), tuple(table.seen)
        if key not in self._whole:  # kept for the axes that are kept with them
            sums = self.sums(model).for_classes(order).for_table(table.seen)
            self._whole[key] = sums
        model._fit_sums(self._whole[key], table)._note_features(self.X_given)


class Fold:
    """One fold: its classes are held out, its rows are the pile."""

    def __init__(self, whole: ClasswiseFolds, held_out: np.ndarray):
        self.whole = whole
        self.train = np.ones(len(whole.names), dtype=bool)
        self.train[held_out] = False
        self.own = ~self.train[whole.codes]
        self.pile = Unlabelled(whole.X[self.own])
        self.y_pile = whole.y[self.own]
        self._own: dict[bool, Any] = {}
        self._train: dict[bool, Any] = {}

    def own_sums(self, model):
        """Return the sums of the held-out rows."""
        key = model.unit_rows
        if key not in self._own:
            codes, n_classes = self.whole.codes[self.own], len(self.train)
            wide = self.whole.span(model)
            if wide is None:
                # Folds are added up: not each in a span of its own.
                self._own[key] = model._sums(self.pile.X, codes, n_classes, span=False)
            else:
                span, rows = wide
                sums = sums_in_span(span, rows[self.own], codes, n_classes)
                self._own[key] = check_range(sums, self.whole.X)
        return self._own[key]

    def fit(self, model, table: ClassTable) -> None:
        """Fit the model on the classes of the other folds."""
        if not from_sums(model):
            rows = ~self.own
            frame = as_frame(table)
            model.fit(self.whole.X[rows], self.whole.y[rows], class_embeddings=frame)
            return
        held_out = replace(table, seen=self.train)
        model._fit_sums(self.training_sums(model), held_out)._note_features(
            self.whole.X
        )

    def training_sums(self, model):
        """Return the sums of the other folds."""
        key = model.unit_rows
        if key not in self._train:
            whole, own = self.whole.sums(model), self.own_sums(model)
            self._train[key] = whole - own
            del self._own[key]
        return self._train[key]

    def fit_weights(self, models: list, table: ClassTable) -> None:
        """Fit models that differ in ``_weights`` alone."""
        held_out = replace(table, seen=self.train)
        sums = self.training_sums(models[0])
        models[0]._fit_weights(models, sums, held_out)
        for model in models:
            model._note_features(self.whole.X)

    def answer(self, model, transductive: bool) -> np.ndarray:
        """Label the pile, the held-out classes competing."""
        own = from_sums(model)
        if transductive and hasattr(model, "adapt"):
            return model.adapt(self.pile if own else self.pile.X).labels_
        return (
            model._label_inductively(self.pile) if own else model.predict(self.pile.X)
        )


def from_sums(model) -> bool:
    """Tell whether a model learns from sums, which folds share."""
    return hasattr(model, "_fit_sums") and not model._needs_rows()


def as_frame(table: ClassTable) -> pd.DataFrame:
    """Return a class table as a frame; fused tables get two levels of columns."""
    frame = pd.DataFrame(table.embeddings, index=table.names)
    if len(table.widths) > 1:
        levels = [(i, j) for i, width in enumerate(table.widths) for j in range(width)]
        frame.columns = pd.MultiIndex.from_tuples(levels)
    return frame
