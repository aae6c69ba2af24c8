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

import numpy as np
from scipy.special import log_softmax, softmax, xlogy

from unseen.core.around import Relabelled, estimator_of
from unseen.core.linalg import to_unit
from unseen.core.params import AtLeast0, Count
from unseen.core.start import Start
from unseen.progress import counted
from unseen.transduction.graph import nearest_cosines


def transclip(
    start: Start,
    *,
    text_weight: AtLeast0 = 1.0,
    likelihood_weight: AtLeast0 = 0.02,
    n_neighbors: Count = 3,
    n_rounds: Count = 10,
) -> Relabelled:
    """TransCLIP: class means by a mixture that texts and neighbours hold in place.

    Made for the cosines of a model like CLIP; from another model it starts at that
    model's own soft labels, in the space the model compares rows in.

    Parameters
    ----------
    text_weight : float, default=1.0
        t, the pull of soft labels to those of the start.
    likelihood_weight : float, default=0.02
        w, what the mixture counts.
    n_neighbors : int, default=3
        k; neighbours count 1/2k each way.
    n_rounds : int, default=10
        A fixed number, as in the authors' program.

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
    A = nearest_cosines(start.rows, n_neighbors)
    U, (n, r) = to_unit(start.rows), start.rows.shape
    squares = np.einsum("ij,ij->j", U, U, dtype=np.float64)
    texts = text_weight * log_softmax(start.logits.astype(np.float64), axis=1)
    z, rounds = start.probabilities.astype(np.float64), []
    fit = likelihood(U, first_means(U, z), np.full(r, 1 / r))
    for _ in counted("rounds", range(n_rounds)):
        before = z
        for _ in range(5):
            z = softmax(likelihood_weight * fit + A @ z + texts, axis=1)
        sums = (z.T.astype(U.dtype) @ U).astype(np.float64)
        mu = to_unit(sums)
        # Σ z (u - μ)², from moments
        around = squares - 2 * np.sum(mu * sums, axis=0) + z.sum(axis=0) @ mu**2
        v = np.maximum(around / n, 1e-10)
        fit = likelihood(U, mu, v)
        constant = squares @ (1 / v) / 2 + n * np.log(v).sum() / 2
        value = likelihood_weight * (constant - np.vdot(z, fit)) + xlogy(z, z).sum()
        value -= np.vdot(z, A @ z) / 2 + np.vdot(z, texts)
        rounds.append(start.round(before, z, value))
    scores = likelihood_weight * fit + A @ z + texts
    return Relabelled(scores, rounds)


def first_means(U: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return unit means of the eight clearest rows of each class."""
    top = np.argsort(-q, axis=0, kind="stable")[:8]  # (rows, classes)
    sums = [q[rows, c] @ U[rows] for c, rows in enumerate(top.T)]
    return to_unit(np.array(sums, dtype=np.float64))


def likelihood(U: np.ndarray, mu: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return ℓ but for what is the same for every class; no (n, N, r) array."""
    scaled = mu / v
    return U @ scaled.T.astype(U.dtype) - np.sum(mu * scaled, axis=1) / 2


TransCLIP = estimator_of(transclip, "TransCLIP")
