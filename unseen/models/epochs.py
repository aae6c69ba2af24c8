"""Maps learned by epochs, and stopped on held-out classes: what ranking models share.

Letters as in ranking.py. The loss is lowered by steps against the gradient on
mini-batches: with G (batch, M) the derivative of the loss by the scores, the step is
W -= learning_rate · Xᵀ G A / batch. Rows and embeddings are scaled to unit mean square
for it, so that one learning rate suits all data, and put in an order of their own, so
that theirs does not matter. Steps stay in the span of the seen embeddings: they are
made there, with M numbers per class at most in place of q, and in float32. What counts
is the mean of W over the last epoch: single steps are noisy, above all those of SJE.

When to stop is asked of classes that take no part: a share of the seen classes is
held out, the epoch at which they are told apart best is remembered, and the map is
then learned anew on all seen classes for that many epochs.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from unseen.core.linalg import row_space
from unseen.core.on_axes import ON_AXES, OnAxes, Seen
from unseen.core.params import COUNT, POSITIVE, Interval
from unseen.models.refits import bilinear, label_fit
from unseen.progress import counted

EPOCHS: dict = {
    "learning_rate": POSITIVE,
    "margin": POSITIVE,
    "max_iter": COUNT,
    "batch_size": COUNT,
    "validation_fraction": [Interval(Real, 0, 1, closed="left")],
    "n_iter_no_change": COUNT,
    "random_state": ["random_state"],
    **ON_AXES,
}


@dataclass(eq=False, repr=False)
class RankingClassifier(OnAxes):
    """Base of the models that learn by epochs and stop on held-out classes."""

    learning_rate: float = 1.0
    _: KW_ONLY
    margin: float = 1.0
    max_iter: int = 100
    batch_size: int = 256
    validation_fraction: float = 0.2
    n_iter_no_change: int = 10
    random_state: Any = 0

    _parameter_constraints = EPOCHS
    _score = staticmethod(bilinear)
    _refit = staticmethod(label_fit)

    def _needs_rows(self) -> bool:
        return True

    def _learn(self, seen: Seen) -> None:
        self.coef_ = self._learn_maps(seen)[0]

    def _step(self, maps, X, y, A, random) -> tuple[float, np.ndarray]:
        """Return the mean loss of a batch and its gradient by the maps."""
        own, F = (np.arange(len(y)), y), X @ maps[0] @ A.T
        V = self.margin + F - F[own][:, None]
        V[own] = 0
        G = self._violations(V)  # how much each counts, 0 where there is none
        loss = float(np.vdot(G, V)) / len(y)
        G[own] = -G.sum(axis=1)
        return loss, (X.T @ G @ A)[None] / len(y)

    def _first_maps(self, p: int, basis: np.ndarray, random) -> np.ndarray:
        """Return the maps to start from, in the span of the seen embeddings."""
        return np.zeros((1, p, basis.shape[1]))

    def _learn_maps(self, seen: Seen) -> np.ndarray:
        """Return the maps learned; sets ``n_iter_`` and ``history_``."""
        x_scale, a_scale = root_mean_square(seen.B), root_mean_square(seen.A)
        X, y, A = canonical(seen.B / x_scale, seen.codes, seen.A / a_scale)
        basis = row_space(A)
        rows = X.astype(np.float32), y, (A @ basis).astype(np.float32), basis
        self.n_iter_, self.history_ = self._best_epoch(*rows), []
        for epoch in self._epochs(*rows, self.n_iter_):
            maps, loss = epoch
            self.history_.append(loss)
        return maps.astype(np.float64) @ basis.T / (x_scale * a_scale)

    def _epochs(self, X, y, A, basis, n_iter: int):
        """Yield the maps an epoch ends with, and its mean loss."""
        random = check_random_state(self.random_state)
        maps = self._first_maps(X.shape[1], basis, random).astype(X.dtype)
        starts = range(0, len(X), self.batch_size)
        for _ in counted("epochs", range(n_iter)):
            total, passed = 0.0, np.zeros_like(maps)
            order = random.permutation(len(X))
            for start in starts:
                rows = order[start : start + self.batch_size]
                loss, slope = self._step(maps, X[rows], y[rows], A, random)
                maps = maps - X.dtype.type(self.learning_rate) * slope
                total += loss * len(rows)
                passed += maps
            yield passed / len(starts), total / len(X)

    def _best_epoch(self, X, y, A, basis) -> int:
        """Return the epochs after which held-out classes are told apart best."""
        from sklearn.metrics import balanced_accuracy_score  # slow to import

        n_held_out = round(self.validation_fraction * len(A))
        if n_held_out < 2 or len(A) - n_held_out < 2:
            return self.max_iter
        random = check_random_state(self.random_state)
        held_out = np.zeros(len(A), dtype=bool)
        held_out[random.permutation(len(A))[:n_held_out]] = True
        own, number = held_out[y], np.cumsum(~held_out) - 1
        rows, truth = X[own], (np.cumsum(held_out) - 1)[y[own]]
        best, best_epoch = -1.0, 0
        others = X[~own], number[y[~own]], A[~held_out], basis
        epochs = self._epochs(*others, self.max_iter)
        for epoch, (maps, _) in enumerate(epochs, start=1):
            scores = np.max([rows @ W @ A[held_out].T for W in maps], axis=0)
            score = balanced_accuracy_score(truth, scores.argmax(axis=1))
            if score > best:
                best, best_epoch = score, epoch
            elif epoch - best_epoch >= self.n_iter_no_change:
                return best_epoch
        if best_epoch == self.max_iter:
            warnings.warn(
                f"All max_iter={self.max_iter} epochs used, and held-out classes were "
                f"told apart best ({best:.1%}) after the last. Raise max_iter or "
                "learning_rate.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return best_epoch


def root_mean_square(X: np.ndarray) -> float:
    """Return the root of the mean squared length of rows, 1 if all are zero."""
    return float(np.sqrt(np.einsum("ij,ij->", X, X) / len(X))) or 1.0


def canonical(X, y, A) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and classes in an order of their own, whatever they came in."""
    # Rounded first, for the order of a sum shows in its last digits.
    classes = np.lexsort(np.round(A, 9).T[::-1])
    y = np.argsort(classes)[y]
    keys = np.round(X[:, :3], 9).T[::-1]  # three features tell rows apart
    rows = np.lexsort((*keys, y))
    return X[rows], y[rows], A[classes]
