"""What every method around another model shares: fitting it, and asking it.

``SelfTraining`` and the transductive methods of this folder hold a zero-shot model,
the estimator. They fit a clone of it, keep what it learned under its own names, and
let a class-wise search share sums with it.
"""

from __future__ import annotations

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unseen._documented import Documented
from unseen.storage import Storable

FITTED = ("classes_", "n_features_in_", "feature_names_in_", "class_embeddings_")


def _sees_sums(self) -> bool:
    return hasattr(self._estimator(), "_fit_sums")


def _knows_a_rule(self) -> bool:
    return hasattr(getattr(self, "estimator_", self._estimator()), "linear_rule")


class Wrapper(
    Storable,
    Documented,
    ClassifierMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Base of the estimators that hold a zero-shot model, fitted as ``estimator_``."""

    def _estimator(self):
        """Return the model to clone."""
        return self.estimator

    def _fit_estimator(self, X, y, class_embeddings):
        estimator = clone(self._estimator()).fit(
            X, y, class_embeddings=class_embeddings
        )
        return self._store(estimator)

    def _store(self, estimator):
        self.estimator_ = estimator
        for name in FITTED:
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        for stale in ("labels_", "reliability_", "rounds_", "given_"):
            self.__dict__.pop(stale, None)
        return self

    def _known_classes(self):
        return getattr(self.estimator_, "_table", None)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether there is a fitted estimator."""
        return hasattr(self, "estimator_")

    @property
    def competing_classes_(self):
        """Who competes by default."""
        check_is_fitted(self)
        return self.estimator_.competing_classes_

    @available_if(_knows_a_rule)
    def linear_rule(self, classes=None):
        """Return the linear scores of the estimator; see its ``linear_rule``."""
        check_is_fitted(self)
        return self.estimator_.linear_rule(classes)

    @available_if(_knows_a_rule)
    def to_onnx(self, path, *, classes=None):
        """Write the (adapted) estimator as an ONNX file; see its ``to_onnx``."""
        check_is_fitted(self)
        return self.estimator_.to_onnx(path, classes=classes)

    # A estimator that fits from sums lets the class-wise search share them here too.

    @available_if(_sees_sums)
    def _fit_sums(self, sums, table, X):
        return self._store(clone(self._estimator())._fit_sums(sums, table, X))

    @available_if(_sees_sums)
    def _sums(self, X, codes, n_classes, *, span=True):
        return self._estimator()._sums(X, codes, n_classes, span=span)

    @available_if(_sees_sums)
    def _unit_rows(self) -> bool:
        return self._estimator()._unit_rows()
