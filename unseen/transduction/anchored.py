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
`radius` of Z_c in units of v. The ridge is in models/kernel_ridge.py, the rounds, and
what becomes of T and the sizes, are in anchored_learner.py.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import pandas as pd
from scipy import linalg
from scipy.special import logsumexp, softmax

from unseen._params import Interval, StrOptions, fit_context
from unseen.class_table import ClassTable, Competition, read_table, with_own_rows
from unseen.models.adapting import Adapts, PileAnswer
from unseen.models.base import FromSums
from unseen.models.kernel_ridge import (
    EmbeddingScale,
    RidgeAverage,
    average_prototypes,
    average_ridges,
    explained_share,
)
from unseen.models.scoring import LinearRule, LinearScorer, linear_scores
from unseen.rows.holders import Holder, MemoryRows
from unseen.rows.labelling import Labelling, margin
from unseen.rows.pile import Pile
from unseen.rows.sums import Reduced, Sums, inverse_lengths, sum_rows
from unseen.transduction.anchored_learner import (
    AnchoredLearner,
    checked_prior,
    gaussian_scores,
)
from unseen.transduction.rounds import ROUNDING, Round

SEEN_ONLY = ("whiten", "shrinkage", "kernels", "equal_prototypes", "by_direction")
TEMPERATURES = np.geomspace(0.5, 64, 29)
NUMBER = [Interval(Real, 0, None, closed="left")]
MIN_WEIGHT = 0.2  # of rows against prototypes that nothing vouches for, to adapt at all


class WeakStartWarning(UserWarning):
    """The inductive answer was a poor teacher: look at some labels by hand."""


