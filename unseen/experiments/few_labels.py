"""What a few given labels are worth: on the rows that none was given for.

A budget of labels is spent on rows drawn at random, or on those that ``suggest`` asks
for; a person would answer with the truth. The method learns from them beside its
prototypes, and two plain classifiers from them alone: the nearest class mean and
logistic regression, both on rows of unit length.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen._linalg import unit_vectors
from unseen.asking.suggest import suggest
from unseen.experiments.cells import make_cell
from unseen.experiments.results import Finding, RunKey
from unseen.methods import METHODS
from unseen.metrics import per_class_accuracy

if TYPE_CHECKING:
    from unseen.experiments.tasks import Bench

__all__ = ["few_labels", "logistic", "nearest_mean"]

PER_CLASS = (1, 3, 5)  # of photos: labels for each class, on average
IN_ALL = (20, 100)  # of sets with seen classes


def few_labels(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Adapt with no label and with a few, chosen in two ways; score the others."""
    method = METHODS[key.method]
    if Path(bench.source.path).is_dir() and not bench.source.about:
        cell = make_cell(bench.source, part, key.seed)
        X, y = cell.X, cell.y
        model = method.from_prototypes(cell.prototypes)
        budgets = {f"{n} per class": n * len(cell.prototypes) for n in PER_CLASS}
    else:
        data = bench.data(part)
        model = bench.fitted(method, part, 0)
        X, y = bench.pile, data.y_unseen
        budgets = {f"{n} in all": n for n in IN_ALL}
    alone = model.adapt(X).labels_
    for name, n in budgets.items():
        for how, rows in chosen(X, n, key.seed).items():
            answers = {
                "names alone": alone,
                "nearest mean": nearest_mean(X, rows, y[rows]),
                "logistic": logistic(X, rows, y[rows]),
                "given": with_labels(model, X, rows, y[rows]),
            }
            others = np.setdiff1d(np.arange(len(y)), rows)
            for measure, labels in answers.items():
                share = per_class_accuracy(y[others], labels[others])
                yield Finding(measure, f"{name}, {how}", value=share)


def chosen(X: np.ndarray, n: int, seed: int) -> dict[str, np.ndarray]:
    """Return n rows drawn at random, and n that are worth asking about."""
    drawn = np.random.default_rng([11, seed]).permutation(len(X))[:n]
    return {"random": drawn, "suggested": suggest(X, n, random_state=seed)}


def with_labels(model: Any, X, rows, labels) -> np.ndarray:
    """Return the labels of a pile for some rows of which they are given."""
    given = dict(zip(rows.tolist(), labels.tolist(), strict=True))
    return model.adapt(X, given=given).labels_


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
