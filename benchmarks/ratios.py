"""What our steps cost, in units of one matrix product on the same array.

    python benchmarks/ratios.py                          one and two BLAS threads
    python benchmarks/ratios.py --data ../shared/data    with CUB: AST and the search
    python benchmarks/ratios.py --only JEDM              rows whose name holds "JEDM"
    python benchmarks/ratios.py --keep                   store them in last.json
    python benchmarks/ratios.py --docs         what is stored, to docs/guide/scale.md

The table has what was stored last beside what is measured now.
Absolute times mean little on shared machines; ratios taken in one run hold. Every
ratio is the best of several repetitions, taken in turns with its unit; between them
threads of BLAS are left to fall asleep, which takes a tenth of a second in which they
take a core from whatever is measured. Each number of threads has a process of its own.
Growth is the slope of log time against log size, of CPU seconds; memory is what a call
allocates at its peak, in sizes of X.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--data", type=Path, help="folder with cub_vgg.npz")
parser.add_argument("--repeat", type=int, default=7, help="repetitions, best counts")
parser.add_argument("--only", default="", help="rows whose name holds this")
parser.add_argument("--group", help="dictionary, wide, few, pile, cub, start or growth")
parser.add_argument("--threads", type=int, help="one number of threads, as JSON")
parser.add_argument("--keep", action="store_true", help="store the rows in last.json")
parser.add_argument("--docs", action="store_true", help="write what is stored there")
arguments = parser.parse_args()
for library in ("OPENBLAS", "MKL", "OMP"):  # must be set before NumPy is loaded
    os.environ[f"{library}_NUM_THREADS"] = str(arguments.threads or 1)

import last  # noqa: E402
import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402

from unseen import (  # noqa: E402
    JEDM,
    TSTD,
    AnchoredSelfTraining,
    ClasswiseFolds,
    ClasswiseSearchCV,
    load_data,
)
from unseen.core.neighbours import neighbours  # noqa: E402
from unseen.core.sums import sum_rows  # noqa: E402
from unseen.trust.search import PAPER_GRID  # noqa: E402

HERE = Path(__file__).resolve().parent


class Case(NamedTuple):
    """Work, the unit it is measured in, and how much of it we aim at."""

    name: str
    unit_name: str
    work: Callable[[], object]
    unit: Callable[[], object] | None  # None: the work returns its own measure
    aim: str = ""
    repeat: int | None = None


ASLEEP = 0.2  # seconds after which threads of BLAS no longer turn in a loop


def seconds(work: Callable[[], object]) -> float:
    time.sleep(ASLEEP)
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(case: Case) -> tuple[float, float | None]:
    """Best time of the work over best time of its unit, in turns; and the time."""
    if case.unit is None:
        return case.work(), None
    repeat = min(case.repeat or arguments.repeat, arguments.repeat)
    pairs = [(seconds(case.unit), seconds(case.work)) for _ in range(repeat)]
    units, works = zip(*pairs, strict=True)
    return min(works) / min(units), min(works)


def made_up(n_rows: int, n_features: int, n_seen: int = 40, n_classes: int = 50):
    """Rows around class means that a linear map of the embeddings gives.

    The spectrum falls like that of real features, so that eigensolvers meet the
    gaps they meet in practice.
    """
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(n_classes, 85))
    y = rng.integers(n_seen, size=n_rows)
    spread = ((1 + np.arange(n_features)) ** -0.5).astype(np.float32)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32) * spread
    means = (A @ rng.normal(size=(85, n_features))) * spread / 3
    X += means.astype(np.float32)[y]
    return X, y, A


def flat(shape, y, A) -> np.ndarray:
    """Class means and noise alike in all directions: no gap after the hundredth."""
    rng = np.random.default_rng(0)
    means = A @ rng.normal(size=(A.shape[1], shape[1]))
    return 6 * rng.standard_normal(shape, dtype=np.float32) + means[y]


# ---- the paper's models ------------------------------------------------------------


def dictionary_cases() -> Iterator[Case]:
    X, y, A = made_up(24_000, 1_024)
    pile = X[:6_000]

    def gram():
        return X.T @ X

    def fit():
        return JEDM().fit(X, y, class_embeddings=A)

    size = "24,000 × 1,024"
    yield Case(f"the product itself, {size}", "X.T @ X", gram, gram)
    sums = lambda: sum_rows(X, y, 50, unit_rows=True)  # noqa: E731
    yield Case(f"sums, {size}", "X.T @ X", sums, gram)
    yield Case(f"JEDM fit, {size}", "X.T @ X", fit, gram, "≤ 2")
    for dtype in (np.float32, np.float64):
        rows = flat(X.shape, y, A).astype(dtype)
        yield Case(
            f"JEDM fit, {size}, flat spectrum, {rows.dtype}",
            "X.T @ X",
            lambda rows=rows: JEDM().fit(rows, y, class_embeddings=A),
            lambda rows=rows: rows.T @ rows,
            "≤ 2.5",
        )
    model = fit()
    for n_classes in (10, 50, 200):
        W = np.asfortranarray(X[:n_classes].T)
        new = np.random.default_rng(1).uniform(size=(n_classes, 85))
        yield Case(
            f"JEDM predict, {size}, {n_classes} classes",
            "X @ W",
            lambda new=new: model.predict(X, classes=new),
            lambda W=W: X @ W,
            "≤ 1.3",
        )
    yield Case(
        "JEDM predict, one row, 10 classes: what it adds",
        "microseconds",
        lambda: added_by_predict(model, X),
        None,
        "≤ 60",
    )
    tstd = TSTD().fit(X, y, class_embeddings=A)
    yield Case(
        "TSTD adapt, 6,000 × 1,024, 4 × 4 steps",
        "X.T @ X of these rows",
        lambda: tstd.adapt(pile),
        lambda: pile.T @ pile,
        "≤ 0.6",
    )
    yield Case(
        "JEDM fit, what 9/10 of the rows add",
        "their sums",
        lambda: added_rows(X, y, A),
        None,
        "≈ 1",
    )
    yield Case(
        "naive JEDM on samples",
        "JEDM fit",
        lambda: naive_jedm(X, y, A),
        fit,
        "≥ 20",
        repeat=1,
    )
    target = A[y]
    yield Case("JEDM fit", "Ridge().fit", fit, lambda: Ridge().fit(X, target))
    axes = PCA(100, svd_solver="covariance_eigh")
    yield Case("JEDM fit", "PCA(100).fit", fit, lambda: axes.fit(X))
    yield Case("JEDM fit, memory", "X", lambda: peak(fit, X), None)
    yield Case(
        "JEDM predict, memory", "X", lambda: peak(lambda: model.predict(X), X), None
    )


def wide_cases() -> Iterator[Case]:
    X, y, A = made_up(24_295, 4_096)
    yield Case(
        "JEDM fit, 24,295 × 4,096, PCA 100",
        "X.T @ X",
        lambda: JEDM().fit(X, y, class_embeddings=A),
        lambda: X.T @ X,
        "≤ 1.5",
        repeat=3,
    )


def few_and_wide_cases() -> Iterator[Case]:
    X, y, A = made_up(2_000, 100_000)
    for kind in (AnchoredSelfTraining, JEDM):
        yield Case(
            f"{kind.__name__} fit, 2,000 × 100,000",
            "X @ X.T",
            lambda kind=kind: kind().fit(X, y, class_embeddings=A),
            lambda: X @ X.T,
            "≤ 3",
            repeat=2,
        )
        yield Case(
            f"{kind.__name__} fit, 2,000 × 100,000, memory",
            "X",
            lambda kind=kind: peak(lambda: kind().fit(X, y, class_embeddings=A), X),
            None,
            "≤ 2.5",
        )


def pile_cases() -> Iterator[Case]:
    X, y, A = made_up(100_000, 512)
    model = AnchoredSelfTraining().fit(X[:20_000], y[:20_000], class_embeddings=A)
    yield Case(
        "AST adapt, 100,000 × 512",
        "X.T @ X",
        lambda: model.adapt(X),
        lambda: X.T @ X,
        repeat=2,
    )
    rows = X[:20_000]
    yield Case(
        "exact neighbours, 20,000 × 512",
        "X @ X.T",
        lambda: neighbours(rows, 10),
        lambda: rows @ rows.T,
        "≤ 2",
        repeat=2,
    )


def start_cases() -> Iterator[Case]:
    def python(code, *words):
        command = [sys.executable, "-c", code, *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    for line in ("import unseen", "from unseen import AnchoredSelfTraining"):
        yield Case(
            line,
            "import numpy, sklearn.base",
            lambda line=line: python(line),
            lambda: python("import numpy, sklearn.base"),
            "≤ 1.2",
        )
    run = "from unseen.cli import main; main()"
    starts = lambda: min(seconds(lambda: python(run, "--version")) for _ in range(7))  # noqa: E731
    yield Case("unseen --version", "seconds", starts, None, "≤ 0.3")


def added_rows(X, y, A) -> float:
    few = len(X) // 10

    def best(work):
        return min(seconds(work) for _ in range(arguments.repeat))

    longer = best(lambda: JEDM().fit(X, y, class_embeddings=A)) - best(
        lambda: JEDM().fit(X[:few], y[:few], class_embeddings=A)
    )
    return longer / best(lambda: sum_rows(X[few:], y[few:], 50, unit_rows=True))


def added_by_predict(model, X) -> float:
    """Microseconds of CPU that a prediction of one row takes over the product."""
    row, W = X[:1], np.asfortranarray(X[:10].T)

    def best(work):
        times = []
        time.sleep(ASLEEP)
        for _ in range(arguments.repeat):
            start = time.process_time()
            for _ in range(300):
                work()
            times.append((time.process_time() - start) / 300)
        return min(times)

    return 1e6 * (best(lambda: model.predict(row)) - best(lambda: row @ W))


def naive_jedm(X, y, A):
    """Fit as the authors' program does, on samples; check that answers agree."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from oracles import authors_jedm

    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    mean = X.mean(axis=0)
    _, axes = np.linalg.eigh((X - mean).T @ (X - mean))
    axes = axes[:, ::-1][:, :100]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(100)]
    axes = axes * np.where(largest < 0, -1, 1)
    units = A / np.linalg.norm(A, axis=1, keepdims=True)
    Y = np.eye(len(A))[y][:, :40]
    embeddings = (units - Y.sum(axis=0) @ units[:40] / len(y))[:40]
    rng = np.random.RandomState(0)
    D, V = rng.standard_normal((100, 100)), rng.standard_normal((100, A.shape[1]))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    V /= np.linalg.norm(V, axis=0, keepdims=True)
    rows = ((X - mean) @ axes).astype(np.float64).T
    D, V = authors_jedm(rows, embeddings.T, Y, D.T, V)
    ours = JEDM().fit(X, y, class_embeddings=A)
    W, theirs = ours.components_.T @ ours.compatibility_, D @ V
    apart = np.abs(W - theirs).max() / np.abs(theirs).max()
    if apart > 1e-2:  # float32 axes; a wrong formula is off by a lot more
        raise AssertionError(f"The naive JEDM and ours differ by {apart:.1e}.")


