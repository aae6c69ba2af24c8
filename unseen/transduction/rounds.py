"""Self-training in rounds: label, refit, again.

    label the rows → keep the best share of each predicted class → refit, anchored to
    the model before → label again, with a larger share

The strategy is the paper's (its Table V puts it around CCA, ESZSL and JEDM). What a
refit is, the model knows (``_refit``); the rounds are here. Where the rows are, in
memory, in a file or on a cluster, is no matter.

Our own methods keep all rows, with soft labels R (n, K) (:class:`SoftLabels`). They
share two measures of classes, from n_c = Σ_i R_ic:

    u_c ← u_c + (-ρ log(n_c K / n) - u_c) / (1 + ρ)     evens sizes: ρ = 0 leaves them
    E_c = -Σ_i log(1 - R_ic)                            free; what rows lose without c
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from scipy.special import logsumexp

from unseen.core.around import Around
from unseen.core.classes import Candidates
from unseen.core.given import GivenRows
from unseen.core.linalg import one_thread
from unseen.core.on_axes import View
from unseen.core.outcome import Outcome, Round, rank_within
from unseen.core.params import Model, Numbers, Positive, Rounding
from unseen.core.rows import Rows, Unlabelled
from unseen.progress import counted

# Turns rate * n_predicted, of all classes, into numbers of rows.
ROUNDING: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "floor": np.floor,
    "nearest": lambda rows: np.floor(rows + 0.5),
    "at_least_one": lambda rows: np.maximum(1, np.floor(rows)),
}
PAPER_RATES = (0.4, 0.6, 0.8, 1.0)


def self_train(
    model,
    unlabelled: Unlabelled,
    candidates: Candidates,
    given: GivenRows | None,
    lam: float,
    mu: float,
    rates: Sequence[float] | np.ndarray,
    rounding: str,
    until_settled: bool = False,
) -> Outcome:
    """Run one round per rate around a fitted model; given rows are always kept.

    With ``until_settled``, once all are kept, stop when no label changes.
    """
    view = model._view(unlabelled, candidates)
    known = np.full(len(view.B), -1) if given is None else given.codes
    state, rounds = model._state(), []
    ranked, reported = label(model, state, view, known)
    # The refits are small: more threads would only wait for each other.
    with one_thread():
        for rate in counted("self-training", list(checked_rates(rates))):
            codes, confidence = ranked
            kept = trusted(codes, confidence, rate, rounding, known)
            sums = view.B.sums(kept, len(candidates))
            state, objective = model._refit(state, view.A, sums, lam, mu)
            before = reported
            ranked, reported = label(model, state, view, known)
            n_changed = int(np.count_nonzero(reported[0] != before[0]))
            names = candidates.names[reported[0]] if view.B.keeps_labels else None
            counts = candidates.count(sums.counts.astype(int))
            done = (float(rate), counts, n_changed, objective, names, "", len(view.B))
            rounds.append(Round(*done))
            if until_settled and rate == 1 and not n_changed:
                break
    scorer = model._reported(state, view)
    [(codes, confidence)] = view.B.best(scorer) if given is not None else [reported]
    rule = model._adapted_rule(candidates, scorer, view)
    return Outcome(codes, confidence, rounds, rule)


def label(model, state, view: View, known: np.ndarray) -> list[tuple]:
    """Return (class numbers, confidence) by which rows are ranked, and reported."""
    found = view.B.best(model._score(state, view.A), model._reported(state, view))
    given = known >= 0  # kept, and surer than anything else
    return [
        (np.where(given, known, codes), np.where(given, np.inf, score))
        for codes, score in found
    ]


def trusted(
    codes: np.ndarray,
    confidence: np.ndarray,
    rate: float,
    rounding: str,
    known: np.ndarray,
) -> np.ndarray:
    """Return labels of the surest share of each class, and of given rows; else -1."""
    order, place, sizes = rank_within(codes, confidence)
    quota = np.minimum(ROUNDING[rounding](rate * sizes), sizes)
    given = np.bincount(known[known >= 0], minlength=len(sizes))[: len(sizes)]
    quota = np.maximum(quota, given)
    kept = order[place < quota[codes[order]]]
    chosen = np.full(len(codes), -1)
    chosen[kept] = codes[kept]
    return chosen


def checked_rates(rates: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the rates as an array, or say which of them is not a share."""
    rates = np.asarray(rates, dtype=np.float64)
    if rates.ndim != 1 or not ((rates > 0) & (rates <= 1)).all():
        raise ValueError(f"rates={rates.tolist()} must be a list of shares in (0, 1].")
    return rates


