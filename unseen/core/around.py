"""Methods around a model: rows as it sees them, and functions that relabel them.

A transductive method is a function ``method(start, **parameters) -> Relabelled``, and
``estimator_of`` makes it an estimator. It starts from

    rows        (n, r)   the unlabelled rows where they are compared: (x - mean) axes
    prototypes  (N, r)   the candidate classes there
    scores      (n, N)   what the model says of the rows
    logits      (n, N)   the same on a scale where softmax makes sense

A model that has a space of its own (whitened, on axes) lends it; any other is asked for
scores alone, rows are taken at unit length less their mean, and a class's prototype is
the mean of the rows that score best for it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.base import MetaEstimatorMixin, clone

from unseen.core.base import (
    LinearRule,
    LinearScorer,
    Outcome,
    Round,
    ZeroShotClassifier,
    rank_within,
)
from unseen.core.classes import Candidates, ClassTable
from unseen.core.given import GivenRows
from unseen.core.params import HasMethods, fit_context
from unseen.core.rows import Unlabelled
from unseen.core.sums import Sums, indicator

SHARPNESS = 3.0  # of scores with unit spread; cosines of CLIP come out at about this
MOST_WORTH = 100.0  # rows that a prototype may count as, beside given ones
BEST_ROWS = 8  # that stand for a class whose model has no prototype
SECTIONS = ("Parameters", "Attributes", "Notes", "References", "Examples")
# What the docstrings of methods around a model begin with, in two sections.
SHARED = {
    "Parameters": """\
estimator : zero-shot model or None, default=None
    Where to start; None for ``AnchoredSelfTraining``, as fitted.""",
    "Attributes": """\
