"""Unsupervised domain adaptation by a dictionary (Kodirov et al., ICCV 2015).

    B  (n, p)   the pile, on the axes        T  (N, q)   embeddings that compete
    D  (q, p)   dictionary: an embedding becomes a row     D* from the seen classes
    Z  (n, q)   codes: an embedding for every row          w  (n, N)   soft labels

    min  |B - Z D|² + near |D - D*|² + pull Σ_ij w_ij |z_i - t_j|² + sparsity |Z|₁

    Z ← a lasso, all rows with the one Gram matrix D Dᵀ + pull I   (FISTA)
    D ← (ZᵀZ + near I)⁻¹ (ZᵀB + near D*)

D* is the ridge from embeddings to rows. A row's label is the class whose embedding has
the largest cosine with its code.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import linalg
from scipy.special import softmax

from unseen._progress import counted
from unseen.core.around import sharpened
from unseen.core.base import Outcome
from unseen.core.linalg import solve_ridge, to_unit
from unseen.core.params import POSITIVE, Interval
from unseen.models.ridge import RidgeToVisual
from unseen.transduction.memory import check_memory
from unseen.transduction.transducer import as_round

FISTA_STEPS = 50  # of the codes, in a round
BLOCK_ROWS = 4096
SETTLED = 1e-9  # share of the largest code that steps end below


class KodirovUDA(RidgeToVisual):
    """A dictionary from embeddings to rows that moves to the pile.

    ``fit`` is that of ``RidgeToVisual``; ``adapt`` learns codes and the dictionary of
    the pile, held to the seen one and to where the start would have the codes.

    Parameters
    ----------
    lam : float, default=10.0
        Ridge of the seen dictionary.
    near : float, default=100.0
        Weight of the pull to the seen dictionary.
    pull : float, default=0.01
        Weight of the pull of codes to embeddings, by the start's soft labels.
    sparsity : float, default=0.0
        Weight of the sum of absolute codes; 0 for none.
    n_rounds : int, default=5
    whitening : float or None, default=0.1
        As for ``ESZSL``; without it the pile teaches little.
    metric, n_axes, unit_rows, per_domain_centering
        As for ``RidgeToVisual``.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    reliability_ : ndarray of shape (n_samples,)
        Rank of a row among the rows of its label: 1 for the best.
    rounds_ : list of Round
        With the objective after every round.

    Notes
    -----
    Not the authors' program, which is not public. The objective is our reading of the
    paper; the updates follow from it. The soft labels w, there from a seen-class
    posterior (IAP), are here a softmax of the scores of ``fit``; the atoms have no
    bound, and the label propagation that the paper offers besides is left out. Codes
    are dense by default: class-wise folds cannot tell that from a little sparsity, and
    one solve takes the place of hundreds of steps. New rows
    are labelled by the nearest adapted prototype ``t D``, for which no code is needed.

    References
    ----------
    E. Kodirov, T. Xiang, Z. Fu, S. Gong, "Unsupervised domain adaptation for zero-shot
    learning", ICCV 2015.

    Examples
    --------
    >>> from unseen import KodirovUDA, load_data
    >>> data = load_data("digits")
    >>> model = KodirovUDA().fit(data.X_seen, data.y_seen,
    ...                          class_embeddings=data.class_embeddings)
    >>> model.adapt(data.X_unseen).labels_.shape
    (533,)
    """

    _adapt_parameters = RidgeToVisual._adapt_parameters | {
        "metric",
        "near",
        "pull",
        "sparsity",
        "n_rounds",
    }
    _parameter_constraints: dict = {
        **RidgeToVisual._parameter_constraints,
        "near": POSITIVE,
        "pull": POSITIVE,
        "sparsity": [Interval(Real, 0, None, closed="left")],
        "n_rounds": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        lam=10.0,
        *,
        near=100.0,
        pull=0.01,
        sparsity=0.0,
        n_rounds=5,
        metric="euclidean",
        n_axes=500,
        whitening=0.1,
        unit_rows=True,
        per_domain_centering=True,
    ):
        super().__init__(
            lam,
            metric=metric,
            n_axes=n_axes,
            whitening=whitening,
            unit_rows=unit_rows,
            per_domain_centering=per_domain_centering,
        )
        self.near = near
        self.pull = pull
        self.sparsity = sparsity
        self.n_rounds = n_rounds

    def _streams(self) -> bool:
        return False

    def _adapt(self, pile, competition, given=None) -> Outcome:
        view = self._view(pile, competition)
        B, dims = np.asarray(view.B), view.A.shape[1]
        check_memory(
            "KodirovUDA",
            8 * len(pile) * (3 * dims + 3 * len(self.coef_)),
            f"codes of {len(pile):,} rows",
        )
        coef, offset = self._score(self.coef_, view.A)
        scores = B @ coef.T + offset
        chances = softmax(sharpened(scores), axis=1)
        if given is not None:
            chances[given.rows] = np.eye(len(competition))[given.codes[given.rows]]
        problem = DictionaryProblem(
            B,
            chances @ view.A,
            self.coef_.T,
            near=self.near,
            pull=self.pull,
            sparsity=self.sparsity,
        )
        rounds = []
        for _ in counted("rounds", range(self.n_rounds)):
            problem.update_codes()
            problem.update_dictionary()
            before, scores = scores, problem.Z @ to_unit(view.A).T
            value = problem.objective()
            rounds.append(as_round(before, scores, competition, objective=value))
        scorer = self._score(problem.D.T, view.A)
        rule = self._adapted_rule(competition, scorer, view)
        return Outcome(scores.argmax(axis=1), scores.max(axis=1), rounds, rule)


class DictionaryProblem:
    """Codes and dictionary of a pile; symbols at the head of the file."""

    def __init__(self, B, targets, D, *, near, pull, sparsity):
        self.B, self.targets, self.D, self.before = B, targets, D, D
        self.near, self.pull, self.sparsity = near, pull, sparsity
        self.Z = targets

    def update_codes(self) -> None:
        """Lower the lasso of all rows at once, from the codes before."""
        # w sums to 1: Σ_j w_j |z - t_j|² is |z - Σ_j w_j t_j|² and a constant.
        products = self.D @ self.D.T
        gram = products + self.pull * np.eye(len(self.D))
        codes = np.empty_like(self.Z)
        for start in range(0, len(self.B), BLOCK_ROWS):  # rows do not see each other
            rows = slice(start, start + BLOCK_ROWS)
            target = self.B[rows] @ self.D.T + self.pull * self.targets[rows]
            if self.sparsity:
                before = self.Z[rows]
                codes[rows] = lasso(gram, target, self.sparsity, before, FISTA_STEPS)
            else:
                codes[rows] = solve_ridge(products, self.pull, target.T).T
        self.Z = codes

    def update_dictionary(self) -> None:
        """D = (ZᵀZ + near I)⁻¹ (ZᵀB + near D*)."""
        right = self.Z.T @ self.B + self.near * self.before
        self.D = solve_ridge(self.Z.T @ self.Z, self.near, right)

    def objective(self) -> float:
        """Return what both updates lower, but for the constant of the soft labels."""
        Z = self.Z
        return float(
            linalg.norm(self.B - Z @ self.D) ** 2
            + self.near * linalg.norm(self.D - self.before) ** 2
            + self.pull * linalg.norm(Z - self.targets) ** 2
            + self.sparsity * np.abs(Z).sum()
        )


def lasso(gram, target, sparsity, Z, n_steps: int) -> np.ndarray:
    """Lower Z gram·Z - 2 target·Z + sparsity |Z|₁ from Z on, by accelerated steps.

    Momentum starts anew whenever it points uphill, so that no step is lost.
    """
    step = 1 / linalg.eigvalsh(gram, subset_by_index=[len(gram) - 1] * 2)[0]
    ahead, t = Z, 1.0
    for _ in range(n_steps):
        moved = ahead - step * (ahead @ gram - target)
        new = np.sign(moved) * np.maximum(np.abs(moved) - step * sparsity / 2, 0)
        if np.vdot(ahead - new, new - Z) > 0:
            ahead, t = Z, 1.0
            continue
        later = (1 + np.sqrt(1 + 4 * t * t)) / 2
        change = new - Z
        ahead, Z, t = new + (t - 1) / later * change, new, later
        if np.abs(change).max() <= SETTLED * np.abs(Z).max():
            break
    return Z
