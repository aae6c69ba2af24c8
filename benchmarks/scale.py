"""Rows larger than memory, and rows on many machines: memory, time, bytes.

    python benchmarks/scale.py disk                  5,000,000 × 256 from disk, and less
    python benchmarks/scale.py disk --rows 500000 1000000
    python benchmarks/scale.py dask                  2 worker processes against none
    python benchmarks/scale.py model                 minutes and memory on 100 workers

``disk`` fits on a file of that many rows, adapts to another and predicts it, each
size in a process of its own, and prints its peak resident memory. CPU seconds stand
beside wall seconds, because other work on the machine does not change them much.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

for library in ("OPENBLAS", "MKL", "OMP"):  # must be set before NumPy is loaded
    os.environ[f"{library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from scipy.optimize import nnls  # noqa: E402

from unseen import TSTD, AnchoredSelfTraining  # noqa: E402
from unseen.loading.blocks import read_blocks  # noqa: E402
from unseen.rows.holders import DiskRows  # noqa: E402
from unseen.rows.pile import project, row_scales  # noqa: E402
from unseen.rows.sums import sum_rows  # noqa: E402
from unseen.transduction.anchored_look import Means, look  # noqa: E402

N_SEEN, N_UNSEEN, N_DIMS = 40, 10, 85
METHODS = {"AST": AnchoredSelfTraining, "TSTD": TSTD}
console = Console(width=110)


def embeddings() -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(N_SEEN + N_UNSEEN, N_DIMS))


def write_rows(path: Path, n_rows: int, n_features: int, classes: range) -> None:
    """Write float32 rows around class means that a map of the embeddings gives.

    The class of row i is ``i % len(classes)``, from the first class on.
    """
    rng = np.random.default_rng(1)
    means = embeddings() @ rng.normal(size=(N_DIMS, n_features)) / 9
    means = means[classes].astype(np.float32)
    step = 20_000
    noise = rng.standard_normal((step + 997, n_features), dtype=np.float32)
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_features)}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, step):
            rows = np.arange(start, min(start + step, n_rows))
            shift = start // step % 997  # other noise for every block
            file.write((means[rows % len(classes)] + noise[shift:][: len(rows)]).data)


def labels(n_rows: int) -> np.ndarray:
    return np.arange(n_rows) % N_SEEN


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(li for li in lines if li.startswith("VmHWM")).split()[1]) / 1024


# ---- disk ----------------------------------------------------------------------------


def run_from_disk(folder: Path, method: str) -> None:
    """Fit, adapt and predict; print what it took as JSON. Runs in its own process."""
    n_rows = np.load(folder / "seen.npy", mmap_mode="r").shape[0]
    model = METHODS[method]()
    took = {"imported_mb": peak_memory()}
    steps = {
        "fit": lambda: model.fit(
            folder / "seen.npy", labels(n_rows), class_embeddings=embeddings()
        ),
        "adapt": lambda: model.adapt(folder / "pile.npy"),
        "predict": lambda: model.predict(folder / "pile.npy"),
    }
    for name, step in steps.items():
        wall, cpu = time.perf_counter(), time.process_time()
        answer = step()
        took[f"{name}_wall"] = time.perf_counter() - wall
        took[f"{name}_cpu"] = time.process_time() - cpu
        took[f"{name}_mb"] = peak_memory()
    truth = N_SEEN + np.arange(n_rows) % N_UNSEEN
    took["accuracy"] = float((answer == truth).mean())
    took["same"] = bool((answer == model.labels_).mean() > 0.999)
    took["rounds"] = len(model.rounds_)
    print(json.dumps(took))


def disk(sizes: list[int], method: str, scratch: Path) -> None:
    table = Table(title=f"{method}, rows × 256 float32 from disk, one BLAS thread")
    for heading in ("rows", "fit s", "adapt s", "predict s", "CPU s", "rounds", "MB"):
        table.add_column(heading, justify="right")
    totals = []
    for n_rows in sizes:
        with tempfile.TemporaryDirectory(dir=scratch) as name:
            folder = Path(name)
            write_rows(folder / "seen.npy", n_rows, 256, range(N_SEEN))
            unseen = range(N_SEEN, N_SEEN + N_UNSEEN)
            write_rows(folder / "pile.npy", n_rows, 256, unseen)
            command = [sys.executable, __file__, "one", "--folder", name]
            ended = subprocess.run(
                [*command, "--method", method],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "TMPDIR": name},
            )
        took = json.loads(ended.stdout)
        steps = ("fit", "adapt", "predict")
        cpu = sum(took[f"{step}_cpu"] for step in steps)
        wall = sum(took[f"{step}_wall"] for step in steps)
        totals.append((n_rows, cpu, wall))
        table.add_row(
            f"{n_rows:,}",
            *(f"{took[f'{step}_wall']:.1f}" for step in steps),
            f"{cpu:.1f}",
            str(took["rounds"]),
            f"{took['predict_mb']:.0f} ({took['imported_mb']:.0f} imported)",
        )
        print(json.dumps({"rows": n_rows, **took}), flush=True)
    console.print(table)
    if len(totals) > 1:
        n, cpu, wall = np.log(np.array(totals)).T
        console.print(
            f"time grows as rows to the {np.polyfit(n, cpu, 1)[0]:.2f} (CPU), "
            f"{np.polyfit(n, wall, 1)[0]:.2f} (wall)"
        )


# ---- dask ----------------------------------------------------------------------------


def read_rows(path: str, start: int, stop: int) -> np.ndarray:
    """Read some rows of a .npy file; runs on a worker."""
    rows = np.load(path, mmap_mode="r")[start:stop]
    (block,) = read_blocks(rows, stop - start)
    return block


def dask_array(path: Path, chunk: int):
    import dask.array as da
    from dask import delayed

    n_rows, n_features = np.load(path, mmap_mode="r").shape
    parts = []
    for start in range(0, n_rows, chunk):
        stop = min(start + chunk, n_rows)
        part = delayed(read_rows)(str(path), start, stop)
        shape = stop - start, n_features
        parts.append(da.from_delayed(part, shape=shape, dtype=np.float32))
    return da.concatenate(parts)


def fit_and_adapt(seen, pile, y, method: str):
    """Return the model, and (wall, CPU) seconds of fit and of adapt."""
    model, took = METHODS[method](), []
    for step in (
        lambda: model.fit(seen, y, class_embeddings=embeddings()),
        lambda: model.adapt(pile),
    ):
        wall, cpu = time.perf_counter(), time.process_time()
        step()
        took.append((time.perf_counter() - wall, time.process_time() - cpu))
    return model, took


def compare_dask(
    n_rows: int, n_workers: int, method: str, scratch: Path, chunk: int
) -> None:
    import dask
    from distributed import Client, LocalCluster

    # Balancing load would move rows from worker to worker.
    dask.config.set({"distributed.scheduler.work-stealing": False})
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        seen, pile = Path(name) / "seen.npy", Path(name) / "pile.npy"
        write_rows(seen, n_rows, 256, range(N_SEEN))
        write_rows(pile, n_rows, 256, range(N_SEEN, N_SEEN + N_UNSEEN))
        alone, took_alone = fit_and_adapt(seen, pile, labels(n_rows), method)
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=":0",
        )
        with cluster, Client(cluster) as client:

            def spent():
                return sum(client.run(time.process_time).values())

            arrays = dask_array(seen, chunk), dask_array(pile, chunk)
            before = spent()
            many, took = fit_and_adapt(*arrays, labels(n_rows), method)
            workers = spent() - before
            sent = client.run(
                lambda dask_worker: dask_worker.transfer_outgoing_bytes_total
            )
            read = sum(path.stat().st_size for path in (seen, pile))
    cpu_alone = sum(cpu for _, cpu in took_alone)
    cpu = workers + sum(cpu for _, cpu in took)
    table = Table(title=f"{method}, {n_rows:,} × 256 float32: 1 process, then Dask")
    for heading in ("", "fit s", "adapt s", "CPU s"):
        table.add_column(heading, justify="right")
    table.add_row(
        "one process", *(f"{w:.1f}" for w, _ in took_alone), f"{cpu_alone:.1f}"
    )
    table.add_row(
        f"{n_workers} workers", *(f"{wall:.1f}" for wall, _ in took), f"{cpu:.1f}"
    )
    console.print(table)
    difference = np.abs(many._adapted[1].coef - alone._adapted[1].coef).max()
    largest = np.abs(alone._adapted[1].coef).max()
    ours = sum(cpu for _, cpu in took)
    console.print(f"CPU seconds of the workers {workers:.1f}, of ours {ours:.1f}")
    console.print(
        f"CPU overhead {cpu / cpu_alone - 1:.0%}; workers sent {sum(sent.values()):,} "
        f"bytes among each other, of {read:,} bytes of rows; scorers differ by "
        f"{difference / largest:.1e} of the largest, "
        f"{np.mean(many.labels_ != alone.labels_):.1e} of the labels"
    )


# ---- the cost model ------------------------------------------------------------------


def cpu_seconds(work, repeat: int = 3) -> float:
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
        from unseen.class_table import encode

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
    for heading in ("step", "constants", "foretold", "measured"):
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["disk", "dask", "model", "one"])
    parser.add_argument("--rows", type=int, nargs="+", help="rows of each file")
    parser.add_argument("--method", choices=METHODS, default="AST")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--chunk", type=int, default=131_072, help="rows of a Dask chunk"
    )
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.what == "one":
        run_from_disk(given.folder, given.method)
    elif given.what == "disk":
        sizes = given.rows or [500_000, 1_000_000, 2_000_000, 5_000_000]
        disk(sizes, given.method, given.scratch)
    elif given.what == "dask":
        (n_rows,) = given.rows or [2_000_000]
        compare_dask(n_rows, given.workers, given.method, given.scratch, given.chunk)
    else:
        cost_model([(80_000, 128), (40_000, 384), (20_000, 1024)], (30_000, 640))


if __name__ == "__main__":
    main()