labels_, reliability_, rounds_
    Left by ``adapt``: the label of every row, how probable it is that it is right, and
    what each round did.""",
}


# ---- estimators around another -----------------------------------------------------


class Around(MetaEstimatorMixin, ZeroShotClassifier):
    """Base of the estimators that hold a zero-shot model, fitted as ``estimator_``."""

    estimator: Any
    estimator_: Any
    _mixes = True  # adapted scores have the scale of those of other classes
    _adapt_parameters: frozenset[str] = frozenset()

    def _estimator(self) -> Any:
        """Return the model to clone."""
        return self.estimator

    def _model(self) -> Any:
        return getattr(self, "estimator_", None) or self._estimator()

    @property
    def unit_rows(self) -> bool:  # type: ignore[override]
        """Whether the estimator scales rows to unit length."""
        return self._model().unit_rows

    def _checked_estimator(self) -> Any:
        estimator = self._estimator()
        if not isinstance(estimator, ZeroShotClassifier):
            raise TypeError(
                f"estimator={estimator!r} is no zero-shot model of unseen. Give one, "
                "or a class of your own that inherits from ZeroShotClassifier."
            )
        return estimator

    def _fit_sums(self, sums: Sums, table: ClassTable, rows: tuple | None = None):
        return self._hold(self._fitted(sums, table, rows))

    def _fitted(self, sums: Sums, table: ClassTable, rows: tuple | None) -> Any:
        """Return a copy of the estimator that learned from rows of seen classes."""
        estimator = clone(self._checked_estimator())
        estimator._validate_params()
        own = (rows,) if estimator._needs_rows() else ()
        return estimator._fit_sums(sums, table, *own)

    def _needs_rows(self) -> bool:
        return self._checked_estimator()._needs_rows()

    def _hold(self, estimator: Any):
        """Keep the fitted estimator."""
        self.estimator_ = estimator
        return self._ready(estimator._table, warn=False)

    def _note_features(self, X):
        self.estimator_._note_features(X)
        return super()._note_features(X)

    def _candidates(self, classes):
        return self.estimator_._candidates(classes)

    def _seen_as(self, names, embeddings):
        return self.estimator_._seen_as(names, embeddings)

    def _describe(self, unlabelled, rows, name):
        return self.estimator_._describe(unlabelled, rows, name)

    def _streams(self) -> bool:
        return False

    def _is_linear(self) -> bool:
        adapted = getattr(self, "_adapted", None) is not None
        return adapted or self._model()._is_linear()

    def _scoring(self, candidates):
        if self._adapted is None or not self._is_adapted_to(candidates):
            return self.estimator_._scoring(candidates)
        return super()._scoring(candidates)

    def _rule(self, candidates: Candidates) -> LinearRule:
        """Score as ``adapt`` learned, or else as the estimator does."""
        if self._adapted is None or not self._is_adapted_to(candidates):
            return self.estimator_._rule(candidates)
        if self._mixes:
            return super()._rule(candidates)
        theirs, scorer, unit_rows = self._adapted
        place = theirs.find(candidates.names, candidates.embeddings)
        scorer = LinearScorer(scorer.coef[place], scorer.intercept[place])
        return LinearRule(candidates, scorer, unit_rows)

    def _scorer(self, candidates):
        return self.estimator_._scorer(candidates)

    def _is_adapted_to(self, candidates: Candidates) -> bool:
        """Tell whether classes were adapted to; refuse some of them beside others."""
        assert self._adapted is not None
        theirs = self._adapted.candidates
        stranger = theirs.find(candidates.names, candidates.embeddings) < 0
        if self._mixes or not stranger.any() or stranger.all():
            return not stranger.all()
        raise ValueError(
            f"{type(self).__name__} was adapted to {len(theirs.columns)} classes, "
            f"and {candidates.names[stranger].tolist()[0]!r} is not one of them. Ask "
            "for either kind alone, or adapt with all that shall compete: "
            "adapt(X, classes='all')."
        )


class Relabelled(NamedTuple):
    """What a method makes of a start.

    ``scores`` (n, N) are those its labels follow. ``scorer``, if the method has a rule
    for new rows, is linear in the rows of the start; by default the nearest of the
    class means of the labelled rows wins. ``also`` are further fitted names.
    """

    scores: np.ndarray
    rounds: list[Round]
    scorer: LinearScorer | None = None
    also: dict[str, Any] = {}


class Relabelling(Around):
    """The estimator of a method that relabels rows, starting from a model's answer.

    Its parameters are ``estimator`` and those of ``_method``. After ``adapt`` its
    classes do not compete with others: their scores have another scale.
    """

    _mixes = False
    _method: Callable

    def _estimator(self):
        from unseen import AnchoredSelfTraining

        return AnchoredSelfTraining() if self.estimator is None else self.estimator

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
        from unseen import GuidedMixture

        alone = self.estimator is None
        estimator = GuidedMixture() if alone else self._checked_estimator()
        if not hasattr(estimator, "fit_prototypes"):
            raise ValueError(
                f"estimator={estimator} learns from seen classes and cannot start from "
                "prototypes. Leave estimator at None, or call fit(X, y)."
            )
        self._hold(clone(estimator).fit_prototypes(prototypes))
        return self._note_features(np.zeros((1, self.class_embeddings_.shape[1])))

    def _describe(self, unlabelled, rows, name):
        """Describe a new class by its rows, where the start has prototypes of its own.

        Others are known by their descriptions only.
        """
        if not hasattr(self.estimator_, "_lend"):
            raise self._undescribed(name)
        return super()._describe(unlabelled, rows, name)

    def _adapt(self, unlabelled, candidates, given):
        start = start_from(self.estimator_, unlabelled, candidates)
        start = start if given is None else start.with_given(given)
        named = {name: getattr(self, name) for name in self._parameters}
        scores, rounds, scorer, also = self._method(start, **named)
        codes = scores.argmax(axis=1)
        scorer = start.for_features(scorer or nearest_mean(start, codes))
        rule = LinearRule(candidates, scorer, start.unit_rows)
        return Outcome(codes, scores.max(axis=1), rounds, rule, also=also)


def estimator_of(method: Callable, name: str, **constraints: list) -> type[Relabelling]:
    """Return the estimator of a transductive method; its parameters are the method's.

    Parameters
    ----------
    method : callable
        ``method(start, *, parameter=default, ...)`` returns a :class:`Relabelled`. Its
        docstring is that of the class, with what all of them share (``SHARED``).
    name : str
        Of the class.
    **constraints
        What each parameter may be.
    """
    own = list(inspect.signature(method).parameters.values())[1:]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = [inspect.Parameter("self", kind)]
    first += [inspect.Parameter("estimator", kind, default=None)]
    signature = inspect.Signature([*first, *own])

    def __init__(self, *args, **named):  # noqa: N807, it becomes the class's own
        bound = signature.bind(self, *args, **named)
        bound.apply_defaults()
        for key, value in list(bound.arguments.items())[1:]:
            setattr(self, key, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    estimator = [HasMethods(["fit", "predict"]), None]
    body = {
        "__init__": __init__,
        "__doc__": with_shared_sections(inspect.getdoc(method) or ""),
        "__module__": method.__module__,
        "_method": staticmethod(method),
        "_parameters": tuple(parameter.name for parameter in own),
        "_adapt_parameters": frozenset(parameter.name for parameter in own),
        "_parameter_constraints": {"estimator": estimator, **constraints},
    }
    return type(name, (Relabelling,), body)


def with_shared_sections(doc: str) -> str:
    """Return the docstring of a method as that of its estimator."""
    summary, *parts = re.split(r"\n\n(?=[A-Z][a-z]+\n---)", doc)
    own = {part.split("\n")[0]: part.split("\n", 2)[2] for part in parts}
    for title, shared in SHARED.items():
        own[title] = f"{shared}\n{own[title]}" if title in own else shared
    made = [
        f"{title}\n{'-' * len(title)}\n{own[title]}"
        for title in SECTIONS
        if title in own
    ]
    return "\n\n".join([summary, *made])


# ---- where a method starts ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Start:
    """Unlabelled rows as a fitted model sees them; see the head of this file.

    Attributes
    ----------
    candidates : Candidates
        Who competes; its ``names`` are the columns of ``scores``.
    rows, prototypes, scores, logits : ndarray
        As above.
    scorer : LinearScorer or None
        ``scores`` as a linear function of ``rows``, if they are one.
    axes : ndarray of shape (n_features, r) or None
        None if rows stay in the space of the features.
    mean : ndarray of shape (n_features,)
    unit_rows : bool
        Whether rows of X get unit length before anything else.
    rescore : callable or None
        The scorer of other prototypes, if scores come from them.
    logit_scale : float
        Logits over scores, there.
    """

    candidates: Candidates
    rows: np.ndarray
    prototypes: np.ndarray
    scores: np.ndarray
    logits: np.ndarray
    scorer: LinearScorer | None
    axes: np.ndarray | None
    mean: np.ndarray
    unit_rows: bool
    rescore: Callable[[np.ndarray], LinearScorer] | None = None
    logit_scale: float = 1.0

    @property
    def probabilities(self) -> np.ndarray:
        """Soft labels of the rows."""
        return softmax(self.logits, axis=1)

    @property
    def even_size(self) -> int:
        """How many rows a class has if all have the same, at least one."""
        n, n_classes = self.scores.shape
        return max(1, n // n_classes)

    def contrast(self) -> tuple[np.ndarray, LinearScorer | None]:
        """Return logits less the mean of each row, and what makes them of ``rows``.

        Rows become comparable: one that scores high for every class has no say.
        """
        S, raw = (M - M.mean(axis=1, keepdims=True) for M in (self.logits, self.scores))
        if self.scorer is None:
            return S, None
        spread = np.linalg.norm(raw)  # S is a multiple of raw
        factor = float(np.linalg.norm(S) / spread) if spread > 0 else 1.0
        coef, intercept = self.scorer
        return S, LinearScorer(
            factor * (coef - coef.mean(axis=0)),
            factor * (intercept - intercept.mean()),
        )

    def with_given(self, given: GivenRows) -> Start:
        """Return the start with given labels in it.

        Prototypes move to the mean of prototype and given rows, where what a prototype
        is worth in rows is measured by how far they lie apart; scores follow where they
        come from prototypes. Given rows score best for their class.
        """
        Z = corrected(self.rows, self.prototypes, self.logits, given)
        scores, logits, scorer = self.scores, self.logits, self.scorer
        if self.rescore is not None:
            scorer = self.rescore(Z)
            scores = self.rows @ scorer.coef.T + scorer.intercept
            logits = scores * self.logit_scale
        scores, logits = (swapped(M, given) for M in (scores, logits))
        made = replace(self, prototypes=Z, scores=scores, logits=logits)
        return replace(made, scorer=scorer)

    def for_features(self, scorer: LinearScorer) -> LinearScorer:
        """Turn a linear score of ``rows`` into one of (unit) rows of X."""
        coef = scorer.coef if self.axes is None else scorer.coef @ self.axes.T
        return LinearScorer(coef, scorer.intercept - coef @ self.mean)

    def round(
        self,
        before: np.ndarray,
        scores: np.ndarray,
        objective: float = float("nan"),
        note: str = "",
    ) -> Round:
        """Tell one step of a method that keeps every row; it began with ``before``."""
        labels = before.argmax(axis=1), scores.argmax(axis=1)
        return Round.of_all(self.candidates, *labels, objective, note)

    def keep_unreached(self, F: np.ndarray) -> tuple[np.ndarray, int]:
        """Give rows that no label reached the model's answer, as the least reliable.

        Returns the scores and how many rows that were.
        """
        unreached = ~(F > 0).any(axis=1)
        if not unreached.any():
            return F, 0
        reached = F[F > 0]
        F = F.copy()
        F[unreached] = self.probabilities[unreached]
        if reached.size:
            F[unreached] *= max(reached.min(), 1e-200)
        return F, int(unreached.sum())


def start_from(model: Any, X: Any, classes: Any = None) -> Start:
    """Return unlabelled rows as a fitted model sees them.

    Parameters
    ----------
    model : fitted zero-shot model
    X : array-like of shape (n_samples, n_features), or Unlabelled
    classes : None, str, list of names, or table, default=None
    """
    unlabelled, candidates = model._unlabelled(X), model._candidates(classes)
    if hasattr(model, "_lend"):
        return model._lend(unlabelled, candidates)
    if hasattr(model, "_score") and model._is_linear():
        return _from_axes(model, unlabelled, candidates)
    return _from_scores(model, unlabelled, candidates)


def _from_axes(model: Any, unlabelled: Unlabelled, candidates: Candidates) -> Start:
    """Rows on the model's axes, centred as the model says."""
    view, state = model._view(unlabelled, candidates), model._state()
    coef, offset = model._reported(state, view)
    rows = np.asarray(view.B)
    scores = rows @ coef.T + offset
    if hasattr(model, "_prototypes_on_axes"):
        prototypes = model._prototypes_on_axes(state, view.A)
    else:
        prototypes = best_row_means(rows, scores)
    return Start(
        candidates,
        rows,
        prototypes,
        scores,
        sharpened(scores),
        LinearScorer(coef, np.broadcast_to(offset, len(coef))),
        model.axes_,
        view.mean,
        model.unit_rows,
    )


