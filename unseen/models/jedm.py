"""JEDM: the Joint Embedding Dictionary Model (Yu et al., IEEE Trans. Cybernetics).

Rows are samples; the paper writes columns.

    X  (n_samples, p)       rows of seen classes: unit length, centred, on p axes
    Y  (n_samples, M)       label coding: 0/1 ('one_hot') or ±1 ('signed')
    A  (M, q)               seen class embeddings: unit length, centred
    D  (d, p)               dictionary, one atom per row          components_
    V  (d, q)               compatibility, embedding to latent    compatibility_
    Z  (M, d)               seen prototypes in the latent space, Z = A Vᵀ
    C  (n_samples, d)       codes of the rows

    min_{D,C,V}  |X - C D|² + alpha |C Zᵀ - Y|² + beta |Z|²,   |D_i| ≤ 1      (2)

    C = (X Dᵀ + alpha Y Z) (D Dᵀ + alpha ZᵀZ)⁻¹                               (4)
    V = (CᵀC + gamma I)⁻¹ CᵀY A (AᵀA)⁻¹,  gamma = beta / alpha                (6)
    D = argmin |X - C D|²  subject to  |D_i| ≤ 1                              (7)
    score(x, a) = x Dᵀ V a                                                    (8)

and on self-labelled rows B, with V as it is and D* the dictionary before,

    min_{D,C}  |B - C D|² + lam |Y Z - C|² + mu |D - D*|²                     (10)

    C = (B Dᵀ + lam Y Z) (D Dᵀ + lam I)⁻¹                                     (12)
    D = (CᵀC + mu I)⁻¹ (CᵀB + mu D*)                                          (14)

Codes are linear in [X, Y]: C = X P + Y Q. So CᵀC, CᵀX and CᵀY follow from XᵀX,
XᵀY and YᵀY, which one pass over the samples makes; the sweeps never see them.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from unseen.core.classes import ClassTable
from unseen.core.linalg import (
    inverse_positive,
    nonzero,
    one_thread,
    right_factor,
    solve_positive,
    to_unit,
    transposed,
)
from unseen.core.on_axes import OnAxes, Seen, View
from unseen.core.outcome import LinearScorer
from unseen.core.params import (
    AtLeast0,
    Axes,
    Coding,
    Count,
    Positive,
    Rounding,
    Seed,
    bounds_of,
    validate_parameter_constraints,
)
from unseen.core.sums import Products, Sums, label_products
from unseen.models.dictionary import DICTIONARY_SOLVERS
from unseen.progress import counted


class Reading(NamedTuple):
    """Choices that the paper leaves open, or that the authors' program makes otherwise.

    The defaults are those of the authors' program; ``READINGS`` has both. The paper
    says nothing of ridges and sweeps; there its reading does what the program does.

    Parameters
    ----------
    embedding_ridge : float
        Added to the diagonal of AᵀA in (6); 0 takes the pseudo-inverse.
    code_ridge : float
        Added to the diagonal in (4); 0 takes the code of least norm.
    label_coding : {'one_hot', 'signed'}
        Y in 0/1 or ±1.
    dictionary : {'reference', 'admm'}
        How (7) is solved: the authors' 49 steps, or ADMM to convergence.
    unit_scores : bool
        After ``adapt``, the columns of DᵀV have unit length and every class's scores
        have unit length over the unlabelled rows.
    codes_last : bool
        Update V, then D, then C in a sweep, where the paper updates C, V, D.
    max_iter : int
        Sweeps at most.
    tol : float
        Stop when a sweep lowers the objective by less than this share of its value
        at the start; 0 never stops early, and never warns.
    inner_steps : int
        Code and dictionary updates in a round of ``TSTD``.
    moving_anchor : bool
        Whether each of these is anchored to the update before, or to the round before.
    rounding : {'floor', 'nearest', 'at_least_one'}
        How the share of rows that a round keeps becomes a number of rows.
    unit_prototypes : bool
        Give every class prototype V a unit length, so that long ones do not win
        everywhere. Neither reading does; it helps where rows are whitened.

    Examples
    --------
    >>> from unseen import JEDM
    >>> from unseen.models.jedm import READINGS
    >>> JEDM(READINGS["paper"]._replace(max_iter=500)).reading.max_iter
    500
    """

    embedding_ridge: AtLeast0 = 1.0
    code_ridge: AtLeast0 = 1.0
    label_coding: Coding = "one_hot"
    dictionary: Literal["reference", "admm"] = "reference"
    unit_scores: bool = True
    codes_last: bool = True
    max_iter: Count = 20
    tol: AtLeast0 = 0.0
    inner_steps: Count = 4
    moving_anchor: bool = True
    rounding: Rounding = "floor"
    unit_prototypes: bool = False


READINGS = {
    "reference": Reading(),
    "paper": Reading(
        embedding_ridge=0.0,
        code_ridge=0.0,
        label_coding="signed",
        dictionary="admm",
        unit_scores=False,
        codes_last=False,
        max_iter=200,
        tol=1e-5,
        inner_steps=1,
        moving_anchor=False,
        rounding="nearest",
    ),
}


@dataclass(eq=False, repr=False)
class JEDM(OnAxes):
    """Joint Embedding Dictionary Model: rows and classes meet in a latent space.

    A dictionary explains the features, a compatibility matrix carries class
    embeddings to the dictionary's codes, and both are learned together on the
    seen classes. An unseen class needs its embedding only.

    Parameters
    ----------
    reading : {'reference', 'paper'} or Reading, default='reference'
        ``'reference'`` does what the authors' program does, ``'paper'`` takes the
        equations as printed. The printed ones are close to chance at the authors'
        alpha and beta: see the user guide. A ``Reading`` names every choice that the
        two differ in.
    n_components : int, default=100
        Size d of the latent space, the number of atoms.
    alpha : float, default=0.1
        Weight of the label term.
    beta : float, default=0.01
        Weight of the prototypes' size.
    n_axes : int or 'all', default=100
        Principal axes the features are reduced to first, at most as many as
        there are features; ``'all'`` keeps the features.
    whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.
    random_state : int, RandomState or None, default=0
        Draws the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All classes of the table.
    competing_classes_ : ndarray of shape (n_competing,)
        The default candidates: the columns of ``decision_function``.
    components_ : ndarray of shape (n_components, n_axes)
        The dictionary D, on the principal axes, as ``fit`` learned it.
    compatibility_ : ndarray of shape (n_components, n_dims)
        The compatibility matrix V.
    axes_ : ndarray of shape (n_features, n_axes)
        Principal axes of the seen rows.
    mean_ : ndarray of shape (n_features,)
        Mean of the seen rows.
    history_ : list of float
        Objective (2) at the start and after every sweep. It never rises for
        ``reading='paper'``; the extra ridges of ``'reference'`` minimise something
        else, so there it may.
    n_iter_ : int
        Sweeps made.
    labels_, reliability_, rounds_
        Left by ``adapt``: the label of every unlabelled row, how probable it is that it
        is right, and no rounds (``TSTD`` has some).

    References
    ----------
    Y. Yu, Z. Ji, X. Li, J. Guo, Z. Zhang, H. Ling, F. Wu, "Transductive Zero-Shot
    Learning with a Self-training Dictionary Approach".

    Examples
    --------
    >>> from unseen import JEDM, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> jedm = JEDM().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> jedm.competing_classes_[:3].tolist()
    ['airplane', 'automobile', 'bird']
    >>> round(per_class_accuracy(data.y_unseen, jedm.predict(data.X_unseen)), 2)
    0.5...
    """

    reading: Literal["reference", "paper"] | Annotated[Reading, Reading] = "reference"
    _: KW_ONLY
    n_components: Count = 100
    alpha: Positive = 0.1
    beta: AtLeast0 = 0.01
    n_axes: Axes = 100
    random_state: Seed = 0

    _weights = frozenset({"alpha", "beta"})  # what ``_fit_weights`` takes several of

    def _validate_params(self) -> None:
        super()._validate_params()
        choices = self._reading()._asdict()
        validate_parameter_constraints(bounds_of(Reading), choices, "Reading")

    def _reading(self) -> Reading:
        """Return the choices of the reading."""
        return READINGS[self.reading] if isinstance(self.reading, str) else self.reading

    def _learn(self, seen: Seen) -> None:
        self._learn_weights([self], seen)

    def _learn_weights(self, models: list[JEDM], seen: Seen) -> None:
        """Learn for models that differ in alpha and beta alone, in one go."""
        alpha, beta = np.array([[m.alpha, m.beta] for m in models]).T[..., None, None]
        reading, shape = self._reading(), (len(seen.sums.gram), seen.A.shape[1])
        s = label_products(seen.sums, reading.label_coding)
        random = check_random_state(self.random_state)
        start = random_start(random, self.n_components, *shape)
        with one_thread():  # d × d: threads only hinder
            solved = solve_jedm(s, seen.A, *start, alpha, beta, reading)
        for model, D, V, history in zip(models, *solved, strict=True):
            model.components_, model.compatibility_ = D, V
            model.history_, model.n_iter_ = history.tolist(), len(history) - 1

    def _fit_weights(self, models: list[JEDM], sums: Sums, table: ClassTable) -> None:
        """Fit models that differ in alpha and beta alone; in one go if possible."""
        seen, *_ = [model._see(sums, table) for model in models]
        reading = self._reading()
        together = reading.dictionary == "reference" and not reading.tol
        together = together and all(model.beta for model in models)
        for some in [models] if together else [[model] for model in models]:
            self._learn_weights(some, seen)
        for model in models:
            model._ready(table)

    def _state(self):
        return self.components_

    def _latent(self, A):
        """Return the prototypes Z = A Vᵀ."""
        Z = A @ self.compatibility_.T
        return to_unit(Z) if self._reading().unit_prototypes else Z

    def _score(self, D, A):
        return LinearScorer(self._latent(A) @ D, np.zeros(len(A)))  # (8)

    def _reported(self, D, view: View):
        coef, offset = scorer = self._score(D, view.A)
        if not self._reading().unit_scores:
            return scorer
        if not self._reading().unit_prototypes:
            W = self.compatibility_.T @ D  # (q, p): one row per embedding dimension
            coef = view.A @ (W / nonzero(linalg.norm(W, axis=1, keepdims=True)))
        # Scores B coefᵀ of a class have the squared length coef BᵀB coefᵀ.
        squares = np.einsum("ij,ij->i", coef @ view.B.gram(), coef)
        return LinearScorer(coef / np.sqrt(nonzero(squares))[:, None], offset)

    def _refit(self, D, A, sums: Sums, lam: float, mu: float):
        """Alternate (12) and (14); return D and the objective (10)."""
        Z, anchor, reading = self._latent(A), D, self._reading()
        codes = update_refit_codes(sums, D, Z, lam)
        for _ in range(reading.inner_steps):
            anchor = D if reading.moving_anchor else anchor
            left = codes.CtC + mu * np.eye(len(D))
            D = solve_positive(left, codes.CtX + mu * anchor)  # (14)
            codes = update_refit_codes(sums, D, Z, lam)
        return D, refit_objective(sums, codes, D, Z, anchor, lam, mu)


# ---- the sweeps over the seen classes ----------------------------------------------
# With alpha and beta of shape (n, 1, 1) they solve n problems, one per leading index.


class Codes(NamedTuple):
    """CᵀC, CᵀX and CᵀY of the present codes."""

    CtC: np.ndarray
    CtX: np.ndarray
    CtY: np.ndarray


def random_start(random, d: int, p: int, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a dictionary of unit atoms and a compatibility matrix of unit columns."""
    D, V = random.standard_normal((d, p)), random.standard_normal((d, q))
    return to_unit(D), to_unit(V.T).T


