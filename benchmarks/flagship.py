"""What self-training is worth, and what anchored self-training adds.

    python benchmarks/flagship.py table      --data ../shared/data
    python benchmarks/flagship.py ablation   --data ../shared/data
    python benchmarks/flagship.py robustness --data ../shared/data

Per-class top-1 on the unseen classes, in percent. No label of an unseen class is
used: hyper-parameters come from class-wise cross-validation on the seen classes
(five folds) or are the defaults, and the last round is what counts.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from unseen import (
    CCA,
    ESZSL,
    JEDM,
    AnchoredSelfTraining,
    ClasswiseFolds,
    ClasswiseSearchCV,
    SelfTraining,
    ZeroShotData,
    load_data,
    per_class_accuracy,
)
from unseen.experiments.methods import ABLATION as CHANGES
from unseen.model_selection import PAPER_GRID
from unseen.transduction.anchored import WeakStartWarning

SETS = {
    "cub_vgg": ["att_312", "sent_1024", "glove_100", ["att_312", "sent_1024"]],
    "awa1_shallow": [
        "att_continuous",
        "att_binary",
        "wordvec_1000",
        ["att_continuous", "wordvec_1000"],
    ],
}
TENTHS = [0.01, 0.1, 1.0, 10.0, 100.0]
ROUNDS = {"lam": list(PAPER_GRID), "mu": list(PAPER_GRID)}
# A base, what is searched of it on the seen classes, and how it is whitened.
BASES = {
    "CCA": (CCA(), {"regularisation": TENTHS, "power": [0, 1, 2, 4]}, {}),
    "ESZSL": (ESZSL(), {"gamma": TENTHS, "lam": TENTHS}, {}),
    "JEDM": (
        JEDM(),
        {"alpha": [0.01, 0.1, 1.0], "embedding_ridge": [0.1, 1.0]},
        {"unit_prototypes": True, "n_axes": 500},
    ),
}
ABLATION = {"as it is": {}, **CHANGES}


def sets(folder: Path, only: str | None) -> Iterator[tuple[str, ZeroShotData]]:
    for name, tables in SETS.items():
        for table in tables:
            label = f"{name}: {table if isinstance(table, str) else ' + '.join(table)}"
            if only is None or only in label:
                yield label, load_data(folder / f"{name}.npz", classes=table)


def score(data: ZeroShotData, labels: np.ndarray) -> float:
    return 100 * per_class_accuracy(data.y_unseen, labels)


def fit(model, data: ZeroShotData):
    return model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)


def self_trained(
    base, grid: dict, data: ZeroShotData, folds: ClasswiseFolds
) -> tuple[float, float]:
    """Return the accuracy of the base and of its self-trained form, both searched."""
    stages = [{f"base__{key}": values for key, values in grid.items()}, ROUNDS]
    search = ClasswiseSearchCV(
        SelfTraining(base), stages, in_stages=True, transductive=[False, True]
    )
    search.fit(folds, class_embeddings=data.class_embeddings)
    winner = search.best_estimator_
    before = winner.predict(data.X_unseen)
    return score(data, before), score(data, winner.adapt(data.X_unseen).labels_)


def run_table(folder: Path, only: str | None) -> pd.DataFrame:
    rows: dict[str, dict[str, float]] = {}
    folds: dict[str, ClasswiseFolds] = {}
    for label, data in sets(folder, only):
        row = rows.setdefault(label, {})
        if data.name not in folds:  # one pass over the rows serves every table
            folds = {data.name: ClasswiseFolds(data.X_seen, data.y_seen)}
        shared = folds[data.name]
        for name, (base, grid, whitened) in BASES.items():
            st = "TSTD" if name == "JEDM" else f"{name}-ST"
            row[name], row[st] = self_trained(base, grid, data, shared)
            white = base.__class__(**{"whitening": 0.1, **whitened})
            _, row[f"{st}, whitened"] = self_trained(
                white, grid, data, folds[data.name]
            )
            print(label, {k: round(v, 1) for k, v in row.items()}, file=sys.stderr)
        model = fit(AnchoredSelfTraining(), data)
        row["AST, inductive"] = score(data, model.predict(data.X_unseen))
        row["AST"] = score(data, model.adapt(data.X_unseen).labels_)
    return pd.DataFrame(rows).T


def run_ablation(folder: Path, only: str | None) -> pd.DataFrame:
    rows: dict[str, dict[str, float]] = {}
    for label, data in sets(folder, only):
        for name, change in ABLATION.items():
            model = fit(AnchoredSelfTraining(**change), data)
            row = rows.setdefault(name, {})
            row[label] = score(data, model.adapt(data.X_unseen).labels_)
    return pd.DataFrame(rows).T


def draws(data: ZeroShotData, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield piles, as row numbers of the set, drawn to make life hard."""
    rng = np.random.default_rng(seed)
    unseen = np.flatnonzero(np.isin(data.y, data.unseen))
    seen = np.flatnonzero(~np.isin(data.y, data.unseen))
    own = {c: rng.permutation(unseen[data.y[unseen] == c]) for c in data.unseen}
    largest = max(len(rows) for rows in own.values())
    shuffled = rng.permutation(data.unseen)
    present = shuffled[: len(shuffled) // 2]
    yield "half of the classes absent", np.concatenate([own[c] for c in present])
    yield (
        "sizes by Zipf's law",
        np.concatenate(
            [own[c][: max(2, largest // (i + 1))] for i, c in enumerate(shuffled)]
        ),
    )
    yield "10 rows per class", np.concatenate([rows[:10] for rows in own.values()])
    foreign = rng.permutation(seen)[: len(unseen) // 4]
    yield "20 % foreign rows", np.concatenate([unseen, foreign])


def run_robustness(folder: Path, only: str | None) -> pd.DataFrame:
    found: list[dict] = []
    for label, data in sets(folder, only):
        inductive_model = fit(AnchoredSelfTraining(), data)
        model = fit(AnchoredSelfTraining(), data)
        for seed in range(5):
            for situation, rows in draws(data, seed):
                X, y = data.X[rows], data.y[rows]
                known = np.isin(y, data.unseen)  # foreign rows count for nobody
                inductive = inductive_model.predict(X)
                labels = model.adapt(X).labels_
                before, after = (
                    100 * per_class_accuracy(y[known], answer[known])
                    for answer in (inductive, labels)
                )
                found.append(
                    {
                        "data": label,
                        "pile": situation,
                        "before": before,
                        "after": after,
                        "gain": after - before,
                        "kept": not model.adapted_,
                    }
                )
    frame = pd.DataFrame(found).groupby(["data", "pile"], sort=False)
    return frame.agg(
        before=("before", "mean"),
        after=("after", "mean"),
        worst_gain=("gain", "min"),
        kept=("kept", "sum"),
    )


def show(frame: pd.DataFrame, title: str) -> None:
    table = Table(title=title)
    index = [n or "" for n in frame.index.names]
    for column in (*index, *map(str, frame.columns)):
        table.add_column(column, justify="left" if column in index else "right")
    for key, row in frame.iterrows():
        names = key if isinstance(key, tuple) else (key,)
        table.add_row(*map(str, names), *(f"{value:.1f}" for value in row))
    Console(width=200).print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["table", "ablation", "robustness"])
    parser.add_argument("--data", type=Path, required=True, help="folder of .npz sets")
    parser.add_argument("--only", help="only sets whose label contains this")
    parser.add_argument("--csv", type=Path, help="also write the table here")
    arguments = parser.parse_args()
    run = {"table": run_table, "ablation": run_ablation, "robustness": run_robustness}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakStartWarning)
        frame = run[arguments.what](arguments.data, arguments.only)
    show(frame, f"{arguments.what}: per-class top-1 on unseen classes, %")
    if arguments.csv:
        frame.to_csv(arguments.csv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