def _from_scores(model: Any, unlabelled: Unlabelled, candidates: Candidates) -> Start:
    """Rows of unit length, centred; prototypes are means of the best rows."""
    scores = model._scoring(candidates)(unlabelled.X)
    mean = unlabelled.mean(True)
    rows = unlabelled.X * unlabelled.scales(True)[:, None] - mean
    return Start(
        candidates,
        rows,
        best_row_means(rows, scores),
        scores,
        sharpened(scores),
        None,
        axes=None,
        mean=mean,
        unit_rows=True,
    )


def corrected(
    rows: np.ndarray, Z: np.ndarray, logits: np.ndarray, given: GivenRows
) -> np.ndarray:
    """Return prototypes that given rows have corrected; see ``Start.with_given``.

    With s² the spread of rows around class means and g given rows of mean ḡ,
    |ḡ - Z|² is v + s²/g on average: a prototype is worth s²/v rows.
    """
    known, codes = given.rows, given.codes[given.rows]
    sums = indicator(codes, len(Z)).T @ rows[known].astype(np.float64)
    counts = given.counts.astype(np.float64)
    means = sums / np.maximum(counts, 1)[:, None]
    labels = logits.argmax(axis=1)
    sizes = np.bincount(labels, minlength=len(Z))
    own = (indicator(labels, len(Z)).T @ rows) / np.maximum(sizes, 1)[:, None]
    spread = np.sum(rows.astype(np.float64) ** 2) - sizes @ np.sum(own**2, axis=1)
    spread = spread / max(len(rows) - np.count_nonzero(sizes), 1)
    both = (counts > 0) & ~given.new
    worth = np.zeros(len(Z))
    if both.any():
        off = np.sum((means - Z)[both] ** 2, axis=1) - spread / counts[both]
        worth[~given.new] = spread / max(off.mean(), spread / MOST_WORTH, 1e-300)
    moved = (worth[:, None] * Z + sums) / np.maximum(worth + counts, 1e-300)[:, None]
    return np.where((counts > 0)[:, None], moved, Z).astype(Z.dtype)


