"""Unsupervised domain adaptation by a dictionary (Kodirov et al., ICCV 2015).

    B  (n, p)   unlabelled rows, on the axes  T  (N, q)  candidate embeddings
    D  (q, p)   dictionary: an embedding becomes a row     D* from the seen classes
    Z  (n, q)   codes: an embedding for every row        w  (n, N)  soft labels

    min  |B - Z D|² + near |D - D*|² + pull Σ_ij w_ij |z_i - t_j|²

    Z ← (B Dᵀ + pull w T) (D Dᵀ + pull I)⁻¹
    D ← (ZᵀZ + near I)⁻¹ (ZᵀB + near D*)

D* is the ridge from embeddings to rows. A row's label is the class whose embedding has
the largest cosine with its code.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import softmax

from unseen.core.linalg import solve_ridge, to_unit
from unseen.core.outcome import Outcome, Round
from unseen.core.params import CountOr0, Positive
from unseen.core.start import sharpened
from unseen.models.ridge import RidgeToVisual
from unseen.progress import counted


@dataclass(eq=False, repr=False, kw_only=True)
class KodirovUDA(RidgeToVisual):
    """A dictionary from embeddings to rows that moves to the unlabelled rows.

    ``fit`` is that of ``RidgeToVisual``; ``adapt`` learns codes and a dictionary of the
    unlabelled rows, held to the seen one and to where ``fit`` would have the codes.

    Parameters
    ----------
    lam : float, default=10.0
        Ridge of the seen dictionary.
    near : float, default=100.0
        Weight of the pull to the seen dictionary.
    pull : float, default=0.01
        Weight of the pull of codes to embeddings, by the soft labels of ``fit``.
    n_rounds : int, default=5
    whitening : float or None, default=0.1
        As for ``ESZSL``; without it the unlabelled rows hardly improve the answer.
    metric, n_axes, unit_rows, per_domain_centering
        As for ``RidgeToVisual``.

    Attributes
    ----------
    coef_, axes_, mean_, embedding_mean_
        As for ``RidgeToVisual``.
    labels_, reliability_, rounds_
        Left by ``adapt``; every round has the objective after it.

    Notes
    -----
    Not the authors' program, which is not public. The objective is our reading of the
    paper; the updates follow from it. The soft labels w, there from a seen-class
    posterior (IAP), are here a softmax of the scores of ``fit``; the atoms have no
    bound, and the label propagation that the paper offers besides is left out. Codes
    are dense: class-wise folds could not tell that from a little sparsity, and one
    solve takes the place of hundreds of steps. New rows are labelled by the nearest
    adapted prototype ``t D``, for which no code is needed.

    References
    ----------
    E. Kodirov, T. Xiang, Z. Fu, S. Gong, "Unsupervised domain adaptation for zero-shot
    learning", ICCV 2015.

    Examples
    --------
    >>> from unseen import KodirovUDA, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = KodirovUDA().fit(data.X_seen, data.y_seen,
    ...                          class_embeddings=data.class_embeddings)
    >>> labels = model.adapt(data.X_unseen).labels_
    >>> round(per_class_accuracy(data.y_unseen, labels), 2)
    0.63
    """

    near: Positive = 100.0
    pull: Positive = 0.01
    n_rounds: CountOr0 = 5
    whitening: Positive | None = 0.1

    _adapt_parameters = frozenset(
        {"per_domain_centering", "metric", "near", "pull", "n_rounds"}
    )

    def _streams(self) -> bool:
        return False

    def _adapt(self, unlabelled, candidates, given) -> Outcome:
        view = self._view(unlabelled, candidates)
        B, units = np.asarray(view.B), to_unit(view.A)
        coef, offset = self._score(self.coef_, view.A)
        scores = B @ coef.T + offset
        w = softmax(sharpened(scores), axis=1)
        if given is not None:
            w[given.rows] = np.eye(len(candidates))[given.codes[given.rows]]
        # w sums to 1: Σ_j w_j |z - t_j|² is |z - Σ_j w_j t_j|² and a constant.
        targets = w @ view.A
        seen, codes, rounds = self.coef_.T, scores.argmax(axis=1), []
        D = seen
        for _ in counted("rounds", range(self.n_rounds)):
            Z = solve_ridge(D @ D.T, self.pull, (B @ D.T + self.pull * targets).T).T
            D = solve_ridge(Z.T @ Z, self.near, Z.T @ B + self.near * seen)
            scores = Z @ units.T
            before, codes = codes, scores.argmax(axis=1)
            value = (
                linalg.norm(B - Z @ D) ** 2
                + self.near * linalg.norm(D - seen) ** 2
                + self.pull * linalg.norm(Z - targets) ** 2
            )
            rounds.append(Round.of_all(candidates, before, codes, value))
        rule = self._adapted_rule(candidates, self._score(D.T, view.A), view)
        return Outcome(codes, scores.max(axis=1), rounds, rule)
