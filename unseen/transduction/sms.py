"""SMS: one model shared by seen and unseen classes (Guo et al., AAAI 2016).

    X  (m, p), Y  (m, M), S  (M, q)   seen rows, labels in 0/1, embeddings
    B  (n, p), U  (n, N), T  (N, q)   new rows, their labels so far, embeddings
    W  (p, q)                         what we learn: a class is scored by x W a

    'stacked'   [X; B], [S; T] and the labels of both as blocks, in ESZSL's form:
                W = (XᵀX + BᵀB + gamma I)⁻¹ (XᵀY S + BᵀU T) (SᵀS + TᵀT + lam I)⁻¹
    'joint'     min_W  |X W Sᵀ - Y|² + weight |B W Tᵀ - U|² + gamma |W|²

    U ← the best-scoring class of every row; again

Everything about X is its sums on the axes. ``'stacked'`` also says of every seen row
that it is of no unseen class, and the other way round.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from unseen.core.on_axes import ON_AXES, OnAxes, Seen
from unseen.core.params import POSITIVE, Interval, StrOptions
from unseen.core.sums import label_products
from unseen.models.eszsl import solve_eszsl
from unseen.models.refits import bilinear
from unseen.transduction.rounds import self_train


@dataclass(eq=False, repr=False)
class SMS(OnAxes):
    """Shared model space: ESZSL of seen and self-labelled rows together.

    ``fit`` is that of ``ESZSL``; ``adapt`` alternates between the map and the labels of
    the new rows.

    Parameters
    ----------
    gamma, lam : float, default=0.1
        Ridges on the sides of features and embeddings, as for ``ESZSL``;
        ``'joint'`` has ``gamma`` alone after the first labels.
    reading : {'stacked', 'joint'}, default='stacked'
        How the shared model is written; see the Notes.
    weight : float, default=1.0
        Of the new rows, in ``'joint'``.
    n_rounds : int, default=10
        At most; it ends sooner if no label changes.
    label_coding, n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.

    Attributes
    ----------
    labels_, reliability_, rounds_
        Left by ``adapt``, as for ``TSTD``.
    coef_ : ndarray of shape (n_axes, n_dims)
        The map from the seen rows; that of the new rows is in the scores.

    Notes
    -----
    Not the authors' program, which is not public. What is certain: class models are
    linear in the embedding, one map serves seen and unseen classes, and map and labels
    take turns. The objective is our reading, and there are two. ``'joint'`` stays near
    where it starts, because labels made by the map are easy for the map to repeat;
    ``'stacked'`` moves.

    References
    ----------
    Y. Guo, G. Ding, X. Jin, J. Wang, "Transductive zero-shot recognition via shared
    model space learning", AAAI 2016.

    Examples
    --------
    >>> from unseen import SMS, load_data
    >>> data = load_data("photos-200")
    >>> model = SMS().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Kept 1,000 of 1,000 rows (rate 1); ... labels changed.
    """

    gamma: float = 0.1
    lam: float = 0.1
    _: KW_ONLY
    reading: str = "stacked"
    weight: float = 1.0
    n_rounds: int = 10
    label_coding: str = "one_hot"

    _adapt_parameters = frozenset(
        {"per_domain_centering", "reading", "weight", "n_rounds"}
    )
    _parameter_constraints = {
        "gamma": POSITIVE,
        "lam": POSITIVE,
        "reading": [StrOptions({"stacked", "joint"})],
        "weight": POSITIVE,
        "n_rounds": [Interval(Integral, 0, None, closed="left")],
        "label_coding": [StrOptions({"one_hot", "signed"})],
        **ON_AXES,
    }

    _score = staticmethod(bilinear)

    def _learn(self, seen: Seen) -> None:
        XtX, XtY, _ = label_products(seen.sums, self.label_coding)
        self.coef_ = solve_eszsl(XtX, XtY, seen.A, self.gamma, self.lam, seen.diagonal)
        self._seen_sums, self._seen_embeddings = seen.sums, seen.A

    def _adapt(self, unlabelled, candidates, given):
        how = self.lam, self.weight, np.ones(self.n_rounds), "nearest"
        return self_train(self, unlabelled, candidates, given, *how, tol=0.0)

    def _refit(self, W, A, sums, lam, mu):
        solve, weight = (stacked, lam) if self.reading == "stacked" else (joint, mu)
        seen = self._seen_sums, self._seen_embeddings
        return solve(W, seen, (sums, A), self.gamma, weight)


def stacked(W, seen, new, gamma, lam) -> tuple[np.ndarray, float]:
    """ESZSL's closed form over seen rows and new ones, with the labels so far."""
    (X, S), (B, T) = seen, new
    gram, A = X.gram + B.gram, np.vstack([S, T])
    class_sums = np.vstack([X.class_sums, B.class_sums])
    W = solve_eszsl(gram, class_sums.T, A, gamma, lam, diagonal=False)
    fit = W @ A.T
    return W, float(
        np.vdot(gram @ fit, fit)
        - 2 * np.vdot(class_sums.T, fit)
        + X.n_rows
        + B.n_rows
        + gamma * linalg.norm(fit) ** 2
        + lam * np.vdot(gram @ W, W)
        + gamma * lam * linalg.norm(W) ** 2
    )


def joint(W, seen, new, gamma, weight) -> tuple[np.ndarray, float]:
    """Seen rows meet seen classes, new ones their own: one map, from W on."""
    (X, S), (B, T) = seen, new
    StS, TtT = S.T @ S, T.T @ T

    def apply(w):  # XᵀX W SᵀS + weight BᵀB W TᵀT + gamma W
        W = w.reshape(len(X.gram), -1)
        made = X.gram @ W @ StS + weight * (B.gram @ W @ TtT) + gamma * W
        return made.ravel()

    target = (X.class_sums.T @ S + weight * B.class_sums.T @ T).ravel()
    operator = LinearOperator((W.size, W.size), matvec=apply, dtype=np.float64)
    w, _ = cg(operator, target, W.ravel(), rtol=1e-8, maxiter=50)
    constant = X.n_rows + weight * B.n_rows
    value = np.vdot(apply(w), w) - 2 * np.vdot(target, w) + constant
    return w.reshape(W.shape), float(value)
