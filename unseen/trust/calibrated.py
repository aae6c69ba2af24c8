"""Calibrated: what another model says, as probabilities one can act on.

Seen classes are dealt into folds. In turn, a fold's classes play the unseen ones, and a
share of the rows of the others plays rows to come. A model fitted on what is left meets

    mixed   all rows held out; all classes compete
    pure    the rows of the classes held out; these compete
    open    four of five classes held out compete; a fifth of the rows is foreign, half
            of them of the fifth class, which nobody knows, half of classes learned from

and on these rows are chosen

    g   handicap of seen classes: the best mean harmonic mean over folds
    T   temperature: geometric mean of the folds' best, after adapting
    reliability, novelty   logistic models of "label right" and "row foreign"
    q   split-conformal quantile of 1 - p(true class)

A model with a parameter ``handicap`` gets 1.5 g in its rounds and answers without it;
from any other, g is taken off the scores of seen classes.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils.metaestimators import available_if

from unseen.core.around import Around
from unseen.core.base import ZeroShotClassifier
from unseen.core.classes import Candidates, ClassTable
from unseen.core.given import GivenRows
from unseen.core.linalg import row_lengths
from unseen.core.outcome import LinearRule, LinearScorer, Outcome
from unseen.core.params import (
    CountOr0,
    Model,
    ShareInside,
    TwoOrMore,
)
from unseen.core.rows import Unlabelled
from unseen.core.sums import sum_rows
from unseen.progress import counted
from unseen.transduction.anchored import WeakStartWarning
from unseen.trust.calibration import (
    Answer,
    Calibration,
    best_handicap,
    learn_calibration,
    left_out_coverages,
    log_mean_exp,
    log_relative_sizes,
    logit_of,
    row_spread,
    weigh,
)
from unseen.trust.metrics import trade_of
from unseen.trust.search import deal_classes


@dataclass(eq=False, repr=False)
class Calibrated(Around):
    """A zero-shot model whose answers are probabilities, on mixed and open rows too.

    All is chosen on folds that hold out seen classes and rows, without unseen labels.

    Parameters
    ----------
    estimator : zero-shot model
        Cloned, fitted once per fold, and once on everything.
    cv : int, default=4
        Folds of the seen classes.
    false_alarms : float, default=0.1
        Share of rows of classes on offer that may be called novel.
    random_state : int, default=0
        Deals classes and rows.

    Attributes
    ----------
    estimator_ : the fitted model
    gamma_ : float
        Handicap of seen classes if both kinds are candidates. In units of the standard
        deviation of row-centred scores; of scores themselves for anchored
        self-training.
    temperature_ : float
        Of rows of unseen classes, after adapting to them.
    novelty_threshold_ : float
        ``novelty_`` above it is a foreign row, at the stated rate of false alarms.
    fold_coverages_ : ndarray of shape (n_folds,)
        Coverage of 90 % sets on the classes of each fold, by what the others say.
    labels_, reliability_, novelty_ : ndarray of shape (n_samples,)
        Left by ``adapt``: the label of every row, the estimated chance that it is
        right, and the probability that the row is of none of the classes on offer, if
        one in five rows were.

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

    estimator: Model
    _: KW_ONLY
    cv: TwoOrMore = 4
    false_alarms: ShareInside = 0.1
    random_state: CountOr0 = 0

    # ---- learning ----------------------------------------------------------------

    def _needs_rows(self) -> bool:
        return True

    def _fit_sums(self, sums, table, rows=None):
        """Choose everything on folds of the seen classes, then fit on all of them."""
        if np.array_equal(table.embeddings, np.eye(len(table))):
            raise ValueError(
                "Calibrated holds out seen classes, and without class_embeddings "
                "nothing tells them apart. Give one row per class."
            )
        X, codes = rows
        seen = table.seen
        known = ClassTable(
            table.names[seen], table.embeddings[seen], seen[seen], table.widths
        )
        self._choose(self._folds(X, (np.cumsum(seen) - 1)[codes], known))
        self._start = self._with_handicap(self._fitted(sums, table, rows))
        self._adapted_unit = 0.0  # not adapted
        self.__dict__.pop("novelty_", None)
        return self._hold(self._start)

    def _folds(self, X, codes, table: ClassTable) -> list[CalibrationFold]:
        """Fit the estimator once per fold; ``table`` and ``codes`` are of the seen."""
        random = np.random.default_rng(self.random_state)
        folds, n, estimator = [], len(table), self._estimator()
        for held_out in counted("folds", deal_classes(n, self.cv, self.random_state)):
            seen = np.ones(n, dtype=bool)
            seen[held_out] = False
            out = ~seen[codes] | some_rows(codes, random)
            rows = X[~out], codes[~out]
            unit_rows = estimator.unit_rows
            sums = sum_rows(*rows, n, unit_rows=unit_rows, span=True)
            model = self._fitted(sums, replace(table, seen=seen), rows)
            model._note_features(X)
            who = model._candidates(table.names)
            F0 = who.spread(scores_of(model, X[out], who))
            folds.append(
                CalibrationFold(model, X[out], codes[out], table.names, seen, F0)
            )
        return folds

    @property
    def _inside(self) -> bool:  # then scores have a unit of their own, too
        return "handicap" in self.estimator.get_params()

    def _with_handicap(self, model):
        # Inside the rounds it is one and a half of what it is outside.
        return model.set_params(handicap=1.5 * self.gamma_) if self._inside else model

    def _choose(self, folds: list[CalibrationFold]) -> None:
        units = [self._unit(fold.F0) for fold in folds]
        self._start_unit = float(np.mean(units))
        self.gamma_ = self._start_gamma = best_handicap(
            [
                trade_of(fold.F0 / unit, fold.codes, fold.seen)
                for fold, unit in zip(folds, units, strict=True)
            ]
        )
        for fold in folds:
            self._with_handicap(fold.model)
        pure = [(self._scaled(a), truth) for a, truth in map(pure_rows, folds)]
        self._pure = learn_calibration(pure)
        self.fold_coverages_ = left_out_coverages(pure)
        mixed = [(self._scaled(answer_fold(f, f.X, f.F0)), f) for f in folds]
        if not self._inside and hasattr(self.estimator, "adapt"):
            self.gamma_ = best_handicap(
                [trade_of(answer.F, f.codes, f.seen) for answer, f in mixed]
            )
        self._mixed = learn_calibration(
            [(self._relabelled(answer, f.seen), f.codes) for answer, f in mixed]
        )
        self.temperature_ = self._pure.temperature
        evidence, foreign = [], []
        for number, fold in enumerate(folds):
            rows = open_rows(fold, number)
            reliability = self._pure.reliability(self._scaled(rows.answer))
            evidence.append(novelty_evidence(fold.model, rows, reliability))
            foreign.append(rows.foreign)
        self._novelty = weigh(evidence, foreign)
        calm = [
            np.quantile(self._novelty.probability(e[~f]), 1 - self.false_alarms)
            for e, f in zip(evidence, foreign, strict=True)
        ]
        self.novelty_threshold_ = float(np.mean(calm))

    def _unit(self, F: np.ndarray) -> float:
        return 1.0 if self._inside else row_spread(F)

    def _scaled(self, answer: Answer) -> Answer:
        """Return an answer with scores in units of their spread, or their own."""
        F, F0 = (M / self._unit(M) for M in (answer.F, answer.F0))
        return answer._replace(F=F, F0=F0)

    def _relabelled(self, answer: Answer, seen: np.ndarray) -> Answer:
        """Return an answer for mixed rows, the handicap taken off."""
        F0 = answer.F0 - self._start_gamma * seen
        if self._inside:
            return answer._replace(F0=F0)
        F = answer.F - self.gamma_ * seen
        return Answer(F.argmax(axis=1), F, F0)

    # ---- answering ---------------------------------------------------------------

    def _adapt(self, unlabelled, candidates, given):
        """Let the model learn from the rows; say how far its labels can be trusted."""
        X, names = unlabelled.X, candidates.names
        others = self._seen_names[~np.isin(self._seen_names, names)]
        F0 = scores_of(self._start, X, candidates)
        F_others = scores_of(self._start, X, others) if len(others) else F0[:, :0]
        model = self.estimator_ = copy.deepcopy(self._start)
        answer = answer_rows(model, unlabelled, F0, candidates, given)
        self._adapted_unit = self._unit(answer.F)
        scaled = self._scaled(answer)
        if self._is_mixed(names):
            scaled = self._relabelled(scaled, np.isin(names, self._seen_names))
        reliability = self._chosen(candidates).reliability(scaled)
        rows = OpenRows(X, answer, F_others, others, np.zeros(len(X), dtype=bool))
        evidence = novelty_evidence(model, rows, reliability)
        self.novelty_ = self._novelty.probability(evidence)
        kept = np.isin(names, model._default.names)
        # The model scores new rows; the rule says no more than who competes.
        rule = LinearRule(model._default, LinearScorer(F0[:0], F0[:0]), True)
        return Outcome(
            (np.cumsum(kept) - 1)[scaled.codes],
            reliability,
            list(getattr(model, "rounds_", [])),
            rule,
            calibrated=True,
        )

    def _describe(self, unlabelled, rows, name):
        # Nothing was chosen for classes known by rows.
        return ZeroShotClassifier._describe(self, unlabelled, rows, name)

    def _record(self, outcome):
        super()._record(outcome)
        self._adapted = None
        return self

    def _is_mixed(self, names: np.ndarray) -> bool:
        seen = np.isin(names, self._seen_names)
        return bool(seen.any() and not seen.all())

    def _shift(self, names: np.ndarray) -> np.ndarray:
        """Return what is taken off the scores of classes, in the model's own unit."""
        seen = np.isin(names, self._seen_names) & self._is_mixed(names)
        if not self._adapted_unit:
            return self._start_gamma * self._start_unit * seen
        return 0.0 * seen if self._inside else self.gamma_ * self._adapted_unit * seen

    def _rule(self, candidates):
        rule = self.estimator_._rule(candidates)
        shift = self._shift(candidates.names)
        if not isinstance(rule, LinearRule):
            return lambda X: rule(X) - shift
        coef, intercept = rule.scorer
        return rule._replace(scorer=LinearScorer(coef, intercept - shift))

    def _chosen(self, candidates: Candidates) -> Calibration:
        return self._mixed if self._is_mixed(candidates.names) else self._pure

    def _tempered(self, candidates: Candidates, scores: np.ndarray) -> np.ndarray:
        chosen = self._chosen(candidates)
        T = self._adapted_unit * chosen.temperature
        T = T or self._start_unit * chosen.start_temperature  # not adapted
        return softmax(scores / T, axis=1)

    def _probabilities(self, candidates: Candidates, scores: np.ndarray) -> np.ndarray:
        return candidates.count(self._tempered(candidates, scores))

    def predict_set(self, X, *, coverage=0.9, classes=None):
        """Return the classes that a row may be of, with the stated coverage.

        Split-conformal on seen classes held out: of the rows of an average class, a
        share of at least about ``coverage`` have their class in their set. It holds
        on average over classes, for classes are what is exchangeable; a single class
        may be covered less. Best after ``adapt``, on the rows adapted to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float in (0, 1), default=0.9
        classes : optional
            The candidates.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_competing)
            Columns follow ``competing_classes_``. No set is empty.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage is {coverage!r}. Give a share between 0 and 1.")

        def sets(candidates: Candidates, scores: np.ndarray) -> np.ndarray:
            P = self._tempered(candidates, scores)
            least = min(1 - self._chosen(candidates).quantile(coverage), 1.0)
            return candidates.spread((P >= least) | (P == P.max(axis=1, keepdims=True)))

        return self._of_rows(X, classes, sets)

    @available_if(lambda self: hasattr(self._model(), "explain"))
    def explain(self, X, *, classes=None, columns=None):
        """Say what speaks for each label; see the model's ``explain``."""
        return self.estimator_.explain(X, classes=classes, columns=columns)


