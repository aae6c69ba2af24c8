"""TMV-HLP: transductive multi-view hypergraph label propagation (Fu et al., PAMI 2015).

    X  (n, r)   rows, every column of unit variance          the visual view
    P  (n, N)   posteriors of the estimator, the same             the semantic view

1. CCA between the views gives both d coordinates, weighted by (1 + ρ)⁴ of each
   canonical correlation ρ; nodes get unit length.
2. The prototype of class c in P is 1 at c. It becomes the mean of the rows most
   similar to it, once, and is a node in both views.
3. K_v: in view v every node is joined to its k nearest, a prototype to 9 k, by
   exp(-d²/median).
4. A hyperedge for every node and every ordered pair of views: the k nodes nearest, in
   the other view, to where the node is in the first. H (edges, nodes) holds the
   weights, δ_e their mean in edge e, h = H / √(Σ_e δ_e H_e²):

    W = ¼ (K_1 + 1.5 K_2) + ¾ hᵀ diag(δ) h,    S = D^-1/2 W D^-1/2

5. L is 1 at the prototypes, and labels are (1 - α)(I - αS)⁻¹ L.

hᵀ diag(δ) h is never formed: conjugate gradients only multiply by it.

``PrototypeAveraging`` is the second step alone, in the space of the start and by
cosines:

    z_c ← mean of the k rows most similar to z_c;  a row goes to the most similar z_c
"""

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator

from unseen.core.around import Relabelled, estimator_of
from unseen.core.linalg import to_unit
from unseen.core.neighbours import neighbours
from unseen.core.outcome import LinearScorer
from unseen.core.params import Count, ShareInside
from unseen.core.start import Start
from unseen.core.sums import best_means, inverse_root
from unseen.transduction.graph import gaussian, graph, inverse_roots, propagate

REGULARISATION = 1e-4  # of CCA, in units of the mean variance


def tmvhlp(
    start: Start,
    *,
    n_similar: Count = 30,
    n_neighbors: Count = 30,
    alpha: ShareInside = 0.35,
) -> Relabelled:
    """Transductive multi-view hypergraph label propagation, with two views.

    Parameters
    ----------
    n_similar : int, default=30
        Rows whose mean a prototype becomes, but no more than a class of average size
        has. The authors took 500 on AwA.
    n_neighbors : int, default=30
        k, of graphs and hyperedges.
    alpha : float in (0, 1), default=0.35
        How far labels flow.

    Notes
    -----
    Our reading of the authors' program, with three differences. Its semantic views are
    predicted attributes and word vectors; here it is the posterior over the candidate
    classes, which any estimator has. CCA is blind to a linear map of a view, so the
    attributes expected under the posterior would be the same view. Graphs and
    hyperedges keep nearest neighbours only and leave out the scaling of all n²
    similarities and the weights of views by their agreement. And labels flow once: the
    program flows on, and keeps the step with the best test accuracy.

    References
    ----------
    Fu, Hospedales, Xiang and Gong, Transductive multi-view zero-shot learning,
    PAMI 2015.

    Examples
    --------
    >>> from unseen import TMVHLP, load_data
    >>> data = load_data("photos-200")
    >>> model = TMVHLP().fit(data.X_seen, data.y_seen,
    ...                      class_embeddings=data.class_embeddings)
    >>> print(model.adapt(data.X_unseen).rounds_[0])
    Learned from 1,000 of 1,000 rows (rate 1); ... canonical correlation ...
    """
    n, N = start.scores.shape
    views, rho = two_views(start, n_similar)
    S, L = hypergraph(views, N, n_neighbors), np.eye(n + N, N)  # prototypes come first
    F = (1 - alpha) * propagate(S, L, alpha)
    scores, _ = start.keep_unreached(F[N:])
    note = f"The mean canonical correlation of the views is {rho.mean():.2f}."
    return Relabelled(scores, [start.round(start.scores, scores, note=note)])


