"""Where a transductive method starts: one pile, seen through a fitted model.

    rows        (n, r)   the pile where rows are compared: (x - mean) axes
    prototypes  (N, r)   the competing classes there
    scores      (n, N)   what the model says of the pile
    logits      (n, N)   the same on a scale where softmax makes sense

A model that has a space of its own (whitened, on axes) lends it; any other is asked
for scores alone, rows are taken at unit length less their mean, and a class's
prototype is the mean of the rows that score best for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_array

from unseen._linalg import inverse_lengths
from unseen._params import DTYPES, refuse_masked
from unseen.competition import Competition
from unseen.models.bilinear import BilinearClassifier
from unseen.models.given import GivenRows
from unseen.models.learners import OffsetLearner, ViewLearner
from unseen.models.maps import PrototypeClassifier
from unseen.models.scoring import LinearScorer
from unseen.rows.gram import indicator
from unseen.rows.labelling import rank_within
from unseen.rows.pile import Pile, not_finite
from unseen.transduction.anchored import AnchoredSelfTraining
from unseen.transduction.anchored_look import gaussian_scores

CLIP_SCALE = 100.0  # what CLIP multiplies its cosines by
SHARPNESS = 3.0  # of scores with unit spread; cosines of CLIP come out at about this
MOST_WORTH = 100.0  # rows that a prototype may count as, beside given ones
BEST_ROWS = 8  # that stand for a class whose model has no prototype


@dataclass(frozen=True, eq=False)
class Start:
    """A pile as a fitted model sees it; see the head of this file.

    Attributes
    ----------
    competition : Competition
        Who competes; its ``names`` are the columns of ``scores``.
    rows, prototypes, scores, logits : ndarray
        As above.
    scorer : LinearScorer or None
        ``scores`` as a linear function of ``rows``, if they are one.
    axes : ndarray of shape (n_features, r) or None
        None if rows stay in the space of the features.
    mean : ndarray of shape (n_features,)
    unit_rows : bool
        Whether rows of X get unit length before anything else.
    rescore : callable or None
        The scorer of other prototypes, if scores come from them.
    logit_scale : float
        Logits over scores, there.
    """

    competition: Competition
    rows: np.ndarray
    prototypes: np.ndarray
    scores: np.ndarray
    logits: np.ndarray
    scorer: LinearScorer | None
    axes: np.ndarray | None
    mean: np.ndarray
    unit_rows: bool
    rescore: Callable[[np.ndarray], LinearScorer] | None = None
    logit_scale: float = 1.0

    @property
    def probabilities(self) -> np.ndarray:
        """Soft labels of the pile."""
        return softmax(self.logits, axis=1)

    @property
    def even_size(self) -> int:
        """How many rows a class has if all have the same, at least one."""
        n, n_classes = self.scores.shape
        return max(1, n // n_classes)

    def contrast(self) -> tuple[np.ndarray, LinearScorer | None]:
        """Return logits less the mean of each row, and what makes them of ``rows``.

        Rows become comparable: one that scores high for every class has no say.
        """
        S, raw = (M - M.mean(axis=1, keepdims=True) for M in (self.logits, self.scores))
        if self.scorer is None:
            return S, None
        spread = np.linalg.norm(raw)  # S is a multiple of raw
        factor = float(np.linalg.norm(S) / spread) if spread > 0 else 1.0
        coef, intercept = self.scorer
        return S, LinearScorer(
            factor * (coef - coef.mean(axis=0)),
            factor * (intercept - intercept.mean()),
        )

    def with_given(self, given: GivenRows) -> Start:
        """Return the start with given labels in it.

        Prototypes move to the mean of prototype and given rows, where what a prototype
        is worth in rows is measured by how far they lie apart; scores follow where they
        come from prototypes. Given rows score best for their class.
        """
        Z = corrected(self.rows, self.prototypes, self.logits, given)
        scores, logits, scorer = self.scores, self.logits, self.scorer
        if self.rescore is not None:
            scorer = self.rescore(Z)
            scores = self.rows @ scorer.coef.T + scorer.intercept
            logits = scores * self.logit_scale
        scores, logits = (swapped(M, given) for M in (scores, logits))
        return replace(self, prototypes=Z, scores=scores, logits=logits, scorer=scorer)

    def for_features(self, scorer: LinearScorer) -> LinearScorer:
        """Turn a linear score of ``rows`` into one of rows of X."""
        coef = scorer.coef if self.axes is None else scorer.coef @ self.axes.T
        return LinearScorer(coef, scorer.intercept - coef @ self.mean)


def start_from(estimator: Any, X: Any, classes: Any = None) -> Start:
    """Look at a pile through a fitted model.

    Parameters
    ----------
    estimator : fitted zero-shot model
        Or anything with ``decision_function(X, classes=...)``.
    X : array-like of shape (n_samples, n_features), or Pile
    classes : None, str, list of names, or table, default=None

    Examples
    --------
    >>> from unseen import ESZSL, load_data
    >>> from unseen.transduction.start import start_from
    >>> data = load_data("digits")
    >>> model = ESZSL().fit(data.X_seen, data.y_seen,
    ...                     class_embeddings=data.class_embeddings)
    >>> start = start_from(model, data.X_unseen)
    >>> start.rows.shape, start.prototypes.shape, start.logits.shape
    ((533, ...), (3, ...), (533, 3))
    """
    if isinstance(estimator, AnchoredSelfTraining):
        from_texts = estimator.starts_from_prototypes
        return (_from_texts if from_texts else _from_anchored)(estimator, X, classes)
    if isinstance(estimator, BilinearClassifier):
        return _from_bilinear(estimator, X, classes)
    return _from_scores(estimator, X, classes)


def _from_texts(estimator: AnchoredSelfTraining, X, classes) -> Start:
    """Take unit rows and unit prototypes in one space, and their cosines."""
    pile = estimator._check_pile(X)
    competition = estimator._compete(classes)
    rows = pile.X * pile.scales(True)[:, None]
    units = competition.embeddings
    units = (units * inverse_lengths(units)[:, None]).astype(rows.dtype)
    with np.errstate(all="ignore"):  # what is not finite is told below
        scores = rows @ units.T
    if not np.isfinite(scores).all():
        raise not_finite(pile.X)
    return Start(
        competition,
        rows,
        units,
        scores,
        CLIP_SCALE * scores,
        LinearScorer(units, np.zeros(len(units))),
        axes=None,
        mean=np.zeros(rows.shape[1]),
        unit_rows=True,
        rescore=cosine_scorer,
        logit_scale=CLIP_SCALE,
    )


def _from_anchored(estimator: AnchoredSelfTraining, X, classes) -> Start:
    """Rows whitened, prototypes by kernel ridge, a temperature that was measured."""
    pile = estimator._check_pile(X)
    competition = estimator._compete(classes)
    rows = (
        pile.on_axes(estimator.axes_, estimator.unit_rows)
        - estimator.mean_ @ estimator.axes_
    )
    Z, q = estimator._prototypes(competition)[0], estimator._metric()
    scores = gaussian_scores(rows, Z, q)

    def rescore(Z: np.ndarray) -> LinearScorer:
        return LinearScorer(Z * q, -np.sum(q * Z * Z, axis=1) / 2)

    return Start(
        competition,
        rows,
        Z,
        scores,
        scores / estimator._temperature,
        rescore(Z),
        estimator.axes_,
        estimator.mean_,
        estimator.unit_rows,
        rescore,
        1 / estimator._temperature,
    )


def _from_bilinear(estimator: BilinearClassifier, X, classes) -> Start:
    """Rows on the model's axes, centred as the model says."""
    learner: Any = estimator.learner(X, classes, lam=1.0, mu=1.0)
    scores, rows = np.asarray(learner.scores()), np.asarray(learner.B)
    if isinstance(estimator, PrototypeClassifier):
        prototypes = learner.A @ estimator.coef_.T
    else:
        prototypes = best_row_means(rows, scores)
    return Start(
        learner.competition,
        rows,
        prototypes,
        scores,
        sharpened(scores),
        _linear(learner),
        estimator.axes_,
        learner.mean,
        estimator._unit_rows(),
    )


