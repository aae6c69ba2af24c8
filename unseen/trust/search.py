"""Choose hyper-parameters without a label of an unseen class.

The seen classes are dealt into folds. In turn, each fold's classes play the unseen
ones: a model is fitted on the others, the fold's rows are unlabelled, only the fold's
classes compete, and ``adapt`` is called if the model has one. What scores best on these
pseudo-unseen classes is fitted on all seen ones.

Folds share their work: rows are summed once, fold by fold. A fold's training sums are
the whole less its own, its principal axes are worked out once, and its rows are
projected once; a point of the grid costs the solver only.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from itertools import product
from operator import add
from typing import Annotated, Any

import numpy as np
import pandas as pd
from joblib import cpu_count
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_info

from unseen.core.around import Around
from unseen.core.classes import ClassTable, encode
from unseen.core.linalg import one_thread
from unseen.core.params import (
    Model,
    Seed,
    TwoOrMore,
    check_rows_and_labels,
    fit_context,
)
from unseen.core.rows import Unlabelled
from unseen.core.sums import (
    Sums,
    is_wide,
    span_of,
    sum_rows,
    sums_in_span,
)
from unseen.progress import steps
from unseen.trust.metrics import per_class_accuracy

# Of the paper: alpha and beta are searched first, then lam and mu.
PAPER_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass(eq=False, repr=False)
class ClasswiseSearchCV(Around):
    """Search a grid by cross-validation over classes, not rows.

    Parameters
    ----------
    estimator : zero-shot model
        Cloned, never changed.
    param_grid : dict, or list of dicts
        Candidate values by parameter name; a list is the union of its grids.
    n_folds : int, default=5
        Folds; five hold out 20 % of the seen classes each.
    transductive : bool, default=True
        Call ``adapt`` on the pseudo-unseen rows where the estimator has it, so
        that the whole procedure is judged.
    scoring : callable, default=None
        ``scoring(y_true, y_pred)``, greater is better; by default
        ``per_class_accuracy``.
    random_state : int, RandomState or None, default=0
        Deals the classes into folds.

    Attributes
    ----------
    best_params_, best_score_, best_index_
        The winner; ties go to the first.
    best_estimator_ : estimator
        The winner fitted on all seen classes, also as ``estimator_``. All that a
        zero-shot model does, the search does by it.
    cv_results_ : dict of arrays
        ``params``, ``split0_test_score`` …, ``mean_test_score``,
        ``std_test_score`` and ``rank_test_score``.
    folds_ : list of ndarray
        Names of the classes each fold held out.

    Examples
    --------
    >>> from unseen import ClasswiseSearchCV, JEDM, load_data
    >>> data = load_data("photos-200")
    >>> search = ClasswiseSearchCV(JEDM(), {"alpha": [0.1, 1.0]}, n_folds=3)
    >>> search = search.fit(data.X_seen, data.y_seen,
    ...                     class_embeddings=data.class_embeddings)
    >>> sorted(search.best_params_)
    ['alpha']
    """

    estimator: Model
    param_grid: Any
    _: KW_ONLY
    n_folds: TwoOrMore = 5
    transductive: bool = True
    scoring: Annotated[Callable | None, callable, None] = None
    random_state: Seed = 0

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, *, class_embeddings):
        """Search on the seen classes, then fit the winner on all of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or ClasswiseFolds
            Rows of seen classes only. Folds made before bring their ``y`` and deal.
        y : array-like of shape (n_samples,)
        class_embeddings : DataFrame, array or mapping of tables
            As for the estimator. Classes that do not occur in ``y`` take no part.

        Returns
        -------
        self
        """
        from sklearn.model_selection import ParameterGrid  # slow to import

        estimator, whole = self._estimator(), X
        if not isinstance(whole, ClasswiseFolds):
            whole = ClasswiseFolds(
                X, y, n_folds=self.n_folds, random_state=self.random_state
            )
        table, _ = encode(whole.y, class_embeddings)
        seen, scoring = whole.seen_table(table), self.scoring or per_class_accuracy
        points = list(ParameterGrid(self.param_grid))
        with steps("searching", len(points) * len(whole.folds)) as advance:
            scores = score_on_folds(
                estimator, points, whole, seen, self.transductive, scoring, advance
            )
        mean = scores.mean(axis=1)
        best = self.best_index_ = int(mean.argmax())
        fitted = clone(estimator).set_params(**points[best])
        whole.fit_all(fitted, class_embeddings, table)
        names = sorted({name for point in points for name in point})
        self.cv_results_ = {
            "params": points,
            **{f"param_{n}": [point.get(n) for point in points] for n in names},
            **{f"split{i}_test_score": own for i, own in enumerate(scores.T)},
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": (mean[:, None] < mean).sum(axis=1) + 1,
        }
        self.best_params_, self.best_score_ = points[best], float(mean[best])
        self.folds_ = [whole.names[~fold.train] for fold in whole.folds]
        return self._hold(fitted)._note_features(whole.X_given)

    @property
    def best_estimator_(self):
        """The winner, fitted."""
        return self.estimator_

    def _needs_rows(self) -> bool:
        return True

    def _can_adapt(self) -> bool:
        return self._model()._can_adapt()

    @property
    def _probabilities(self):
        return self._model()._probabilities

    @available_if(_can_adapt)
    def adapt(self, X, *, classes=None, given=None):
        """Adapt the winner to unlabelled rows; see its own ``adapt``."""
        check_is_fitted(self)
        self.estimator_.adapt(X, classes=classes, given=given)
        for name in ("_default", "labels_", "reliability_", "rounds_", "given_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def score(self, X, y, *, classes=None) -> float:
        """Return the winner's score on labelled rows, by ``scoring``."""
        scoring = self.scoring or per_class_accuracy
        return float(scoring(y, self.predict(X, classes=classes)))


