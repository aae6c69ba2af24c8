"""What each part of AST is worth, and what defaults were chosen from.

python studies/ablation.py ablation --data ../shared/data
python studies/ablation.py study --data ../shared/data
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pandas as pd
import variants  # noqa: F401, registers them

from unseen.experiments.bench import Bench
from unseen.experiments.plan import Plan
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.tables import MAKERS, Table, in_column, number
from unseen.experiments.tasks import TASKS
from unseen.methods import METHODS
from unseen.trust.search import ClasswiseSearchCV

PLANS = ("ablation", "study")


def study(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Score every point of a method's grid on held-out seen classes, and no other."""
    method, data = METHODS[key.method], bench.data(part)
    start = method.start and bench.searched(METHODS[method.start], part)
    model = method.make(start)
    search = ClasswiseSearchCV(model, method.grid, transductive=method.adapts)
    folds, _ = bench.view(method)
    search.fit(folds, class_embeddings=data.class_embeddings.loc[folds.names])
    found = search.cv_results_
    for point, score in zip(found["params"], found["mean_test_score"], strict=True):
        yield Finding("candidate", json.dumps(point), value=float(score))


def study_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Candidates by data sets, scored on held-out seen classes; the best is marked."""
    mine = results[(results.task == plan.task) & (results.measure == "candidate")]
    rows = []
    for row in plan.rows:
        own = mine[mine.method == row.method]
        scores = pd.DataFrame(
            {
                place: own[in_column(own, column)]
                .groupby("item", sort=False)["value"]
                .mean()
                for place, column in enumerate(plan.columns)
            }
        )
        means = scores.mean(axis=1, skipna=False)
        best = means == means.max()
        for item, values, mean, wins in zip(
            scores.index, scores.to_numpy(float), means, best, strict=True
        ):
            cells = [number(100 * value) for value in (*values, mean)]
            label = f"{row.label}, {candidate(str(item))}"
            rows.append((label, [*cells, "best" if wins else ""]))
    heads = [*((c.head, [""]) for c in plan.columns), ("mean", [""]), ("", [""])]
    said = [f"{len(rows)} settings were compared."] if rows else []
    return Table(plan.title, plan.caption, heads, rows, "candidate", notes=said)


def candidate(item: str) -> str:
    """Write a point of a grid.

    >>> candidate('{"lam": 0.1}')
    'lam 0.1'
    """
    return ", ".join(f"{name} {value}" for name, value in json.loads(item).items())


TASKS["study"] = study
MAKERS["study"] = study_table


if __name__ == "__main__":
    from laboratory import main

    main("ablation")
