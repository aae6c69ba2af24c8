"""What our steps cost, in units of one matrix product on the same array.

    python benchmarks/ratios.py             one BLAS thread
    python benchmarks/ratios.py --threads 2
    python benchmarks/ratios.py --data ../shared/data

Absolute times mean little on shared machines; ratios taken in one run hold. Every
ratio is the best of several interleaved repetitions, its unit measured beside it.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--threads", type=int, default=1, help="BLAS threads")
parser.add_argument("--data", type=Path, help="folder with cub_vgg.npz, for AST")
parser.add_argument("--repeat", type=int, default=5, help="repetitions, best counts")
arguments = parser.parse_args()
for library in ("OPENBLAS", "MKL", "OMP"):  # must be set before NumPy is loaded
    os.environ[f"{library}_NUM_THREADS"] = str(arguments.threads)

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from unseen import JEDM, TSTD, AnchoredSelfTraining, load_data  # noqa: E402
from unseen.statistics import sum_rows  # noqa: E402


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(work: Callable[[], object], unit: Callable[[], object]) -> float:
    """Best time of the work over best time of its unit, taken in turns."""
    pairs = [(seconds(unit), seconds(work)) for _ in range(arguments.repeat)]
    units, works = zip(*pairs, strict=True)
    return min(works) / min(units)


def made_up(n_rows: int, n_features: int, n_seen: int, n_classes: int):
    """Rows around class means that a linear map of the embeddings gives.

    The spectrum falls like that of real features, so that eigensolvers meet the
    gaps they meet in practice.
    """
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(n_classes, 85))
    y = rng.integers(n_seen, size=n_rows)
    spread = (1 + np.arange(n_features)) ** -0.5
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32) * spread
    X += ((A @ rng.normal(size=(85, n_features))) * spread / 3)[y]
    return X.astype(np.float32), y, A


def foundation(table: Table) -> None:
    X, y, A = made_up(24_000, 1_024, 40, 50)
    pile = X[:6_000]
    W = np.asfortranarray(X[:10].T)

    def gram():
        return X.T @ X

    def fit():
        return JEDM().fit(X, y, class_embeddings=A)

    table.add_row(
        "sums, 24,000 × 1,024",
        "X.T @ X",
        f"{ratio(lambda: sum_rows(X, y, 50, unit_rows=True), gram):.2f}",
        "",
    )
    table.add_row(
        "JEDM fit, 24,000 × 1,024, 20 sweeps",
        "X.T @ X",
        f"{ratio(fit, gram):.2f}",
        "≤ 3",
    )
    model = fit()
    table.add_row(
        "JEDM predict, 24,000 × 1,024, 10 classes",
        "X @ W",
        f"{ratio(lambda: model.predict(X), lambda: X @ W):.2f}",
        "≤ 1.5",
    )
    tstd = TSTD().fit(X, y, class_embeddings=A)
    table.add_row(
        "TSTD adapt, 6,000 × 1,024, 10 classes",
        "X.T @ X of the pile",
        f"{ratio(lambda: tstd.adapt(pile), lambda: pile.T @ pile):.2f}",
        "≤ 1.5",
    )
    tenth = X[:2_400]
    growth = min(seconds(fit) for _ in range(arguments.repeat)) - min(
        seconds(lambda: JEDM().fit(tenth, y[:2_400], class_embeddings=A))
        for _ in range(arguments.repeat)
    )
    sums = min(
        seconds(lambda: sum_rows(X[2_400:], y[2_400:], 50, unit_rows=True))
        for _ in range(arguments.repeat)
    )
    table.add_row(
        "JEDM fit, what 10 × the rows add",
        "sums of the added rows",
        f"{growth / sums:.2f}",
        "≈ 1",
    )


def flagship(table: Table, folder: Path) -> None:
    """Anchored self-training on CUB with VGG features: the spectrum decides."""
    data = load_data(folder / "cub_vgg.npz", classes="att_312")
    X, pile = data.X_seen, data.X_unseen

    def fit():
        model = AnchoredSelfTraining()
        return model.fit(X, data.y_seen, class_embeddings=data.class_embeddings)

    table.add_row(
        f"AST fit, CUB VGG, {len(X):,} × {X.shape[1]:,}",
        "X.T @ X",
        f"{ratio(fit, lambda: X.T @ X):.2f}",
        "≤ 5",
    )
    model = fit()
    table.add_row(
        f"AST adapt, CUB VGG, {len(pile):,} × {X.shape[1]:,}",
        "X.T @ X of the pile",
        f"{ratio(lambda: model.adapt(pile), lambda: pile.T @ pile):.2f}",
        "≤ 1",
    )


def main() -> int:
    console = Console(width=110)
    table = Table(title=f"Costs as ratios, {arguments.threads} BLAS thread(s)")
    for column in ("work", "unit", "ratio", "aim"):
        table.add_column(column, justify="right" if column == "ratio" else "left")
    foundation(table)
    if arguments.data:
        flagship(table, arguments.data)
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
