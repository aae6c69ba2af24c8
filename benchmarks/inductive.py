"""Every inductive system of the paper's Tables III and IV, on the same footing.

    python benchmarks/inductive.py --data ../shared/data
    python benchmarks/inductive.py --data ../shared/data --only awa1 --methods linear

Per-class top-1 on the unseen classes, in percent. Hyper-parameters come from class-wise
cross-validation on the seen classes: five folds, dealt six times (three, dealt once,
for those that need the rows); no row of an unseen class is looked at before the answer.
The columns:

    found     what the search's winner scores; for stochastic methods the mean of three
              seeds, with their spread; * if a fit wanted more epochs than it had
    oracle    the best of the same grid by the true labels, which nobody has
    share     found / oracle
    folds     by how much the folds prefer the winner to the oracle's point: mean of the
              differences fold by fold, and its standard error
    paper     Table III (attributes) or IV (words): other features, and reported as the
              best after tuning; for orientation
    PS        published for the proposed split with ResNet-101 features and attributes
    time      per fold and point of the grid (where none is searched, per fit), in
              those of ESZSL on the same rows
    edge      parameters whose winner is the first or last of its numbers

Rows of unit length come on 1,000 principal axes of the seen rows, made once,
where every fold finds axes of its own; methods that need the rows get the first 300.
A class table with more dimensions than classes is turned into as many dimensions as
there are classes, for all methods that cannot tell the difference.
The line below a table says what its searches took, and what all tables of a set share.
"""

import argparse
import os
import sys
import time
import warnings
from dataclasses import replace
from functools import cached_property
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid

from unseen import (
    ALE,
    CCA,
    DAP,
    ESZSL,
    IAP,
    JEDM,
    SAE,
    SJE,
    ClasswiseFolds,
    ClasswiseSearchCV,
    ConSE,
    DeViSE,
    JLSELite,
    LatEm,
    RidgeToSemantic,
    RidgeToVisual,
    SumsPCA,
    SynC,
    ZeroShotData,
    load_data,
    per_class_accuracy,
)
from unseen.class_table import encode

