"""Anchored self-training (AST): our own method.

Rows are samples. All happens where classes are round and of unit variance:

    X  (n, p), y        seen rows, unit length            S  (M, q)  their embeddings
    b = (x - mean) axes (r,)     a row, whitened by the seen within-class covariance
    C  (M, r)           class means of the seen
    k                   a kernel on embeddings; several tables: averaged

    α = (k(S, S) + λI)⁻¹ C          kernel ridge from embedding to class mean
    Z = k(T, S) α                   prototypes of the unseen classes
    e_c = α_c / [(k + λI)⁻¹]_cc     what the ridge misses when class c is left out

A linear and an RBF kernel are averaged. The left-out errors choose λ (PRESS) and
*measure* how far a class mean lies from its prototype: v on average, v_j in direction
j. So 1/v is what a prototype is worth in rows, and self-training can be anchored to it
with the right strength:

    S_ic = b_i·m_c - |m_c|²/2,   R = softmax(S / T + log sizes)     label, softly
    m_c = (Σ_i R_ic b_i + κ_c Z_c / v) / (Σ_i R_ic + κ_c / v)       refit, anchored

κ > 1 discounts self-labelled rows; κ_c grows beyond it until m_c stays within
`radius` of Z_c in units of v. The ridge is in models/kernel_ridge.py, one round, and
what becomes of T and the sizes, in anchored_learner.py, all rounds and the answer in
anchored_rounds.py. Without any seen class, from prototypes alone: guided_mixture.py.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import pandas as pd
from scipy import linalg

from unseen.core.around import Start
from unseen.core.base import LinearScorer, Outcome
from unseen.core.classes import Candidates, ClassTable, with_own_rows
from unseen.core.given import GivenRows
from unseen.core.linalg import with_fixed_signs
from unseen.core.params import Interval, StrOptions
from unseen.core.rows import Unlabelled
from unseen.core.sums import Reduced, Sums
from unseen.models.kernel_ridge import (
    EmbeddingScale,
    RidgeAverage,
    average_prototypes,
    average_ridges,
    explained_share,
)
from unseen.rows.pile import hold
from unseen.transduction.anchored_explain import Explains
from unseen.transduction.anchored_look import gaussian_scores
from unseen.transduction.anchored_rounds import WeakStartWarning, honest_temperature

NO_ERROR = 1e-10  # share of the largest left-out error that is rounding
KERNELS = ("linear", "rbf")  # on class embeddings; their prototypes are averaged
NUMBER = [Interval(Real, 0, None, closed="left")]


class AnchoredSelfTraining(Explains):
    """Anchored self-training: unlabelled rows correct prototypes, within limits.

    The default method of the package, for rows of seen classes and one description per
    class. Where there are prototypes and no seen class: :class:`GuidedMixture`.

    Parameters
    ----------
    n_axes : int or None, default=None
        Principal axes to keep; ``None`` keeps all up to 1,024 features, else 500.
    whitening : float or None, default=0.1
        Make the scatter inside seen classes round, with this much of the mean variance
        added in every direction first; ``None`` only scales it.
    kappa : float, default=3.0
        How many self-labelled rows count as one; 0 takes the anchor away.
    radius : float or None, default=0.5
        Class means stay within this mean squared distance of their prototype, in
        units of v; ``None`` for no limit.
    prior_rows : float or None, default=10.0
        Rows added to every class when class sizes are estimated in the rounds;
        ``None`` takes classes to be of one size there.
    class_prior : None, 'uniform' or array of shape (n_competing,), default=None
        Class sizes you *know*. Imposed on the answer, so wrong ones ruin it.
    max_rounds : int, default=10
        Rounds of a run; a second run follows if labels come out clear and even.
    tol : float, default=0.001
        Stop when at most this share of labels changes.
    unit_rows : bool, default=True
        Scale every row of X to unit length.
    handicap : float, default=0.0
        Taken off the scores of seen classes inside the rounds, and nowhere else, so
        that they do not take all rows of a mixed pile. ``Calibrated`` measures it.
    beside_seen : bool, default=False
        Let seen classes take rows in the rounds though they are not on offer: for
        piles with rows of seen classes that must not get an unseen label.
    beside_unknown : bool, default=False
        Let a broad background take rows in the rounds: for piles with rows of classes
        that nobody named, which would pull class means away.
    drop_absent : bool, default=False
        The list is far too long: drop the classes that hardly any row goes to, then
        those whose rows are likelier with others, and start again; who went may take
        the place of one that its rows fit less. Ruins piles whose classes differ much
        in size.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Label of every row of the pile.
    reliability_ : ndarray of shape (n_samples,)
        Probability of that label, tempered on the seen classes.
    rounds_ : list of Round
        What every round did; ``print`` one to read it. If the inductive answer was
        kept, the one entry says why.
    present_classes_, class_shares_ : ndarray
        The classes that seem to be in the pile, and which share of it each has.
    adapted_ : bool
        Whether the answer is the adapted one.
    weight_ : float
        What the rows of an average class weigh against its prototype, in [0, 1).
    stopped_because_ : str
    ridges_ : dict of str to float
        λ of every kernel, as leaving classes out chose it.
    variance_ : float
        v, the variance of a class mean around its prototype.
    variances_ : ndarray of shape (n_axes,)
        v_j, direction by direction.
    explained_ : float
        Share of the variance of class means that embeddings explain for classes
        left out: 0 if they help no more than the mean of the others.
    axes_, mean_ : ndarray
        Rows become ``(x - mean_) @ axes_``.

    Examples
    --------
    Twelve classes, three of them unseen; rows scatter around what the embeddings say.

    >>> import numpy as np
    >>> from unseen import AnchoredSelfTraining
    >>> rng = np.random.default_rng(0)
    >>> A, y = rng.uniform(size=(12, 6)), np.repeat(np.arange(12), 30)
    >>> X = (A @ rng.normal(size=(6, 15)))[y] + 0.5 * rng.normal(size=(360, 15))
    >>> seen = y < 9
    >>> model = AnchoredSelfTraining().fit(X[seen], y[seen], class_embeddings=A)
    >>> model.adapt(X[~seen]).labels_.shape
    (90,)
    >>> print(model.rounds_[0])
    Kept 90 of 90 rows (rate 1); ...
    """

    _adapt_parameters = frozenset(
        {
            "kappa",
            "radius",
            "prior_rows",
            "class_prior",
            "max_rounds",
            "tol",
            "handicap",
            "beside_seen",
            "beside_unknown",
            "drop_absent",
        }
    )
    _parameter_constraints: dict = {
        "n_axes": [Interval(Integral, 1, None, closed="left"), None],
        "whitening": [Interval(Real, 0, None, closed="neither"), None],
        "kappa": NUMBER,
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "prior_rows": [*NUMBER, None],
        "class_prior": [StrOptions({"uniform"}), "array-like", None],
        "max_rounds": [Interval(Integral, 0, None, closed="left")],
        "tol": NUMBER,
        "unit_rows": ["boolean"],
        "handicap": NUMBER,
        "beside_seen": ["boolean"],
        "beside_unknown": ["boolean"],
        "drop_absent": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_axes=None,
        whitening=0.1,
        kappa=3.0,
        radius=0.5,
        prior_rows=10.0,
        class_prior=None,
        max_rounds=10,
        tol=0.001,
        unit_rows=True,
        handicap=0.0,
        beside_seen=False,
        beside_unknown=False,
        drop_absent=False,
    ):
        self.n_axes = n_axes
        self.whitening = whitening
        self.kappa = kappa
        self.radius = radius
        self.prior_rows = prior_rows
        self.class_prior = class_prior
        self.max_rounds = max_rounds
        self.tol = tol
        self.unit_rows = unit_rows
        self.handicap = handicap
        self.beside_seen = beside_seen
        self.beside_unknown = beside_unknown
        self.drop_absent = drop_absent

    # ---- learning from the seen classes ------------------------------------------

    def _fit_sums(self, sums: Sums, table: ClassTable, rows=None):
        space = self._space(sums)
        seen = space.sums.for_classes(table.seen)
        C = seen.class_means
        scale = EmbeddingScale.of(table.embeddings[table.seen], table.widths)
        ridge = average_ridges(scale(table.embeddings[table.seen]), C, KERNELS)
        spread = sums.reduced(self._n_axes(sums)).sums.gram
        basis, variances = self._directions(ridge, spread)
        self.axes_, self.mean_ = space.turned(basis), space.mean
        self.variances_, self.variance_ = variances, ridge.variance
        self.ridges_ = ridge.ridges
        self.explained_ = explained_share(ridge.variance, C)
        self._scale = scale
        self._weights = {name: W @ basis for name, W in ridge.weights.items()}
        self._seen_embeddings = scale(table.embeddings[table.seen])
        self._seen_means, self._seen_counts = C @ basis, seen.counts
        self._seen_names = table.names[table.seen]
        left_out = (C - ridge.left_out) @ basis
        self._length = float(np.sqrt(np.mean(np.sum(left_out**2, axis=1))))
        self._temperature = honest_temperature(
            self._seen_means, self._lengthen(left_out), self._metric()
        )
        return self._ready(table)

    def _n_axes(self, sums: Sums) -> int:
        p = sums.n_features
        return self.n_axes or (p if p <= 1024 else 500)

    def _space(self, sums: Sums) -> Reduced:
        """Return where classes are round with unit variance, or only the latter."""
        n_axes = self._n_axes(sums)
        if self.whitening is not None:
            return sums.whitened(n_axes, self.whitening)
        reduced = sums.reduced(n_axes)
        within = np.trace(reduced.sums.within_class_scatter()) / sums.n_rows
        scale = np.sqrt(reduced.axes.shape[1] / within) if within > 0 else 1.0
        s = reduced.sums
        scaled = Sums(s.gram * scale**2, s.class_sums * scale, s.counts)
        return Reduced(reduced.mean, reduced.axes * scale, scaled)

    def _directions(
        self, ridge: RidgeAverage, spread: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenbasis of the left-out errors, and v_j in it.

        The covariance is shrunk half-way to v I: there are fewer classes than axes.
        Where there is no error at all, any basis would do, and rounding would choose
        one; those directions are the principal ones of how seen rows spread.
        """
        e, v = ridge.left_out, max(ridge.variance, 1e-9)
        values, basis = linalg.eigh(e.T @ e / len(e))
        n = np.searchsorted(values, NO_ERROR * max(values[-1], 0), side="right")
        if n:
            free = basis[:, :n]
            basis[:, :n] = free @ linalg.eigh(free.T @ spread @ free)[1]
        return with_fixed_signs(basis), (np.maximum(values, 0) + v) / 2

    # ---- the inductive answer ----------------------------------------------------

    def _metric(self) -> np.ndarray:
        """Return how far a direction is trusted while means are only predicted."""
        return 1 / (1 + self.variances_)

    def _present_metric(self) -> np.ndarray | float:
        """Return the metric of all scores: one for adapted and other classes."""
        adapted = getattr(self, "_adapted", None) is not None and self.adapted_
        return 1.0 if adapted else self._metric()

    def _lengthen(self, Z: np.ndarray) -> np.ndarray:
        lengths = linalg.norm(Z, axis=1, keepdims=True)
        known = lengths > 1e-150  # what is shorter has no direction
        return Z * np.where(known, self._length / np.where(known, lengths, 1), 0)

    def _prototypes(self, competition: Candidates) -> tuple[np.ndarray, np.ndarray]:
        """Return prototypes and, for classes that were seen, the rows they rest on."""
        T = self._scale(competition.embeddings)
        Z = self._lengthen(average_prototypes(self._weights, T, self._seen_embeddings))
        rows = np.zeros(len(Z))
        place = pd.Index(self._seen_names).get_indexer(pd.Index(competition.names))
        known = place >= 0
        if known.any():  # a seen class has rows of its own: they outweigh its embedding
            n = self._seen_counts[place[known]]
            worth = 1 / max(self.variance_, 1e-9)
            own = self._seen_means[place[known]] * n[:, None] + Z[known] * worth
            Z[known], rows[known] = own / (n + worth)[:, None], n
        return Z, rows

    def _seen_as(self, names, embeddings):
        seen_as = super()._seen_as(names, embeddings)
        return with_own_rows(seen_as, names, self._seen_names)

    def _scorer(self, competition: Candidates) -> LinearScorer:
        return self._linear(self._prototypes(competition)[0], self._present_metric())

    def _linear(self, m: np.ndarray, q: np.ndarray | float = 1.0) -> LinearScorer:
        """Return Σ q b m - Σ q m²/2 as a scorer of rows."""
        coef = (m * q) @ self.axes_.T
        return LinearScorer(coef, -coef @ self.mean_ - np.sum(q * m * m, axis=1) / 2)

    # ---- adapting ----------------------------------------------------------------

    def _streams(self) -> bool:
        return True

    def _describe(self, pile, rows, name):
        return np.zeros(self.class_embeddings_.shape[1])  # its rows describe it

    def _adapt(
        self, pile: Unlabelled, competition: Candidates, given: GivenRows | None
    ) -> Outcome:
        if self.explained_ < 0.1:
            warnings.warn(
                f"Class embeddings explain {max(self.explained_, 0):.0%} of how "
                "left-out classes differ: prototypes are hardly more than guesses. "
                "Give richer embeddings or more seen classes.",
                WeakStartWarning,
                stacklevel=3,
            )
        B, _ = hold(pile, self.axes_, self.unit_rows)
        B = B.centred(self.mean_ @ self.axes_)
        return self._answer(self._taught(B, competition, given))

    # ---- a start for other methods ---------------------------------------------------

    def _lend(self, unlabelled: Unlabelled, candidates: Candidates) -> Start:
        """Lend the space to other methods: rows, prototypes and scores there."""
        rows = unlabelled.on_axes(self.axes_, self.unit_rows)
        rows = rows - self.mean_ @ self.axes_
        Z, q = self._prototypes(candidates)[0], self._metric()

        def rescore(Z: np.ndarray) -> LinearScorer:
            return LinearScorer(Z * q, -np.sum(q * Z * Z, axis=1) / 2)

        scores = gaussian_scores(rows, Z, q)
        return Start(
            candidates,
            rows,
            Z,
            scores,
            scores / self._temperature,
            rescore(Z),
            self.axes_,
            self.mean_,
            self.unit_rows,
            rescore,
            1 / self._temperature,
        )
