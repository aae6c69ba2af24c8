"""Label spreading from the surest rows (Zhou et al., NeurIPS 2004), by scikit-learn.

The estimator labels the pile; of each predicted class the share of rows with the
largest margins keeps its label, all others lose theirs; scikit-learn's
``LabelSpreading`` with a k-nearest-neighbour graph gives them back:

    F ← α S F + (1 - α) Y    until it settles
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import sparse

from unseen.core.around import Start
from unseen.core.base import Round
from unseen.core.params import Interval
from unseen.rows.labelling import Labelling, margin
from unseen.transduction.graph import graph, neighbours
from unseen.transduction.memory import check_memory, spreading_bytes
from unseen.transduction.rounds import ROUNDING
from unseen.transduction.transducer import (
    SEARCH,
    START,
    Outcome,
    Transducer,
    keep_unreached,
)

MAX_ITER = 1000  # scikit-learn warns if it is not enough


class SpreadLabels(Transducer):
    """Trust the surest labels of the estimator, and let scikit-learn spread them.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
        Where to start; None for the inductive part of ``AnchoredSelfTraining``.
    rate : float in (0, 1], default=0.8
        Share of each predicted class, at least one row, that keeps its label.
    n_neighbors : int, default=7
        Neighbours in the graph, the row itself among them, as scikit-learn counts.
    neighbors : {'auto', 'exact', 'approximate'}, default='auto'
        How neighbours are found: among all rows, or nearly, by faiss
        (``pip install unseen[neighbors]``). 'auto' is exact while that takes minutes,
        up to about 200,000 rows; ``neighbor_search_`` says which it was.
    alpha : float in (0, 1), default=0.5
        How much a row takes from its neighbours.

    Attributes
    ----------
    labels_, reliability_, rounds_
        Left by ``adapt``. Rows that no label reaches keep that of the estimator, with
        the lowest reliability; the note of the round counts them.
    neighbor_search_ : str
        How neighbours were found, 'exact' or 'approximate'.

    Notes
    -----
    What someone would do with scikit-learn alone. The graph is one of neighbours, not
    of all pairs (``kernel='rbf'`` would be n by n). New rows go to the nearest of the
    class means of the labelled pile.

    References
    ----------
    Zhou, Bousquet, Lal, Weston and Schölkopf, Learning with local and global
    consistency, NeurIPS 2004.

    Examples
    --------
    >>> from unseen import SpreadLabels, load_data
    >>> data = load_data("digits")
    >>> model = SpreadLabels().fit(data.X_seen, data.y_seen,
    ...                            class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Kept 42... of 533 rows (rate 0.8); ...
    """

    _adapt_parameters = frozenset({"rate", "n_neighbors", "neighbors", "alpha"})
    _parameter_constraints: dict = {
        **START,
        **SEARCH,
        "rate": [Interval(Real, 0, 1, closed="right")],
        "n_neighbors": [Interval(Integral, 2, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self, estimator=None, *, rate=0.8, n_neighbors=7, neighbors="auto", alpha=0.5
    ):
        self.estimator = estimator
        self.rate = rate
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.alpha = alpha

    def _transduce(self, start: Start) -> Outcome:
        n, n_classes = start.scores.shape
        spreading = spreading_bytes(n, n_classes, self.n_neighbors)
        check_memory("SpreadLabels", spreading, f"labels and a graph of {n:,} rows")
        labelling = Labelling.of(start.scores, margin)
        chosen = labelling.selection(self.rate, ROUNDING["at_least_one"])
        seeds = np.full(n, -1)
        seeds[chosen.rows] = chosen.labels
        F, n_unreached = keep_unreached(self._spread(start, seeds), start)
        competition, after = start.candidates, F.argmax(axis=1)
        done = Round(
            rate=float(self.rate),
            selected=competition.count(chosen.counts),
            n_changed=int((start.scores.argmax(axis=1) != after).sum()),
            objective=float("nan"),
            labels=competition.names[after],
            note=f"{n_unreached:,} rows were not reached and keep their first label.",
        )
        return Outcome(F, [done])

    def _spread(self, start: Start, seeds: np.ndarray) -> np.ndarray:
        """Return label distributions (n, N); zeros where no label arrives."""
        from sklearn.semi_supervised import LabelSpreading  # slow to import

        k, search = self.n_neighbors - 1, self._search(start.rows)

        def joined(rows: np.ndarray, others: None = None) -> sparse.csr_array:
            """Join every row to its neighbours and, as scikit-learn does, to itself."""
            numbers = neighbours(rows, k, search=search)[1]
            own = np.arange(len(rows))[:, None]
            return graph(
                np.ones((len(rows), 1 + numbers.shape[1])), np.hstack([own, numbers])
            )

        spreading = LabelSpreading(
            kernel=joined,
            alpha=self.alpha,
            max_iter=MAX_ITER,
        ).fit(start.rows.astype(np.float32), seeds)
        F = np.zeros(start.scores.shape)
        F[:, spreading.classes_] = spreading.label_distributions_
        return F
