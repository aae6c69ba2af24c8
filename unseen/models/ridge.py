"""Ridge regression between rows and class embeddings, in either direction.

Rows are samples.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    Y  (n_samples, M)   1 for the own class, 0 elsewhere
    A  (M, q)           seen class embeddings: unit length, centred
    W  (p, q)           what we learn                                coef_

    RidgeToVisual     min_W  |X - Y A Wᵀ|² + lam |W|²     nearest of the a Wᵀ to x
    RidgeToSemantic   min_W  |X W - Y A|²  + lam |W|²     largest cosine of x W and a

    W = XᵀY A (Aᵀ N A + lam I)⁻¹            N = YᵀY, the class counts on a diagonal
    W = (XᵀX + lam I)⁻¹ XᵀY A

The first needs class sums and counts only. A regression shrinks what it predicts:
shrunk prototypes stay apart, while shrunk rows crowd around the origin, where few
classes, the hubs, are nearest to all. So the direction matters (Shigeto et al.).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from unseen.core.linalg import right_factor, solve_on_axes, to_unit
from unseen.core.on_axes import OnAxes, Seen
from unseen.core.params import Positive
from unseen.core.sums import Sums
from unseen.models.refits import class_map, nearest_prototype, row_map


@dataclass(eq=False, repr=False)
class RidgeToVisual(OnAxes):
    """Ridge regression from class embeddings to rows: the nearest prototype wins.

    Choose it when a few classes attract all rows under other models (hubness), or
    when the Gram matrix of the features is too large to keep: prototypes follow
    from class means and counts.

    Parameters
    ----------
    lam : float, default=10.0
        Weight of the ridge penalty on the map. It competes with numbers of rows.
    metric : {'euclidean', 'cosine'}, default='euclidean'
        How near a row is to a prototype.
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_dims)
        The map W; a class with centred embedding a has the prototype a Wᵀ.
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    References
    ----------
    Y. Shigeto, I. Suzuki, K. Hara, M. Shimbo, Y. Matsumoto, "Ridge regression,
    hubness, and zero-shot learning", ECML PKDD 2015.

    Examples
    --------
    >>> from unseen import RidgeToVisual, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = RidgeToVisual(100.0, metric="cosine").fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> round(per_class_accuracy(data.y_unseen, model.predict(data.X_unseen)), 2)
    0.57
    """

    lam: Positive = 10.0
    _: KW_ONLY
    metric: Literal["euclidean", "cosine"] = "euclidean"

    _refit = staticmethod(class_map)

    def _learn(self, seen: Seen) -> None:
        self.coef_ = solve_to_visual(seen.sums, seen.A, self.lam)

    def _score(self, W, A):
        return nearest_prototype(A @ W.T, self.metric)

    def _prototypes(self, W, A):
        return A @ W.T


@dataclass(eq=False, repr=False)
class RidgeToSemantic(OnAxes):
    """Ridge regression from rows to class embeddings: the largest cosine wins.

    Choose it as the plainest baseline; ``RidgeToVisual`` is the same regression in
    the direction that suffers less from hubs.

    Parameters
    ----------
    lam : float, default=1.0
        Weight of the ridge penalty on the map.
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_dims)
        The map W, from the axes to the embeddings.
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    Examples
    --------
    >>> from unseen import RidgeToSemantic, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = RidgeToSemantic().fit(data.X_seen, data.y_seen,
    ...                               class_embeddings=data.class_embeddings)
    >>> round(per_class_accuracy(data.y_unseen, model.predict(data.X_unseen)), 2)
    0.45
    """

    lam: Positive = 1.0

    _refit = staticmethod(row_map)

    def _learn(self, seen: Seen) -> None:
        sums, target = seen.sums, seen.sums.class_sums.T @ seen.A
        self.coef_ = solve_on_axes(sums.gram, target, self.lam, diagonal=seen.diagonal)

    def _embed(self, A):
        return to_unit(A)


def solve_to_visual(sums: Sums, A: np.ndarray, lam: float) -> np.ndarray:
    """W = XᵀY A (Aᵀ N A + lam I)⁻¹; no Gram matrix of the rows."""
    roots = np.sqrt(sums.counts)[:, None]
    return (sums.class_sums / roots).T @ right_factor(A * roots, lam)
