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

Codes are linear in [X, Y]: C = X P + Y Q. So CᵀC, CᵀX and CᵀY follow from XᵀX,
XᵀY and YᵀY, which one pass over the samples makes; the sweeps never see them.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from unseen._linalg import nonzero
from unseen._params import Interval, StrOptions
from unseen._threads import one_thread
from unseen.class_table import ClassTable
from unseen.models.base import FromSums
from unseen.models.bilinear import BilinearClassifier, Seen
from unseen.models.dictionary import DICTIONARY_SOLVERS
from unseen.models.jedm_learner import JEDMLearner
from unseen.models.jedm_solver import solve_jedm
from unseen.models.products import one_hot_products, signed_products
from unseen.rows.sums import Sums

POSITIVE = [Interval(Real, 0, None, closed="neither"), None]
AT_LEAST_0 = [Interval(Real, 0, None, closed="left"), None]
COUNT = [Interval(Integral, 1, None, closed="left"), None]

# What a parameter left at None means. The paper is silent on ridges, sizes and
# sweeps; there both readings take what the authors' program does.
READINGS: dict[str, dict[str, Any]] = {
    "reference": {
        "n_components": 100,
        "n_axes": 100,
        "alpha": 0.1,
        "beta": 0.01,
        "embedding_ridge": 1.0,
        "code_ridge": 1.0,
        "label_coding": "one_hot",
        "dictionary": "reference",
        "score_scaling": "class_length",
        "max_iter": 20,
        "tol": 0.0,
    },
    "paper": {
        "n_components": 100,
        "n_axes": 100,
        "alpha": 0.1,
        "beta": 0.01,
        "embedding_ridge": 0.0,
        "code_ridge": 0.0,
        "label_coding": "signed",
        "dictionary": "admm",
        "score_scaling": "none",
        "max_iter": 200,
        "tol": 1e-5,
    },
}


