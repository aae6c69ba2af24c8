"""Piles drawn to make life hard, and what a method does with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from unseen.data import ZeroShotData
from unseen.experiments.results import Finding, RunKey
from unseen.methods import METHODS
from unseen.metrics import per_class_accuracy

if TYPE_CHECKING:
    from unseen.experiments.tasks import Bench

__all__ = ["hard_piles", "robustness"]


def robustness(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Adapt to piles drawn to make life hard."""
    data, method = bench.data(part), METHODS[key.method]
    model = bench.fitted(method, part, 0)
    before = model.predict(data.X)
    for name, rows in hard_piles(data, key.seed):
        truth = data.y[rows]
        known = np.isin(truth, data.unseen)  # foreign rows count for nobody
        labels = model.adapt(data.X[rows]).labels_
        answers = {"before": before[rows], "after": labels}
        for measure, answer in answers.items():
            share = per_class_accuracy(truth[known], answer[known])
            yield Finding(measure, name, value=share)
        kept = not getattr(model, "adapted_", True)
        yield Finding("kept", name, value=int(kept))


def hard_piles(data: ZeroShotData, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield piles, as row numbers of the set."""
    rng = np.random.default_rng(seed)
    in_unseen = np.isin(data.y, data.unseen)
    unseen, seen = np.flatnonzero(in_unseen), np.flatnonzero(~in_unseen)
    own = {c: rng.permutation(unseen[data.y[unseen] == c]) for c in data.unseen}
    largest = max(map(len, own.values()))
    shuffled = rng.permutation(data.unseen)
    half = shuffled[: max(1, len(shuffled) // 2)]
    yield "half of the classes absent", np.concatenate([own[c] for c in half])
    sizes = [max(2, largest // (place + 1)) for place in range(len(shuffled))]
    zipf = [own[c][:size] for c, size in zip(shuffled, sizes, strict=True)]
    yield "sizes by Zipf's law", np.concatenate(zipf)
    yield "10 rows per class", np.concatenate([rows[:10] for rows in own.values()])
    foreign = rng.permutation(seen)[: len(unseen) // 4]
    yield "20 % foreign rows", np.concatenate([unseen, foreign])
