"""What the transductive methods cost: time and memory of ``adapt``.

    python benchmarks/adapt_cost.py
    python benchmarks/adapt_cost.py --rows 20000 --only ZLaP

Adapts every method to 100,000 made-up rows, 512 features and 100 classes,
each in a process of its own on two cores, and prints its time and peak memory; or what
the method would need, if it refuses. The limits are five minutes and 4 GB. What the
methods are worth is not for made-up rows to say: ``studies/race.py``.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table

import unseen
from unseen.core.around import Relabelling

MINUTES, GIGABYTES = 5, 4
OWN_START = ["SMS", "KodirovUDA", "BiDiLEL", "TSTD"]  # they need seen rows as well


def transducers() -> list[str]:
    """Return the names of the public methods that start from another model."""
    public = {name: getattr(unseen, name) for name in unseen.__all__}
    return [
        name
        for name, thing in public.items()
        if isinstance(thing, type) and issubclass(thing, Relabelling)
    ]


def made_up_rows(
    n_rows: int, n_features: int = 512, n_classes: int = 100
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return unit rows in clusters, prototypes some way off their means, and labels."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((n_classes, n_features), dtype=np.float32)
    y = rng.integers(n_classes, size=n_rows)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    X *= 2.0
    X += means[y]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    off = rng.standard_normal(means.shape, dtype=np.float32)
    return X, means + 2 * off, y


def taught(model, prototypes: np.ndarray):
    """Fit a model to fifty seen classes, described like the unseen by prototypes."""
    rng = np.random.default_rng(1)
    seen = rng.standard_normal((50, prototypes.shape[1]), dtype=np.float32)
    y = len(prototypes) + np.repeat(np.arange(50), 20)
    X = seen[y - len(prototypes)] + 2 * rng.standard_normal((1000, seen.shape[1]))
    return model.fit(X, y, class_embeddings=np.vstack([prototypes, seen]))


def measure(name: str, n_rows: int) -> dict[str, object]:
    """Adapt one method to the rows; return what it took."""
    X, prototypes, y = made_up_rows(n_rows)
    if name in OWN_START:
        model = taught(getattr(unseen, name)(), prototypes)
    else:
        model = getattr(unseen, name).from_prototypes(prototypes)
    began, worked = time.perf_counter(), time.process_time()
    try:
        model.adapt(X)
    except MemoryError as refusal:
        return {"method": name, "refuses": str(refusal)}
    taken = time.perf_counter() - began, time.process_time() - worked
    units = prototypes / np.linalg.norm(prototypes, axis=1, keepdims=True)
    start = (X @ units.T).argmax(axis=1)
    return {
        "method": name,
        "seconds": taken[0],
        "cpu_seconds": taken[1],
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "before": float((start == y).mean()),
        "after": float((model.labels_ == y).mean()),
    }


def run_scale(names: list[str], n_rows: int, threads: int) -> None:
    """Measure every method in a process of its own, and print the table."""
    table = Table(title=f"{n_rows:,} x 512 rows, 100 classes, {threads} threads")
    for column in ("method", "s", "CPU s", "peak GB", "start %", "after %", "verdict"):
        table.add_column(column)
    limits = {f"{key}_NUM_THREADS": str(threads) for key in ("OPENBLAS", "MKL", "OMP")}
    for name in names:
        command = [sys.executable, __file__, "--here", name, "--rows", str(n_rows)]
        done = subprocess.run(
            command, env={**os.environ, **limits}, stdout=subprocess.PIPE, check=True
        )
        row = json.loads(done.stdout)
        print(row, file=sys.stderr)
        if "refuses" in row:
            table.add_row(name, "", "", "", "", "", row["refuses"])
            continue
        within = row["seconds"] <= 60 * MINUTES and row["gigabytes"] <= GIGABYTES
        table.add_row(
            name,
            f"{row['seconds']:.0f}",
            f"{row['cpu_seconds']:.0f}",
            f"{row['gigabytes']:.2f}",
            f"{100 * row['before']:.1f}",
            f"{100 * row['after']:.1f}",
            "within" if within else "OVER",
        )
    Console(width=120).print(table)


def main() -> None:
    """Measure all methods, or one in this process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", help="names of methods; all by default")
    parser.add_argument("--here", help="measure this method in this process, as JSON")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", unseen.WeakStartWarning)
    if arguments.here:
        print(json.dumps(measure(arguments.here, arguments.rows)))
        return
    names = arguments.only or [*transducers(), "GuidedMixture", *OWN_START]
    run_scale(names, arguments.rows, arguments.threads)


if __name__ == "__main__":
    main()
