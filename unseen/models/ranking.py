"""DeViSE, ALE and SJE: one bilinear map that ranks the own class first.

Rows are samples.

    X  (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    A  (M, q)           seen class embeddings: unit length, centred
    W  (p, q)           what we learn                                    coef_

    v_c(x) = margin + x W (A_c - A_y)ᵀ for c ≠ y, the own class;  0 for c = y

    DeViSE   min_W  Σ_x Σ_c max(0, v_c)                 every class that is too near
    SJE      min_W  Σ_x max_c max(0, v_c)               only the worst
    ALE      min_W  Σ_x β_r / r Σ_c max(0, v_c)         weighted by rank: r classes are
                                                        too near, β_r = Σ_{j≤r} 1/j

by steps against the gradient on mini-batches: with G (batch, M) the derivative of the
loss by the scores, the step is W -= learning_rate · Xᵀ G A / batch. Rows and
embeddings are scaled to unit mean square for it, so that one learning rate suits all
data, and put in an order of their own, so that theirs does not matter. Steps stay in
the span of the seen embeddings: they are made there, with M numbers per class at most
in place of q, and in float32. What counts is the mean of W over the last epoch
(``average=False``: the last W): single steps are noisy, above all those of SJE.

When to stop is asked of classes that take no part: a share of the seen classes is
held out, the epoch at which they are told apart best is remembered, and the map is
then learned anew on all seen classes for that many epochs.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from unseen._params import Interval
from unseen.metrics import per_class_accuracy
from unseen.models.bilinear import Seen
from unseen.models.cca import row_space
from unseen.models.eszsl import ESZSLLearner
from unseen.models.maps import ON_AXES, POSITIVE, MapClassifier

EPOCHS: dict = {
    "learning_rate": POSITIVE,
    "margin": POSITIVE,
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 1, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "average": ["boolean"],
    "random_state": ["random_state"],
    **ON_AXES,
}


class RankingClassifier(MapClassifier):
    """Base of the models that learn by epochs and stop on held-out classes."""

    def __init__(
        self,
        learning_rate=1.0,
        *,
        margin=1.0,
        max_iter=100,
        batch_size=256,
        validation_fraction=0.2,
        n_iter_no_change=10,
        average=True,
        n_axes=500,
        whitening=None,
        unit_rows=True,
        per_domain_centering=True,
        random_state=0,
    ):
        self.learning_rate = learning_rate
        self.margin = margin
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.average = average
        self.n_axes = n_axes
        self.whitening = whitening
        self.unit_rows = unit_rows
        self.per_domain_centering = per_domain_centering
        self.random_state = random_state

    def _step(self, maps, X, y, A, random) -> tuple[float, np.ndarray]:
        """Return the mean loss of a batch and its gradient by the maps."""
        F = X @ maps[0] @ A.T
        V = self.margin + F - F[np.arange(len(y)), y][:, None]
        V[np.arange(len(y)), y] = 0
        weights = self._weights(V)
        G = weights.copy()
        G[np.arange(len(y)), y] = -weights.sum(axis=1)
        return float(np.vdot(weights, V)) / len(y), (X.T @ G @ A)[None] / len(y)

    def _weights(self, V: np.ndarray) -> np.ndarray:
        """Return how much each violation counts, 0 where there is none."""
        raise TypeError(f"{type(self).__name__} provides no weights.")

    def _start(self, p: int, basis: np.ndarray, random) -> np.ndarray:
        """Return the maps to start from, in the span of the seen embeddings."""
        return np.zeros((1, p, basis.shape[1]))

    def _learn_maps(self, seen: Seen, B, codes) -> np.ndarray:
        """Return the maps learned; sets ``n_iter_`` and ``history_``."""
        x_scale, a_scale = root_mean_square(B), root_mean_square(seen.A)
        X, y, A = canonical(B / x_scale, codes, seen.A / a_scale)
        basis = row_space(A)
        rows = X.astype(np.float32), y, (A @ basis).astype(np.float32), basis
        self.n_iter_ = self._best_epoch(*rows)
        self.history_ = []
        for epoch in self._epochs(*rows, self.n_iter_):
            maps, loss = epoch
            self.history_.append(loss)
        return maps.astype(np.float64) @ basis.T / (x_scale * a_scale)

    def _epochs(self, X, y, A, basis, n_iter: int):
        """Yield the maps an epoch ends with, and its mean loss."""
        random = check_random_state(self.random_state)
        maps = self._start(X.shape[1], basis, random).astype(X.dtype)
        starts = range(0, len(X), self.batch_size)
        for _ in range(n_iter):
            total, passed = 0.0, np.zeros_like(maps)
            order = random.permutation(len(X))
            for start in starts:
                rows = order[start : start + self.batch_size]
                loss, slope = self._step(maps, X[rows], y[rows], A, random)
                maps = maps - X.dtype.type(self.learning_rate) * slope
                total += loss * len(rows)
                passed += maps
            yield passed / len(starts) if self.average else maps, total / len(X)

    def _best_epoch(self, X, y, A, basis) -> int:
        """Return the epochs after which held-out classes are told apart best."""
        n_held_out = round(self.validation_fraction * len(A))
        if n_held_out < 2 or len(A) - n_held_out < 2:
            return self.max_iter
        random = check_random_state(self.random_state)
        held_out = np.zeros(len(A), dtype=bool)
        held_out[random.permutation(len(A))[:n_held_out]] = True
        own, number = held_out[y], np.cumsum(~held_out) - 1
        pile, truth = X[own], (np.cumsum(held_out) - 1)[y[own]]
        best, best_epoch = -1.0, 0
        others = X[~own], number[y[~own]], A[~held_out], basis
        epochs = self._epochs(*others, self.max_iter)
        for epoch, (maps, _) in enumerate(epochs, start=1):
            labels = best_of_maps(maps, pile, A[held_out]).argmax(axis=1)
            score = per_class_accuracy(truth, labels)
            if score > best:
                best, best_epoch = score, epoch
            elif epoch - best_epoch >= self.n_iter_no_change:
                return best_epoch
        if best_epoch == self.max_iter:
            warnings.warn(
                f"All max_iter={self.max_iter} epochs used, and held-out classes were "
                f"told apart best ({best:.1%}) after the last. Raise max_iter or "
                "learning_rate.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return best_epoch

    def _learn_rows(self, seen: Seen, B, codes) -> None:
        self.coef_ = self._learn_maps(seen, B, codes)[0]

    def learner(self, X, classes=None, *, lam=1.0, mu=1.0) -> ESZSLLearner:
        """Return this model, ready to learn from a pile; see ``SelfTraining``."""
        pile = self._check_pile(X)
        return ESZSLLearner(self, pile, self._compete(classes), lam, mu)


class DeViSE(RankingClassifier):
    """Deep visual-semantic embedding's ranking loss: every violation counts.

    Choose it for few classes; with many, ``ALE`` and ``SJE`` waste less on classes
    that are far off. It needs the rows: several passes in mini-batches.

    Parameters
    ----------
    learning_rate : float, default=1.0
        Length of a step, for rows and embeddings of unit mean square. Losses that
        count more classes want shorter steps: search it by ``ClasswiseSearchCV``.
    margin : float, default=1.0
        By how much the own class must lead.
    max_iter : int, default=100
        Epochs at most, and exactly so many if no classes are held out.
    batch_size : int, default=256
        Rows per step.
    validation_fraction : float in [0, 1), default=0.2
        Share of the seen classes that is held out to choose the number of epochs;
        if that leaves fewer than two on either side, none is.
    n_iter_no_change : int, default=10
        Epochs without a better score on the held-out classes before stopping.
    average : bool, default=True
        The map is the mean over the last epoch, not what its last step left.
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``ESZSL``.
    random_state : int, RandomState or None, default=0
        Draws held-out classes and batches.

    Attributes
    ----------
    coef_ : ndarray of shape (n_axes, n_dims)
        The map W, on the principal axes.
    n_iter_ : int
        Epochs the map was learned for.
    history_ : list of float
        Mean loss of every epoch, measured while it went on.
    axes_, mean_, embedding_mean_, classes_, competing_classes_
        As for ``JEDM``.

    Notes
    -----
    No minimum is sought: the number of epochs is what regularises. A
    ``ConvergenceWarning`` tells if held-out classes still gained from the last. In
    ``SelfTraining`` the refit is that of ``ESZSL``, squares in place of ranks: it
    needs no epochs, and stays near the map that ranking found.

    References
    ----------
    A. Frome et al., "DeViSE: a deep visual-semantic embedding model", NIPS 2013. Its
    deep network is not part of this: features are what you give.

    Examples
    --------
    >>> from unseen import DeViSE, load_data
    >>> data = load_data("digits")
    >>> model = DeViSE(max_iter=20, validation_fraction=0).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.coef_.shape, model.n_iter_
    ((64, 14), 20)
    """

    _parameter_constraints: dict = EPOCHS

    def _weights(self, V):
        return (V > 0).astype(V.dtype)


class ALE(RankingClassifier):
    """Attribute label embedding: violations are weighted by the rank they cause.

    Choose it for many classes: being first matters more than being ninth or tenth.
    It needs the rows: several passes in mini-batches.

    Parameters
    ----------
    learning_rate, margin, max_iter, batch_size, validation_fraction, n_iter_no_change
        As for ``DeViSE``.
    average, n_axes, whitening, unit_rows, per_domain_centering, random_state
        As for ``DeViSE``.

    Attributes
    ----------
    coef_, n_iter_, history_, axes_, mean_, embedding_mean_
        As for ``DeViSE``.

    Notes
    -----
    All violations of a row are looked at, so ranks are exact; the authors draw
    classes until one violates and estimate the rank from the number of draws.

    References
    ----------
    Z. Akata, F. Perronnin, Z. Harchaoui, C. Schmid, "Label-embedding for image
    classification", PAMI 2016.

    Examples
    --------
    >>> from unseen import ALE, load_data
    >>> data = load_data("digits")
    >>> model = ALE(max_iter=20, validation_fraction=0).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.history_[-1] < model.history_[0]
    True
    """

    _parameter_constraints: dict = EPOCHS

    def _weights(self, V):
        return rank_weights(V)


class SJE(RankingClassifier):
    """Structured joint embedding: only the worst violation of a row counts.

    Choose it when single classes are confused again and again. It needs the rows:
    several passes in mini-batches.

    Parameters
    ----------
    learning_rate, margin, max_iter, batch_size, validation_fraction, n_iter_no_change
        As for ``DeViSE``.
    average, n_axes, whitening, unit_rows, per_domain_centering, random_state
        As for ``DeViSE``.

    Attributes
    ----------
    coef_, n_iter_, history_, axes_, mean_, embedding_mean_
        As for ``DeViSE``.

    References
    ----------
    Z. Akata, S. Reed, D. Walter, H. Lee, B. Schiele, "Evaluation of output embeddings
    for fine-grained image classification", CVPR 2015.

    Examples
    --------
    >>> from unseen import SJE, load_data
    >>> data = load_data("digits")
    >>> model = SJE(max_iter=20, validation_fraction=0).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.history_[-1] < model.history_[0]
    True
    """

    _parameter_constraints: dict = EPOCHS

    def _weights(self, V):
        worst = V.argmax(axis=1)[:, None]
        weights = np.zeros_like(V)
        np.put_along_axis(weights, worst, np.take_along_axis(V, worst, 1) > 0, axis=1)
        return weights


def root_mean_square(X: np.ndarray) -> float:
    """Return the root of the mean squared length of rows, 1 if all are zero."""
    return float(np.sqrt(np.einsum("ij,ij->", X, X) / len(X))) or 1.0


def canonical(X, y, A) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same rows and classes, ordered by their own numbers.

    Classes by their embeddings, rows by class and features: draws that follow meet
    the same things whatever order they came in. Numbers are rounded first, for the
    order of a sum shows in its last digits.
    """
    classes = np.lexsort(np.round(A, 9).T[::-1])
    place = np.argsort(classes)
    y = place[y]
    keys = np.round(X[:, :3], 9).T[::-1]  # three features tell rows apart
    rows = np.lexsort((*keys, y))
    return X[rows], y[rows], A[classes]


def best_of_maps(maps: np.ndarray, X: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return max_k x W_k aᵀ for every row and class."""
    scores = X @ maps[0] @ A.T
    for W in maps[1:]:
        np.maximum(scores, X @ W @ A.T, out=scores)
    return scores


def rank_weights(V: np.ndarray) -> np.ndarray:
    """Return β_r / r for the violations of each row, r being their number."""
    violated = V > 0
    r = violated.sum(axis=1)
    beta = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, V.shape[1] + 1))])
    return violated * (beta[r] / np.maximum(r, 1)).astype(V.dtype)[:, None]