def peak(work: Callable[[], object], X: np.ndarray) -> float:
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / X.nbytes


# ---- our own method, and the search ------------------------------------------------


def flagship_cases() -> Iterator[Case]:
    """CUB with VGG features: the spectrum decides what an eigensolver costs."""
    if arguments.data is None:
        return
    data = load_data(arguments.data / "cub_vgg.npz", classes="att_312")
    X, y, pile, table = data.X_seen, data.y_seen, data.X_unseen, data.class_embeddings
    size = f"{len(X):,} × {X.shape[1]:,}"

    def gram():
        return X.T @ X

    def fit():
        return AnchoredSelfTraining().fit(X, y, class_embeddings=table)

    yield Case(f"the product itself, CUB, {size}", "X.T @ X", gram, gram, repeat=2)
    yield Case(f"AST fit, CUB, {size}", "X.T @ X", fit, gram, "≤ 3.5", repeat=4)
    ast, tstd = cache(fit), cache(lambda: TSTD().fit(X, y, class_embeddings=table))
    for name, model in (("AST adapt", ast), ("TSTD adapt, 4 × 4 steps", tstd)):
        yield Case(
            f"{name}, CUB, {len(pile):,} rows",
            "X.T @ X of these rows",
            lambda model=model: model().adapt(pile),
            lambda: pile.T @ pile,
            "≤ 0.6",
        )

    def search():
        folds, tstd = ClasswiseFolds(X, y), TSTD()
        for names, adapts in ((("alpha", "beta"), False), (("lam", "mu"), True)):
            grid = dict.fromkeys(names, PAPER_GRID)
            found = ClasswiseSearchCV(tstd, grid, transductive=adapts)
            found.fit(folds, class_embeddings=table)
            tstd.set_params(**found.best_params_)
        return found

    name = "search of the paper, CUB: 5 folds × (25 + 25)"
    yield Case(name, "X.T @ X", search, gram, "≤ 20", repeat=2)


