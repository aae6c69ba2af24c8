"""From results.csv alone to the tables of the plans.

Every column of a plan becomes a group: ours (mean ± standard deviation over seeds), the
oracle (the best round by the true labels, which nobody has), the paper's number, and
the difference. A method that is not built, and data that is absent, print as ``—``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from unseen.experiments.comparing import compare_table
from unseen.experiments.few_labels_table import few_labels_table
from unseen.experiments.lookup import in_column, notes, sources_of
from unseen.experiments.photo_tables import photos_short_table, photos_table
from unseen.experiments.plan import Column, Plan, Row
from unseen.experiments.splits import by_deal, paired_interval
from unseen.experiments.tables import (
    NOTHING,
    Table,
    difference,
    mean_and_spread,
    number,
    signed,
)
from unseen.experiments.trust_tables import (
    generalized_table,
    open_table,
    planted_table,
    trust_table,
)

__all__ = ["MAKERS", "in_column", "make_table", "sources_of"]


def make_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Fill a plan's table from results.

    Parameters
    ----------
    plan : Plan
    results : DataFrame
        From :func:`unseen.experiments.read_results`.

    Returns
    -------
    Table

    Examples
    --------
    >>> import pandas as pd
    >>> from unseen.experiments import make_table, read_plan
    >>> from unseen.experiments.results import COLUMNS
    >>> nothing = pd.DataFrame(columns=list(COLUMNS))
    >>> make_table(read_plan("table4"), nothing).rows[0]
    ('CCA', ['—', '65.6', '—', '—', '30.4', '—'])
    """
    return MAKERS.get(plan.show, accuracy_table)(plan, results)


def accuracy_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by data sets."""
    final = results[(results.task == plan.task) & (results.measure == "final")]
    rounds = results[(results.task == plan.task) & (results.measure == "accuracy")]
    plain = plan.show == "plain table"
    adapted = rounds[rounds["round"] > 0]
    with_oracle = not plain and any(
        row.round is None and (adapted.method == row.method).any() for row in plan.rows
    )
    with_paper = any(not math.isnan(n) for row in plan.rows for n in row.paper)
    names = ["ours", *["oracle"] * with_oracle, *["paper", "diff."] * with_paper]
    lines = []
    for row in plan.rows:
        cells = []
        for column, paper in zip(plan.columns, row.paper, strict=True):
            ours = of_run(rounds if row.round == 0 else final, column, row)
            if row.round == 0:
                ours = ours[ours["round"] == 0]
            shares = 100 * ours["value"].to_numpy(float)
            cells.append(mean_and_spread(shares))
            if with_oracle:
                cells.append(oracle(of_run(rounds, column, row), row))
            if with_paper:
                cells += [number(paper), difference(shares, paper)]
        lines.append((row.label, cells))
    heads = [
        (column.head, names if len(names) > 1 else [""]) for column in plan.columns
    ]
    return Table(plan.title, plan.caption, heads, lines, notes=notes(plan, results))


def of_run(results: pd.DataFrame, column: Column, row: Row) -> pd.DataFrame:
    """Return what was found by a method on a column's data, from whatever source."""
    return results[(results.method == row.method) & in_column(results, column)]


def oracle(rounds: pd.DataFrame, row: Row) -> str:
    """Return the best round by the true labels, mean over seeds.

    Round 0, before adapting, counts: the authors never report less than it.
    """
    adapted = rounds[rounds["round"] > 0]
    if row.round is not None or adapted.empty:
        return NOTHING
    return mean_and_spread(100 * rounds.groupby("seed")["value"].max().to_numpy(float))


def statistics_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Table II: counts, ours beside the paper's."""
    measures = {
        "instances": "instances",
        "features": "features",
        "dimensions": "attributes",
        "seen": "seen classes",
        "unseen": "unseen classes",
    }
    mine = results[results.task == plan.task]
    rows = []
    for measure, label in measures.items():
        cells = []
        paper = plan.counts.get(measure, (math.nan,) * len(plan.columns))
        for column, theirs in zip(plan.columns, paper, strict=True):
            found = mine[(mine.measure == measure) & in_column(mine, column)]
            cells.append(f"{found['value'].iloc[0]:,.0f}" if len(found) else NOTHING)
            cells.append(NOTHING if math.isnan(theirs) else f"{theirs:,.0f}")
        rows.append((label, cells))
    heads = [(column.head, ["ours", "paper"]) for column in plan.columns]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "count", notes=said)


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
    heads = [("", ["pile", "before", "after", "worst gain", "kept"])]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "data", notes=said)


