"""The classes dealt anew: whether a method hangs on one famous split.

Every deal keeps the number of unseen classes and draws which they are. Methods see the
same deals, so that their differences are paired: the table's interval is that of the
mean difference over deals, by Student's t.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from unseen.data import ZeroShotData
from unseen.experiments.results import Finding, RunKey
from unseen.methods import METHODS
from unseen.metrics import per_class_accuracy

if TYPE_CHECKING:
    from unseen.experiments.tasks import Bench

__all__ = ["by_deal", "deal", "paired_interval", "splits"]


def splits(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Fit on one deal's seen classes, adapt to its unseen rows, score both answers."""
    method = METHODS[key.method]
    data = deal(bench.data(part), key.seed)
    dealt = type(bench).of(data, bench.source.n_folds)
    model = dealt.fitted(method, "", 0)
    before = model.predict(data.X_unseen)
    yield Finding("before", value=per_class_accuracy(data.y_unseen, before))
    after = model.adapt(data.X_unseen).labels_ if method.adapts else before
    yield Finding("after", value=per_class_accuracy(data.y_unseen, after))


def deal(data: ZeroShotData, seed: int) -> ZeroShotData:
    """Return the set with as many unseen classes, drawn from all of them.

    Examples
    --------
    >>> from unseen.experiments.splits import deal
    >>> from unseen.loading import load_digits_attributes
    >>> digits = load_digits_attributes()
    >>> [deal(digits, seed).unseen.tolist() for seed in (0, 1)]
    [['2', '4', '6'], ['4', '7', '8']]
    """
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(np.sort(data.classes))[: len(data.unseen)]
    return replace(data, unseen=np.sort(chosen), seen_test=None)


def paired_interval(ahead: np.ndarray, share: float = 0.9) -> tuple[float, float]:
    """Return the interval that holds the mean of paired differences.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = paired_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 2), round(high, 2)
    (0.31, 3.69)
    """
    from scipy.stats import t

    n = len(ahead)
    if n < 2:
        return float("nan"), float("nan")
    reach = t.ppf((1 + share) / 2, n - 1) * ahead.std(ddof=1) / np.sqrt(n)
    return float(ahead.mean() - reach), float(ahead.mean() + reach)


def by_deal(results: pd.DataFrame, method: str, measure: str) -> pd.Series:
    """Return the accuracy of a method in %, deal by deal."""
    own = results[(results.method == method) & (results.measure == measure)]
    return 100 * own.set_index("seed")["value"].astype(float).sort_index()