def _linear(learner) -> LinearScorer | None:
    """Return what makes scores of rows; JEDM's answer is more than its scores."""
    if not isinstance(learner, ViewLearner):
        return None
    none = np.zeros(len(learner.competition))
    offset = learner.offset() if isinstance(learner, OffsetLearner) else none
    return LinearScorer(learner.coef(), offset)


def _from_scores(estimator, X, classes) -> Start:
    """Rows of unit length, centred; prototypes are means of the best rows."""
    if isinstance(X, Pile):
        X = X.X
    refuse_masked(X, "X")
    X = check_array(X, dtype=DTYPES)
    competition = competing(estimator, classes)
    scores = ask(estimator, X, competition)
    pile = Pile(X)
    mean = pile.mean(True)
    rows = X * pile.scales(True)[:, None] - mean
    return Start(
        competition,
        rows,
        best_row_means(rows, scores),
        scores,
        sharpened(scores),
        None,
        axes=None,
        mean=mean,
        unit_rows=True,
    )


def cosine_scorer(Z: np.ndarray) -> LinearScorer:
    """Score unit rows by their cosines with prototypes."""
    return LinearScorer(Z * inverse_lengths(Z)[:, None], np.zeros(len(Z)))


def corrected(
    rows: np.ndarray, Z: np.ndarray, logits: np.ndarray, given: GivenRows
) -> np.ndarray:
    """Return prototypes that given rows have corrected; see ``Start.with_given``.

    With s² the spread of rows around class means and g given rows of mean ḡ,
    |ḡ - Z|² is v + s²/g on average: a prototype is worth s²/v rows.
    """
    known, codes = given.rows, given.codes[given.rows]
    sums = indicator(codes, len(Z)).T @ rows[known].astype(np.float64)
    counts = given.counts.astype(np.float64)
    means = sums / np.maximum(counts, 1)[:, None]
    labels = logits.argmax(axis=1)
    Y = indicator(labels, len(Z))
    sizes = np.bincount(labels, minlength=len(Z))
    own = (Y.T @ rows) / np.maximum(sizes, 1)[:, None]
    spread = np.sum(rows.astype(np.float64) ** 2) - sizes @ np.sum(own**2, axis=1)
    spread = spread / max(len(rows) - np.count_nonzero(sizes), 1)
    both = (counts > 0) & ~given.new
    worth = np.zeros(len(Z))
    if both.any():
        off = np.sum((means - Z)[both] ** 2, axis=1) - spread / counts[both]
        worth[~given.new] = spread / max(off.mean(), spread / MOST_WORTH, 1e-300)
    moved = (worth[:, None] * Z + sums) / np.maximum(worth + counts, 1e-300)[:, None]
    return np.where((counts > 0)[:, None], moved, Z).astype(Z.dtype)


