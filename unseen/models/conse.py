"""ConSE: a convex combination of seen embeddings (Norouzi et al., ICLR 2014).

Rows are samples.

    Q  (n_samples, M)   posterior of the seen classes; see posterior.py
    A  (M, q)           their embeddings, of unit length

    e(x) = Σ_top Q_c(x) A_c / Σ_top Q_c(x)      over the n_top most probable classes
    score(x, a) = cos(e(x), a)
"""

from dataclasses import dataclass

import numpy as np

from unseen.core.linalg import to_unit
from unseen.core.params import Count
from unseen.models.posterior import PosteriorClassifier


@dataclass(eq=False, repr=False)
class ConSE(PosteriorClassifier):
    """Convex combination of semantic embeddings: a row is a mixture of seen classes.

    Choose it when a good classifier of the seen classes is all you have or trust:
    embeddings take no part in the training. Needs only sums.

    Parameters
    ----------
    n_top : int, default=10
        How many seen classes are mixed; at most as many as there are.
    temperature, shrinkage, n_axes, unit_rows
        As for ``IAP``.

    Attributes
    ----------
    seen_scorer_ : LinearScorer
        Log posterior of the seen classes, up to a constant per row.
    classes_, competing_classes_, class_embeddings_
        As for ``JEDM``.

    Notes
    -----
    There is no ``adapt``: a refit on self-labelled rows would need a classifier of
    the unseen classes, and then their embeddings had no part in the answer.

    References
    ----------
    M. Norouzi, T. Mikolov, S. Bengio, Y. Singer, J. Shlens, A. Frome, G. Corrado,
    J. Dean, "Zero-shot learning by convex combination of semantic embeddings",
    ICLR 2014.

    Examples
    --------
    >>> from unseen import ConSE, load_data
    >>> data = load_data("photos-200")
    >>> model = ConSE().fit(data.X_seen, data.y_seen,
    ...                     class_embeddings=data.class_embeddings)
    >>> model.seen_posterior(data.X_unseen).shape
    (1000, 200)
    """

    n_top: Count = 10

    _adapt_parameters = frozenset({"n_top", "temperature"})

    def _score_posterior(self, Q, candidates):
        seen = self._table.units()[self._table.seen]
        mixed = keep_largest(Q, self.n_top) @ seen  # its length changes no cosine
        own = self._table.units(candidates.embeddings)
        return to_unit(mixed) @ own.T


def keep_largest(Q: np.ndarray, k: int) -> np.ndarray:
    """Return Q with zeros for all that is smaller than the k-th largest of its row."""
    if k >= Q.shape[1]:
        return Q
    smallest = np.partition(Q, -k, axis=1)[:, [-k]]
    return np.where(Q >= smallest, Q, 0)