class JEDM(FromSums, BilinearClassifier):
    """Joint Embedding Dictionary Model: rows and classes meet in a latent space.

    A dictionary explains the features, a compatibility matrix carries class
    embeddings to the dictionary's codes, and both are learned together on the
    seen classes. An unseen class needs its embedding only.

    Parameters left at ``None`` take the value of the chosen reading.

    Parameters
    ----------
    variant : {'reference', 'paper'}, default='reference'
        ``'reference'`` does what the authors' program does, ``'paper'`` takes the
        equations as printed. The printed ones are close to chance at the authors'
        alpha and beta: see the user guide.
    n_components : int, default=None
        Size d of the latent space, the number of atoms. (100, 100)
    n_axes : int, 'all' or None, default=None
        Principal axes the features are reduced to first, at most as many as
        there are features; ``'all'`` keeps the features. (100, 100)
    alpha : float, default=None
        Weight of the label term. (0.1, 0.1)
    beta : float, default=None
        Weight of the prototypes' size. (0.01, 0.01)
    embedding_ridge : float, default=None
        Added to the diagonal of AᵀA in (6); 0 takes the pseudo-inverse. (1, 0)
    code_ridge : float, default=None
        Added to the diagonal in (4); 0 takes the code of least norm. (1, 0)
    label_coding : {'one_hot', 'signed'}, default=None
        Y in 0/1 or ±1. ('one_hot', 'signed')
    dictionary : {'admm', 'dual', 'reference'}, default=None
        How (7) is solved: ADMM to convergence, exactly by its dual, or the
        authors' 49 steps. ('reference', 'admm')
    score_scaling : {'class_length', 'none'}, default=None
        ``'class_length'``: after ``adapt``, the columns of DᵀV have unit length
        (unless prototypes have) and every class's scores have unit length over the
        pile. ('class_length', 'none')
    unit_prototypes : bool, default=False
        Give every class prototype V a unit length, so that long ones do not win
        everywhere.
    per_domain_centering : bool, default=True
        ``adapt`` centres rows and embeddings by the means of the pile and of the
        competing classes. Otherwise the seen means serve throughout.
    whitening : float or None, default=None
        Make the scatter inside classes round first, with this much shrinkage, and
        scale rows to unit mean square; see ``WithinClassWhitener``. Try 0.1.
    unit_rows : bool, default=True
        Scale every row of X to unit length.
    max_iter : int, default=None
        Sweeps at most. (20, 200)
    tol : float, default=None
        Stop when a sweep lowers the objective by less than this share of its value
        at the start; 0 never stops early, and never warns. (0, 1e-5)
    components_init : ndarray of shape (n_components, n_axes), default=None
        Dictionary to start from; by default random atoms of unit length.
    compatibility_init : ndarray of shape (n_components, n_dims), default=None
        Compatibility to start from; by default random columns of unit length.
    random_state : int, RandomState or None, default=0
        Draws the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All classes of the table.
    competing_classes_ : ndarray of shape (n_competing,)
        Who competes by default: the columns of ``decision_function``.
    components_ : ndarray of shape (n_components, n_axes)
        The dictionary D, on the principal axes; after ``adapt``, the adapted one.
    compatibility_ : ndarray of shape (n_components, n_dims)
        The compatibility matrix V.
    axes_ : ndarray of shape (n_features, n_axes)
        Principal axes of the seen rows.
    mean_ : ndarray of shape (n_features,)
        Mean of the seen rows.
    history_ : list of float
        Objective (2) at the start and after every sweep. It never rises for
        ``variant='paper'``; the extra ridges of ``'reference'`` minimise something
        else, so there it may.
    n_iter_ : int
        Sweeps made.
    labels_, reliability_, rounds_
        Left by ``adapt``: the label of every row of the pile; its rank among the
        rows of the same label, 1 for the best; and no rounds (``TSTD`` has some).

    References
    ----------
    Y. Yu, Z. Ji, X. Li, J. Guo, Z. Zhang, H. Ling, F. Wu, "Transductive Zero-Shot
    Learning with a Self-training Dictionary Approach".

    Examples
    --------
    >>> from unseen import JEDM, load_data
    >>> data = load_data("digits")
    >>> jedm = JEDM().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> jedm.competing_classes_.tolist() == data.unseen.tolist()
    True
    >>> jedm.predict(data.X_unseen).shape == data.y_unseen.shape
    True
    """

    _readings = READINGS
    _weights = frozenset({"alpha", "beta"})  # what ``_fit_weights`` takes several of
    _adapt_parameters = frozenset(
        {"score_scaling", "unit_prototypes", "per_domain_centering"}
    )
    _parameter_constraints: dict = {
        "variant": [StrOptions(set(READINGS))],
        "n_components": COUNT,
        "n_axes": [*COUNT, StrOptions({"all"})],
        "alpha": POSITIVE,
        "beta": AT_LEAST_0,
        "embedding_ridge": AT_LEAST_0,
        "code_ridge": AT_LEAST_0,
        "label_coding": [StrOptions({"one_hot", "signed"}), None],
        "dictionary": [StrOptions(set(DICTIONARY_SOLVERS)), None],
        "score_scaling": [StrOptions({"class_length", "none"}), None],
        "unit_prototypes": ["boolean"],
        "per_domain_centering": ["boolean"],
        "whitening": [Interval(Real, 0, None, closed="neither"), None],
        "unit_rows": ["boolean"],
        "max_iter": COUNT,
        "tol": AT_LEAST_0,
        "components_init": ["array-like", None],
        "compatibility_init": ["array-like", None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        variant="reference",
        *,
        n_components=None,
        n_axes=None,
        alpha=None,
        beta=None,
        embedding_ridge=None,
        code_ridge=None,
        label_coding=None,
        dictionary=None,
        score_scaling=None,
        unit_prototypes=False,
        per_domain_centering=True,
        whitening=None,
        unit_rows=True,
        max_iter=None,
        tol=None,
        components_init=None,
        compatibility_init=None,
        random_state=0,
    ):
        self.variant = variant
        self.n_components = n_components
        self.n_axes = n_axes
        self.alpha = alpha
        self.beta = beta
        self.embedding_ridge = embedding_ridge
        self.code_ridge = code_ridge
        self.label_coding = label_coding
        self.dictionary = dictionary
        self.score_scaling = score_scaling
        self.unit_prototypes = unit_prototypes
        self.per_domain_centering = per_domain_centering
        self.whitening = whitening
        self.unit_rows = unit_rows
        self.max_iter = max_iter
        self.tol = tol
        self.components_init = components_init
        self.compatibility_init = compatibility_init
        self.random_state = random_state

    def _fit_sums(self, sums: Sums, table: ClassTable, X) -> JEDM:
        """Fit from the sums alone; X only names the features."""
        alpha, beta = self._value("alpha"), self._value("beta")
        seen = self._see(sums, table)
        D, V, history = self._solve(seen, alpha, beta)
        self._store_solution(D, V, history, seen, table, X)
        return self

    def _fit_weights(self, models: list[JEDM], sums: Sums, table: ClassTable, X):
        """Fit models that differ from this one in alpha and beta alone.

        In one go where the solver can, to the same bits.
        """
        weights = [[m._value(key) for m in models] for key in ("alpha", "beta")]
        alpha, beta = np.array(weights, dtype=np.float64)[..., None, None]
        together = self._value("dictionary") == "reference" and not self._value("tol")
        if not together or not beta.all():
            for model in models:
                model._fit_sums(sums, table, X)
            return
        seen = self._see(sums, table)
        found = self._solve(seen, alpha, beta)
        histories = np.transpose(found[2]).tolist()
        for model, D, V, history in zip(models, *found[:2], histories, strict=True):
            model._store_solution(D, V, history, seen, table, X)

    def _solve(self, seen: Seen, alpha, beta):
        products = {"one_hot": one_hot_products, "signed": signed_products}[
            self._value("label_coding")
        ](seen.sums)
        D, V = self._starts(seen.reduced.axes.shape[1], seen.A.shape[1])
        with one_thread():  # d × d: threads only hinder
            return solve_jedm(
                products,
                seen.A,
                D,
                V,
                alpha=alpha,
                beta=beta,
                reference_order=self.variant == "reference",
                **{key: self._value(key) for key in SOLVER_PARAMETERS},
            )

    def _store_solution(self, D, V, history, seen: Seen, table: ClassTable, X) -> None:
        self.components_, self.compatibility_ = D, V
        self._seen_components = D
        self.history_, self.n_iter_ = history, len(history) - 1
        self._store_seen(X, table, seen)

    def learner(self, X, classes=None, **refit) -> JEDMLearner:
        """Return this model, ready to learn from a pile; see ``SelfTraining``.

        Takes ``lam``, ``mu``, ``inner_steps`` and ``moving_anchor`` of the refit.
        """
        pile = self._check_pile(X)
        return JEDMLearner(self, pile, self._compete(classes), **refit)

    def take_over(self, learner: JEDMLearner) -> None:
        """Predict from now on as the learner would; see ``SelfTraining``."""
        self.components_ = learner.D
        super().take_over(learner)

    def _value(self, name: str) -> Any:
        """Return a parameter, or what the reading says if it was left alone."""
        value = getattr(self, name)
        return self._readings[self.variant][name] if value is None else value

    def _starts(self, p: int, q: int) -> tuple[np.ndarray, np.ndarray]:
        d = self._value("n_components")
        random = check_random_state(self.random_state)
        D, V = random.standard_normal((d, p)), random.standard_normal((d, q))
        D /= linalg.norm(D, axis=1, keepdims=True)  # atoms of unit length
        V /= linalg.norm(V, axis=0, keepdims=True)  # columns of unit length
        if self.components_init is not None:
            D = checked_start(self.components_init, D.shape, "components_init")
        if self.compatibility_init is not None:
            V = checked_start(self.compatibility_init, V.shape, "compatibility_init")
        return D, V

    def _n_axes(self):
        return self._value("n_axes")

    def _prototypes(self, A: np.ndarray) -> np.ndarray:
        Z = A @ self.compatibility_.T
        if self.unit_prototypes:
            Z /= nonzero(linalg.norm(Z, axis=1, keepdims=True))
        return Z

    def _coef_on_axes(self, A: np.ndarray) -> np.ndarray:
        return self._prototypes(A) @ self._seen_components


SOLVER_PARAMETERS = (
    "embedding_ridge",
    "code_ridge",
    "dictionary",
    "max_iter",
    "tol",
)


def checked_start(start: Any, shape: tuple[int, int], name: str) -> np.ndarray:
    """Return a given start matrix in float64, of the right shape."""
    start = np.array(start, dtype=np.float64)
    if start.shape != shape or not np.isfinite(start).all():
        raise ValueError(
            f"{name} has shape {start.shape}; give finite numbers of shape {shape} "
            "(n_components by axes, or by embedding dimensions)."
        )
    return start
