"""The sums over samples that every linear model needs: solvers see these, not rows.

    X  (n_samples, n_features)   rows, as they come or scaled to unit length
    Y  (n_samples, n_classes)    1 for the own class, 0 elsewhere (never formed)

    gram        XᵀX   (n_features, n_features)
    class_sums  YᵀX   (n_classes, n_features)
    counts      Yᵀ1   (n_classes,)

One pass makes them; after it, the cost of a fit does not depend on the number of
samples. Sums add, so blocks, chunks and workers give what memory gives, and held-out
classes are taken away by subtraction. Products are made in the precision of the rows
and accumulated in float64. Few and wide rows are summed in the space they span.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import linalg, sparse

from unseen.core.classes import ClassTable, described, places
from unseen.core.linalg import (
    DOUBLE,
    inverse_lengths,
    leading_eigenvectors,
    nonzero,
    signs_of,
    to_unit,
)
from unseen.core.params import not_finite

BLOCK_NUMBERS = 2**19  # that are scaled and multiplied at a time


class Reduced(NamedTuple):
    """Sums of centred rows on axes: a row x becomes ``(x - mean) @ axes``."""

    mean: np.ndarray
    axes: np.ndarray
    sums: Sums

    def scaled(self, scale: float) -> Reduced:
        """Return the same with axes of another length."""
        gram, class_sums = self.sums.gram * scale**2, self.sums.class_sums * scale
        sums = replace(self.sums, gram=gram, class_sums=class_sums)
        return Reduced(self.mean, self.axes * scale, sums)


@dataclass(frozen=True, eq=False)
class Sums:
    """Gram matrix, class sums and class counts of a set of rows.

    All in float64; ``dtype`` is the precision of the rows, so that a solver knows
    which digits mean something.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.core.sums import sum_rows
    >>> X, codes = np.array([[1.0, 0], [3, 0], [0, 2]]), np.array([0, 0, 1])
    >>> first, last = sum_rows(X[:2], codes[:2], 2), sum_rows(X[2:], codes[2:], 2)
    >>> (first + last).class_means
    array([[2., 0.],
           [0., 2.]])
    >>> (first + last).within_class_scatter()
    array([[2., 0.],
           [0., 0.]])
    """

    gram: np.ndarray
    class_sums: np.ndarray
    counts: np.ndarray
    dtype: np.dtype = DOUBLE
    span: Span | None = None  # where the rows are, if not in the features
    _reduced: dict = field(default_factory=dict, init=False, repr=False)

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over both sets of rows."""
        dtype = min(self.dtype, other.dtype, key=lambda kind: kind.itemsize)
        class_sums = self.class_sums + other.class_sums
        gram, counts = self.gram + other.gram, self.counts + other.counts
        return Sums(gram, class_sums, counts, dtype, self.span)

    def __sub__(self, other: Sums) -> Sums:
        """Return the sums without the other's rows, which must be among these."""
        counts = self.counts - other.counts
        class_sums = self.class_sums - other.class_sums
        class_sums[counts == 0] = 0  # no rows left: exactly nothing, not a rounding
        gram = self.gram - other.gram
        return replace(self, gram=gram, class_sums=class_sums, counts=counts)

    @property
    def n_features(self) -> int:
        """How many features the rows have."""
        return len(self.gram) if self.span is None else self.span.X.shape[1]

    @property
    def n_rows(self) -> float:
        """How many rows were summed."""
        return self.counts.sum()

    @property
    def mean(self) -> np.ndarray:
        """Mean row (zeros if there is none)."""
        return self.class_sums.sum(axis=0) / max(self.n_rows, 1)

    @property
    def class_means(self) -> np.ndarray:
        """Mean row of each class in the features (zeros for a class without rows)."""
        means = self.class_sums / np.maximum(self.counts, 1)[:, None]
        return means if self.span is None else self.span.lift(means.T).T

    def projected(self, axes: np.ndarray) -> Sums:
        """Return the sums of ``x @ axes``."""
        gram = axes.T @ self.gram @ axes
        return replace(self, gram=gram, class_sums=self.class_sums @ axes)

    def for_classes(self, chosen: np.ndarray) -> Sums:
        """Return the sums for these classes only; others must have no rows."""
        class_sums, counts = self.class_sums[chosen], self.counts[chosen]
        return replace(self, class_sums=class_sums, counts=counts)

    def for_table(self, place: np.ndarray, n_classes: int) -> Sums:
        """Return the sums for a longer table, in which the classes have these places.

        ``place`` may be a mask.
        """
        class_sums = np.zeros((n_classes, self.class_sums.shape[1]))
        counts = np.zeros(n_classes)
        class_sums[place], counts[place] = self.class_sums, self.counts
        return replace(self, class_sums=class_sums, counts=counts)

    def within_class_scatter(self) -> np.ndarray:
        """Return XᵀX − Σ_c s_c s_cᵀ / n_c, the scatter around the class means.

        It is 0, and not what rounding leaves, where no class has two rows.
        """
        if not (self.counts > 1).any():
            return np.zeros_like(self.gram)
        scaled = self.class_sums / np.sqrt(np.maximum(self.counts, 1))[:, None]
        return self.gram - scaled.T @ scaled

    def reduced(self, n_axes: int | None) -> Reduced:
        """Return the centred sums on their ``n_axes`` leading principal axes.

        ``None`` keeps every feature as it is and only centres. The answer is kept,
        so that a grid of hyper-parameters asks for one decomposition.
        """
        if n_axes not in self._reduced:
            self._reduced[n_axes] = self._reduce(n_axes)
        return self._reduced[n_axes]

    def whitened(self, n_axes: int | None, shrinkage: float) -> Reduced:
        """Return the centred sums where the scatter inside classes is round.

        On the leading principal axes E, with S_w the pooled within-class covariance,
        the axes become E (S_w + shrinkage · mean variance · I)^(-1/2). Kept like
        ``reduced``.
        """
        key = n_axes, shrinkage
        if key not in self._reduced:
            mean, axes, sums = self.reduced(n_axes)
            S_w = sums.within_class_scatter() / max(self.n_rows, 1)
            n_dims = min(n_axes or self.n_features, self.n_features)
            root = inverse_root(S_w, shrinkage, n_dims)
            self._reduced[key] = Reduced(mean, axes @ root, sums.projected(root))
        return self._reduced[key]

    def _reduce(self, n_axes: int | None) -> Reduced:
        mean, p = self.mean, len(self.gram)
        class_sums = self.class_sums - np.outer(self.counts, mean)
        axes, gram = np.eye(p), self.gram - np.outer(self.class_sums.sum(axis=0), mean)
        if n_axes is not None:
            # Centred rows span one dimension less than there are of them. Further axes
            # would be arbitrary, and others from files than from memory.
            n_axes = min(n_axes, p, max(1, int(self.n_rows) - 1))
            values, axes = leading_eigenvectors(gram, n_axes, self.dtype)
            # In this basis the Gram matrix is the eigenvalues.
            gram, class_sums = np.diag(values), class_sums @ axes
        whole = Reduced(mean, axes, replace(self, gram=gram, class_sums=class_sums))
        return whole if self.span is None else lifted(whole, self.span)