SETS = {
    "awa1_shallow": ["att_continuous", "wordvec_1000"],
    "cub_vgg": ["att_312", "sent_1024", "glove_100"],
}
TENS = [float(f"1e{e}") for e in range(-4, 5)]
HALVES = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
GAUSSIAN = {
    "temperature": [0.3, 1.0, 3.0, 10.0, 30.0, 100.0],
    "shrinkage": [0.01, 0.1, 1.0, 10.0, 100.0],
}
SHARP = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
LINEAR = {
    "ESZSL": (ESZSL(), {"gamma": TENS[2:-1], "lam": TENS[:-1]}),
    "CCA": (CCA(), {"regularisation": HALVES, "power": [0, 1, 2, 4]}),
    "JEDM": (
        JEDM(),
        {
            "alpha": [0.01, 0.1, 1.0],
            "embedding_ridge": [0.001, 0.01, 0.1, 1.0, 10.0],
            "unit_prototypes": [False, True],
        },
    ),
    "ridge x→a": (RidgeToSemantic(), {"lam": TENS}),
    "ridge a→x": (RidgeToVisual(), {"lam": TENS, "metric": ["euclidean", "cosine"]}),
    "SAE x→a": (SAE(direction="to_semantic"), {"lam": TENS}),
    "SAE a→x": (SAE(), {"lam": TENS}),
    "DAP": (DAP(), {"lam": TENS}),
    "IAP": (IAP(), GAUSSIAN),
    "ConSE": (ConSE(), {"n_top": [1, 3, 10, 30], **GAUSSIAN}),
    "SynC squared": (
        SynC(loss="squared"),
        {"lam": [1e-7, 1e-6, 1e-5, 1e-4, 1e-3], "sharpness": SHARP},
    ),
}
RATES = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
FROM_ROWS = {
    "SynC o-vs-o": (
        SynC(),
        {"lam": [1e-7, 1e-6, 1e-5, 1e-4, 1e-3], "sharpness": SHARP},
    ),
    "SynC struct": (
        SynC(loss="structured", tol=1e-2),
        {"lam": [1e-6, 1e-5, 1e-4, 1e-3], "sharpness": SHARP},
    ),
    "JLSELite": (
        JLSELite(),
        {"lam": [1e-6, 1e-5, 1e-4, 1e-3], "softness": [0.001, 0.01, 0.1, 1.0, 10.0]},
    ),
    "DeViSE": (DeViSE(), {"learning_rate": [0.03, *RATES[:5]]}),
    "ALE": (ALE(), {"learning_rate": RATES}),
    "SJE": (SJE(), {"learning_rate": RATES}),
    "LatEm 1 map": (LatEm(1), {"learning_rate": RATES[2:]}),
    "LatEm": (LatEm(2), {"learning_rate": RATES[2:]}),
}
# These count or name dimensions.
BY_DIMENSION = ("DAP", "IAP", "CCA")
# Table III: AwA and CUB with attributes; Table IV: the same with word vectors.
PAPER = {
    "awa1_shallow: att": {
        "DAP": 57.5,
        "SJE": 66.7,
        "LatEm": 71.9,
        "ESZSL": 75.3,
        "SynC struct": 72.9,
        "JLSELite": 80.5,  # of JLSE
        "JEDM": 76.5,
    },
    "cub_vgg: att": {
        "SJE": 50.1,
        "LatEm": 45.5,
        "ESZSL": 46.8,
        "SynC struct": 54.7,
        "JLSELite": 42.1,  # of JLSE
        "JEDM": 47.6,
    },
    "awa1_shallow: word": {
        "CCA": 65.6,
        "SJE": 51.2,
        "LatEm": 61.1,
        "ESZSL": 67.4,
        "JEDM": 71.5,
    },
    "cub_vgg: glove": {
        "CCA": 30.4,
        "SJE": 28.4,
        "LatEm": 31.8,
        "ESZSL": 30.4,
        "JEDM": 30.9,
    },
}
PROPOSED = {
    "awa1_shallow: att": {
        "DAP": 44.1,
        "ConSE": 45.6,
        "DeViSE": 54.2,
        "SJE": 65.6,
        "LatEm": 55.1,
        "ESZSL": 58.2,
        "ALE": 59.9,
        "SynC o-vs-o": 54.0,
        "SAE x→a": 53.0,
    },
    "cub_vgg: att": {
        "DAP": 40.0,
        "ConSE": 34.3,
        "DeViSE": 52.0,
        "SJE": 53.9,
        "LatEm": 49.3,
        "ESZSL": 53.9,
        "ALE": 54.9,
        "SynC o-vs-o": 55.6,
        "SAE x→a": 33.3,
    },
}


class Shared:
    """What all methods share on one set: rows on axes, folds and sums, made when asked.

    ``seconds`` is what making them took so far.
    """

    def __init__(self, data: ZeroShotData):
        start = time.perf_counter()
        self.data = reduce_rows(data, 1000)
        self.reduced = replace(self.data, X=np.ascontiguousarray(self.data.X[:, :300]))
        self.seconds = time.perf_counter() - start

    @cached_property
    def folds(self) -> ClasswiseFolds:
        """Folds with their sums and axes, which one small search makes."""
        start = time.perf_counter()
        folds = ClasswiseFolds(self.data.X_seen, self.data.y_seen, n_repeats=6)
        model = ESZSL(unit_rows=False)
        warm = ClasswiseSearchCV(model, {"lam": [1.0]}, transductive=False)
        warm.fit(folds, class_embeddings=self.data.class_embeddings)
        self.seconds += time.perf_counter() - start
        return folds

    @cached_property
    def sums(self):
        """Sums of all seen rows, for the oracle."""
        table, codes = encode(self.data.y_seen, self.data.class_embeddings)
        return ESZSL(unit_rows=False)._sums(self.folds.X, codes, len(table))

    @cached_property
    def reduced_folds(self) -> ClasswiseFolds:
        """Folds for the methods that need the rows."""
        return ClasswiseFolds(self.reduced.X_seen, self.reduced.y_seen, n_folds=3)


def reduce_rows(data: ZeroShotData, n_axes: int) -> ZeroShotData:
    """Return rows of unit length on principal axes of those of seen classes."""
    lengths = np.linalg.norm(data.X.astype(np.float32), axis=1, keepdims=True)
    units = data.X.astype(np.float32) / np.where(lengths > 0, lengths, 1)
    seen = ~np.isin(data.y, data.unseen)
    axes = SumsPCA(min(n_axes, units.shape[1])).fit(units[seen])
    return replace(data, X=axes.transform(units).astype(np.float32))


