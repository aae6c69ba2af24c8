"""What a run does, one function per task, each returning findings.

A bench holds what the runs on one data set share: the rows, the class-wise folds with
their sums, and the searches already made. It lives in one process; what it remembers
saves time and changes no number.

No label of an unseen class reaches ``fit``, ``adapt`` or a search here: they are read
to score, at the very end of a run.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from unseen._linalg import unit_vectors
from unseen.class_table import encode
from unseen.data import ZeroShotData
from unseen.experiments.cells import Cell, make_cell, piles
from unseen.experiments.comparing import compare
from unseen.experiments.few_labels import few_labels
from unseen.experiments.photos import photos
from unseen.experiments.piles import robustness
from unseen.experiments.results import Finding, RunKey
from unseen.experiments.scenes import scene_split
from unseen.experiments.sources import Source
from unseen.experiments.splits import splits
from unseen.experiments.texts import texts
from unseen.experiments.trusting import (
    generalized,
    open_piles,
    open_study,
    planted,
    trust,
)
from unseen.methods import METHODS, Method
from unseen.metrics import confusion, per_class_accuracy
from unseen.model_selection import ClasswiseFolds, ClasswiseSearchCV
from unseen.transduction.guided_mixture import GuidedMixture

__all__ = ["TASKS", "Bench", "run_task"]

ROW_AXES, ROW_FOLDS = 300, 3
TSNE_ROWS = 1000


class Bench:
    """A data set on the bench: everything its runs share.

    Parameters
    ----------
    source : Source

    Examples
    --------
    >>> from unseen.experiments.sources import find_source
    >>> from unseen.experiments.tasks import Bench
    >>> bench = Bench(find_source("digits", "attributes", []))
    >>> bench.data("attributes").n_classes
    10
    """

    def __init__(self, source: Source):
        self.source = source
        self._data: dict[str, ZeroShotData] = {}
        self._winners: dict[tuple[str, str], dict[str, Any]] = {}
        self.calibrated: dict[tuple[str, str], Any] = {}  # by method and part
        self._cells: dict[tuple[str, int], Cell] = {}

    @classmethod
    def of(cls, data: ZeroShotData, n_folds: int | None) -> Bench:
        """Put a set that is loaded already on a bench; its part is ``""``.

        Without folds nothing is searched.
        """
        bench = cls(Source("", data.name, "", {"": data.tables}, n_folds or 0))
        bench._data[""] = data
        return bench

    def cell(self, part: str, seed: int) -> Cell:
        """Return rows and prototypes of plan ``names``; methods share them."""
        if (part, seed) not in self._cells:
            self._cells[part, seed] = make_cell(self.source, part, seed)
        return self._cells[part, seed]

    def data(self, part: str) -> ZeroShotData:
        """Return the set with one class table; the rows are read once."""
        if part not in self._data:
            loaded = self.source.load(part)
            if self._data and not self.source.n_splits:  # these differ in who is unseen
                first = next(iter(self._data.values()))
                loaded = replace(first, class_embeddings=loaded.class_embeddings)
            self._data[part] = loaded
        return self._data[part]

    @property
    def _any(self) -> ZeroShotData:
        return next(iter(self._data.values()))

    @cached_property
    def folds(self) -> ClasswiseFolds:
        """The folds that all searches share; no class table is part of them."""
        data = self._any
        return ClasswiseFolds(data.X_seen, data.y_seen, n_folds=self.source.n_folds)

    @cached_property
    def pile(self) -> np.ndarray:
        """The unlabelled rows."""
        return self._any.X_unseen

    @cached_property
    def reduced(self) -> tuple[ClasswiseFolds, np.ndarray]:
        """Folds and pile of unit rows on the principal axes of the seen ones."""
        from unseen.preprocessing import SumsPCA

        seen, pile = unit_vectors(self.folds.X), unit_vectors(self.pile)
        axes = SumsPCA(min(ROW_AXES, seen.shape[1])).fit(seen)
        n_folds = min(ROW_FOLDS, self.source.n_folds)
        folds = ClasswiseFolds(axes.transform(seen), self.folds.y, n_folds=n_folds)
        return folds, axes.transform(pile)

    def view(self, method: Method) -> tuple[ClasswiseFolds, np.ndarray]:
        """Return the folds and the pile as a method gets them."""
        return self.reduced if method.from_rows else (self.folds, self.pile)

    def winner(self, method: Method, part: str) -> dict[str, Any]:
        """Return what class-wise cross-validation chooses for a method."""
        key = method.name, part
        if key not in self._winners:
            data = self.data(part)
            if method.grid and self.source.n_folds:
                search = ClasswiseSearchCV(
                    self.build(method, part),
                    method.grid,
                    transductive=method.adapts,
                )
                folds, _ = self.view(method)
                search.fit(folds, class_embeddings=data.class_embeddings)
                self._winners[key] = search.best_params_
            else:
                self._winners[key] = {}
        return self._winners[key]

    def build(self, method: Method, part: str) -> Any:
        """Return the method before its own search, from the winner it starts from."""
        inner = None
        if method.start is not None:
            start = METHODS[method.start]
            inner = self.build(start, part).set_params(**self.winner(start, part))
        model = method.make(inner)
        if method.from_rows:
            model.set_params(unit_rows=False)  # they have unit length already
        return model

    def fitted(self, method: Method, part: str, seed: int, **parameters: Any) -> Any:
        """Return the method as its search chose it, fitted on all seen classes.

        ``parameters`` have the last word.
        """
        model = self.build(method, part).set_params(**self.winner(method, part))
        names = model.get_params()
        for name in ("random_state", "base__random_state"):
            if seed and name in names:
                model.set_params(**{name: seed})
        model.set_params(**parameters)
        data = self.data(part)
        table = data.class_embeddings
        if not self.source.n_folds:
            return model.fit(data.X_seen, data.y_seen, class_embeddings=table)
        folds, _ = self.view(method)
        folds.fit_all(model, table, encode(folds.y, table)[0])
        return model


def accuracy(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Fit, adapt if the method does, and score every round."""
    method = METHODS[key.method]
    if bench.source.n_splits:
        yield from one_split(bench.data(part), method, key.seed)
        return
    data, (_, pile) = bench.data(part), bench.view(method)
    model = bench.fitted(method, part, key.seed)
    yield Finding("chosen", note=json.dumps(bench.winner(method, part)))
    labels = model.predict(pile)
    truth = data.y_unseen
    before = labels
    yield Finding("accuracy", round=0, value=per_class_accuracy(truth, labels))
    if method.adapts:
        model.adapt(pile)
        labels = model.labels_
        for number, done in enumerate(getattr(model, "rounds_", []), start=1):
            right = per_class_accuracy(truth, done.labels)
            yield Finding("accuracy", f"{done.rate:g}", number, right, str(done))
    yield Finding("final", value=per_class_accuracy(truth, labels))
    if method.detail and key.seed == 0:
        yield from class_by_class(truth, before, labels)