def two_views(start: Start, n_similar: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the nodes in both views, prototypes first, and the correlations."""
    P = start.probabilities
    X_scaled, P_scaled = (standardised(V) for V in (start.rows, P))
    to_shared_X, to_shared_P, rho = canonical(X_scaled, P_scaled)
    weights = (1 + rho) ** 4
    semantic = P_scaled @ (to_shared_P * weights)
    visual = X_scaled @ (to_shared_X * weights)
    # A prototype has no looks: it stands in both views where its meaning is.
    prototypes = best_means(semantic, to_unit(P), min(n_similar, start.even_size))
    views = [to_unit(np.vstack([prototypes, view])) for view in (visual, semantic)]
    return views, rho


def standardised(V: np.ndarray) -> np.ndarray:
    """Return columns less their means, over their spreads; constant ones are zeros."""
    spread, rounding = V.std(axis=0), 1e-12 * np.abs(V).max(axis=0)
    return (V - V.mean(axis=0)) / np.where(spread > rounding, spread, 1)


def canonical(X: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the projections of both centred views and the canonical correlations."""
    # The singular values of what whitening leaves between the views.
    root_X, root_P = (
        inverse_root(V.T @ V / len(V), REGULARISATION, V.shape[1]) for V in (X, P)
    )
    between = root_X @ (X.T @ P / len(X)) @ root_P
    U, rho, Vt = linalg.svd(between, full_matrices=False)
    return root_X @ U, root_P @ Vt.T, rho


def hypergraph(views: list[np.ndarray], n_prototypes: int, k: int) -> LinearOperator:
    """Return S of the nodes, to be multiplied by."""
    n = len(views[0])
    visual, semantic = (view_graph(view, n_prototypes, k) for view in views)
    W = visual + 1.5 * semantic
    W = (W + W.T) / 8
    h, delta = hyperedges(views, k)

    def multiply(F: np.ndarray) -> np.ndarray:
        return W @ F + 0.75 * (h.T @ (delta[:, None] * (h @ F)))

    roots = inverse_roots(multiply(np.ones((n, 1))))

    def apply(F: np.ndarray) -> np.ndarray:
        return roots * multiply(roots * F.reshape(n, -1))

    return LinearOperator((n, n), matvec=apply, matmat=apply, dtype=float)


def view_graph(view: np.ndarray, n_prototypes: int, k: int) -> sparse.csr_array:
    """Return the neighbours of every node in one view; prototypes have more."""
    distances, numbers = neighbours(view, k)
    rows = graph(gaussian(distances), numbers)[n_prototypes:]
    # Among its own nearest a prototype finds itself first.
    far, many = neighbours(view[:n_prototypes], 9 * k + 1, view)
    own = many == np.arange(n_prototypes)[:, None]
    weights = np.where(own, 0.0, gaussian(far))
    return sparse.csr_array(sparse.vstack([graph(weights, many, len(view)), rows]))


def hyperedges(views: list[np.ndarray], k: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Return h (edges, nodes) and δ; the columns of √δ h have unit length."""
    first, second = views
    found = [neighbours(first, k, second), neighbours(second, k, first)]
    edges = [graph(gaussian(far), numbers, len(first)) for far, numbers in found]
    H = sparse.vstack(edges).tocsr()
    delta = H.sum(axis=1) / np.maximum((H > 0).sum(axis=1), 1)
    lengths = np.asarray((H * H).T @ delta)
    h = H @ sparse.diags_array(inverse_roots(lengths))
    return sparse.csr_array(h), np.asarray(delta)


def prototype_averaging(start: Start, *, n_neighbors: Count = 50) -> Relabelled:
    """Replace every prototype by the mean of its k nearest rows, once.

    Parameters
    ----------
    n_neighbors : int, default=50
        k, but no more than a class of average size has: beyond it prototypes would
        run into each other. The authors took 500 on AwA, whose classes are large.

    References
    ----------
    Fu, Hospedales, Xiang and Gong, Transductive multi-view zero-shot learning,
    PAMI 2015.

    Examples
    --------
    >>> from unseen import PrototypeAveraging, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = PrototypeAveraging().fit(data.X_seen, data.y_seen,
    ...                                  class_embeddings=data.class_embeddings)
    >>> labels = model.adapt(data.X_unseen).labels_
    >>> round(per_class_accuracy(data.y_unseen, labels), 2)
    0.65
    >>> bool((model.predict(data.X_unseen) == model.labels_).all())
    True
    """
    units, k = to_unit(start.rows), min(n_neighbors, start.even_size)
    moved = to_unit(best_means(units, units @ to_unit(start.prototypes).T, k))
    scores = start.rows @ moved.T
    note = f"Prototypes became means of {k} rows."
    step = start.round(start.scores, scores, note=note)
    return Relabelled(scores, [step], LinearScorer(moved, np.zeros(len(moved))))


TMVHLP = estimator_of(tmvhlp, "TMVHLP")
PrototypeAveraging = estimator_of(prototype_averaging, "PrototypeAveraging")
