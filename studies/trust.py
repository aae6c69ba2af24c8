"""Mixed rows, probabilities and open piles: what is said of them.

Of a set that sets no rows of seen classes aside, 20 % of the rows of each are, at
random. Everything is chosen by :class:`~unseen.Calibrated` on what is left.

    python studies/trust.py generalized trust open --data ../shared/data
    python studies/trust.py open_study --data ../shared/data
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import variants  # noqa: F401, registers AST beside other classes

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
)
from unseen.experiments.tasks import TASKS
from unseen.methods import METHODS, Method
from unseen.trust.calibrated import Calibrated, some_rows
from unseen.trust.metrics import (
    both_sides,
    expected_calibration_error,
    generalized_scores,
    per_class_accuracy,
    reliability_curve,
    risk_coverage,
    trade_of,
)
from unseen.trust.search import deal_classes

PLANS = ("generalized", "trust", "open", "open_study")
N_FOLDS = 4
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)


def with_rows_aside(data: ZeroShotData, seed: int = 0) -> ZeroShotData:
    """Return the set with rows of seen classes set aside, its own if it has them.

    Examples
    --------
    >>> from unseen import load_data
    >>> from trust import with_rows_aside
    >>> data = with_rows_aside(load_data("pets"))
    >>> len(data.y_seen_test), len(data.y_seen)
    (81, 324)
    """
    if data.seen_test is not None and data.seen_test.any():
        return data
    codes = pd.Index(data.classes).get_indexer(data.y)
    chosen = some_rows(codes, np.random.default_rng([seed, 5]))
    return replace(data, seen_test=chosen & np.isin(data.y, data.seen))


def fitted(bench: Bench, part: str, key: RunKey) -> tuple[Calibrated, ZeroShotData]:
    """Return the calibrated model of a method, and the set; runs share the fit."""
    data = with_rows_aside(bench.data(part))
    if (key.method, part) not in bench.kept:
        n_folds = min(N_FOLDS, len(data.seen) // 2)
        model = Calibrated(built(bench, METHODS[key.method], data), cv=n_folds)
        table = data.class_embeddings
        model.fit(data.X_seen, data.y_seen, class_embeddings=table)
        bench.kept[key.method, part] = model
    return copy.deepcopy(bench.kept[key.method, part]), data


def built(bench: Bench, method: Method, data: ZeroShotData) -> Any:
    """Return the method, searched on the rows that are left if that is cheap."""
    cheap = method.grid and not method.adapts and not method.from_rows
    if not cheap:
        return method.make()
    n_folds, table = bench.source.n_folds, data.class_embeddings
    return method.searched(data.X_seen, data.y_seen, table, n_folds=n_folds)


def mixed(data: ZeroShotData) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and classes of a mixed pile."""
    X = np.concatenate([data.X_unseen, data.X_seen_test])
    return X, np.concatenate([data.y_unseen, data.y_seen_test])