def inverse_root(S_w: np.ndarray, shrinkage: float, n_dims: int) -> np.ndarray:
    """Return (S_w + shrinkage · mean variance · I)^(-1/2).

    ``n_dims`` is of how many dimensions the mean is; S_w lacks those without variance.
    """
    values, vectors = linalg.eigh(S_w)
    values = np.maximum(values, 0)
    if not values.any():  # every class is a point: nothing to stretch
        return np.eye(len(S_w))
    mean = values.sum() / n_dims
    return (vectors / np.sqrt(values + shrinkage * mean)) @ vectors.T


class Products(NamedTuple):
    """XᵀX, XᵀY and YᵀY, of rows in a precision: what solvers know of the samples."""

    XtX: np.ndarray
    XtY: np.ndarray
    YtY: np.ndarray
    dtype: np.dtype


def label_products(sums: Sums, coding: str) -> Products:
    """Return products for Y in 0/1, or in ±1, which is 2 one_hot - 1."""
    XtY, counts = sums.class_sums.T, sums.counts
    if coding == "one_hot":
        return Products(sums.gram, XtY, np.diag(counts), sums.dtype)
    YtY = 4 * np.diag(counts) - 2 * (counts[:, None] + counts) + sums.n_rows
    XtY = 2 * XtY - XtY.sum(axis=1, keepdims=True)
    return Products(sums.gram, XtY, YtY, sums.dtype)


