"""What every method around another model shares: fitting it, and asking it.

``SelfTraining`` and the transductive methods of this folder hold a zero-shot model,
the base. They fit a clone of it, keep what it learned under its own names, and let a
class-wise search share sums with it.
"""

from __future__ import annotations

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unseen.storage import Storable

FITTED = ("classes_", "n_features_in_", "feature_names_in_", "class_embeddings_")


def _sees_sums(self) -> bool:
    return hasattr(self._base(), "_fit_sums")


def _knows_a_rule(self) -> bool:
    return hasattr(getattr(self, "base_", self._base()), "linear_rule")


class AroundBase(Storable, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of the estimators that hold a zero-shot model, fitted as ``base_``."""

    def _base(self):
        """Return the model to clone."""
        return self.base

    def _fit_base(self, X, y, class_embeddings):
        base = clone(self._base()).fit(X, y, class_embeddings=class_embeddings)
        return self._store(base)

    def _store(self, base):
        self.base_ = base
        for name in FITTED:
            if hasattr(base, name):
                setattr(self, name, getattr(base, name))
        for stale in ("labels_", "reliability_", "rounds_"):
            self.__dict__.pop(stale, None)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether there is a fitted base."""
        return hasattr(self, "base_")

    @property
    def competing_classes_(self):
        """Who competes by default."""
        check_is_fitted(self)
        return self.base_.competing_classes_

    @available_if(_knows_a_rule)
    def linear_rule(self, classes=None):
        """Return the linear scores of the base; see its ``linear_rule``."""
        check_is_fitted(self)
        return self.base_.linear_rule(classes)

    @available_if(_knows_a_rule)
    def to_onnx(self, path, *, classes=None):
        """Write the (adapted) base as an ONNX file; see its ``to_onnx``."""
        check_is_fitted(self)
        return self.base_.to_onnx(path, classes=classes)

    # A base that fits from sums lets the class-wise search share them here too.

    @available_if(_sees_sums)
    def _fit_sums(self, sums, table, X):
        return self._store(clone(self._base())._fit_sums(sums, table, X))

    @available_if(_sees_sums)
    def _sums(self, X, codes, n_classes):
        return self._base()._sums(X, codes, n_classes)

    @available_if(_sees_sums)
    def _unit_rows(self) -> bool:
        return self._base()._unit_rows()
