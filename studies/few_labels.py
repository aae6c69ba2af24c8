"""What a few given labels are worth: on the rows that none was given for.

A budget of labels is spent on rows drawn at random, or on those that ``suggest`` asks
for; a person would answer with the truth. The method learns from them beside its
prototypes, and two plain classifiers from them alone: the nearest class mean and
logistic regression, both on rows of unit length.

Photos are labelled as ``unseen label`` does, which is by the guided mixture: no other
method is run on them.

    python studies/few_labels.py few-labels --data ../shared/data
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from photos import is_photo_set, read_set

from unseen.core.linalg import to_unit
from unseen.experiments.bench import Bench
from unseen.experiments.plan import Plan
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.tables import (
    MAKERS,
    NOTHING,
    Table,
    in_column,
    mean_and_spread,
    notes,
)
from unseen.experiments.tasks import TASKS
from unseen.methods import METHODS
from unseen.trust.asking import suggest
from unseen.trust.metrics import per_class_accuracy

PLANS = ("few-labels",)
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
        return model.adapt(bench.unlabelled, given=given or None)

    budgets = {f"{n} in all": n for n in IN_ALL}
    return _Task(bench.unlabelled, data.y_unseen, learn, budgets)


def chosen(X: np.ndarray, n: int, seed: int, sure: Any) -> dict[str, np.ndarray]:
    """Return n rows drawn at random, and n that are worth asking about."""
    drawn = np.random.default_rng([11, seed]).permutation(len(X))[:n]
    asked = suggest(X, n, reliability=sure, random_state=seed)
    return {"random": drawn, "suggested": asked}


def nearest_mean(X, rows, labels) -> np.ndarray:
    """Label rows by the nearest class mean of the labelled ones.

    >>> import numpy as np
    >>> from few_labels import nearest_mean
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]])
    >>> nearest_mean(X, np.array([0, 1]), np.array(["a", "b"]))
    array(['a', 'b', 'a'], dtype='<U1')
    """
    units = to_unit(X)
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
    units = to_unit(X)
    model = LogisticRegression(C=100.0, max_iter=500)
    return model.fit(units[rows], labels).predict(units)


# ---- table ---------------------------------------------------------------------------

WAYS = ("random", "suggested")


def few_labels_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Show what budgets of labels make of data sets: by plain classifiers and by us.

    Sets that have a budget in common get a line with their mean.
    """
    mine = results[(results.task == plan.task) & results.measure.isin(MEASURES)]
    budget = mine["item"].str.rsplit(", ", n=1)
    mine = mine.assign(budget=budget.str[0], way=budget.str[1])
    rows: list[tuple[str, list[str]]] = []
    shown: list[pd.DataFrame] = []
    for row in plan.rows:
        for column in plan.columns:
            here = mine[in_column(mine, column) & (mine.method == row.method)]
            for name, found in here.groupby("budget", sort=False):
                rows.append((column.head, [row.label, str(name), *_cells(found)]))
                shown.append(found.assign(head=column.head))
    everything = pd.concat(shown) if shown else mine.assign(head="")
    common = everything[everything.budget.str.endswith("per class")]
    for name, found in common.groupby("budget", sort=False):
        n = found["head"].nunique()
        if n > 1:
            means = found.groupby(["measure", "way", "seed"])["value"].mean()
            cells = _cells(means.reset_index())
            rows.append((f"mean of {n} sets", ["", str(name), *cells]))
    heads = [("", ["method", "labels given", "none given"])]
    heads += [(f"{way}:", ["nearest mean", "logistic", "ours"]) for way in WAYS]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "data", notes=said)


def _cells(found: pd.DataFrame) -> list[str]:
    """Write the answer without labels, and all others for either way to choose."""
    return [
        _cell(found, MEASURES[0], WAYS[0]),
        *(_cell(found, measure, way) for way in WAYS for measure in MEASURES[1:]),
    ]


def _cell(found: pd.DataFrame, measure: str, way: str) -> str:
    own = found.loc[(found.measure == measure) & (found.way == way), "value"]
    return mean_and_spread(100 * own.to_numpy(float)) if len(own) else NOTHING


TASKS["few-labels"] = few_labels
MAKERS["few-labels"] = few_labels_table


if __name__ == "__main__":
    from laboratory import main

    main("few_labels")
