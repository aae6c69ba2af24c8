"""Guided mixture: labels from prototypes alone, by names, clusters and neighbours.

For names (or texts of a model like CLIP) and rows; seen classes may make prototypes.

    b_i  (r,)   row i, of unit length, less the mean row, whitened, of unit length
    Z_c  (r,)   prototype c, likewise, less the mean prototype of what is in the pile
    o_c         what the mean row says of class c; plain cosines have it, centred not
    R_ic        soft labels          W  (n, n)  k nearest neighbours, rows sum to 1

    name_ic    = b_i·Z_c + plain o_c                    at the spread of the next
    cluster_ic = b_i·unit(Σ_j R_jc b_j + a Z_c)         the name counts as a rows
    L_ic = T (λ name_ic + (1 - λ) cluster_ic) + κ Σ_j W_ij R_jc + u_c
    R    = softmax(L)

What has to be known of the pile is measured on it, without labels: λ falls from .95 to
.35 as rows of a class come closer together (loose clusters are not classes: stay with
the names), and where names are unlike the classes that they make (names that say so
little do not lead); a from how far rows lie from class means, and these from names; u_c
evens out sizes by unbalanced transport, the more so the more evenly classes are in use,
and not at all where many are absent; κ falls where classes have few rows. First names
alone label, while sizes settle; then two parts: T = 10, left out where λ is .95; and
whitened by the scatter within soft classes at T = 40. One round is one pass over the
rows (guided_rounds.py); without neighbours it needs sums only, and streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted, validate_data

from unseen.core.base import (
    LinearRule,
    LinearScorer,
    Outcome,
    Round,
    ZeroShotClassifier,
    linear_scores,
)
from unseen.core.classes import (
    Candidates,
    ClassTable,
    read_table,
    unit_blocks,
    with_own_rows,
)
from unseen.core.given import GivenRows, described_by_rows
from unseen.core.linalg import to_unit
from unseen.core.params import AT_LEAST_0, COUNT, POSITIVE, Interval, fit_context
from unseen.core.rows import is_stream
from unseen.core.sums import Sums
from unseen.models.kernel_ridge import EmbeddingScale, fit_ridge, kernel
from unseen.rows.pile import hold, in_chunks
from unseen.transduction.given_trust import Centred, some_of, trusted_prototypes
from unseen.transduction.guided_measures import by_spread
from unseen.transduction.guided_passes import doubted
from unseen.transduction.guided_rounds import all_rounds
from unseen.transduction.guided_scores import Turning, turned_scores, unlearned_scorer
from unseen.transduction.guided_views import columns_of, mixture_of, views_of
from unseen.transduction.views import described_views, joined_as


class GuidedMixture(ZeroShotClassifier):
    """Guided mixture: the method for names alone.

    Class prototypes guide a mixture of directions on the unlabelled rows; how far they
    lead, and how far the clusters and the neighbours, is measured on the rows.

    Parameters
    ----------
    plain : float in [0, 1], default=0.25
        How much of a name's plain cosine to the mean row is kept: 0 compares centred
        rows with centred names, 1 is nearer to plain cosines, which do better where
        names do not tell which classes are absent.
    balance : float, default=3.0
        How strongly sizes of classes are evened out where they are even already; 0
        leaves them free.
    n_neighbors : int, default=5
        Neighbours that have a say in a row's label; 0 for none, which streams.
    neighbor_weight : float, default=4.0
        What they count, against cosines times 10 and 40.
    whitening : float, default=3.0
        How much of the mean variance is added in every direction before whitening.
    loose : float, default=0.4
        Cosine of a row with its class at which names lead.
    tight : float, default=0.6
        The same at which clusters do.
    max_rounds : int, default=10
        In each part.
    tol : float, default=0.001
        A part ends when at most this share of labels changes.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    reliability_ : ndarray of shape (n_samples,)
        Probability of the label, by class means that the row itself had no part in.
    rounds_ : list of Round
    stopped_because_ : str
    adapted_ : bool
        Whether rounds were made; too few rows keep the prototypes' answer.
    names_share_ : float
        λ, the share of names in the answer.
    tightness_ : float
        Cosine of a row with its class, free of the bias of small classes.
    evenness_ : float
        exp(entropy of class sizes) over the number of classes.
    prototype_worth_ : float
        a, the rows that a prototype counts as.
    temperature_ : float
        Of posteriors: 1.5 / s^⅔, s the cosine of rows with the names of their classes.
        Names that say little of the rows, and loose classes, leave little certain; few
        rows as well: half a row per class counts for any class.
    view_weights_ : ndarray of shape (n_views,) or None
        What each of several views counts; other measures are means with these weights.

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

    _ridge: tuple | None  # embeddings to class means; None if prototypes were given
    _views: list[str] | None  # names of the views that prototypes were given for
    _parameter_constraints: dict = {  # all of them are about adapting
        "plain": [Interval(Real, 0, 1, closed="both")],
        "balance": AT_LEAST_0,
        "n_neighbors": [Interval(Integral, 0, None, closed="left")],
        "neighbor_weight": AT_LEAST_0,
        "whitening": POSITIVE,
        "loose": [Interval(Real, 0, 1, closed="both")],
        "tight": [Interval(Real, 0, 1, closed="right")],
        "max_rounds": COUNT,
        "tol": AT_LEAST_0,
    }
    _adapt_parameters = frozenset(_parameter_constraints)

    def __init__(
        self,
        *,
        plain=0.25,
        balance=3.0,
        n_neighbors=5,
        neighbor_weight=4.0,
        whitening=3.0,
        loose=0.4,
        tight=0.6,
        max_rounds=10,
        tol=0.001,
    ):
        self.plain = plain
        self.balance = balance
        self.n_neighbors = n_neighbors
        self.neighbor_weight = neighbor_weight
        self.whitening = whitening
        self.loose = loose
        self.tight = tight
        self.max_rounds = max_rounds
        self.tol = tol

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
        prototypes : array of shape (n_classes, n_features), DataFrame or mapping
            One per class, in the space of the rows; a frame names them. A mapping has
            an entry per view of the rows (two encoders, say): its prototypes, or the
            number of its features if it has none. Rows then are a mapping, too, from
            the same names to arrays, or joined by :func:`join_views`.

        Returns
        -------
        self
        """
        self.__dict__.pop("_running", None)
        self._views = None
        if isinstance(prototypes, Mapping):
            self._views = list(map(str, prototypes))
            prototypes = described_views(prototypes)
        names, table, widths = read_table(prototypes, what="prototypes")
        names = np.arange(len(table)) if names is None else names
        unseen = np.zeros(len(names), dtype=bool)
        self._ridge = None
        self._ready(ClassTable(names, table, unseen, widths))
        return self._note_features(np.zeros((1, table.shape[1])))

    def _meet(self, X) -> None:
        """Note the names of features: prototypes have none, a first frame may."""
        named = hasattr(X, "columns") and not hasattr(self, "feature_names_in_")
        alone = getattr(self, "_ridge", ()) is None
        if alone and named and len(X.columns) == self.n_features_in_:
            validate_data(self, X, skip_check_array=True)

    def _of_rows(self, X, classes, finish):
        X = joined_as(X, getattr(self, "_views", None))
        self._meet(X)
        return super()._of_rows(X, classes, finish)

    def _fit_sums(self, sums: Sums, table: ClassTable, rows=None):
        """Learn a kernel ridge from class embeddings to class means."""
        seen = sums.for_classes(table.seen)
        means = seen.class_means
        scale = EmbeddingScale.of(table.embeddings[table.seen], table.widths)
        S = scale(table.embeddings[table.seen])
        middle = means.mean(axis=0)
        found = fit_ridge(S, means - middle, ("linear",))
        names = table.names[table.seen]
        self._views = None
        self._ridge = scale, S, found.weights, means, middle, names
        return self._ready(table)

    def _prototypes(self, competition: Candidates) -> np.ndarray:
        if self._ridge is None:
            own = competition.embeddings
            alone = getattr(self, "_views", None) is None
            return own if alone else unit_blocks(own, self._table.widths)
        scale, S, weights, means, middle, names = self._ridge
        P = kernel("linear", scale(competition.embeddings), S) @ weights + middle
        place = pd.Index(names).get_indexer(pd.Index(competition.names))
        P[place >= 0] = means[place[place >= 0]]  # a seen class has rows of its own
        return P

    def _seen_as(self, names, embeddings):
        seen_as = super()._seen_as(names, embeddings)
        if self._ridge is None:
            return seen_as
        return with_own_rows(seen_as, names, self._ridge[-1])

    # ---- scores ------------------------------------------------------------------

    def _scorer(self, competition: Candidates) -> LinearScorer:
        P = self._prototypes(competition)
        if not self._is_linear():
            around = to_unit(P) - self._names_mean
            return unlearned_scorer(around, self._turning(), self._pull)
        if self._ridge is None:
            return LinearScorer(to_unit(P), np.zeros(len(P)))
        return LinearScorer(P, -np.sum(P * P, axis=1) / 2)

    def _turning(self) -> Turning:
        widths = getattr(self, "_turned_widths", None)  # of views
        if widths is None:
            return Turning(self.mean_, self.turn_)
        before, after = columns_of(self._table.widths), columns_of(widths)
        return Turning(self.mean_, self.turn_, list(zip(before, after, strict=True)))

    def _scoring(self, candidates: Candidates):
        if self._is_linear():
            return super()._scoring(candidates)
        scorer, turning = self._rule(candidates).scorer, self._turning()
        return partial(turned_scores, scorer=scorer, turning=turning)

    def _is_linear(self) -> bool:
        return getattr(self, "_adapted", None) is None or not self.adapted_

    def turned_rule(self, classes=None) -> tuple[LinearRule, Turning | None]:
        """Return how new rows are scored, and how they are turned before.

        With a turning, unit rows less its mean are divided, every view by itself, by
        their length after the product with its matrix, and then meet the rule.
        """
        check_is_fitted(self)
        rule = self._rule(self._asked(classes))
        return rule, None if self._is_linear() else self._turning()

    def to_onnx(self, path, *, classes=None):
        """Write the (adapted) classifier as an ONNX file; see ``export_onnx``."""
        from unseen.onnx_export import export_onnx

        return export_onnx(self, path, classes=classes)

    def _probabilities(self, competition: Candidates, scores) -> np.ndarray:
        if self._is_linear():
            return competition.count(by_spread(scores))
        sharp = softmax(scores / self.temperature_, axis=1)
        return competition.count(doubted(sharp, self._certain, sharp.shape[1]))

    # ---- adapting ----------------------------------------------------------------

    def _unlabelled(self, X):
        check_is_fitted(self)
        X = joined_as(X, getattr(self, "_views", None))
        self._meet(X)
        if self.n_neighbors and is_stream(X) and not isinstance(X, np.memmap):
            raise TypeError(
                f"X is met chunk by chunk, but n_neighbors={self.n_neighbors} needs "
                "all rows at once. Give an array, or set n_neighbors=0."
            )
        return super()._unlabelled(X)

    def _describe(self, pile, rows, name):
        if self._ridge is None:
            return described_by_rows(pile, rows, self.class_embeddings_)
        return np.zeros(self.class_embeddings_.shape[1])  # its rows describe it

    def _streams(self) -> bool:
        return self.n_neighbors == 0

    def _adapt(
        self, pile, competition: Candidates, given: GivenRows | None = None
    ) -> Outcome:
        rows, mean = hold(pile, np.eye(self.n_features_in_), True)
        if len(competition) < 2 or len(rows) < len(competition):
            return self._keep(rows, competition)
        P = to_unit(self._prototypes(competition))
        named = np.ones(len(P), dtype=bool) if given is None else ~given.new
        centre = P[named].mean(axis=0)
        P, around = P - centre, rows.centred(mean)
        starts = [Centred(P[:, at], P[:, at] @ mean[at]) for at in self._places()]
        if given is not None:
            starts = self._trusted(around, starts, competition, given)
            around = rows.centred(mean)  # nothing kept of the rounds before
        mixture, rounds = self._mixed(around, starts, competition, given)
        self.adapted_, self.mean_, self.turn_ = True, mean, mixture.turn
        self._names_mean, self._pull = centre + mixture.middle, mixture.pull()
        self.names_share_, self.tightness_ = mixture.names_share, mixture.tightness
        self.evenness_, self.prototype_worth_ = mixture.evenness, mixture.worth
        self.temperature_, self._certain = mixture.asked.temperature, mixture.certain
        self.view_weights_ = mixture.view_weights
        self._turned_widths = mixture.turned_widths
        done, rule = mixture.labelling, LinearRule(competition, mixture.scorer(), True)
        sure = np.asarray(done.strength, dtype=np.float64)
        return Outcome(done.codes, sure, rounds, rule, calibrated=True)

    def _places(self) -> list[slice]:
        """Return the columns of every view; of rows without views, all."""
        several = getattr(self, "_views", None)
        return columns_of(self._table.widths) if several else [slice(None)]

    def _trusted(self, rows, starts, competition: Candidates, given: GivenRows):
        """Return starts that given rows corrected, every view by itself."""
        named, parts, sure = ~given.new, [None] * len(starts), 0.0
        if named.sum() > 1:  # what the pile says without anything given
            alone = [Centred(P[named], offset[named]) for P, offset in starts]
            first, _ = self._mixed(some_of(rows), alone, competition.only(named))
            parts, sure = first.parts, float(np.mean(first.labelling.strength))
        return [
            trusted_prototypes(*view, given, sure)
            for view in zip(views_of(rows, self._places()), parts, starts, strict=True)
        ]

    def _mixed(
        self, rows, starts, competition: Candidates, given: GivenRows | None = None
    ) -> tuple[Any, list[Round]]:
        """Return the mixture after its rounds, and these."""
        codes = None if given is None else in_chunks(given.codes, rows)
        bounds, near = (self.loose, self.tight), int(self.n_neighbors)
        near_settings = near, self.neighbor_weight, codes
        settings = self.plain, self.balance, self.whitening, bounds, *near_settings
        mixture = mixture_of(rows, starts, self._places(), settings)
        rounds, settled = all_rounds(mixture, competition, self.max_rounds, self.tol)
        self.stopped_because_ = (
            "The labels settled." if settled else f"{self.max_rounds} rounds were made."
        )
        return mixture, rounds

    def _keep(self, rows, competition: Candidates) -> Outcome:
        """Answer by the prototypes as they are: there is nothing to learn from."""
        self._adapted, self.adapted_ = None, False
        scorer = self._scorer(competition)
        scores = linear_scores(rows.sample(1), scorer, True)
        labels, posterior = scores.argmax(axis=1), by_spread(scores).max(axis=1)
        n, K = scores.shape
        why = "one class competes" if K < 2 else f"{n} rows for {K} classes"
        self.stopped_because_ = f"Kept the prototypes' answer: {why}."
        none = np.zeros(len(competition.columns), dtype=int)
        kept = Round(
            0.0, none, 0, 0.0, competition.names[labels], self.stopped_because_, n
        )
        rule = LinearRule(competition, scorer, True)
        return Outcome(labels, posterior, [kept], rule, calibrated=True)
