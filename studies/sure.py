"""The sure line beside other ways to find labels that need no look.

Labels of a set are made once, without an answer. Then a check is simulated 1,000 times:
so many labels are drawn and answered with the truth, and three rules say which labels
are right enough:

    line         the sure line, from answers that ``draw_check`` draws
    conformal    split-conformal sets with the wanted coverage, from as many answers
                 drawn from all alike; the labels whose set holds no other class
    reliability  labels whose reliability is at least what is wanted, without an answer

A rule holds if what it calls sure is as right as wanted, or if it calls nothing sure.

    python studies/sure.py sure --data ../shared/data
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from photos import is_photo_set, read_set
from texts import _read as read_texts

from unseen.experiments.bench import Bench
from unseen.experiments.plan import Plan
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.tables import MAKERS, NOTHING, Table, in_column, notes
from unseen.experiments.tasks import TASKS
from unseen.methods import METHODS
from unseen.trust.sure import draw_surest, drawn_from, sure_line, surest_first

PLANS = ("sure",)
WANTED, CHECKS, TIMES = (0.9, 0.95, 0.99), (20, 40, 80), 1_000
RULES = ("line", "conformal", "reliability")


def sure(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Simulate checks of a set's labels; say how often rules hold, and what is sure."""
    labels, truth, stated, chances, names = labelled(bench, part)
    right, order = labels == truth, surest_first(stated)
    own = chances[np.arange(len(truth)), pd.Index(names).get_indexer(truth)]
    misses, second = 1 - own, 1 - np.sort(chances, axis=1)[:, -2]
    yield Finding("rows", value=len(truth))
    yield Finding("right", value=float(right.mean()))
    yield Finding("stated", value=float(np.nanmean(stated)))
    for wanted, n in product(WANTED, CHECKS):
        n, found = min(n, len(truth)), {rule: [] for rule in RULES}
        among = drawn_from(n, len(order), wanted)
        for seed in range(TIMES):
            random = np.random.RandomState(seed)
            rows = draw_surest(stated, n, (), random, wanted)
            line = sure_line(order, among, rows, right[rows], wanted=wanted)
            level = min(1.0, np.ceil((n + 1) * wanted) / n)
            drawn = misses[random.permutation(len(truth))[:n]]
            most = np.quantile(drawn, level, method="higher")
            found["line"].append(line.rows)
            found["conformal"].append(np.flatnonzero(second > most))
            found["reliability"].append(np.flatnonzero(stated >= wanted))
        for rule, sets in found.items():
            item = f"{rule} {100 * wanted:g} {n}"
            holds = [not len(s) or right[s].mean() >= wanted - 1e-9 for s in sets]
            yield Finding("holds", item, value=float(np.mean(holds)))
            share = np.mean([len(s) for s in sets]) / len(truth)
            yield Finding("share", item, value=float(share))


def labelled(bench: Bench, part: str) -> tuple[Any, ...]:
    """Return labels, truth, reliability, chances by class, and the classes."""
    source = bench.source
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that names are weak is the case here
        if is_photo_set(source):
            from unseen.photos import NamedPhotos

            found = read_set(source.path, part)
            model = NamedPhotos(found.image, found.text)
            model.fit(found.names, allow_unknown=True).adapt(found.X)
            X, truth = found.X, found.truth
        elif part in ("names", "wordllama"):
            from unseen.texts import NamedTexts

            texts = read_texts(Path(source.path), part)
            model = NamedTexts(texts.encoder).fit(texts.names).adapt(texts.items)
            X, truth = texts.items, texts.truth
        else:
            model = bench.fitted(METHODS["ast"], part, 0)
            X, truth = bench.data(part).X_unseen, bench.data(part).y_unseen
            model.adapt(X)
            names = np.asarray(model.competing_classes_)
            return (
                model.labels_,
                truth,
                model.reliability_,
                model.predict_proba(X),
                names,
            )
    return (
        model.labels_,
        truth,
        model.reliability_,
        model.predict_proba(X),
        model.classes_,
    )


def sure_table(plan: Plan, results: pd.DataFrame) -> Table:
    """Show how often every rule holds at worst, and the mean share that is sure."""
    mine = results[results.task == plan.task]
    sets = [mine[in_column(mine, column)] for column in plan.columns]
    sets = [own for own in sets if len(own)]
    rows = []
    for wanted, n in product(WANTED, CHECKS):
        cells = []
        for rule in RULES:
            item = f"{rule} {100 * wanted:g} {n}"
            holds, share = (
                np.array(
                    [
                        own[(own.measure == m) & (own["item"] == item)]["value"]
                        for own in sets
                    ]
                )
                for m in ("holds", "share")
            )
            if not holds.size:
                cells += [NOTHING] * 3
                continue
            cells.append(f"{100 * holds.min():.1f}")
            cells.append(f"{np.sum(holds >= 0.9)} of {len(sets)}")
            cells.append(f"{100 * share.mean():.1f}")
        rows.append((f"{100 * wanted:g} %", [str(n), *cells]))
    columns = ["holds at worst", "sets where it holds", "sure"]
    heads = [("", ["answers"]), *((f"{rule}:", columns) for rule in RULES)]
    said = notes(plan, results)
    return Table(plan.title, plan.caption, heads, rows, "wanted", notes=said)


TASKS["sure"] = sure
MAKERS["sure"] = sure_table


if __name__ == "__main__":
    from laboratory import main

    main("sure")
