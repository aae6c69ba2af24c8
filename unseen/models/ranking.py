"""DeViSE, ALE, SJE and LatEm: bilinear maps that rank the own class first.

Rows are samples.

    X    (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    A    (M, q)           seen class embeddings: unit length, centred
    W    (p, q)           what we learn                                  coef_
    W_k  (p, q)           K maps, of LatEm                               maps_

    v_c(x) = margin + x W (A_c - A_y)ᵀ for c ≠ y, the own class;  0 for c = y

    DeViSE   min_W  Σ_x Σ_c max(0, v_c)                 every class that is too near
    SJE      min_W  Σ_x max_c max(0, v_c)               only the worst
    ALE      min_W  Σ_x β_r / r Σ_c max(0, v_c)         weighted by rank: r classes are
                                                        too near, β_r = Σ_{j≤r} 1/j
    LatEm    min_W  Σ_x E_c max(0, margin + F(x, A_c) - F(x, A_y)),  c ≠ y drawn

with F(x, a) = max_k x W_k aᵀ: with k the winner of the own class y and l that of the
drawn class c, W_l moves by -x (A_c)ᵀ and W_k by +x (A_y)ᵀ.

The loss is lowered by steps against the gradient on mini-batches: with G (batch, M) the
derivative of the loss by the scores, the step is W -= learning_rate · Xᵀ G A / batch.
Rows and embeddings are scaled to unit mean square for it, so that one learning rate
suits all data, and put in an order of their own, so that theirs does not matter. Steps
stay in the span of the seen embeddings: they are made there, with M numbers per class
at most in place of q, and in float32. What counts is the mean of W over the last epoch:
single steps are noisy, above all those of SJE.

When to stop is asked of classes that take no part: a share of the seen classes is
held out, the epoch at which they are told apart best is remembered, and the map is
then learned anew on all seen classes for that many epochs.
"""

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from unseen.core.base import ZeroShotClassifier
from unseen.core.linalg import row_space
from unseen.core.on_axes import OnAxes, Seen
from unseen.core.params import Count, Positive, Seed, ShareBelow1
from unseen.models.refits import label_fit
from unseen.progress import counted


@dataclass(eq=False, repr=False)
class RankingClassifier(OnAxes):
    """Base of the models that learn by epochs and stop on held-out classes."""

    learning_rate: Positive = 1.0
    _: KW_ONLY
    margin: Positive = 1.0
    max_iter: Count = 100
    batch_size: Count = 256
    validation_fraction: ShareBelow1 = 0.2
    n_iter_no_change: Count = 10
    random_state: Seed = 0

    _refit = staticmethod(label_fit)

    def _needs_rows(self) -> bool:
        return True

    def _learn(self, seen: Seen) -> None:
        self.coef_ = self._learn_maps(seen)[0]

    def _step(self, maps, X, y, A, random) -> tuple[float, np.ndarray]:
        """Return the mean loss of a batch and its gradient by the maps."""
        F = np.stack([X @ W @ A.T for W in maps])
        winner, F = F.argmax(axis=0), F.max(axis=0)
        own = np.arange(len(y)), y
        V = self.margin + F - F[own][:, None]
        V[own] = 0
        G = self._violations(V, y, random)  # how much each counts, 0 where none is
        loss = float(np.vdot(G, V)) / len(y)
        G[own] = -G.sum(axis=1)
        slopes = [X.T @ (G * (winner == k)) @ A for k in range(len(maps))]
        return loss, np.stack(slopes) / len(y)

    def _first_maps(self, p: int, basis: np.ndarray, random) -> np.ndarray:
        """Return the maps to start from, in the span of the seen embeddings."""
        return np.zeros((1, p, basis.shape[1]))

    def _learn_maps(self, seen: Seen) -> np.ndarray:
        """Return the maps learned; sets ``n_iter_`` and ``history_``."""
        x_scale, a_scale = root_mean_square(seen.B), root_mean_square(seen.A)
        X, y, A = canonical(seen.B / x_scale, seen.codes, seen.A / a_scale)
        basis = row_space(A)
        rows = X.astype(np.float32), y, (A @ basis).astype(np.float32), basis
        self.n_iter_, self.history_ = self._best_epoch(*rows), []
        for epoch in self._epochs(*rows, self.n_iter_):
            maps, loss = epoch
            self.history_.append(loss)
        return maps.astype(np.float64) @ basis.T / (x_scale * a_scale)

    def _epochs(self, X, y, A, basis, n_iter: int):
        """Yield the maps an epoch ends with, and its mean loss."""
        random = check_random_state(self.random_state)
        maps = self._first_maps(X.shape[1], basis, random).astype(X.dtype)
        starts = range(0, len(X), self.batch_size)
        for _ in counted("epochs", range(n_iter)):
            total, passed = 0.0, np.zeros_like(maps)
            order = random.permutation(len(X))
            for start in starts:
                rows = order[start : start + self.batch_size]
                loss, slope = self._step(maps, X[rows], y[rows], A, random)
                maps = maps - X.dtype.type(self.learning_rate) * slope
                total += loss * len(rows)
                passed += maps
            yield passed / len(starts), total / len(X)

    def _best_epoch(self, X, y, A, basis) -> int:
        """Return the epochs after which held-out classes are told apart best."""
        from sklearn.metrics import balanced_accuracy_score  # slow to import

        n_held_out = round(self.validation_fraction * len(A))
        if n_held_out < 2 or len(A) - n_held_out < 2:
            return self.max_iter
        random = check_random_state(self.random_state)
        held_out = np.zeros(len(A), dtype=bool)
        held_out[random.permutation(len(A))[:n_held_out]] = True
        own, number = held_out[y], np.cumsum(~held_out) - 1
        rows, truth = X[own], (np.cumsum(held_out) - 1)[y[own]]
        best, best_epoch = -1.0, 0
        others = X[~own], number[y[~own]], A[~held_out], basis
        epochs = self._epochs(*others, self.max_iter)
        for epoch, (maps, _) in enumerate(epochs, start=1):
            scores = np.max([rows @ W @ A[held_out].T for W in maps], axis=0)
            score = balanced_accuracy_score(truth, scores.argmax(axis=1))
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


