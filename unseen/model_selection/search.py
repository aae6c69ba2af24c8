"""Choosing hyper-parameters without a label of an unseen class.

The seen classes are dealt into folds. In turn, each fold's classes play the
unseen ones: a model is fitted on the others, the fold's rows are its pile, only
the fold's classes compete, and ``adapt`` is called if the model has one. What
scores best on these pseudo-unseen classes is fitted on all seen ones.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unseen._threads import each, one_thread
from unseen.core.classes import ClassTable, encode
from unseen.core.params import HasMethods, Interval, fit_context
from unseen.metrics import per_class_accuracy
from unseen.model_selection.folds import ClasswiseFolds, Fold, from_sums
from unseen.progress import show_progress, steps
from unseen.storage import Storable

if TYPE_CHECKING:
    from sklearn.model_selection import ParameterGrid

# The grid of the paper, for all four weights of TSTD.
PAPER_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
TOGETHER = 13  # models fitted in one go: a grid of 25 in two parts
PAPER_STAGES = (
    {"alpha": list(PAPER_GRID), "beta": list(PAPER_GRID)},
    {"lam": list(PAPER_GRID), "mu": list(PAPER_GRID)},
)


def _winner_has(name: str) -> Callable:
    def has(self) -> bool:
        return hasattr(getattr(self, "best_estimator_", self.estimator), name)

    return has


class ClasswiseSearchCV(Storable, MetaEstimatorMixin, BaseEstimator):
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
        Call ``adapt`` on the pseudo-unseen pile where the estimator has it, so
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
        The winner fitted on all seen classes. ``predict``, ``decision_function``
        and ``adapt`` are its.
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
        stages = self._stages()
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
                    self.estimator, whole.folds, seen, tried, adapt, scoring, advance
                )
                results += tried
                best = max(tried, key=lambda candidate: np.mean(candidate.scores))
                winner = best.params
        fitted = clone(self.estimator).set_params(**winner)
        whole.fit_all(fitted, class_embeddings, table)
        self.best_estimator_, self.best_params_ = fitted, winner
        self.cv_results_ = tabulate(results)
        self.best_index_ = results.index(best)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.folds_ = [whole.names[~fold.train] for fold in whole.folds]
        return self

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

    def predict(self, X, *, classes=None):
        """Predict with the winner."""
        return self._winner().predict(X, classes=classes)

    def decision_function(self, X, *, classes=None):
        """Score with the winner."""
        return self._winner().decision_function(X, classes=classes)

    @available_if(_winner_has("predict_proba"))
    def predict_proba(self, X, *, classes=None):
        """Return the winner's probabilities."""
        return self._winner().predict_proba(X, classes=classes)

    @available_if(_winner_has("linear_rule"))
    def linear_rule(self, classes=None):
        """Return the winner's linear scores."""
        return self._winner().linear_rule(classes)

    @available_if(_winner_has("to_onnx"))
    def to_onnx(self, path, *, classes=None):
        """Write the winner, adapted if it was, as an ONNX file."""
        return self._winner().to_onnx(path, classes=classes)

    def score(self, X, y, *, classes=None) -> float:
        """Return the winner's score on labelled rows, by ``scoring``."""
        scoring = self.scoring or per_class_accuracy
        return float(scoring(y, self.predict(X, classes=classes)))

    @property
    def classes_(self):
        """Classes of the winner's table."""
        return self._winner().classes_

    @property
    def n_features_in_(self) -> int:
        """Features of the winner."""
        return self._winner().n_features_in_

    @property
    def labels_(self):
        """Labels that ``adapt`` left on the winner."""
        return self._winner().labels_

    def _winner(self):
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def adapt(self, X, *, classes=None, given=None):
        """Adapt the winner to a pile of rows, some of which may be given labels."""
        check_is_fitted(self)
        options = {} if given is None else {"given": given}
        self.best_estimator_.adapt(X, classes=classes, **options)
        return self


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
    late: frozenset[str] = getattr(estimator, "_adapt_parameters", frozenset())
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
            right = float(scoring(folds[number].y_pile, labels))
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
    if len(groups) > 1:
        each(fit_and_score, *zip(*product(parts, range(len(folds))), strict=True))
        return
    fitted = [models[0] for models in each(fit, parts * len(folds), range(len(folds)))]
    pairs = [(c, i, fitted[i]) for c, i in product(candidates, range(len(folds)))]
    each(score, *zip(*pairs, strict=True))


def even_parts(items: list, most: int) -> list[list]:
    """Cut a list into as few parts as hold at most so many, as even as can be.

    >>> from unseen.model_selection.search import even_parts
    >>> even_parts([1, 2, 3, 4, 5], 3)
    [[1, 2, 3], [4, 5]]
    """
    n = -(-len(items) // most)
    ends = [-(-len(items) * i // n) for i in range(n + 1)]
    return [items[i:j] for i, j in pairwise(ends)]


def may_be_shared(estimator) -> bool:
    """Tell whether threads may fit copies at once: our own, that draw nothing in turn.

    One source of random numbers for all candidates would give each what is next.
    """
    kinds = np.random.RandomState, np.random.Generator
    parameters = estimator.get_params().values()
    return from_sums(estimator) and not any(
        isinstance(value, kinds) for value in parameters
    )


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
