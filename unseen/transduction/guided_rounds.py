"""The rounds of :class:`GuidedMixture`: every one is a pass that adds up sums.

    x  (d,)      a row of unit length less the pile's mean, as the holder has it
    T  (d, r)    how rows are turned: the axes, in the last part also whitening
    b = unit(x T)           G  (r+1, r+1)   Gram matrix of all [b, 1]
    π  (K,)      shares of classes in the pass before, (n_c + 5) / (n + 5K)
    P  (K, d)    prototypes of unit length, less their mean
    Z = unit((P - Σ_c π_c P_c) T):  rows are centred by what is in the pile, and so
                 must names be; classes that are absent do not shift the others
    o  (K,)      what the pile's mean row says of each class, which centring drops
    V  (K, r+1)  scores of a row are [b, 1] Vᵀ;   u  (K,)  what sizes add to them

A pass (guided_passes.py) sums n_c, q_c, M over soft labels; the rest needs these sums
only. Spread of scores comes from G: with D the rows of V less their mean,
sd(V)² = tr(D G Dᵀ) / nK.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from unseen.core.base import LinearScorer, Round
from unseen.core.classes import Candidates
from unseen.core.linalg import to_unit
from unseen.progress import counted
from unseen.rows.holders import Holder
from unseen.transduction.guided_measures import (
    SMALL,
    evenness,
    mutual_neighbours,
    principal_axes,
    tightness,
)
from unseen.transduction.guided_passes import (
    Clusters,
    Pass,
    PassSums,
    carried,
    describe,
    soft_labels,
    turned,
    widened,
)
from unseen.transduction.guided_scores import as_scorer

START_SPREAD = 3.0  # sd of the scores that names start with
SETTLING = 5  # passes in which sizes settle before any mean is learned
SHARPNESS = (10.0, 40.0)  # of cosines, before and after whitening
LEAST_NAMES, MOST_NAMES = 0.35, 0.95  # the share of names there
# Cosine of names with the classes they make: they say too little to lead, they lead.
LEADING = (0.45, 0.65)
# Share of classes in use: sizes are free (weak names, strong ones), they are evened.
UNEVEN, EVEN = (0.7, 0.8), 0.95
LOUDEST = 10.0  # times its own spread, that a name is made as loud as others
PRIOR_ROWS = 5.0  # added to every class in means over classes
ENOUGH_ROWS = 20.0  # per class, for neighbours to have their full say
DOUBT = 1.5  # temperature of posteriors where rows are their names
DOUBT_POWER = 2 / 3  # of the cosine of rows and names, below that temperature
LEAST_AGREEMENT = 0.02  # of rows and names, for a temperature
DOUBT_ROWS = 0.5  # rows per class that might have been of any class


@dataclass
class Mixture:
    """The mixture in the middle of its rounds, and what it came to.

    Parameters
    ----------
    rows : Holder
        Rows of unit length less their mean.
    P : ndarray of shape (K, d)
        Unit prototypes less their mean.
    offset : ndarray of shape (K,)
        What the mean row says of each class: its products with P.
    plain, balance, whitening, n_neighbors, neighbor_weight
        As in :class:`GuidedMixture`.
    bounds : (float, float)
        ``loose`` and ``tight`` there.
    given : ndarray or list, optional
        Class number of every row that has a label, -1 for all others.
    """

    rows: Holder
    P: np.ndarray
    offset: np.ndarray
    plain: float
    balance: float
    whitening: float
    bounds: tuple[float, float]
    n_neighbors: int
    neighbor_weight: float
    given: Any = None
    u: np.ndarray = field(init=False)
    sums: PassSums = field(init=False)
    asked: Pass = field(init=False)
    names_share: float = field(init=False, default=MOST_NAMES)
    lead: float = field(init=False, default=1.0)
    tightness: float = field(init=False, default=0.0)
    evenness: float = field(init=False, default=0.0)
    agreement: float = field(init=False, default=1.0)
    clusters: Clusters | None = field(init=False, default=None)
    view_weights: None = field(init=False, default=None)  # there is one view
    turned_widths: None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.rows = self.rows.undivided()  # the graph joins all of them
        self.n, self.K = len(self.rows), len(self.P)
        self.u, self.graph = np.zeros(self.K), None
        self.shares = np.full(self.K, 1 / self.K)
        few = min(1.0, self.n / (ENOUGH_ROWS * self.K))
        self.weight = self.neighbor_weight * few
        self.axes = principal_axes(self.rows, self.P)
        self._look(self.axes)
        length = np.sqrt(np.mean(np.sum(self.P**2, axis=1)))
        self._offset_scale = 1 / max(length * self.length, SMALL)
        self.offset = self.offset * self._offset_scale
        self._spread_at_start = self._spread(widened(self.Z, 0))

    # ---- the two spaces ------------------------------------------------------------

    def _look(self, turn: np.ndarray | None) -> None:
        """Turn rows and names; sum what is needed to know how scores spread."""
        self.turn = turn
        _, (inner, edge, lengths) = self.rows.run(describe, turn)
        corner = np.array([[float(self.n)]])
        self.G = np.block([[inner, edge[:, None]], [edge[None], corner]])
        self.length = float(lengths) / self.n
        self.centre_names()
        if self.n_neighbors and self.weight > 0:
            turned_rows = turned(np.asarray(self.rows), {}, turn)
            self.graph = mutual_neighbours(turned_rows, self.n_neighbors)

    def centre_names(self) -> None:
        """Make Z and offsets: names less their mean, by the shares of classes."""
        self.middle = self.shares @ self.P
        around = self.P - self.middle
        self.Z = to_unit(around if self.turn is None else around @ self.turn)
        self._around_offset = self.offset - self.shares @ self.offset

    def whiten(self) -> None:
        """Make classes rounder."""
        turn = self.rounding_turn()
        self.turn_to(turn, self.carried(turn))

    def rounding_turn(self) -> np.ndarray:
        """Return Σ^(-½), Σ the scatter within soft classes, shrunk to its mean."""
        counts, _, M, _ = self.sums
        inner = self.G[:-1, :-1]
        within = (inner - (M.T / np.maximum(counts, SMALL)) @ M) / self.n
        values, basis = linalg.eigh(within)
        values = np.maximum(values, 0)
        mean = max(float(values.mean()), SMALL)
        root = (basis / np.sqrt(values + self.whitening * mean)) @ basis.T
        # Rows have unit length before they are whitened, too: a factor per row, which
        # the unit length after it takes away again.
        return root if self.axes is None else self.axes @ root

    def turn_to(self, turn: np.ndarray, totals: np.ndarray) -> None:
        """Look at rows turned another way; ``totals`` are their sums by soft labels."""
        self.sums = self.sums._replace(totals=totals)
        self._look(turn)

    def carried(self, turn: np.ndarray | None) -> np.ndarray:
        """Return sums of rows by the last soft labels, turned another way."""
        return self.rows.run(carried, self.asked, turn, states=self._states)[1][0]

    @property
    def _states(self) -> list[Any]:
        return [] if self.given is None else [self.given]

    # ---- passes --------------------------------------------------------------------

    def start(self) -> None:
        """Label by names alone, and let sizes settle."""
        for _ in range(SETTLING):
            self.centre_names()
            self.label(START_SPREAD * self.names(), judge=True)
        self.judge_share()

    def judge_share(self) -> None:
        """Say how far names lead, before anything was learned."""
        self.names_share = self._share_of_names(self._tightness())

    def label(self, V: np.ndarray, judge: bool = False) -> None:
        """Make a pass: soft labels by V, then what follows from their sums."""
        self.ask(V)
        state, sums = self.rows.run(soft_labels, self.asked, states=self._states)
        self.labelling = self.rows.labelling(state, sums[-1])
        self.take(PassSums(*sums), judge)

    def ask(self, V: np.ndarray) -> None:
        """Note what is asked in the next pass."""
        self.asked = Pass(
            self.turn,
            V,
            self.u,
            self.graph,
            self.weight,
            self.temperature,
            self.certain,
            self.clusters,
        )

    def take(self, sums: PassSums, judge: bool) -> None:
        """Take what a pass summed: sizes, and what they add in the next pass.

        In between, if asked to, judge how far names may lead.
        """
        self.sums, counts = sums, sums.counts
        self.shares = (counts + PRIOR_ROWS) / (self.n + PRIOR_ROWS * self.K)
        if judge:
            likeness = self._likeness(to_unit(self.sums.totals))
            weak, strong = LEADING
            self.lead = float(np.clip((likeness - weak) / (strong - weak), 0, 1))
        self.u = self._even_out()

    def _even_out(self) -> np.ndarray:
        """Take a step of unbalanced transport: the more even, the nearer to equal.

        ρ = 0 leaves sizes as they are, ρ = ∞ makes them equal. Strong names leave
        classes empty that are absent, weak names any.
        """
        self.evenness = evenness(self.sums.free)
        free = UNEVEN[0] + self.lead * (UNEVEN[1] - UNEVEN[0])
        share = (self.evenness - free) / (EVEN - free)
        rho = self.balance * float(np.clip(share, 0, 1))
        sizes = np.maximum(self.sums.counts, 1e-3) * self.K / self.n
        u = self.u + (-rho * np.log(sizes) - self.u) / (1 + rho)
        return u - u.mean()

    def _tightness(self) -> float:
        counts, squares, totals, _ = self.sums
        return tightness(counts, squares, totals, self.n)

    def _likeness(self, own: np.ndarray) -> float:
        """Return the mean cosine of names with unit class means."""
        return float(self.shares @ np.sum(own * self.Z, axis=1))

    def _share_of_names(self, t: float) -> float:
        """Return λ: names lead where rows of a class are loose, and names strong."""
        low, high = self.bounds
        loose = self.lead * float(np.clip((high - t) / (high - low), 0, 1))
        return LEAST_NAMES + loose * (MOST_NAMES - LEAST_NAMES)

    def learn(self, sharpness: float) -> np.ndarray:
        """Return V from the sums of the last pass."""
        M = self.sums.totals
        self.centre_names()
        self.tightness = t = self._tightness()
        self.names_share = self._share_of_names(t)
        own = to_unit(M)
        self.agreement = r = float(np.clip(self._likeness(own), 0, 0.95))
        # A class mean has length t and lies t sqrt(1 - r²) off its name; rows lie
        # sqrt(1 - t²) off their mean. So a name is worth this many rows:
        self.worth = (1 - t * t) / max(t * t * (1 - r * r), 1e-3)
        means = M + self.worth * r * t * self.Z
        lengths = np.linalg.norm(means, axis=1)
        means, share = to_unit(means), self.names_share
        self.clusters = Clusters(means, lengths, sharpness * (1 - share))
        self._names_say = share * self._spread(widened(own, 0))
        V = self._names_say * self.names()
        V[:, :-1] += (1 - share) * means
        self._sharpness = sharpness
        return sharpness * V

    def names(self) -> np.ndarray:
        """Return V of the names alone, at unit spread."""
        Z = self.Z if self.given is None else self._evened()
        change = self._spread(widened(Z, 0)) / self._spread_at_start
        V = widened(Z, self.plain * change * self._around_offset)
        spread = self._spread(V)
        factor = self.plain * change * self._offset_scale
        self._name_factors = 1 / spread, factor / spread
        return V / spread

    def _evened(self) -> np.ndarray:
        """Return names at lengths with which the scores of all spread alike.

        Rows lie along few directions, and so do prototypes that given rows corrected:
        their scores spread wider than those of other names, and would win more rows. A
        name that lies across all rows says nothing, however loud.
        """
        inner = np.einsum("ij,ij->i", self.Z @ self.G[:-1, :-1], self.Z)
        spread = np.sqrt(np.maximum(inner / self.n, SMALL**2))
        return self.Z * np.minimum(np.median(spread) / spread, LOUDEST)[:, None]

    def pull(self) -> list[tuple[float, float]]:
        """Return what a class without rows has in V: times Z, and times its offset."""
        direction, offset = (self._names_say * f for f in self._name_factors)
        direction += 1 - self.names_share
        return [(self._sharpness * direction, self._sharpness * offset)]

    def scorer(self) -> LinearScorer:
        """Return how rows are scored that have unit length after turning."""
        return as_scorer(self.asked.V, self.asked.u, self.turn)

    @property
    def parts(self) -> list[Mixture]:
        """The mixtures of all views: of one there is this."""
        return [self]

    @property
    def temperature(self) -> float:
        """Of posteriors: the less rows and their names agree, the less is certain.

        A row has the cosine t with its class, which has the cosine r with its name.
        """
        return doubt(self.agreement * self.tightness)

    @property
    def certain(self) -> float:
        """Of posteriors: a handful of rows cannot make anything certain."""
        return self.n / (self.n + DOUBT_ROWS * self.K)

    def _spread(self, V: np.ndarray) -> float:
        D = V - V.mean(axis=0)
        square = np.einsum("ij,ij->", D @ self.G, D) / (self.n * self.K)
        return float(np.sqrt(max(square, SMALL**2)))


def doubt(likeness: float) -> float:
    """Return the temperature of posteriors where rows have this cosine with names."""
    return DOUBT / max(likeness, LEAST_AGREEMENT) ** DOUBT_POWER


# ---- all rounds ----------------------------------------------------------------------


def all_rounds(
    mixture: Any, competition: Candidates, most: int, tol: float
) -> tuple[list[Round], bool]:
    """Make the rounds of both parts; tell them, and whether labels settled.

    ``mixture`` is a Mixture, or one of several views. Where names lead alone there is
    nothing to learn before whitening.
    """
    soft, sharp = SHARPNESS
    rounds: list[Round] = []
    mixture.start()
    if mixture.names_share < MOST_NAMES:
        part(mixture, competition, soft, most, tol, rounds)
    mixture.whiten()
    return rounds, part(mixture, competition, sharp, most, tol, rounds)


def part(mixture, competition, sharpness, most, tol, rounds: list[Round]) -> bool:
    """Make rounds until at most a share ``tol`` of labels changes: tell if so."""
    for _ in counted("rounds", range(most)):
        before = mixture.labelling
        mixture.label(mixture.learn(sharpness))
        n_changed = mixture.labelling.n_other(before)
        rounds.append(round_of(mixture, competition, n_changed))
        if n_changed <= tol * mixture.n:
            return True
    return False


# ---- what is reported ----------------------------------------------------------------


def round_of(mixture: Mixture, competition: Candidates, n_changed: int) -> Round:
    """Tell a round."""
    codes = mixture.labelling.codes
    counts = np.bincount(codes, minlength=mixture.K)
    return Round(
        1.0,
        competition.count(counts),
        n_changed,
        float("nan"),
        mixture.labelling.named(competition.names),
        f"Names count {mixture.names_share:.2f}.",
        mixture.n,
    )