# ---- what models say of rows held out ------------------------------------------------


class CalibrationFold(NamedTuple):
    """A model fitted without some classes and rows, and those rows.

    ``names`` are all classes of the fold, ``codes`` the true one of every row, and
    ``seen`` says which classes the model learned from. ``F0`` are the scores of all
    classes before any adapting.
    """

    model: Any
    X: np.ndarray
    codes: np.ndarray
    names: np.ndarray
    seen: np.ndarray
    F0: np.ndarray


class OpenRows(NamedTuple):
    """Rows of which some are foreign: the answer, and who is known but not on offer.

    ``F_others`` are the scores of classes that the model learned from and that were
    not on offer, ``others``, before any adapting.
    """

    X: np.ndarray
    answer: Answer
    F_others: np.ndarray
    others: np.ndarray
    foreign: np.ndarray


def some_rows(codes: np.ndarray, random) -> np.ndarray:
    """Choose a fifth of the rows of every class, at random; at least one stays."""
    chosen = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        own = random.permutation(np.flatnonzero(codes == code))
        n = min(max(1, round(0.2 * len(own))), len(own) - 1)
        chosen[own[:n]] = True
    return chosen


def scores_of(model: Any, X, classes: Any) -> np.ndarray:
    """Return one column of scores per distinct class."""
    score = model._rule(model._candidates(classes))
    return np.asarray(score(np.asarray(X)), dtype=np.float64)


