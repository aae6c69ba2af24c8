"""Prototype averaging: each prototype moves once, among the rows around it.

    z_c ← mean of the k rows most similar to z_c;  a row goes to the most similar z_c

Similarity is the cosine in the space of the start. Fu et al. (ECCV 2014, PAMI 2015) do
this to carry prototypes over to where the unseen rows are, before anything else.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from unseen.core.around import Start
from unseen.core.base import LinearScorer
from unseen.core.linalg import to_unit
from unseen.core.params import Interval
from unseen.transduction.transducer import START, Outcome, Transducer, as_round


class PrototypeAveraging(Transducer):
    """Replace every prototype by the mean of its k nearest rows, once.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
        Where to start; None for the inductive part of ``AnchoredSelfTraining``.
    n_neighbors : int, default=50
        k, but no more than a class of average size has: beyond it prototypes would
        run into each other. Fu et al. took 500 rows for the large classes of AwA.

    Attributes
    ----------
    labels_, reliability_, rounds_
        Left by ``adapt``.

    References
    ----------
    Fu, Hospedales, Xiang and Gong, Transductive multi-view zero-shot learning,
    PAMI 2015.

    Examples
    --------
    >>> from unseen import PrototypeAveraging, load_data
    >>> data = load_data("digits")
    >>> model = PrototypeAveraging().fit(data.X_seen, data.y_seen,
    ...                                  class_embeddings=data.class_embeddings)
    >>> model.adapt(data.X_unseen).labels_.shape
    (533,)
    >>> bool((model.predict(data.X_unseen) == model.labels_).all())
    True
    """

    _adapt_parameters = frozenset({"n_neighbors"})
    _parameter_constraints: dict = {
        **START,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, estimator=None, *, n_neighbors=50):
        self.estimator = estimator
        self.n_neighbors = n_neighbors

    def _transduce(self, start: Start) -> Outcome:
        units = to_unit(start.rows)
        k = min(self.n_neighbors, start.even_size)
        moved = averaged(units, to_unit(start.prototypes), k)
        scorer = LinearScorer(moved, np.zeros(len(moved)))
        scores = start.rows @ moved.T
        note = f"Prototypes became means of {k} rows."
        step = as_round(start.scores, scores, start.candidates, note=note)
        return Outcome(scores, [step], scorer)


def averaged(units: np.ndarray, prototypes: np.ndarray, k: int) -> np.ndarray:
    """Return the mean of the k rows most similar to each prototype, at unit length.

    >>> import numpy as np
    >>> from unseen.transduction.prototype_averaging import averaged
    >>> averaged(np.array([[1.0, 0], [0, 1], [-1, 0]]), np.array([[0.9, 0.1]]), 2)
    array([[0.70710678, 0.70710678]])
    """
    similarity = units @ prototypes.T
    nearest = np.argpartition(-similarity, k - 1, axis=0)[:k]  # (k, N)
    return to_unit(np.stack([units[rows].mean(axis=0) for rows in nearest.T]))
