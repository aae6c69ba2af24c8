"""PST: propagated semantic transfer (Rohrbach, Ebert and Schiele, NeurIPS 2013).

    L  (n, N)   posteriors of the estimator
    S  (n, n)   k-nearest-neighbour graph of the rows in the space of class scores,
                weights exp(-d²/median), symmetric, normalised by degrees

    min_F  α tr Fᵀ(I - S)F + (1 - α) |F - L|²    so    F = (1 - α)(I - αS)⁻¹ L

Rows that score alike get the same label, unless the estimator knows better. Solved by
conjugate gradients (graph.py).
"""

from typing import Literal

import numpy as np

from unseen.core.around import Relabelled, estimator_of
from unseen.core.neighbours import neighbours
from unseen.core.params import Count, ShareBelow1
from unseen.core.start import Start
from unseen.transduction.graph import (
    gaussian,
    graph,
    propagate,
    smoothness,
    symmetric_normalised,
)


def pst(
    start: Start,
    *,
    n_neighbors: Count = 15,
    alpha: ShareBelow1 = 0.5,
    space: Literal["scores", "rows"] = "scores",
) -> Relabelled:
    """Propagated semantic transfer: smooth the estimator's posteriors over a graph.

    The authors start from ``DAP()``.

    Parameters
    ----------
    n_neighbors : int, default=15
        Neighbours of a row in the graph.
    alpha : float in [0, 1), default=0.5
        Weight of the graph; 0 is the estimator.
    space : {'scores', 'rows'}, default='scores'
        Where neighbours are looked for: among the scores of the competing classes,
        or among the rows.

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
    >>> from unseen import ESZSL, PST, load_data
    >>> data = load_data("photos-200")
    >>> model = PST(ESZSL()).fit(data.X_seen, data.y_seen,
    ...                          class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Learned from 1,000 of 1,000 rows (rate 1); ... 15 neighbours ...
    """
    places = start.contrast()[0] if space == "scores" else start.rows
    distances, numbers = neighbours(places, n_neighbors)
    W = graph(gaussian(distances), numbers)
    S = symmetric_normalised(W + W.T)
    L = start.probabilities
    F = (1 - alpha) * propagate(S, L, alpha)
    cost = alpha * smoothness(S, F) + (1 - alpha) * np.sum((F - L) ** 2)
    note = f"Posteriors spread over a graph with {numbers.shape[1]} neighbours a row."
    step = start.round(L, F, cost, note)
    return Relabelled(F, [step])


PST = estimator_of(pst, "PST")
