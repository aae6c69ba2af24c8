"""Anchored self-training (AST): our own method, for seen classes and descriptions.

Rows are samples. All happens where classes are round and of unit variance:

    X  (n, p), y        seen rows, unit length            S  (M, q)  their embeddings
    b = (x - mean) axes (r,)     a row, whitened by the seen within-class covariance
    C  (M, r)           class means of the seen

    Z = k(T, S) (k(S, S) + λI)⁻¹ C     prototypes: kernel ridge from embedding to mean,
                                       a linear and an RBF kernel averaged
    e_c                                what the ridge misses when class c is left out

Left-out errors choose λ and *measure* how far a class mean lies from its prototype: v
on average, v_j in direction j. So 1/v is what a prototype is worth in rows, and
self-training is anchored to it with the right strength. From m = Z on, every round is

    S_ic = b_i·m_c - |m_c|²/2                        scores; reported is their largest
    R_i  = softmax(S_i / T + u)                      soft labels
    m_c  = (Σ_i R_ic b_i + κ Z_c / v) / (Σ_i R_ic + κ / v)

T falls from 2 to 1, so that the first rounds do not believe their own labels too much.
κ > 1 discounts self-labelled rows. At T = 1 this is EM, and what it maximises never
falls:

    J = Σ_i log Σ_c exp(S_ic + u_c) + 10 Σ_c u_c - κ/2 Σ_cj (m - Z)²_cj / v_j

Sizes are free in the first run: u = log(Σ_i R_i + 10). If labels come out clear and
even, the classes are most likely all there and of like size; then a second run starts
at the prototypes again, and sizes are held even by transport:

    u_c ← u_c + (ρ log(n / N Σ_i R_ic) - u_c) / (1 + ρ)

It keeps a class from being emptied by its neighbours in the first rounds, after which
it could not come back. A sample of the rows tells u: a round is one pass over the rows.

Given labels, g_c rows of mean ḡ_c in class c, make better prototypes, worth more:

    Z_c ← (Z_cj / v_j + g_c ḡ_cj) / (1 / v_j + g_c)

after they have measured v again: |ḡ_c - Z_c|² / r is v + 1/g_c on average. In the
rounds a given row counts as κ, what is certain is not discounted; a class without a
prototype has the mean of its rows. The first labels are those of the prototypes as they
were: a corrected one lies nearer to rows of all classes, and would take them.

Without any seen class, from prototypes alone: guided_mixture.py. Lists that are too
long: anchored_open.py.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import log_softmax, softmax

from unseen.core.classes import Candidates, ClassTable, evenness, places
from unseen.core.given import GivenRows
from unseen.core.linalg import to_unit, with_fixed_signs
from unseen.core.outcome import LinearRule, LinearScorer, Outcome, Round, nearest_scorer
from unseen.core.params import AtLeast0, Count, CountOr0, Positive
from unseen.core.rows import Rows, Unlabelled
from unseen.core.start import Start
from unseen.core.sums import Reduced, Sums, indicator
from unseen.models.kernel_ridge import (
    EmbeddingScale,
    average_prototypes,
    explained_share,
    fit_ridge,
)
from unseen.transduction.anchored_explain import Explains
from unseen.transduction.anchored_open import (
    background_evidence,
    effective_number,
    gaussian_scores,
    relative_to_effective,
    without_absent,
)
from unseen.transduction.rounds import SoftLabels, best_of_softmax, evened

HEAT = (2.0, 1.6, 1.3, 1.0)  # T of the first rounds; the last one stays
SIZE_ROWS = 10.0  # added to every class where sizes are estimated
SAMPLE = 8192  # rows that tell class sizes and confidence
# Labels this clear, and classes this even, speak for a second run; ρ is up to PULL.
CLEAR, EVEN, QUITE_EVEN, PULL = 0.95, 0.94, 0.99, 20.0
TEMPERATURES = np.geomspace(0.5, 64, 29)  # of probabilities


class WeakStartWarning(UserWarning):
    """The inductive answer was a poor teacher: look at some labels by hand."""


@dataclass(eq=False, repr=False, kw_only=True)
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
    max_rounds : int, default=10
        Rounds of a run; a second run follows if labels come out clear and even.
    tol : float, default=0.001
        Stop when at most this share of labels changes.
    unit_rows : bool, default=True
        Scale every row of X to unit length.
    handicap : float, default=0.0
        Taken off the scores of seen classes inside the rounds, and nowhere else, so
        that they do not take all rows where seen and unseen classes are mixed.
        ``Calibrated`` measures it.
    drop_absent : bool, default=False
        The list is far too long: drop the classes that hardly any row goes to, then
        those whose rows are likelier with others, and start again; who went may take
        the place of one that its rows fit less. Ruins the answer where classes differ
        much in size.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Label of every unlabelled row.
    reliability_ : ndarray of shape (n_samples,)
        Estimated chance that the label is right, tempered on the seen classes.
    rounds_ : list of Round
        What every round did; ``print`` one to read it. If adapting changed nothing, the
        list has one entry, which says why.
    present_classes_, class_shares_ : ndarray
        The classes that seem to be there, and which share of the rows each has.
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
    Learned from 90 of 90 rows (rate 1); ...
    """

    n_axes: Count | None = None
    whitening: Positive | None = 0.1
    kappa: AtLeast0 = 3.0
    max_rounds: CountOr0 = 10
    tol: AtLeast0 = 0.001
    unit_rows: bool = True
    handicap: AtLeast0 = 0.0
    drop_absent: bool = False

    _own_rows = True
    _adapt_parameters = frozenset(
        {"kappa", "max_rounds", "tol", "handicap", "drop_absent"}
    )

    # ---- learning from the seen classes ------------------------------------------

    def _fit_sums(self, sums: Sums, table: ClassTable, rows=None):
        n_axes = self.n_axes or (sums.n_features if sums.n_features <= 1024 else 500)
        space = self._space(sums, n_axes)
        seen = space.sums.for_classes(table.seen)
        C = seen.class_means
        scale = EmbeddingScale.of(table.embeddings[table.seen], table.widths)
        S = scale(table.embeddings[table.seen])
        fits = {name: fit_ridge(S, C, name) for name in ("linear", "rbf")}
        missed = np.mean([fit.left_out for fit in fits.values()], axis=0)
        v = self.variance_ = float(np.mean(missed**2))
        spread = sums.reduced(n_axes).sums.gram
        basis, self.variances_ = error_directions(missed, v, spread)
        self.axes_, self.mean_ = space.axes @ basis, space.mean
        self.ridges_ = {name: fit.ridge for name, fit in fits.items()}
        self.explained_ = explained_share(v, C)
        self._scale, self._seen_embeddings = scale, S
        self._weights = {name: fit.weights @ basis for name, fit in fits.items()}
        self._seen_means, self._seen_counts = C @ basis, seen.counts
        left_out = (C - missed) @ basis
        self._length = float(np.sqrt(np.mean(np.sum(left_out**2, axis=1))))
        self._temperature = honest_temperature(
            self._seen_means, self._lengthen(left_out), self._metric()
        )
        return self._ready(table)

    def _space(self, sums: Sums, n_axes: int) -> Reduced:
        """Return where classes are round with unit variance, or only the latter."""
        reduced = sums.reduced(n_axes)
        within = max(np.trace(reduced.sums.within_class_scatter()), 0.0)
        if self.whitening is not None and within > 0:
            return sums.whitened(n_axes, self.whitening)
        # One row per class does not tell how wide a class is: as all of them together.
        variance = (within or np.trace(reduced.sums.gram)) / sums.n_rows
        scale = np.sqrt(reduced.axes.shape[1] / variance) if variance > 0 else 1.0
        return reduced.scaled(scale)

    # ---- the inductive answer ----------------------------------------------------

    def _metric(self) -> np.ndarray:
        """Return how far a direction is trusted while means are only predicted."""
        return 1 / (1 + self.variances_)

    def _present_metric(self) -> np.ndarray | float:
        """Return the metric of all scores: one for adapted and other classes."""
        adapted = getattr(self, "_adapted", None) is not None and self.adapted_
        return 1.0 if adapted else self._metric()

    def _lengthen(self, Z: np.ndarray) -> np.ndarray:
        # What is shorter than this has no direction.
        known = linalg.norm(Z, axis=1, keepdims=True) > 1e-150
        return self._length * to_unit(np.where(known, Z, 0.0))

    def _from_embeddings(self, T: list[np.ndarray]) -> np.ndarray:
        """Return prototypes as the embeddings alone make them."""
        Z = average_prototypes(self._weights, T, self._seen_embeddings)
        return self._lengthen(Z)

    def _prototypes(self, candidates: Candidates) -> tuple[np.ndarray, np.ndarray]:
        """Return prototypes and, for classes that were seen, the rows they rest on."""
        Z = self._from_embeddings(self._scale(candidates.embeddings))
        place = places(candidates.names, self._seen_names)
        # A seen class has rows of its own: they outweigh its embedding.
        rows = np.where(place >= 0, self._seen_counts[place], 0.0)
        worth = 1 / max(self.variance_, 1e-9)
        own = self._seen_means[place] * rows[:, None] + Z * worth
        return np.where(rows[:, None] > 0, own / (rows + worth)[:, None], Z), rows

    def _scorer(self, candidates: Candidates) -> LinearScorer:
        scorer = nearest_scorer(self._prototypes(candidates)[0], self._present_metric())
        return scorer.on_features(self.axes_, self.mean_)

    def _probabilities(self, candidates: Candidates, scores) -> np.ndarray:
        adapted = self._adapted is not None
        T = self._adapted_temperature if adapted else self._temperature
        return candidates.count(softmax(scores / T, axis=1))

    def background_evidence(self, X) -> np.ndarray:
        """Return what says that rows are of no class; see anchored_open.py."""
        B = self._unlabelled(X).around(self.mean_, self.axes_, self.unit_rows)
        return background_evidence(B, self._seen_means, self._metric())

    # ---- adapting ----------------------------------------------------------------

    def _streams(self) -> bool:
        return True

    def _describe(self, unlabelled, rows, name):
        return np.zeros(self.class_embeddings_.shape[1])  # its rows describe it

    def _adapt(
        self, unlabelled: Unlabelled, candidates: Candidates, given: GivenRows | None
    ) -> Outcome:
        if self.explained_ < 0.1:
            warnings.warn(
                f"Class embeddings explain {max(self.explained_, 0):.0%} of how "
                "left-out classes differ: prototypes are hardly more than guesses. "
                "Give richer embeddings or more seen classes.",
                WeakStartWarning,
                stacklevel=3,
            )
        rows, _ = unlabelled.on(self.axes_, self.unit_rows, self.mean_)
        teach = partial(self._teach, rows, given)
        if not self.drop_absent:
            return self._answer(teach(candidates))
        if given is not None:
            raise ValueError(
                "Given labels say which classes there are, and drop_absent=True may "
                "drop them. Omit one of the two."
            )
        return self._answer(without_absent(teach, candidates, self._prototypes))

    def _teach(self, rows: Rows, given, candidates: Candidates) -> Learner:
        """Run the rounds, or keep the start; say why."""
        learner = Learner(self, rows, candidates, given)
        start, n = learner.codes, len(rows)
        per_class = n / effective_number(learner.counts)
        worth = self.kappa / max(self.variance_, 1e-9)
        self.weight_ = learner.weight = per_class / (per_class + worth)
        before = learner.mean_confidence(np.array([self._temperature]))[0]
        self.adapted_, self._adapted_temperature = len(learner.m) > 1, self._temperature
        if not self.adapted_:
            why = "Kept the labels of predict: there is one candidate."
            self.rounds_, self.stopped_because_ = [learner.round(start, why)], why
            return learner
        self.rounds_ = learner.learn(self.max_rounds, self.tol)
        self.stopped_because_ = learner.stopped_because(len(self.rounds_))
        # Adapted scores are surer of themselves: no surer than the start is right.
        after = np.abs(learner.mean_confidence(TEMPERATURES) - before)
        least = 2 * max(self._temperature, 1.0)
        self._adapted_temperature = float(max(least, TEMPERATURES[after.argmin()]))
        moved = np.mean(learner.codes != start)
        if moved > 0.5:
            warnings.warn(
                f"Self-training changed {moved:.0%} of the labels: the start was weak. "
                "Look at some by hand before you trust them.",
                WeakStartWarning,
                stacklevel=5,
            )
        return learner

    def _answer(self, learner: Learner) -> Outcome:
        scorer = nearest_scorer(learner.m, 1.0 if self.adapted_ else self._metric())
        coef, intercept = scorer.on_features(self.axes_, self.mean_)
        scorer = LinearScorer(coef, intercept + learner.reported_sizes())
        rule = LinearRule(learner.candidates, scorer, self.unit_rows)
        there = relative_to_effective(learner.counts) >= 0.3
        self.present_classes_ = learner.candidates.names[there]
        self.class_shares_ = learner.counts[there] / learner.counts[there].sum()
        codes, sure = learner.answers(self._adapted_temperature)
        return Outcome(codes, sure, self.rounds_, rule, calibrated=True)

    # ---- a start for other methods ---------------------------------------------------

    def _lend(self, unlabelled: Unlabelled, candidates: Candidates) -> Start:
        """Lend the space to other methods: rows, prototypes and scores there."""
        rows = unlabelled.around(self.mean_, self.axes_, self.unit_rows)
        Z, q = self._prototypes(candidates)[0], self._metric()
        rescore = partial(nearest_scorer, q=q)
        scores = gaussian_scores(rows, Z, q)
        return Start(
            candidates,
            rows,
            Z,
            scores,
            scores / self._temperature,
            mean=self.mean_,
            axes=self.axes_,
            unit_rows=self.unit_rows,
            scorer=rescore(Z),
            rescore=rescore,
            logit_scale=1 / self._temperature,
        )


