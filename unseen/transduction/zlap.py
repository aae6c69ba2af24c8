"""ZLaP: zero-shot label propagation (Stojnić, Kalantidis and Tolias, CVPR 2024).

The nodes are the N classes and the n rows, all at unit length.

    W   row-row: cos to the nearest other rows;  row-class: cos^γ to the nearest
        classes, whatever the rows are;  negative cosines count 0;  W + Wᵀ
    S   D^-1/2 W D^-1/2
    e_c 1 at the node of class c

    (I - αS) F = [e_1 … e_N],  minimising  tr Fᵀ(I - αS)F / 2 - tr FᵀE

Where text and images lie apart (CLIP), no class is among the nearest nodes of a row.
That is why classes are looked for on their own.
"""

import numpy as np
from scipy import sparse

from unseen.core.around import Relabelled, estimator_of
from unseen.core.linalg import to_unit
from unseen.core.neighbours import neighbours
from unseen.core.params import Count, Positive, ShareBelow1
from unseen.core.start import Start
from unseen.transduction.graph import (
    cosine_graph,
    graph,
    propagate,
    symmetric_normalised,
)


def zlap(
    start: Start,
    *,
    n_neighbors: Count = 4,
    n_classes: Count = 5,
    gamma: Positive = 5.0,
    alpha: ShareBelow1 = 0.3,
) -> Relabelled:
    """Zero-shot label propagation: labels flow from class nodes over a graph of rows.

    Rows that no label reaches keep that of the estimator, with the lowest reliability;
    the note of the round counts them.

    Parameters
    ----------
    n_neighbors : int, default=4
        Other rows that each row is joined to.
    n_classes : int, default=5
        Classes that each row is joined to.
    gamma : float, default=5.0
        Power of the cosines to classes: larger trusts the nearest more.
    alpha : float in [0, 1), default=0.3
        How far labels flow.

    Notes
    -----
    After the authors' program, written anew, with its defaults, made for CLIP. Its one
    k of five counts the row itself among its neighbours: four others, and five
    classes. New rows go to the nearest of the class means of the labelled rows.

    References
    ----------
    Stojnić, Kalantidis and Tolias, Label propagation for zero-shot classification with
    vision-language models, CVPR 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import ZLaP
    >>> rng = np.random.default_rng(0)
    >>> texts = rng.normal(size=(4, 20))
    >>> images = texts[np.repeat(np.arange(4), 25)] + rng.normal(size=(100, 20))
    >>> model = ZLaP.from_prototypes(texts).adapt(images)
    >>> print(model.rounds_[0])
    Learned from 100 of 100 rows (rate 1); ... 0 rows were not reached ...
    """
    n, N = start.scores.shape
    rows, classes = to_unit(start.rows), to_unit(start.prototypes)
    S = joint_graph(rows, classes, n_neighbors, n_classes, gamma)
    F = propagate(S, np.eye(n + N, N), alpha)  # classes are the first nodes
    reached, n_unreached = start.keep_unreached(F[N:])
    cost = -np.trace(F[:N]) / 2  # at the minimum
    note = f"{n_unreached:,} rows were not reached and keep their first label."
    step = start.round(start.scores, reached, cost, note)
    return Relabelled(reached, [step])


def joint_graph(
    rows: np.ndarray, classes: np.ndarray, n_rows: int, n_classes: int, gamma: float
) -> sparse.csr_array:
    """Return S over classes and rows, both of unit length, classes first."""
    among_rows = cosine_graph(*neighbours(rows, n_rows))
    cosines = rows @ classes.T
    k = min(n_classes, len(classes))
    nearest = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
    weights = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 0.0) ** gamma
    to_classes = graph(weights, nearest, len(classes))
    among_classes = sparse.csr_array((len(classes), len(classes)))
    W = sparse.block_array(
        [[among_classes, to_classes.T], [to_classes, among_rows + among_rows.T]]
    )
    return symmetric_normalised(sparse.csr_array(W))


ZLaP = estimator_of(zlap, "ZLaP")
