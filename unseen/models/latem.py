"""LatEm: several bilinear maps, of which each pair takes the best (Xian, CVPR 2016).

Rows are samples.

    X    (n_samples, p)   rows of seen classes: unit length, centred, on p axes
    A    (M, q)           seen class embeddings: unit length, centred
    W_k  (p, q)           K maps                                         maps_

    F(x, a) = max_k x W_k aᵀ
    min_W  Σ_x E_c max(0, margin + F(x, A_c) - F(x, A_y)),    c ≠ y drawn at random

in mini-batches, as in epochs.py: with k the winner of the own class y and l that of
the drawn class c, W_l moves by -x (A_c)ᵀ and W_k by +x (A_y)ᵀ. One map is a bilinear
model with one drawn class per row and step.
"""

from __future__ import annotations

import numpy as np

from unseen.core.base import linear_scores
from unseen.core.params import COUNT
from unseen.models.epochs import EPOCHS, RankingClassifier


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
    average, n_axes, whitening, unit_rows, per_domain_centering
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
    >>> data = load_data("digits")
    >>> model = LatEm(2, max_iter=20, validation_fraction=0).fit(
    ...     data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    >>> model.maps_.shape
    (2, 64, 14)
    """

    _parameter_constraints: dict = {
        "n_maps": COUNT,
        **EPOCHS,
    }

    def __init__(
        self,
        n_maps=2,
        *,
        learning_rate=10.0,
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
        super().__init__(
            learning_rate,
            margin=margin,
            max_iter=max_iter,
            batch_size=batch_size,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            average=average,
            n_axes=n_axes,
            whitening=whitening,
            unit_rows=unit_rows,
            per_domain_centering=per_domain_centering,
            random_state=random_state,
        )
        self.n_maps = n_maps

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
        A, scorers = self._codes(candidates, False), []
        for W in self.maps_:
            scorers.append(self._in_features(self._score(W, A), self.mean_))
        unit = self.unit_rows

        def scores(rows):
            return np.maximum.reduce([linear_scores(rows, s, unit) for s in scorers])

        return scores


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
