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

How steps are made, and when they stop, is in epochs.py.
"""

from __future__ import annotations

import numpy as np

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


def rank_weights(V: np.ndarray) -> np.ndarray:
    """Return β_r / r for the violations of each row, r being their number."""
    violated = V > 0
    r = violated.sum(axis=1)
    beta = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, V.shape[1] + 1))])
    return violated * (beta[r] / np.maximum(r, 1)).astype(V.dtype)[:, None]