def one_split(data: ZeroShotData, method: Method, number: int) -> Iterator[Finding]:
    """Fit by default settings on one split of the scenes, adapt and score."""
    data = scene_split(data, number)
    model = Bench.of(data, None).fitted(replace(method, from_rows=False), "", 0)
    truth, pile = data.y_unseen, data.X_unseen
    labels = model.predict(pile)
    yield Finding("accuracy", round=0, value=per_class_accuracy(truth, labels))
    if method.adapts:
        labels = model.adapt(pile).labels_
    yield Finding("final", value=per_class_accuracy(truth, labels))


def class_by_class(truth, before, after) -> Iterator[Finding]:
    """Tell the share of each class that was right, and what its rows were called."""
    for number, labels in enumerate((before, after)):
        for name, share in recalls(truth, labels).items():
            yield Finding("recall", name, number, share)
    table = confusion(truth, after)
    counts = table.to_numpy()
    for i, j in zip(*np.nonzero(counts), strict=True):
        true, given = table.index[i], table.columns[j]
        yield Finding("given", true, value=int(counts[i, j]), note=given)


def recalls(y_true: np.ndarray, y_pred: np.ndarray) -> dict[str, float]:
    """Return the share of each class's rows that got its label."""
    names = np.unique(y_true)
    return {str(c): float(np.mean(y_pred[y_true == c] == c)) for c in names}


