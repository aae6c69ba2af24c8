"""Defaults of the models that need the rows, chosen on seen classes alone.

    python benchmarks/defaults.py --data ../shared/data --jobs 2

Parameter after parameter, each with the winners of those before it: every candidate is
scored by class-wise folds (three) of the seen classes of CUB with ``att_312`` and of
AwA with ``att_continuous``, on 300 principal axes; the mean over both sets decides.
Per-class top-1 on held-out seen classes, in percent. No row and no label of an unseen
class is loaded past the reader. The winners, rounded to what is easy to remember, are
the defaults of the models; the grids of ``benchmarks/inductive.py`` lie around them.
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pandas as pd
from inductive import reduce_rows
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid

from unseen import (
    ALE,
    SJE,
    ClasswiseFolds,
    ClasswiseSearchCV,
    DeViSE,
    JLSELite,
    LatEm,
    SynC,
    load_data,
)

SETS = {"awa1_shallow": "att_continuous", "cub_vgg": "att_312"}
STEPS = [{"average": [True, False]}, {"batch_size": [64, 256, 1024]}]
RIDGES = {"lam": [1e-6, 1e-5, 1e-4, 1e-3]}
STRONG = {
    "lam": [1e-5, 1e-4, 1e-3]
}  # below, the structured loss takes hundreds of steps
STUDY: dict = {
    "DeViSE": (DeViSE(), [{"learning_rate": [0.03, 0.1, 0.3, 1.0, 3.0]}, *STEPS]),
    "ALE": (ALE(), [{"learning_rate": [0.1, 0.3, 1.0, 3.0, 10.0]}, *STEPS]),
    "SJE": (
        SJE(),
        [
            {"learning_rate": [1.0, 3.0, 10.0, 30.0, 100.0]},
            {"margin": [0.1, 0.3, 1.0]},
            *STEPS,
        ],
    ),
    "LatEm": (
        LatEm(),
        [
            {"learning_rate": [1.0, 3.0, 10.0, 30.0, 100.0]},
            {"n_maps": [1, 2, 4]},
            *STEPS,
        ],
    ),
    "SynC o-vs-o": (SynC(), [{**RIDGES, "sharpness": [0.1, 0.3, 1.0, 3.0]}]),
    "SynC struct": (
        SynC(loss="structured", tol=1e-2),
        [
            {**STRONG, "sharpness": [0.1, 0.3, 1.0, 3.0]},
            {"smoothing": [0.03, 0.1, 0.3]},
        ],
    ),
    "JLSELite": (JLSELite(), [{**RIDGES, "softness": [0.01, 0.1, 1.0]}]),
}


def cross_validate(data, model, grid: dict) -> pd.Series:
    """Return the score of every point of the grid on held-out seen classes."""
    model = clone(model).set_params(unit_rows=False)
    folds = ClasswiseFolds(data.X_seen, data.y_seen, n_folds=3)
    search = ClasswiseSearchCV(model, grid, transductive=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # slow ones lose anyway
        search.fit(folds, class_embeddings=data.class_embeddings.loc[folds.names])
    names = [str(point) for point in search.cv_results_["params"]]
    return pd.Series(100 * search.cv_results_["mean_test_score"], index=names)


def study(sets: dict, method: str) -> None:
    model, stages = STUDY[method]
    for grid in stages:
        scores = pd.DataFrame(
            {name: cross_validate(data, model, grid) for name, data in sets.items()}
        )
        scores["mean"] = scores.mean(axis=1)
        winner = list(ParameterGrid(grid))[int(scores["mean"].to_numpy().argmax())]
        model = clone(model).set_params(**winner)
        print(f"{method}, {' × '.join(grid)}\n{scores.round(1)}\n", flush=True)
    print(f"{method}: {model}\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of .npz sets")
    parser.add_argument("--methods", default=",".join(STUDY), help="names with commas")
    parser.add_argument("--jobs", type=int, default=1, help="methods at once")
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    unknown = [method for method in methods if method not in STUDY]
    if unknown:
        raise SystemExit(f"--methods: no {unknown[0]!r} among {list(STUDY)}.")
    sets = {
        name: reduce_rows(load_data(arguments.data / f"{name}.npz", classes=table), 300)
        for name, table in SETS.items()
    }
    Parallel(n_jobs=arguments.jobs)(delayed(study)(sets, m) for m in methods)
    return 0


if __name__ == "__main__":
    sys.exit(main())
