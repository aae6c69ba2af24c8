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

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import linalg

from unseen.core.on_axes import Seen
from unseen.core.params import Count, Positive
from unseen.models.dictionary import shorten
from unseen.models.relative_codes import (
    RelativeCodesClassifier,
    minimise_loss,
    squared_hinge,
)


@dataclass(eq=False, repr=False)
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
    >>> data = load_data("photos-200")
    >>> model = JLSE(n_atoms=20, n_turns=1).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.coef_.shape, model.n_iter_
    ((199, 200), 1)
    """

    lam: Positive = 1e-4
    _: KW_ONLY
    softness: Positive = 0.1
    code_ridge: Positive = 0.1
    reconstruction: Positive = 1.0
    n_atoms: Count = 200
    n_turns: Count = 5
    max_iter: Count = 300
    tol: Positive = 1e-3

    def _learn(self, seen: Seen) -> None:
        X = np.asarray(seen.B, dtype=np.float64)
        B = shorten(seen.A)  # atoms of the classes, at first their embeddings
        for _ in range(self.n_turns):
            B = renew_atoms(B, simplex_codes(seen.A, B, self.softness), seen.A)
        self._dictionary = B
        U = self._embed(seen.A)
        loss = squared_hinge(seen.codes, len(U))
        signs = 2 * np.eye(len(U))[seen.codes] - 1
        D = np.eye(min(self.n_atoms, X.shape[1]), X.shape[1])  # the leading axes
        Z = X @ self._encoder(D)
        self.history_, self.n_iter_ = [], self.n_turns
        for _ in range(self.n_turns):
            W = self._match(loss, Z, U)
            Z = self._row_codes(X, Z, D, W @ U.T, signs)
            D = renew_atoms(D, Z, X)
            self.history_.append(self._objective(loss, X, Z, D, W, U))
        E = self._encoder(D)
        self.coef_ = E @ self._match(loss, X @ E, U)

    def _embed(self, A):
        return simplex_codes(A, self._dictionary, self.softness)

    def _match(self, loss, Z, U) -> np.ndarray:
        return minimise_loss(
            loss, Z, U, self.lam, max_iter=self.max_iter, tol=self.tol
        )[0]

    def _curvature(self, D: np.ndarray) -> np.ndarray:
        return self.reconstruction * D @ D.T + self.code_ridge * np.eye(len(D))

    def _encoder(self, D: np.ndarray) -> np.ndarray:
        """Return E, for the codes x E of rows whose label is not known."""
        H = self._curvature(D)
        return self.reconstruction * linalg.solve(H, D, assume_a="pos").T

    def _row_codes(self, X, Z, D, V, signs) -> np.ndarray:
        """Return the codes of rows given atoms D and the match V = W Uᵀ, from Z on."""
        H, target, M = self._curvature(D), self.reconstruction * X @ D.T, V.shape[1]
        values = linalg.eigvalsh(H)
        largest = values[-1] + 2 / M * linalg.eigvalsh(V.T @ V)[-1]

        def lower(ahead):
            slack = np.maximum(1 - signs * (ahead @ V), 0)
            slope = ahead @ H - target - 2 / M * (signs * slack) @ V.T
            return ahead - slope / largest

        least, tol = values[0] / largest, 1e-3 * self.tol
        return accelerated(lower, Z, least, max_iter=100, tol=tol)

    def _objective(self, loss, X, Z, D, W, U) -> float:
        left, ridge = X - Z @ D, self.code_ridge * np.vdot(Z, Z)
        rows = (ridge + self.reconstruction * np.vdot(left, left)) / 2 / len(X)
        return float(rows + loss(Z @ W @ U.T)[0] + self.lam / 2 * np.vdot(W, W))


def accelerated(lower: Callable, Z: np.ndarray, least: float, *, max_iter, tol):
    """Repeat a step of descent with momentum, from Z on, until it hardly moves."""
    root, ahead = np.sqrt(least), Z  # least curvature, as a share of the largest
    for _ in range(max_iter):
        before, Z = Z, lower(ahead)
        ahead = Z + (1 - root) / (1 + root) * (Z - before)
        if np.abs(Z - before).max() <= tol * np.abs(Z).max():
            break
    return Z


def renew_atoms(D: np.ndarray, Z: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return atoms of length 1 at most that bring |X - Z D|² down, all at once."""
    ZtZ, ZtX = Z.T @ Z, Z.T @ X
    largest = linalg.eigvalsh(ZtZ)[-1]
    for _ in range(20 if largest > 0 else 0):
        D = shorten(D - (ZtZ @ D - ZtX) / largest)
    return D


def simplex_codes(A: np.ndarray, S: np.ndarray, softness: float) -> np.ndarray:
    """Return φ(a) for every row of A by accelerated projected gradient."""
    H, target = S @ S.T + softness * np.eye(len(S)), A @ S.T
    values = linalg.eigvalsh(H)
    least, largest = max(values[0], softness), values[-1]

    def lower(ahead):
        return onto_simplex(ahead - (ahead @ H - target) / largest)

    start = np.full((len(A), len(S)), 1 / len(S))
    return accelerated(lower, start, least / largest, max_iter=10_000, tol=1e-12)


def onto_simplex(V: np.ndarray) -> np.ndarray:
    """Return the nearest point of the simplex to each row."""
    falling = -np.sort(-V, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    kept = (falling * np.arange(1, V.shape[1] + 1) > excess).sum(axis=1)
    level = np.take_along_axis(excess, kept[:, None] - 1, axis=1) / kept[:, None]
    return np.maximum(V - level, 0)
