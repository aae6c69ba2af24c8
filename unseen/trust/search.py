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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise, product
from numbers import Integral
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unseen._threads import each, one_thread
from unseen.core.around import Around
from unseen.core.classes import ClassTable, encode
from unseen.core.params import (
    HasMethods,
    Interval,
    check_rows_and_labels,
    fit_context,
)
from unseen.core.rows import Unlabelled
from unseen.core.sums import check_range, is_wide, span_of, sums_in_span
from unseen.progress import show_progress, steps
from unseen.trust.metrics import per_class_accuracy

if TYPE_CHECKING:
    from sklearn.model_selection import ParameterGrid

# The grid of the paper, for all four weights of TSTD.
PAPER_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
TOGETHER = 13  # models fitted in one go: a grid of 25 in two parts
PAPER_STAGES = (
    {"alpha": list(PAPER_GRID), "beta": list(PAPER_GRID)},
    {"lam": list(PAPER_GRID), "mu": list(PAPER_GRID)},
)


class ClasswiseSearchCV(Around):
    """Search a grid by cross-validation over classes, not rows.

    Parameters
    ----------
    estimator : zero-shot model
        Cloned, never changed.
    param_grid : dict, or list of dicts
        Candidate values by parameter name; a list is the union of its grids, or
        with ``in_stages=True`` a sequence: each grid is searched with the winners
        of those before it.
    n_folds : int, default=5
        Folds; five hold out 20 % of the seen classes each.
    n_repeats : int, default=1
        Deal the classes so many times and average over all folds. Few classes make
        few opinions: more deals tell parameters apart that one deal cannot.
    transductive : bool or list of bool, default=True
        Call ``adapt`` on the pseudo-unseen rows where the estimator has it, so
        that the whole procedure is judged; one entry per stage if ``in_stages``.
    in_stages : bool, default=False
    scoring : callable, default=None
        ``scoring(y_true, y_pred)``, greater is better; by default
        ``per_class_accuracy``.
    random_state : int, RandomState or None, default=0
        Deals the classes into folds.
    progress : bool, default=False
        Show a bar, as ``with show_progress():`` around the search does.

    Attributes
    ----------
    best_params_, best_score_, best_index_
        The winner; ties go to the first.
    best_estimator_ : estimator
        The winner fitted on all seen classes, also as ``estimator_``. All that a
        zero-shot model does, the search does by it.
    cv_results_ : dict of arrays
        ``params``, ``split0_test_score`` …, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score`` and ``stage``.
    folds_ : list of ndarray
        Names of the classes each fold held out.

    Examples
    --------
    >>> from unseen import ClasswiseSearchCV, JEDM, load_data
    >>> data = load_data("digits")
    >>> search = ClasswiseSearchCV(JEDM(), {"alpha": [0.1, 1.0]}, n_folds=3)
    >>> search = search.fit(data.X_seen, data.y_seen,
    ...                     class_embeddings=data.class_embeddings)
    >>> sorted(search.best_params_)
    ['alpha']
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"])],
        "param_grid": [dict, list, tuple],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "transductive": ["boolean", list, tuple],
        "in_stages": ["boolean"],
        "scoring": [callable, None],
        "random_state": ["random_state"],
        "progress": ["boolean"],
    }

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        n_folds=5,
        n_repeats=1,
        transductive=True,
        in_stages=False,
        scoring=None,
        random_state=0,
        progress=False,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.transductive = transductive
        self.in_stages = in_stages
        self.scoring = scoring
        self.random_state = random_state
        self.progress = progress

    @one_thread()  # small solves; sums and axes of the folds have all threads
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
        stages, estimator = self._stages(), self._checked_estimator()
        whole = X
        if not isinstance(whole, ClasswiseFolds):
            whole = ClasswiseFolds(
                X,
                y,
                n_folds=self.n_folds,
                n_repeats=self.n_repeats,
                random_state=self.random_state,
            )
        table, _ = encode(whole.y, class_embeddings)
        seen = whole.seen_table(table)
        scoring = self.scoring or per_class_accuracy
        results: list[Candidate] = []
        winner: dict[str, Any] = {}
        n_steps = sum(len(grid) for grid, _ in stages) * len(whole.folds)
        with show_progress(self.progress), steps("searching", n_steps) as advance:
            for number, (grid, adapt) in enumerate(stages):
                unknown = [np.nan] * len(whole.folds)
                tried = [
                    Candidate(number, {**winner, **point}, [*unknown]) for point in grid
                ]
                score_on_folds(
                    estimator, whole.folds, seen, tried, adapt, scoring, advance
                )
                results += tried
                best = max(tried, key=lambda candidate: np.mean(candidate.scores))
                winner = best.params
        fitted = clone(estimator).set_params(**winner)
        whole.fit_all(fitted, class_embeddings, table)
        self.best_params_, self.cv_results_ = winner, tabulate(results)
        self.best_index_ = results.index(best)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.folds_ = [whole.names[~fold.train] for fold in whole.folds]
        return self._hold(fitted)._note_features(whole.X_given)

    def _stages(self) -> list[tuple[ParameterGrid, bool]]:
        """Return (grid, transductive) of every stage."""
        from sklearn.model_selection import ParameterGrid  # slow to import

        staged = self.in_stages and not isinstance(self.param_grid, Mapping)
        grids = list(self.param_grid) if staged else [self.param_grid]
        stages = [ParameterGrid(grid) for grid in grids]
        if isinstance(self.transductive, Sequence):
            if len(self.transductive) != len(stages):
                raise ValueError(
                    f"transductive has {len(self.transductive)} entries for "
                    f"{len(stages)} stages. Give one each, or a single bool."
                )
            return list(zip(stages, self.transductive, strict=True))
        return [(stage, self.transductive) for stage in stages]

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


@dataclass(eq=False)
class Candidate:
    """A point of the grid and its score on every fold."""

    stage: int
    params: dict[str, Any]
    scores: list[float]


def score_on_folds(
    estimator,
    folds: Sequence[Fold],
    table: ClassTable,
    candidates: Sequence[Candidate],
    transductive: bool,
    scoring: Callable,
    advance: Callable[[], None],
) -> None:
    """Score every candidate on every fold.

    Candidates that differ only in how they adapt share one fit. Threads share the
    solves of our own models; scoring, which may be the user's, is one at a time.
    """
    late: frozenset[str] = estimator._adapt_parameters
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        early = {k: v for k, v in candidate.params.items() if k not in late}
        groups.setdefault(repr(sorted(early.items())), []).append(candidate)
    alone, turn = not may_be_shared(estimator), threading.Lock()
    weights: frozenset[str] = getattr(estimator, "_weights", frozenset())
    every = [group[0].params.items() for group in groups.values()]
    fixed = {repr([pair for pair in p if pair[0] not in late | weights]) for p in every}
    together = weights and not alone and len(fixed) == 1

    def to_fit(group: list[Candidate]) -> Any:
        early = {k: v for k, v in group[0].params.items() if k not in late}
        return clone(estimator).set_params(**early)

    def fit(several: list[list[Candidate]], number: int) -> list:
        models = [to_fit(group) for group in several]
        if together:
            folds[number].fit_weights(models, table)
            return models
        for model in models:
            folds[number].fit(model, table)
        return models

    def score(candidate: Candidate, number: int, fitted: Any) -> None:
        model = copy.copy(fitted).set_params(**candidate.params)
        labels = folds[number].answer(model, transductive)
        with turn:
            right = float(scoring(folds[number].y_true, labels))
            candidate.scores[number] = right
            advance()

    def fit_and_score(several: list[list[Candidate]], number: int) -> None:
        for group, fitted in zip(several, fit(several, number), strict=True):
            for candidate in group:
                score(candidate, number, fitted)

    size = TOGETHER if together else 1
    parts = even_parts(list(groups.values()), size)
    if alone:  # fold by fold: what is drawn at random comes in this order
        for number, several in product(range(len(folds)), parts):
            fit_and_score(several, number)
        return
    for model, fold in product(map(to_fit, groups.values()), folds):
        fold.training_sums(model)  # once, by all threads together
    # Threads begin with different folds: each makes the axes of its own.
    each(fit_and_score, *zip(*product(parts, range(len(folds))), strict=True))


def even_parts(items: list, most: int) -> list[list]:
    """Cut a list into as few parts as hold at most so many, as even as can be."""
    n = -(-len(items) // most)
    ends = [-(-len(items) * i // n) for i in range(n + 1)]
    return [items[i:j] for i, j in pairwise(ends)]


def may_be_shared(estimator) -> bool:
    """Tell whether threads may fit copies at once: our own, that draw nothing in turn.

    One source of random numbers for all candidates would give each what is next.
    """
    kinds = np.random.RandomState, np.random.Generator
    parameters = estimator.get_params().values()
    drawn = any(isinstance(value, kinds) for value in parameters)
    return not drawn and not estimator._needs_rows()


def tabulate(candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Return the candidates in the columns of scikit-learn's ``cv_results_``."""
    scores = np.array([candidate.scores for candidate in candidates])
    mean = scores.mean(axis=1)
    names = sorted({name for c in candidates for name in c.params})
    return {
        "stage": np.array([c.stage for c in candidates]),
        "params": [c.params for c in candidates],
        **{f"param_{n}": [c.params.get(n) for c in candidates] for n in names},
        **{f"split{i}_test_score": scores[:, i] for i in range(scores.shape[1])},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": (mean[:, None] < mean).sum(axis=1) + 1,
    }


