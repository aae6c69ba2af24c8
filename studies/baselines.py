"""What any method for names alone has to beat: the names themselves, k-means, EM.

All start at cosines of rows and prototypes, each kind less its own mean (``centred``),
or at the answer of the estimator as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from unseen.core.around import Relabelled, estimator_of
from unseen.core.linalg import to_unit
from unseen.core.start import Start

SHARPNESS = 20.0  # of centred cosines, for a softmax
MAX_ROUNDS = 30
SMALLEST = 1e-9


def compared(start: Start, centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, prototypes and scores of the start.

    Centred or not, as the parameter of all methods here says.
    """
    rows, prototypes = (M.astype(np.float64) for M in (start.rows, start.prototypes))
    if not centred:
        return rows, prototypes, start.logits.astype(np.float64)
    rows = to_unit(rows - rows.mean(axis=0))
    prototypes = to_unit(prototypes - prototypes.mean(axis=0))
    return rows, prototypes, SHARPNESS * rows @ prototypes.T


def names_alone(start: Start, *, centred: bool = True) -> Relabelled:
    """Return the start's own answer."""
    scores = compared(start, centred)[2]
    return Relabelled(scores, [start.round(start.scores, scores)])


def k_means(start: Start, *, centred: bool = True) -> Relabelled:
    """Take means of rows by labels, and labels by the nearest mean, until they stay.

    A class without rows keeps the mean it had, at first its prototype.
    """
    rows, means, scores = compared(start, centred)
    rounds: list[Any] = []
    for _ in range(MAX_ROUNDS):
        before, labels = scores, scores.argmax(axis=1)
        sizes = np.bincount(labels, minlength=len(means))
        sums = np.zeros_like(means)
        np.add.at(sums, labels, rows)
        own = sums / np.maximum(sizes, 1)[:, None]
        means = np.where(sizes[:, None] > 0, own, means)
        scores = rows @ means.T - np.sum(means**2, axis=1) / 2
        rounds.append(start.round(before, scores))
        if rounds[-1].n_changed == 0:
            break
    return Relabelled(scores, rounds)


def plain_em(start: Start, *, centred: bool = True) -> Relabelled:
    """Fit a Gaussian mixture with one variance and free sizes, from the soft labels."""
    rows, _, scores = compared(start, centred)
    length = np.mean(np.sum(rows**2, axis=1))
    rounds: list[Any] = []
    for _ in range(MAX_ROUNDS):
        before, R = scores, softmax(scores, axis=1)
        sizes = np.maximum(R.sum(axis=0), SMALLEST)
        means = R.T @ rows / sizes[:, None]
        squares = np.sum(means**2, axis=1)
        variance = (length - sizes @ squares / len(rows)) / rows.shape[1]
        scores = (rows @ means.T - squares / 2) / max(variance, SMALLEST)
        scores += np.log(sizes)
        rounds.append(start.round(before, scores))
        if rounds[-1].n_changed == 0:
            break
    return Relabelled(scores, rounds)


NamesAlone = estimator_of(names_alone, "NamesAlone")
KMeans = estimator_of(k_means, "KMeans")
PlainEM = estimator_of(plain_em, "PlainEM")
