"""BiDiLEL: latent space bottom-up, landmarks top-down (Wang & Chen, IJCV 2017).

    X  (m, p)   seen rows, centred, on the axes     S, T   embeddings at unit length
    P  (p, d)   to the latent space                 b  (·, d)  landmarks, one per class

    bottom-up   G P = (S_w + alpha I) P diag(ev), the d largest; b_c = unit(mean of x P)
    top-down    min_b  1/MN Σ_ij (d_ij - δ_ij)²/δ_ij
                       + 2/N(N-1) Σ_j<k (d_jk - δ_jk)²/δ_jk

G is XᵀX and S_w the scatter inside classes: supervised locality preserving projection
with every two rows of a class joined by 1/n_c, which is a regularised discriminant
analysis. d are distances between landmarks, of unseen j to seen i and to unseen k; δ
those between embeddings, in the scale that fits the seen landmarks best.

    self_training   b_j ← mean of the k unlabelled rows nearest to it
    structured      k-means of these rows from b on; clusters to classes one to one
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import linalg
from scipy.optimize import linear_sum_assignment, minimize
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from unseen.core.base import ZeroShotClassifier
from unseen.core.classes import Candidates, ClassTable, places
from unseen.core.linalg import to_unit, with_fixed_signs
from unseen.core.outcome import LinearRule, LinearScorer, Outcome, Round
from unseen.core.params import Count, Positive, Seed
from unseen.core.sums import Sums, best_means, group_means, inverse_root


@dataclass(eq=False, repr=False)
class BiDiLEL(ZeroShotClassifier):
    """Bidirectional latent embedding: landmarks of classes, moved by new rows.

    Parameters
    ----------
    n_components : int, default=150
        d, the dimensions of the latent space, at most the number of axes.
    alpha : float, default=0.1
        Ridge of the bottom-up step, in units of the mean scatter inside classes.
    transduction : {'self_training', 'structured', None}, default='self_training'
        What ``adapt`` does to the landmarks; ``None`` leaves them.
    n_neighbors : int, default=40
        k of self-training.
    n_axes : int, default=500
        Principal axes the features are reduced to first.
    unit_rows : bool, default=True
        Scale every row of X to unit length.
    random_state : int, RandomState or None, default=0
        Draws where landmarks start from.

    Attributes
    ----------
    components_ : ndarray of shape (n_axes, n_components)
        P.
    landmarks_ : ndarray of shape (n_seen, n_components)
        Of the seen classes.
    labels_, reliability_, rounds_
        Left by ``adapt``; the objective of the one round is the mean cosine distance of
        rows to their landmark.

    Notes
    -----
    The authors' program was not at hand. Bottom-up follows later public code of the
    same author, with all rows of a class for neighbours instead of the nearest few, so
    that sums suffice. The form of the top-down step, the distances δ and their scale
    are our reading. Where the landmark of an unseen class lies depends on who else
    competes: that is the method.

    References
    ----------
    Q. Wang, K. Chen, "Zero-shot visual recognition via bidirectional latent embedding",
    International Journal of Computer Vision 124, 2017.

    Examples
    --------
    >>> from unseen import BiDiLEL, load_data, per_class_accuracy
    >>> data = load_data("photos-200")
    >>> model = BiDiLEL().fit(data.X_seen, data.y_seen,
    ...                       class_embeddings=data.class_embeddings)
    >>> labels = model.adapt(data.X_unseen).labels_
    >>> round(per_class_accuracy(data.y_unseen, labels), 2)
    0.64
    """

    n_components: Count = 150
    _: KW_ONLY
    alpha: Positive = 0.1
    transduction: Literal["self_training", "structured"] | None = "self_training"
    n_neighbors: Count = 40
    n_axes: Count = 500
    unit_rows: bool = True
    random_state: Seed = 0

    _own_rows = True
    _adapt_parameters = frozenset({"transduction", "n_neighbors"})

    def _fit_sums(self, sums: Sums, table: ClassTable, rows=None):
        reduced = sums.reduced(self.n_axes)
        seen = reduced.sums.for_classes(table.seen)
        P = discriminant_axes(seen, self.alpha, self.n_components)
        self.components_ = P
        self.landmarks_ = to_unit(seen.class_means @ P)
        self.mean_, self.axes_ = reduced.mean, reduced.axes
        self._seen_units = table.units()[table.seen]
        self._seed = check_random_state(self.random_state).randint(2**31 - 1)
        self._ready(table)
        self._placed = self._default, self._place(self._default)
        return self

    def _scorer(self, candidates: Candidates) -> LinearScorer:
        return self._linear(self._landmarks(candidates))

    def _linear(self, b: np.ndarray) -> LinearScorer:
        """Return the cosines with landmarks, but for the length of the row."""
        cosines = LinearScorer(b @ self.components_.T, np.zeros(len(b)))
        return cosines.on_features(self.axes_, self.mean_)

    def _landmarks(self, candidates: Candidates) -> np.ndarray:
        """Return the unit landmarks of classes; those of the default are kept."""
        default, landmarks = self._placed
        same = np.array_equal(default.names, candidates.names) and np.array_equal(
            default.embeddings, candidates.embeddings
        )
        return landmarks if same else self._place(candidates)

    def _place(self, candidates: Candidates) -> np.ndarray:
        """Find the landmarks of classes: their own if seen, else top-down."""
        units = self._table.units(candidates.embeddings)
        place = places(candidates.names, self._seen_names)
        b = self.landmarks_[place]
        new = place < 0
        if new.any():
            scale = distance_scale(self.landmarks_, self._seen_units)
            to_seen = scale * cdist(units[new], self._seen_units)
            between = scale * cdist(units[new], units[new])
            random = check_random_state(self._seed)
            b[new] = place_landmarks(self.landmarks_, to_seen, between, random)
        return to_unit(b)

    def _adapt(self, unlabelled, candidates, given) -> Outcome:
        rows = unlabelled.around(self.mean_, self.axes_, self.unit_rows)
        rows = to_unit(rows @ self.components_)
        start = self._landmarks(candidates)
        if given is not None:  # a landmark counts as a row, given rows as themselves
            start = start.copy()
            np.add.at(start, given.codes[given.rows], rows[given.rows])
            start = to_unit(start)
        b = start
        if self.transduction == "self_training":
            b = best_means(rows, rows @ start.T, self.n_neighbors)
        elif self.transduction == "structured":
            centres = cluster(rows, start)
            b = centres[linear_sum_assignment(cdist(start, centres))[1]]
        b = to_unit(b)
        scores = rows @ b.T
        codes, cosines = scores.argmax(axis=1), scores.max(axis=1)
        first = (rows @ start.T).argmax(axis=1)
        step = Round.of_all(candidates, first, codes, np.mean(1 - cosines))
        rule = LinearRule(candidates, self._linear(b), self.unit_rows)
        return Outcome(codes, cosines, [step], rule)


def discriminant_axes(sums: Sums, alpha: float, d: int) -> np.ndarray:
    """G P = (S_w + alpha · mean scatter · I) P diag(ev): the d largest."""
    S_w, p = sums.within_class_scatter(), len(sums.gram)
    if np.trace(S_w) <= 1e-12 * np.trace(sums.gram):  # every class is a point
        S_w = np.zeros_like(S_w)  # and its scatter is rounding
    root, chosen = inverse_root(S_w, alpha, p), [max(p - d, 0), p - 1]
    vectors = linalg.eigh(root @ sums.gram @ root, subset_by_index=chosen)[1][:, ::-1]
    return with_fixed_signs(root @ vectors)


def distance_scale(landmarks: np.ndarray, units: np.ndarray) -> float:
    """Return the factor by which distances of embeddings fit those of landmarks."""
    theirs, ours = cdist(units, units), cdist(landmarks, landmarks)
    square = np.vdot(theirs, theirs)
    return float(np.vdot(theirs, ours) / square) if square > 0 else 1.0


def place_landmarks(seen, to_seen, between, random) -> np.ndarray:
    """Lower Sammon's stress from a random start; return the new landmarks."""
    shape = len(to_seen), seen.shape[1]
    first = 0.1 * random.standard_normal(shape) + seen.mean(axis=0)
    found = minimize(
        stress,
        first.ravel(),
        # No two embeddings count as nearer than this.
        args=(seen, np.maximum(to_seen, 1e-6), np.maximum(between, 1e-6)),
        jac=True,
        method="L-BFGS-B",
        # Stopped sooner, rounding would show in where landmarks lie.
        options={"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-12},
    )
    return found.x.reshape(shape)


def stress(flat, seen, to_seen, between) -> tuple[float, np.ndarray]:
    """Return the stress of landmarks and its gradient."""
    N, M = to_seen.shape
    # Every pair of new ones counts from both ends, none with itself.
    apart = (1 - np.eye(N)) / max(N * (N - 1), 1)
    weights = np.hstack([np.full((N, M), 1 / (M * N)), apart])
    wanted = np.hstack([to_seen, between])
    b = flat.reshape(N, -1)
    everyone = np.vstack([seen, b])
    d = np.maximum(cdist(b, everyone), 1e-12)
    misses = weights * (d - wanted) / wanted
    pull = 2 * misses / d
    pull[:, M:] *= 2  # both ends move
    gradient = pull.sum(axis=1)[:, None] * b - pull @ everyone
    return float(np.vdot(misses, d - wanted)), gradient.ravel()


def cluster(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the centres of k-means from these on; an empty one stays."""
    labels = None
    for _ in range(50):
        nearest = rows @ centres.T - np.sum(centres**2, axis=1) / 2
        before, labels = labels, nearest.argmax(axis=1)
        if before is not None and (before == labels).all():
            break
        means, sizes = group_means(rows, labels, len(centres))
        centres = np.where(sizes[:, None] > 0, means, centres)
    return centres
