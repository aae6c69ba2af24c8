"""The rounds of anchored self-training, and how sure of its labels it may be.

Letters as in anchored.py, which brings rows on axes, prototypes Z and how far these are
off.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import softmax

from unseen.core.base import (
    LinearRule,
    LinearScorer,
    Outcome,
    Round,
    ZeroShotClassifier,
)
from unseen.core.classes import Candidates, checked_prior
from unseen.rows.holders import Holder
from unseen.transduction.anchored_absent import (
    effective_number,
    relative_to_effective,
    to_drop,
)
from unseen.transduction.anchored_given import with_given
from unseen.transduction.anchored_learner import AnchoredLearner
from unseen.transduction.anchored_look import Background, gaussian_scores, posteriors

TEMPERATURES = np.geomspace(0.5, 64, 29)
THERE = 0.3  # of the rows of an effective class: a class with fewer is hardly there
MOST_PASSES = 12  # in which absent classes are dropped, and some come back
OUTWEIGHS = 0.5  # weight of the pile from which on it may judge who is needed


class WeakStartWarning(UserWarning):
    """The inductive answer was a poor teacher: look at some labels by hand."""


class AnchoredRounds(ZeroShotClassifier):
    """The part of the estimator that runs the rounds and answers for the pile."""

    axes_: np.ndarray
    mean_: np.ndarray
    variance_: float
    variances_: np.ndarray
    _temperature: float
    _seen_means: np.ndarray
    _seen_names: np.ndarray

    def _learner(
        self, B: Holder, competition, Z, rows, q=1.0, given=None, n_measured=1.0
    ) -> AnchoredLearner:
        variances, anchors = self.variances_, None
        handicap = self.handicap * (rows > 0)  # of classes with rows of their own
        if given is not None:
            anchors = with_given(
                B, Z, variances, rows, given, kappa=self.kappa, n_measured=n_measured
            )
            Z, variances, rows = anchors.Z, anchors.variances, anchors.own_rows
        return AnchoredLearner(
            B,
            competition,
            Z,
            variances,
            own_rows=rows,
            kappa=self.kappa,
            radius=self.radius,
            prior_rows=self.prior_rows,
            class_prior=checked_prior(self.class_prior, competition),
            q=q,
            anchors=anchors,
            handicap=handicap,
            background=self._background() if self.beside_unknown else None,
        )

    def _taught(
        self, B: Holder, competition: Candidates, given=None
    ) -> AnchoredLearner:
        """Run the rounds, anew from the prototypes while absent classes are dropped."""
        others = self.beside_seen or self.beside_unknown or self.drop_absent
        if self.class_prior is not None and others:
            raise ValueError(
                "class_prior gives sizes of the classes on offer; beside_seen=True, "
                "beside_unknown=True and drop_absent=True change who takes part. Leave "
                "one of them out."
            )
        if given is not None and self.drop_absent:
            raise ValueError(
                "Given labels say that their classes are there, and drop_absent=True "
                "may drop them. Leave one of them out."
            )
        offered, beside = competition, self._beside(competition)
        here, met = np.ones(len(offered), dtype=bool), []
        for _ in range(MOST_PASSES):
            competition = offered.only(here)
            met.append((here.tolist(), len(beside)))
            learner = self._start(B, competition, beside, given)
            before = learner.mean_confidence(np.array([self._temperature]))[0]
            self._teach(learner)
            here, beside = self._there(learner, offered, here, beside)
            if (here.tolist(), len(beside)) in met:
                break
        self._temperature_after(before, learner)
        return learner

    def _there(
        self,
        learner: AnchoredLearner,
        offered: Candidates,
        here: np.ndarray,
        beside: Candidates,
    ) -> tuple[np.ndarray, Candidates]:
        """Return who of the list takes part next, and who beside them."""
        n, now, drop = int(here.sum()), here.copy(), self._absent(learner)
        if drop.any() and not drop[:n].all():
            now[here] = ~drop[:n]
            return now, beside.only(~drop[n:])
        if n < len(offered):  # the rows of those left may be those of one who went
            Z, rows = self._prototypes(offered)
            now[:] = False
            now[learner.rematched(Z, rows, here)] = True
        return now, beside

    def _absent(self, learner: AnchoredLearner) -> np.ndarray:
        """Return the classes to drop before the rounds start again."""
        if not (self.drop_absent and self.adapted_):
            return np.zeros(len(learner.Z), dtype=bool)
        drop = to_drop(learner.losses(), learner.totals.counts)
        # A pile that weighs less than the prototypes cannot say which are wrong.
        if not drop.any() and self.weight_ >= OUTWEIGHS:
            drop = learner.unneeded()
        return drop

    def _beside(self, competition: Candidates) -> Candidates:
        """Return the seen classes that take part in rounds without being on offer."""
        table = self._table
        asked = np.isin(table.names, competition.columns)
        chosen = table.seen & ~asked & self.beside_seen
        return Candidates(table.names[chosen], table.embeddings[chosen])

    def _start(
        self, B: Holder, competition: Candidates, beside: Candidates, given
    ) -> AnchoredLearner:
        """Return the learner at the prototypes of all classes that take part."""
        Z, rows = self._prototypes(competition)
        if len(beside):
            others, theirs = self._prototypes(beside)
            Z, rows = np.vstack([Z, others]), np.append(rows, theirs)
        n_measured = len(self._seen_names)
        return self._learner(B, competition, Z, rows, self._metric(), given, n_measured)

    def _teach(self, learner: AnchoredLearner) -> None:
        """Run the rounds, or keep the start; say why."""
        start, n_rows = learner.labelling, learner.n_rows
        per_class = n_rows / effective_number(learner.totals.counts)
        worth = self.kappa / max(self.variance_, 1e-9)
        self.weight_ = per_class / (per_class + worth)
        self.adapted_ = len(learner.Z) > 1
        if not self.adapted_:
            why = "Kept the inductive answer: one class competes."
            self.stopped_because_ = why
            none = np.zeros(len(learner.competition.columns), dtype=int)
            labels = start.named(learner.competition.names)
            self.rounds_ = [Round(0.0, none, 0, -learner.J(), labels, why, n_rows)]
            return
        self.rounds_ = learner.learn(self.max_rounds, self.tol)
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

    def background_evidence(self, X) -> np.ndarray:
        """Return how likely rows are under one broad class, and how long they are.

        The broad class is as wide as the seen class means scatter, C (M, r)::

            log N(b; 0, I + CᵀC/M) - log N(b; 0, I)      on the scale of scores
            |b|² / 2r

        and the first again on the scale of scores before adapting (anchored_look.py).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 3)
        """
        pile = self._unlabelled(X)
        B = pile.on_axes(self.axes_, self.unit_rows) - self.mean_ @ self.axes_
        broad = self._background()
        lengths = (B * B).mean(axis=1) / 2
        return np.column_stack([broad.scores(B), lengths, broad.start_scores(B)])

    def _background(self) -> Background:
        return Background.of(self._seen_means, self._metric())

    def _probabilities(self, competition: Candidates, scores) -> np.ndarray:
        adapted = self._adapted is not None
        T = self._pile_temperature if adapted else self._temperature
        return competition.count(softmax(scores / T, axis=1))

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

    def _answer(self, learner: AnchoredLearner) -> Outcome:
        if self.adapted_:
            scorer = self._linear(learner.m)
        else:
            scorer = self._linear(learner.Z, self._metric())
        scorer = LinearScorer(scorer.coef, scorer.intercept + learner.known_sizes())
        here = learner.offered
        scorer = LinearScorer(scorer.coef[here], scorer.intercept[here])
        rule = LinearRule(learner.competition, scorer, self.unit_rows)
        counts = learner.totals.counts[here]
        there = relative_to_effective(counts) >= THERE
        self.present_classes_ = learner.competition.names[there]
        self.class_shares_ = counts[there] / counts[there].sum()
        codes, reliability = learner.final(self._pile_temperature)
        return Outcome(codes, reliability, self.rounds_, rule, calibrated=True)


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
            evidence = posteriors(L / T)[1]
            loss[i] += (evidence - L[np.arange(len(truth)), truth] / T).mean()
    return float(TEMPERATURES[loss.argmin()])
