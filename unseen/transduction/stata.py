"""StatA: class statistics anchored to texts (Zanella, Fuchs et al., CVPR 2025).

    U  (n, r)   rows at unit length             q  (n, N)   soft labels of the start
    t  (N, r)   prototypes at unit length       z  (n, N)   soft labels
    μ, s  (N, r)   mean and variances of each class; at first t, and for every class
                   s₀ = Σ_ic z_ic (u_i - t_c)² / n

    z ← softmax(log q + w ℓ + (W + Wᵀ) z / 2k)     five times; W: cosines of k nearest
        ℓ_ic = -½ Σ_j (u_ij - μ_cj)²/s_cj - ½ Σ_j log s_cj
    β_c = n_c / (n_c + a)                          n_c rows have label c
    μ_c ← unit(β_c unit(Σ_i z_ic u_i) + (1 - β_c) t_c)
    s_c ← β_c (variances of class c around μ_c) + (1 - β_c) (s₀ + (t_c - μ_c)²)

A class without rows keeps its prototype, so absent classes do little harm.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.special import log_softmax, softmax

from unseen._progress import counted
from unseen.core.around import Start
from unseen.core.linalg import to_unit
from unseen.core.params import Interval
from unseen.transduction.graph import nearest_cosines
from unseen.transduction.transducer import MIXTURE, START, Outcome, Transducer, as_round

INNER_STEPS = 5  # of z, in a round
SMALLEST = 1e-8  # variance of a feature


class StatA(Transducer):
    """StatA: a mixture whose means and variances are anchored to the prototypes.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
        Where to start: cloned and fitted; by default ``AnchoredSelfTraining``, of
        which only the inductive answer is used.
    anchor : float, default=1.0
        a, what a prototype is worth in rows.
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
    rounds_ : list of Round
    neighbor_search_ : str
        How neighbours were found, 'exact' or 'approximate'.

    Notes
    -----
    After the authors' public program, written anew, with its defaults. Variances are
    held above a floor, so that a constant feature is no error. New rows go to the
    nearest class mean of the labelled pile.

    References
    ----------
    M. Zanella, C. Fuchs, C. De Vleeschouwer, I. Ben Ayed, "Realistic test-time
    adaptation of vision-language models", CVPR 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import StatA
    >>> rng = np.random.default_rng(0)
    >>> texts, truth = rng.normal(size=(3, 20)), np.repeat([0, 1, 2], 40)
    >>> X = texts[truth] + 0.8 * rng.normal(size=(120, 20))
    >>> model = StatA.from_prototypes(texts).adapt(X)
    >>> bool((model.labels_ == truth).mean() > 0.95)
    True
    """

    _adapt_parameters = frozenset(
        {"anchor", "likelihood_weight", "n_neighbors", "neighbors", "n_rounds"}
    )
    _parameter_constraints: dict = {
        **START,
        "anchor": [Interval(Real, 0, None, closed="neither")],
        **MIXTURE,
    }

    def __init__(
        self,
        estimator=None,
        *,
        anchor=1.0,
        likelihood_weight=0.02,
        n_neighbors=3,
        neighbors="auto",
        n_rounds=10,
    ):
        self.estimator = estimator
        self.anchor = anchor
        self.likelihood_weight = likelihood_weight
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.n_rounds = n_rounds

    def _transduce(self, start: Start) -> Outcome:
        texts = log_softmax(start.logits.astype(np.float64), axis=1)
        A = nearest_cosines(start.rows, self.n_neighbors, self._search(start.rows))
        classes = AnchoredClasses(
            to_unit(start.rows), to_unit(start.prototypes), np.exp(texts)
        )
        z, rounds = np.exp(texts), []
        for number in counted("rounds", range(self.n_rounds + 1)):
            before = z  # the last round only labels
            fixed = texts + self.likelihood_weight * classes.likelihood()
            for _ in range(INNER_STEPS):
                scores = fixed + A @ z
                z = softmax(scores, axis=1)
            rounds.append(as_round(before, z, start.candidates))
            if number < self.n_rounds:
                classes.update(z, self.anchor)
        return Outcome(scores, rounds)


class AnchoredClasses:
    """Means and variances of the classes; symbols at the head of the file."""

    def __init__(self, U: np.ndarray, t: np.ndarray, z: np.ndarray):
        self.U, self.t = U, t.astype(np.float64)
        self.squares = U * U
        self.mu = self.t
        first = self.around(z, self.t).sum(axis=0) / len(U)
        self.first = np.maximum(first, SMALLEST)
        self.s = np.tile(self.first, (len(t), 1))

    def around(self, z: np.ndarray, mu: np.ndarray) -> np.ndarray:
        """Σ_i z_ic (u_i - μ_c)², a row per class, from moments."""
        z = z.astype(self.U.dtype)
        sums, squares = z.T @ self.U, z.T @ self.squares
        return squares - 2 * mu * sums + z.sum(axis=0)[:, None] * mu**2

    def likelihood(self) -> np.ndarray:
        """Return ℓ, (n, N)."""
        inverse = (1 / self.s).astype(self.U.dtype)
        scaled = (self.mu / self.s).astype(self.U.dtype)
        constant = np.sum(self.mu**2 / self.s + np.log(self.s), axis=1)
        spread = self.squares @ inverse.T - 2 * (self.U @ scaled.T)
        return -(spread + constant) / 2

    def update(self, z: np.ndarray, anchor: float) -> None:
        """Move means and variances to the rows, as far as there are rows."""
        sizes = np.bincount(z.argmax(axis=1), minlength=len(self.t))
        beta = (sizes / (sizes + anchor))[:, None]
        sums = (z.T.astype(self.U.dtype) @ self.U).astype(np.float64)
        self.mu = to_unit(beta * to_unit(sums) + (1 - beta) * self.t)
        weight = np.maximum(z.sum(axis=0), 1e-300)[:, None]
        own = self.around(z, self.mu) / weight
        far = self.first + (self.t - self.mu) ** 2
        self.s = np.maximum(beta * own + (1 - beta) * far, SMALLEST)
