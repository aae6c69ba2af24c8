"""The rounds of anchored self-training: class means that the pile may move.

    B  (n, r)   rows of the pile, whitened        Z  (N, r)  prototypes
    m  (N, r)   class means, at first Z           v  (r,)    their prior variances
    u  (N,)     logarithms of class sizes         T          temperature

    S_ic = b_i·m_c - |m_c|²/2            scores; reported is their largest
    R_i  = softmax(S_i / T + u)          soft labels
    m_c  = (Σ_i R_ic b_i + κ_c Z_c / v) / (Σ_i R_ic + κ_c / v)

T falls from 2 to 1, so that the first rounds do not believe their own labels too much.
κ_c is κ, or as much more as keeps m_c within the radius. At T = 1 this is EM; what it
maximises,

    J = Σ_i log Σ_c exp(S_ic + u_c) + prior_rows Σ_c u_c - κ/2 Σ_cj (m - Z)²_cj / v_j

never falls. Sizes are free in the first run: u = log(Σ_i R_i + prior_rows). If labels
come out clear and even, the classes are most likely all there and of like size; then a
second run starts at the prototypes again, and sizes are held even by transport:

    u_c ← u_c + (ρ log(share_c n / Σ_i R_ic) - u_c) / (1 + ρ),     share_c = 1/N

ρ = 0 leaves sizes free, ρ = ∞ imposes them, as sizes that are known are. It keeps a
class from being emptied by its neighbours in the first rounds, after which it could not
come back. A sample of the rows tells u, so that a round is one pass over the rows
(rows/holders.py), wherever they are. Seen classes are surer of themselves than others:
a handicap h may be taken off their scores in R, and in nothing else. A broad background
(anchored_look.py) may take rows from all of them, as many as its own size says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from unseen._threads import one_thread
from unseen.core.base import Round
from unseen.core.classes import Candidates
from unseen.progress import counted
from unseen.rows.holders import Holder
from unseen.rows.labelling import Labelling
from unseen.transduction.anchored_absent import clusters, rematched, unneeded
from unseen.transduction.anchored_given import Anchors
from unseen.transduction.anchored_look import (
    Background,
    Means,
    gaussian_scores,
    look,
    temper,
)
from unseen.transduction.anchored_sizes import evenness, transported

TEMPERATURES = (2.0, 1.6, 1.3, 1.0)  # of the first rounds; the last one stays
SAMPLE = 8192  # rows that tell class sizes and confidence
# Labels this clear, and classes this even, speak for a second run; see even_pull.
CLEAR, EVEN, QUITE_EVEN, PULL = 0.95, 0.94, 0.99, 20.0
MOST_LOSS = 30.0  # of a row by a class that goes, in units of log-likelihood
BEYOND = 0.1  # of the rows, that the background has at the start


class Totals(NamedTuple):
    """What a look adds up over all rows."""

    counts: np.ndarray  # Σ R
    sums: np.ndarray  # Σ R b
    labels: np.ndarray  # rows of each label
    log_likelihood: float
    background: float  # rows that the background takes


class AnchoredLearner:
    """The model in the middle of learning from a pile: class means move.

    Parameters
    ----------
    B : Holder
        Rows of the pile.
    competition : Candidates
    Z : ndarray of shape (n_classes, n_axes)
    variances : ndarray of shape (n_axes,)
    own_rows : ndarray of shape (n_classes,)
        Labelled rows that a prototype rests on already.
    kappa, radius, prior_rows :
        See :class:`~unseen.transduction.anchored.AnchoredSelfTraining`.
    class_prior : ndarray of shape (n_classes,) or None
        Class sizes that are known, as shares.
    q : ndarray of shape (n_axes,) or float, default=1.0
        How far a direction is trusted at the start.
    anchors : Anchors, optional
        What given labels made of the prototypes; see ``anchored_given.py``.
    handicap : ndarray of shape (n_classes,) or float, default=0.0
        h, taken off the scores of classes inside the rounds; the answer is without it.
    background : Background, optional
        What takes rows that no class explains.

    Classes beyond those of the competition only take rows away in the rounds: no row
    gets their label.
    """

    def __init__(
        self,
        B: Holder,
        competition: Candidates,
        Z: np.ndarray,
        variances: np.ndarray,
        *,
        own_rows: np.ndarray,
        kappa: float,
        radius: float | None,
        prior_rows: float | None,
        class_prior: np.ndarray | None,
        q: np.ndarray | float = 1.0,
        anchors: Anchors | None = None,
        handicap: np.ndarray | float = 0.0,
        background: Background | None = None,
    ):
        self.anchors, self.background = anchors, background
        self.B, self.competition, self.Z = B, competition, Z
        self.variances, self.own_rows = variances, own_rows
        self.kappa, self.radius, self.prior_rows = kappa, radius, prior_rows
        self.class_prior, self.q, self.handicap = class_prior, q, handicap
        self.n_rows, self.movement, self.n_held = len(B), 0.0, 0
        self.settled = False
        self._sample = B.sample(-(-self.n_rows // SAMPLE))
        self._begin(0.0 if class_prior is None else np.inf, class_prior)

    def _begin(self, pull: float, shares: np.ndarray | None = None) -> None:
        """Go back to the prototypes; ``pull`` is ρ, towards ``shares`` or even ones."""
        N = len(self.Z)
        self.pull = pull
        self.shares = np.full(N, 1 / N) if shares is None else shares
        self.log_sizes = np.zeros(N)
        self.log_beyond = float(np.log(BEYOND / (1 - BEYOND) * N))
        start = self.Z if self.anchors is None else self.anchors.start
        self._look(Means(start, self.q), TEMPERATURES[0], n_steps=10)

    # ---- rounds ----------------------------------------------------------------------

    def learn(self, max_rounds: int, tol: float) -> list[Round]:
        """Run the rounds, twice if the pile speaks for it; return what each did."""
        # The refits are small: more threads would only wait for each other.
        with one_thread():
            rounds = self._rounds(max_rounds, tol)
            again = self.pull == 0 and max_rounds > 0
            pull = self.even_pull() if again else 0.0
            if pull:
                self._begin(pull)
                rounds += self._rounds(max_rounds, tol)
        return rounds

    def _rounds(self, max_rounds: int, tol: float) -> list[Round]:
        rounds: list[Round] = []
        for number in counted("rounds", range(1, max_rounds + 1)):
            before = self.labelling
            self.refit(TEMPERATURES[min(number, len(TEMPERATURES) - 1)])
            n_changed = self.labelling.n_other(before)
            rounds.append(self._round(n_changed))
            self.settled = (
                number >= len(TEMPERATURES) and n_changed <= tol * self.n_rows
            )
            if self.settled:
                break
        return rounds

    def refit(self, temperature: float = 1.0) -> float:
        """Take anchored means of the rows, label anew; return -J."""
        totals = self.totals
        if self.pull == 0 and self.prior_rows is not None:
            sizes = totals.counts + self.prior_rows
            if self.anchors is not None:
                sizes = sizes + self.anchors.n_given
            self.log_sizes = np.log(np.maximum(sizes, 1e-300) / sizes.mean())
        else:
            sizes = totals.counts
        beyond = totals.background + (self.prior_rows or 0.0)
        self.log_beyond = float(np.log(max(beyond, 1e-300) / max(sizes.mean(), 1e-300)))
        means = Means(self._anchored_means(totals.sums, totals.counts))
        self._look(means, temperature)
        return -self.J()

    def _look(self, means: Means, temperature: float, n_steps: int = 3) -> None:
        """Label all rows by these means, and sum them under their soft labels."""
        self.means = means
        if self.pull > 0:
            S = (gaussian_scores(self._sample, *means) - self.handicap) / temperature
            self.log_sizes = transported(
                S, self.log_sizes, self.shares, self.pull, n_steps
            )
        states = [] if self.anchors is None else [self.anchors.codes]
        inside = self.log_sizes - self.handicap / temperature
        broad = None if self.background is None else (self.background, self.log_beyond)
        asked = means, temperature, inside, self.known_sizes(), broad
        state, totals = self.B.run(look, *asked, states=states)
        self.totals = Totals(*totals)
        self.labelling: Labelling = self.B.labelling(state, self.totals.labels)

    def known_sizes(self) -> np.ndarray:
        """Return the log sizes that judge: estimated ones steer the rounds only.

        Classes that only take part have none, so that no row gets their label.
        """
        known = self.log_sizes.copy() if self.pull > 0 else np.zeros(len(self.Z))
        known[len(self.competition) :] = -np.inf
        return known

    @property
    def offered(self) -> slice:
        """Which of the classes a row may get the label of."""
        return slice(0, len(self.competition))

    def even_pull(self) -> float:
        """Return the ρ of a second run: none unless labels are clear and even."""
        posterior = softmax(gaussian_scores(self._sample, *self.means), axis=1)
        if len(self.Z) < 2 or posterior.max(axis=1).mean() < CLEAR:
            return 0.0
        shares = posterior.mean(axis=0)
        if self.background is not None:  # even in what it leaves to the classes
            shares = self.totals.counts / max(self.totals.counts.sum(), 1e-300)
        even = evenness(shares, len(posterior))
        return PULL * float(np.clip((even - EVEN) / (QUITE_EVEN - EVEN), 0, 1))

    def _anchored_means(self, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the MAP means; raise κ per class until they stay within the radius.

        Raising κ is what the multiplier of the constraint does: the answer is the
        exact constrained maximum.
        """
        pull = sums - counts[:, None] * self.Z
        rows = (counts + self.own_rows)[:, None]
        kappa = self._class_kappa()
        self.n_held = 0
        if self.radius is not None:
            far = self._distance(pull, rows, kappa) > self.radius
            if self.anchors is not None:
                far &= self.anchors.described > 0  # others have nothing to stay near
            self.n_held = int(far.sum())
            if far.any():
                kappa[far] = self._sufficient(pull[far], rows[far])
        step = pull / np.maximum(rows + kappa[:, None] / self.variances, 1e-300)
        self.movement = float(np.mean(step**2 / self.variances))
        return self.Z + step

    def _class_kappa(self) -> np.ndarray:
        """Return κ of every class; none where there is no prototype to stay near."""
        kappa = np.full(len(self.Z), float(self.kappa))
        return kappa if self.anchors is None else kappa * self.anchors.described

    def _distance(self, pull, rows, kappa) -> np.ndarray:
        """Return |m - Z|², every direction by its variance, under each class's κ."""
        step = pull / np.maximum(rows + kappa[:, None] / self.variances, 1e-300)
        return np.mean(step**2 / self.variances, axis=1)

    def _sufficient(self, pull, rows) -> np.ndarray:
        """Return the κ that just keeps each class in reach, by Newton's method.

        The distance is f(κ) = mean a / (b + κ)². As for the radius of a trust region,
        1/√f is nearly linear in κ and concave, so that steps from the near side never
        pass the root, and few suffice.
        """
        a, b = pull**2 * self.variances, rows * self.variances
        kappa = np.full(len(pull), max(float(self.kappa), 1e-6))
        for _ in range(100):
            share = a / (b + kappa[:, None]) ** 2
            f = share.mean(axis=1)
            slope = (share / (b + kappa[:, None])).mean(axis=1)  # -f' / 2
            step = (np.sqrt(f / self.radius) - 1) * f / slope
            kappa += np.maximum(step, 0)
            if (step <= 1e-12 * kappa).all():
                break
        return kappa

    # ---- what is reported ------------------------------------------------------------

    @property
    def m(self) -> np.ndarray:
        """Class means, as learned so far."""
        return self.means.m

    def J(self) -> float:  # noqa: N802, the name in the objective
        """Return what the rounds maximise, at the present means."""
        log_all = self._log_all_sizes()
        log_shares = self.log_sizes - log_all
        steps = (self.m - self.Z) ** 2 * (
            self._class_kappa()[:, None] / self.variances + self.own_rows[:, None]
        )
        # The look had the sizes in it, but for their constant.
        fit = self.totals.log_likelihood - self.n_rows * log_all
        prior = 0.0
        if self.pull == 0 and self.prior_rows is not None:
            prior = self.prior_rows * log_shares.sum()
            if self.background is not None:
                prior += self.prior_rows * (self.log_beyond - log_all)
        return float(fit + prior - steps.sum() / 2)

    def _log_all_sizes(self) -> float:
        """Return the logarithm of what sizes sum to: those of classes sum to N."""
        beyond = 0.0 if self.background is None else np.exp(self.log_beyond)
        return float(np.log(len(self.Z) + beyond))

    def _round(self, n_changed: int) -> Round:
        return Round(
            rate=1.0,
            selected=self.competition.count(self.totals.labels[self.offered]),
            n_changed=n_changed,
            objective=-self.J(),
            labels=self.labelling.named(self.competition.names),
            note=self.note(),
            n_rows=self.n_rows,
        )

    def mean_confidence(self, temperatures: np.ndarray) -> np.ndarray:
        """Return the mean posterior of labels at each temperature.

        Of likelihoods alone, over the sample.
        """
        L = gaussian_scores(self._sample, *self.means)[:, self.offered]
        behind = L - L.max(axis=1, keepdims=True)
        return np.array(
            [np.mean(1 / np.exp(behind / t).sum(axis=1)) for t in temperatures]
        )

    def losses(self) -> np.ndarray:
        """Return what the pile would lose by each class: Σ_i -log(1 - R_ic).

        Over the sample. A class that only shares the rows of another is small by it,
        however many it has: the other would take them gladly. A row counts no more
        than ``MOST_LOSS``, else a few that are far from everybody would decide.
        """
        S = gaussian_scores(self._sample, *self.means)
        R = softmax(S + self.log_sizes - self.handicap, axis=1)
        rest = np.maximum(1 - R, np.exp(-MOST_LOSS))
        return -np.log(rest).sum(axis=0)

    def unneeded(self) -> np.ndarray:
        """Return the classes without which rows of the sample are likelier."""
        B, S = self._judged()
        sure = 1 / self.variances + self.own_rows[:, None]
        return unneeded(S, B, self.Z, sure)

    def rematched(
        self, Z: np.ndarray, own_rows: np.ndarray, here: np.ndarray
    ) -> np.ndarray:
        """Return which of prototypes Z the rows of each class are likeliest with.

        Its own, at ``here``, or one that rests on no rows yet: a seen class is where
        its rows are, and does not come back for those of another.
        """
        B, S = self._judged()
        own = np.flatnonzero(here)
        n, s = clusters(S.argmax(axis=1), B, len(own))
        sure = 1 / self.variances + own_rows[:, None]
        return rematched(n, s, Z, sure, own, own_rows == 0)

    def _judged(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of the sample, but for the background's, and their scores."""
        B = self._sample
        S = gaussian_scores(B, *self.means) + self.log_sizes - self.handicap
        if self.background is None:
            return B, S
        own = S.max(axis=1) >= self.background.scores(B) + self.log_beyond
        return B[own], S[own]

    def final(self, temperature: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the class number of every row and its tempered posterior."""
        state, (sizes,) = self.B.run(
            temper, self.means, self.known_sizes(), temperature
        )
        labelling = self.B.labelling(state, sizes)
        return labelling.codes, labelling.strength

    def note(self) -> str:
        """Say how far class means have moved."""
        held = f", {self.n_held} held back" if self.n_held else ""
        even = " Classes were held to like sizes." if 0 < self.pull < np.inf else ""
        return (
            f"Class means moved {np.sqrt(self.movement):.2f} of their prototypes' "
            f"spread{held}.{even}"
        )
