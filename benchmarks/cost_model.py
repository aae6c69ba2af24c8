"""What each step costs a worker: constants from three sizes, checked on a fourth.

``python benchmarks/scale.py model`` runs it, and tells minutes, bytes and memory of a
cluster from the constants.
"""

import time
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import nnls

from unseen import AnchoredSelfTraining
from unseen.core.classes import encode
from unseen.core.sums import sum_rows
from unseen.rows.holders import DiskRows
from unseen.rows.pile import project, row_scales
from unseen.transduction.anchored_look import Means, look

N_SEEN, N_UNSEEN, N_DIMS = 40, 10, 85
console = Console(width=110)


def embeddings() -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(N_SEEN + N_UNSEEN, N_DIMS))


def cpu_seconds(work, repeat: int = 5) -> float:
    """Return the least CPU time of a few repetitions."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def step_costs(n: int, p: int) -> dict[str, float]:
    """CPU seconds of what a worker does to n × p rows, and of what follows a fit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p), dtype=np.float32)
    y = rng.integers(N_SEEN + N_UNSEEN, size=n)
    axes = rng.normal(size=(p, p))
    rows = DiskRows(p, np.float32)
    rows.append(X)
    m, zeros = rng.normal(size=(N_UNSEEN, p)), np.zeros(N_UNSEEN)
    sums = sum_rows(X, y % N_SEEN, N_SEEN + N_UNSEEN, unit_rows=True)
    tables = embeddings(), np.arange(N_SEEN)

    def solve():
        fresh = replace(sums)  # without the axes that the last one kept
        table, _ = encode(np.repeat(tables[1], 2), tables[0])
        AnchoredSelfTraining()._fit_sums(fresh, table, X[:1])

    return {
        "sum": cpu_seconds(lambda: sum_rows(X, y, N_SEEN + N_UNSEEN, unit_rows=True)),
        "project": cpu_seconds(lambda: project(X, axes, row_scales(X, True))),
        "pass": cpu_seconds(lambda: rows.run(look, Means(m), 1.0, zeros, zeros)),
        "solve": cpu_seconds(solve),
        "bytes": sum(part.nbytes for part in (sums.gram, sums.class_sums, sums.counts)),
    }


def terms(step: str, n: float, p: float) -> np.ndarray:
    """Return what the cost of a step is made of."""
    return {
        "sum": np.array([n * p * p, n * p]),
        "project": np.array([n * p * p, n * p]),
        "pass": np.array([n * p, n]),
        "solve": np.array([p**3, p * p]),
        "bytes": np.array([p * p, p]),
    }[step]


def cost_model(sizes: list[tuple[int, int]], check: tuple[int, int]) -> None:
    measured = [step_costs(*size) for size in sizes]
    found = step_costs(*check)
    table = Table(title="constants, from three sizes, and how they meet a fourth")
    for heading in ("step", "constants", "foretold", "measured", "off by"):
        table.add_column(heading)
    constants = {}
    for step in found:
        # Relative errors count: every size weighs the same.
        A = np.array([terms(step, *size) for size in sizes])
        b = np.array([one[step] for one in measured])
        constants[step], _ = nnls(A / b[:, None], np.ones(len(b)))
        foretold = terms(step, *check) @ constants[step]
        unit = "bytes" if step == "bytes" else "s"
        table.add_row(
            step,
            ", ".join(f"{c:.2e}" for c in constants[step]),
            f"{foretold:,.3g} {unit}",
            f"{found[step]:,.3g} {unit}",
            f"{foretold / found[step] - 1:+.0%}",
        )
    console.print(table)
    tell_cluster(constants, n=1e8, p=1024, workers=100)


def tell_cluster(
    constants: dict[str, np.ndarray], n: float, p: int, workers: int, passes: int = 17
) -> None:
    """Print minutes, memory and bytes for n × p seen rows and as many in the pile."""

    def cost(step: str, rows: float) -> float:
        return float(terms(step, rows, p) @ constants[step])

    each = n / workers  # rows of either kind on a worker
    fit = cost("sum", each) + cost("solve", 1)
    adapt = cost("project", each) + passes * cost("pass", each)
    sums = cost("bytes", 1)
    per_pass = 8 * (2 * N_UNSEEN * p + 3 * N_UNSEEN)
    read, network, disk_speed = each * p * 4, 1.25e8, 2e8
    rows_gb, chunk_gb = each * p * 4 / 1e9, 0.1
    console.print(
        f"""
{n:.0e} × {p:,} float32 rows ({n * p * 4 / 1e9:,.0f} GB) on {workers} workers of 1 \
core, {N_UNSEEN} classes compete, {passes} passes:
  fit      {fit / 60:5.1f} min of arithmetic, {read / disk_speed / 60:.1f} min to read \
{read / 1e9:.1f} GB at 200 MB/s
  adapt    {adapt / 60:5.1f} min of arithmetic (rows on axes stay in memory)
  network  {sums / 1e6:.1f} MB per sum, {workers} of them: \
{workers * sums / 1e9:.2f} GB, {workers * sums / network / 60:.2f} min through one \
1 Gbit/s link, less in a tree; {per_pass / 1e3:.0f} kB per worker and pass; \
{n * 9 / 1e9:.1f} GB of labels and reliability at the end
  memory   {rows_gb:.1f} GB of rows on axes per worker while adapting, and about \
{3 * chunk_gb + 3 * sums / 1e9:.1f} GB for a chunk of 100 MB and sums"""
    )
