"""Label spreading from the surest rows (Zhou et al., NeurIPS 2004), by scikit-learn.

The estimator labels the rows; of each predicted class the share of rows with the
largest margins keeps its label, all others lose theirs; scikit-learn's
``LabelSpreading`` with a k-nearest-neighbour graph gives them back:

    F ← α S F + (1 - α) Y    until it settles
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from unseen.core.around import Relabelled, estimator_of
from unseen.core.neighbours import neighbours
from unseen.core.params import ShareAbove0, ShareInside, TwoOrMore
from unseen.core.start import Start
from unseen.transduction.graph import graph
from unseen.transduction.rounds import trusted


def spread_labels(
    start: Start,
    *,
    rate: ShareAbove0 = 0.8,
    n_neighbors: TwoOrMore = 7,
    alpha: ShareInside = 0.5,
) -> Relabelled:
    """Trust the surest labels of the estimator, and let scikit-learn spread them.

    Rows that no label reaches keep that of the estimator, with the lowest reliability;
    the note of the round counts them.

    Parameters
    ----------
    rate : float in (0, 1], default=0.8
        Share of each predicted class, at least one row, that keeps its label.
    n_neighbors : int, default=7
        Neighbours in the graph, the row itself among them, as scikit-learn counts.
    alpha : float in (0, 1), default=0.5
        How much a row takes from its neighbours.

    Notes
    -----
    What someone would do with scikit-learn alone. The graph is one of neighbours, not
    of all pairs (``kernel='rbf'`` would be n by n). New rows go to the nearest of the
    class means of the labelled rows.

    References
    ----------
    Zhou, Bousquet, Lal, Weston and Schölkopf, Learning with local and global
    consistency, NeurIPS 2004.

    Examples
    --------
    >>> from unseen import SpreadLabels, load_data
    >>> data = load_data("photos-200")
    >>> model = SpreadLabels().fit(data.X_seen, data.y_seen,
    ...                            class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Learned from 79... of 1,000 rows (rate 0.8); ...
    """
    n, N = start.scores.shape
    labels, nobody = start.scores.argmax(axis=1), np.full(n, -1)
    seeds = trusted(labels, margins(start.scores), rate, "at_least_one", nobody)
    F = spread(start.rows.astype(np.float32), seeds, N, n_neighbors - 1, alpha)
    reached, n_unreached = start.keep_unreached(F)
    note = f"{n_unreached:,} rows were not reached and keep their first label."
    counts = np.bincount(seeds[seeds >= 0], minlength=N)
    done = replace(
        start.round(start.scores, reached, note=note),
        rate=float(rate),
        selected=start.candidates.count(counts),
    )
    return Relabelled(reached, [done])


def margins(scores: np.ndarray) -> np.ndarray:
    """Return by how much each row's largest score leads the second."""
    if scores.shape[1] < 2:
        return scores.max(axis=1)
    second, first = np.partition(scores, -2, axis=1)[:, -2:].T
    return first - second


def spread(rows, seeds, n_classes: int, k: int, alpha: float):
    """Return label distributions (n, N); zeros where no label arrives."""
    from sklearn.semi_supervised import LabelSpreading  # slow to import

    def joined(rows: np.ndarray, others: None = None) -> sparse.csr_array:
        """Join every row to its neighbours and, as scikit-learn does, to itself."""
        numbers = neighbours(rows, k)[1]
        own = np.arange(len(rows))[:, None]
        ones = np.ones((len(rows), 1 + numbers.shape[1]))
        return graph(ones, np.hstack([own, numbers]))

    spreading = LabelSpreading(kernel=joined, alpha=alpha, max_iter=1000)
    spreading.fit(rows, seeds)
    F = np.zeros((len(rows), n_classes))
    F[:, spreading.classes_] = spreading.label_distributions_
    return F


SpreadLabels = estimator_of(spread_labels, "SpreadLabels")
