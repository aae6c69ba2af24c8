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
drawn class c, W_l moves by -x (A_c)ᵀ and W_k by +x (A_y)ᵀ. How steps are made, and when
they stop, is in epochs.py.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from unseen.core.outcome import linear_scores
from unseen.core.params import COUNT
from unseen.models.epochs import EPOCHS, RankingClassifier


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
    ((200, 843), 20)
    """

    def _violations(self, V):
        return (V > 0).astype(V.dtype)


class ALE(RankingClassifier):
    """Attribute label embedding: violations are weighted by the rank they cause.

    Choose it for many classes: being first matters more than being ninth or tenth.
    It needs the rows: several passes in mini-batches.

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

    def _violations(self, V):
        return rank_weights(V)


class SJE(RankingClassifier):
    """Structured joint embedding: only the worst violation of a row counts.

    Choose it when single classes are confused again and again. It needs the rows:
    several passes in mini-batches.

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

    def _violations(self, V):
        worst = np.arange(V.shape[1]) == V.argmax(axis=1)[:, None]
        return (worst & (V > 0)).astype(V.dtype)


@dataclass(eq=False, repr=False)
class LatEm(RankingClassifier):
    """Latent embeddings: a few bilinear maps, the best one for each row and class.

    Choose it when the seen classes fall into kinds that look different, so that one
    map cannot serve all. It needs the rows: several passes in mini-batches.

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
    for zero-shot classification", CVPR 2016. Its pruning of rarely used maps is left
    out: ``ClasswiseSearchCV`` chooses ``n_maps``.

    Examples
    --------
    >>> from unseen import LatEm, load_data
    >>> data = load_data("photos-200")
    >>> model = LatEm(2, max_iter=20, validation_fraction=0).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.maps_.shape
    (2, 200, 843)
    """

    n_maps: int = 2
    _: KW_ONLY
    learning_rate: float = 10.0

    _parameter_constraints = {"n_maps": COUNT, **EPOCHS}

    def _first_maps(self, p, basis, random):
        # Drawn for every dimension: how the span is written down does not matter.
        return random.standard_normal((self.n_maps, p, len(basis))) @ basis / np.sqrt(p)

    def _step(self, maps, X, y, A, random):
        wrong = random.randint(len(A) - 1, size=len(y))
        wrong += wrong >= y
        return latent_step(maps, X, A[y], A[wrong], self.margin)

    def _learn(self, seen) -> None:
        self.maps_ = self._learn_maps(seen)
        self.coef_ = self.maps_[0]

    def _can_adapt(self) -> bool:
        return self.n_maps == 1

    def _is_linear(self) -> bool:
        return self.n_maps == 1  # else maps compete before classes

    def _scoring(self, candidates):
        if self.n_maps == 1:
            return super()._scoring(candidates)
        A, unit = self._codes(candidates, False), self.unit_rows
        scorers = [self._in_features(self._score(W, A), self.mean_) for W in self.maps_]

        def scores(rows):
            return np.maximum.reduce([linear_scores(rows, s, unit) for s in scorers])

        return scores


def rank_weights(V: np.ndarray) -> np.ndarray:
    """Return β_r / r for the violations of each row, r being their number."""
    violated = V > 0
    r = violated.sum(axis=1)
    beta = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, V.shape[1] + 1))])
    return violated * (beta[r] / np.maximum(r, 1)).astype(V.dtype)[:, None]


def latent_step(maps, X, own, wrong, margin) -> tuple[float, np.ndarray]:
    """Return the mean loss of rows with own and wrong embeddings, and its gradient."""
    on_maps = np.stack([X @ W for W in maps])  # (maps, rows, dims)
    for_own = np.einsum("kiq,iq->ki", on_maps, own)
    for_wrong = np.einsum("kiq,iq->ki", on_maps, wrong)
    loss = np.maximum(margin + for_wrong.max(axis=0) - for_own.max(axis=0), 0)
    up, down = for_own.argmax(axis=0), for_wrong.argmax(axis=0)
    slope = np.zeros_like(maps)
    for k in range(len(maps)):
        pushed, pulled = ((winner == k) & (loss > 0) for winner in (down, up))
        slope[k] = X[pushed].T @ wrong[pushed] - X[pulled].T @ own[pulled]
    return float(loss.mean()), slope / X.dtype.type(len(X))
