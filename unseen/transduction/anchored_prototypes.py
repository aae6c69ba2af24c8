"""Anchored self-training that starts from prototypes, without any seen class.

    X  (n, p)   the pile            P  (N, p)   a prototype per class, as of its name

Cosines of rows and prototypes, each centred by its own mean, give the first labels.
The clearest of them stand in for labelled rows: they whiten the space, scale the
prototypes there and measure v. Then the rounds are those of anchored.py.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import softmax

from unseen.core.base import (
    LinearRule,
    LinearScorer,
    Outcome,
    Round,
    finite,
    linear_scores,
)
from unseen.core.classes import ClassTable, read_table
from unseen.core.given import GivenRows
from unseen.core.linalg import inverse_lengths
from unseen.core.params import fit_context
from unseen.core.rows import Unlabelled
from unseen.core.sums import Reduced, sum_rows
from unseen.rows.holders import MemoryRows
from unseen.rows.labelling import Labelling, margin
from unseen.transduction.anchored_look import gaussian_scores
from unseen.transduction.anchored_rounds import AnchoredRounds
from unseen.transduction.given_prototypes import corrected_prototypes
from unseen.transduction.rounds import ROUNDING

SEEN_ONLY = (
    "whitening",
    "kernels",
    "equal_prototypes",
    "by_direction",
    "handicap",
    "beside_seen",
    "beside_unknown",
)
MIN_WEIGHT = 0.2  # of rows against prototypes that nothing vouches for, to adapt at all


class FromPrototypes(AnchoredRounds):
    """The part of the estimator that can do without seen classes."""

    @classmethod
    def from_prototypes(cls, prototypes, **parameters) -> Self:
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
    def fit_prototypes(self, prototypes) -> Self:
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
        self._ready(ClassTable(names, rows, unseen, widths))
        return self._note_features(rows)

    @property
    def starts_from_prototypes(self) -> bool:
        """Whether ``fit_prototypes`` came last, and not ``fit``."""
        return hasattr(self, "prototypes_")

    def _refuse_seen_only(self) -> None:
        """Refuse parameters that say something about seen classes only."""
        usual = type(self)().get_params(deep=False)
        for name in SEEN_ONLY:
            value = getattr(self, name)
            if value != usual[name]:
                raise ValueError(
                    f"{name}={value!r} is about seen classes, and prototypes come "
                    f"without any. Leave it at {usual[name]!r}, or call fit(X, y)."
                )

    def _adapt_from_prototypes(self, pile, competition, given=None) -> Outcome:
        """Estimate whitening, scale and worth of the prototypes on the pile itself.

        The rows with the clearest cosine labels stand in for labelled rows; after the
        rounds the better labels do, once more.
        """
        P = competition.embeddings
        if given is not None:
            P = self._corrected(pile, P, given)
        scorer = self._centred_cosine(pile, P)
        L = finite(linear_scores(pile.X, scorer, self.unit_rows), pile.X)
        L = L.astype(np.float64)
        start, learner = L, None
        for _ in range(2):
            space = self._self_labelled_space(pile, L, given)
            if space is None:
                break
            texts = self._centred(P) @ space.axes
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
            learner = self._learner(
                MemoryRows(B), competition, scale * texts, none, 1.0, given, np.inf
            )
            self._teach(learner, MIN_WEIGHT if given is None else 0.0)
            if not self.adapted_:
                break
            L = gaussian_scores(B, *learner.means)
        return self._answer_from_prototypes(learner, start, scorer, competition)

    def _centred(self, texts: np.ndarray) -> np.ndarray:
        texts = texts * inverse_lengths(texts)[:, None]
        return texts - texts.mean(axis=0) if len(texts) > 1 else texts

    def _corrected(
        self, pile: Unlabelled, P: np.ndarray, given: GivenRows
    ) -> np.ndarray:
        """Return prototypes with the given rows among what they rest on."""
        mean = pile.mean(True)
        units = pile.X * pile.scales(True)[:, None] - mean
        P = P * inverse_lengths(P)[:, None]
        return corrected_prototypes(MemoryRows(units), mean, P, given)

    def _centred_cosine(self, pile: Unlabelled, P: np.ndarray) -> LinearScorer:
        """Return cosines (but for the row's length), both sides centred by own mean."""
        coef = self._centred(P)
        coef = coef * inverse_lengths(coef)[:, None]
        mean = pile.mean(self.unit_rows) if len(pile) > 1 else 0 * coef[0]
        return LinearScorer(coef, -coef @ mean)

    def _self_labelled_space(self, pile: Unlabelled, L, given=None) -> Reduced | None:
        """Whiten by the clearer labels; None if they say too little."""
        n, N = L.shape
        if N < 2 or n < 2 * N:
            return None
        labelling = Labelling.of(L, margin)
        if given is not None:
            labelling = labelling.holding(given.codes)
        chosen = labelling.selection(self.pile_share, ROUNDING["at_least_one"])
        rows, labels = chosen.rows, chosen.labels
        if len(np.unique(labels)) < 2 or len(rows) <= len(np.unique(labels)):
            return None
        sums = sum_rows(pile.X[rows], labels, N, unit_rows=self.unit_rows, span=True)
        if np.trace(sums.within_class_scatter()) <= 1e-12 * np.trace(sums.gram):
            return None
        return sums.whitened(self.n_axes or 300, self.pile_whitening)

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
        return Outcome(codes, reliability, [why], rule, calibrated=True)
