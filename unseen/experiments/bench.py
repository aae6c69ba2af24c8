"""A data set on the bench: what all runs on it share.

The rows, the class-wise folds with their sums, and the searches already made. A bench
lives in one process; what it remembers saves time and changes no number.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from unseen.core.classes import encode
from unseen.core.linalg import to_unit
from unseen.data import ZeroShotData
from unseen.experiments.sources import Source
from unseen.methods import METHODS, Method
from unseen.trust.search import ClasswiseFolds


class Bench:
    """A data set on the bench: everything its runs share.

    Parameters
    ----------
    source : Source
    """

    def __init__(self, source: Source):
        self.source = source
        self._data: dict[str, ZeroShotData] = {}
        self._searched: dict[tuple[str, str], Any] = {}
        self.kept: dict[Any, Any] = {}  # what a task wants to find again

    def data(self, part: str) -> ZeroShotData:
        """Return the set with one class table; the rows are read once."""
        if part not in self._data:
            loaded = self.source.load(part)
            if self._data:
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
    def unlabelled(self) -> np.ndarray:
        """The rows of unseen classes."""
        return self._any.X_unseen

    @cached_property
    def reduced(self) -> tuple[ClasswiseFolds, np.ndarray]:
        """Folds and unlabelled rows, of unit length, on principal axes of the seen."""
        from unseen.preprocessing import SumsPCA

        seen, unlabelled = to_unit(self.folds.X), to_unit(self.unlabelled)
        axes = SumsPCA(min(300, seen.shape[1])).fit(seen)  # as ``Method`` says
        n_folds = min(3, self.source.n_folds)
        folds = ClasswiseFolds(axes.transform(seen), self.folds.y, n_folds=n_folds)
        return folds, axes.transform(unlabelled)

    def view(self, method: Method) -> tuple[ClasswiseFolds, np.ndarray]:
        """Return the folds and the unlabelled rows as a method gets them."""
        return self.reduced if method.from_rows else (self.folds, self.unlabelled)

    def searched(self, method: Method, part: str) -> Any:
        """Return the method as its searches chose it, not fitted; each is made once."""
        key = method.name, part
        if key not in self._searched:
            inner = None
            if method.start is not None:
                inner = self.searched(METHODS[method.start], part)
            if method.from_rows:  # they have unit length already
                fixed = {**method.parameters, "unit_rows": False}
                method = replace(method, parameters=fixed)
            table, folds = self.data(part).class_embeddings, self.view(method)[0]
            self._searched[key] = method.searched(
                folds, None, table, n_folds=self.source.n_folds, inner=inner
            )
        return clone(self._searched[key])

    def fitted(self, method: Method, part: str, seed: int) -> Any:
        """Return the method as its searches chose it, fitted on all seen classes."""
        model = self.searched(method, part)
        if seed and "random_state" in model.get_params():
            model.set_params(random_state=seed)
        table, folds = self.data(part).class_embeddings, self.view(method)[0]
        folds.fit_all(model, table, encode(folds.y, table)[0])
        return model


_LAST: list[Bench] = []


def bench_of(source: Source | None) -> Bench | None:
    """Return the bench of a data set; this process keeps the one it had last."""
    if source is None:
        return None
    if not _LAST or _LAST[0].source != source:
        _LAST[:] = []  # free the one before first
        _LAST[:] = [Bench(source)]
    return _LAST[0]
