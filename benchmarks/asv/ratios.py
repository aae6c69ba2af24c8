"""Ratios of fit, predict, adapt and search to one matrix product."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable

import numpy as np

from unseen import (
    ESZSL,
    JEDM,
    TSTD,
    AnchoredSelfTraining,
    ClasswiseSearchCV,
    SelfTraining,
)
from unseen.core.sums import sum_rows


def made_up(n_rows: int, n_features: int, n_seen: int = 40, n_classes: int = 50):
    """Return rows around class means, with a spectrum that falls as real ones do."""
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(n_classes, 85))
    y = rng.integers(n_seen, size=n_rows)
    spread = ((1 + np.arange(n_features)) ** -0.5).astype(np.float32)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32) * spread
    means = (A @ rng.normal(size=(85, n_features))) * spread / 3
    return X + means.astype(np.float32)[y], y, A


def seconds(work: Callable[[], object], repeat: int = 5) -> float:
    """Return the least of a few times."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


class Ratios:
    """Every step on 12,000 × 512 rows, in Gram matrices of the same rows."""

    unit = "X.T @ X"
    timeout = 300

    def setup_cache(self):
        """Make the rows once."""
        return made_up(12_000, 512)

    def setup(self, made):
        """Measure the unit."""
        self.X, self.y, self.A = made
        self.gram = seconds(lambda: self.X.T @ self.X)
        self.pile = self.X[:3_000]
        self.pile_gram = seconds(lambda: self.pile.T @ self.pile)

    def fitted(self, model):
        """Fit a model."""
        return model.fit(self.X, self.y, class_embeddings=self.A)

    def track_sums(self, made):
        """Sum the rows."""
        return seconds(lambda: sum_rows(self.X, self.y, 50, unit_rows=True)) / self.gram

    def track_fit_jedm(self, made):
        """Fit JEDM."""
        return seconds(lambda: self.fitted(JEDM())) / self.gram

    def track_fit_anchored(self, made):
        """Fit our own method."""
        return seconds(lambda: self.fitted(AnchoredSelfTraining())) / self.gram

    def track_adapt_tstd(self, made):
        """Adapt TSTD, in Gram matrices of the pile."""
        model = self.fitted(TSTD())
        return seconds(lambda: model.adapt(self.pile)) / self.pile_gram

    def track_adapt_anchored(self, made):
        """Adapt our own method, likewise."""
        model = self.fitted(AnchoredSelfTraining())
        return seconds(lambda: model.adapt(self.pile)) / self.pile_gram

    def track_search(self, made):
        """Search two weights of self-training around ESZSL, five folds."""
        grid = {"lam": [0.1, 1.0, 10.0], "mu": [0.1, 1.0, 10.0]}
        search = ClasswiseSearchCV(SelfTraining(ESZSL()), grid)
        return seconds(lambda: self.fitted(search), repeat=1) / self.gram


class Predict:
    """One pass over 12,000 × 512 rows, in products with as many columns as classes."""

    unit = "X @ W"
    params = [10, 200]
    param_names = ["classes"]

    def setup(self, n_classes):
        """Fit once; make the classes that compete."""
        self.X, y, A = made_up(12_000, 512)
        self.model = JEDM().fit(self.X, y, class_embeddings=A)
        self.new = np.random.default_rng(1).uniform(size=(n_classes, 85))
        W = np.asfortranarray(self.X[:n_classes].T)
        self.product = seconds(lambda: self.X @ W, repeat=15)

    def track_predict(self, n_classes):
        """Label every row."""
        work = lambda: self.model.predict(self.X, classes=self.new)  # noqa: E731
        return seconds(work, repeat=15) / self.product

    def peakmem_predict(self, n_classes):
        """Hold no copy of the rows."""
        self.model.predict(self.X, classes=self.new)
