"""TransCLIP: a Gaussian mixture held to texts and to neighbours (Zanella et al. 2024).

    U  (n, r)   rows at unit length            q  (n, N)   soft labels of the start
    z  (n, N)   soft labels, on the simplex    μ  (N, r)   unit class means
    v  (r,)     variances, shared by classes   W  (n, n)   k nearest, cosines, sparse

    min  -w Σ_ic z_ic ℓ_ic  -  ¼k⁻¹ Σ_ij (W + Wᵀ)_ij z_i·z_j
         + Σ_ic z_ic log z_ic  -  t Σ_ic z_ic log q_ic
    ℓ_ic = -½ Σ_j (u_ij - μ_cj)²/v_j - ½ Σ_j log v_j

    z ← softmax(w ℓ + (W + Wᵀ) z / 2k + t log q)       five times
    μ_c ← unit(Σ_i z_ic u_i),   v ← Σ_ic z_ic (u_i - μ_c)² / n

The step of z would never raise the objective if W + Wᵀ had no negative eigenvalue. It
has some, so descent is what is seen, not what is proved.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.special import log_softmax, softmax, xlogy

from unseen._progress import counted
from unseen.core.around import Start
from unseen.core.linalg import to_unit
from unseen.core.params import Interval
from unseen.transduction.graph import nearest_cosines
from unseen.transduction.transducer import MIXTURE, START, Outcome, Transducer, as_round

TOP_ROWS = 8  # that make the first mean of a class
INNER_STEPS = 5  # of z, in a round
SMALLEST = 1e-10  # variance of a feature


class TransCLIP(Transducer):
    """TransCLIP: class means by a mixture that texts and neighbours hold in place.

    Made for the cosines of a model like CLIP; from another model it starts at that
    model's own soft labels, in the space the model compares rows in.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
        Where to start: cloned and fitted; by default ``AnchoredSelfTraining``, of
        which only the inductive answer is used.
    text_weight : float, default=1.0
        t, the pull of soft labels to those of the start.
    likelihood_weight : float, default=0.02
        w, what the mixture counts.
    n_neighbors : int, default=3
        k; neighbours count 1/2k each way.
    neighbors : {'auto', 'exact', 'approximate'}, default='auto'
        How neighbours are found: among all rows, or nearly, by faiss
        (``pip install unseen[neighbors]``). 'auto' is exact while that takes minutes,
        up to about 200,000 rows; ``neighbor_search_`` says which it was.
    n_rounds : int, default=10
        A fixed number, as in the authors' program.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    reliability_ : ndarray of shape (n_samples,)
        Rank of a row among the rows of its label: 1 for the best.
    rounds_ : list of Round
        With the objective after every round.
    neighbor_search_ : str
        How neighbours were found, 'exact' or 'approximate'.

    Notes
    -----
    After the authors' public program, written anew. There, the number of classes is
    read from the test labels; here it is the number that competes.

    References
    ----------
    M. Zanella, B. Gérin, I. Ben Ayed, "Boosting vision-language models with
    transduction", NeurIPS 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import TransCLIP
    >>> rng = np.random.default_rng(0)
    >>> texts, truth = rng.normal(size=(3, 20)), np.repeat([0, 1, 2], 40)
    >>> X = texts[truth] + 0.8 * rng.normal(size=(120, 20))
    >>> model = TransCLIP.from_prototypes(texts).adapt(X)
    >>> bool((model.labels_ == truth).mean() > 0.95)
    True
    """

    _adapt_parameters = frozenset(
        {"text_weight", "likelihood_weight", "n_neighbors", "neighbors", "n_rounds"}
    )
    _parameter_constraints: dict = {
        **START,
        "text_weight": [Interval(Real, 0, None, closed="left")],
        **MIXTURE,
    }

    def __init__(
        self,
        estimator=None,
        *,
        text_weight=1.0,
        likelihood_weight=0.02,
        n_neighbors=3,
        neighbors="auto",
        n_rounds=10,
    ):
        self.estimator = estimator
        self.text_weight = text_weight
        self.likelihood_weight = likelihood_weight
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.n_rounds = n_rounds

    def _transduce(self, start: Start) -> Outcome:
        mixture = Mixture(
            to_unit(start.rows),
            self.text_weight * log_softmax(start.logits.astype(np.float64), axis=1),
            nearest_cosines(start.rows, self.n_neighbors, self._search(start.rows)),
            self.likelihood_weight,
        )
        mixture.begin(start.probabilities.astype(np.float64))
        rounds, competition = [], start.candidates
        for _ in counted("rounds", range(self.n_rounds)):
            before = mixture.z
            for _ in range(INNER_STEPS):
                mixture.update_labels()
            mixture.update_means()
            mixture.update_variances()
            objective = mixture.objective()
            rounds.append(as_round(before, mixture.z, competition, objective=objective))
        return Outcome(mixture.log_labels(), rounds)


class Mixture:
    """The mixture in the middle of its rounds; symbols at the head of the file."""

    def __init__(self, U, texts, A, weight):
        self.U, self.texts, self.A, self.weight = U, texts, A, weight
        self.squares = np.einsum("ij,ij->j", U, U, dtype=np.float64)

    def begin(self, q: np.ndarray) -> None:
        """Start at the soft labels q and the means of their clearest rows."""
        self.z = q
        top = np.argsort(-q, axis=0, kind="stable")[:TOP_ROWS]  # (rows, classes)
        sums = [q[rows, c] @ self.U[rows] for c, rows in enumerate(top.T)]
        self.mu = to_unit(np.array(sums, dtype=np.float64))
        self.v = np.full(self.U.shape[1], 1 / self.U.shape[1])

    def likelihood(self) -> np.ndarray:
        """Return ℓ but for what is the same for every class; no (n, N, r) array."""
        scaled = self.mu / self.v
        mixed = self.U @ scaled.T.astype(self.U.dtype)
        return mixed - np.sum(self.mu * scaled, axis=1) / 2

    def log_labels(self) -> np.ndarray:
        """Return what the softmax makes z of."""
        return self.weight * self.likelihood() + self.A @ self.z + self.texts

    def update_labels(self) -> None:
        """One step of all soft labels at once."""
        self.z = softmax(self.log_labels(), axis=1)

    def sums(self) -> np.ndarray:
        """Σ_i z_ic u_i, one row per class."""
        return (self.z.T.astype(self.U.dtype) @ self.U).astype(np.float64)

    def update_means(self) -> None:
        """Put every mean where its rows are, at unit length."""
        self.mu = to_unit(self.sums())

    def update_variances(self) -> None:
        """Put v at Σ z (u - μ)² / n, from moments."""
        around = self.squares - 2 * np.sum(self.mu * self.sums(), axis=0)
        around = around + self.z.sum(axis=0) @ self.mu**2
        self.v = np.maximum(around / len(self.U), SMALLEST)

    def objective(self) -> float:
        """Return what the steps lower."""
        z = self.z
        constant = self.squares @ (1 / self.v) / 2
        constant += len(z) * np.log(self.v).sum() / 2
        fit = np.vdot(z, self.likelihood()) - constant
        return float(
            -self.weight * fit
            - np.vdot(z, self.A @ z) / 2
            + xlogy(z, z).sum()
            - np.vdot(z, self.texts)
        )