def turn_into_span(embeddings: pd.DataFrame) -> pd.DataFrame:
    """Return the same lengths and angles between classes, in no more dimensions."""
    A = embeddings.to_numpy(np.float64)
    if A.shape[1] <= len(A):
        return embeddings
    U, sizes, _ = np.linalg.svd(A, full_matrices=False)
    return pd.DataFrame(U * sizes, index=embeddings.index)


def score(data: ZeroShotData, labels: np.ndarray) -> float:
    return 100 * per_class_accuracy(data.y_unseen, labels)


def search_on(folds: ClasswiseFolds, model, grid: dict, embeddings):
    """Return the search, and its seconds per fold and point of the grid."""
    start = time.perf_counter()
    search = ClasswiseSearchCV(model, grid, transductive=False)
    search.fit(folds, class_embeddings=embeddings)
    seconds = time.perf_counter() - start
    return search, seconds / len(folds.folds) / len(ParameterGrid(grid))


def edges(search: ClasswiseSearchCV, grid: dict) -> str:
    """Name the parameters of which the first or last number won."""
    ordered = {k: v for k, v in grid.items() if isinstance(v[0], float)}
    ends = {k for k, v in ordered.items() if search.best_params_[k] in (v[0], v[-1])}
    return ", ".join(sorted(ends))


def preference(search: ClasswiseSearchCV, other: int) -> str:
    """Say by how many points folds prefer the winner to another point of the grid."""
    folds = range(len(search.folds_))
    scores = np.array([search.cv_results_[f"split{i}_test_score"] for i in folds])
    gap = 100 * (scores[:, search.best_index_] - scores[:, other])
    return f"{gap.mean():.1f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.1f}"


def run_linear(shared: Shared, model, grid: dict, embeddings) -> dict:
    data, model = shared.data, clone(model).set_params(unit_rows=False)
    search, seconds = search_on(shared.folds, model, grid, embeddings)
    found = score(data, search.predict(data.X_unseen))
    table, _ = encode(shared.folds.y, embeddings)
    every = []
    for point in ParameterGrid(grid):
        candidate = clone(model).set_params(**point)
        candidate._fit_sums(shared.sums, table, shared.folds.X)
        every.append(score(data, candidate.predict(data.X_unseen)))
    best = int(np.argmax(every))
    return {
        "found": found,
        "oracle": every[best],
        "folds": preference(search, best),
        "seconds": seconds,
        "points": len(every),
        "edge": edges(search, grid),
        "chosen": search.best_params_,
    }


def run_rows(shared: Shared, model, grid: dict, embeddings) -> dict:
    data = shared.reduced
    model = clone(model).set_params(unit_rows=False)
    chosen, edge, seconds = {}, "", np.nan
    if grid:
        with warnings.catch_warnings():
            # A slow candidate loses; the winner's own warnings are told below.
            warnings.simplefilter("ignore", ConvergenceWarning)
            search, seconds = search_on(shared.reduced_folds, model, grid, embeddings)
        chosen, edge = search.best_params_, edges(search, grid)
    stochastic = "random_state" in model.get_params()
    found = []
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        for seed in range(3 if stochastic else 1):
            again = clone(model).set_params(**chosen)
            again.set_params(**({"random_state": seed} if stochastic else {}))
            again.fit(data.X_seen, data.y_seen, class_embeddings=embeddings)
            found.append(score(data, again.predict(data.X_unseen)))
    return {
        "found": np.mean(found),
        "spread": np.std(found) if stochastic else np.nan,
        "short": len(told),
        "seconds": seconds if grid else (time.perf_counter() - start) / len(found),
        "points": len(ParameterGrid(grid)) if grid else 0,
        "edge": edge,
        "chosen": chosen or model,
    }


def published(numbers: dict, label: str, method: str) -> float:
    for key, values in numbers.items():
        if label.startswith(key):
            return values.get(method, np.nan)
    return np.nan


def unit_seconds(folds: ClasswiseFolds, embeddings) -> float:
    """Return what a fold and point of ESZSL take."""
    grid = {"gamma": [1.0, 10.0], "lam": [0.1, 1.0, 10.0]}
    model = ESZSL(unit_rows=False)
    search_on(folds, model, grid, embeddings)  # makes the sums
    return search_on(folds, model, grid, embeddings)[1]


