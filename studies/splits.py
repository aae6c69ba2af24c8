"""Whether a method hangs on one famous split, or on an easy set of unlabelled rows.

Every deal keeps the number of unseen classes and draws which they are. Methods see the
same deals, so that their differences are paired: the table's interval is that of the
mean difference over deals, by Student's t.

    python studies/splits.py splits robustness --data ../shared/data
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import variants  # noqa: F401, registers k-means

from unseen.data import ZeroShotData
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
    signed,
)
from unseen.experiments.tasks import TASKS
from unseen.methods import METHODS
from unseen.trust.metrics import per_class_accuracy

PLANS = ("splits", "robustness")


def splits(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Fit on one deal's seen classes, adapt to its unseen rows, score both answers."""
    method = METHODS[key.method]
    data = deal(bench.data(part), key.seed)
    seen = data.X_seen, data.y_seen
    n_folds, table = bench.source.n_folds, data.class_embeddings
    model = method.searched(*seen, table, n_folds=n_folds)
    model.fit(*seen, class_embeddings=table)
    before = model.predict(data.X_unseen)
    yield Finding("before", value=per_class_accuracy(data.y_unseen, before))
    after = model.adapt(data.X_unseen).labels_ if method.adapts else before
    yield Finding("after", value=per_class_accuracy(data.y_unseen, after))


def deal(data: ZeroShotData, seed: int) -> ZeroShotData:
    """Return the set with as many unseen classes, drawn from all of them.

    Examples
    --------
    >>> from unseen.experiments.splits import deal
    >>> from unseen.loading import load_data
    >>> [deal(load_data("pets"), seed).unseen[:2].tolist() for seed in (0, 1)]
    [['american pit bull terrier', 'basset hound'], ['abyssinian', 'basset hound']]
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


def splits_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by data sets over deals, and how far ahead of them the last row is."""
    mine = results[results.task == plan.task]
    ours = plan.rows[-1].method
    rows = []
    for row in plan.rows:
        cells = []
        for column in plan.columns:
            here = mine[in_column(mine, column)]
            own = by_deal(
                here, row.method, "after" if row.answer == "final" else "before"
            )
            ahead = (by_deal(here, ours, "after") - own).dropna().to_numpy()
            low, high = paired_interval(ahead)
            last = row.method == ours and row.answer == "final"
            hidden = last or math.isnan(low)
            cells.append(mean_and_spread(own.to_numpy()))
            cells.append(NOTHING if hidden else signed(float(ahead.mean())))
            cells.append(NOTHING if hidden else f"{signed(low)} to {signed(high)}")
        rows.append((row.label, cells))
    names = ["accuracy", "ours ahead by", "90 % interval"]
    heads = [(column.head, names) for column in plan.columns]
    return Table(plan.title, plan.caption, heads, rows, notes=notes(plan, results))


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


def robustness_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Piles by data sets: before, after, the worst gain, how often kept."""
    mine = results[results.task == plan.task]
    rows = []
    for column in plan.columns:
        here = mine[in_column(mine, column)]
        for pile in here.loc[here.measure == "before", "item"].unique():
            wide = here[here["item"] == pile].pivot_table(
                index="seed", columns="measure", values="value"
            )
            before, after = (100 * wide[m].to_numpy(float) for m in ("before", "after"))
            cells = [
                pile,
                mean_and_spread(before),
                mean_and_spread(after),
                signed(float((after - before).min())),
                f"{wide['kept'].sum():.0f} of {len(wide)}",
            ]
            rows.append((column.head, cells))
    heads = [("", ["rows", "before", "after", "worst gain", "kept"])]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "data", notes=said)


TASKS |= {"splits": splits, "robustness": robustness}
MAKERS |= {"splits": splits_table, "robustness": robustness_table}


if __name__ == "__main__":
    from laboratory import main

    main("splits")