def error_directions(
    e: np.ndarray, variance: float, spread: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenbasis of the left-out errors, and v_j in it.

    The covariance is shrunk half-way to v I: there are fewer classes than axes. Where
    there is no error at all, any basis would do, and rounding would choose one; those
    directions are the principal ones of how seen rows spread.
    """
    values, basis = linalg.eigh(e.T @ e / len(e))
    n = np.searchsorted(values, 1e-10 * max(values[-1], 0), side="right")
    if n:
        free = basis[:, :n]
        basis[:, :n] = free @ linalg.eigh(free.T @ spread @ free)[1]
    return with_fixed_signs(basis), (np.maximum(values, 0) + max(variance, 1e-9)) / 2


def honest_temperature(means: np.ndarray, Z: np.ndarray, q: np.ndarray) -> float:
    """Return the temperature at which posteriors of left-out classes are honest.

    Rows are drawn around the seen class means, with the variance that whitening gave
    them, and meet prototypes Z made without their class, in the metric q.
    """
    random = np.random.default_rng(0)
    M = len(means)
    loss = np.zeros(len(TEMPERATURES))
    for _ in range(5):
        classes = random.permutation(M)[: max(2, min(M, 50))]
        truth = np.repeat(np.arange(len(classes)), 10)
        rows = means[classes][truth]
        rows = rows + random.standard_normal(rows.shape)
        L = gaussian_scores(rows, Z[classes], q)
        for i, T in enumerate(TEMPERATURES):
            loss[i] -= log_softmax(L / T, axis=1)[np.arange(len(truth)), truth].mean()
    return float(TEMPERATURES[loss.argmin()])


# ---- given labels --------------------------------------------------------------------


class Anchors(NamedTuple):
    """What class means stay near, and how firmly.

    ``own_rows`` (N,) hold a mean as self-labelled rows do; ``described`` (N,) is 1 for
    classes with a prototype and 0 for those that have rows only; ``start`` (N, r) is
    what labels rows before the first round; ``n_given`` (N,) are given rows.
    """

    Z: np.ndarray
    variances: np.ndarray
    own_rows: np.ndarray
    described: np.ndarray
    start: np.ndarray
    n_given: np.ndarray | float = 0.0


def with_given(
    rows: Rows, anchors: Anchors, given: GivenRows, kappa: float, n_measured: int
) -> Anchors:
    """Let given rows correct prototypes, and measure anew what these are worth.

    v was measured on ``n_measured`` classes before.
    """
    N = len(anchors.Z)

    def sum_given(block, codes):
        return indicator(codes[codes >= 0], N).T @ block[codes >= 0]

    sums, counts = rows.total(sum_given, given.codes), given.counts.astype(float)
    n, new = counts[:, None], given.new[:, None]
    means = sums / np.maximum(n, 1)
    both, v = (counts > 0) & ~given.new, anchors.variances.mean()
    off = np.mean((means - anchors.Z)[both] ** 2, axis=1) - 1 / counts[both]
    # A mean of g rows tells v the less, the more of its distance is chance.
    weight = (1 + 1 / (counts[both] * v)) ** -2
    factor = (n_measured + weight @ off / v) / (n_measured + weight.sum())
    variances = anchors.variances * np.clip(factor, 0.1, 10)
    prior = np.where(new, 0.0, 1 / variances + anchors.own_rows[:, None])
    corrected = (prior * anchors.Z + sums) / np.maximum(prior + n, 1e-300)
    return Anchors(
        np.where(n > 0, corrected, anchors.Z),
        variances,
        anchors.own_rows + max(kappa, 1.0) * counts,
        np.where(given.new, 0.0, 1.0),
        np.where(new, means, anchors.Z),
        counts,
    )


# ---- the rounds ----------------------------------------------------------------------


class Learner(SoftLabels):
    """The rounds of a model; letters are those of the head of this file."""

    m: np.ndarray
    evidence: np.ndarray  # Σ log Σ exp, one number
    weight: float  # of rows against prototypes

    def __init__(self, model, rows: Rows, candidates: Candidates, given=None):
        super().__init__(rows, candidates, given)
        self.metric = model._metric()
        Z, own_rows = model._prototypes(candidates)
        anchors = Anchors(Z, model.variances_, own_rows, np.ones(len(Z)), Z)
        if given is not None:
            n_seen = len(model._seen_names)
            anchors = with_given(rows, anchors, given, model.kappa, n_seen)
        self.anchors, self.kappa = anchors, model.kappa * anchors.described
        self.handicap = model.handicap * (own_rows > 0)  # off scores in R alone
        self.sample = rows.sample(-(-self.n // SAMPLE))
        self.moved = 0.0
        self._begin(0.0)

    def _begin(self, pull: float) -> None:
        """Go back to the prototypes; ``pull`` is ρ."""
        self.pull, self.u = pull, np.zeros(len(self.anchors.Z))
        self._label(self.anchors.start, self.metric, HEAT[0], n_steps=10)

    def learn(self, max_rounds: int, tol: float) -> list[Round]:
        """Run the rounds, twice if labels are clear and even; say what each did."""
        rounds = self.run(HEAT, max_rounds, tol)
        pull = self.even_pull() if max_rounds else 0.0
        if pull:
            self._begin(pull)
            rounds += self.run(HEAT, max_rounds, tol)
        return rounds

    def round(self, before: np.ndarray, note: str = "") -> Round:
        """Return what came of labels ``before``."""
        return super().round(before, note or self._note())

    def refit(self, temperature: float = 1.0) -> None:
        """Take anchored means of the rows, label anew."""
        if self.pull == 0:
            sizes = self.counts + SIZE_ROWS + self.anchors.n_given
            self.u = np.log(sizes / sizes.mean())
        self._label(self._means(), 1.0, temperature)

    def _label(self, m, q, temperature: float, n_steps: int = 3) -> None:
        """Label all rows by these means, and sum them under their soft labels."""
        coef, offset = q * m, -np.sum(q * m * m, axis=1) / 2
        self.m, self.coef, self.offset = m, coef, offset
        if self.pull > 0:
            S = (self.scores(self.sample) - self.handicap) / temperature
            self.u = transported(S, self.u, self.pull, n_steps)
        inside, reported = self.u - self.handicap / temperature, self.reported_sizes()
        small = np.min_scalar_type(len(m))

        def label(block, given):
            S, own = block @ coef.T + offset, given >= 0
            codes = (S + reported).argmax(axis=1).astype(small)
            codes[own] = given[own]
            S /= temperature
            S += inside
            S -= (best := S.max(axis=1, keepdims=True))
            R = np.exp(S, out=S)
            total = R.sum(axis=1, keepdims=True)
            R /= total
            R[own] = 0  # what is given is in the prototypes already
            evidence = (best + np.log(total))[~own].sum()
            return codes, np.append(R.sum(axis=0), evidence), R.T @ block

        found = self.rows.each(label, self.given)
        codes, counts, sums = zip(*found, strict=True)
        self.codes, self.sums = np.concatenate(codes), reduce(add, sums)
        self.counts, self.evidence = np.split(reduce(add, counts), [-1])

    def scores(self, B: np.ndarray) -> np.ndarray:
        """Return S of rows."""
        return B @ self.coef.T + self.offset

    def reported_sizes(self) -> np.ndarray:
        """Return the log sizes that judge: estimated ones steer the rounds only."""
        return self.u if self.pull > 0 else np.zeros(len(self.m))

    def even_pull(self) -> float:
        """Return the ρ of a second run: none unless labels are clear and even."""
        R = softmax(self.scores(self.sample), axis=1)
        if R.max(axis=1).mean() < CLEAR:
            return 0.0
        even = evenness(R.sum(axis=0))
        return PULL * float(np.clip((even - EVEN) / (QUITE_EVEN - EVEN), 0, 1))

    # ---- anchored means --------------------------------------------------------------

    def _means(self) -> np.ndarray:
        """Return the MAP means."""
        Z, v, own_rows, *_ = self.anchors
        firm = (self.counts + own_rows)[:, None] + self.kappa[:, None] / v
        step = (self.sums - self.counts[:, None] * Z) / np.maximum(firm, 1e-300)
        self.moved = float(np.sqrt(np.mean(step**2 / v)))
        return Z + step

    # ---- what is reported ------------------------------------------------------------

    @property
    def objective(self) -> float:  # type: ignore[override]
        """-J, what the rounds minimise, at the present means."""
        Z, v, own_rows, *_ = self.anchors
        log_N = np.log(len(Z))
        firm = self.kappa[:, None] / v + own_rows[:, None]
        steps = np.sum((self.m - Z) ** 2 * firm) / 2
        prior = SIZE_ROWS * np.sum(self.u - log_N) if self.pull == 0 else 0.0
        return float(steps - self.evidence[0] + self.n * log_N - prior)

    def mean_confidence(self, temperatures: np.ndarray) -> np.ndarray:
        """Return the mean posterior of labels in the sample at each temperature."""
        S = self.scores(self.sample)
        return np.array([best_of_softmax(S / t).mean() for t in temperatures])

    def answers(self, temperature: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the class number of every row and its tempered posterior."""
        coef, offset = self.coef, self.offset + self.reported_sizes()

        def answer(block):
            S = block @ coef.T + offset
            return S.argmax(axis=1), best_of_softmax(S / temperature)

        codes, sure = zip(*self.rows.each(answer), strict=True)
        return np.concatenate(codes), np.concatenate(sure)

    def _note(self) -> str:
        even = " Class sizes were pulled together." if self.pull else ""
        spread = f"{self.moved:.2f} times the spread of the prototypes"
        return f"Class means moved by {spread}.{even}"


def transported(S, u, pull: float, n_steps: int) -> np.ndarray:
    """Return log sizes u under which classes have nearly the same share.

    Unbalanced transport: ``pull`` is ρ.
    """
    for _ in range(n_steps):
        shares = np.maximum(softmax(S + u, axis=1).mean(axis=0), 1e-300)
        before, u = u, evened(u, shares, pull)
        if np.abs(u - before).max() < 1e-6:
            break
    return u - u.mean()