def statistics(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Count what Table II counts."""
    data = bench.data(part)
    yield Finding("instances", value=len(data.y))
    yield Finding("features", value=data.X.shape[1])
    yield Finding("dimensions", value=data.class_embeddings.shape[1])
    yield Finding("seen", value=len(data.seen))
    yield Finding("unseen", value=len(data.unseen))


def convergence(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Record the objective (2) of JEDM, sweep by sweep, at the paper's settings."""
    from unseen import JEDM

    for variant in ("paper", "reference"):
        model = JEDM(
            variant, alpha=0.1, beta=0.1, max_iter=30, tol=0.0, random_state=key.seed
        )
        table = bench.data(part).class_embeddings
        folds = bench.folds
        folds.fit_all(model, table, encode(folds.y, table)[0])
        for sweep, cost in enumerate(model.history_):
            yield Finding("objective", variant, sweep, float(cost))


def latent(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Lay the unseen rows and prototypes of the latent space out by t-SNE.

    A row lies at ``D x`` and a class at ``V a``, for their product is the score (8), by
    direction alone; both are centred as ``adapt`` centres them.
    """
    from sklearn.manifold import TSNE

    method = METHODS[key.method]
    model = bench.fitted(method, part, key.seed)
    learner = model.learner(bench.pile)
    rng = np.random.default_rng(key.seed)
    chosen = np.sort(rng.permutation(len(learner.B))[:TSNE_ROWS])
    both = unit_vectors(
        np.vstack([np.asarray(learner.B)[chosen] @ learner.D.T, learner.Z])
    )
    tsne = TSNE(init="pca", random_state=key.seed, metric="cosine", perplexity=30)
    places = tsne.fit_transform(both)
    names = [*bench.data(part).y_unseen[chosen], *learner.competition.names]
    for number, (name, (x, y)) in enumerate(zip(names, places, strict=True)):
        what = "row" if number < len(chosen) else "prototype"
        # A decimal is more than a drawing shows.
        yield Finding(f"{what} x", name, number, round(float(x), 1))
        yield Finding(f"{what} y", name, number, round(float(y), 1))


def complexity(bench: Bench | None, part: str, key: RunKey) -> Iterator[Finding]:
    """Time JEDM's fit on made-up data while one of m, p, d grows."""
    from unseen import JEDM

    usual = {"m": 8000, "p": 256, "d": 100}
    sizes = {
        "m": [4000, 8000, 16000, 32000],
        "p": [128, 256, 512, 1024],
        "d": [50, 100, 200, 400],
    }
    for letter, values in sizes.items():
        for size in values:
            n = usual | {letter: size}
            X, y, A = made_up(n["m"], n["p"])
            model = JEDM(n_components=n["d"], n_axes=min(n["p"], 100), max_iter=10)
            times = []
            for _ in range(3):
                start = time.process_time()
                model.fit(X, y, class_embeddings=A)
                times.append(time.process_time() - start)
            yield Finding("fit", letter, size, seconds=min(times))


def made_up(m: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows around means that a linear map of 50 classes' embeddings gives."""
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(50, 85))
    y = np.arange(m) % 40
    spread = (1 + np.arange(p)) ** -0.5
    X = (rng.standard_normal((m, p)) + (A @ rng.normal(size=(85, p)) / 3)[y]) * spread
    return X.astype(np.float32), y, A


def study(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Score every point of a method's grid on held-out seen classes, and no other."""
    method, data = METHODS[key.method], bench.data(part)
    search = ClasswiseSearchCV(
        bench.build(method, part), method.grid, transductive=method.adapts
    )
    folds, _ = bench.view(method)
    search.fit(folds, class_embeddings=data.class_embeddings.loc[folds.names])
    found = search.cv_results_
    for point, score in zip(found["params"], found["mean_test_score"], strict=True):
        yield Finding("candidate", json.dumps(point), value=float(score))


def names(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Label piles of every kind from prototypes alone, one draw of each."""
    cell = bench.cell(part, key.seed)
    method = METHODS[key.method]
    weighs_views = issubclass(method.kind, GuidedMixture)  # others take joined rows
    prototypes = cell.by_view() if weighs_views else cell.prototypes
    for kind, X, y in piles(cell, key.seed):
        start = time.process_time()
        model = method.from_prototypes(prototypes).adapt(X)
        labels, seconds = model.labels_, time.process_time() - start
        known = y >= 0  # foreign rows count for nobody
        share = per_class_accuracy(y[known], labels[known])
        yield Finding("accuracy", kind, value=share, seconds=seconds)
        said = np.mean(model.reliability_[known])
        yield Finding("off", kind, value=said - np.mean(labels[known] == y[known]))


TASKS: dict[str, Callable[..., Iterator[Finding]]] = {
    "accuracy": accuracy,
    "statistics": statistics,
    "convergence": convergence,
    "latent": latent,
    "complexity": complexity,
    "robustness": robustness,
    "splits": splits,
    "generalized": generalized,
    "trust": trust,
    "open": open_piles,
    "open study": open_study,
    "planted": planted,
    "compare": compare,
    "study": study,
    "names": names,
    "texts": texts,
    "photos": photos,
    "few-labels": few_labels,
}


def run_task(bench: Bench | None, part: str, key: RunKey) -> list[Finding]:
    """Make one run; what goes wrong in it is a finding too.

    Examples
    --------
    >>> from unseen.experiments.results import RunKey
    >>> from unseen.experiments.sources import find_source
    >>> from unseen.experiments.tasks import Bench, run_task
    >>> bench = Bench(find_source("digits", "attributes", []))
    >>> key = RunKey("statistics", "digits", "segments+strokes", "", 0)
    >>> [(f.measure, f.value) for f in run_task(bench, "attributes", key)][:2]
    [('instances', 1797), ('features', 64)]
    """
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = list(TASKS[key.task](bench, part, key))
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return [Finding("failed", note=reason, seconds=time.process_time() - start)]
    messages = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    found += [Finding("warning", note=" ".join(text.split())) for text in messages]
    return [*found, Finding("done", seconds=time.process_time() - start)]