class DeViSE(RankingClassifier):
    """Deep visual-semantic embedding's ranking loss: every violation counts.

    Choose it for few classes; with many, ``ALE`` and ``SJE`` waste less on classes
    that are far off. It reads the rows several times, in mini-batches.

    Parameters
    ----------
    learning_rate : float, default=1.0
        Length of a step, for rows and embeddings of unit mean square. The more
        classes a loss counts, the shorter it should be: use ``ClasswiseSearchCV``.
    margin : float, default=1.0
        By how much the right class must lead.
    max_iter : int, default=100
        Epochs at most, and exactly so many if no classes are held out.
    batch_size : int, default=256
        Rows per step.
    validation_fraction : float in [0, 1), default=0.2
        Share of the seen classes that is held out to choose the number of epochs;
        if that leaves fewer than two on either side, none is.
    n_iter_no_change : int, default=10
        Epochs without a better score on the held-out classes before stopping.
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
    >>> data = load_data("photos-200")
    >>> model = DeViSE(max_iter=20, validation_fraction=0).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.coef_.shape, model.n_iter_
    ((199, 843), 20)
    """

    def _violations(self, V, y, random):
        return (V > 0).astype(V.dtype)


class ALE(RankingClassifier):
    """Attribute label embedding: violations are weighted by the rank they cause.

    Choose it for many classes: it cares whether the right one comes first, hardly
    whether it is ninth or tenth. It reads the rows several times, in mini-batches.

    Parameters
    ----------
    learning_rate, margin, max_iter, batch_size, validation_fraction, n_iter_no_change
        As for ``DeViSE``.
    n_axes, whitening, unit_rows, per_domain_centering, random_state
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
    >>> data = load_data("photos-200")
    >>> model = ALE(max_iter=20, validation_fraction=0).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.history_[-1] < model.history_[0]
    True
    """

    def _violations(self, V, y, random):
        violated = V > 0
        r = violated.sum(axis=1)
        beta = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, V.shape[1] + 1))])
        return violated * (beta[r] / np.maximum(r, 1)).astype(V.dtype)[:, None]


class SJE(RankingClassifier):
    """Structured joint embedding: only the worst violation of a row counts.

    Choose it when single classes are confused again and again. It reads the
    rows several times, in mini-batches.

    Parameters
    ----------
    learning_rate, margin, max_iter, batch_size, validation_fraction, n_iter_no_change
        As for ``DeViSE``.
    n_axes, whitening, unit_rows, per_domain_centering, random_state
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
    >>> data = load_data("photos-200")
    >>> model = SJE(max_iter=20, validation_fraction=0).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.history_[-1] < model.history_[0]
    True
    """

    def _violations(self, V, y, random):
        worst = np.arange(V.shape[1]) == V.argmax(axis=1)[:, None]
        return (worst & (V > 0)).astype(V.dtype)


