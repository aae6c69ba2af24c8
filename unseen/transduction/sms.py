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

from numbers import Integral

import numpy as np
from scipy import linalg

from unseen.core.base import Seen, View, ZeroShotClassifier
from unseen.core.linalg import inverse_factor, right_factor
from unseen.core.params import ON_AXES, POSITIVE, Interval, StrOptions
from unseen.core.sums import label_products
from unseen.models.eszsl import solve_eszsl
from unseen.transduction.rounds import self_train

CG_STEPS = 50  # of the map, in a round of 'joint'


class SMS(ZeroShotClassifier):
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
    >>> data = load_data("digits")
    >>> model = SMS().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Kept 533 of 533 rows (rate 1); ... labels changed.
    """

    _adapt_parameters = ZeroShotClassifier._adapt_parameters | {
        "reading",
        "weight",
        "n_rounds",
    }
    _parameter_constraints: dict = {
        "gamma": POSITIVE,
        "lam": POSITIVE,
        "reading": [StrOptions({"stacked", "joint"})],
        "weight": POSITIVE,
        "n_rounds": [Interval(Integral, 0, None, closed="left")],
        "label_coding": [StrOptions({"one_hot", "signed"})],
        **ON_AXES,
    }

    def __init__(
        self,
        gamma=0.1,
        lam=0.1,
        *,
        reading="stacked",
        weight=1.0,
        n_rounds=10,
        label_coding="one_hot",
        n_axes=500,
        whitening=None,
        unit_rows=True,
        per_domain_centering=True,
    ):
        self.gamma = gamma
        self.lam = lam
        self.reading = reading
        self.weight = weight
        self.n_rounds = n_rounds
        self.label_coding = label_coding
        self.n_axes = n_axes
        self.whitening = whitening
        self.unit_rows = unit_rows
        self.per_domain_centering = per_domain_centering

    def _learn(self, seen: Seen) -> None:
        XtX, XtY, _ = label_products(seen.sums, self.label_coding)
        self.coef_ = solve_eszsl(XtX, XtY, seen.A, self.gamma, self.lam, seen.diagonal)
        self._seen_sums, self._seen_embeddings = seen.sums, seen.A

    def _score(self, W, A):
        return A @ W.T, np.zeros(len(A))

    def _adapt(self, unlabelled, candidates, given):
        view = self._view(unlabelled, candidates)
        refit = {"stacked": stacked, "joint": joint}[self.reading](self, view)
        how: dict = {"rates": np.ones(self.n_rounds), "rounding": "nearest", "tol": 0.0}
        return self_train(self, view, candidates, given, refit, **how)


def stacked(model: SMS, view: View):
    """ESZSL's closed form over seen rows and new ones, with the labels so far."""
    seen, gamma, lam = model._seen_sums, model.gamma, model.lam
    gram = seen.gram + view.B.gram()
    root = inverse_factor(gram + gamma * np.eye(len(gram)))
    both = np.vstack([model._seen_embeddings, view.A])
    right = right_factor(both, lam)

    def refit(W, sums):
        """Solve for the map under these labels; return it and ESZSL's objective."""
        class_sums = np.vstack([seen.class_sums, sums.class_sums])
        W = root.T @ (root @ (class_sums.T @ right))
        fit = W @ both.T
        return W, float(
            np.vdot(gram @ fit, fit)
            - 2 * np.vdot(class_sums.T, fit)
            + seen.n_rows
            + len(view.B)
            + gamma * linalg.norm(fit) ** 2
            + lam * np.vdot(gram @ W, W)
            + gamma * lam * linalg.norm(W) ** 2
        )

    return refit


def joint(model: SMS, view: View):
    """Seen rows meet seen classes, new ones their own; one map for both.

    By conjugate gradients; weight = 0 would be the seen rows alone.
    """
    seen, S, T, gram = model._seen_sums, model._seen_embeddings, view.A, view.B.gram()
    StS, TtT, weight, gamma = S.T @ S, T.T @ T, model.weight, model.gamma

    def apply(W):
        """XᵀX W SᵀS + weight BᵀB W TᵀT + gamma W."""
        return seen.gram @ W @ StS + weight * (gram @ W @ TtT) + gamma * W

    def refit(W, sums):
        """Solve for the map under these labels; return it and the objective."""
        target = seen.class_sums.T @ S + weight * sums.class_sums.T @ T
        W = conjugate_gradients(apply, target, W, CG_STEPS)
        constant = seen.n_rows + weight * len(view.B)
        return W, float(np.vdot(apply(W), W) - 2 * np.vdot(target, W) + constant)

    return refit


def conjugate_gradients(apply, target, W, n_steps: int, tol: float = 1e-8):
    """Lower ½ W·apply(W) - target·W from W on; every step lowers it."""
    residual = target - apply(W)
    direction, square = residual, np.vdot(residual, residual)
    enough = tol**2 * np.vdot(target, target)
    for _ in range(n_steps):
        if square <= enough:
            break
        turned = apply(direction)
        step = square / np.vdot(direction, turned)
        W = W + step * direction
        residual = residual - step * turned
        before, square = square, np.vdot(residual, residual)
        direction = residual + (square / before) * direction
    return W