def answer_rows(
    model: Any,
    unlabelled: Unlabelled,
    F0: np.ndarray,
    candidates: Candidates,
    given: GivenRows | None = None,
) -> Answer:
    """Adapt the model to rows, if it adapts; return its labels and scores.

    F0 are the scores before. Classes that the model dropped as absent have no score:
    no row is theirs.
    """
    if not hasattr(model, "adapt"):
        return Answer(F0.argmax(axis=1), F0, F0)
    outcome = model._adapt(unlabelled, candidates, given)
    theirs = model._record(outcome)._default
    kept = np.flatnonzero(np.isin(candidates.names, theirs.names))
    F = np.full(F0.shape, -np.inf)
    F[:, kept] = scores_of(model, unlabelled.X, theirs)
    return Answer(kept[outcome.codes], F, F0)


def answer_fold(
    fold: CalibrationFold, X: np.ndarray, F0: np.ndarray, classes: Any = slice(None)
) -> Answer:
    """Answer for rows of a fold; a weak start there is no news of the user's rows.

    Classes with equal descriptions are answered for once, and shown in every column.
    """
    names = fold.names[classes]
    candidates = fold.model._candidates(names)
    own = np.array([np.flatnonzero(names == name)[0] for name in candidates.names])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakStartWarning)
        found = answer_rows(fold.model, Unlabelled(X), F0[:, own], candidates)
    return Answer(own[found.codes], candidates.spread(found.F), F0)


