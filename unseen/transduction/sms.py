"""SMS: one model shared by seen and unseen classes (Guo et al., AAAI 2016).

    X  (m, p), Y  (m, M), S  (M, q)   seen rows, labels in 0/1, embeddings
    B  (n, p), U  (n, N), T  (N, q)   the pile, its labels so far, embeddings
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

from unseen._linalg import inverse_factor, right_factor
from unseen._params import Interval, StrOptions
from unseen.class_table import ClassTable
from unseen.models.adapting import PileAnswer
from unseen.models.bilinear import answer_of
from unseen.models.eszsl import ESZSL
from unseen.models.learners import ViewLearner
from unseen.models.maps import POSITIVE
from unseen.rows.sums import Sums
from unseen.transduction.rounds import ROUNDING, self_train

CG_STEPS = 50  # of the map, in a round of 'joint'


class SMS(ESZSL):
    """Shared model space: ESZSL of seen and self-labelled rows together.

    ``fit`` is ESZSL's; ``adapt`` alternates between the map and the labels of the
    pile.

    Parameters
    ----------
    gamma, lam : float, default=0.1
        Ridges on the sides of features and embeddings, as for ``ESZSL``;
        ``'joint'`` has ``gamma`` alone after the first labels.
    reading : {'stacked', 'joint'}, default='stacked'
        How the shared model is written; see the Notes.
    weight : float, default=1.0
        Of the pile, in ``'joint'``.
    n_rounds : int, default=10
        At most; it ends sooner if no label changes.
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.

    Attributes
    ----------
    labels_, reliability_, rounds_
        Left by ``adapt``, as for ``TSTD``.
    coef_ : ndarray of shape (n_axes, n_dims)
        The map from the seen rows; that of the pile is in the scores.

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

    _adapt_parameters = ESZSL._adapt_parameters | {"reading", "weight", "n_rounds"}
    _parameter_constraints: dict = {
        **ESZSL._parameter_constraints,
        "reading": [StrOptions({"stacked", "joint"})],
        "weight": POSITIVE,
        "n_rounds": [Interval(Integral, 0, None, closed="left")],
    }

    penalty = "l2"  # of the ESZSL inside: squares keep the updates in closed form

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
        self.label_coding = label_coding
        self.n_axes = n_axes
        self.whitening = whitening
        self.unit_rows = unit_rows
        self.per_domain_centering = per_domain_centering
        self.reading = reading
        self.weight = weight
        self.n_rounds = n_rounds

    def _fit_sums(self, sums: Sums, table: ClassTable, X) -> SMS:
        super()._fit_sums(sums, table, X)
        seen = self._see(sums, table)  # kept by the sums: no second decomposition
        self._seen_sums, self._seen_embeddings = seen.sums, seen.A
        return self

    def _adapt(self, pile, competition, given=None) -> PileAnswer:
        learner = LEARNERS[self.reading](self, pile, competition)
        rates, how_many = np.ones(self.n_rounds), ROUNDING["nearest"]
        rounds = self_train(learner, rates, how_many=how_many, tol=0.0, given=given)
        self.take_over(learner)
        return answer_of(learner, rounds, self._adapted)


class StackedLearner(ViewLearner):
    """ESZSL's closed form over seen rows and pile, with the labels so far."""

    def __init__(self, model: SMS, pile, competition):
        super().__init__(model, pile, competition)
        self.W, self.seen = model.coef_, model._seen_sums
        self.S = model._seen_embeddings
        self.gamma, self.lam, self.weight = model.gamma, model.lam, model.weight
        self.gram = self.B.gram()
        self.prepare()

    def prepare(self) -> None:
        """Factor what no label changes."""
        left = self.seen.gram + self.gram + self.gamma * np.eye(len(self.gram))
        self.root = inverse_factor(left)
        self.both = np.vstack([self.S, self.A])
        self.right = right_factor(self.both, self.lam)

    def coef(self) -> np.ndarray:
        """Return one scorer per class on the axes."""
        return self.A @ self.W.T

    def refit(self, selection) -> float:
        """Solve for the map under these labels; return ESZSL's objective."""
        sums = self.B.sums(selection).class_sums
        sums = np.vstack([self.seen.class_sums, sums])
        self.W = W = self.root.T @ (self.root @ (sums.T @ self.right))
        gram = self.seen.gram + self.gram
        fit = W @ self.both.T
        return float(
            np.vdot(gram @ fit, fit)
            - 2 * np.vdot(sums.T, fit)
            + self.seen.n_rows
            + len(self.B)
            + self.gamma * linalg.norm(fit) ** 2
            + self.lam * np.vdot(gram @ W, W)
            + self.gamma * self.lam * linalg.norm(W) ** 2
        )


class JointLearner(StackedLearner):
    """Seen rows meet seen classes, the pile its own; one map, by conjugate gradients.

    weight = 0 would be the seen rows alone.
    """

    def prepare(self) -> None:
        """Multiply out what no label changes."""
        self.StS, self.TtT = self.S.T @ self.S, self.A.T @ self.A

    def apply(self, W: np.ndarray) -> np.ndarray:
        """XᵀX W SᵀS + weight BᵀB W TᵀT + gamma W."""
        pile = self.gram @ W @ self.TtT
        return self.seen.gram @ W @ self.StS + self.weight * pile + self.gamma * W

    def refit(self, selection) -> float:
        """Solve for the map under these labels; return the objective."""
        sums = self.B.sums(selection).class_sums
        target = self.seen.class_sums.T @ self.S + self.weight * sums.T @ self.A
        self.W = W = conjugate_gradients(self.apply, target, self.W, CG_STEPS)
        constant = self.seen.n_rows + self.weight * len(self.B)
        return float(np.vdot(self.apply(W), W) - 2 * np.vdot(target, W) + constant)


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


LEARNERS = {"stacked": StackedLearner, "joint": JointLearner}