@dataclass(eq=False, repr=False)
class SelfTraining(Around):
    """Let a zero-shot model teach itself on unlabelled rows.

    Parameters
    ----------
    estimator : zero-shot model
        Cloned, never changed. Any model takes part that says how it learns from
        self-labelled rows; see the Notes.
    lam : float, default=1.0
        Weight of the pull of self-labelled rows to the prototype of their label.
    mu : float, default=1.0
        Weight of the pull to the model before.
    rates : sequence of float in (0, 1], default=(0.4, 0.6, 0.8, 1.0)
        Share of each predicted class that is kept, one round each.
    rounding : {'floor', 'nearest', 'at_least_one'}, default='nearest'
        How a share becomes a number of rows.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    labels_, reliability_, rounds_
        Left by ``adapt``: the label of every unlabelled row after the last round; how
        probable it is that it is right, by its rank among the rows of the same label;
        and what each round did.

    Notes
    -----
    A model of your own inherits from ``unseen.core.on_axes.OnAxes`` and has
    ``_refit(state, A, sums, lam, mu)``; the user guide shows one.

    Examples
    --------
    >>> from unseen import ESZSL, SelfTraining, load_data
    >>> data = load_data("photos-200")
    >>> model = SelfTraining(ESZSL()).fit(data.X_seen, data.y_seen,
    ...                                   class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Learned from ... of 1,000 rows (rate 0.4); ... labels changed.
    """

    estimator: Model
    _: KW_ONLY
    lam: Positive = 1.0
    mu: Positive = 1.0
    rates: Numbers = PAPER_RATES
    rounding: Rounding = "nearest"

    _adapt_parameters = frozenset({"lam", "mu", "rates", "rounding"})

    def _estimator(self):
        model = super()._estimator()
        if not hasattr(model, "_refit") or not model._can_adapt():
            raise TypeError(
                f"SelfTraining needs a refit to self-labelled rows, which {model} "
                "lacks. Give a model that has one, as ESZSL, CCA or JEDM."
            )
        return model

    def _streams(self) -> bool:
        return self.estimator_._streams()

    def _adapt(self, unlabelled, candidates, given):
        how = self.lam, self.mu, self.rates, self.rounding
        return self_train(self.estimator_, unlabelled, candidates, given, *how)


# ---- soft labels -------------------------------------------------------------------


class SoftLabels:
    """Rounds over rows: ``refit`` learns from labels, and labels anew."""

    codes: np.ndarray  # (n,) labels
    counts: np.ndarray  # (K,) n_c
    sums: np.ndarray  # (K, r) Σ R b
    settled = False
    objective = float("nan")

    def __init__(self, rows: Rows, candidates: Candidates, given: GivenRows | None):
        self.rows, self.candidates = rows, candidates
        self.n, self.K = len(rows), len(candidates)
        self.given = np.full(self.n, -1) if given is None else given.codes
        self.u = np.zeros(self.K)

    def refit(self, temperature: float) -> None:
        """Learn class means from soft labels, and label by them."""
        raise NotImplementedError

    def run(
        self, temperatures: tuple[float, ...], max_rounds: int, tol: float
    ) -> list[Round]:
        """Make rounds until labels stay at the last temperature; say what each did."""
        rounds: list[Round] = []
        for number in counted("rounds", range(1, max_rounds + 1)):
            before, last = self.codes, len(temperatures) - 1
            self.refit(temperatures[min(number, last)])
            rounds.append(self.round(before))
            few = rounds[-1].n_changed <= tol * self.n
            self.settled = few and number > last
            if self.settled:
                break
        return rounds

    def round(self, before: np.ndarray, note: str = "") -> Round:
        """Return what came of labels ``before``; many have no names kept."""
        made = self.candidates, before, self.codes, self.objective, note
        done = Round.of_all(*made)
        if self.rows.keeps_labels:
            return done
        return replace(done, labels=None, n_rows=self.n)

    def stopped_because(self, n_rounds: int) -> str:
        """Say why there was no other round."""
        if self.settled:
            return "The labels no longer changed."
        return f"{n_rounds} rounds were made."


def evened(u: np.ndarray, shares: np.ndarray, pull: float) -> np.ndarray:
    """Return log sizes u a step nearer to the same share for all; ``pull`` is ρ."""
    return u + (-pull * np.log(shares * len(u)) - u) / (1 + pull)


def evidence(R: np.ndarray, least: float = 1e-4) -> np.ndarray:
    """Return E_c of every class, no row counting more than -log(least)."""
    return -np.log(np.maximum(1 - R, least)).sum(axis=0)


def best_of_softmax(S: np.ndarray) -> np.ndarray:
    """Return the largest of softmax(S) of every row."""
    return np.exp(S.max(axis=1) - logsumexp(S, axis=1))