def pure_rows(fold: CalibrationFold) -> tuple[Answer, np.ndarray]:
    """Let the model answer for rows of the classes held out; return the truth too."""
    own = ~fold.seen[fold.codes]
    there = np.flatnonzero(~fold.seen)
    answer = answer_fold(fold, fold.X[own], fold.F0[own][:, there], there)
    return answer, np.searchsorted(there, fold.codes[own])


def open_rows(fold: CalibrationFold, seed: int) -> OpenRows:
    """Let the model answer for rows of which some are foreign."""
    random = np.random.default_rng([seed, 20])
    held_out = random.permutation(np.flatnonzero(~fold.seen))
    n_unknown = max(1, len(held_out) // 5) if len(held_out) > 2 else 0
    there = np.sort(held_out[n_unknown:])
    own = np.flatnonzero(np.isin(fold.codes, there))
    strange = np.flatnonzero(np.isin(fold.codes, held_out[:n_unknown]))
    known = np.flatnonzero(fold.seen[fold.codes])
    some = [random.permutation(s)[: max(1, len(own) // 8)] for s in (strange, known)]
    rows = np.concatenate([own, *some])
    F0, X = fold.F0[rows], fold.X[rows]
    answer = answer_fold(fold, X, F0[:, there], there)
    foreign = np.arange(len(rows)) >= len(own)
    return OpenRows(X, answer, F0[:, fold.seen], fold.names[fold.seen], foreign)


def novelty_evidence(model: Any, rows: OpenRows, reliability: np.ndarray):
    """Return what speaks for a row being of no class on offer, a column each.

    The seen classes against those on offer; a broad background against those, and
    against the best of them; how reliable the label is; and the length of the row.
    Differences are of logarithms of *means* over classes, so that the number of
    classes does not matter. Where there is a background, also what was said of the row
    before foreign rows could teach anything: background against the best class and
    against the label, on prototypes alone; and the size of the class, as foreign rows
    make it larger.
    """
    X, (codes, F, F0) = rows.X, rows.answer
    unclear = -logit_of(np.log(np.maximum(reliability, 1e-300)))
    if hasattr(model, "background_evidence"):
        offered = log_mean_exp(F[:, np.isfinite(F).all(axis=0)])
        broad, length, early = model.background_evidence(X).T
        known = len(rows.others) > 0
        seen = log_mean_exp(scores_of(model, X, rows.others)) if known else broad
        ratios = [broad - offered, broad - F.max(axis=1), seen - offered]
        own = F0[np.arange(len(F0)), codes]
        before = [early - F0.max(axis=1), early - own, log_relative_sizes(codes)]
        return np.column_stack([*ratios, unclear, length, *before])
    spread = row_spread(np.hstack([F0, rows.F_others]))
    start = log_mean_exp(F0 / spread)
    known = rows.F_others.shape[1] > 0
    seen = log_mean_exp(rows.F_others / spread) if known else start
    best = F.max(axis=1) / row_spread(F)
    lengths = np.log(row_lengths(np.asarray(X, dtype=np.float64)))
    return np.column_stack([seen - start, -start, -best, unclear, lengths])
