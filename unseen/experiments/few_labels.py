"""What a few given labels are worth: on the rows that none was given for.

A budget of labels is spent on rows drawn at random, or on those that ``suggest`` asks
for; a person would answer with the truth. The method learns from them beside its
prototypes, and two plain classifiers from them alone: the nearest class mean and
logistic regression, both on rows of unit length.

Photos are labelled as ``unseen label`` does, which is by the guided mixture: no other
method is run on them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unseen._linalg import unit_vectors
from unseen.asking.suggest import suggest
from unseen.experiments.photos import is_photo_set, read_set
from unseen.experiments.results import Finding, RunKey
from unseen.methods import METHODS
from unseen.metrics import per_class_accuracy

if TYPE_CHECKING:
    from unseen.experiments.tasks import Bench

__all__ = ["MEASURES", "few_labels", "logistic", "nearest_mean"]

PER_CLASS = (1, 3, 5)  # of photos: labels for each class, on average
IN_ALL = (20, 100)  # of sets with seen classes
PHOTOS = "guided"  # what labels photos
# Who labels, as results.csv calls it.
MEASURES = ("without", "nearest mean", "logistic", "with labels")


class _Task(NamedTuple):
    """Rows, their classes, who learns them from given ones, and how many are given."""

    X: np.ndarray
    y: np.ndarray
    learn: Callable[[dict], Any]
    budgets: dict[str, int]


def few_labels(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Adapt with no label and with a few, chosen in two ways; score the others."""
    of_photos = is_photo_set(bench.source)
    if of_photos and key.method != PHOTOS:
        return
    task = photo_task(bench, part) if of_photos else seen_task(bench, part, key)
    X, y, learn, budgets = task
    model = learn({})
    alone, sure = model.labels_, model.reliability_
    for name, n in budgets.items():
        for how, rows in chosen(X, n, key.seed, sure).items():
            given = dict(zip(rows.tolist(), y[rows].tolist(), strict=True))
            answers = (
                alone,
                nearest_mean(X, rows, y[rows]),
                logistic(X, rows, y[rows]),
                learn(given).labels_,
            )
            others = np.setdiff1d(np.arange(len(y)), rows)
            for measure, labels in zip(MEASURES, answers, strict=True):
                share = per_class_accuracy(y[others], labels[others])
                yield Finding(measure, f"{name}, {how}", value=share)


def photo_task(bench: Bench, part: str) -> _Task:
    """Return photos, and how ``unseen label`` labels them."""
    from unseen.photos import NamedPhotos, WeakNamesWarning

    found = read_set(bench.source.path, part)
    model = NamedPhotos(found.image, found.text).fit(found.names, allow_unknown=True)

    def learn(given: dict) -> NamedPhotos:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakNamesWarning)  # it is the case here
            return model.adapt(found.X, given=given or None)

    budgets = {f"{n} per class": n * len(found.names) for n in PER_CLASS}
    return _Task(found.X, found.truth, learn, budgets)


def seen_task(bench: Bench, part: str, key: RunKey) -> _Task:
    """Return a pile, and a method that learned from seen classes."""
    data = bench.data(part)
    model = bench.fitted(METHODS[key.method], part, 0)

    def learn(given: dict) -> Any:
        return model.adapt(bench.pile, given=given or None)

    budgets = {f"{n} in all": n for n in IN_ALL}
    return _Task(bench.pile, data.y_unseen, learn, budgets)


def chosen(X: np.ndarray, n: int, seed: int, sure: Any) -> dict[str, np.ndarray]:
    """Return n rows drawn at random, and n that are worth asking about."""
    drawn = np.random.default_rng([11, seed]).permutation(len(X))[:n]
    asked = suggest(X, n, reliability=sure, random_state=seed)
    return {"random": drawn, "suggested": asked}


def nearest_mean(X, rows, labels) -> np.ndarray:
    """Label rows by the nearest class mean of the labelled ones.

    >>> import numpy as np
    >>> from unseen.experiments.few_labels import nearest_mean
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]])
    >>> nearest_mean(X, np.array([0, 1]), np.array(["a", "b"]))
    array(['a', 'b', 'a'], dtype='<U1')
    """
    units = unit_vectors(X)
    names = np.unique(labels)
    means = np.array([units[rows[labels == name]].mean(axis=0) for name in names])
    scores = units @ means.T - np.sum(means * means, axis=1) / 2
    return names[scores.argmax(axis=1)]


def logistic(X, rows, labels) -> np.ndarray:
    """Label rows by logistic regression on the labelled ones."""
    from sklearn.linear_model import LogisticRegression

    names = np.unique(labels)
    if len(names) < 2:
        return np.repeat(names, len(X))
    units = unit_vectors(X)
    model = LogisticRegression(C=100.0, max_iter=500)
    return model.fit(units[rows], labels).predict(units)
