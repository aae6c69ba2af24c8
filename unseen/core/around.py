"""Methods around a model: rows as it sees them, and functions that relabel them.

A transductive method is a function ``method(start, **parameters) -> Relabelled``, and
``estimator_of`` makes it an estimator. Where it starts is in start.py.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import field, make_dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone

from unseen.core.base import ZeroShotClassifier
from unseen.core.classes import ClassTable
from unseen.core.on_axes import OnAxes
from unseen.core.outcome import LinearRule, LinearScorer, Outcome, Round
from unseen.core.params import Model, fit_context
from unseen.core.start import nearest_mean
from unseen.core.sums import Sums

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
    _adapt_parameters: frozenset[str] = frozenset()

    def _estimator(self) -> Any:
        """Return the model to clone."""
        if not isinstance(self.estimator, ZeroShotClassifier):
            raise TypeError(
                f"estimator={self.estimator!r} is not a zero-shot model of unseen. "
                "Give one, or a class of your own that inherits from "
                "ZeroShotClassifier."
            )
        return self.estimator

    def _model(self) -> Any:
        return getattr(self, "estimator_", None) or self._estimator()

    @property
    def unit_rows(self) -> bool:  # type: ignore[override]
        """Whether the estimator scales rows to unit length."""
        return self._model().unit_rows

    def _fit_sums(self, sums: Sums, table: ClassTable, rows: tuple | None = None):
        return self._hold(self._fitted(sums, table, rows))

    def _fitted(self, sums: Sums, table: ClassTable, rows: tuple | None) -> Any:
        """Return a copy of the estimator that learned from rows of seen classes."""
        estimator = clone(self._estimator())
        estimator._validate_params()
        own = rows if estimator._needs_rows() else None
        return estimator._fit_sums(sums, table, own)

    def _needs_rows(self) -> bool:
        return self._estimator()._needs_rows()

    def _hold(self, estimator: Any):
        """Keep the fitted estimator."""
        self.estimator_ = estimator
        return self._ready(estimator._table, warn=False)

    def _note_features(self, X):
        self.estimator_._note_features(X)
        return super()._note_features(X)

    def _candidates(self, classes):
        return self.estimator_._candidates(classes)

    def _describe(self, unlabelled, rows, name):
        return self.estimator_._describe(unlabelled, rows, name)

    def _rule(self, candidates):
        """Score as ``adapt`` learned, or else as the estimator does."""
        if (self._met(candidates) < 0).all():
            return self.estimator_._rule(candidates)
        return super()._rule(candidates)

    def _scorer(self, candidates):
        return self.estimator_._scorer(candidates)


class Relabelled(NamedTuple):
    """What a method makes of a start.

    Without a ``scorer``, the nearest class mean of the labelled rows wins new rows.
    """

    scores: np.ndarray  # (n, N), which labels follow
    rounds: list[Round]
    scorer: LinearScorer | None = None  # linear in the rows of the start


class Relabelling(Around):
    """The estimator of a method that relabels rows, starting from a model's answer.

    Its parameters are ``estimator`` and those of ``_method``. After ``adapt`` its
    classes do not compete with others: their scores have another scale.
    """

    _method: Callable

    def _estimator(self):
        from unseen import AnchoredSelfTraining

        alone = self.estimator is None
        return AnchoredSelfTraining() if alone else super()._estimator()

    def _met(self, candidates):
        """Return which class adapted to each one is; refuse some beside others."""
        place = super()._met(candidates)
        if (place >= 0).any() and (place < 0).any():
            raise ValueError(
                f"{type(self).__name__} was adapted to "
                f"{len(self._adapted.candidates.columns)} classes, and "
                f"{candidates.names[place < 0].tolist()[0]!r} is not one of them. Ask "
                "for either kind alone, or adapt with all candidates: "
                "adapt(X, classes='all')."
            )
        return place

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
        estimator = GuidedMixture() if alone else super()._estimator()
        if not hasattr(estimator, "fit_prototypes"):
            raise ValueError(
                f"estimator={estimator} learns from seen classes and cannot start from "
                "prototypes. Leave estimator at None, or call fit(X, y)."
            )
        self._hold(clone(estimator).fit_prototypes(prototypes))
        return self._note_features(np.zeros((1, self.class_embeddings_.shape[1])))

    def _describe(self, unlabelled, rows, name):
        # On axes a start knows its prototypes by the rows that score best, and these
        # by the embedding: for a class without one the answer hardly gains from rows.
        if isinstance(self.estimator_, OnAxes | Around):
            return ZeroShotClassifier._describe(self, unlabelled, rows, name)
        return super()._describe(unlabelled, rows, name)

    def _adapt(self, unlabelled, candidates, given):
        start = self.estimator_._lend(unlabelled, candidates)
        start = start if given is None else start.with_given(given)
        own = self.get_params(deep=False)
        del own["estimator"]
        scores, rounds, scorer = self._method(start, **own)
        codes = scores.argmax(axis=1)
        scorer = scorer or nearest_mean(start, codes)
        scorer = scorer.on_features(start.axes, start.mean)
        rule = LinearRule(candidates, scorer, start.unit_rows)
        return Outcome(codes, scores.max(axis=1), rounds, rule)


def estimator_of(method: Callable, name: str) -> type[Relabelling]:
    """Return the estimator of ``method(start, *, parameter: Bounds = default, ...)``.

    Its parameters and its docstring are the method's, with what all share (``SHARED``).
    """
    own = list(inspect.signature(method).parameters.values())[1:]
    fields: list[tuple] = [("estimator", Model | None, None)]
    for one in own:
        default = field(default=one.default, kw_only=True)
        fields.append((one.name, one.annotation, default))
    doc = with_shared_sections(inspect.getdoc(method) or "")
    method.__doc__ = doc.split("\n")[0]  # the rest is the class's, its example too
    body = {
        "__doc__": doc,
        "__module__": method.__module__,
        "_method": staticmethod(method),
        "_adapt_parameters": frozenset(one.name for one in own),
    }
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