def splits_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by data sets over deals, and how far ahead of them the last row is."""
    mine = results[results.task == plan.task]
    ours = plan.rows[-1].method
    rows = []
    for row in plan.rows:
        cells = []
        for column in plan.columns:
            here = mine[in_column(mine, column)]
            own = by_deal(here, row.method, "before" if row.round == 0 else "after")
            ahead = (by_deal(here, ours, "after") - own).dropna().to_numpy()
            low, high = paired_interval(ahead)
            last = row.method == ours and row.round is None
            hidden = last or math.isnan(low)
            cells.append(mean_and_spread(own.to_numpy()))
            cells.append(NOTHING if hidden else signed(float(ahead.mean())))
            cells.append(NOTHING if hidden else f"{signed(low)} to {signed(high)}")
        rows.append((row.label, cells))
    names = ["accuracy", "ours ahead by", "90 % interval"]
    heads = [(column.head, names) for column in plan.columns]
    return Table(plan.title, plan.caption, heads, rows, notes=notes(plan, results))


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
    heads = ["mean", *groups, "gain", "worst", "below −3", "losing piles"]
    return Table(
        plan.title, plan.caption, [("", heads)], rows, notes=piles_message(frame)
    )


def names_study_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Show settings of one method by groups of cells, and how many there were.

    *off* is how far reliability is off the share of right rows, mean over piles.
    """
    table = names_table(plan, results)
    mine = results[(results.task == plan.task) & (results.measure == "off")]
    piles = pd.concat([mine[in_column(mine, column)] for column in plan.columns])
    off = 100 * piles["value"].abs().groupby(piles["method"]).mean()
    rows = [
        (label, [*cells, number(float(off.get(row.method, math.nan)))])
        for row, (label, cells) in zip(plan.rows, table.rows, strict=True)
    ]
    ((_, heads),) = table.heads
    settings = [row for row in plan.rows if row.method not in STARTS]
    notes = [*table.notes, f"{len(settings)} settings were compared."]
    wider = [("", [*heads, "off"])]
    return replace(table, heads=wider, rows=rows, corner="setting", notes=notes)


def names_cells_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Methods by cells, the whole pile of each."""
    frame = names_frame(plan, results)
    full = frame[frame["kind"] == "full"]
    means = full.groupby(["method", "cell"])["value"].mean()
    rows = []
    for row in plan.rows:
        values = [means.get((row.method, c.head), math.nan) for c in plan.columns]
        rows.append((row.label, [number(float(value)) for value in values]))
    heads = [(column.head, [""]) for column in plan.columns]
    return Table(plan.title, plan.caption, heads, rows, notes=piles_message(full))


def piles_message(frame: pd.DataFrame) -> list[str]:
    """Say on how many piles the numbers rest."""
    piles = frame.drop_duplicates(["cell", "kind", "seed"])
    draws = piles["seed"].nunique()
    return [f"{len(piles)} piles, {draws} draws."] if len(piles) else []


def texts_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Accuracy by names and adapted, and texts of no class, by set."""
    mine = results[results.task == plan.task]
    rows = []
    for column in plan.columns:
        here = mine[in_column(mine, column)]
        found = {key: 100 * own.mean() for key, own in here.groupby("measure")["value"]}

        def cell(key: str, found: dict = found) -> str:
            return number(found[key]) if key in found else NOTHING

        def change(key: str, other: str, found: dict = found) -> str:
            both = key in found and other in found
            return signed(found[key] - found[other]) if both else NOTHING

        cells = [
            *map(cell, ("before", "after")),
            change("after", "before"),
            *map(cell, ("auroc of novelty", "auroc of reliability", "caught")),
            change("after, set apart", "after, with foreign"),
        ]
        rows.append((column.head, cells))
    heads = [
        ("", ["names alone", "adapted", "gain"]),
        ("texts of no class:", ["novelty", "reliability", "set apart", "cost"]),
    ]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "texts", notes=said)


MAKERS: dict[str, Callable[[Plan, pd.DataFrame], Table]] = {
    "table": accuracy_table,
    "plain table": accuracy_table,
    "statistics": statistics_table,
    "robustness": robustness_table,
    "few-labels": few_labels_table,
    "splits": splits_table,
    "generalized": generalized_table,
    "trust": trust_table,
    "open": open_table,
    "planted": planted_table,
    "compare": compare_table,
    "study": study_table,
    "names": names_table,
    "texts": texts_table,
    "photos": photos_table,
    "photos-short": photos_short_table,
    "names by cell": names_cells_table,
    "names study": names_study_table,
}
