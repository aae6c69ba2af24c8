"""Features made ready: centred, reduced and whitened, from sums where it can be.

Unit rows are scikit-learn's ``Normalizer()``, centring by the seen mean its
``StandardScaler(with_std=False)``. Here is what it lacks:

- ``PerDomainCenterer`` centres unlabelled rows by their own mean. It is named for what
  it does because it looks at them: that is transductive.
- ``SumsPCA`` and ``WithinClassWhitener`` learn from sums, so they take data in
  chunks (``partial_fit``) and are exact whatever the chunks.

In a pipeline, ``pipe[-1].adapt(pipe[:-1].transform(X))``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from unseen.core.params import (
    Count,
    Positive,
    bounds,
    check_rows,
    check_rows_and_labels,
    fit_context,
    not_finite,
)
from unseen.core.sums import Sums, sum_rows


class _KeepsPrecision(TransformerMixin, BaseEstimator):
    def __sklearn_tags__(self):
        """Declare that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class PerDomainCenterer(OneToOneFeatureMixin, _KeepsPrecision):
    """Centre seen rows by their mean and, after ``adapt``, unlabelled rows by theirs.

    Attributes
    ----------
    seen_mean_ : ndarray of shape (n_features,)
        Mean of the rows given to ``fit``.
    mean_ : ndarray of shape (n_features,)
        What ``transform`` takes away: the seen mean, or that given to ``adapt``.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import PerDomainCenterer
    >>> centerer = PerDomainCenterer().fit(np.array([[0.0], [2.0]]))
    >>> X = np.array([[10.0], [14.0]])
    >>> centerer.transform(X).ravel(), centerer.adapt(X).transform(X).ravel()
    (array([ 9., 13.]), array([-2.,  2.]))
    """

    def fit(self, X, y=None):
        """Learn the seen mean."""
        self.seen_mean_ = self.mean_ = mean_row(check_rows(self, X))
        return self

    def adapt(self, X):
        """Take the mean of unlabelled rows from now on."""
        check_is_fitted(self)
        self.mean_ = mean_row(check_rows(self, X, reset=False))
        return self

    def transform(self, X):
        """Return the rows less the mean of their domain."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        return X - self.mean_.astype(X.dtype)


def mean_row(X: np.ndarray) -> np.ndarray:
    """Return the mean of the rows; raise if their sum leaves the range of floats."""
    with np.errstate(over="ignore"):
        mean = X.mean(axis=0, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise not_finite(X)
    return mean


class _FromSums(ClassNamePrefixFeaturesOutMixin, _KeepsPrecision):
    """A linear map learned from sums: ``(x - mean_) @ axes_``."""

    def fit(self, X, y=None):
        """Learn from these rows alone."""
        if hasattr(self, "axes_"):
            del self.axes_
        return self.partial_fit(X, y)

    def transform(self, X):
        """Return the rows on the learned axes."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        axes = self.axes_.astype(X.dtype, copy=False)
        return X @ axes - (self.mean_ @ self.axes_).astype(X.dtype)

    def _add(self, X, codes, n_classes: int, *, first: bool) -> None:
        sums = sum_rows(X, codes, n_classes)
        self._seen_sums: Sums = sums if first else self._seen_sums + sums
        self._solve(self._seen_sums)

    @property
    def _n_features_out(self) -> int:
        return self.axes_.shape[1]

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether there are axes."""
        return hasattr(self, "axes_")


@dataclass(eq=False, repr=False)
class SumsPCA(_FromSums):
    """Principal axes from the sums of the rows, whole or in chunks.

    Parameters
    ----------
    n_components : int or None, default=None
        Axes to keep, at most as many as there are features; ``None`` keeps all.

    Attributes
    ----------
    axes_ : ndarray of shape (n_features, n_components)
        Principal axes, leading first; the largest entry of each is positive.
    mean_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import SumsPCA
    >>> X = np.array([[0.0, 0.0], [2.0, 0.1], [4.0, -0.1], [6.0, 0.0]])
    >>> whole = SumsPCA(1).fit(X)
    >>> chunks = SumsPCA(1).partial_fit(X[:1]).partial_fit(X[1:])
    >>> bool(np.allclose(whole.transform(X), chunks.transform(X)))
    True
    """

    n_components: int | None = None

    _parameter_constraints = {"n_components": bounds(Count | None)}

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Learn the axes of these rows and all before."""
        first = not hasattr(self, "axes_")
        X = check_rows(self, X, reset=first)
        self._add(X, np.zeros(len(X), dtype=int), 1, first=first)
        return self

    def _solve(self, sums: Sums) -> None:
        p = sums.gram.shape[0]
        reduced = sums.reduced(min(self.n_components or p, p))
        self.mean_, self.axes_ = reduced.mean, reduced.axes


@dataclass(eq=False, repr=False)
class WithinClassWhitener(_FromSums):
    """Make the scatter inside classes round, from the sums of labelled rows.

    The features are reduced to their leading principal axes E, then stretched so
    that the pooled within-class covariance S_w, shrunk a little towards a multiple
    of the identity, becomes the identity:

        axes = E (S_w + shrinkage · tr(S_w)/r · I)^(-1/2)

    Parameters
    ----------
    n_axes : int or None, default=500
        Principal axes r to keep, at most as many as there are features.
    shrinkage : float, default=0.1
        How much of the mean variance is added in every direction.

    Attributes
    ----------
    axes_ : ndarray of shape (n_features, n_axes)
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    classes_ : ndarray
        Classes seen so far.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import WithinClassWhitener
    >>> X = np.array([[0.0, 0.0], [8.0, 1.0], [0.0, 5.0], [8.0, 6.0]])
    >>> whitener = WithinClassWhitener(shrinkage=1e-9).fit(X, [0, 0, 1, 1])
    >>> inside = np.diff(whitener.transform(X), axis=0)[[0, 2]]
    >>> np.linalg.norm(inside, axis=1).round(6)  # both classes have spread 2
    array([2., 2.])
    """

    n_axes: int | None = 500
    shrinkage: float = 0.1

    _parameter_constraints = {
        "n_axes": bounds(Count | None),
        "shrinkage": bounds(Positive),
    }

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Learn from these labelled rows and all before; new classes may turn up."""
        first = not hasattr(self, "axes_")
        X, y = check_rows_and_labels(X, y, self, reset=first)
        before = y[:0] if first else self.classes_
        self.classes_: np.ndarray = np.union1d(before, y)
        if not first:
            known = np.isin(self.classes_, before)
            self._seen_sums = self._seen_sums.for_table(known, len(known))
        codes = np.searchsorted(self.classes_, y)
        self._add(X, codes, len(self.classes_), first=first)
        return self

    def _solve(self, sums: Sums) -> None:
        p = sums.gram.shape[0]
        white = sums.whitened(min(self.n_axes or p, p), self.shrinkage)
        self.mean_, self.axes_ = white.mean, white.axes

    def __sklearn_tags__(self):
        """Declare that labels are needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
