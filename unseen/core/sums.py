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
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import linalg, sparse

from unseen.core.classes import ClassTable, encode, read_table
from unseen.core.linalg import (
    DOUBLE,
    inverse_lengths,
    leading_eigenvectors,
    to_unit,
    with_fixed_signs,
)
from unseen.core.params import not_finite

BLOCK_NUMBERS = 2**19  # that are scaled and multiplied at a time
LARGEST_SQUARE = 1e150  # of a feature, summed: solvers multiply two such numbers
SMALLEST_WIDE = 512  # features: below, XᵀX is cheap whatever the rows
WIDE_CHUNKS = 8192  # features: from here on chunks are kept until they are too many
NOISE = {4: 1e-5, 8: 1e-13}  # of a row's square by bytes of a number: rounding


@dataclass(frozen=True, eq=False)
class Reduced:
    """Sums carried to the leading principal axes of their own centred rows.

    A row x becomes ``(x - mean) @ axes``; ``sums`` are those of such rows. The axes are
    ``given``, or these times ``turn``: large ones are multiplied when they are needed.
    """

    mean: np.ndarray
    given: np.ndarray
    sums: Sums
    turn: np.ndarray | None = None

    @cached_property
    def axes(self) -> np.ndarray:
        """The axes, one a column."""
        return self.given if self.turn is None else self.given @ self.turn

    def turned(self, basis: np.ndarray) -> np.ndarray:
        """Return ``axes @ basis``, by one product with as many rows as features."""
        return self.given @ (basis if self.turn is None else self.turn @ basis)


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
    span: Span | None = None  # where the numbers are, if not in the features
    _reduced: dict = field(default_factory=dict, init=False, repr=False)

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over both sets of rows."""
        if self.span is not other.span:
            raise ValueError("Sums in different spans cannot be added up.")
        dtype = min(self.dtype, other.dtype, key=lambda kind: kind.itemsize)
        class_sums = self.class_sums + other.class_sums
        gram, counts = self.gram + other.gram, self.counts + other.counts
        return Sums(gram, class_sums, counts, dtype, self.span)

    def __sub__(self, other: Sums) -> Sums:
        """Return the sums without the other's rows, which must be among these."""
        counts = self.counts - other.counts
        if (counts < 0).any() or self.span is not other.span:
            raise ValueError("The sums to take away hold rows that the whole lacks.")
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
        """Mean row of each class (zeros for a class without rows)."""
        return self.class_sums / np.maximum(self.counts, 1)[:, None]

    def projected(self, axes: np.ndarray) -> Sums:
        """Return the sums of ``x @ axes``."""
        gram = axes.T @ self.gram @ axes
        return replace(self, gram=gram, class_sums=self.class_sums @ axes)

    def scaled(self, scale: float) -> Sums:
        """Return the sums of ``scale * x``."""
        gram, class_sums = self.gram * scale**2, self.class_sums * scale
        return replace(self, gram=gram, class_sums=class_sums)

    def for_classes(self, chosen: np.ndarray) -> Sums:
        """Return the sums with the classes cut down to ``chosen``, or reordered.

        The Gram matrix stays: only classes without rows may be left out.
        """
        if self.counts.sum() != self.counts[chosen].sum():
            raise ValueError("Only classes without rows can be left out of the sums.")
        return replace(
            self, class_sums=self.class_sums[chosen], counts=self.counts[chosen]
        )

    def for_table(self, chosen: np.ndarray) -> Sums:
        """Return the sums for a longer table, of which these are the ``chosen``."""
        class_sums = np.zeros((len(chosen), self.class_sums.shape[1]))
        counts = np.zeros(len(chosen))
        class_sums[chosen], counts[chosen] = self.class_sums, self.counts
        return replace(self, class_sums=class_sums, counts=counts)

    def within_class_scatter(self) -> np.ndarray:
        """Return XᵀX − Σ_c s_c s_cᵀ / n_c, the scatter around the class means."""
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
            reduced = self.reduced(n_axes)
            S_w = reduced.sums.within_class_scatter() / max(self.n_rows, 1)
            n_dims = min(n_axes or self.n_features, self.n_features)
            root = inverse_root(S_w, shrinkage, n_dims)
            sums = reduced.sums.projected(root)
            self._reduced[key] = Reduced(reduced.mean, reduced.axes, sums, root)
        return self._reduced[key]

    def _reduce(self, n_axes: int | None) -> Reduced:
        mean, p = self.mean, len(self.gram)
        class_sums = self.class_sums - np.outer(self.counts, mean)
        if n_axes is None:
            axes, gram = np.eye(p), self._centred_gram(DOUBLE)
        else:
            values, axes = leading_eigenvectors(
                self._centred_gram, p, min(n_axes, p), self.dtype
            )
            # In this basis the Gram matrix is the eigenvalues.
            gram, class_sums = np.diag(values), class_sums @ axes
        sums = replace(self, gram=gram, class_sums=class_sums)
        whole = Reduced(mean, axes, sums)
        return whole if self.span is None else lifted(whole, self.span)

    def _centred_gram(self, dtype: np.dtype) -> np.ndarray:
        """Return the Gram matrix of centred rows, made in float64, in ``dtype``."""
        total, mean = self.class_sums.sum(axis=0), self.mean
        gram = self.gram - np.outer(total, mean)
        return gram.astype(dtype, copy=False)