# ---- folds ---------------------------------------------------------------------------


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
    over the rows, the sums, the principal axes of every fold and its projected rows,
    whatever the models and class tables.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows of seen classes only.
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

    def __init__(self, X, y, *, n_folds=5, n_repeats=1, random_state=0):
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
        if model._needs_rows():
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
    """One fold: its classes are held out, its rows are unlabelled."""

    def __init__(self, whole: ClasswiseFolds, held_out: np.ndarray):
        self.whole = whole
        self.train = np.ones(len(whole.names), dtype=bool)
        self.train[held_out] = False
        self.own = ~self.train[whole.codes]
        self.unlabelled = Unlabelled(whole.X[self.own])
        self.y_true = whole.y[self.own]
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
                self._own[key] = model._sums(
                    self.unlabelled.X, codes, n_classes, span=False
                )
            else:
                span, rows = wide
                sums = sums_in_span(span, rows[self.own], codes, n_classes)
                self._own[key] = check_range(sums, self.whole.X)
        return self._own[key]

    def fit(self, model, table: ClassTable) -> None:
        """Fit the model on the classes of the other folds."""
        if model._needs_rows():
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
        """Label the rows, the held-out classes competing."""
        if transductive and hasattr(model, "adapt"):
            return model.adapt(self.unlabelled).labels_
        return model._label_inductively(self.unlabelled)


def as_frame(table: ClassTable) -> pd.DataFrame:
    """Return a class table as a frame; fused tables get two levels of columns."""
    frame = pd.DataFrame(table.embeddings, index=table.names)
    if len(table.widths) > 1:
        levels = [(i, j) for i, width in enumerate(table.widths) for j in range(width)]
        frame.columns = pd.MultiIndex.from_tuples(levels)
    return frame
