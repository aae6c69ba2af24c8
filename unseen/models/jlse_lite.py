"""JLSELite: similarity codes of classes, matched to rows by one map.

Rows are samples. Not JLSE itself (Zhang & Saligrama, CVPR 2016), of which no program
and no full set of weights was to be had, but its simplest relative: the dictionary of
the classes is the seen embeddings, that of the rows is the identity, neither is
learned, and what remains is convex.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    A  (M, q)           seen class embeddings: unit length
    W  (p, M)           the match of rows and codes                      coef_

    φ(a) = argmin_z  |a - z A|² / 2 + softness / 2 |z|²,   z ≥ 0, Σ z = 1

    min_W  1/(n M) Σ_ic max(0, 1 - I_ic x_i W φ(A_c))² + lam / 2 |W|²,   I = ±1
    score(x, a) = x W φ(a)
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from unseen.models.bilinear import Seen
from unseen.models.maps import POSITIVE
from unseen.models.placed import BY_STEPS, PlacedClassifier, squared_hinge


class JLSELite(PlacedClassifier):
    """Joint latent similarity embedding, reduced to what is certain of it.

    Choose it when an unseen class is well described as a mixture of a few seen
    ones; its code shows which. Do not report it as JLSE: neither dictionary is
    learned here. It needs the rows.

    Parameters
    ----------
    lam : float, default=1e-4
        Ridge on the map.
    softness : float, default=0.1
        Spreads the code of a class over more seen classes.
    max_iter : int, default=300
        Steps of L-BFGS at most.
    tol : float, default=1e-3
        Stop when no derivative is larger than this share of the largest at the start.
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_seen)
        The map W, on the principal axes.
    history_ : list of float
        Objective at the start and after every step.
    n_iter_ : int
        Steps made.
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    Notes
    -----
    In ``SelfTraining`` the refit is that of ``ESZSL`` with the codes φ in place of
    embeddings: the map learns the labels of the pile, near to what it was.

    References
    ----------
    Z. Zhang, V. Saligrama, "Zero-shot learning via joint latent similarity
    embedding", CVPR 2016. Z. Zhang, V. Saligrama, "Zero-shot learning via semantic
    similarity embedding", ICCV 2015, for the codes.

    Examples
    --------
    >>> from unseen import JLSELite, load_data
    >>> data = load_data("digits")
    >>> model = JLSELite().fit(data.X_seen, data.y_seen,
    ...                        class_embeddings=data.class_embeddings)
    >>> model.coef_.shape
    (64, 7)
    """

    _parameter_constraints: dict = {
        "softness": POSITIVE,
        **BY_STEPS,
    }

    def __init__(
        self,
        lam=1e-4,
        *,
        softness=0.1,
        max_iter=300,
        tol=1e-3,
        n_axes=500,
        whitening=None,
        unit_rows=True,
        per_domain_centering=True,
    ):
        self.lam = lam
        self.softness = softness
        self.max_iter = max_iter
        self.tol = tol
        self.n_axes = n_axes
        self.whitening = whitening
        self.unit_rows = unit_rows
        self.per_domain_centering = per_domain_centering

    def _learn_rows(self, seen: Seen, B, codes) -> None:
        self._dictionary = seen.A
        self._minimise(squared_hinge(codes, len(seen.A)), B, self._embed(seen.A))

    def _embed(self, A):
        return simplex_codes(A, self._dictionary, self.softness)


def simplex_codes(
    A: np.ndarray, S: np.ndarray, softness: float, *, max_iter=10_000, tol=1e-12
) -> np.ndarray:
    """Return φ(a) for every row of A by accelerated projected gradient.

    Centring A and S alike changes nothing, for codes sum to 1.
    """
    H = S @ S.T + softness * np.eye(len(S))
    target = A @ S.T
    values = linalg.eigvalsh(H)
    largest, root = values[-1], np.sqrt(max(values[0], softness) / values[-1])
    momentum = (1 - root) / (1 + root)  # right for a strongly convex problem
    Z = ahead = np.full((len(A), len(S)), 1 / len(S))
    for _ in range(max_iter):
        before, Z = Z, onto_simplex(ahead - (ahead @ H - target) / largest)
        ahead = Z + momentum * (Z - before)
        if np.abs(Z - before).max() <= tol:
            break
    return Z


def onto_simplex(V: np.ndarray) -> np.ndarray:
    """Return the nearest point of the simplex to each row."""
    falling = -np.sort(-V, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    kept = (falling * np.arange(1, V.shape[1] + 1) > excess).sum(axis=1)
    level = np.take_along_axis(excess, kept[:, None] - 1, axis=1) / kept[:, None]
    return np.maximum(V - level, 0)
