"""The sums over samples that every linear model needs.

    X  (n_samples, n_features)   rows, as they come or scaled to unit length
    Y  (n_samples, n_classes)    1 for the own class, 0 elsewhere (never formed)

    gram        XᵀX   (n_features, n_features)
    class_sums  YᵀX   (n_classes, n_features)
    counts      Yᵀ1   (n_classes,)

One pass makes them; after it, the cost of a fit does not depend on the number
of samples. Sums add, so blocks, chunks and workers give what memory gives, and
held-out classes are taken away by subtraction. Products are made in the
precision of the rows and accumulated in float64. Rows that are few and wide are summed
in the space they span, see span.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from unseen._linalg import (
    DOUBLE,
    leading_eigenvectors,
    with_fixed_signs,
)
from unseen._threads import each, product, strips
from unseen.rows.gram import (
    CACHED_ELEMENTS,
    add_tiles,
    room_to_scale,
    tiles_of_gram,
    whole_gram,
)
from unseen.rows.span import Span, is_wide, span_of

BLOCK_ELEMENTS = 2**23  # numbers whose products are added up in their own precision


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
        return self.given if self.turn is None else product(self.given, self.turn)

    def turned(self, basis: np.ndarray) -> np.ndarray:
        """Return ``axes @ basis``, by one product with as many rows as features."""
        return product(self.given, basis if self.turn is None else self.turn @ basis)


@dataclass(frozen=True, eq=False)
class Sums:
    """Gram matrix, class sums and class counts of a set of rows.

    All in float64; ``dtype`` is the precision of the rows, so that a solver knows
    which digits mean something.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.sums import sum_rows
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
        return Sums(
            self.gram + other.gram,
            self.class_sums + other.class_sums,
            self.counts + other.counts,
            coarser(self.dtype, other.dtype),
            same_span([self, other]),
        )

    def __sub__(self, other: Sums) -> Sums:
        """Return the sums without the other's rows, which must be among these."""
        return self.without(other)

    def without(self, other: Sums, *, in_its_place: bool = False) -> Sums:
        """Return the sums without the other's rows, which must be among these.

        ``in_its_place`` makes the Gram matrix in the memory of the other's, which is
        lost: for large ones, finding new memory takes longer than the subtraction.
        """
        counts = self.counts - other.counts
        if (counts < 0).any():
            raise ValueError("The sums to take away hold rows that the whole lacks.")
        class_sums = self.class_sums - other.class_sums
        class_sums[counts == 0] = 0  # no rows left: exactly nothing, not a rounding
        out = other.gram if in_its_place else None
        gram = np.subtract(self.gram, other.gram, out=out)
        dtype, span = coarser(self.dtype, other.dtype), same_span([self, other])
        return Sums(gram, class_sums, counts, dtype, span)

    @property
    def n_features(self) -> int:
        """How many features the rows have."""
        return len(self.gram) if self.span is None else self.span.n_features

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

    def shifted(self, origin: np.ndarray) -> Sums:
        """Return the sums of ``x - origin``."""
        # (X - 1oᵀ)ᵀ(X - 1oᵀ) = XᵀX - (t - no/2)oᵀ - o(t - no/2)ᵀ  with t = Xᵀ1
        half = self.class_sums.sum(axis=0) - self.n_rows / 2 * origin
        gram = self.gram.copy()  # symmetric: its transpose is what BLAS wants, in place
        linalg.blas.dger(-1, half, origin, a=gram.T, overwrite_a=1)
        linalg.blas.dger(-1, origin, half, a=gram.T, overwrite_a=1)
        class_sums = self.class_sums - np.outer(self.counts, origin)
        return replace(self, gram=gram, class_sums=class_sums)

    def projected(self, axes: np.ndarray) -> Sums:
        """Return the sums of ``x @ axes``."""
        gram = axes.T @ self.gram @ axes
        return replace(self, gram=gram, class_sums=self.class_sums @ axes)

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
        mean = self.mean
        if n_axes is None:
            return self._lifted(mean, np.eye(len(mean)), self.shifted(mean))
        p = len(mean)
        values, axes = leading_eigenvectors(
            self._centred_gram, p, min(n_axes, p), self.dtype
        )
        # In this basis the Gram matrix is the eigenvalues: nothing to multiply out.
        class_sums = (self.class_sums - np.outer(self.counts, mean)) @ axes
        on_axes = replace(self, gram=np.diag(values), class_sums=class_sums)
        return self._lifted(mean, axes, on_axes)

    def _lifted(self, mean: np.ndarray, axes: np.ndarray, sums: Sums) -> Reduced:
        """Return what was found in the span in the space of the features."""
        if self.span is None:
            return Reduced(mean, axes, sums)
        lifted = self.span.lift(axes)
        signs = with_fixed_signs(lifted, only=True)
        sums = replace(
            sums,
            gram=sums.gram * np.outer(signs, signs),
            class_sums=sums.class_sums * signs,
            span=None,
        )
        lifted *= signs
        return Reduced(self.span.lift(mean[:, None])[:, 0], lifted, sums)

    def _centred_gram(self, dtype: np.dtype) -> np.ndarray:
        """Return the Gram matrix of centred rows, made in float64, in ``dtype``.

        Strip by strip, so that a large matrix is met once.
        """
        total, mean = self.class_sums.sum(axis=0), self.mean
        centred = np.empty(self.gram.shape, dtype=dtype)
        step = max(1, CACHED_ELEMENTS // len(mean))

        def centre(start: int) -> None:
            rows = slice(start, start + step)
            strip = np.outer(total[rows], mean)
            np.subtract(self.gram[rows], strip, out=strip)
            centred[rows] = strip

        each(centre, range(0, len(mean), step))
        return centred


def rows_per_block(n_features: int) -> int:
    """Return how many rows are added up at a time: 16,384, or eight million numbers."""
    return max(16_384, BLOCK_ELEMENTS // max(1, n_features))


def coarser(one: np.dtype, other: np.dtype) -> np.dtype:
    """Return the precision that rows of both kinds have."""
    return min(one, other, key=lambda kind: kind.itemsize)


def sum_rows(
    X: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    *,
    unit_rows: bool = False,
    block_rows: int | None = None,
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
    block_rows : int, default=None
        Rows whose products are added up in the precision of X; by default 16,384,
        or eight million numbers.
    span : bool, default=False
        Sum rows that are few and wide in the space they span.

    Returns
    -------
    Sums
    """
    if span and is_wide(*X.shape):
        found, coordinates = span_of(X, unit_rows=unit_rows)
        return sums_in_span(found, coordinates, codes, n_classes)
    step = block_rows or rows_per_block(X.shape[1])
    starts = range(0, len(X), step)
    blocks = ((X[i : i + step], codes[i : i + step]) for i in starts)
    return sum_blocks(blocks, X.shape[1], n_classes, unit_rows=unit_rows)


def sums_in_span(span: Span, coordinates, codes, n_classes: int) -> Sums:
    """Return the sums of rows given by their coordinates in a span."""
    made = sum_rows(coordinates, codes, n_classes)
    return replace(made, dtype=span.X.dtype, span=span)


def same_span(parts: list[Sums]) -> Span | None:
    """Return the span of sums that are to be added; they must share it."""
    span = parts[0].span
    if any(part.span is not span for part in parts):
        raise ValueError("Sums in different spans cannot be added up.")
    return span


def sum_blocks(
    blocks: Iterable[tuple[np.ndarray, np.ndarray]],
    n_features: int,
    n_classes: int,
    *,
    unit_rows: bool = False,
) -> Sums:
    """Sum an iterator of ``(rows, codes)`` blocks, holding one block at a time."""
    tiles: list[np.ndarray] = []
    class_sums = np.zeros((n_classes, n_features))
    counts, dtype, room = np.zeros(n_classes), DOUBLE, None
    for X, codes in blocks:
        room = room_to_scale(X, room) if unit_rows else None
        new = tiles_of_gram(X, codes, class_sums, room)
        tiles = add_tiles([tile.astype(DOUBLE, copy=False) for tile in tiles], new)
        counts += np.bincount(codes, minlength=n_classes)
        dtype = coarser(dtype, X.dtype)
    shape = n_features, n_features
    gram = whole_gram(tiles, n_features) if tiles else np.zeros(shape)
    return Sums(gram, class_sums, counts, dtype)


def add_sums(parts: Iterable[Sums]) -> Sums:
    """Return the sums over all parts, with one large matrix made for it."""
    first, *others = every = list(parts)
    gram, dtype = np.empty_like(first.gram), first.dtype

    def add(rows: slice) -> None:
        gram[rows] = first.gram[rows]
        for part in others:
            gram[rows] += part.gram[rows]

    each(add, strips(len(gram), len(gram), CACHED_ELEMENTS))
    for part in others:
        dtype = coarser(dtype, part.dtype)
    class_sums = sum((part.class_sums for part in others), start=first.class_sums)
    counts = sum((part.counts for part in others), start=first.counts)
    return Sums(gram, class_sums, counts, dtype, same_span(every))


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
