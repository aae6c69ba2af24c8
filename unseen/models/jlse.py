"""JLSE: codes of classes and codes of rows, both over learned dictionaries.

Rows are samples. Joint latent similarity embedding (Zhang & Saligrama, CVPR 2016).

    X  (n, p)   rows of seen classes: unit length, centred, on p axes
    A  (M, q)   seen class embeddings: unit length, centred
    B  (M, q)   dictionary of the classes, U (M, M) their codes on the simplex
    D  (k, p)   dictionary of the rows,    Z (n, k) their codes
    W  (k, M)   the match of both

    min_{B, U}     Σ_c  softness / 2 |u_c|² + 1/2 |a_c - u_c B|²,    u ≥ 0, Σ u = 1

    min_{Z, D, W}  1/n Σ_i ( code_ridge / 2 |z_i|² + reconstruction / 2 |x_i - z_i D|² )
                 + 1/(n M) Σ_ic max(0, 1 - I_ic z_i W u_c)² + lam / 2 |W|²,    I = ±1

    |b_j| ≤ 1,  |d_j| ≤ 1

solved in turns: codes, then dictionary, on the side of the classes; codes, dictionary,
match on that of the rows. A new row has no label to be matched with: its code is that
of the first sum alone, z(x) = x E with one matrix E, and

    score(x, a) = x E W u(a),     coef_ = E W
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from unseen.core.base import Seen
from unseen.core.params import COUNT, POSITIVE
from unseen.models.relative_codes import (
    BY_STEPS,
    RelativeCodesClassifier,
    minimise_loss,
    squared_hinge,
)

CODE_STEPS, ATOM_STEPS = 100, 20  # of a turn; the next begins where it ended


class JLSE(RelativeCodesClassifier):
    """Joint latent similarity embedding, with both dictionaries learned.

    Choose it to compare with the paper's rows. It needs the rows.

    Parameters
    ----------
    lam : float, default=1e-4
        Ridge on the match.
    softness : float, default=0.1
        Spreads the code of a class over more atoms.
    code_ridge : float, default=0.1
        Ridge on the codes of rows.
    reconstruction : float, default=1.0
        What it costs if codes do not give their rows back.
    n_atoms : int, default=200
        Atoms of the rows' dictionary, no more than there are axes. The classes'
        dictionary has one atom per seen class.
    n_turns : int, default=5
        How often codes, dictionaries and match are taken in turn.
    max_iter : int, default=300
        Steps of L-BFGS at most, each time the match is learned.
    tol : float, default=1e-3
        Stop when no derivative is larger than this share of the largest at the start.
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_seen)
        Encoder of rows times match, on the principal axes.
    history_ : list of float
        Objective of rows after every turn.
    n_iter_ : int
        Turns taken.
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    Notes
    -----
    From the authors: both kinds of codes, the norms of the atoms, the match by a hinge
    over all pairs of classes and rows, solving in turns. Ours: the hinge is squared, as
    its derivative then has no jump; classes are dealt with first and once; the rows'
    dictionary starts at the principal axes; the match is learned once more on codes
    as new rows will have them; all weights are left to class-wise folds, for the
    authors' are not known. In ``SelfTraining`` the refit is that of
    ``ESZSL`` with the codes of classes in place of embeddings.

    References
    ----------
    Z. Zhang, V. Saligrama, "Zero-shot learning via joint latent similarity
    embedding", CVPR 2016.

    Examples
    --------
    >>> from unseen import JLSE, load_data
    >>> data = load_data("digits")
    >>> model = JLSE(n_atoms=20).fit(data.X_seen, data.y_seen,
    ...                              class_embeddings=data.class_embeddings)
    >>> model.coef_.shape, model.n_iter_
    ((64, 7), 5)
    """

    _parameter_constraints: dict = {
        "softness": POSITIVE,
        "code_ridge": POSITIVE,
        "reconstruction": POSITIVE,
        "n_atoms": COUNT,
        "n_turns": COUNT,
        **BY_STEPS,
    }

    def __init__(
        self,
        lam=1e-4,
        *,
        softness=0.1,
        code_ridge=0.1,
        reconstruction=1.0,
        n_atoms=200,
        n_turns=5,
        max_iter=300,
        tol=1e-3,
        n_axes=500,
        whitening=None,
        unit_rows=True,
        per_domain_centering=True,
    ):
        self.lam = lam
        self.softness = softness
        self.code_ridge = code_ridge
        self.reconstruction = reconstruction
        self.n_atoms = n_atoms
        self.n_turns = n_turns
        self.max_iter = max_iter
        self.tol = tol
        self.n_axes = n_axes
        self.whitening = whitening
        self.unit_rows = unit_rows
        self.per_domain_centering = per_domain_centering

    def _learn(self, seen: Seen) -> None:
        B, codes = seen.B, seen.codes
        X = np.asarray(B, dtype=np.float64)
        self._dictionary = class_dictionary(seen.A, self.softness, self.n_turns)
        U = self._embed(seen.A)
        loss = squared_hinge(codes, len(U))
        signs = 2 * np.eye(len(U))[codes] - 1
        D = np.eye(min(self.n_atoms, X.shape[1]), X.shape[1])  # the leading axes
        Z = X @ self._encoder(D)
        self.history_ = []
        for _ in range(self.n_turns):
            W = self._match(loss, Z, U)
            Z = self._row_codes(X, Z, D, W @ U.T, signs)
            D = renew_atoms(D, Z, X)
            self.history_.append(self._objective(loss, X, Z, D, W, U))
        E = self._encoder(D)
        self.coef_ = E @ self._match(loss, X @ E, U)
        self.n_iter_ = self.n_turns

    def _embed(self, A):
        return simplex_codes(A, self._dictionary, self.softness)

    def _match(self, loss, Z, U) -> np.ndarray:
        return minimise_loss(
            loss, Z, U, self.lam, max_iter=self.max_iter, tol=self.tol
        )[0]

    def _encoder(self, D: np.ndarray) -> np.ndarray:
        """Return E, for the codes x E of rows whose label is not known."""
        H = self.reconstruction * D @ D.T + self.code_ridge * np.eye(len(D))
        return self.reconstruction * linalg.solve(H, D, assume_a="pos").T

    def _row_codes(self, X, Z, D, V, signs) -> np.ndarray:
        """Return the codes of rows given atoms D and the match V = W Uᵀ, from Z on."""
        H = self.reconstruction * D @ D.T + self.code_ridge * np.eye(len(D))
        target, n_classes = self.reconstruction * X @ D.T, V.shape[1]
        values = linalg.eigvalsh(H)
        largest = values[-1] + 2 / n_classes * linalg.eigvalsh(V.T @ V)[-1]
        root = np.sqrt(values[0] / largest)
        momentum = (1 - root) / (1 + root)  # right for a strongly convex problem
        ahead = Z
        for _ in range(CODE_STEPS):
            slack = np.maximum(1 - signs * (ahead @ V), 0)
            slope = ahead @ H - target - 2 / n_classes * (signs * slack) @ V.T
            before, Z = Z, ahead - slope / largest
            ahead = Z + momentum * (Z - before)
            if np.abs(Z - before).max() <= 1e-3 * self.tol * np.abs(Z).max():
                break
        return Z

    def _objective(self, loss, X, Z, D, W, U) -> float:
        left = X - Z @ D
        rows = self.code_ridge * np.vdot(Z, Z) + self.reconstruction * np.vdot(
            left, left
        )
        match = loss(Z @ W @ U.T)[0] + self.lam / 2 * np.vdot(W, W)
        return float(rows / 2 / len(X) + match)


def class_dictionary(A: np.ndarray, softness: float, n_turns: int) -> np.ndarray:
    """Return atoms that mix to the embeddings, from the embeddings themselves on."""
    B = short(A)
    for _ in range(n_turns):
        B = renew_atoms(B, simplex_codes(A, B, softness), A)
    return B


def renew_atoms(D: np.ndarray, Z: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return atoms of length 1 at most that bring |X - Z D|² down.

    Steps against the gradient and back, for all atoms at once: whatever order atoms or
    classes have, the answer is the same.
    """
    ZtZ, ZtX = Z.T @ Z, Z.T @ X
    largest = linalg.eigvalsh(ZtZ)[-1]
    for _ in range(ATOM_STEPS if largest > 0 else 0):
        D = short(D - (ZtZ @ D - ZtX) / largest)
    return D


def short(V: np.ndarray) -> np.ndarray:
    """Return rows cut to length 1 where they are longer."""
    return V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1)


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
