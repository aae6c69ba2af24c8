"""ESZSL: one bilinear map in closed form (Romera-Paredes & Torr, ICML 2015).

Rows are samples; the paper writes columns.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    Y  (n_samples, M)   1 for the own class, 0 elsewhere (coding 'signed': ±1)
    A  (M, q)           seen class embeddings: unit length, centred
    W  (p, q)           what we learn                                coef_

    min_W  |X W Aᵀ - Y|² + gamma |W Aᵀ|² + lam |X W|² + gamma lam |W|²

    W = (XᵀX + gamma I)⁻¹ XᵀY A (AᵀA + lam I)⁻¹

On the principal axes XᵀX is diagonal, so the left inverse is a division: the one
decomposition that made the axes serves every gamma and lam of a grid.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import linalg

from unseen._linalg import solve_ridge
from unseen._params import Interval, StrOptions
from unseen.class_table import ClassTable
from unseen.models.base import FromSums
from unseen.models.bilinear import BilinearClassifier, ViewLearner
from unseen.models.jedm import one_hot_products, right_factor, signed_products
from unseen.rows.sums import Sums


class ESZSL(FromSums, BilinearClassifier):
    """Embarrassingly Simple Zero-Shot Learning: a bilinear map in closed form.

    Choose it as the first thing to try: one matrix, no iteration, two ridges.

    Parameters
    ----------
    gamma : float, default=1.0
        Ridge on the side of the features.
    lam : float, default=1.0
        Ridge on the side of the embeddings.
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
        ``adapt`` centres by the means of the pile and of the competing classes.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_dims)
        The map W, on the principal axes.
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    References
    ----------
    B. Romera-Paredes, P. Torr, "An embarrassingly simple approach to zero-shot
    learning", ICML 2015.

    Examples
    --------
    >>> from unseen import ESZSL, load_data, per_class_accuracy
    >>> data = load_data("digits")
    >>> model = ESZSL().fit(data.X_seen, data.y_seen,
    ...                     class_embeddings=data.class_embeddings)
    >>> per_class_accuracy(data.y_unseen, model.predict(data.X_unseen)) > 1 / 3
    True
    """

    _adapt_parameters = frozenset({"per_domain_centering"})
    _parameter_constraints: dict = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "label_coding": [StrOptions({"one_hot", "signed"})],
        "n_axes": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "whitening": [Interval(Real, 0, None, closed="neither"), None],
        "unit_rows": ["boolean"],
        "per_domain_centering": ["boolean"],
    }

    def __init__(
        self,
        gamma=1.0,
        lam=1.0,
        *,
        label_coding="one_hot",
        n_axes=500,
        whitening=None,
        unit_rows=True,
        per_domain_centering=True,
    ):
        self.gamma = gamma
        self.lam = lam
        self.label_coding = label_coding
        self.n_axes = n_axes
        self.whitening = whitening
        self.unit_rows = unit_rows
        self.per_domain_centering = per_domain_centering

    def _fit_sums(self, sums: Sums, table: ClassTable, X) -> ESZSL:
        seen = self._see(sums, table)
        coded = {"one_hot": one_hot_products, "signed": signed_products}
        products = coded[self.label_coding](seen.sums)
        diagonal = self.n_axes != "all" and self.whitening is None
        self.coef_ = solve_eszsl(
            products, seen.A, self.gamma, self.lam, diagonal=diagonal
        )
        self._store_seen(X, table, seen)
        return self

    def _coef_on_axes(self, A):
        return A @ self.coef_.T

    def learner(self, X, classes=None, *, lam=1.0, mu=1.0) -> ESZSLLearner:
        """Return this model, ready to learn from a pile; see ``SelfTraining``."""
        pile = self._check_pile(X)
        return ESZSLLearner(self, pile, self._compete(classes), lam, mu)


def solve_eszsl(products, A, gamma, lam, *, diagonal: bool) -> np.ndarray:
    """W = (XᵀX + gamma I)⁻¹ XᵀY A (AᵀA + lam I)⁻¹."""
    right = products.XtY @ right_factor(A, lam)
    if diagonal:
        return right / (np.diag(products.XtX) + gamma)[:, None]
    return solve_ridge(products.XtX, gamma, right)


class ESZSLLearner(ViewLearner):
    """ESZSL in the middle of learning from a pile.

        B  (n_rows, p)   self-labelled rows of the pile on the axes
        Y  (n_rows, N)   their labels in 0/1
        T  (N, q)        embeddings of the competing classes

        min_W  |B W Tᵀ - Y|² + lam |B W - Y T|² + mu |W - W*|²

    The fit of the labels, plus the paper's two baselines: rows sit near the
    embedding of their label, and the map stays near W*, the one before.

        BᵀB W (TᵀT + lam I) + mu W = (1 + lam) BᵀY T + mu W*

    which two eigendecompositions turn into a division.
    """

    def __init__(self, model, pile, competition, lam, mu):
        super().__init__(model, pile, competition)
        self.lam, self.mu, self.W = lam, mu, model.coef_
        # TᵀT + lam I has at most N values other than lam: a thin SVD tells all.
        _, sizes, self.Q = linalg.svd(self.A, full_matrices=False)
        self.squares = sizes**2

    def coef(self) -> np.ndarray:
        """Return one scorer per class on the axes."""
        return self.A @ self.W.T

    def refit(self, selection) -> float:
        """Learn from self-labelled rows; return the objective."""
        chosen = self.B.sums(selection)
        G, S, T, before = chosen.gram, chosen.class_sums.T, self.A, self.W
        right = (1 + self.lam) * S @ T + self.mu * before
        values, U = linalg.eigh(G)
        values = np.maximum(values, 0)[:, None]
        right = U.T @ right
        inside = right @ self.Q.T  # in the span of the embeddings, and outside of it
        solved = inside / (values * (self.squares + self.lam) + self.mu)
        outside = (right - inside @ self.Q) / (values * self.lam + self.mu)
        self.W = W = U @ (solved @ self.Q + outside)
        fit, near = W @ T.T, W
        return float(
            np.vdot(G @ fit, fit)
            - 2 * np.vdot(S, fit)
            + chosen.n_rows
            + self.lam
            * (
                np.vdot(G @ near, near)
                - 2 * np.vdot(S @ T, near)
                + chosen.counts @ np.einsum("ij,ij->i", T, T)
            )
            + self.mu * linalg.norm(W - before) ** 2
        )
