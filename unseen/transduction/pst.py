"""PST: propagated semantic transfer (Rohrbach, Ebert and Schiele, NeurIPS 2013).

    L  (n, N)   posteriors of the estimator
    S  (n, n)   k-nearest-neighbour graph of the rows in the space of class scores,
                weights exp(-d²/median), symmetric, normalised by degrees

    min_F  α tr Fᵀ(I - S)F + (1 - α) |F - L|²    so    F = (1 - α)(I - αS)⁻¹ L

Rows that score alike get the same label, unless the estimator knows better. Solved by
conjugate gradients (graph.py).
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from unseen.core.around import Start
from unseen.core.params import Interval, StrOptions
from unseen.transduction.graph import (
    gaussian,
    graph,
    neighbours,
    propagate,
    smoothness,
    symmetric_normalised,
)
from unseen.transduction.memory import check_memory, spreading_bytes
from unseen.transduction.transducer import SEARCH, START, Outcome, Transducer, as_round


class PST(Transducer):
    """Propagated semantic transfer: smooth the estimator's posteriors over a graph.

    Parameters
    ----------
    estimator : zero-shot model or None, default=None
        Where to start; None for the inductive part of ``AnchoredSelfTraining``. The
        authors start from ``DAP()``.
    n_neighbors : int, default=15
        Neighbours of a row in the graph.
    neighbors : {'auto', 'exact', 'approximate'}, default='auto'
        How neighbours are found: among all rows, or nearly, by faiss
        (``pip install unseen[neighbors]``). 'auto' is exact while that takes minutes,
        up to about 200,000 rows; ``neighbor_search_`` says which it was.
    alpha : float in [0, 1), default=0.5
        Weight of the graph; 0 is the estimator.
    space : {'scores', 'rows'}, default='scores'
        Where neighbours are looked for: among the scores of the competing classes,
        or among the rows.

    Attributes
    ----------
    labels_, reliability_, rounds_
        Left by ``adapt``.
    neighbor_search_ : str
        How neighbours were found, 'exact' or 'approximate'.

    Notes
    -----
    Our reading: the structure is the authors', the graph's size, width and weight are
    not known to us and are ours, and their attribute scores are class scores here, so
    that any estimator can be the start. It can hurt a little where the start is weak.

    References
    ----------
    Rohrbach, Ebert and Schiele, Transfer learning in a transductive setting,
    NeurIPS 2013.

    Examples
    --------
    >>> from unseen import DAP, PST, load_data
    >>> data = load_data("digits")
    >>> model = PST(DAP()).fit(data.X_seen, data.y_seen,
    ...                        class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Kept 533 of 533 rows (rate 1); ... 15 neighbours ...
    """

    _adapt_parameters = frozenset({"n_neighbors", "neighbors", "alpha", "space"})
    _parameter_constraints: dict = {
        **START,
        **SEARCH,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="left")],
        "space": [StrOptions({"scores", "rows"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_neighbors=15,
        neighbors="auto",
        alpha=0.5,
        space="scores",
    ):
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.alpha = alpha
        self.space = space

    def _transduce(self, start: Start) -> Outcome:
        n, n_classes = start.scores.shape
        spreading = spreading_bytes(n, n_classes, 2 * self.n_neighbors)
        check_memory("PST", spreading, f"labels and a graph of {n:,} rows")
        places = start.contrast()[0] if self.space == "scores" else start.rows
        search = self._search(places)
        distances, numbers = neighbours(places, self.n_neighbors, search=search)
        W = graph(gaussian(distances), numbers)
        S = symmetric_normalised(W + W.T)
        L = start.probabilities
        F = (1 - self.alpha) * propagate(S, L, self.alpha)
        cost = self.alpha * smoothness(S, F) + (1 - self.alpha) * np.sum((F - L) ** 2)
        note = (
            f"Posteriors spread over a graph with {numbers.shape[1]} neighbours a row."
        )
        step = as_round(L, F, start.candidates, objective=float(cost), note=note)
        return Outcome(F, [step])
