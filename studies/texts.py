"""Texts by class names alone, as ``unseen label`` labels them, scored at the end.

The class table that a column names says how texts become vectors:

    wordllama, …          a .csv of ``text`` and ``label``; texts and the names of its
                          labels are encoded
    wordllama from 2000   the same, learned from that many texts
    names                 a .npz of rows X, labels y, and a vector per class name, P

``foreign`` are texts of no class: they are put among the others, and their novelty is
compared with that of the others.

    python studies/texts.py texts --data ../shared/data
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from unseen.experiments.bench import Bench
from unseen.experiments.plan import Plan
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.tables import (
    MAKERS,
    NOTHING,
    Table,
    in_column,
    notes,
    number,
    signed,
)
from unseen.experiments.tasks import TASKS
from unseen.trust.metrics import per_class_accuracy

PLANS = ("texts",)


class _Set(NamedTuple):
    """Texts or their vectors, their classes, what reads the names, and the names."""

    items: Any
    truth: np.ndarray
    encoder: Any
    names: list[str]


def texts(bench: Bench, part: str, key: RunKey) -> Iterator[Finding]:
    """Label texts by the names alone, then adapted; look for texts of no class."""
    from unseen.texts import NamedTexts

    encoder, _, most = part.partition(" from ")
    found = _read(Path(bench.source.path), encoder)
    by_names = NamedTexts(found.encoder).fit(found.names).predict(found.items)
    yield Finding("before", value=per_class_accuracy(found.truth, by_names))
    start = time.process_time()
    labels = _adapted(found, int(most) if most else None)
    seconds = time.process_time() - start
    share = per_class_accuracy(found.truth, labels)
    yield Finding("after", value=share, seconds=seconds)
    yield Finding("texts", value=len(found.truth))
    if bench.source.foreign:
        yield from _among_others(found, Path(bench.source.foreign), encoder)


def _read(path: Path, encoder: str) -> _Set:
    from unseen.naming.classes import spoken
    from unseen.texts import read_texts

    if path.suffix == ".csv":
        columns = [
            [text for batch in read_texts(path, column=name) for text in batch.texts]
            for name in ("text", "label")
        ]
        truth = np.array(columns[1])
        return _Set(columns[0], truth, encoder, sorted(set(columns[1])))
    with np.load(path, allow_pickle=False) as stored:
        X = stored["X"].astype(np.float32)
        if "P" not in stored.files or not len(stored["P"]):  # of no class
            return _Set(X, np.full(len(X), ""), None, [])
        names, P = stored["classes"].astype(str), stored["P"].astype(np.float32)
        known = dict(zip(map(spoken, names.tolist()), P, strict=True))
        truth = names[stored["y"]]

    def look_up(said: list[str]) -> list[np.ndarray]:
        return [known[text] for text in said]

    return _Set(X, truth, look_up, names.tolist())


def _adapted(found: _Set, most: int | None) -> np.ndarray:
    """Return labels as the command gives them; vectors are all learned from."""
    from unseen.texts import NamedTexts, TextJob

    if isinstance(found.items, np.ndarray):
        return NamedTexts(found.encoder).fit(found.names).adapt(found.items).labels_
    job = TextJob(found.items, found.names, encoder=found.encoder, learn_from=most)
    return pd.concat(list(job.parts()))["label"].to_numpy(str)


def _among_others(found: _Set, foreign: Path, encoder: str) -> Iterator[Finding]:
    """Put texts of no class among the others, and score what tells them apart."""
    from sklearn.metrics import roc_auc_score

    from unseen.texts import NamedTexts
    from unseen.texts.named import FOREIGN

    others = _read(foreign, encoder).items
    together = (
        np.concatenate([found.items, others])
        if isinstance(others, np.ndarray)
        else [*found.items, *others]
    )
    model = NamedTexts(found.encoder).fit(found.names).adapt(together)
    n = len(found.truth)
    strange = np.arange(len(together)) >= n
    scores = {
        "auroc of novelty": model.novelty_,
        "auroc of reliability": 1 - model.reliability_,
    }
    for measure, score in scores.items():
        yield Finding(measure, value=float(roc_auc_score(strange, score)))
    apart = model.novelty_ > FOREIGN
    yield Finding("caught", value=float(apart[strange].mean()))
    kept = np.where(apart, "", model.labels_)[:n]
    yield Finding("after, with foreign", value=_share(found.truth, model.labels_[:n]))
    yield Finding("after, set apart", value=_share(found.truth, kept))


def _share(truth: np.ndarray, labels: np.ndarray) -> float:
    return float(per_class_accuracy(truth, labels))


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


TASKS["texts"] = texts
MAKERS["texts"] = texts_table


if __name__ == "__main__":
    from laboratory import main

    main("texts")
