"""Calibrated: what another model says, as probabilities one can act on.

    seen classes are dealt into folds; each fold holds out classes and rows (folds.py)
    g   handicap of seen classes: the best mean harmonic mean over folds
    T   temperature: geometric mean of the folds' best, on adapted piles
    reliability, novelty   logistic models of "label right" and "row foreign"
    q   split-conformal quantile of 1 - p(true class)

A model with a parameter ``handicap`` gets 1.5 g in its rounds and answers without it;
from any other, g is taken off the scores of seen classes.
"""

from __future__ import annotations

import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unseen.calibration.folds import (
    CalibrationFold,
    OpenPile,
    answer_pile,
    make_folds,
    mixed_pile,
    novelty_evidence,
    on_scale,
    open_pile,
    pure_pile,
    scores_of,
)
from unseen.calibration.trust import (
    Answer,
    best_handicap,
    learn_trust,
    left_out_coverages,
    row_spread,
    trade_of,
    weigh,
)
from unseen.core.base import LinearRule, LinearScorer
from unseen.core.classes import ClassTable, encode
from unseen.core.given import as_given
from unseen.core.params import HasMethods, Interval, check_rows_and_labels, fit_context
from unseen.core.rows import is_stream, whole_needed
from unseen.model_selection.folds import ClasswiseFolds
from unseen.storage import Storable

INSIDE = 1.5  # what a handicap inside the rounds is, in units of the one outside


def _estimator_has(name: str):
    def check(self) -> bool:
        return hasattr(getattr(self, "estimator_", self.estimator), name)

    return check


