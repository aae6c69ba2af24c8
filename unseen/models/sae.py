"""SAE: the semantic autoencoder (Kodirov, Xiang & Gong, CVPR 2017).

Rows are samples; the paper writes columns.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    Y  (n_samples, M)   1 for the own class, 0 elsewhere
    A  (M, q)           seen class embeddings: unit length, centred
    W  (p, q)           encoder; its transpose is the decoder         coef_

    min_W  |X - Y A Wᵀ|² + lam |X W - Y A|²

    W (Aᵀ N A) + lam (XᵀX) W = (1 + lam) XᵀY A                 N = YᵀY

a Sylvester equation. In the eigenbases U of Aᵀ N A, with values s, and V of XᵀX,
with values b, it is a division:

    W = V [ (1 + lam) Vᵀ XᵀY A U / (lam b_i + s_j) ] Uᵀ

On the principal axes V = I: one decomposition serves every lam of a grid. Small lam
is a least-squares decoder, large lam a least-squares encoder.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import linalg

from unseen.core.linalg import to_unit
from unseen.core.on_axes import OnAxes, Seen
from unseen.core.params import Positive
from unseen.core.sums import Sums
from unseen.models.refits import class_map, nearest_prototype, row_map


@dataclass(eq=False, repr=False)
class SAE(OnAxes):
    """Semantic autoencoder: one map that encodes rows and decodes classes.

    Choose it when neither direction of a ridge regression convinces: it is both at
    once, with one weight between them.

    Parameters
    ----------
    lam : float, default=10.0
        Weight of the encoder against the decoder.
    direction : {'to_visual', 'to_semantic'}, default='to_visual'
        Where rows and classes are compared, by cosine: x with a Wᵀ, or x W with a.
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_dims)
        The encoder W, on the principal axes.
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    Notes
    -----
    The authors' programs scale scores by their spread over the test set; that looks
    at all rows, and is omitted here. Directions in which neither the rows nor the class
    embeddings vary get no weight.

    References
    ----------
    E. Kodirov, T. Xiang, S. Gong, "Semantic autoencoder for zero-shot learning",
    CVPR 2017.

    Examples
    --------
    >>> from unseen import SAE, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = SAE().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> round(per_class_accuracy(data.y_unseen, model.predict(data.X_unseen)), 2)
    0.54
    """

    lam: Positive = 10.0
    _: KW_ONLY
    direction: Literal["to_visual", "to_semantic"] = "to_visual"

    _adapt_parameters = frozenset({"direction", "per_domain_centering"})

    def _learn(self, seen: Seen) -> None:
        self.coef_ = solve_sae(seen.sums, seen.A, self.lam, diagonal=seen.diagonal)

    def _embed(self, A):
        return to_unit(A) if self.direction == "to_semantic" else A

    def _score(self, W, A):
        if self.direction == "to_semantic":  # the class has unit length already
            return super()._score(W, A)
        return nearest_prototype(A @ W.T, "cosine")

    def _prototypes(self, W, A):
        return A @ W.T

    def _refit(self, W, A, sums, lam, mu):
        refit = row_map if self.direction == "to_semantic" else class_map
        return refit(W, A, sums, lam, mu)


def solve_sae(sums: Sums, A: np.ndarray, lam: float, *, diagonal: bool) -> np.ndarray:
    """Solve W (Aᵀ N A) + lam G W = (1 + lam) Cᵀ A by two eigendecompositions."""
    # Aᵀ N A acts on the span of A only, and the right side lies in it: a thin SVD.
    _, sizes, Ut = linalg.svd(A * np.sqrt(sums.counts)[:, None], full_matrices=False)
    spread = sizes > sizes[0] * 1e-10 if len(sizes) else []
    s, Ut = sizes[spread] ** 2, Ut[spread]
    right = (1 + lam) * (sums.class_sums.T @ A) @ Ut.T
    if diagonal:
        return right / (lam * np.diag(sums.gram)[:, None] + s) @ Ut
    b, V = linalg.eigh(sums.gram)
    b = np.maximum(b, 0)[:, None]
    return V @ ((V.T @ right) / (lam * b + s)) @ Ut