def inverse_root(S_w: np.ndarray, shrinkage: float, n_dims: int) -> np.ndarray:
    """Return (S_w + shrinkage · mean variance · I)^(-1/2).

    ``n_dims`` is of how many dimensions the mean is; S_w lacks those without variance.
    """
    values, vectors = linalg.eigh(S_w)
    values = np.maximum(values, 0)
    mean = values.sum() / n_dims
    if not mean:  # every class is a point: nothing to stretch
        return np.eye(len(S_w))
    return (vectors / np.sqrt(values + shrinkage * mean)) @ vectors.T


def label_products(
    sums: Sums, coding: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return XᵀX, XᵀY and YᵀY for Y in 0/1, or in ±1, which is 2 one_hot - 1."""
    XtY, counts = sums.class_sums.T, sums.counts
    if coding == "one_hot":
        return sums.gram, XtY, np.diag(counts)
    YtY = 4 * np.diag(counts) - 2 * (counts[:, None] + counts) + sums.n_rows
    return sums.gram, 2 * XtY - XtY.sum(axis=1, keepdims=True), YtY


# ---- summing -------------------------------------------------------------------------


def indicator(codes: np.ndarray, n_classes: int, dtype: Any = DOUBLE):
    """Return the sparse 0/1 matrix with one row per sample, one column per class."""
    n = len(codes)
    ones, ends = np.ones(n, dtype=dtype), np.arange(n + 1)
    return sparse.csr_array((ones, codes, ends), shape=(n, n_classes))


def row_blocks(n: int, width: int, least: int = 1) -> list[slice]:
    """Cut n rows of some width into blocks that are worked on at a time.

    >>> from unseen.core.sums import row_blocks
    >>> row_blocks(5, 2**18)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
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
    """Sum the rows of an array, block by block.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float32 or float64
    codes : ndarray of shape (n_samples,)
        Class number of each row, in 0 … n_classes - 1.
    n_classes : int
    unit_rows : bool, default=False
        Scale each row to unit length first.
    span : bool, default=False
        Sum rows that are few and wide in the space they span.

    Returns
    -------
    Sums
    """
    if span and is_wide(*X.shape):
        space, coordinates = span_of(X, unit_rows=unit_rows)
        return sums_in_span(space, coordinates, codes, n_classes)
    p = X.shape[1]
    gram, class_sums = np.zeros((p, p)), np.zeros((n_classes, p))
    with np.errstate(all="ignore"):  # what is not finite shows in the sums
        for here in row_blocks(len(X), p, least=2048):
            rows = to_unit(X[here]) if unit_rows else X[here]
            gram += rows.T @ rows
            class_sums += indicator(codes[here], n_classes, X.dtype).T @ rows
    counts = np.bincount(codes, minlength=n_classes).astype(np.float64)
    return Sums(gram, class_sums, counts, X.dtype)


def check_range(sums: Sums, X: np.ndarray) -> Sums:
    """Return the sums of X, or raise if X is not finite, or products of them will be.

    A pass of its own is not needed: what is not finite shows in sums of squares.
    """
    if not (sums.gram.diagonal() < LARGEST_SQUARE).all():
        raise not_finite(X)
    return sums


class RunningSums:
    """Sums that grow, with the classes they have met so far.

    Few and wide rows are kept until they are too many: they are less than their Gram
    matrix.

    Parameters
    ----------
    class_embeddings : optional
        As for ``fit``; without it the classes are those that labels name.
    unit_rows : bool, default=False
        Scale each row to unit length first.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.core.sums import RunningSums
    >>> running = RunningSums()
    >>> _ = running.add(np.eye(2), np.array(["seal", "otter"]))
    >>> _ = running.add(np.ones((1, 2)), np.array(["seal"]))
    >>> sums, table = running.finish()
    >>> table.names.tolist(), sums.counts
    (['otter', 'seal'], array([1., 2.]))
    """

    def __init__(self, class_embeddings: Any = None, *, unit_rows: bool = False):
        self.class_embeddings, self.unit_rows = class_embeddings, unit_rows
        self.names: pd.Index = pd.Index([])
        if class_embeddings is not None:
            given, embeddings, _ = read_table(class_embeddings)
            numbers = np.arange(len(embeddings))
            self.names = pd.Index(numbers if given is None else given)
        self.sums: Sums | None = None
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, X: np.ndarray, y: np.ndarray, *, keep: bool = False) -> RunningSums:
        """Add rows in float32 or float64 and their labels.

        ``keep`` lets wide rows wait until all have come.
        """
        n = len(X) + sum(len(rows) for rows, _ in self._kept)
        wide = X.shape[1] >= WIDE_CHUNKS and is_wide(n, X.shape[1])
        if keep and wide and self.sums is None:
            self._kept.append((np.array(X), y))  # a source may use its memory again
            return self
        for rows, labels in [*self._kept, (X, y)]:
            new = sum_rows(rows, *self._numbered(labels), unit_rows=self.unit_rows)
            if self.sums is not None:
                known = np.arange(len(self.names)) < len(self.sums.counts)
                new = self.sums.for_table(known) + new
            self.sums = new
        self._kept = []
        return self

    def _numbered(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the numbers of classes, and how many there are; meet new ones."""
        codes = self.names.get_indexer(pd.Index(y))
        if (codes < 0).any():
            strangers = np.unique(y[codes < 0])
            if self.class_embeddings is not None:
                raise ValueError(
                    f"The labels hold {strangers[0].item()!r}, but class_embeddings "
                    f"has {len(self.names)} classes without it. Give one row per class."
                )
            self.names = pd.Index([*self.names, *strangers.tolist()])
            codes = self.names.get_indexer(pd.Index(y))
        return codes, len(self.names)

    def state(self) -> tuple:
        """Return plain values and arrays that :meth:`of` builds the sums from again."""
        numbers: tuple = ()
        if self.sums is not None:
            s = self.sums
            numbers = s.gram, s.class_sums, s.counts, s.dtype.str
        names = np.array(self.names.tolist())
        return self.class_embeddings, self.unit_rows, names, numbers

    @classmethod
    def of(cls, state: tuple) -> RunningSums:
        """Return the sums with this :meth:`state`."""
        class_embeddings, unit_rows, names, numbers = state
        running = cls(class_embeddings, unit_rows=unit_rows)
        running.names = pd.Index(names)
        if numbers:
            gram, class_sums, counts, dtype = numbers
            running.sums = Sums(gram, class_sums, counts, np.dtype(dtype))
        return running

    def __add__(self, other: RunningSums) -> RunningSums:
        """Return the sums of both, with the classes of both."""
        made = RunningSums(unit_rows=self.unit_rows)
        made.class_embeddings = self.class_embeddings
        new = other.names[~other.names.isin(self.names)]
        made.names = pd.Index([*self.names, *new])
        parts = []
        for one in (self, other):
            if one.sums is not None:
                place = made.names.get_indexer(one.names[: len(one.sums.counts)])
                whole = np.zeros(len(made.names), dtype=bool)
                whole[place] = True
                order = np.argsort(place)
                parts.append(one.sums.for_classes(order).for_table(whole))
        made.sums = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        return made

    def finish(self) -> tuple[Sums, ClassTable]:
        """Return the sums and the class table, which needs two classes with rows."""
        if self._kept:
            X, y = (np.concatenate(part) for part in zip(*self._kept, strict=True))
            table, codes = encode(y, self.class_embeddings)
            n, unit = len(table), self.unit_rows
            return sum_rows(X, codes, n, unit_rows=unit, span=True), table
        if self.sums is None:
            raise ValueError("No rows were added. Give at least one chunk.")
        names = np.array(self.names.tolist())
        met = names[: len(self.sums.counts)][self.sums.counts > 0]
        # Twice each: names that occur once look like numbers to be predicted.
        table, _ = encode(np.repeat(met, 2), self.class_embeddings)
        order = pd.Index(names).get_indexer(pd.Index(table.names))
        return self.sums.for_classes(order), table


# ---- few rows of many features -------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Span:
    """The space that few and wide rows span.

        X  (n, p)   rows, n far below p; as they come or scaled to unit length
        K  (n, n)   X Xᵀ = U diag(s²) Uᵀ
        Q  (p, r)   Xᵀ U / s, an orthonormal basis of the span; never formed
        C  (n, r)   X Q = U s, the rows in it

    Whatever is learned from sums of rows lies in their span, so a solver that is given
    the sums of C answers as if it had those of X, with r numbers per row in place of p.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows as given, not copied.
    weights : ndarray of shape (n_rows, n_dims)
        Columns that mix the rows to the basis: ``Q = Xᵀ weights``.
    """

    X: np.ndarray
    weights: np.ndarray

    def lift(self, V: np.ndarray) -> np.ndarray:
        """Return vectors of the span, one a column, in the space of the features."""
        return (self.X.T @ (self.weights @ V).astype(self.X.dtype)).astype(DOUBLE)


def is_wide(n_rows: int, n_features: int) -> bool:
    """Tell whether rows are so few that their span is the cheaper place.

    Examples
    --------
    >>> from unseen.core.sums import is_wide
    >>> is_wide(30, 50_000), is_wide(7_000, 4_096)
    (True, False)
    """
    return n_features >= SMALLEST_WIDE and 2 * n_rows <= n_features


def span_of(X: np.ndarray, *, unit_rows: bool = False) -> tuple[Span, np.ndarray]:
    """Return the span of rows, and the rows in it.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.core.sums import span_of
    >>> X = np.array([[3.0, 0, 4, 0], [6.0, 0, 8, 0]])  # two rows, one direction
    >>> span, C = span_of(X)
    >>> C.shape, np.allclose(C @ span.lift(np.eye(1)).T, X)
    ((2, 1), True)
    """
    n = len(X)
    with np.errstate(all="ignore"):  # what is not finite shows in the squares
        K = (X @ X.T).astype(DOUBLE)
    scale = inverse_lengths(X).astype(DOUBLE) if unit_rows else np.ones(n)
    K *= np.outer(scale, scale)
    if not np.isfinite(K).all():
        return Span(X, np.zeros((n, 1))), np.full((n, 1), np.nan)
    values, U = linalg.eigh(K, driver="evd", check_finite=False)
    # Rounding of n x n numbers has eigenvalues of about the root of n times theirs.
    kept = values > NOISE[X.dtype.itemsize] * np.trace(K) / n * np.sqrt(n)
    if not kept.any():  # all rows are zero: one direction, which no row has
        return Span(X, np.zeros((n, 1))), np.zeros((n, 1))
    roots, U = np.sqrt(values[kept]), U[:, kept]
    return Span(X, scale[:, None] * (U / roots)), U * roots


def sums_in_span(
    span: Span, coordinates: np.ndarray, codes: np.ndarray, n_classes: int
) -> Sums:
    """Return the sums of rows given by their coordinates in a span."""
    made = sum_rows(coordinates, codes, n_classes)
    return replace(made, dtype=span.X.dtype, span=span)


def lifted(found: Reduced, span: Span) -> Reduced:
    """Return what was found in a span in the space of the features."""
    axes, sums = span.lift(found.axes), found.sums
    signs = with_fixed_signs(axes, only=True)
    gram, class_sums = sums.gram * np.outer(signs, signs), sums.class_sums * signs
    made = replace(sums, gram=gram, class_sums=class_sums, span=None)
    return Reduced(span.lift(found.mean[:, None])[:, 0], axes * signs, made)