# ---- growth ------------------------------------------------------------------------


def growth_cases() -> Iterator[Case]:
    def rows(m):
        X, y, A = made_up(m, 256)
        return lambda: JEDM().fit(X, y, class_embeddings=A)

    def features(p):
        X, y, A = made_up(6_000, p)
        return lambda: JEDM().fit(X, y, class_embeddings=A)

    def atoms(d):
        X, y, A = made_up(3_000, 256)
        return lambda: JEDM(n_components=d).fit(X, y, class_embeddings=A)

    def classes(N):
        X, y, A = made_up(6_000, 256, 40, 40 + N)
        model = AnchoredSelfTraining().fit(X, y, class_embeddings=A)
        return lambda: model.adapt(X)

    m, p, d, N = "rows", "features", "atoms", "classes"
    sizes = {m: (50_000, 100_000, 200_000), p: (512, 1_024, 2_048)}
    sizes |= {d: (50, 100, 200), N: (20, 60, 180)}
    for what, make, which in (
        (m, rows, "JEDM fit"),
        (p, features, "JEDM fit"),
        (d, atoms, "JEDM fit"),
        (N, classes, "AST adapt"),
    ):
        told = " ".join(f"{n:,}" for n in sizes[what])
        yield Case(
            f"{which}, growth with {what}: {told}",
            "exponent",
            lambda make=make, what=what: slope(make, sizes[what]),
            None,
        )