def swapped(scores: np.ndarray, given: GivenRows) -> np.ndarray:
    """Return scores in which given rows score best for their class.

    It changes places with the class that did, so that no score is out of the common:
    some methods compare the rows of a class.
    """
    rows, codes = given.rows, given.codes[given.rows]
    best, made = scores[rows].argmax(axis=1), np.array(scores)
    made[rows, codes], made[rows, best] = scores[rows, best], scores[rows, codes]
    return made


def sharpened(scores: np.ndarray) -> np.ndarray:
    """Give scores of any scale the spread that suits a softmax."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centred**2))
    return centred * (SHARPNESS / spread) if spread > 0 else centred


def best_row_means(rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return, for every class, the mean of the rows that score best for it.

    Of the rows that the class wins; of a class that wins none, its single best row.
    """
    labels = scores.argmax(axis=1)
    order, place, _ = rank_within(labels, scores.max(axis=1))
    means = np.empty((scores.shape[1], rows.shape[1]), dtype=rows.dtype)
    best = order[place < BEST_ROWS]
    for c in range(scores.shape[1]):
        own = best[labels[best] == c]
        means[c] = rows[own].mean(axis=0) if len(own) else rows[scores[:, c].argmax()]
    return means


def nearest_mean(start: Start, codes: np.ndarray) -> LinearScorer:
    """Score rows by their distance to the class means of the labelled rows.

    The largest b·m - |m|²/2 is the nearest m. A class without a row keeps its
    prototype.
    """
    N = len(start.prototypes)
    counts = np.bincount(codes, minlength=N)[:, None]
    sums = indicator(codes, N).T @ start.rows.astype(np.float64)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), start.prototypes)
    return LinearScorer(means, -np.sum(means * means, axis=1) / 2)
