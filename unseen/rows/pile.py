"""The pile of unlabelled rows that a model adapts to.

A pile is looked at in a few fixed ways only: the length of its rows, its mean
row, and its rows on some axes. Each is worked out once and kept, so that a
search over hyper-parameters, or several models on one pile, share the passes.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_array

from unseen.rows.holders import project, scaled_sum
from unseen.rows.sums import inverse_lengths, rows_per_block


class Pile:
    """Unlabelled rows, with what every adaptation asks of them.

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
    """

    def __init__(self, X: np.ndarray):
        self.X = X
        self._scales: np.ndarray | None = None
        self._means: dict[bool, np.ndarray] = {}
        self._on_axes: dict = {}

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.X)

    def scales(self, unit_rows: bool) -> np.ndarray:
        """Return the factor of each row: ``1 / |x|``, or 1."""
        if not unit_rows:
            return np.ones(len(self.X), dtype=self.X.dtype)
        if self._scales is None:
            self._scales = inverse_lengths(self.X)
        return self._scales

    def mean(self, unit_rows: bool) -> np.ndarray:
        """Return the mean row in float64."""
        if unit_rows not in self._means:
            self._means[unit_rows] = self._mean(unit_rows)
        return self._means[unit_rows]

    def _mean(self, unit_rows: bool) -> np.ndarray:
        scales, step = self.scales(unit_rows), rows_per_block(self.X.shape[1])
        total = np.zeros(self.X.shape[1])
        for start in range(0, len(self.X), step):
            here = slice(start, start + step)
            total += scaled_sum(self.X[here], scales[here])
        return total / len(self.X)

    def on_axes(self, axes: np.ndarray, unit_rows: bool) -> np.ndarray:
        """Return the rows times ``axes``, in float64, not centred."""
        key = (id(axes), unit_rows)
        if key not in self._on_axes:
            with np.errstate(all="ignore"):  # what is not finite is told below
                projected = project(self.X, axes, self.scales(unit_rows))
            if not np.isfinite(projected).all():
                raise not_finite(self.X)
            # The axes are kept with the answer: their id stays theirs.
            self._on_axes[key] = axes, projected.astype(np.float64, copy=False)
        return self._on_axes[key][1]


def not_finite(X: np.ndarray) -> ValueError:
    """Return the error for rows whose products are not finite; say why they are not."""
    try:
        check_array(X, dtype=[np.float64, np.float32], input_name="X")
    except ValueError as error:
        return error
    return ValueError(
        "X holds numbers so large that their products leave the range of "
        f"{X.dtype}. Scale X, or give float64."
    )
