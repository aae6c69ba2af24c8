"""SMS: one model shared by seen and unseen classes (Guo et al., AAAI 2016).

    X  (m, p), Y  (m, M), S  (M, q)   seen rows, labels in 0/1, embeddings
    B  (n, p), U  (n, N), T  (N, q)   new rows, their labels so far, embeddings
    W  (p, q)                         what we learn: a class is scored by x W a

    W ← ESZSL of [X; B], [S; T] and the labels of both as blocks:
        (XᵀX + BᵀB + gamma I)⁻¹ (XᵀY S + BᵀU T) (SᵀS + TᵀT + lam I)⁻¹
    U ← the best-scoring class of every row; again

Everything about X is its sums on the axes. The blocks also say of every seen row that
it is of no unseen class, and the other way round.
"""

from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import numpy as np
from scipy import linalg

from unseen.core.on_axes import Seen
from unseen.core.params import CountOr0, Positive
from unseen.models.eszsl import ESZSL, solve_eszsl
from unseen.transduction.rounds import self_train


@dataclass(eq=False, repr=False)
class SMS(ESZSL):
    """Shared model space: ESZSL of seen and self-labelled rows together.

    ``fit`` is that of ``ESZSL``; ``adapt`` alternates between the map and the labels of
    the new rows.

    Parameters
    ----------
    gamma, lam : float, default=0.1
        Ridges on the sides of features and embeddings, as for ``ESZSL``.
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
    take turns. The objective is our interpretation of the paper.

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
    Learned from 1,000 of 1,000 rows (rate 1); ... labels changed.
    """

    gamma: Positive = 0.1
    lam: Positive = 0.1
    _: KW_ONLY
    n_rounds: CountOr0 = 10
    penalty: Literal["l2"] = field(default="l2", init=False)

    _adapt_parameters = frozenset({"per_domain_centering", "n_rounds"})

    def _learn(self, seen: Seen) -> None:
        super()._learn(seen)
        self._seen_sums, self._seen_embeddings = seen.sums, seen.A

    def _adapt(self, unlabelled, candidates, given):
        how = 1.0, 1.0, np.ones(self.n_rounds), "nearest"
        return self_train(self, unlabelled, candidates, given, *how, until_settled=True)

    def _refit(self, W, A, sums, lam, mu):
        """ESZSL's closed form over seen rows and new ones, with the labels so far."""
        X, gamma, lam = self._seen_sums, self.gamma, self.lam
        gram, A = X.gram + sums.gram, np.vstack([self._seen_embeddings, A])
        class_sums = np.vstack([X.class_sums, sums.class_sums])
        W = solve_eszsl(gram, class_sums.T, A, gamma, lam, diagonal=False)
        fit = W @ A.T
        return W, float(
            np.vdot(gram @ fit, fit)
            - 2 * np.vdot(class_sums.T, fit)
            + X.n_rows
            + sums.n_rows
            + gamma * linalg.norm(fit) ** 2
            + lam * np.vdot(gram @ W, W)
            + gamma * lam * linalg.norm(W) ** 2
        )
