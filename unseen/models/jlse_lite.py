"""JLSELite: similarity codes of classes, matched to rows by one map.

Rows are samples. The simplest relative of JLSE (Zhang & Saligrama, CVPR 2016): the
dictionary of the classes is the seen embeddings, that of the rows is the identity,
neither is learned, and what remains is convex.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    A  (M, q)           seen class embeddings: unit length
    W  (p, M)           the match of rows and codes                      coef_

    φ(a) = argmin_z  |a - z A|² / 2 + softness / 2 |z|²,   z ≥ 0, Σ z = 1

    min_W  1/(n M) Σ_ic max(0, 1 - I_ic x_i W φ(A_c))² + lam / 2 |W|²,   I = ±1
    score(x, a) = x W φ(a)
"""

from __future__ import annotations

from unseen.models.bilinear import Seen
from unseen.models.maps import POSITIVE
from unseen.models.relative_codes import (
    BY_STEPS,
    RelativeCodesClassifier,
    squared_hinge,
)
from unseen.models.simplex import simplex_codes


class JLSELite(RelativeCodesClassifier):
    """Joint latent similarity embedding without learned dictionaries.

    Choose it when an unseen class is well described as a mixture of a few seen
    ones; its code shows which. Do not report it as ``JLSE``, which learns both
    dictionaries and begins here. It needs the rows.

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
