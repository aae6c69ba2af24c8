"""Names alone: a prototype per class and unlabelled rows, but no seen class.

python studies/names.py names --data ../shared/data
python studies/names.py clip-piles --data ../shared/data
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import variants  # noqa: F401, registers baselines and other parameters
from cells import KINDS, MORE_KINDS, make_cell, named_rows, piles

from unseen.experiments.bench import Bench
from unseen.experiments.plan import Plan
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.tables import MAKERS, NOTHING, Table, in_column, number, signed
from unseen.experiments.tasks import TASKS
from unseen.methods import METHODS
from unseen.trust.metrics import per_class_accuracy

PLANS = ("names", "clip", "clip-piles")


def names(
    bench: Bench, part: str, key: RunKey, kinds: Sequence[str] = KINDS
) -> Iterator[Finding]:
    """Label piles of every kind from prototypes alone, one draw of each."""
    if (part, key.seed) not in bench.kept:  # methods share it
        bench.kept[part, key.seed] = make_cell(bench.source, part, key.seed)
    cell, method = bench.kept[part, key.seed], METHODS[key.method]
    for kind, X, y in piles(cell, key.seed, kinds):
        start = time.process_time()
        model = method.from_prototypes(cell.prototypes)
        if key.method == "guided" and part in ("lite0", "lite2"):
            model.set_params(plain=0.0)  # as photos by names are labelled
        model.adapt(X)
        labels, seconds = model.labels_, time.process_time() - start
        known = y >= 0  # foreign rows count for nobody
        share = per_class_accuracy(y[known], labels[known])
        yield Finding("accuracy", kind, value=share, seconds=seconds)
        said = np.mean(model.reliability_[known])
        yield Finding("off", kind, value=said - np.mean(labels[known] == y[known]))


def clip(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Label a whole set of CLIP features by the text vectors of its classes."""
    X, y, prototypes = named_rows(Path(bench.source.path), False)
    model = METHODS[key.method].from_prototypes(prototypes).adapt(X)
    yield Finding("final", value=per_class_accuracy(y, model.labels_))


def names_frame(plan: Plan, results: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy in % and what it gains, by method, group, cell, kind and draw.

    The gain is over the better known start: of plain and centred names the one that is
    better on average over the draws of that cell and kind.
    """
    mine = results[(results.task == plan.task) & (results.measure == "accuracy")]
    parts = [
        mine[in_column(mine, column)].assign(cell=column.head, group=column.group)
        for column in plan.columns
    ]
    frame = pd.concat(parts) if parts else mine.assign(cell="", group="")
    frame = frame.rename(columns={"item": "kind"}).assign(value=100 * frame["value"])
    keys = ["cell", "kind", "seed"]
    wide = frame.pivot_table(index=keys, columns="method", values="value")
    starts = wide.reindex(columns=list(STARTS))
    better = starts.groupby(["cell", "kind"]).transform("mean")
    plain = (better[STARTS[0]] >= better[STARTS[1]]).to_numpy()
    known = starts[STARTS[0]].where(plain, starts[STARTS[1]]).rename("start")
    frame = frame.join(known, on=keys)
    return frame.assign(gain=frame["value"] - frame["start"])


STARTS = ("names-plain", "names-centred")


def names_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by groups of cells, with the worst case and how many piles lose."""
    frame = names_frame(plan, results)
    groups = list(dict.fromkeys(column.group for column in plan.columns))
    rows = []
    for row in plan.rows:
        own = frame[frame.method == row.method]
        kinds = own.groupby(["group", "cell", "kind"])[["value", "gain"]].mean()
        means = kinds["value"].groupby("group").mean().reindex(groups)
        gains = kinds["gain"].groupby("group").mean()
        cells = [number(value) for value in (means.mean(skipna=False), *means)]
        if own.empty:
            rows.append((row.label, [*cells, *[NOTHING] * 4]))
            continue
        lost = 100 * float((own["gain"] < -1).mean())
        worst = float(kinds["gain"].min())
        cells += [signed(float(gains.mean())), signed(worst)]
        cells += [f"{int((kinds['gain'] < -3).sum())}", f"{lost:.0f} %"]
        rows.append((row.label, cells))
    heads = ["mean", *groups, "gain", "worst", "below −3", "losing"]
    return Table(
        plan.title, plan.caption, [("", heads)], rows, notes=piles_message(frame)
    )


def piles_message(frame: pd.DataFrame) -> list[str]:
    """Say on how many sets of unlabelled rows the numbers rest."""
    piles = frame.drop_duplicates(["cell", "kind", "seed"])
    draws = piles["seed"].nunique()
    return [f"{len(piles)} sets of rows, {draws} draws."] if len(piles) else []


def kinds_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by kinds of piles: means over sets, backbones of a set averaged."""
    frame = names_frame(plan, results)
    sets = frame.groupby(["method", "kind", "group", "cell"])[["value", "gain"]].mean()
    means = sets.groupby(["method", "kind", "group"]).mean()
    kinds, rows = list(dict.fromkeys(frame["kind"])), []
    for row in plan.rows:
        if row.method not in means.index:
            rows.append((row.label, [NOTHING] * (len(kinds) + 2)))
            continue
        own = means.loc[row.method].groupby("kind").mean().loc[kinds]
        cells = [number(value) for value in (own["value"].mean(), *own["value"])]
        cells.append(signed(float(sets.loc[row.method, "gain"].min())))
        rows.append((row.label, cells))
    heads = ["mean", *kinds, "worst"]
    return Table(
        plan.title, plan.caption, [("", heads)], rows, notes=piles_message(frame)
    )


every_kind = partial(names, kinds=(*KINDS[:4], *MORE_KINDS))  # none has foreign rows
TASKS |= {"names": names, "clip": clip, "piles": every_kind}
MAKERS |= {"names": names_table, "piles": kinds_table}


if __name__ == "__main__":
    from laboratory import main

    main("names")
