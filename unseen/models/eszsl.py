"""ESZSL: one bilinear map in closed form (Romera-Paredes & Torr, ICML 2015).

Rows are samples; the paper writes columns.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    Y  (n_samples, M)   1 for the own class, 0 elsewhere (coding 'signed': ±1)
    A  (M, q)           seen class embeddings: unit length, centred
    W  (p, q)           what we learn                                coef_

    min_W  |X W Aᵀ - Y|² + gamma |W Aᵀ|² + lam |X W|² + gamma lam |W|²

    W = (XᵀX + gamma I)⁻¹ XᵀY A (AᵀA + lam I)⁻¹

With ``penalty='l21'`` (Qiao et al., CVPR 2016) whole dimensions of the embeddings that
do not help are silenced: in place of the two terms with lam stands a sum of lengths,

    lam Σ_j c_j,   c_j² = |X w_j|² + gamma |w_j|²,   w_j the column of dimension j

brought down by solving the problem above again and again, each dimension weighed by
1 / (2 c_j):   W = (XᵀX + gamma I)⁻¹ XᵀY (A C Aᵀ + lam I)⁻¹ A C,   C = diag(2 c).

On the principal axes XᵀX is diagonal, so the left inverse is a division: the one
decomposition that made the axes serves every gamma and lam of a grid.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import linalg

from unseen.core.linalg import right_factor, solve_on_axes
from unseen.core.on_axes import OnAxes, Seen
from unseen.core.params import Coding, Positive
from unseen.core.sums import label_products
from unseen.models.refits import label_fit


@dataclass(eq=False, repr=False)
class ESZSL(OnAxes):
    """Embarrassingly Simple Zero-Shot Learning: a bilinear map in closed form.

    Choose it as the first thing to try: one matrix, no iteration, two ridges.

    Parameters
    ----------
    gamma : float, default=1.0
        Ridge on the side of the features.
    lam : float, default=1.0
        Ridge on the side of the embeddings.
    penalty : {'l2', 'l21'}, default='l2'
        Squares, or lengths of columns, which silence embedding dimensions that do not
        help: for long, noisy embeddings such as those of texts.
    label_coding : {'one_hot', 'signed'}, default='one_hot'
        Y in 0/1, as in the authors' program, or ±1, as in their paper.
    n_axes : int or 'all', default=500
        Principal axes the features are reduced to, at most as many as there are;
        ``'all'`` keeps the features and solves instead of dividing.
    whitening : float or None, default=None
        Make the scatter inside classes round first, with this much shrinkage, and
        scale rows to unit mean square; see ``WithinClassWhitener``. Try 0.1.
    unit_rows : bool, default=True
        Scale every row of X to unit length.
    per_domain_centering : bool, default=True
        ``adapt`` centres rows and embeddings by the means of the unlabelled rows and of
        the competing classes; otherwise the seen means serve throughout.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_dims)
        The map W, on the principal axes.
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    References
    ----------
    B. Romera-Paredes, P. Torr, "An embarrassingly simple approach to zero-shot
    learning", ICML 2015. R. Qiao, L. Liu, C. Shen, A. van den Hengel, "Less is more:
    zero-shot learning from online textual documents with noise suppression", CVPR
    2016, for ``'l21'``; there the lengths are those of one of two factors of W.

    Examples
    --------
    >>> from unseen import ESZSL, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = ESZSL().fit(data.X_seen, data.y_seen,
    ...                     class_embeddings=data.class_embeddings)
    >>> round(per_class_accuracy(data.y_unseen, model.predict(data.X_unseen)), 2)
    0.57
    """

    gamma: Positive = 1.0
    lam: Positive = 1.0
    _: KW_ONLY
    penalty: Literal["l2", "l21"] = "l2"
    label_coding: Coding = "one_hot"

    _refit = staticmethod(label_fit)

    def _learn(self, seen: Seen) -> None:
        XtX, XtY, *_ = label_products(seen.sums, self.label_coding)
        solve = {"l2": solve_eszsl, "l21": solve_silencing}[self.penalty]
        self.coef_ = solve(XtX, XtY, seen.A, self.gamma, self.lam, seen.diagonal)


def solve_eszsl(XtX, XtY, A, gamma, lam, diagonal: bool) -> np.ndarray:
    """W = (XᵀX + gamma I)⁻¹ XᵀY A (AᵀA + lam I)⁻¹."""
    return solve_on_axes(XtX, XtY @ right_factor(A, lam), gamma, diagonal=diagonal)


def solve_silencing(XtX, XtY, A, gamma, lam, diagonal: bool) -> np.ndarray:
    """Minimise with lengths of columns in place of squares; see the head."""
    W = solve_eszsl(XtX, XtY, A, gamma, lam, diagonal)
    free = solve_on_axes(XtX, XtY, gamma, diagonal=diagonal)
    for _ in range(50):
        squares = np.einsum("ij,ij->j", W, XtX @ W + gamma * W)  # c²
        before, AC = W, 2 * A * np.sqrt(np.maximum(squares, 0))
        K = AC @ A.T + lam * np.eye(len(A))
        W = free @ linalg.solve(K, AC, assume_a="pos")
        if np.abs(W - before).max() <= 1e-6 * np.abs(W).max():
            break
    return W
