"""The rounds of :class:`GuidedMixture`: every one is a pass that adds up sums.

    x  (d,)      a row of unit length less the pile's mean, as the holder has it
    T  (d, r)    how rows are turned: the axes, in the second half also whitening
    b = unit(x T)           G  (r+1, r+1)   Gram matrix of all [b, 1]
    P  (K, d)    prototypes of unit length, less their mean; Z = unit(P T)
    o  (K,)      what the pile's mean row says of each class, which centring drops
    V  (K, r+1)  scores of a row are [b, 1] Vᵀ;   u  (K,)  what sizes add to them

A pass makes  L = [b, 1] Vᵀ + κ W R  and  R = softmax(L + u)  and sums

    n_c = Σ_i R_ic,   q_c = Σ_i R_ic²,   M = Rᵀ B,   and the labels argmax L.

The rest needs these sums only. Spread of scores comes from G: with D the rows of V
less their mean, sd(V)² = tr(D G Dᵀ) / nK.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.special import softmax

from unseen._linalg import inverse_lengths, unit_rows
from unseen.competition import Competition
from unseen.models.scoring import LinearScorer
from unseen.rows.holders import Holder
from unseen.rows.labelling import RowState
from unseen.transduction.guided_measures import (
    SMALL,
    evenness,
    mutual_neighbours,
    principal_axes,
    tightness,
)
from unseen.transduction.rounds import Round

START_SPREAD = 3.0  # sd of the scores that names start with
SETTLING = 5  # passes in which sizes settle before any mean is learned
SHARPNESS = (10.0, 40.0)  # of cosines, before and after whitening
LEAST_NAMES, MOST_NAMES = 0.35, 0.95  # the share of names there
UNEVEN, EVEN = 0.7, 0.95  # share of classes in use: sizes are free, sizes are evened
PRIOR_ROWS = 5.0  # added to every class in means over classes
ENOUGH_ROWS = 10.0  # per class, for neighbours to have their full say
DOUBT = 0.9  # temperature of posteriors where rows are their names
LEAST_AGREEMENT = 0.02  # of rows and names, for a temperature
LITTLE = 1e-4  # soft labels below this shape no mean


class PassSums(NamedTuple):
    """What a pass adds up; see the head of this file."""

    counts: np.ndarray
    squares: np.ndarray
    totals: np.ndarray
    free: np.ndarray


class Clusters(NamedTuple):
    """Class means in V: unit directions, lengths, and what their cosines count."""

    units: np.ndarray
    lengths: np.ndarray
    factor: float


class Pass(NamedTuple):
    """What every block is asked in a pass."""

    turn: np.ndarray | None
    V: np.ndarray
    u: np.ndarray
    graph: sparse.csr_array | None
    weight: float
    temperature: float
    clusters: Clusters | None


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
    tightness: float = field(init=False, default=0.0)
    evenness: float = field(init=False, default=0.0)
    agreement: float = field(init=False, default=1.0)
    clusters: Clusters | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.rows = self.rows.undivided()  # the graph joins all of them
        self.n, self.K = len(self.rows), len(self.P)
        self.u, self.graph = np.zeros(self.K), None
        few = min(1.0, self.n / (ENOUGH_ROWS * self.K))
        self.weight = self.neighbor_weight * few
        self.axes = principal_axes(self.rows, self.P)
        self._look(self.axes)
        length = np.sqrt(np.mean(np.sum(self.P**2, axis=1)))
        self._offset_scale = 1 / max(length * self.length, SMALL)
        self.offset = (self.offset - self.offset.mean()) * self._offset_scale
        self._spread_at_start = self._spread(widened(self.Z, 0))

    # ---- the two spaces ------------------------------------------------------------

    def _look(self, turn: np.ndarray | None) -> None:
        """Turn rows and names; sum what is needed to know how scores spread."""
        self.turn = turn
        _, (inner, edge, lengths) = self.rows.run(describe, turn)
        corner = np.array([[float(self.n)]])
        self.G = np.block([[inner, edge[:, None]], [edge[None], corner]])
        self.length = float(lengths) / self.n
        self.Z = unit_rows(self.P if turn is None else self.P @ turn)
        if self.n_neighbors and self.weight > 0:
            turned_rows = turned(np.asarray(self.rows), {}, turn)
            self.graph = mutual_neighbours(turned_rows, self.n_neighbors)

    def whiten(self) -> None:
        """Make classes rounder: Σ = scatter within soft classes, shrunk to its mean."""
        counts, _, M, _ = self.sums
        inner = self.G[:-1, :-1]
        within = (inner - (M.T / np.maximum(counts, SMALL)) @ M) / self.n
        values, basis = linalg.eigh(within)
        values = np.maximum(values, 0)
        mean = max(float(values.mean()), SMALL)
        root = (basis / np.sqrt(values + self.whitening * mean)) @ basis.T
        # Rows have unit length before they are whitened, too: a factor per row, which
        # the unit length after it takes away again.
        turn = root if self.axes is None else self.axes @ root
        _, (totals,) = self.rows.run(carried, self.asked, turn, states=self._states)
        self.sums = self.sums._replace(totals=totals)
        self._look(turn)

    @property
    def _states(self) -> list[Any]:
        return [] if self.given is None else [self.given]

    # ---- passes --------------------------------------------------------------------

    def start(self) -> None:
        """Label by names alone, and let sizes settle."""
        names = self._names()
        for _ in range(SETTLING):
            self.label(START_SPREAD * names)

    def label(self, V: np.ndarray) -> None:
        """Make a pass: soft labels by V, then what sizes add in the next pass."""
        self.asked = Pass(
            self.turn,
            V,
            self.u,
            self.graph,
            self.weight,
            self.temperature,
            self.clusters,
        )
        state, sums = self.rows.run(soft_labels, self.asked, states=self._states)
        self.sums = PassSums(*sums)
        self.labelling = self.rows.labelling(state, self.sums.free)
        self.u = self._even_out()

    def _even_out(self) -> np.ndarray:
        """Take a step of unbalanced transport: the more even, the nearer to equal.

        ρ = 0 leaves sizes as they are, ρ = ∞ makes them equal.
        """
        self.evenness = evenness(self.sums.free)
        share = (self.evenness - UNEVEN) / (EVEN - UNEVEN)
        rho = self.balance * float(np.clip(share, 0, 1))
        sizes = np.maximum(self.sums.counts, 1e-3) * self.K / self.n
        u = self.u + (-rho * np.log(sizes) - self.u) / (1 + rho)
        return u - u.mean()

    def learn(self, sharpness: float) -> np.ndarray:
        """Return V from the sums of the last pass."""
        counts, squares, M, _ = self.sums
        self.tightness = t = tightness(counts, squares, M, self.n)
        low, high = self.bounds
        loose = (high - t) / (high - low) * (MOST_NAMES - LEAST_NAMES)
        self.names_share = float(np.clip(LEAST_NAMES + loose, LEAST_NAMES, MOST_NAMES))
        own = unit_rows(M)
        shares = (counts + PRIOR_ROWS) / (self.n + PRIOR_ROWS * self.K)
        r = float(np.clip(shares @ np.sum(own * self.Z, axis=1), 0, 0.95))
        self.agreement = r
        # A class mean has length t and lies t sqrt(1 - r²) off its name; rows lie
        # sqrt(1 - t²) off their mean. So a name is worth this many rows:
        self.worth = (1 - t * t) / max(t * t * (1 - r * r), 1e-3)
        means = M + self.worth * r * t * self.Z
        lengths = np.linalg.norm(means, axis=1)
        means, share = unit_rows(means), self.names_share
        self.clusters = Clusters(means, lengths, sharpness * (1 - share))
        self._names_say = share * self._spread(widened(own, 0))
        V = self._names_say * self._names()
        V[:, :-1] += (1 - share) * means
        self._sharpness = sharpness
        return sharpness * V

    def _names(self) -> np.ndarray:
        """Return V of the names alone, at unit spread."""
        change = self._spread(widened(self.Z, 0)) / self._spread_at_start
        V = widened(self.Z, self.plain * change * self.offset)
        spread = self._spread(V)
        factor = self.plain * change * self._offset_scale
        self._name_factors = 1 / spread, factor / spread
        return V / spread

    def pull(self) -> tuple[float, float]:
        """Return what a class without rows has in V: times Z, and times its offset."""
        direction, offset = (self._names_say * f for f in self._name_factors)
        direction += 1 - self.names_share
        return self._sharpness * direction, self._sharpness * offset

    @property
    def temperature(self) -> float:
        """Of posteriors: the less rows and their names agree, the less is certain.

        A row has the cosine t with its class, which has the cosine r with its name.
        """
        return DOUBT / max(self.agreement * self.tightness, LEAST_AGREEMENT)

    def _spread(self, V: np.ndarray) -> float:
        D = V - V.mean(axis=0)
        square = np.einsum("ij,ij->", D @ self.G, D) / (self.n * self.K)
        return float(np.sqrt(max(square, SMALL**2)))


def widened(Z: np.ndarray, last: Any) -> np.ndarray:
    """Return Z with one more column."""
    return np.column_stack([Z, np.broadcast_to(last, len(Z))])


# ---- what is asked of a block --------------------------------------------------------


def turned(block: np.ndarray, kept: dict, turn: np.ndarray | None) -> np.ndarray:
    """Return the rows turned, at unit length; memory keeps them between passes."""
    if "rows" not in kept or kept["turn"] is not turn:
        kept["turn"], kept["rows"] = (
            turn,
            unit_rows(block if turn is None else block @ turn),
        )
    return kept["rows"]


def describe(block, kept, turn):
    """Sum products and entries of turned rows, and the lengths of rows."""
    B = turned(block, kept, turn)
    lengths = np.sqrt(np.einsum("ij,ij->i", block, block)).sum()
    return None, (B.T @ B, B.sum(axis=0), lengths)


def soft_labels(block, kept, asked: Pass, given=None):
    """Return labels and reliability of a block, and the sums of a pass."""
    B = turned(block, kept, asked.turn)
    L, R = posteriors(B, kept, asked, given)
    free = (L - asked.u).argmax(axis=1)
    codes = L.argmax(axis=1)
    alone = without_own(L, R, B, asked.clusters)
    reported = softmax(alone / asked.temperature, axis=1)[np.arange(len(L)), codes]
    if given is not None:
        known = given >= 0
        codes[known], reported[known] = given[known], 1
    kept["soft"] = R
    K = R.shape[1]
    small = codes.astype(np.min_scalar_type(K))
    squares = np.einsum("ij,ij->j", R, R)
    sums = R.sum(axis=0), squares, R.T @ B, np.bincount(free, minlength=K)
    return RowState(small, reported, small, reported), sums


def posteriors(B, kept, asked: Pass, given) -> tuple[np.ndarray, np.ndarray]:
    """Return L + u and R of turned rows; what is given is certain."""
    L = B @ asked.V[:, :-1].T + asked.V[:, -1] + asked.u
    if asked.graph is not None and "soft" in kept:
        L += asked.weight * (asked.graph @ kept["soft"])
    R = softmax(L, axis=1)
    if given is not None:
        rows = np.flatnonzero(given >= 0)
        R[rows] = 0
        R[rows, given[rows]] = 1
    return L, R


def without_own(L, R, B, clusters: Clusters | None) -> np.ndarray:
    """Return L as if no row had shaped the means it is compared with.

    A row of weight R adds R b to a mean m. Without it, with s = b·m / |m|, its cosine
    is (|m| s - R) / sqrt(|m|² - 2 R |m| s + R²): what is left is known in closed form.
    """
    if clusters is None:
        return L
    L = L.copy()
    units, lengths, factor = clusters
    for c, length in enumerate(lengths):
        rows = np.flatnonzero(R[:, c] > LITTLE)
        share, s = R[rows, c], B[rows] @ units[c]
        rest = np.sqrt(np.maximum(length**2 - 2 * share * length * s + share**2, SMALL))
        L[rows, c] += factor * ((length * s - share) / rest - s)
    return L


def carried(block, kept, asked: Pass, turn, given=None):
    """Sum rows by the soft labels of the last pass, turned another way."""
    if "soft" not in kept:  # nothing is kept of files and clusters: made once more
        B = turned(block, kept, asked.turn)
        kept["soft"] = posteriors(B, kept, asked, given)[1]
    return None, (kept["soft"].T @ turned(block, kept, turn),)


# ---- what is reported ----------------------------------------------------------------


def round_of(mixture: Mixture, competition: Competition, n_changed: int) -> Round:
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


# ---- new rows ------------------------------------------------------------------------


def as_scorer(V: np.ndarray, u: np.ndarray, turn: np.ndarray | None) -> LinearScorer:
    """Return V as coefficients of rows before they are turned, and intercepts."""
    coef = V[:, :-1] if turn is None else V[:, :-1] @ turn.T
    return LinearScorer(coef, V[:, -1] + u)


def turned_scores(
    X: np.ndarray, scorer: LinearScorer, mean: np.ndarray, turn: np.ndarray | None
) -> np.ndarray:
    """Return scores of unit rows less the mean, turned, at unit length again."""
    rows = unit_rows(X) - mean.astype(X.dtype)
    turn = None if turn is None else turn.astype(X.dtype)
    around = rows if turn is None else rows @ turn
    scores = rows @ scorer.coef.T.astype(X.dtype) * inverse_lengths(around)[:, None]
    return scores + scorer.intercept.astype(X.dtype)