def score_on_folds(
    estimator,
    points: list[dict[str, Any]],
    whole: ClasswiseFolds,
    table: ClassTable,
    transductive: bool,
    scoring: Callable,
    advance: Callable[[], None],
) -> np.ndarray:
    """Return the score of every point on every fold, (n_points, n_folds).

    Threads share the work; scoring, which may be the user's, is one at a time.
    """
    scores, turn = np.empty((len(points), len(whole.folds))), threading.Lock()

    def fit_and_score(part: list[tuple[dict, list[int]]], number: int) -> None:
        fold = whole.folds[number]
        models = [clone(estimator).set_params(**early) for early, _ in part]
        fold.fit(models[0], table, *models[1:])
        for model, (_, places) in zip(models, part, strict=True):
            for place in places:
                own = copy.copy(model).set_params(**points[place])
                labels = fold.answer(own, transductive)
                with turn:
                    scores[place, number] = scoring(fold.y_true, labels)
                    advance()

    parts = fits_at_once(estimator, points)
    for early, _ in [fit for part in parts for fit in part]:
        whole.sums(clone(estimator).set_params(**early).unit_rows)
    at_once = 1 if estimator._needs_rows() else n_threads()
    # Threads begin with different folds: each makes the axes of its own.
    calls = product(parts, range(len(whole.folds)))
    with one_thread():  # small solves, in which threads of BLAS only wait
        Parallel(at_once, require="sharedmem")(
            delayed(fit_and_score)(part, number) for part, number in calls
        )
    return scores


def n_threads() -> int:
    """Return how many threads may work at once: as many as BLAS was allowed."""
    blas = [a["num_threads"] for a in threadpool_info() if a["user_api"] == "blas"]
    return min([cpu_count(), *blas])


