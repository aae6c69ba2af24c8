"""The pile of unlabelled rows that a model adapts to.

A pile is looked at in a few fixed ways only: its mean row, and its rows on some axes.
Each is worked out once and kept, so that a search over hyper-parameters, or several
models on one pile, share the passes. Rows on axes are held where the pile is: in
memory, in a temporary file, or on the workers of a cluster (distributed_rows.py).
"""

from __future__ import annotations

import shutil
import tempfile
from functools import partial

import numpy as np
from sklearn.utils.validation import check_array

from unseen._linalg import inverse_lengths
from unseen._threads import each, strips
from unseen.rows.holders import DiskRows, Holder, MemoryRows
from unseen.rows.source import RowStream, whole_needed
from unseen.rows.sums import Sums, rows_per_block
from unseen.rows.temporary import no_space

LARGEST_SQUARE = 1e150  # of a feature, summed: solvers multiply two such numbers


class Pile:
    """Unlabelled rows in memory, with what every adaptation asks of them.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.pile import Pile
    >>> pile = Pile(np.array([[3.0, 4.0], [0.0, 2.0]]))
    >>> pile.mean(unit_rows=True)
    array([0.3, 0.9])
    >>> len(pile.hold(np.eye(2), unit_rows=True))
    2
    """

    X: np.ndarray

    def __init__(self, X: np.ndarray):
        self.X = X
        self._scales: np.ndarray | None = None
        self._means: dict[bool, np.ndarray] = {}
        self._on_axes: dict = {}

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.X)

    def mean(self, unit_rows: bool) -> np.ndarray:
        """Return the mean row in float64."""
        if unit_rows not in self._means:
            scales, step = self.scales(unit_rows), rows_per_block(self.X.shape[1])
            total = np.zeros(self.X.shape[1])
            for start in range(0, len(self.X), step):
                here = slice(start, start + step)
                total += scaled_sum(self.X[here], scales[here])
            self._means[unit_rows] = total / len(self.X)
        return self._means[unit_rows]

    def hold(self, axes: np.ndarray, unit_rows: bool) -> Holder:
        """Return the rows times ``axes``, not centred, to be asked in passes."""
        return MemoryRows(self.on_axes(axes, unit_rows))

    def scales(self, unit_rows: bool) -> np.ndarray:
        """Return the factor of each row: ``1 / |x|``, or 1."""
        if not unit_rows:
            return row_scales(self.X, False)
        if self._scales is None:
            self._scales = row_scales(self.X, True)
        return self._scales

    def on_axes(self, axes: np.ndarray, unit_rows: bool) -> np.ndarray:
        """Return the rows times ``axes``, not centred, in their own precision.

        Less a centre in float64 they are float64: no copy for that alone.
        """
        key = (id(axes), unit_rows)
        if key not in self._on_axes:
            with np.errstate(all="ignore"):  # what is not finite is told below
                projected = project(self.X, axes, self.scales(unit_rows))
            if not np.isfinite(projected).all():
                raise not_finite(self.X)
            # The axes are kept with the answer: their id stays theirs.
            self._on_axes[key] = axes, projected
        return self._on_axes[key][1]


class StreamedPile(Pile):
    """Unlabelled rows from a stream.

    One pass over the source brings mean and rows on axes; the rows go to a temporary
    file, so that the rounds need the source no more.

    Parameters
    ----------
    stream : RowStream

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.rows.pile import StreamedPile
    >>> from unseen.rows.source import open_stream
    >>> pile = StreamedPile(open_stream(iter([np.array([[3.0, 4.0], [0.0, 2.0]])])))
    >>> rows = pile.hold(np.eye(2), unit_rows=True)
    >>> pile.mean(unit_rows=True)
    array([0.3, 0.9])
    """

    def __init__(self, stream: RowStream):
        self.stream = stream
        self._means = {}

    def __len__(self) -> int:
        """Count the rows; known after a pass."""
        if self.stream.n_rows is None:
            raise TypeError("The rows of a stream are counted by the first pass.")
        return self.stream.n_rows

    @property
    def X(self) -> np.ndarray:  # type: ignore[override] # noqa: N802
        """Refuse: whoever asks needs all rows at once."""
        raise whole_needed(f"{self.stream.what} is met chunk by chunk")

    def mean(self, unit_rows: bool) -> np.ndarray:
        """Return the mean row in float64."""
        if unit_rows not in self._means:
            self.hold(np.zeros((self.stream.n_features, 0)), unit_rows)
        return self._means[unit_rows]

    def hold(self, axes: np.ndarray, unit_rows: bool) -> DiskRows:
        """Return the rows times ``axes``, not centred, in a file."""
        dtype, n_rows = self.stream.dtype, self.stream.n_rows or 0
        needed = n_rows * axes.shape[1] * dtype.itemsize
        if needed > shutil.disk_usage(tempfile.gettempdir()).free:
            raise no_space(needed)
        rows = DiskRows(axes.shape[1], dtype)
        total = np.zeros(self.stream.n_features)
        axes = axes.astype(dtype, copy=False)
        for block, _ in self.stream.blocks("projecting"):
            scales = row_scales(block, unit_rows)
            total += scaled_sum(block, scales)
            put = partial(put_on_axes, block, axes, scales)
            rows.append(strips(*block.shape), put)
        self._means[unit_rows] = total / len(self)
        return rows


def carry(
    X: np.ndarray, axes: np.ndarray, unit_rows: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows on axes, in their precision, and the sum of the rows in float64."""
    scales = row_scales(X, unit_rows)
    return project(X, axes, scales), scaled_sum(X, scales)


def row_scales(X: np.ndarray, unit_rows: bool) -> np.ndarray:
    """Return the factor of each row: ``1 / |x|``, or 1."""
    if not unit_rows:
        return np.ones(len(X), dtype=X.dtype)
    parts = each(lambda here: inverse_lengths(X[here]), strips(*X.shape))
    return np.concatenate([np.ones(0, dtype=X.dtype), *parts])


def scaled_sum(X: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the sum of scaled rows, in float64."""
    total = np.zeros(X.shape[1])
    for part in each(lambda here: scales[here] @ X[here], strips(*X.shape)):
        total += part
    return total


def project(X: np.ndarray, axes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return scaled rows on axes, in the precision of the rows."""
    axes = axes.astype(X.dtype, copy=False)
    projected = np.empty((len(X), axes.shape[1]), dtype=X.dtype)

    def put(here: slice) -> None:
        put_on_axes(X, axes, scales, here, projected[here])

    each(put, strips(*X.shape))
    return projected


def put_on_axes(X, axes, scales, here: slice, room: np.ndarray) -> None:
    """Put some of the rows, scaled and on axes, where there is room for them."""
    np.matmul(X[here], axes, out=room)
    room *= scales[here, None]


def check_range(sums: Sums, X: np.ndarray) -> Sums:
    """Return the sums of X, or raise if X is not finite, or products of them will be.

    A pass of its own is not needed: what is not finite shows in sums of squares.
    """
    squares = sums.gram.diagonal()
    if not (squares < LARGEST_SQUARE).all():
        raise not_finite(X)
    return sums


def not_finite(X: np.ndarray) -> ValueError:
    """Return the error for rows whose products are not finite; say why they are not."""
    try:
        with np.errstate(all="ignore"):
            check_array(X, dtype=[np.float64, np.float32], input_name="X")
    except ValueError as error:
        return error
    return ValueError(
        "X holds numbers so large that their products leave the range of "
        f"{X.dtype}. Scale X, or give float64."
    )