def slope(make: Callable[[int], Callable], sizes: tuple[int, ...]) -> float:
    def cpu(work):
        start = time.process_time()
        work()
        return time.process_time() - start

    times = []
    for n in sizes:
        work = make(n)
        work()
        times.append(min(cpu(work) for _ in range(3)))
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


# ---- printing ----------------------------------------------------------------------


GROUPS = {
    "dictionary": dictionary_cases,
    "wide": wide_cases,
    "few": few_and_wide_cases,
    "pile": pile_cases,
    "cub": flagship_cases,
    "start": start_cases,
    "growth": growth_cases,
}


def one_number_of_threads() -> None:
    """Measure every case; print one JSON line each."""
    for name, cases in GROUPS.items():
        for case in cases() if arguments.group in (None, name) else ():
            if arguments.only.lower() in case.name.lower():
                value, taken = measure(case)
                row = [case.name, case.unit_name, value, case.aim, taken]
                print(json.dumps(row), flush=True)


def rows_of(threads: int, console: Console) -> list[list]:
    command = [sys.executable, __file__, "--threads", str(threads)]
    command += ["--repeat", str(arguments.repeat), "--only", arguments.only]
    command += ["--group", arguments.group] if arguments.group else []
    if arguments.data:
        command += ["--data", str(arguments.data)]
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout or ():
            rows.append(json.loads(line))
            console.print(f"[dim]{threads} thread(s): {rows[-1][0]}[/dim]")
    if child.returncode:
        raise SystemExit(child.returncode)
    return rows


def main() -> int:
    if arguments.threads:
        one_number_of_threads()
        return 0
    if arguments.docs:
        last.fill_page()
        return 0
    one, two = (rows_of(n, Console(stderr=True)) for n in (1, 2))
    table = Table(title="Costs as ratios; the last before the present ones")
    texts, numbers = ("work", "unit", "aim"), ("1 thread", "2 threads", "2 cores / 1")
    for column in (*texts, *numbers):
        table.add_column(column, justify="right" if column in numbers else "left")
    before, now = last.read(), {}
    for (name, unit, first, aim, alone), (*_, second, _, both) in zip(
        one, two, strict=True
    ):
        values = first, second, both / alone if alone else None
        old = before.get(f"{name} | {unit}", [None] * 3)
        pairs = zip(old, values, strict=True)
        shown = (f"{last.told(a):>5} {last.told(b):>6}" for a, b in pairs)
        table.add_row(name, unit, aim, *shown)
        now[f"{name} | {unit}"] = [v if v is None else round(v, 3) for v in values]
    Console(width=140).print(table)
    if arguments.keep:
        last.keep(now)
    return 0


if __name__ == "__main__":
    sys.exit(main())