def generalized(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Score a mixed pile, without a handicap, with it, and with the best there is."""
    model, data = fitted(bench, part, key)
    X, y = mixed(data)
    start = model.estimator_
    if hasattr(start, "handicap"):
        start = start.set_params(handicap=0.0)
    if METHODS[key.method].adapts:
        start.adapt(X, classes="all")
    F = start.decision_function(X, classes="all")
    plain = generalized_scores(y, F, seen=data.seen, classes=data.classes)
    for measure, value in plain.items():
        yield Finding(f"plain {measure}", value=value)
    if hasattr(start, "handicap"):
        start.set_params(handicap=1.5 * model.gamma_)
    model.adapt(X, classes="all")
    F = model.decision_function(X, classes="all")
    yield Finding("gamma", value=model.gamma_)
    for measure, value in scored(y, F, data).items():
        yield Finding(measure, value=value)
    right = model.labels_ == y
    yield Finding("ECE", value=expected_calibration_error(right, model.reliability_))


def scored(y: np.ndarray, F: np.ndarray, data: ZeroShotData) -> dict[str, float]:
    """Return all scores of a mixed pile, and the best H that a handicap could reach."""
    found = generalized_scores(y, F, seen=data.seen, classes=data.classes)
    theirs = np.isin(data.classes, data.seen)
    sides = [data.classes[s][F[:, s].argmax(axis=1)] for s in (theirs, ~theirs)]
    told = both_sides(y, *sides, data.seen)  # as if every row came with its side
    found |= {f"told_{name}": value for name, value in told.items()}
    codes = pd.Index(data.classes).get_indexer(y)
    seen = np.isin(data.classes, data.seen)
    trade = trade_of(F, codes, seen)
    steps = np.quantile(trade.lead, np.linspace(0, 1, 401))
    found["oracle H"] = float(trade.harmonic_means(steps).max())
    return found


def trust(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Compare what is stated of labels and sets with what is right."""
    model, data = fitted(bench, part, key)
    model.adapt(data.X_unseen)
    y = data.y_unseen
    right = model.labels_ == y
    yield Finding("accuracy", value=per_class_accuracy(y, model.labels_))
    error = expected_calibration_error(right, model.reliability_)
    yield Finding("ECE", value=error)
    yield Finding("stated", value=float(model.reliability_.mean()))
    for number, bin_ in enumerate(
        reliability_curve(right, model.reliability_).itertuples()
    ):
        for measure in ("stated", "right"):
            share = float(getattr(bin_, measure))
            yield Finding(f"bin {measure}", str(bin_.rows), number, share)
    curve = risk_coverage(right, model.reliability_)
    for share in SHARES:
        at = int(np.searchsorted(curve["coverage"], share - 1e-12))
        kept = float(curve["right"].to_numpy()[at])
        yield Finding("right at", f"{share:g}", value=kept)
    sets = model.predict_set(data.X_unseen)
    columns = pd.Index(model.competing_classes_).get_indexer(y)
    covered = sets[np.arange(len(y)), columns]
    yield Finding("coverage", "true classes", value=float(covered.mean()))
    yield Finding("set size", value=float(sets.sum(axis=1).mean()))
    for number, share in enumerate(model.fold_coverages_):
        yield Finding("coverage", f"fold {number + 1}", value=float(share))


def open_piles(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Adapt to piles with foreign rows, and with lists that do not fit the pile."""
    model, data = fitted(bench, part, key)
    for name, rows, offered, foreign in foreign_piles(data, key.seed):
        own = ~foreign
        clean = model.adapt(data.X[rows[own]], classes=offered).labels_
        model.adapt(data.X[rows], classes=offered)
        y = data.y[rows]
        yield Finding("clean", name, value=per_class_accuracy(y[own], clean))
        share = per_class_accuracy(y[own], model.labels_[own])
        yield Finding("accuracy", name, value=share)
        yield Finding("AUROC", name, value=auroc(model.novelty_, foreign))
        called = model.novelty_ > model.novelty_threshold_
        yield Finding("false alarms", name, value=float(called[own].mean()))
        yield Finding("found", name, value=float(called[foreign].mean()))
    if hasattr(model.estimator_, "drop_absent"):
        yield from with_and_without(model.estimator_, data, long_lists(data, key.seed))


def with_and_without(model: Any, data: ZeroShotData, piles) -> Iterator[Finding]:
    """Adapt to piles, the list as it is and with absent classes dropped."""
    for name, rows, offered in piles:
        y = data.y[rows]
        for drop in (False, True):
            model.set_params(drop_absent=drop)
            model.adapt(data.X[rows], classes=offered)
            share = per_class_accuracy(y, model.labels_)
            yield Finding("dropped" if drop else "kept", name, value=share)
        yield Finding("present", name, value=len(model.present_classes_))


def open_study(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Make open piles of held-out seen classes: what is chosen is chosen on these.

    A seed is a fold: a quarter of the seen classes plays the unseen ones, and no row of
    a class that is truly unseen is there.
    """
    data = held_out(with_rows_aside(bench.data(part)), key.seed)
    model = built(bench, METHODS[key.method], data)
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    for name, rows, offered, foreign in foreign_piles(data, key.seed):
        y, own = data.y[rows], ~foreign
        clean = model.adapt(data.X[rows[own]], classes=offered).labels_
        yield Finding("clean", name, value=per_class_accuracy(y[own], clean))
        labels = model.adapt(data.X[rows], classes=offered).labels_
        yield Finding("accuracy", name, value=per_class_accuracy(y[own], labels[own]))
    yield from with_and_without(model, data, long_lists(data, key.seed))
    yield from with_and_without(model, data, fitting_lists(data, key.seed))


def held_out(data: ZeroShotData, fold: int) -> ZeroShotData:
    """Return the seen classes alone, those of a fold in the place of unseen ones."""
    here = np.isin(data.y, data.seen)
    n_folds = min(N_FOLDS, len(data.seen) // 2)
    chosen = data.seen[deal_classes(len(data.seen), n_folds, 0)[fold % n_folds]]
    aside = np.asarray(data.seen_test)[here] & ~np.isin(data.y[here], chosen)
    return replace(
        data,
        X=data.X[here],
        y=data.y[here],
        class_embeddings=data.class_embeddings.loc[data.seen],
        unseen=chosen,
        seen_test=aside,
    )


def foreign_piles(data: ZeroShotData, seed: int):
    """Yield piles a fifth of which is foreign: name, rows, who is on offer, which."""
    rng = np.random.default_rng([seed, 11])
    unseen = np.flatnonzero(np.isin(data.y, data.unseen))
    aside = np.flatnonzero(np.isin(data.y, data.seen) & np.asarray(data.seen_test))
    some = rng.permutation(aside)[: len(unseen) // 4]
    pile = np.concatenate([unseen, some])
    yield "of seen classes", pile, data.unseen, np.arange(len(pile)) >= len(unseen)
    shuffled = rng.permutation(data.unseen)
    unknown = shuffled[: max(1, len(shuffled) // 5)]
    offered = data.unseen[~np.isin(data.unseen, unknown)]
    own = unseen[np.isin(data.y[unseen], offered)]
    some = rng.permutation(unseen[np.isin(data.y[unseen], unknown)])[: len(own) // 4]
    pile = np.concatenate([own, some])
    yield "of unknown classes", pile, offered, np.arange(len(pile)) >= len(own)


def long_lists(data: ZeroShotData, seed: int):
    """Yield piles whose list does not fit: name, rows, who is on offer."""
    rng = np.random.default_rng([seed, 12])
    unseen = np.flatnonzero(np.isin(data.y, data.unseen))
    yield "list as it is", unseen, data.unseen
    yield "all classes offered", unseen, data.classes
    half = rng.permutation(data.unseen)[: len(data.unseen) // 2]
    yield "half absent", unseen[np.isin(data.y[unseen], half)], data.unseen


def fitting_lists(data: ZeroShotData, seed: int):
    """Yield piles whose list fits, and in which classes are small: nobody is absent."""
    rng = np.random.default_rng([seed, 14])
    by_class = [rng.permutation(np.flatnonzero(data.y == c)) for c in data.unseen]
    yield "ten rows a class", np.concatenate([r[:10] for r in by_class]), data.unseen
    ranks = 1 + rng.permutation(len(by_class))
    some = [
        rows[: max(3, len(rows) // rank)]
        for rows, rank in zip(by_class, ranks, strict=True)
    ]
    yield "sizes by Zipf's law", np.concatenate(some), data.unseen


def auroc(score: np.ndarray, yes: np.ndarray) -> float:
    """Return how often a row that is has a higher score than one that is not."""
    order = np.sort(score[~yes])
    below = np.searchsorted(order, score[yes], side="left")
    upto = np.searchsorted(order, score[yes], side="right")
    return float(np.mean((below + upto) / 2) / len(order))


# ---- tables --------------------------------------------------------------------------

# head: (measure, item); all in %
MIXED = {
    "U": ("U", ""),
    "S": ("S", ""),
    "H": ("H", ""),
    "plain": ("plain H", ""),
    "best": ("oracle H", ""),
    "AUSUC": ("AUSUC", ""),
    "side known": ("told_H", ""),
    "error": ("ECE", ""),
}
TRUST = {
    "error": ("ECE", ""),
    "accuracy": ("accuracy", ""),
    "at 50 %": ("right at", "0.5"),
    "sets": ("coverage", "true classes"),
}
FOREIGN = {
    "AUROC": "AUROC",
    "false alarms": "false alarms",
    "found": "found",
    "without": "clean",
    "with": "accuracy",
}


def generalized_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by data sets: both sides, and what the handicap is worth."""
    return measures_table(plan, results, MIXED)


def trust_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by data sets: how far off probabilities are, and what sets hold."""
    table = measures_table(plan, results, TRUST)
    mine = results[results.task == plan.task]
    lines = []
    for row, (label, cells) in zip(plan.rows, table.rows, strict=True):
        here, step = [], len(TRUST)
        for number, column in enumerate(plan.columns):
            own = mine[in_column(mine, column) & (mine.method == row.method)]
            folds = own[(own.measure == "coverage") & own["item"].str.match("fold")]
            size = own[own.measure == "set size"]["value"].astype(float)
            low_high = NOTHING
            if len(folds):
                shares = 100 * folds["value"].astype(float)
                low_high = f"{shares.min():.1f} to {shares.max():.1f}"
            here += cells[number * step : (number + 1) * step]
            here += [f"{size.mean():.1f}" if len(size) else NOTHING, low_high]
        lines.append((label, here))
    names = [*TRUST, "classes in a set", "folds"]
    table.heads = [(column.head, names) for column in plan.columns]
    table.rows = lines
    return table


def measures_table(plan: Plan, results: pd.DataFrame, measures: dict) -> Table:
    """Methods by data sets, one cell per measure, in %."""
    mine = results[results.task == plan.task]
    rows = []
    for row in plan.rows:
        cells = []
        for column in plan.columns:
            own = mine[in_column(mine, column) & (mine.method == row.method)]
            cells += [in_percent(own, *measure) for measure in measures.values()]
        rows.append((row.label, cells))
    heads = [(column.head, list(measures)) for column in plan.columns]
    return Table(plan.title, plan.caption, heads, rows, notes=notes(plan, results))


def open_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Tell what was found, and how right labels are, pile by pile."""
    mine = results[results.task == plan.task]
    rows = []
    for column in plan.columns:
        for row in plan.rows:
            own = mine[in_column(mine, column) & (mine.method == row.method)]
            for pile in own.loc[own.measure == "clean", "item"].unique():
                cells = [in_percent(own, name, pile) for name in FOREIGN.values()]
                rows.append(
                    (column.head, [row.label, f"foreign {pile}", *cells, NOTHING])
                )
            for pile in own.loc[own.measure == "kept", "item"].unique():
                shown = [in_percent(own, name, pile) for name in ("kept", "dropped")]
                there = own[(own.measure == "present") & (own["item"] == pile)]["value"]
                found = f"{there.astype(float).mean():.0f}" if len(there) else NOTHING
                rows.append(
                    (column.head, [row.label, pile, *[NOTHING] * 3, *shown, found])
                )
    names = ["method", "rows", *list(FOREIGN)[:3], "before", "after", "classes there"]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, [("", names)], rows, "data", notes=said)


def in_percent(results: pd.DataFrame, measure: str, item: str) -> str:
    """Write a measure, its mean and spread over seeds."""
    own = results[(results.measure == measure) & (results["item"].fillna("") == item)]
    return mean_and_spread(100 * own["value"].to_numpy(np.float64))


TASKS |= {
    "generalized": generalized,
    "trust": trust,
    "open": open_piles,
    "open study": open_study,
}
MAKERS |= {
    "generalized": generalized_table,
    "trust": trust_table,
    "open": open_table,
}


if __name__ == "__main__":
    from laboratory import main

    main("trust")