def swapped(scores: np.ndarray, given: GivenRows) -> np.ndarray:
    """Return scores in which given rows score best for their class.

    It changes places with the class that did, so that no score is out of the common:
    some methods compare the rows of a class.
    """
    rows, codes = given.rows, given.codes[given.rows]
    best, made = scores[rows].argmax(axis=1), np.array(scores)
    made[rows, codes], made[rows, best] = scores[rows, best], scores[rows, codes]
    return made


def competing(estimator, classes) -> Competition:
    """Return who competes, also for a model that is not of this package."""
    if isinstance(classes, Competition):
        return classes
    if hasattr(estimator, "_table"):
        return estimator._compete(classes)
    names = estimator.competing_classes_ if classes is None else np.asarray(classes)
    return Competition(names, np.zeros((len(names), 1)))


def ask(estimator, X, competition: Competition) -> np.ndarray:
    """Return a model's scores of rows, one column per distinct class."""
    if hasattr(estimator, "_scores"):
        return estimator._scores(X, competition)
    scores = estimator.decision_function(X, classes=competition.columns.tolist())
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    return scores


def sharpened(scores: np.ndarray) -> np.ndarray:
    """Give scores of any scale the spread that suits a softmax.

    >>> import numpy as np
    >>> from unseen.transduction.start import sharpened
    >>> sharpened(np.array([[1e6, 3e6], [5e6, 4e6]])).round(1)
    array([[-3.8,  3.8], [ 1.9, -1.9]])
    """
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean(centred**2))
    return centred * (SHARPNESS / spread) if spread > 0 else centred


def best_row_means(rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return, for every class, the mean of the rows that score best for it.

    Of the rows that the class wins; of a class that wins none, its single best row.
    """
    labels = scores.argmax(axis=1)
    order, place, _ = rank_within(labels, scores.max(axis=1))
    means = np.empty((scores.shape[1], rows.shape[1]), dtype=rows.dtype)
    best = order[place < BEST_ROWS]
    for c in range(scores.shape[1]):
        own = best[labels[best] == c]
        means[c] = rows[own].mean(axis=0) if len(own) else rows[scores[:, c].argmax()]
    return means