def update_codes(s: Products, D, Z, alpha, ridge: float) -> Codes:
    """Equation (4), as products: C = X P + Y Q."""
    K = D @ transposed(D) + alpha * (transposed(Z) @ Z)
    K_inverse = inverse_positive(K + ridge * np.eye(len(K[0]))) if ridge else pinvh(K)
    P, Q = transposed(D) @ K_inverse, alpha * Z @ K_inverse
    CtX = transposed(P) @ s.XtX + transposed(Q) @ s.XtY.T
    CtY = transposed(P) @ s.XtY + transposed(Q) @ s.YtY
    CtC = CtX @ P + CtY @ Q
    return Codes((CtC + transposed(CtC)) / 2, CtX, CtY)


def update_compatibility(codes: Codes, right: np.ndarray, gamma) -> np.ndarray:
    """Equation (6): V = (CᵀC + gamma I)⁻¹ CᵀY right.

    With ``right`` = A (AᵀA + ridge I)⁻¹. With that times Aᵀ, which has a column per
    class and no longer one per dimension, it is the prototypes V Aᵀ that come out.
    """
    CtC, target = codes.CtC, codes.CtY @ right
    if not np.all(gamma):
        return pinvh(CtC) @ target
    return solve_positive(CtC + gamma * np.eye(len(CtC[0])), target)


