"""Several methods on data of one's own, judged without any unseen label.

The seen classes are dealt into folds. Every method learns from the classes of all folds
but one, labels the rows of that one, its classes unseen to it, and is scored. Methods
meet the same folds, so their differences are paired. Folds share most of their training
rows: the variance of a mean difference is taken larger for it, by Nadeau and Bengio's
1/J + 1/(k - 1) in place of 1/J, with J scores from deals into k folds.

Where the rows of the unseen classes have labels, they are scored too, at the very end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen.core.classes import encode
from unseen.data import ZeroShotData
from unseen.experiments.bench import Bench
from unseen.experiments.plan import Column, Plan, Row
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.sources import Source
from unseen.experiments.tables import (
    MAKERS,
    NOTHING,
    Table,
    in_column,
    mean_and_spread,
    number,
    signed,
)
from unseen.experiments.tasks import TASKS
from unseen.methods import find_method
from unseen.trust.metrics import per_class_accuracy
from unseen.trust.search import ClasswiseFolds


def compare_plan(
    data: str,
    methods: Sequence[str],
    classes: str | Sequence[str] | None = None,
    *,
    n_seeds: int = 1,
    **options: str,
) -> Plan:
    """Plan a comparison of methods on one set; data as ``load_data`` takes it.

    >>> from unseen.experiments.compare import compare_plan
    >>> plan = compare_plan("photos", ["eszsl", "ast"], n_seeds=2)
    >>> [row.label for row in plan.rows], len(plan.runs([]))
    (['ESZSL', 'AST (ours)'], 4)
    """
    names = [classes] if isinstance(classes, str) else list(classes or [])
    part = "+".join(names)
    tables: dict[str, Any] = {part: names if len(names) > 1 else part or None}
    path = str(Path(data)) if Path(data).exists() else data
    name = Path(data).stem  # what else is called so differs in content
    rows = [Row(one, find_method(one).label, (float("nan"),)) for one in methods]
    return Plan(
        name="compare",
        title=f"Methods on {name}",
        caption="Per-class top-1 accuracy in % on held-out seen classes, mean ± "
        "standard deviation over class-wise folds; methods with their defaults. All "
        "methods are compared on the same folds; the interval of the lead, and p, "
        "allow for the training rows that folds share.",
        task="compare",
        show="compare",
        columns=(Column(name, f"./{name}", part),),
        rows=tuple(rows),
        n_seeds=n_seeds,
        command=(
            *("compare", path, "--methods", ",".join(methods)),
            *(word for name in names for word in ("--classes", name)),
            *(word for key, one in options.items() for word in (f"--{key}", one)),
            *("--seeds", str(n_seeds)),
        ),
        source=Source(path, name, "", tables, options=options),
    )


def compare(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Score a method on every fold of a deal; on the unseen classes, once."""
    method, data = find_method(key.method), bench.data(part)
    n_folds = count_folds(data)
    folds = ClasswiseFolds(
        data.X_seen, data.y_seen, n_folds=n_folds, random_state=key.seed
    )
    table = folds.seen_table(encode(folds.y, data.class_embeddings)[0])
    for place, fold in enumerate(folds.folds):
        start = time.process_time()
        model = method.make()
        fold.fit(model, table)
        labels = fold.answer(model, method.adapts)
        share = per_class_accuracy(fold.y_true, labels)
        spent = time.process_time() - start
        yield Finding("fold", str(n_folds), place, share, seconds=spent)
    known = data.y_unseen != ""
    if key.seed == 0 and known.any():
        model = method.make().fit(
            data.X_seen, data.y_seen, class_embeddings=data.class_embeddings
        )
        X = data.X_unseen
        labels = model.adapt(X).labels_ if method.adapts else model.predict(X)
        share = per_class_accuracy(data.y_unseen[known], labels[known])
        yield Finding("test", value=share)


def count_folds(data: ZeroShotData) -> int:
    """Return how many folds the seen classes make, two classes in each at least."""
    if len(data.seen) < 4:
        raise ValueError(
            f"{data.name} has {len(data.seen)} seen classes. Methods are compared on "
            "folds of seen classes, and those need four."
        )
    return min(5, len(data.seen) // 2)


class Paired(NamedTuple):
    """By how much one method is ahead of another, over shared folds."""

    ahead: float
    low: float
    high: float
    p: float


def paired_test(ahead: np.ndarray, n_folds: int) -> Paired:
    """Test the mean of paired differences, deal after deal, over ``n_folds`` of each.

    Returns the mean, the interval that holds nine tenths, and p of no difference.

    >>> found = paired_test(np.array([1.0, 2.0, 3.0, 2.0, 2.0]), n_folds=5)
    >>> round(found.ahead, 2), round(found.low, 2), round(found.p, 3)
    (2.0, 0.99, 0.014)
    """
    from scipy.stats import t

    n = len(ahead)
    mean = float(ahead.mean())
    error = float(np.sqrt(ahead.var(ddof=1) * (1 / n + 1 / (n_folds - 1))))
    if error == 0:
        return Paired(mean, mean, mean, 1.0 if mean == 0 else 0.0)
    reach = float(t.ppf(0.95, n - 1)) * error
    p = 2 * float(t.sf(abs(mean) / error, n - 1))
    return Paired(mean, mean - reach, mean + reach, p)


def compare_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by accuracy, the best first, and how surely it is ahead of the others."""
    mine = results[(results.task == plan.task) & in_column(results, plan.columns[0])]
    scores = {row: fold_scores(mine, row.method) for row in plan.rows}
    best = max(plan.rows, key=lambda row: np.nan_to_num(scores[row].mean(), nan=-1))
    rows = []
    for row in sorted(plan.rows, key=lambda row: -np.nan_to_num(scores[row].mean())):
        own = scores[row]
        cells = [mean_and_spread(own.to_numpy())]
        ahead = (scores[best] - own).dropna()
        if row is best or len(ahead) < 2:
            cells += [NOTHING] * 3
        else:
            n_folds = ahead.index.get_level_values("item").astype(int)[0]
            found = paired_test(ahead.to_numpy(), n_folds)
            cells += [
                signed(found.ahead),
                f"{signed(found.low)} to {signed(found.high)}",
                f"{found.p:.3f}" if found.p >= 0.001 else "< 0.001",
            ]
        runs = mine[mine.method == row.method]
        test = 100 * runs.loc[runs.measure == "test", "value"].to_numpy(float)
        spent = runs.loc[runs.measure == "fold", "seconds"].astype(float).mean()
        cells += [mean_and_spread(test), number(spent, ".2f")]
        rows.append((row.label, cells))
    heads = ["held-out seen classes", "best ahead by", "90 % interval", "p"]
    heads += ["unseen classes", "CPU s a fold"]
    failed = int((mine.measure == "failed").sum())
    messages = [f"{failed} runs failed; results.csv says why."] if failed else []
    return Table(plan.title, plan.caption, [("", heads)], rows, notes=messages)


def fold_scores(results: pd.DataFrame, method: str) -> pd.Series:
    """Return a method's accuracy in % by deal and fold."""
    own = results[(results.method == method) & (results.measure == "fold")]
    indexed = own.set_index(["seed", "item", "round"])["value"].astype(float)
    return 100 * indexed.sort_index()


TASKS["compare"] = compare
MAKERS["compare"] = compare_table
