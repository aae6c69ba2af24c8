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

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_array

from unseen._params import DTYPES, refuse_masked
from unseen.class_table import Competition
from unseen.models.bilinear import BilinearClassifier, ViewLearner
from unseen.models.maps import OffsetLearner, PrototypeClassifier
from unseen.models.scoring import LinearScorer
from unseen.rows.labelling import rank_within
from unseen.rows.pile import Pile, not_finite
from unseen.rows.sums import inverse_lengths
from unseen.transduction.anchored import AnchoredSelfTraining
from unseen.transduction.anchored_learner import gaussian_scores

CLIP_SCALE = 100.0  # what CLIP multiplies its cosines by
SHARPNESS = 3.0  # of scores with unit spread; cosines of CLIP come out at about this
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

    @property
    def probabilities(self) -> np.ndarray:
        """Soft labels of the pile."""
        return softmax(self.logits, axis=1)

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

    def for_features(self, scorer: LinearScorer) -> LinearScorer:
        """Turn a linear score of ``rows`` into one of rows of X."""
        coef = scorer.coef if self.axes is None else scorer.coef @ self.axes.T
        return LinearScorer(coef, scorer.intercept - coef @ self.mean)


def start_from(base: Any, X: Any, classes: Any = None) -> Start:
    """Look at a pile through a fitted model.

    Parameters
    ----------
    base : fitted zero-shot model
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
    if isinstance(base, AnchoredSelfTraining):
        from_texts = base.starts_from_prototypes
        return (_from_texts if from_texts else _from_anchored)(base, X, classes)
    if isinstance(base, BilinearClassifier):
        return _from_bilinear(base, X, classes)
    return _from_scores(base, X, classes)


def _from_texts(base: AnchoredSelfTraining, X, classes) -> Start:
    """Take unit rows and unit prototypes in one space, and their cosines."""
    pile = base._check_pile(X)
    competition = base._compete(classes)
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
    )


def _from_anchored(base: AnchoredSelfTraining, X, classes) -> Start:
    """Rows whitened, prototypes by kernel ridge, a temperature that was measured."""
    pile = base._check_pile(X)
    competition = base._compete(classes)
    rows = pile.on_axes(base.axes_, base.unit_rows) - base.mean_ @ base.axes_
    Z, q = base._prototypes(competition)[0], base._metric()
    scores = gaussian_scores(rows, Z, q)
    return Start(
        competition,
        rows,
        Z,
        scores,
        scores / base._temperature,
        LinearScorer(Z * q, -np.sum(q * Z * Z, axis=1) / 2),
        base.axes_,
        base.mean_,
        base.unit_rows,
    )


def _from_bilinear(base: BilinearClassifier, X, classes) -> Start:
    """Rows on the model's axes, centred as the model says."""
    learner: Any = base.learner(X, classes, lam=1.0, mu=1.0)
    scores, rows = np.asarray(learner.scores()), np.asarray(learner.B)
    if isinstance(base, PrototypeClassifier):
        prototypes = learner.A @ base.coef_.T
    else:
        prototypes = best_row_means(rows, scores)
    return Start(
        learner.competition,
        rows,
        prototypes,
        scores,
        sharpened(scores),
        _linear(learner),
        base.axes_,
        learner.mean,
        base._unit_rows(),
    )


def _linear(learner) -> LinearScorer | None:
    """Return what makes scores of rows; JEDM's answer is more than its scores."""
    if not isinstance(learner, ViewLearner):
        return None
    none = np.zeros(len(learner.competition))
    offset = learner.offset() if isinstance(learner, OffsetLearner) else none
    return LinearScorer(learner.coef(), offset)


def _from_scores(base, X, classes) -> Start:
    """Rows of unit length, centred; prototypes are means of the best rows."""
    if isinstance(X, Pile):
        X = X.X
    refuse_masked(X, "X")
    X = check_array(X, dtype=DTYPES)
    competition = competing(base, classes)
    scores = ask(base, X, competition)
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


def competing(base, classes) -> Competition:
    """Return who competes, also for a model that is not of this package."""
    if isinstance(classes, Competition):
        return classes
    if hasattr(base, "_table"):
        return base._compete(classes)
    names = base.competing_classes_ if classes is None else np.asarray(classes)
    return Competition(names, np.zeros((len(names), 1)))


def ask(base, X, competition: Competition) -> np.ndarray:
    """Return a model's scores of rows, one column per distinct class."""
    if hasattr(base, "_scores"):
        return base._scores(X, competition)
    scores = base.decision_function(X, classes=competition.columns.tolist())
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
