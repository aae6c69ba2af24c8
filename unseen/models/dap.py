"""DAP and IAP: classes by way of their attributes (Lampert et al., PAMI 2014).

Rows are samples.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    T  (N, q)           attributes in 0/1: the embedding is above its mean over the
                        seen classes
    p_a(x)              posterior of attribute a
    π_a                 its prior: the share of seen classes that have it

    score(x, t) = Σ_a  t_a log(p_a(x) / π_a) + (1 - t_a) log((1 - p_a(x)) / (1 - π_a))

the log posterior of a class whose attributes are known, if attributes are independent.

DAP learns each attribute by ridge regression on U = 2 T - 1,

    min_W  |X W - Y U|² + lam |W|²,      s(x) = x W

and turns the score into a posterior with the distribution of scores on *held-out
classes*: with c left out, the mean score of class c is (n_c its rows, m_c their mean)

    s_c - n_c h_c u_c
    -----------------,   h_c = m_cᵀ (XᵀX + lam I)⁻¹ m_c
       1 - n_c h_c

(leave-one-out in closed form, class by class; its scatter inside stays in XᵀX). If
classes with and without a have scores of mean μ₁, μ₀ and shared variance v,

    log p_a / (1 - p_a) = slope (s_a(x) - (μ₁ + μ₀) / 2) + log π_a / (1 - π_a)
    slope = max(0, (μ₁ - μ₀) / v)

so an attribute that does not carry over to other classes counts for nothing. In
this form the score is Σ_a t_a slope_a (s_a(x) - mid_a) plus a term without t: it is
linear in x, and no product of probabilities can underflow.

IAP takes p_a(x) = Σ_c Q(c | x) t_ca, with Q the posterior of the seen classes.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from unseen.core.linalg import solve_on_axes
from unseen.core.on_axes import OnAxes, Seen
from unseen.core.outcome import LinearScorer
from unseen.core.params import Positive, check_rows
from unseen.core.sums import Sums
from unseen.models.posterior import PosteriorClassifier
from unseen.models.refits import row_map


@dataclass(eq=False, repr=False)
class DAP(OnAxes):
    """Direct attribute prediction, calibrated on held-out classes.

    Choose it when the embeddings are attributes that mean something one by one, and
    you want to know what the model thinks of each: ``attribute_posterior`` tells.
    Needs only sums. ``adapt`` learns nothing: midpoints were calibrated on
    seen rows, and labels are those of ``predict``.

    Parameters
    ----------
    lam : float, default=1.0
        Ridge on the attribute predictors.
    n_axes, whitening, unit_rows
        As for ``ESZSL``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_dims)
        One attribute predictor per column, on the principal axes.
    thresholds_ : ndarray of shape (n_dims,)
        A class has an attribute if its embedding is above this.
    slopes_, midpoints_, priors_ : ndarray of shape (n_dims,)
        Calibration of each attribute; a slope of 0 means that it is not used.
    axes_, mean_, classes_, competing_classes_
        As for ``JEDM``.

    Notes
    -----
    An attribute that a single seen class has, or lacks, cannot be held out; its
    calibration is that of the seen classes themselves. Classes with the same
    attributes in 0/1 cannot be told apart: the first in the table takes all rows, and
    a warning names them. In ``SelfTraining`` the predictors move and their calibration
    stays.

    References
    ----------
    C. Lampert, H. Nickisch, S. Harmeling, "Attribute-based classification for
    zero-shot visual object categorization", PAMI 2014.

    Examples
    --------
    >>> from unseen import DAP, load_data
    >>> data = load_data("photos-200", "tree")
    >>> model = DAP().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> posterior = model.attribute_posterior(data.X_unseen)
    >>> animal = posterior[:, data.class_embeddings.columns.get_loc("animal")]
    >>> [round(float(animal[data.y_unseen == name].mean()), 1)
    ...  for name in ("deer", "truck")]
    [0.9, 0.0]
    """

    lam: Positive = 1.0
    # Midpoints are those of the seen rows.
    per_domain_centering: bool = field(default=False, init=False)

    _adapt_parameters = frozenset()
    _refit = staticmethod(row_map)  # predictors move, calibration stays

    def _learn(self, seen: Seen) -> None:
        embeddings = seen.table.embeddings[seen.table.seen]
        self.thresholds_ = embeddings.mean(axis=0)
        T = binary(embeddings, self.thresholds_)
        self.priors_ = attribute_priors(T)
        self.coef_, held_out = solve_attributes(
            seen.sums, 2 * T - 1, self.lam, diagonal=seen.diagonal
        )
        within = seen.sums.within_class_scatter() / seen.sums.n_rows
        spread = np.einsum("ij,ij->j", self.coef_, within @ self.coef_)
        self.slopes_, self.midpoints_ = calibrate(held_out, T, np.maximum(spread, 0))

    def attribute_posterior(self, X) -> np.ndarray:
        """Return the posterior of every attribute for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_dims)
        """
        check_is_fitted(self)
        heights = logit(self.priors_) - self.slopes_ * self.midpoints_
        scorer = LinearScorer((self.coef_ * self.slopes_).T, heights)
        rows = check_rows(self, X, reset=False)
        scorer = scorer.on_features(self.axes_, self.mean_)
        return expit(scorer.of(rows, self.unit_rows))

    def _seen_as(self, names, embeddings):
        return binary(embeddings, self.thresholds_) * self.slopes_

    def _codes(self, candidates, own_mean):
        return 2 * binary(candidates.embeddings, self.thresholds_) - 1

    def _score(self, W, U):
        T = (U + 1) / 2 * self.slopes_
        return LinearScorer(T @ W.T, -T @ self.midpoints_)


class IAP(PosteriorClassifier):
    """Indirect attribute prediction: attributes of the seen classes a row resembles.

    Choose it in place of ``DAP`` when classes are easier to tell than attributes.
    Needs only sums.

    Parameters
    ----------
    temperature : float, default=1.0
        Softens the posterior of the seen classes. Calibrate it on held-out classes
        with ``ClasswiseSearchCV``.
    shrinkage : float, default=0.1
        Added to the covariance inside classes, in units of its mean variance.
    n_axes : int or 'all', default=500
        Principal axes the features are reduced to, at most as many as there are.
    unit_rows : bool, default=True
        Scale every row of X to unit length.

    Attributes
    ----------
    seen_scorer_ : LinearScorer
        Log posterior of the seen classes, up to a constant per row.
    classes_, competing_classes_, class_embeddings_
        As for ``JEDM``.

    Notes
    -----
    There is no ``adapt``: attributes are read off the seen classes, and
    unlabelled rows are of none of these.

    References
    ----------
    C. Lampert, H. Nickisch, S. Harmeling, "Attribute-based classification for
    zero-shot visual object categorization", PAMI 2014.

    Examples
    --------
    >>> from unseen import IAP, load_data, per_class_accuracy
    >>> data = load_data("photos-200", "tree")
    >>> model = IAP().fit(data.X_seen, data.y_seen,
    ...                   class_embeddings=data.class_embeddings)
    >>> round(per_class_accuracy(data.y_unseen, model.predict(data.X_unseen)), 1)
    0.5
    """

    def _seen_as(self, names, embeddings):
        known = self.class_embeddings_[self._table.seen]
        return binary(embeddings, known.mean(axis=0))

    def _score_posterior(self, Q, candidates):
        known = self._seen_as(None, self.class_embeddings_[self._table.seen])
        T = self._seen_as(None, candidates.embeddings)
        prior = attribute_priors(known)
        P = np.clip(Q @ known, 1e-3, 1 - 1e-3)
        scores = np.log(P / prior) @ T.T + np.log((1 - P) / (1 - prior)) @ (1 - T).T
        # Posteriors at the clip are few numbers: classes tie, and sums round apart.
        return np.round(scores, 10)


def binary(embeddings: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return attributes in 0/1."""
    return (embeddings > thresholds).astype(np.float64)