def run_table(shared: Shared, label: str, embeddings, methods: list[str]):
    units: dict = {}
    rows = {}
    for method in methods:
        table = embeddings if method in BY_DIMENSION else turn_into_span(embeddings)
        if method in LINEAR:
            folds, run, (model, grid) = shared.folds, run_linear, LINEAR[method]
        else:
            folds, run = shared.reduced_folds, run_rows
            model, grid = FROM_ROWS[method]
        if folds not in units:
            units[folds] = unit_seconds(folds, turn_into_span(embeddings))
        row = run(shared, model, grid, table)
        row["paper"] = published(PAPER, label, method)
        row["PS"] = published(PROPOSED, label, method)
        row["time"] = row["seconds"] / units[folds]
        row["search"] = row["seconds"] * row["points"] * len(folds.folds)
        rows[method] = row
        print(
            f"{label} {method}: {row['found']:.1f} in {row['search']:.1f} s, "
            f"{row['chosen']}",
            file=sys.stderr,
            flush=True,
        )
    frame = pd.DataFrame.from_dict(rows, orient="index")
    empty = {"oracle": np.nan, "spread": np.nan, "short": 0, "folds": "-"}
    for column, value in empty.items():
        frame[column] = frame.get(column, pd.Series(value, frame.index))
        frame[column] = frame[column].where(frame[column].notna(), value)
    frame["share"] = 100 * frame["found"] / frame["oracle"]
    return frame


def show(frame: pd.DataFrame, title: str) -> None:
    table = Table(title=title)
    table.add_column("method", no_wrap=True)
    numbers = ["found", "oracle", "share", "paper", "PS", "time"]
    columns = ["found", "oracle", "share", "folds", "paper", "PS", "time", "edge"]
    for column in columns:
        table.add_column(column, justify="right", no_wrap=column != "edge")
    for method, row in frame.iterrows():
        cells = {c: "-" if np.isnan(row[c]) else f"{row[c]:.1f}" for c in numbers}
        cells |= {"folds": row["folds"], "edge": row["edge"]}
        if not np.isnan(row["spread"]):
            cells["found"] += f" ± {row['spread']:.1f}"
        cells["found"] += "*" if row["short"] else ""
        table.add_row(str(method), *(cells[c] for c in columns))
    Console(width=100).print(table)


def chosen_methods(wanted: str) -> list[str]:
    kinds = {"all": [*LINEAR, *FROM_ROWS], "linear": [*LINEAR], "rows": [*FROM_ROWS]}
    if wanted in kinds:
        return kinds[wanted]
    names = [name.strip() for name in wanted.split(",")]
    unknown = [name for name in names if name not in kinds["all"]]
    if unknown:
        raise SystemExit(f"--methods: no {unknown[0]!r} among {kinds['all']}.")
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of .npz sets")
    parser.add_argument("--only", help="only 'set: table' labels that contain this")
    parser.add_argument(
        "--methods", default="all", help="'all', 'linear', 'rows' or names with commas"
    )
    parser.add_argument("--csv", type=Path, help="also write all rows here")
    arguments = parser.parse_args()
    methods = chosen_methods(arguments.methods)
    frames = {}
    for name, tables in SETS.items():
        labels = {f"{name}: {table}": table for table in tables}
        wanted = {k: t for k, t in labels.items() if (arguments.only or "") in k}
        if not wanted:
            continue
        path = arguments.data / f"{name}.npz"
        shared = Shared(load_data(path, classes=next(iter(wanted.values()))))
        for label, table in wanted.items():
            embeddings = load_data(path, classes=table).class_embeddings
            frames[label] = frame = run_table(shared, label, embeddings, methods)
            show(frame, f"{label}: per-class top-1 on unseen classes, %")
            print(
                f"searches {frame['search'].sum():.0f} s; rows on axes, summed and "
                f"dealt, once for {name}: {shared.seconds:.0f} s",
                flush=True,
            )
    if not frames:
        raise SystemExit(f"--only {arguments.only!r} matches no set: {SETS}.")
    if arguments.csv:
        pd.concat(frames, names=["data", "method"]).to_csv(arguments.csv)
    return 0


if __name__ == "__main__":
    sys.exit(main())