# ---- summing -------------------------------------------------------------------------


def indicator(codes: np.ndarray, n_classes: int, dtype: Any = DOUBLE):
    """Return the sparse 0/1 matrix with one row per sample, one column per class."""
    n = len(codes)
    ones, ends = np.ones(n, dtype=dtype), np.arange(n + 1)
    return sparse.csr_array((ones, codes, ends), shape=(n, n_classes))


def group_means(
    rows: np.ndarray, codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean row and the number of rows of every class; -1 is left out.

    A class without rows has a mean of zeros.
    """
    own = codes >= 0
    counts = np.bincount(codes[own], minlength=n_classes)
    sums = indicator(codes[own], n_classes).T @ (rows if own.all() else rows[own])
    return sums / np.maximum(counts, 1)[:, None], counts


def best_means(rows: np.ndarray, similarity: np.ndarray, k: int) -> np.ndarray:
    """Return, for every class, the mean of the k rows most similar to it."""
    k = min(k, len(rows))
    nearest = np.argpartition(-similarity, k - 1, axis=0)[:k].T
    return np.stack([rows[own].mean(axis=0) for own in nearest])


def row_blocks(n: int, width: int, least: int = 1) -> list[slice]:
    """Cut n rows of some width into blocks that are worked on at a time."""
    step = max(least, BLOCK_NUMBERS // max(1, width))
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def sum_rows(
    X: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    *,
    unit_rows: bool = False,
    span: bool = False,
) -> Sums:
    """Sum rows in float32 or float64, of classes 0 … n_classes - 1, block by block.

    ``unit_rows`` scales each row to unit length first; ``span`` sums rows that are few
    and wide in the space they span. What is not finite shows in sums of squares, and is
    told: no pass of its own is needed.
    """
    if span and is_wide(*X.shape):
        return sums_in_span(*span_of(X, unit_rows=unit_rows), codes, n_classes)
    p = X.shape[1]
    gram, class_sums = np.zeros((p, p)), np.zeros((n_classes, p))
    with np.errstate(all="ignore"):  # what is not finite shows in the sums
        for here in row_blocks(len(X), p, least=2048):
            rows = to_unit(X[here]) if unit_rows else X[here]
            gram += rows.T @ rows
            class_sums += indicator(codes[here], n_classes, X.dtype).T @ rows
    if not (gram.diagonal() < 1e150).all():  # solvers multiply two such numbers
        raise not_finite(X)
    counts = np.bincount(codes, minlength=n_classes).astype(np.float64)
    return Sums(gram, class_sums, counts, X.dtype)


@dataclass(frozen=True, eq=False)
class RunningSums:
    """Sums over rows that come chunk by chunk, and the classes met so far.

    ``table`` has all classes, none of them seen; it is None where the classes are those
    of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.core.sums import RunningSums
    >>> running = RunningSums.of(None)
    >>> running = running.add(np.eye(2), np.array(["seal", "otter"]))
    >>> running = running.add(np.ones((1, 2)), np.array(["seal"]))
    >>> sums, table = running.finish()
    >>> table.names.tolist(), sums.counts
    (['otter', 'seal'], array([1., 2.]))
    """

    table: ClassTable | None
    unit_rows: bool
    names: np.ndarray
    sums: Sums | None = None

    @classmethod
    def of(cls, class_embeddings: Any, unit_rows: bool = False) -> RunningSums:
        """Return empty sums for the ``class_embeddings`` of a ``fit``."""
        if class_embeddings is None:
            return cls(None, unit_rows, np.empty(0))
        table = described(class_embeddings)
        return cls(table, unit_rows, table.names)

    def add(self, X: np.ndarray, y: np.ndarray) -> RunningSums:
        """Return the sums with further rows in float32 or float64 and their labels."""
        if self.table is None:
            names, codes = np.unique(y, return_inverse=True)
        else:
            names, codes = self.names, self.table.codes(y)
        new = sum_rows(X, codes, len(names), unit_rows=self.unit_rows)
        return self + replace(self, names=names, sums=new)

    def __add__(self, other: RunningSums) -> RunningSums:
        """Return the sums of both, with the classes of both."""
        if self.sums is None or other.sums is None:
            return other if self.sums is None else self
        if self.table is not None:
            return replace(self, sums=self.sums + other.sums)
        names = np.union1d(self.names, other.names)
        own = self.sums.for_table(places(self.names, names), len(names))
        their = other.sums.for_table(places(other.names, names), len(names))
        return replace(self, names=names, sums=own + their)

    def finish(self) -> tuple[Sums, ClassTable]:
        """Return the sums and the class table, which needs two classes with rows."""
        if self.sums is None:
            raise ValueError("No rows were added. Give at least one chunk.")
        table = self.table
        if table is None:
            table = described(pd.DataFrame(np.eye(len(self.names)), index=self.names))
        return self.sums, table.with_seen(self.sums.counts > 0)


# ---- few rows of many features -------------------------------------------------------


def is_wide(n_rows: int, n_features: int) -> bool:
    """Tell whether rows are so few that their span is the cheaper place."""
    return n_features >= 512 and 2 * n_rows <= n_features  # below, XᵀX is cheap


class Span(NamedTuple):
    """The space that few and wide rows span.

        K  (n, n)   X Xᵀ = U diag(s²) Uᵀ
        Q  (p, r)   Xᵀ U / s, an orthonormal basis, Xᵀ weights; never formed
        C  (n, r)   X Q = U s, the rows in it

    What is learned from sums of rows lies in their span, so a solver that is given the
    sums of C answers as if it had those of X, with r numbers per row in place of p.
    """

    X: np.ndarray
    weights: np.ndarray

    def lift(self, V: np.ndarray) -> np.ndarray:
        """Return vectors of the span, one a column, in the space of the features."""
        return (self.X.T @ (self.weights @ V).astype(self.X.dtype)).astype(DOUBLE)


def span_of(X: np.ndarray, *, unit_rows: bool = False) -> tuple[Span, np.ndarray]:
    """Return the span of rows, and the rows in it."""
    with np.errstate(all="ignore"):  # what is not finite shows in the squares
        K = (X @ X.T).astype(DOUBLE)
    scale = inverse_lengths(X).astype(DOUBLE) if unit_rows else np.ones(len(X))
    K *= np.outer(scale, scale)
    if not (K.diagonal() < 1e150).all():
        raise not_finite(X)
    values, U = linalg.eigh(K, driver="evd", check_finite=False)
    # Rounding of n x n numbers has eigenvalues of about the root of n times theirs.
    noise = 1e-5 if X.dtype.itemsize == 4 else 1e-13
    kept = values > noise * np.trace(K) / np.sqrt(len(X))
    kept[-1] = True  # one direction, if all rows are zero
    roots, U = np.sqrt(nonzero(np.maximum(values[kept], 0))), U[:, kept]
    return Span(X, scale[:, None] * (U / roots)), U * roots


def sums_in_span(
    span: Span, rows: np.ndarray, codes: np.ndarray, n_classes: int
) -> Sums:
    """Return the sums of rows given in a span."""
    return replace(sum_rows(rows, codes, n_classes), dtype=span.X.dtype, span=span)


def lifted(found: Reduced, span: Span) -> Reduced:
    """Return what was found in a span in the space of the features."""
    axes = span.lift(found.axes)
    signs = signs_of(axes)
    gram, class_sums = found.sums.gram * np.outer(signs, signs), found.sums.class_sums
    made = replace(found.sums, gram=gram, class_sums=class_sums * signs, span=None)
    return Reduced(span.lift(found.mean[:, None])[:, 0], axes * signs, made)