class Calibrated(Storable, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A zero-shot model whose answers are probabilities, on mixed and open piles too.

    All is chosen on folds that hold out seen classes and rows, without unseen labels.

    Parameters
    ----------
    estimator : zero-shot model
        Cloned, fitted once per fold, and once on everything.
    cv : int or ClasswiseFolds, default=4
        Folds of the seen classes; ``ClasswiseFolds(4, n_repeats=2)`` deals twice.
    seen_rows : float, default=0.2
        Share of the rows of other classes that a fold holds out too.
    false_alarms : float, default=0.1
        Share of rows of classes on offer that may be called novel.
    random_state : int, default=0
        Deals classes and rows, where ``cv`` is a number.

    Attributes
    ----------
    estimator_ : the fitted model
    gamma_ : float
        Handicap of seen classes on mixed piles. In units of the standard deviation of
        row-centred scores; of scores themselves for anchored self-training.
    temperature_ : float
        Of adapted piles of unseen classes.
    novelty_threshold_ : float
        ``novelty_`` above it is a foreign row, at the stated rate of false alarms.
    conformal_quantile_ : float
        Sets at 90 % hold the classes with a probability of at least one less this.
    fold_coverages_ : ndarray of shape (n_folds,)
        Coverage of 90 % sets on the classes of each fold, by what the others say.
    labels_, reliability_, novelty_ : ndarray of shape (n_samples,)
        Left by ``adapt``: the label of every row, the probability that it is right,
        and the probability that the row is of none of the classes on offer, if one in
        five rows were.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import AnchoredSelfTraining, Calibrated
    >>> rng = np.random.default_rng(0)
    >>> A, y = rng.uniform(size=(20, 6)), np.repeat(np.arange(20), 30)
    >>> X = (A @ rng.normal(size=(6, 15)))[y] + 0.5 * rng.normal(size=(600, 15))
    >>> seen = y < 15
    >>> model = Calibrated(AnchoredSelfTraining(), cv=3)
    >>> model = model.fit(X[seen], y[seen], class_embeddings=A).adapt(X[~seen])
    >>> model.reliability_.shape, bool((model.reliability_ <= 1).all())
    ((150,), True)
    >>> model.predict_set(X[~seen]).shape
    (150, 5)
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict", "decision_function"])],
        "cv": [Interval(Integral, 2, None, closed="left"), ClasswiseFolds],
        "seen_rows": [Interval(Real, 0, 1, closed="neither")],
        "false_alarms": [Interval(Real, 0, 1, closed="neither")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self, estimator, *, cv=4, seen_rows=0.2, false_alarms=0.1, random_state=0
    ):
        self.estimator = estimator
        self.cv = cv
        self.seen_rows = seen_rows
        self.false_alarms = false_alarms
        self.random_state = random_state

    # ---- learning ----------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, *, class_embeddings=None):
        """Choose everything on folds of the seen classes, then fit on all of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of seen classes, in memory.
        y : array-like of shape (n_samples,)
        class_embeddings : DataFrame, array or mapping of tables
            One row per class, seen and unseen.

        Returns
        -------
        self
        """
        if is_stream(X):
            raise whole_needed(f"X is met chunk by chunk ({type(X).__name__})")
        if class_embeddings is None:
            raise ValueError(
                "Calibrated holds out seen classes, and without class_embeddings "
                "nothing tells them apart. Give one row per class."
            )
        rows, y = check_rows_and_labels(X, y)
        table, codes = encode(y, class_embeddings)
        place = np.cumsum(table.seen) - 1
        known = ClassTable(
            table.names[table.seen],
            table.embeddings[table.seen],
            np.ones(int(table.seen.sum()), dtype=bool),
            table.widths,
        )
        folds = make_folds(
            self.estimator, rows, place[codes], known, self._deal(), self.seen_rows
        )
        self._learn(folds)
        fitted = clone(self.estimator).fit(X, y, class_embeddings=class_embeddings)
        self._table, self._start = table, self._with_handicap(fitted)
        self.estimator_ = self._start
        self.classes_, self.n_features_in_ = table.names, rows.shape[1]
        self._pile_unit = 0.0  # not adapted
        for stale in ("labels_", "reliability_", "novelty_", "rounds_"):
            self.__dict__.pop(stale, None)
        return self

    def _deal(self) -> ClasswiseFolds:
        given = isinstance(self.cv, ClasswiseFolds)
        return (
            self.cv
            if given
            else ClasswiseFolds(self.cv, random_state=self.random_state)
        )

    @property
    def _inside(self) -> bool:  # then scores have a unit of their own, too
        return "handicap" in self.estimator.get_params()

    def _with_handicap(self, model):
        return (
            model.set_params(handicap=INSIDE * self.gamma_) if self._inside else model
        )

    def _learn(self, folds: list[CalibrationFold]) -> None:
        starts = [fold.F0 / self._unit(fold.F0) for fold in folds]
        self._start_unit = float(np.mean([self._unit(fold.F0) for fold in folds]))
        self._start_gamma = best_handicap(
            [trade_of(F, f.codes, f.seen) for F, f in zip(starts, folds, strict=True)]
        )
        self.gamma_ = self._start_gamma
        for fold in folds:
            self._with_handicap(fold.model)
        pure = [(on_scale(a, self._inside), t) for a, t in map(pure_pile, folds)]
        self._pure = learn_trust(pure)
        self.fold_coverages_ = left_out_coverages(pure)
        mixed = [on_scale(mixed_pile(f), self._inside) for f in folds]
        if not self._inside and hasattr(self.estimator, "adapt"):
            self.gamma_ = best_handicap(
                [
                    trade_of(a.F, f.codes, f.seen)
                    for a, f in zip(mixed, folds, strict=True)
                ]
            )
        self._mixed = learn_trust(
            [
                (self._relabelled(a, f.seen), f.codes)
                for a, f in zip(mixed, folds, strict=True)
            ]
        )
        self._learn_novelty(folds)
        self.temperature_ = self._pure.temperature
        self.conformal_quantile_ = self._pure.quantile(0.9)

    def _learn_novelty(self, folds: list[CalibrationFold]) -> None:
        evidence, foreign = [], []
        for number, fold in enumerate(folds):
            pile = open_pile(fold, number)
            reliability = self._pure.reliability(on_scale(pile.answer, self._inside))
            evidence.append(novelty_evidence(fold.model, pile, reliability))
            foreign.append(pile.foreign)
        self._novelty = weigh(evidence, foreign)
        calm = [
            np.quantile(self._novelty.probability(e[~f]), 1 - self.false_alarms)
            for e, f in zip(evidence, foreign, strict=True)
        ]
        self.novelty_threshold_ = float(np.mean(calm))

    def _unit(self, F: np.ndarray) -> float:
        return 1.0 if self._inside else row_spread(F)

    def _relabelled(self, answer: Answer, seen: np.ndarray) -> Answer:
        """Return an answer for a mixed pile, the handicap taken off."""
        F0 = answer.F0 - self._start_gamma * seen
        if self._inside:
            return answer._replace(F0=F0)
        F = answer.F - self.gamma_ * seen
        return answer._replace(F=F, F0=F0, codes=F.argmax(axis=1))

    # ---- answering ---------------------------------------------------------------

    def adapt(self, X, *, classes=None, **given):
        """Let the model learn from a pile, and say how far its labels can be trusted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            In memory. A model that does not adapt only answers.
        classes : optional
            Who competes; by default the unseen classes.
        **given
            Passed on to the model's ``adapt``.

        Returns
        -------
        self
            With ``labels_``, ``reliability_`` and ``novelty_``.
        """
        check_is_fitted(self, "estimator_")
        if is_stream(X) and not isinstance(X, np.memmap):
            raise whole_needed(f"X is met chunk by chunk ({type(X).__name__})")
        asked = self._table.candidates(classes)
        names, seen = asked.names, np.isin(asked.names, self._seen_names)
        model = self.estimator_ = copy.deepcopy(self._start)
        F0 = scores_of(model, X, classes if classes is not None else names)
        others = self._seen_names[~np.isin(self._seen_names, names)]
        F_others = scores_of(model, X, others) if len(others) else F0[:, :0]
        answer = answer_pile(model, X, F0, names, classes, **given)
        self._pile_unit = self._unit(answer.F)
        scaled = on_scale(answer, self._inside)
        trust = self._pure
        if self._is_mixed(names):
            scaled, trust = self._relabelled(scaled, seen), self._mixed
        self.labels_ = names[scaled.codes]
        self.reliability_ = trust.reliability(scaled)
        rows = np.asarray(X, dtype=np.float64)
        pile = OpenPile(rows, answer, F_others, others, np.zeros(len(rows), dtype=bool))
        self.novelty_ = self._novelty.probability(
            novelty_evidence(model, pile, self.reliability_)
        )
        if hasattr(model, "given_"):
            certain, labels, _ = model.given_
            self.labels_ = as_given(self.labels_, certain, labels)
            self.reliability_[certain] = 1.0
        self.rounds_ = list(getattr(model, "rounds_", []))
        self.competing_classes_ = names
        return self

    @property
    def unseen_classes_(self) -> np.ndarray:
        """Names of the classes that ``fit`` saw no row of."""
        return self._table.names[~self._table.seen]

    @property
    def _seen_names(self) -> np.ndarray:
        return self._table.names[self._table.seen]

    def _is_mixed(self, names: np.ndarray) -> bool:
        seen = np.isin(names, self._seen_names)
        return bool(seen.any() and not seen.all())

    def _shift(self, names: np.ndarray) -> np.ndarray:
        """Return what is taken off the scores of classes, in the model's own unit."""
        seen = np.isin(names, self._seen_names) & self._is_mixed(names)
        if not self._pile_unit:
            return self._start_gamma * self._start_unit * seen
        return 0.0 * seen if self._inside else self.gamma_ * self._pile_unit * seen

    def _asked(self, classes) -> tuple[Any, np.ndarray]:
        """Return who competes, as the model takes it, and the names of the columns."""
        check_is_fitted(self, "estimator_")
        if classes is None:
            names = getattr(self.estimator_, "competing_classes_", None)
            if names is not None:
                return None, np.asarray(names)
        return classes, self._table.candidates(classes).names

    def _scores(self, X, classes) -> tuple[np.ndarray, np.ndarray]:
        asked, names = self._asked(classes)
        return scores_of(self.estimator_, X, asked) - self._shift(names), names

    def decision_function(self, X, *, classes=None):
        """Score rows, the handicap taken off seen classes if unseen ones compete."""
        F, _ = self._scores(X, classes)
        return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F

    def predict(self, X, *, classes=None):
        """Return the best of the competing classes for every row."""
        F, names = self._scores(X, classes)
        return names[F.argmax(axis=1)]

    def predict_proba(self, X, *, classes=None):
        """Return the probability of every competing class for every row.

        Tempered so that those of held-out seen classes are honest.
        """
        F, names = self._scores(X, classes)
        mixed = self._is_mixed(names)
        trust = self._mixed if mixed else self._pure
        if self._pile_unit:
            return softmax(F / (self._pile_unit * trust.temperature), axis=1)
        return softmax(F / (self._start_unit * trust.start_temperature), axis=1)

    def predict_set(self, X, *, coverage=0.9, classes=None):
        """Return the classes that a row may be of, with the stated coverage.

        Split-conformal on held-out seen classes: of the rows of an average class, a
        share of at least about ``coverage`` have their class in their set. It holds
        for piles on average over classes, for classes are what is exchangeable; a
        single class may be covered less. Best after ``adapt``, on the pile.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float in (0, 1), default=0.9
        classes : optional
            Who competes.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_competing)
            Columns follow ``competing_classes_``. No set is empty.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage is {coverage!r}. Give a share between 0 and 1.")
        _, names = self._asked(classes)
        P = self.predict_proba(X, classes=classes)
        mixed = self._is_mixed(names)
        least = 1 - (self._mixed if mixed else self._pure).quantile(coverage)
        return (P >= min(least, 1.0)) | (P == P.max(axis=1, keepdims=True))

    @available_if(_estimator_has("linear_rule"))
    def linear_rule(self, classes=None) -> LinearRule:
        """Return the linear scores that new rows are labelled by."""
        asked, _ = self._asked(classes)
        competition, (coef, intercept), unit_rows = self.estimator_.linear_rule(asked)
        shift = self._shift(competition.names)
        return LinearRule(competition, LinearScorer(coef, intercept - shift), unit_rows)

    @available_if(_estimator_has("linear_rule"))
    def to_onnx(self, path, *, classes=None):
        """Write the (adapted) classifier as an ONNX file that labels as ``predict``."""
        from unseen.onnx_export import export_onnx

        return export_onnx(self, path, classes=classes)

    @available_if(_estimator_has("explain"))
    def explain(self, X, *, classes=None, columns=None):
        """Say what speaks for each label; see the model's ``explain``."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.explain(X, classes=classes, columns=columns)
