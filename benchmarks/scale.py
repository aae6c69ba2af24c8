"""Rows larger than memory, and rows on many machines: memory, time, bytes.

    python benchmarks/scale.py disk                  5,000,000 × 256 from disk, and less
    python benchmarks/scale.py disk --rows 500000 1000000 --threads 1 2
    python benchmarks/scale.py dask                  2 worker processes against none

``disk`` fits on a file of that many rows, adapts to another and predicts it, each
size and number of threads in a process of its own, and prints its peak resident memory.
CPU seconds stand beside wall seconds, because other work on the machine does not change
them much.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIBRARIES = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"
for library in LIBRARIES:  # must be set before NumPy is loaded
    os.environ[library] = os.environ.get("SCALE_THREADS", "1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from unseen import TSTD, AnchoredSelfTraining  # noqa: E402
from unseen.loading.arrays import read_blocks  # noqa: E402

METHODS = {"AST": AnchoredSelfTraining, "TSTD": TSTD}
N_SEEN, N_UNSEEN, N_DIMS = 40, 10, 85
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


def disk(sizes: list[int], threads: list[int], method: str, scratch: Path) -> None:
    table = Table(title=f"{method}, rows × 256 float32 from disk")
    headings = "rows", "threads", "fit s", "adapt s", "predict s", "CPU s", "rounds"
    for heading in (*headings, "MB"):
        table.add_column(heading, justify="right")
    totals: dict[int, list[tuple]] = {n: [] for n in threads}
    for n_rows in sizes:
        with tempfile.TemporaryDirectory(dir=scratch) as name:
            folder = Path(name)
            write_rows(folder / "seen.npy", n_rows, 256, range(N_SEEN))
            unseen = range(N_SEEN, N_SEEN + N_UNSEEN)
            write_rows(folder / "pile.npy", n_rows, 256, unseen)
            for n_threads in threads:
                took = in_own_process(folder, method, n_threads)
                table.add_row(f"{n_rows:,}", str(n_threads), *told(took))
                totals[n_threads].append((n_rows, *seconds_of(took)))
                line = {"rows": n_rows, "threads": n_threads, **took}
                print(json.dumps(line), flush=True)
    console.print(table)
    for n_threads, found in totals.items():
        if len(found) > 1:
            n, cpu, wall = np.log(np.array(found)).T
            console.print(
                f"{n_threads} thread(s): time grows as rows to the "
                f"{np.polyfit(n, cpu, 1)[0]:.2f} (CPU), "
                f"{np.polyfit(n, wall, 1)[0]:.2f} (wall)"
            )
    first, *others = totals.values()
    for n_threads, other in zip(threads[1:], others, strict=True):
        ratios = (many[2] / one[2] for one, many in zip(first, other, strict=True))
        shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        console.print(f"time on {n_threads} over {threads[0]}: {shown}")


def in_own_process(folder: Path, method: str, n_threads: int) -> dict[str, float]:
    """Run fit, adapt and predict on the files of a folder; return what it took."""
    command = [sys.executable, __file__, "one", "--folder", str(folder)]
    environment = {"TMPDIR": str(folder), "SCALE_THREADS": str(n_threads)}
    ended = subprocess.run(
        [*command, "--method", method],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return json.loads(ended.stdout)


STEPS = "fit", "adapt", "predict"


def seconds_of(took: dict[str, float]) -> tuple[float, float]:
    """Return CPU and wall seconds of the three steps."""
    kinds = "cpu", "wall"
    cpu, wall = (sum(took[f"{step}_{kind}"] for step in STEPS) for kind in kinds)
    return cpu, wall


def told(took: dict[str, float]) -> list[str]:
    """Return the cells of a row of the table."""
    return [
        *(f"{took[f'{step}_wall']:.1f}" for step in STEPS),
        f"{seconds_of(took)[0]:.1f}",
        str(took["rounds"]),
        f"{took['predict_mb']:.0f} ({took['imported_mb']:.0f} imported)",
    ]


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


def spent_here() -> np.ndarray:
    """Return (CPU seconds, those of them that the system took) of this process."""
    times = os.times()
    return np.array([times.user + times.system, times.system])


def fit_and_adapt(seen, pile, y, method: str):
    """Return the model, wall seconds of fit and of adapt, and what both spent."""
    model, walls, before = METHODS[method](), [], spent_here()
    for step in (
        lambda: model.fit(seen, y, class_embeddings=embeddings()),
        lambda: model.adapt(pile),
    ):
        start = time.perf_counter()
        step()
        walls.append(time.perf_counter() - start)
    return model, walls, spent_here() - before


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
        alone, walls_alone, cpu_alone = fit_and_adapt(
            seen, pile, labels(n_rows), method
        )
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=":0",
        )
        with cluster, Client(cluster) as client:

            def spent():
                return sum(client.run(spent_here).values())

            arrays = dask_array(seen, chunk), dask_array(pile, chunk)
            started = spent()
            few = n_workers * chunk  # every worker has imported what it needs
            fit_and_adapt(*(one[:few] for one in arrays), labels(few), method)
            before = spent()
            many, walls, ours = fit_and_adapt(*arrays, labels(n_rows), method)
            workers = spent() - before
            sent = client.run(
                lambda dask_worker: dask_worker.transfer_outgoing_bytes_total
            )
            read = sum(path.stat().st_size for path in (seen, pile))
    table = Table(title=f"{method}, {n_rows:,} × 256 float32: 1 process, then Dask")
    for heading in ("", "fit s", "adapt s", "CPU s", "of these the system"):
        table.add_column(heading, justify="right")
    for name, took, cpu in (
        ("one process", walls_alone, cpu_alone),
        (f"{n_workers} workers", walls, workers),
        ("and who asks them", walls, ours),
    ):
        table.add_row(name, *(f"{number:.1f}" for number in (*took, *cpu)))
    console.print(table)
    difference = np.abs(many._adapted[1].coef - alone._adapted[1].coef).max()
    largest = np.abs(alone._adapted[1].coef).max()
    # The system spends as much as it takes to find memory, which differs by the hour.
    more, more_system = (workers + ours) / cpu_alone - 1
    own = (workers + ours - cpu_alone) @ [1, -1] / (cpu_alone @ [1, -1])
    console.print(
        f"CPU overhead {more:.0%} ({own:.0%} without the system's share, which grows "
        f"by {more_system:.0%}), once workers have imported what they need, "
        f"{(before - started)[0]:.1f} s; workers sent {sum(sent.values()):,} "
        f"bytes among each other, of {read:,} bytes of rows; scorers differ by "
        f"{difference / largest:.1e} of the largest, "
        f"{np.mean(many.labels_ != alone.labels_):.1e} of the labels"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["disk", "dask", "one"])
    parser.add_argument("--rows", type=int, nargs="+", help="rows of each file")
    parser.add_argument("--method", choices=METHODS, default="AST")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
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
        disk(sizes, given.threads, given.method, given.scratch)
    else:
        (n_rows,) = given.rows or [2_000_000]
        compare_dask(n_rows, given.workers, given.method, given.scratch, given.chunk)


if __name__ == "__main__":
    main()