def fits_at_once(estimator, points: list[dict]) -> list[list[tuple[dict, list[int]]]]:
    """Return which fits a grid needs: (parameters of the fit, points that share it).

    Points that differ only in how they adapt share a fit, and fits that differ only in
    ``_weights`` of a model that takes several are one part, of at most 13: a grid of 25
    in two parts.
    """
    late: frozenset[str] = estimator._adapt_parameters
    takes_several = hasattr(estimator, "_fit_weights")
    fits: dict[str, tuple[dict, list[int]]] = {}
    for place, point in enumerate(points):
        early = {name: value for name, value in point.items() if name not in late}
        fits.setdefault(repr(sorted(early.items())), (early, []))[1].append(place)
    alike: dict[str, list] = {}
    for fit in fits.values():
        free = estimator._weights if takes_several else ()
        fixed = [(name, value) for name, value in fit[0].items() if name not in free]
        alike.setdefault(repr(sorted(fixed)), []).append(fit)
    return [
        own[first :: -(-len(own) // 13)]
        for own in alike.values()
        for first in range(-(-len(own) // 13))
    ]


# ---- folds ---------------------------------------------------------------------------


def deal_classes(n_classes: int, n_folds: int, random_state) -> list[np.ndarray]:
    """Deal class numbers into folds as even as can be."""
    if n_classes < 2 * n_folds:
        raise ValueError(
            f"n_folds={n_folds} needs {2 * n_folds} seen classes, for two candidates "
            f"in every fold; y holds {n_classes}."
        )
    shuffled = check_random_state(random_state).permutation(n_classes)
    return [np.sort(shuffled[i::n_folds]) for i in range(n_folds)]


class ClasswiseFolds:
    """Rows of seen classes dealt into class-wise folds, each summed once.

    Give it to several searches in place of ``X`` and ``y``, and they share the pass
    over the rows, the sums, the principal axes of every fold and its projected rows,
    whatever the models and class tables.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows of seen classes only.
    y : array-like of shape (n_samples,)
    n_folds : int, default=5
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
    >>> data = load_data("photos-200")
    >>> folds = ClasswiseFolds(data.X_seen, data.y_seen, n_folds=3)
    >>> for model in (CCA(), ESZSL()):
    ...     search = ClasswiseSearchCV(model, {"n_axes": [10, 20]})
    ...     _ = search.fit(folds, class_embeddings=data.class_embeddings)
    """

    def __init__(self, X, y, *, n_folds=5, random_state=0):
        self.X_given, self.y_given = X, y
        self.X, self.y = check_rows_and_labels(X, y)
        self.names, self.codes = np.unique(self.y, return_inverse=True)
        dealt = deal_classes(len(self.names), n_folds, random_state)
        self.folds = [Fold(self, number, own) for number, own in enumerate(dealt)]
        self._sums: dict[bool, tuple[Sums, list[Sums]]] = {}
        self._whole: dict[tuple, Sums] = {}

    def sums(self, unit_rows: bool) -> tuple[Sums, list[Sums]]:
        """Return the sums of all rows, and of those that each fold is trained on."""
        if unit_rows not in self._sums:
            own = list(self._own_sums(unit_rows))
            whole = reduce(add, own)  # the folds hold every class once
            self._sums[unit_rows] = whole, [whole - sums for sums in own]
        return self._sums[unit_rows]

    def _own_sums(self, unit_rows: bool) -> Iterator[Sums]:
        """Yield the sums of the rows that each fold holds out."""
        wide, n = is_wide(*self.X.shape), len(self.names)
        if wide:  # all in one span: then sums can be added and taken away
            span, rows = span_of(self.X, unit_rows=unit_rows)
        for fold in self.folds:
            codes = self.codes[fold.own]
            if wide:
                yield sums_in_span(span, rows[fold.own], codes, n)
            else:
                yield sum_rows(fold.unlabelled.X, codes, n, unit_rows=unit_rows)

    def seen_table(self, table: ClassTable) -> ClassTable:
        """Return the table of the classes in ``y`` alone, in the order of ``names``.

        Other classes are dropped here, so no fold can meet them.
        """
        rows = pd.Index(table.names).get_indexer(pd.Index(self.names))
        every = np.ones(len(rows), dtype=bool)
        return ClassTable(self.names, table.embeddings[rows], every, table.widths)

    def fit_all(self, model, class_embeddings, table: ClassTable) -> None:
        """Fit the model on every seen class, from the sums if it can."""
        if model._needs_rows():
            model.fit(self.X_given, self.y_given, class_embeddings=class_embeddings)
            return
        # The model meets the whole table again, unseen classes included.
        place = pd.Index(table.names).get_indexer(pd.Index(self.names))
        key = model.unit_rows, len(table), tuple(place)
        if key not in self._whole:  # kept for the axes that are kept with them
            whole, _ = self.sums(model.unit_rows)
            self._whole[key] = whole.for_table(place, len(table))
        model._fit_sums(self._whole[key], table)._note_features(self.X_given)


class Fold:
    """One fold: its classes are held out, its rows are unlabelled."""

    def __init__(self, whole: ClasswiseFolds, number: int, held_out: np.ndarray):
        self.whole, self.number = whole, number
        self.train = np.ones(len(whole.names), dtype=bool)
        self.train[held_out] = False
        self.own = ~self.train[whole.codes]
        self.unlabelled = Unlabelled(whole.X[self.own])
        self.y_true = whole.y[self.own]

    def fit(self, model, table: ClassTable, *more) -> None:
        """Fit the model on the classes of the other folds.

        ``more`` are models that differ from it in ``_weights`` alone.
        """
        held_out, whole = replace(table, seen=self.train), self.whole
        sums = whole.sums(model.unit_rows)[1][self.number]
        for one in (model, *more):
            one._validate_params()
        if more:
            model._fit_weights([model, *more], sums, held_out)
        elif model._needs_rows():
            rows = whole.X[~self.own], whole.codes[~self.own]
            model._fit_sums(sums, held_out, rows)
        else:
            model._fit_sums(sums, held_out)
        for one in (model, *more):
            one._note_features(whole.X)

    def answer(self, model, transductive: bool) -> np.ndarray:
        """Label the rows, the held-out classes competing."""
        if transductive and hasattr(model, "adapt"):
            return model.adapt(self.unlabelled).labels_
        return model.predict(self.unlabelled.X)