def attribute_priors(T: np.ndarray) -> np.ndarray:
    """Return the share of classes with each attribute, ½ if all or none have it."""
    share = T.mean(axis=0)
    return np.where((share > 0) & (share < 1), share, 0.5)


def solve_attributes(
    sums: Sums, U: np.ndarray, lam: float, *, diagonal: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the predictors and each class's mean scores, by those of the others."""
    means, counts = sums.class_means, sums.counts[:, None]
    W = solve_on_axes(sums.gram, sums.class_sums.T @ U, lam, diagonal=diagonal)
    half = solve_on_axes(sums.gram, means.T, lam, diagonal=diagonal)
    h = counts * np.einsum("ij,ji->i", means, half)[:, None]  # n_c h_c < 1
    scores = means @ W
    alone = np.minimum((U > 0).sum(axis=0), (U < 0).sum(axis=0)) < 2
    return W, np.where(alone, scores, (scores - h * U) / (1 - h))


def calibrate(
    scores: np.ndarray, T: np.ndarray, within: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and midpoint of each attribute from the scores of classes."""
    having, lacking = T.sum(axis=0), (1 - T).sum(axis=0)
    both = (having > 0) & (lacking > 0)
    high = (T * scores).sum(axis=0) / np.maximum(having, 1)
    low = ((1 - T) * scores).sum(axis=0) / np.maximum(lacking, 1)
    gap = np.where(both, np.maximum(high - low, 0), 0)
    residual = scores - np.where(T > 0, high, low)
    variance = within + np.mean(residual**2, axis=0) + 1e-6 * gap**2
    slopes = np.divide(gap, variance, out=np.zeros_like(gap), where=gap > 0)
    return slopes, (high + low) / 2