@dataclass(eq=False, repr=False)
class LatEm(RankingClassifier):
    """Latent embeddings: a few bilinear maps, the best one for each row and class.

    Choose it when the seen classes fall into kinds that look different, so that one
    map cannot serve all. It reads the rows several times, in mini-batches.

    Parameters
    ----------
    n_maps : int, default=2
        Number of maps K. Try 1 too: on classes held out it was often better.
    learning_rate : float, default=10.0
        Length of a step. One wrong class is drawn per row, where the others see all:
        steps are small, and classes held out want them ten times longer.
    margin, max_iter, batch_size, validation_fraction, n_iter_no_change
        As for ``DeViSE``.
    n_axes, whitening, unit_rows, per_domain_centering
        As for ``DeViSE``; means of unlabelled rows are taken with one map only.
    random_state : int, RandomState or None, default=0
        Draws the start, held-out classes, batches and wrong classes.

    Attributes
    ----------
    maps_ : ndarray of shape (n_maps, n_axes, n_dims)
        The maps, on the principal axes.
    coef_ : ndarray of shape (n_axes, n_dims)
        The first of them; if there is but one, the model.
    n_iter_, history_, axes_, mean_, embedding_mean_
        As for ``DeViSE``.

    Notes
    -----
    With several maps there is no ``adapt`` and no self-training: which map a row
    takes depends on the label it is given, so a refit would confirm whatever label
    it started from. With one map both are there.

    References
    ----------
    Y. Xian, Z. Akata, G. Sharma, Q. Nguyen, M. Hein, B. Schiele, "Latent embeddings
    for zero-shot classification", CVPR 2016. Its pruning of rarely used maps is
    omitted: ``ClasswiseSearchCV`` chooses ``n_maps``.

    Examples
    --------
    >>> from unseen import LatEm, load_data
    >>> data = load_data("photos-200")
    >>> model = LatEm(2, max_iter=20, validation_fraction=0).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.maps_.shape
    (2, 199, 843)
    """

    n_maps: Count = 2
    _: KW_ONLY
    learning_rate: Positive = 10.0

    def _first_maps(self, p, basis, random):
        # Drawn for every dimension: how the span is written down does not matter.
        return random.standard_normal((self.n_maps, p, len(basis))) @ basis / np.sqrt(p)

    def _violations(self, V, y, random):
        wrong = random.randint(V.shape[1] - 1, size=len(y))
        wrong += wrong >= y
        drawn = np.arange(V.shape[1]) == wrong[:, None]
        return (drawn & (V > 0)).astype(V.dtype)

    def _learn(self, seen) -> None:
        self.maps_ = self._learn_maps(seen)
        self.coef_ = self.maps_[0]

    def _can_adapt(self) -> bool:
        return self.n_maps == 1

    def _rule(self, candidates):
        if self.n_maps == 1:
            return super()._rule(candidates)
        A, unit = self._codes(candidates, False), self.unit_rows
        scorers = [self._score(W, A) for W in self.maps_]
        scorers = [one.on_features(self.axes_, self.mean_) for one in scorers]
        return lambda X: np.maximum.reduce([one.of(X, unit) for one in scorers])

    def _lend(self, unlabelled, candidates):
        # Of several maps there is no one scorer on the axes.
        kind = OnAxes if self.n_maps == 1 else ZeroShotClassifier
        return kind._lend(self, unlabelled, candidates)


def root_mean_square(X: np.ndarray) -> float:
    """Return the root of the mean squared length of rows, 1 if all are zero."""
    return float(np.sqrt(np.einsum("ij,ij->", X, X) / len(X))) or 1.0


def canonical(X, y, A) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and classes in an order of their own, whatever they came in."""
    # Rounded first, for the order of a sum shows in its last digits.
    classes = np.lexsort(np.round(A, 9).T[::-1])
    y = np.argsort(classes)[y]
    keys = np.round(X[:, :3], 9).T[::-1]  # three features tell rows apart
    rows = np.lexsort((*keys, y))
    return X[rows], y[rows], A[classes]