class AnchoredSelfTraining(FromSums, Adapts):
    """Anchored self-training: prototypes that the pile may correct, as far as is due.

    The default method of the package. Every ingredient can be switched off; the
    ablation shows what each is worth.

    Parameters
    ----------
    n_axes : int or None, default=None
        Principal axes to keep; ``None`` keeps all up to 1,024 features, else 500.
    whiten : bool, default=True
        Make the scatter inside seen classes round; otherwise only scale it.
    shrinkage : float, default=0.1
        How much of the mean variance is added in every direction before whitening.
    kernels : sequence of {'linear', 'rbf'}, default=('linear', 'rbf')
        Kernels on class embeddings; their prototypes are averaged.
    equal_prototypes : bool, default=True
        Give all prototypes one length, that of the left-out ones on average.
    by_direction : bool, default=True
        Measure v per direction, and trust directions in the inductive answer by
        ``1 / (1 + v_j)``. Otherwise one v for all.
    kappa : float, default=3.0
        How many self-labelled rows count as one; 0 takes the anchor away.
    radius : float or None, default=0.5
        Class means stay within this mean squared distance of their prototype, in
        units of v; ``None`` for no limit.
    prior_rows : float or None, default=10.0
        Rows added to every class when class sizes are estimated in the rounds;
        ``None`` takes classes to be of one size there.
    even_sizes : bool, default=True
        If the rounds leave labels clear and classes of like size, run them once more
        from the prototypes with sizes held nearly even.
    class_prior : None, 'uniform' or array of shape (n_competing,), default=None
        Class sizes you *know*. Imposed on the answer, so wrong ones ruin it.
    max_rounds : int, default=10
        Rounds of a run; a second run follows if labels come out clear and even.
    tol : float, default=0.001
        Stop when at most this share of labels changes.
    unit_rows : bool, default=True
        Scale every row of X to unit length.
    pile_share : float in (0, 1], default=0.5
        After ``fit_prototypes``: share of the pile, the rows with the clearest labels,
        that stands in for labelled rows.
    pile_shrinkage : float, default=0.3
        After ``fit_prototypes``: how far their covariance is shrunk; labels that are
        partly wrong make it less certain than that of seen classes.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Label of every row of the pile.
    reliability_ : ndarray of shape (n_samples,)
        Probability of that label, tempered on the seen classes.
    rounds_ : list of Round
        What every round did; ``print`` one to read it. If the inductive answer was
        kept, the one entry says why.
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
            "even_sizes",
            "class_prior",
            "max_rounds",
            "tol",
            "pile_share",
            "pile_shrinkage",
        }
    )
    _parameter_constraints: dict = {
        "n_axes": [Interval(Integral, 1, None, closed="left"), None],
        "whiten": ["boolean"],
        "shrinkage": [Interval(Real, 0, None, closed="neither")],
        "kernels": [list, tuple],
        "equal_prototypes": ["boolean"],
        "by_direction": ["boolean"],
        "kappa": NUMBER,
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "prior_rows": [*NUMBER, None],
        "even_sizes": ["boolean"],
        "class_prior": [StrOptions({"uniform"}), "array-like", None],
        "max_rounds": [Interval(Integral, 0, None, closed="left")],
        "tol": NUMBER,
        "unit_rows": ["boolean"],
        "pile_share": [Interval(Real, 0, 1, closed="right")],
        "pile_shrinkage": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        n_axes=None,
        whiten=True,
        shrinkage=0.1,
        kernels=("linear", "rbf"),
        equal_prototypes=True,
        by_direction=True,
        kappa=3.0,
        radius=0.5,
        prior_rows=10.0,
        even_sizes=True,
        class_prior=None,
        max_rounds=10,
        tol=0.001,
        unit_rows=True,
        pile_share=0.5,
        pile_shrinkage=0.3,
    ):
        self.n_axes = n_axes
        self.whiten = whiten
        self.shrinkage = shrinkage
        self.kernels = kernels
        self.equal_prototypes = equal_prototypes
        self.by_direction = by_direction
        self.kappa = kappa
        self.radius = radius
        self.prior_rows = prior_rows
        self.even_sizes = even_sizes
        self.class_prior = class_prior
        self.max_rounds = max_rounds
        self.tol = tol
        self.unit_rows = unit_rows
        self.pile_share = pile_share
        self.pile_shrinkage = pile_shrinkage

    @classmethod
    def from_prototypes(cls, prototypes, **parameters) -> AnchoredSelfTraining:
        """Return ``cls(**parameters).fit_prototypes(prototypes)``.

        Parameters
        ----------
        prototypes : array of shape (n_classes, n_features) or DataFrame
            One prototype per class, in the space of the rows; a frame names them.
        **parameters
            Of the constructor.

        Examples
        --------
        >>> import numpy as np
        >>> from unseen import AnchoredSelfTraining
        >>> rng = np.random.default_rng(0)
        >>> texts = rng.normal(size=(3, 20))
        >>> truth = np.repeat([0, 1, 2], 40)
        >>> X = texts[truth] + 0.5 * rng.normal(size=(120, 20)) + 3
        >>> model = AnchoredSelfTraining.from_prototypes(texts).adapt(X)
        >>> bool((model.labels_ == truth).mean() > 0.95)
        True
        """
        return cls(**parameters).fit_prototypes(prototypes)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_prototypes(self, prototypes) -> AnchoredSelfTraining:
        """Start from prototypes instead of seen classes; ``adapt`` learns the rest.

        Parameters
        ----------
        prototypes : array of shape (n_classes, n_features) or DataFrame
            One prototype per class, in the space of the rows; a frame names them.

        Returns
        -------
        self
        """
        self._refuse_seen_only()
        names, rows, widths = read_table(prototypes, what="prototypes")
        names = np.arange(len(rows)) if names is None else names
        self.prototypes_ = rows
        unseen = np.zeros(len(names), dtype=bool)
        self._store_table(rows, ClassTable(names, rows, unseen, widths))
        return self

    @property
    def starts_from_prototypes(self) -> bool:
        """Whether ``fit_prototypes`` came last, and not ``fit``."""
        return hasattr(self, "prototypes_")

    def _refuse_seen_only(self) -> None:
        """Refuse parameters that say something about seen classes only."""
        usual = type(self)().get_params(deep=False)
        for name in (
            "whiten",
            "shrinkage",
            "kernels",
            "equal_prototypes",
            "by_direction",
        ):
            value = getattr(self, name)
            if value != usual[name]:
                raise ValueError(
                    f"{name}={value!r} is about seen classes, and prototypes come "
                    f"without any. Leave it at {usual[name]!r}, or call fit(X, y)."
                )

    # ---- learning from the seen classes ------------------------------------------

    def _fit_sums(self, sums: Sums, table: ClassTable, X) -> AnchoredSelfTraining:
        self.__dict__.pop("prototypes_", None)  # of an earlier fit_prototypes
        space = self._space(sums)
        seen = space.sums.for_classes(table.seen)
        C = seen.class_means
        scale = EmbeddingScale.of(table.embeddings[table.seen], table.widths)
        ridge = average_ridges(scale(table.embeddings[table.seen]), C, self.kernels)
        basis, variances = self._directions(ridge)
        self.axes_, self.mean_ = space.axes @ basis, space.mean
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
        self._temperature = self._measure_temperature(left_out)
        self._store_table(X, table)
        return self

    def _space(self, sums: Sums) -> Reduced:
        """Return where classes are round with unit variance, or only the latter."""
        p = sums.gram.shape[0]
        n_axes = self.n_axes or (p if p <= 1024 else 500)
        if self.whiten:
            return sums.whitened(n_axes, self.shrinkage)
        reduced = sums.reduced(n_axes)
        within = np.trace(reduced.sums.within_class_scatter()) / sums.n_rows
        scale = np.sqrt(reduced.axes.shape[1] / within) if within > 0 else 1.0
        s = reduced.sums
        scaled = Sums(s.gram * scale**2, s.class_sums * scale, s.counts)
        return Reduced(reduced.mean, reduced.axes * scale, scaled)

    def _directions(self, ridge: RidgeAverage) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenbasis of the left-out errors, and v_j in it.

        The covariance is shrunk half-way to v I: there are fewer classes than axes.
        """
        e, v = ridge.left_out, max(ridge.variance, 1e-9)
        if not self.by_direction:
            return np.eye(e.shape[1]), np.full(e.shape[1], v)
        values, basis = linalg.eigh(e.T @ e / len(e))
        return basis, (np.maximum(values, 0) + v) / 2

    def _measure_temperature(self, left_out: np.ndarray) -> float:
        """Return the temperature at which posteriors of left-out classes are honest.

        Rows are drawn around the seen class means, with the variance that whitening
        gave them, and meet prototypes made without their class.
        """
        random = np.random.default_rng(0)
        M = len(left_out)
        Z, q = self._lengthen(left_out), self._metric()
        loss = np.zeros(len(TEMPERATURES))
        for _ in range(5):
            classes = random.permutation(M)[: max(2, min(M, 50))]
            truth = np.repeat(np.arange(len(classes)), 10)
            rows = self._seen_means[classes][truth]
            rows = rows + random.standard_normal(rows.shape)
            L = gaussian_scores(rows, Z[classes], q)
            for i, T in enumerate(TEMPERATURES):
                posterior = L / T - logsumexp(L / T, axis=1, keepdims=True)
                loss[i] -= posterior[np.arange(len(truth)), truth].mean()
        return float(TEMPERATURES[loss.argmin()])

    # ---- the inductive answer ----------------------------------------------------

    def _metric(self) -> np.ndarray:
        """Return how far a direction is trusted while means are only predicted."""
        if not self.by_direction:
            return np.ones_like(self.variances_)
        return 1 / (1 + self.variances_)

    def _present_metric(self) -> np.ndarray | float:
        """Return the metric of all scores: one for adapted and other classes."""
        adapted = getattr(self, "_adapted", None) is not None and self.adapted_
        return 1.0 if adapted else self._metric()

    def _lengthen(self, Z: np.ndarray) -> np.ndarray:
        if not self.equal_prototypes:
            return Z
        lengths = linalg.norm(Z, axis=1, keepdims=True)
        known = lengths > 1e-150  # what is shorter has no direction
        return Z * np.where(known, self._length / np.where(known, lengths, 1), 0)

    def _prototypes(self, competition: Competition) -> tuple[np.ndarray, np.ndarray]:
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
        if self.starts_from_prototypes:
            return seen_as
        return with_own_rows(seen_as, names, self._seen_names)

    def _scorer(self, competition: Competition) -> LinearScorer:
        if self.starts_from_prototypes:
            units = competition.embeddings
            units = units * inverse_lengths(units)[:, None]
            return LinearScorer(units, np.zeros(len(units)))
        return self._linear(self._prototypes(competition)[0], self._present_metric())

    def _linear(self, m: np.ndarray, q: np.ndarray | float = 1.0) -> LinearScorer:
        """Return Σ q b m - Σ q m²/2 as a scorer of rows."""
        coef = (m * q) @ self.axes_.T
        return LinearScorer(coef, -coef @ self.mean_ - np.sum(q * m * m, axis=1) / 2)

    def _unit_rows(self) -> bool:
        return self.unit_rows

    def predict_proba(self, X, *, classes=None):
        """Return the probability of every competing class for every row.

        Posteriors tempered so that those of left-out seen classes would be honest;
        ``classes`` is explained at ``decision_function``. Classes with equal
        descriptions share one probability, which each of them shows: only then do
        rows sum to more than 1.
        """
        return self._in_blocks(X, classes, self._probabilities)

    def _probabilities(self, competition: Competition, scores) -> np.ndarray:
        if self.starts_from_prototypes and self._adapted is None:
            T = 0.01  # cosines: the scale CLIP is made for
        else:
            adapted = self._adapted is not None
            T = self._pile_temperature if adapted else self._temperature
        return competition.spread(softmax(scores / T, axis=1))

    # ---- adapting ----------------------------------------------------------------

    def _streams_piles(self) -> bool:
        return not self.starts_from_prototypes

    def _adapt(self, pile: Pile, competition: Competition) -> PileAnswer:
        if self.starts_from_prototypes:
            self._refuse_seen_only()
            return self._adapt_from_prototypes(pile, competition)
        if self.explained_ < 0.1:
            warnings.warn(
                f"Class embeddings explain {max(self.explained_, 0):.0%} of how "
                "left-out classes differ: prototypes are hardly more than guesses. "
                "Give richer embeddings or more seen classes.",
                WeakStartWarning,
                stacklevel=3,
            )
        B = pile.hold(self.axes_, self.unit_rows).centred(self.mean_ @ self.axes_)
        Z, rows = self._prototypes(competition)
        learner = self._learner(B, competition, Z, rows, self._metric())
        before = learner.mean_confidence(np.array([self._temperature]))[0]
        self._teach(learner)
        self._temperature_after(before, learner)
        return self._answer(learner)

    def _learner(self, B: Holder, competition, Z, rows, q=1.0) -> AnchoredLearner:
        return AnchoredLearner(
            B,
            competition,
            Z,
            self.variances_,
            own_rows=rows,
            kappa=self.kappa,
            radius=self.radius,
            prior_rows=self.prior_rows,
            class_prior=checked_prior(self.class_prior, competition),
            q=q,
        )

    def _teach(self, learner: AnchoredLearner, min_weight: float = 0.0) -> None:
        """Run the rounds, or keep the start; say why."""
        start, n_rows = learner.labelling, learner.n_rows
        per_class = n_rows / len(learner.Z)
        worth = self.kappa / max(self.variance_, 1e-9)
        self.weight_ = per_class / (per_class + worth)
        self.adapted_ = self.weight_ >= min_weight and len(learner.Z) > 1
        if not self.adapted_:
            self.stopped_because_ = "Kept the inductive answer: one class competes."
            if len(learner.Z) > 1:
                self.stopped_because_ = (
                    f"Kept the inductive answer: {per_class:.1f} rows per class weigh "
                    f"{self.weight_:.2f} against prototypes worth {worth:.0f} "
                    f"self-labelled rows, less than {min_weight:g}."
                )
            none = np.zeros(len(learner.competition.columns), dtype=int)
            labels = start.named(learner.competition.names)
            message = self.stopped_because_
            self.rounds_ = [Round(0.0, none, 0, -learner.J(), labels, message, n_rows)]
            return
        self.rounds_ = learner.learn(self.max_rounds, self.tol, self.even_sizes)
        self.stopped_because_ = (
            "The labels settled."
            if learner.settled
            else f"{len(self.rounds_)} rounds were made."
        )
        moved = learner.labelling.n_other(start) / n_rows
        if moved > 0.5:
            warnings.warn(
                f"Self-training changed {moved:.0%} of the labels: the start was weak. "
                "Look at some by hand before you trust them.",
                WeakStartWarning,
                stacklevel=4,
            )

    def _temperature_after(self, before: float, learner: AnchoredLearner) -> None:
        """Adapted scores are surer of themselves: no surer than the start is right.

        ``before`` is the mean posterior of the labels at the start.
        """
        self._pile_temperature = T = self._temperature
        if not self.adapted_:
            return
        after = learner.mean_confidence(TEMPERATURES)
        nearest = TEMPERATURES[np.abs(after - before).argmin()]
        self._pile_temperature = float(max(2 * max(T, 1.0), nearest))

    def _answer(self, learner: AnchoredLearner) -> PileAnswer:
        if self.adapted_:
            scorer = self._linear(learner.m)
        else:
            scorer = self._linear(learner.Z, self._metric())
        scorer = LinearScorer(scorer.coef, scorer.intercept + learner.known_sizes())
        rule = LinearRule(learner.competition, scorer, self.unit_rows)
        codes, reliability = learner.final(self._pile_temperature)
        return PileAnswer(learner.competition, codes, reliability, self.rounds_, rule)

    # ---- without any seen class --------------------------------------------------

    def _adapt_from_prototypes(self, pile, competition) -> PileAnswer:
        """Estimate whitening, scale and worth of the prototypes on the pile itself.

        The rows with the clearest cosine labels stand in for labelled rows; after the
        rounds the better labels do, once more.
        """
        scorer = self._centred_cosine(pile, competition)
        L = linear_scores(pile.X, scorer, self.unit_rows).astype(np.float64)
        start, learner = L, None
        for _ in range(2):
            space = self._self_labelled_space(pile, L)
            if space is None:
                break
            texts = self._centred(competition.embeddings) @ space.axes
            here = space.sums.counts > 0
            C, Tw = space.sums.class_means[here], texts[here]
            scale = max(np.vdot(C, Tw) / max(np.vdot(Tw, Tw), 1e-300), 1e-6)
            self.axes_, self.mean_ = space.axes, space.mean
            # Means of few rows differ from anything: by 1/n in every direction.
            chance = np.mean(1 / space.sums.counts[here])
            self.variance_ = max(np.mean((C - scale * Tw) ** 2) - chance, 1e-6)
            self.variances_ = np.full(len(texts.T), self.variance_)
            B = pile.on_axes(self.axes_, self.unit_rows) - self.mean_ @ self.axes_
            none = np.zeros(len(texts))
            learner = self._learner(MemoryRows(B), competition, scale * texts, none)
            self._teach(learner, MIN_WEIGHT)
            if not self.adapted_:
                break
            L = gaussian_scores(B, *learner.means)
        return self._answer_from_prototypes(learner, start, scorer, competition)

    def _centred(self, texts: np.ndarray) -> np.ndarray:
        texts = texts * inverse_lengths(texts)[:, None]
        return texts - texts.mean(axis=0) if len(texts) > 1 else texts

    def _centred_cosine(self, pile: Pile, competition: Competition) -> LinearScorer:
        """Return cosines (but for the row's length), both sides centred by own mean."""
        coef = self._centred(competition.embeddings)
        coef = coef * inverse_lengths(coef)[:, None]
        mean = pile.mean(self.unit_rows) if len(pile) > 1 else 0 * coef[0]
        return LinearScorer(coef, -coef @ mean)

    def _self_labelled_space(self, pile: Pile, L: np.ndarray) -> Reduced | None:
        """Whiten by the clearer labels; None if they say too little."""
        n, N = L.shape
        if N < 2 or n < 2 * N:
            return None
        labelling = Labelling.of(L, margin)
        chosen = labelling.selection(self.pile_share, ROUNDING["at_least_one"])
        rows, labels = chosen.rows, chosen.labels
        if len(np.unique(labels)) < 2 or len(rows) <= len(np.unique(labels)):
            return None
        sums = sum_rows(pile.X[rows], labels, N, unit_rows=self.unit_rows)
        if np.trace(sums.within_class_scatter()) <= 1e-12 * np.trace(sums.gram):
            return None
        return sums.whitened(self.n_axes or 300, self.pile_shrinkage)

    def _answer_from_prototypes(self, learner, start, scorer, competition):
        if learner is not None and self.adapted_:
            self._temperature = 1.0
            some = start[:: -(-len(start) // 2000)]
            before = softmax(100 * some, axis=1).max(axis=1).mean()
            self._temperature_after(before, learner)
            return self._answer(learner)
        if learner is None:
            self.adapted_, self.weight_ = False, 0.0
            self.stopped_because_ = (
                f"Kept the cosine answer: {len(start)} rows are too few, or too alike, "
                f"to learn from for {len(competition)} classes."
            )
        codes = start.argmax(axis=1)
        none = np.zeros(len(competition.columns), dtype=int)
        why = Round(0.0, none, 0, 0.0, competition.names[codes], self.stopped_because_)
        self._pile_temperature = 0.01
        reliability = softmax(100 * start, axis=1).max(axis=1)
        rule = LinearRule(competition, scorer, self.unit_rows)
        return PileAnswer(competition, codes, reliability, [why], rule)