def pinvh(K: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse of every symmetric matrix of a stack."""
    return np.stack([linalg.pinvh(one) for one in K])


def objective(s: Products, codes: Codes, D, Z, alpha, beta) -> np.ndarray:
    """Equation (2)."""

    def inner(one, other):
        return np.einsum("...ij,...ij->...", one, other)

    alpha, beta = alpha[:, 0, 0], beta[:, 0, 0]
    CtC, CtX, CtY = codes
    fit = np.trace(s.XtX) - 2 * inner(CtX, D) + inner(CtC, D @ transposed(D))
    labels = np.trace(s.YtY) - 2 * inner(CtY, transposed(Z))
    labels = labels + inner(CtC, transposed(Z) @ Z)
    return fit + alpha * labels + beta * inner(Z, Z)


def solve_jedm(s: Products, A, D, V, alpha, beta, reading: Reading) -> tuple:
    """Alternate the three updates; return D, V and the objective after each sweep.

    The paper sweeps C, V, D. The authors' program makes C once and sweeps V, D, C,
    which is the same chain of updates, looked at one step later.
    """
    solve_dictionary = DICTIONARY_SOLVERS[reading.dictionary]
    right, Z = right_factor(A, reading.embedding_ridge), A @ V.T
    codes = update_codes(s, D, Z, alpha, reading.code_ridge)
    history = [objective(s, codes, D, Z, alpha, beta)]
    for sweep in counted("sweeps", range(reading.max_iter)):
        if sweep and not reading.codes_last:
            codes = update_codes(s, D, Z, alpha, reading.code_ridge)  # (4)
        learned_from = codes
        V_A = update_compatibility(codes, right @ A.T, beta / alpha)  # (6)
        Z = transposed(V_A)
        D = solve_dictionary(codes.CtC, codes.CtX, D, dtype=s.dtype)  # (7)
        if reading.codes_last:
            codes = update_codes(s, D, Z, alpha, reading.code_ridge)  # (4)
        history.append(objective(s, codes, D, Z, alpha, beta))  # (2)
        drop = history[-2] - history[-1]
        if reading.tol and (drop <= reading.tol * np.abs(history[0])).all():
            break
    else:
        if reading.tol:
            warnings.warn(
                f"All max_iter={reading.max_iter} sweeps used; the last still lowered "
                f"the objective by {drop[0]:.1e} to {history[-1][0]:.4g} "
                f"(tol={reading.tol:.1e}). Raise max_iter or tol of the reading.",
                ConvergenceWarning,
                stacklevel=2,
            )
    # The sweeps know V by its prototypes only: made whole once, at the end.
    V = update_compatibility(learned_from, right, beta / alpha)
    return D, V, np.transpose(history)


# ---- learning from self-labelled rows ----------------------------------------------


def update_refit_codes(sums: Sums, D, Z, lam: float) -> Codes:
    """Equation (12), as products."""
    both = np.hstack([D, lam * Z.T])
    both = solve_positive(D @ D.T + lam * np.eye(len(D)), both)
    Pt, Qt = both[:, : D.shape[1]], both[:, D.shape[1] :]
    CtX = Pt @ sums.gram + Qt @ sums.class_sums
    CtY = Pt @ sums.class_sums.T + Qt * sums.counts
    return Codes(CtX @ Pt.T + CtY @ Qt.T, CtX, CtY)


def refit_objective(sums: Sums, codes: Codes, D, Z, anchor, lam, mu) -> float:
    """Equation (10)."""
    CtC, CtX, CtY = codes
    fit = np.trace(sums.gram) - 2 * np.vdot(CtX, D) + np.vdot(CtC, D @ D.T)
    near = sums.counts @ np.einsum("ij,ij->i", Z, Z) - 2 * np.vdot(CtY, Z.T)
    moved = linalg.norm(D - anchor) ** 2
    return float(fit + lam * (near + np.trace(CtC)) + mu * moved)
