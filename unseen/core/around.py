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
from dataclasses import dataclass, field, make_dataclass, replace
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
from unseen.core.sums import Sums, indicator

SHARPNESS = 3.0  # of scores with unit spread; cosines of CLIP come out at about this
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

    Without a ``scorer``, the nearest class mean of the labelled rows wins new rows.
    """

    scores: np.ndarray  # (n, N), which labels follow
    rounds: list[Round]
    scorer: LinearScorer | None = None  # linear in the rows of the start
    also: dict[str, Any] = {}  # further fitted names


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
        """Describe a new class by its rows, where the start has its own prototypes."""
        if not hasattr(self.estimator_, "_lend"):
            raise self._undescribed(name)
        return super()._describe(unlabelled, rows, name)

    def _adapt(self, unlabelled, candidates, given):
        start = start_from(self.estimator_, unlabelled, candidates)
        start = start if given is None else start.with_given(given)
        own = self.get_params(deep=False)
        del own["estimator"]
        scores, rounds, scorer, also = self._method(start, **own)
        codes = scores.argmax(axis=1)
        scorer = start.for_features(scorer or nearest_mean(start, codes))
        rule = LinearRule(candidates, scorer, start.unit_rows)
        return Outcome(codes, scores.max(axis=1), rounds, rule, also=also)


def estimator_of(method: Callable, name: str, **constraints: list) -> type[Relabelling]:
    """Return the estimator of ``method(start, *, parameter=default, ...)``.

    Its parameters and its docstring are the method's, with what all share (``SHARED``);
    ``constraints`` say what each parameter may be.
    """
    own = list(inspect.signature(method).parameters.values())[1:]
    fields = [(one.name, Any, field(default=one.default, kw_only=True)) for one in own]
    estimator = [HasMethods(["fit", "predict"]), None]
    doc = with_shared_sections(inspect.getdoc(method) or "")
    method.__doc__ = doc.split("\n")[0]  # the rest is the class's, its example too
    body = {
        "__doc__": doc,
        "__module__": method.__module__,
        "_method": staticmethod(method),
        "_adapt_parameters": frozenset(one.name for one in own),
        "_parameter_constraints": {"estimator": estimator, **constraints},
    }
    fields = [("estimator", Any, None), *fields]
    kinds: Any = {"bases": (Relabelling,), "namespace": body}
    return make_dataclass(name, fields, eq=False, repr=False, **kinds)


def with_shared_sections(doc: str) -> str:
    """Return the docstring of a method as that of its estimator."""
    summary, *parts = re.split(r"\n\n(?=[A-Z][a-z]+\n---)", doc)
    own = {part.split("\n")[0]: part.split("\n", 2)[2] for part in parts}
    for title, shared in SHARED.items():
        own[title] = f"{shared}\n{own[title]}" if title in own else shared
    order = ("Parameters", "Attributes", "Notes", "References", "Examples")
    made = [f"{t}\n{'-' * len(t)}\n{own[t]}" for t in order if t in own]
    return "\n\n".join([summary, *made])


# ---- where a method starts ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Start:
    """Unlabelled rows as a fitted model sees them; see the head of this file."""

    candidates: Candidates
    rows: np.ndarray
    prototypes: np.ndarray
    scores: np.ndarray
    logits: np.ndarray
    scorer: LinearScorer | None  # makes scores of rows, if they are linear in them
    axes: np.ndarray | None  # None where rows stay in the space of the features
    mean: np.ndarray
    unit_rows: bool
    # Where scores come from prototypes: the scorer of others, and logits over scores.
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
        """Return logits less the mean of each row, and what makes them of ``rows``."""
        S, raw = (M - M.mean(axis=1, keepdims=True) for M in (self.logits, self.scores))
        if self.scorer is None:
            return S, None
        spread = np.linalg.norm(raw)  # S is a multiple of raw
        factor = float(np.linalg.norm(S) / spread) if spread > 0 else 1.0
        centred = (factor * (one - one.mean(axis=0)) for one in self.scorer)
        return S, LinearScorer(*centred)

    def with_given(self, given: GivenRows) -> Start:
        """Return the start with given labels in it.

        Prototypes move to the mean of prototype and given rows, where what a prototype
        is worth in rows is measured by how far they lie apart; scores follow where they
        come from prototypes. Given rows score best for their class.
        """
        Z = corrected(self.rows, self.prototypes, self.logits, given)
        scores, logits, scorer = self.scores.copy(), self.logits.copy(), self.scorer
        if self.rescore is not None:
            scorer = self.rescore(Z)
            scores = self.rows @ scorer.coef.T + scorer.intercept
            logits = scores * self.logit_scale
        rows, codes = given.rows, given.codes[given.rows]
        for M in (scores, logits):
            # The class changes places with the best, so that no score is out of the
            # common: some methods compare the rows of a class.
            own, best = M[rows, codes], M[rows].argmax(axis=1)
            M[rows, codes], M[rows, best] = M[rows, best], own
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
        """Return scores, and how many rows no label reached: they keep the model's."""
        unreached = ~(F > 0).any(axis=1)
        least = max(F[F > 0].min(initial=1), 1e-200)
        F = np.where(unreached.reshape(-1, 1), least * self.probabilities, F)
        return F, int(unreached.sum())


def start_from(model: Any, X: Any, classes: Any = None) -> Start:
    """Return unlabelled rows as a fitted model sees them."""
    unlabelled, candidates = model._unlabelled(X), model._candidates(classes)
    if hasattr(model, "_lend"):
        return model._lend(unlabelled, candidates)
    if hasattr(model, "_score") and model._is_linear():
        view, state = model._view(unlabelled, candidates), model._state()
        coef, offset = model._reported(state, view)
        rows, axes, unit_rows = np.asarray(view.B), model.axes_, model.unit_rows
        mean, scores = view.mean, rows @ coef.T + offset
        scorer = LinearScorer(coef, np.broadcast_to(offset, len(coef)))
    else:  # rows of unit length, centred
        scorer, axes, unit_rows = None, None, True
        scores, mean = model._scoring(candidates)(unlabelled.X), unlabelled.mean(True)
        rows = unlabelled.X * unlabelled.scales(True)[:, None] - mean
    if axes is not None and hasattr(model, "_prototypes_on_axes"):
        prototypes = model._prototypes_on_axes(state, view.A)
    else:
        prototypes = best_row_means(rows, scores)
    logits = sharpened(scores)
    seen = (candidates, rows, prototypes, scores, logits, scorer, axes, mean)
    return Start(*seen, unit_rows)


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
        # A prototype is worth a hundred rows at most.
        worth[~given.new] = spread / max(off.mean(), spread / 100, 1e-300)
    moved = (worth[:, None] * Z + sums) / np.maximum(worth + counts, 1e-300)[:, None]
    return np.where((counts > 0)[:, None], moved, Z).astype(Z.dtype)


def sharpened(scores: np.ndarray) -> np.ndarray:
    """Give scores of any scale the spread that suits a softmax."""
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centred**2))
    return centred * (SHARPNESS / spread) if spread > 0 else centred


def best_row_means(rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return, for every class, the mean of the eight rows that score best for it.

    Of the rows that the class wins; of a class that wins none, its single best row.
    """
    labels = scores.argmax(axis=1)
    order, place, _ = rank_within(labels, scores.max(axis=1))
    best, means = order[place < 8], rows[scores.argmax(axis=0)].copy()
    for c in np.unique(labels):
        means[c] = rows[best[labels[best] == c]].mean(axis=0)
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
