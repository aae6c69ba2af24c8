"""Guided mixture: labels from prototypes alone, by names, clusters and neighbours.

For names (or texts of a model like CLIP) and rows; the list of names may be longer than
what is there, and classes may differ much in size.

    b_i  (r,)   row i, of unit length, less the mean row, whitened, of unit length
    Z_c  (r,)   prototype c, likewise, less the mean prototype of what is there
    o_c         what the mean row says of class c; plain cosines have it, centred not
    R_ic        soft labels; n_c = Σ_i R_ic         W  (n, n)  neighbours, rows sum to 1

    name_ic    = (b_i·Z_c + plain o_c) / spread             spread over classes is 1
    cluster_ic = cos(b_i, M_c - R_ic b_i),   M_c = Σ_j R_jc b_j + a r t Z_c
    L = ν name + T cluster + κ W R + u,  R = softmax(L)

A row never meets its own share of a class mean: without it, pieces that absent names
cut off a class do not hold together. t, r and a are measured on R: the cosine of a row
with its class, of classes with their names, and the rows that a name is worth. One
number says whether the list fits: e, exp(entropy of label counts) over the number of
classes, at most what plain cosines say.

    e ≥ .7   sizes are evened (rounds.py), the more the larger e: ρ from 0 to 6
             at e = .95
    e < .7   absent classes lose rows, small ones do not: u_c = -2 w log(1 + 5 / E_c),
             w from 0 to 1 at e = .45;  E_c, the evidence for a class, is half by R and
             half by plain cosines: a few sure rows keep a class, many doubtful ones do
             not

First names alone label, ν = 3, five times. Then rounds at T = 5, and at T = 10 with
rows whitened by the scatter within soft classes; ν = max(T s, 1.5, 3 w), s the
spread of b·unit(M). Reliability ρ is softmax(L / τ) of the label. τ makes its mean g,
measured on the rows: the purer classes are by prototypes alone, the more are right.

    S_ck = mean of softmax(3 name)_ik over rows with label c, names centred
    purity = Σ_c n_c/n Σ_k S_ck²,    g / (1 - g) = (purity / (1 - purity))² · 4/3

Given labels keep R one-hot, and pull their names: Z_c becomes
unit(a r t Z_c + p Σ b_i) over its given rows. Names that are right need no correction,
and rows that were picked because they were wrong say little of the others, so

    p = max(((1 - max(g, right / (m + 1))) min(1, (right + 1) / (Σ ρ_i + 1)))²,
            exchanged³)

by what the rounds without anything given made of m given rows: how many were right, and
how many should have been; or how far names were exchanged (:func:`exchanged`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.utils.validation import validate_data

from unseen._words import how_many
from unseen.core.base import ZeroShotClassifier
from unseen.core.classes import Candidates, ClassTable, described, evenness, places
from unseen.core.given import GivenRows, described_by_rows
from unseen.core.linalg import inverse_lengths, to_unit
from unseen.core.neighbours import neighbours
from unseen.core.outcome import LinearRule, LinearScorer, Outcome, Round, nearest_scorer
from unseen.core.params import AtLeast0, Count, CountOr0, Share, fit_context, not_finite
from unseen.core.rows import Rows, Unlabelled
from unseen.core.start import Start
from unseen.core.sums import Sums, indicator
from unseen.models.kernel_ridge import EmbeddingScale, fit_ridge, kernel
from unseen.transduction.graph import cosine_graph, near_neighbours
from unseen.transduction.rounds import (
    SoftLabels,
    best_of_softmax,
    evened,
    evidence,
)

CLIP_SCALE = 100.0  # what CLIP multiplies its cosines by
MOST_AXES = 512
MOST_PAIRED = 20_000  # rows whose neighbours are looked for among all others
FEWEST_ROWS = 20  # that are learned from, or as many as there are classes
SMALL = 1e-9
# What was tuned.
NAMES = 3.0  # spread of the scores that names start with; CLIP's own is about that
SHARPNESS = 10.0  # T after whitening; half of it before
NEIGHBOURS = 4.0  # κ, or rows per class over FEW where that is less
WHITENING = 3.0  # times the mean variance, that is added in every direction
FEW = 5.0  # rows that classes have at least in shares; nats that make one doubtful
DOUBT = 2.0  # power of the odds that a doubtful class loses
# Sizes are free at the evenness FREE; BEYOND it they are evened by ρ = EVENING, as far
# below it only classes with evidence stay.
FREE, BEYOND, EVENING = 0.7, 0.25, 6.0
PURE = 4 / 3  # odds of a label that prototypes alone leave undecided in its class


@dataclass(eq=False, repr=False, kw_only=True)
class GuidedMixture(ZeroShotClassifier):
    """Guided mixture: the method for names alone.

    Class prototypes guide a mixture of directions on the unlabelled rows. Which classes
    are there at all, and how far clusters can be followed, is measured on the rows.

    Parameters
    ----------
    plain : float in [0, 1], default=0.5
        How much of a name's cosine to the mean row is kept: 0 compares centred rows
        with centred names, as is right where the two were not trained together; 1 is
        nearest to plain cosines.
    n_neighbors : int, default=5
        Neighbours that have a say in a row's label; 0 for none, which streams.
    max_rounds : int, default=10
        In each of two parts, before and after whitening.
    tol : float, default=0.001
        A part ends when at most this share of labels changes.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    reliability_ : ndarray of shape (n_samples,)
        Estimated chance that the label is right, by class means that the row itself
        had no part in.
    rounds_ : list of Round
    stopped_because_ : str
    adapted_ : bool
        Whether rounds were made; too few rows keep the prototypes' answer.
    tightness_ : float
        Cosine of a row with its class, free of the bias of small classes.
    evenness_ : float
        exp(entropy of class sizes) over the number of classes.
    prototype_worth_ : float
        The rows that a prototype counts as.
    temperature_ : float
        Of probabilities; the less rows and prototypes agree, the higher.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import GuidedMixture
    >>> rng = np.random.default_rng(1)
    >>> texts, truth = rng.normal(size=(3, 20)), np.repeat([0, 1, 2], 40)
    >>> X = texts[truth] + rng.normal(size=(120, 20)) + 3
    >>> named = texts + 0.7 * rng.normal(size=texts.shape)  # what names say
    >>> model = GuidedMixture.from_prototypes(named).adapt(X)
    >>> bool((model.labels_ == truth).mean() > 0.9)
    True
    """

    plain: Share = 0.5
    n_neighbors: CountOr0 = 5
    max_rounds: Count = 10
    tol: AtLeast0 = 0.001

    _own_rows = True
    _adapt_parameters = frozenset({"plain", "n_neighbors", "max_rounds", "tol"})

    # ---- where prototypes come from --------------------------------------------------

    @classmethod
    def from_prototypes(cls, prototypes, **parameters) -> GuidedMixture:
        """Return ``cls(**parameters).fit_prototypes(prototypes)``."""
        return cls(**parameters).fit_prototypes(prototypes)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_prototypes(self, prototypes) -> GuidedMixture:
        """Take prototypes as they are: no seen class is needed.

        Parameters
        ----------
        prototypes : array of shape (n_classes, n_features) or DataFrame
            One per class, in the space of the rows; a frame names them.

        Returns
        -------
        self
        """
        self.__dict__.pop("_running", None)
        table = described(prototypes, what="prototypes")
        self._ridge: tuple | None = None  # else from embeddings to class means
        self._ready(table)
        return self._note_features(np.zeros((1, table.embeddings.shape[1])))

    def _fit_sums(self, sums: Sums, table: ClassTable, rows=None):
        """Learn a kernel ridge from class embeddings to class means."""
        means = sums.for_classes(table.seen).class_means
        scale = EmbeddingScale.of(table.embeddings[table.seen], table.widths)
        S, middle = scale(table.embeddings[table.seen]), means.mean(axis=0)
        weights = fit_ridge(S, means - middle, "linear").weights
        self._ridge = scale, S, weights, means, middle
        return self._ready(table)

    def _prototypes(self, candidates: Candidates) -> np.ndarray:
        if self._ridge is None:
            return candidates.embeddings
        scale, S, weights, means, middle = self._ridge
        P = kernel("linear", scale(candidates.embeddings), S) @ weights + middle
        place = places(candidates.names, self._seen_names)
        P[place >= 0] = means[place[place >= 0]]  # a seen class has rows of its own
        return P

    def _describe(self, unlabelled, rows, name):
        if self._ridge is None:
            return described_by_rows(unlabelled, rows, self.class_embeddings_)
        return np.zeros(self.class_embeddings_.shape[1])  # its rows describe it

    def _checked(self, X):
        # Prototypes name no features; the first frame of rows may.
        named = hasattr(X, "columns") and not hasattr(self, "feature_names_in_")
        if self._ridge is None and named and len(X.columns) == self.n_features_in_:
            validate_data(self, X, skip_check_array=True)
        return super()._checked(X)

    # ---- scores ------------------------------------------------------------------

    def _is_linear(self) -> bool:
        return getattr(self, "_adapted", None) is None or not self.adapted_

    def _scorer(self, candidates: Candidates) -> LinearScorer:
        P = self._prototypes(candidates)
        if self._is_linear() and self._ridge is not None:
            return nearest_scorer(P)
        if self._is_linear():
            return cosines_with(P)
        # Classes that the rows were not asked about, as classes without rows.
        around, (direction, offset) = to_unit(P) - self._names_mean, self._pull
        coef = direction * to_unit(around @ self.turn_) @ self.turn_.T
        return LinearScorer(coef, offset * (around @ self.mean_))

    def _rule(self, candidates: Candidates):
        rule = super()._rule(candidates)
        turning = None if self._is_linear() else Turning(self.mean_, self.turn_)
        return rule._replace(turning=turning)

    def _probabilities(self, candidates: Candidates, scores) -> np.ndarray:
        if self._is_linear():
            return candidates.count(by_spread(scores))
        return candidates.count(softmax(scores / self.temperature_, axis=1))

    # ---- adapting ----------------------------------------------------------------

    def _streams(self) -> bool:
        return self.n_neighbors == 0

    def _adapt(
        self, unlabelled: Unlabelled, candidates: Candidates, given: GivenRows | None
    ) -> Outcome:
        rows, mean = unlabelled.on(np.eye(self.n_features_in_), True)
        P = to_unit(self._prototypes(candidates))
        n, K = len(rows), len(P)
        if K < 2 or n < min(K, FEWEST_ROWS):
            return self._keep(rows, mean, candidates)
        named = np.ones(K, dtype=bool) if given is None else ~given.new
        centre = P[named].mean(axis=0)
        settings = self.plain, int(self.n_neighbors)
        core = Core(rows, mean, (P - centre)[named], candidates.only(named), *settings)
        rounds = core.learn(self.max_rounds, self.tol)
        if given is not None:
            before = np.flatnonzero(named)[core.codes[given.rows]]
            pull = core.pull_of(given.rows, before, given.codes[given.rows])
            core = Core(rows, mean, P - centre, candidates, *settings, given, pull)
            rounds = core.learn(self.max_rounds, self.tol)
        self.adapted_, self.mean_, self.turn_ = True, mean, core.turn
        self._names_mean, self._pull = centre + core.middle, core.pull
        self.tightness_, self.evenness_ = core.t, core.evenness
        self.prototype_worth_, self.temperature_ = core.worth, core.temperature()
        self.stopped_because_ = core.stopped_because(self.max_rounds)
        rule = LinearRule(candidates, core.scorer(), True)
        sure = tempered(core.R, self.temperature_)
        return Outcome(core.codes, sure, rounds, rule, calibrated=True)

    def _keep(self, rows: Rows, mean: np.ndarray, candidates: Candidates) -> Outcome:
        """Answer by the prototypes as they are: there is nothing to learn from."""
        self._adapted, self.adapted_ = None, False
        scorer = self._scorer(candidates)
        scores = (rows.sample(1) + mean) @ scorer.coef.T + scorer.intercept
        codes, posterior = scores.argmax(axis=1), by_spread(scores).max(axis=1)
        n, K = scores.shape
        why = (
            "there is one class, which every row gets"
            if K < 2
            else f"{how_many(n, 'row')} for {K} classes"
        )
        self.stopped_because_ = f"Kept the prototypes' answer: {why}."
        kept = Round.of_all(candidates, codes, codes, note=self.stopped_because_)
        rule = LinearRule(candidates, scorer, True)
        return Outcome(codes, posterior, [kept], rule, calibrated=True)

    # ---- a start for other methods -----------------------------------------------

    def _lend(self, unlabelled: Unlabelled, candidates: Candidates) -> Start:
        """Take unit rows and unit prototypes in one space, and their cosines."""
        rows = to_unit(unlabelled.X)
        units = to_unit(self._prototypes(candidates)).astype(rows.dtype)
        with np.errstate(all="ignore"):  # what is not finite is refused below
            scores = rows @ units.T
        if not np.isfinite(scores).all():
            raise not_finite(unlabelled.X)
        return Start(
            candidates,
            rows,
            units,
            scores,
            CLIP_SCALE * scores,
            mean=np.zeros(rows.shape[1]),
            scorer=LinearScorer(units, np.zeros(len(units))),
            rescore=cosines_with,
            logit_scale=CLIP_SCALE,
        )


def cosines_with(P: np.ndarray) -> LinearScorer:
    """Score unit rows by their cosines with prototypes."""
    return LinearScorer(to_unit(P), np.zeros(len(P)))


# ---- the rounds ----------------------------------------------------------------------


class Core(SoftLabels):
    """The rounds; letters are those of the head of this file.

    ``rows`` are unit rows less their ``mean``, ``P`` unit prototypes less theirs;
    ``given_pull`` is how far given rows correct names.
    """

    R: np.ndarray  # (n, K) soft labels
    pull: tuple[float, float]  # of a class without rows: its direction, its offset
    last: tuple[np.ndarray, np.ndarray, float]  # what the last round scored by
    means: np.ndarray  # M of that round, names among it

    def __init__(
        self,
        rows: Rows,
        mean: np.ndarray,
        P: np.ndarray,
        candidates: Candidates,
        plain: float,
        n_neighbors: int,
        given: GivenRows | None = None,
        given_pull: float = 0.0,
    ):
        super().__init__(rows, candidates, given)
        self.P, self.k, self.given_pull = P, n_neighbors, given_pull
        self.offset = P @ mean - (P @ mean).mean()
        said = np.concatenate(rows.each(lambda block: block @ to_unit(P).T))
        scale = NAMES / max(spread_within(said), SMALL)
        self.start = scale * to_unit(P)
        if plain:  # plain cosines but for what classes share
            said = np.concatenate(rows.each(lambda block: block @ P.T)) + self.offset
            scale = NAMES / max(spread_within(said), SMALL)
        codes, self.known = said.argmax(axis=1), evidence(softmax(scale * said, axis=1))
        # Weak names fill absent classes evenly; plain cosines, where they mean
        # something, know better.
        most = evenness(np.bincount(codes, minlength=self.K)) + 0.05
        self.most = most if plain else 1.0
        self.counts = np.full(self.K, self.n / self.K)
        self.evenness, self.worth, self.r, self.t = 1.0, 1.0, 0.5, 0.5
        self.axes = main_axes(rows, P)
        self._look(self.axes)
        size = np.sqrt(np.mean(np.sum((P @ self.axes) ** 2, axis=1)))
        size *= rows.total(lambda block: np.linalg.norm(block, axis=1).sum()) / self.n
        at_start = self._spread(to_unit(P @ self.axes), np.zeros(self.K))
        self.offset_scale = plain / max(size * at_start, SMALL)

    # ---- the two spaces ------------------------------------------------------------

    def _look(self, turn: np.ndarray) -> None:
        """Turn rows; sum what tells how scores spread, and what was given."""
        self.turn, K = turn, self.K
        self.B = turned(self.rows, turn)

        def describe(block, codes):
            wide = np.column_stack([block, np.ones(len(block))])
            own = codes >= 0
            return np.vstack([wide.T @ wide, indicator(codes[own], K).T @ wide[own]])

        found = self.B.total(describe, self.given)
        self.gram = found[:-K]
        given = (self.given >= 0).any()
        self.given_sums = self.given_pull * found[-K:, :-1] if given else None
        self.weight = min(NEIGHBOURS, self.n / (FEW * K))
        if self.k:
            self.W = mutual_neighbours(np.asarray(self.B), self.k)

    def _whiten(self) -> None:
        """Make classes round: Σ^(-½), Σ the scatter within soft classes, shrunk."""
        inner = self.gram[:-1, :-1]
        within = inner - (self.sums.T / np.maximum(self.counts, SMALL)) @ self.sums
        values, basis = linalg.eigh(within / self.n)
        values = np.maximum(values, 0)
        root = basis / np.sqrt(values + WHITENING * max(values.mean(), SMALL))
        self._look(self.axes @ (root @ basis.T))
        self.sums = self.B.total(lambda block, R: R.T @ block, self.R)

    # ---- a round -------------------------------------------------------------------

    def learn(self, max_rounds: int, tol: float) -> list[Round]:
        """Make all rounds, and return those that learned from clusters."""
        for number in range(5):
            coef, offset, _ = self._names()
            self._label(NAMES * coef, NAMES * offset, 0.0, number > 0)
        rounds = self.run((SHARPNESS / 2,), max_rounds, tol)
        self._whiten()
        return rounds + self.run((SHARPNESS,), max_rounds, tol)

    def _names(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return names as (coef, offset) of spread 1, and Z."""
        shares = (self.counts + FEW) / (self.n + FEW * self.K)
        self.middle = shares @ self.P
        Z = to_unit((self.P - self.middle) @ self.turn)
        if self.given_sums is not None:
            own = self.worth * self.r * self.t
            Z = to_unit(own * Z + self.given_sums)
        scale = self._spread(Z, np.zeros(self.K)) * self.offset_scale
        spread = self._spread(Z, scale * self.offset)
        self.name_pull = 1 / spread, scale / spread
        return Z / spread, scale * self.offset / spread, Z

    def refit(self, temperature: float) -> None:
        """Learn class means from soft labels, and label by them, this sharply."""
        coef, offset, Z = self._names()
        self._measure(Z)
        s = self._spread(to_unit(self.sums), np.zeros(self.K))
        nu = max(temperature * s, NAMES / 2, NAMES * self._absent())
        self.means = self.sums + self.worth * self.r * self.t * Z
        self.last = nu * coef, nu * offset, temperature
        self.pull = nu * self.name_pull[0] + temperature, nu * self.name_pull[1]
        self._label(*self.last, True)

    def _measure(self, Z: np.ndarray) -> None:
        """Measure t, r and what a name is worth, on soft labels."""
        squares, shares = np.sum(self.R**2, axis=0), self.counts / self.n
        pairs = np.maximum(np.sum(self.sums**2, axis=1) - squares, 0)
        pairs /= np.maximum(self.counts**2 - squares, 1e-12)
        self.t = t = float(np.sqrt(np.clip(shares @ pairs, 1e-6, 1)))
        shares = (self.counts + FEW) / (self.n + FEW * self.K)
        likeness = shares @ np.sum(to_unit(self.sums) * Z, axis=1)
        self.r = r = float(np.clip(likeness, 0.02, 0.95))
        # A class mean has length t and lies t sqrt(1 - r²) off its name; rows lie
        # sqrt(1 - t²) off their mean. So a name is worth this many rows:
        self.worth = (1 - t * t) / max(t * t * (1 - r * r), 1e-3)

    def _label(self, coef, offset, sharp: float, near: bool) -> None:
        """Make soft labels by names, clusters and neighbours; then judge sizes."""
        u, means, K = self.u, self.means if sharp else None, self.K
        beside = np.zeros((self.n, 1))
        if self.k and near:
            beside = self.weight * (self.W @ self.R)
        before = self.R if sharp else beside

        def label(block, R, beside, codes):
            L = block @ coef.T + (offset + u) + beside
            if means is not None:
                L += sharp * left_out_cosines(block, means, R)
            new = softmax(L, axis=1)
            own = codes >= 0
            new[own] = np.eye(K)[codes[own]]
            return new, new.T @ block

        soft, sums = zip(*self.B.each(label, before, beside, self.given), strict=True)
        self.R, self.sums = np.concatenate(soft), reduce(add, sums)
        self.last_u = u
        self.codes, self.counts = self.R.argmax(axis=1), self.R.sum(axis=0)
        self._judge_sizes(learning=sharp > 0)

    def _judge_sizes(self, learning: bool) -> None:
        """Say what sizes add to the scores of the next pass."""
        free = (np.log(np.maximum(self.R, 1e-300)) - self.u).argmax(axis=1)
        self.evenness = min(self.most, evenness(np.bincount(free, minlength=self.K)))
        if learning and self.evenness < FREE:
            E = (evidence(self.R) + self.known) / 2
            odds = np.log1p(FEW / np.maximum(E, 1e-3))
            self.u = -DOUBT * self._absent() * odds
            return
        least = FREE if learning else 0.8  # names alone need be surer of it
        beyond = (self.evenness - least) / (FREE + BEYOND - least)
        rho = EVENING * np.clip(beyond, 0, 1) ** 2
        u = evened(self.u, np.maximum(self.counts, 1e-3) / self.n, rho)
        self.u = u - u.mean()

    def _absent(self) -> float:
        """Return w: how far the list does not fit."""
        return float(np.clip((FREE - self.evenness) / BEYOND, 0, 1))

    def _spread(self, coef: np.ndarray, offset: np.ndarray) -> float:
        """Return the standard deviation of scores around the mean of their row."""
        V = np.column_stack([coef, offset])
        D = V - V.mean(axis=0)
        square = np.einsum("ij,ij->", D @ self.gram, D) / (self.n * self.K)
        return float(np.sqrt(max(square, SMALL**2)))

    # ---- the answer ----------------------------------------------------------------

    def scorer(self) -> LinearScorer:
        """Return how turned rows are scored that had no part in the rounds."""
        coef, offset, sharp = self.last
        coef = coef + sharp * to_unit(self.means)
        return LinearScorer(coef @ self.turn.T, offset + self.last_u)

    def likely_right(self) -> float:
        """Return g, by how purely prototypes alone name every class that was found."""
        K, others = self.K, self.given < 0
        rows, coef, offset = self.rows, self.start, np.zeros(K)
        if not others.all():  # names as they were corrected
            rows, (coef, offset, _) = self.B, self._names()
            coef, offset = NAMES * coef, NAMES * offset

        def named(block, codes):
            said = softmax(block @ coef.T + offset, axis=1)
            return indicator(codes[codes >= 0], K).T @ said[codes >= 0]

        sums = rows.total(named, np.where(others, self.codes, -1))
        counts = np.maximum(sums.sum(axis=1, keepdims=True), SMALL)
        purity = float(np.sum(sums**2 / counts) / max(counts.sum(), SMALL))
        odds = PURE * (purity / max(1 - purity, SMALL)) ** 2
        return odds / (1 + odds)

    def pull_of(self, rows, before: np.ndarray, codes: np.ndarray) -> float:
        """Return how far given rows correct names, by the labels they had before."""
        likely = tempered(self.R[rows], self.temperature()).sum()
        right = np.sum(before == codes)
        as_drawn = min(1.0, (right + 1) / (likely + 1))
        doubt = (1 - max(self.likely_right(), right / (len(codes) + 1))) * as_drawn
        return max(doubt**2, exchanged(before, codes, self.K) ** 3)

    def temperature(self) -> float:
        """Return τ: the mean reliability is g."""
        given, some = self.given >= 0, slice(None, None, -(-self.n // 2000))
        # A handful of rows cannot make anything certain: half a row per class is any's.
        most = min(0.99, self.n / (self.n + self.K / 2))
        target = np.clip(self.likely_right(), 1 / self.K, most)
        R = self.R[~given][some] if not given.all() else self.R[some]

        def gap(log_temperature):
            return tempered(R, np.exp(log_temperature)).mean() - target

        low, high = np.log(0.05), np.log(1000.0)
        if gap(low) <= 0 or gap(high) >= 0:
            return float(np.exp(low if gap(low) <= 0 else high))
        return float(np.exp(brentq(gap, low, high, xtol=1e-3)))


def tempered(R: np.ndarray, temperature: float) -> np.ndarray:
    """Return the largest of softmax(log R / temperature) of every row."""
    return best_of_softmax(np.log(np.maximum(R, 1e-300)) / temperature)


def exchanged(before: np.ndarray, codes: np.ndarray, n_classes: int) -> float:
    """Return how far given rows say that names are exchanged, not that rows are odd.

    1 if all classes were given alike many rows, those of a class had one label that no
    others had, and none given for the class of that label had it. ``before`` are the
    labels that rows had.

    >>> import numpy as np
    >>> from unseen.transduction.guided_mixture import exchanged
    >>> exchanged(np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]), 2)
    1.0
    """
    n = max(n_classes, codes.max() + 1)
    table = np.zeros((n, n))
    np.add.at(table, (codes, before), 1)
    given, had = table.sum(axis=1), table.sum(axis=0)
    alone = (table[codes, before] - 1) ** 2
    alone /= np.maximum((given[codes] - 1) * (had[before] - 1), 1)
    lost = np.where(given > 0, 1 - np.diag(table) / np.maximum(given, 1), 0)
    all_given = len(codes) ** 2 / np.sum(given**2) / n
    return float(all_given * np.mean((before != codes) * alone * lost[before]))


def left_out_cosines(block, M: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return cosines of unit rows with sums M less their own share R b, (n, K)."""
    D = block @ M.T
    rest = np.sum(M * M, axis=1) - 2 * R * D + R * R
    return (D - R) / np.sqrt(np.maximum(rest, SMALL))


def spread_within(scores: np.ndarray) -> float:
    """Return the standard deviation of scores around the mean of their row."""
    return float(np.sqrt(scores.var(axis=1).mean()))


def by_spread(scores: np.ndarray) -> np.ndarray:
    """Return posteriors of scores on an unknown scale: that of each row's spread."""
    spread = scores.std(axis=1, keepdims=True)
    return softmax(2 * scores / np.where(spread > 0, spread, 1), axis=1)


# ---- turned rows ---------------------------------------------------------------------


class Turning(NamedTuple):
    """How unit rows are turned: less a mean, and by a matrix."""

    mean: np.ndarray
    turn: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return unit rows less the mean, of unit length when they are turned."""
        rows = to_unit(X) - self.mean.astype(X.dtype)
        return rows * inverse_lengths(rows @ self.turn.astype(X.dtype))[:, None]


class TurnedRows(Rows):
    """Rows of a file or a cluster, rotated and scaled to unit length."""

    def __init__(self, rows: Rows, turn: np.ndarray):
        self.rows, self.turn = rows, turn
        self.shape = len(rows), turn.shape[1]

    def each(self, work, *per_row):
        """See ``Rows.each``."""
        return self.rows.each(partial(on_turned, work, self.turn), *per_row)

    def total(self, work, *per_row):
        """See ``Rows.total``."""
        return self.rows.total(partial(on_turned, work, self.turn), *per_row)


def on_turned(work, turn: np.ndarray, block: np.ndarray, *per_row):
    """Work on turned rows."""
    return work(to_unit(block @ turn), *per_row)


def turned(rows: Rows, turn: np.ndarray) -> Rows:
    """Return rows times a matrix, of unit length; memory keeps them."""
    if type(rows) is Rows:
        return Rows(to_unit(np.asarray(rows) @ turn))
    return TurnedRows(rows, turn)


def main_axes(rows: Rows, P: np.ndarray) -> np.ndarray:
    """Return the axes in which rows and names, at one scale, vary most."""
    (n, d), most = rows.shape, min(MOST_AXES, rows.shape[1])
    if d <= MOST_AXES:
        return np.eye(d)
    square = rows.total(lambda block: np.einsum("ij,ij->", block, block))
    names = P * np.sqrt(square / max(np.sum(P**2), SMALL))
    if type(rows) is Rows and n + len(P) < d:
        stacked = np.vstack([np.asarray(rows), names])
        values, basis = linalg.eigh(stacked @ stacked.T)
        keep = np.flatnonzero(values > 1e-10 * values[-1])[-most:]
        return stacked.T @ (basis[:, keep] / np.sqrt(values[keep]))
    gram = rows.gram() + names.T @ names
    return linalg.eigh(gram, subset_by_index=(d - most, d - 1))[1]


def mutual_neighbours(rows: np.ndarray, k: int) -> sparse.csr_array:
    """Return the graph of each row's k nearest and of those it is nearest to.

    Weights are cosines, none below 0; they sum to 1 for every row with any.
    """
    search = neighbours if len(rows) <= MOST_PAIRED else near_neighbours
    W = cosine_graph(*search(rows, k))
    W = W + W.T
    sums = W.sum(axis=1)
    return sparse.csr_array(sparse.diags_array(1 / np.where(sums > 0, sums, 1)) @ W)
