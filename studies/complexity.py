"""How time grows with the rows, features, atoms and unlabelled rows of TSTD.

python studies/complexity.py complexity
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unseen import TSTD
from unseen.data import ZeroShotData
from unseen.experiments.bench import Bench
from unseen.experiments.plan import Plan
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.tasks import TASKS
from unseen.models.jedm import Reading
from unseen.report.figures import DRAWINGS, finish, line_style
from unseen.report.page import INK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLANS = ("complexity",)


def complexity(bench: Bench | None, part: str, key: RunKey) -> Iterator[Finding]:
    """Time JEDM's fit and TSTD's adapt on made-up data while one size grows."""
    usual = {"m": 8000, "p": 256, "d": 100, "n": 4000}
    smallest = {"m": 4000, "p": 128, "d": 50, "n": 2000}
    for letter, least in smallest.items():
        for size in (least, 2 * least, 4 * least, 8 * least):
            of = usual | {letter: size}
            data = clusters(of["m"], of["n"], of["p"])
            few, axes = Reading(max_iter=10), min(of["p"], 100)
            model = TSTD(few, n_components=of["d"], n_axes=axes)
            labelled = {"y": data.y_seen, "class_embeddings": data.class_embeddings}
            work = {
                "fit": partial(model.fit, data.X_seen, **labelled),
                "adapt": partial(model.adapt, data.X_unseen),
                "predict": partial(model.predict, data.X_unseen),
            }
            for what, do in work.items():
                times = []
                for _ in range(3):
                    start = time.process_time()
                    do()
                    times.append(time.process_time() - start)
                yield Finding(what, letter, size, of["n"], seconds=min(times))


def clusters(
    m: int = 2400, n: int = 600, p: int = 100, apart=6.0, error=0.5, seed: int = 0
) -> ZeroShotData:
    """Return m rows of 40 seen and n of 10 unseen classes, round clusters of width 1.

    Class means are ``apart`` from each other, in root mean square; a share ``error`` of
    their squares is not what a linear map of the embeddings gives.
    """
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(50, 10))
    linear = Z @ rng.normal(size=(10, p)) / np.sqrt(10)
    M = np.sqrt(1 - error) * linear + np.sqrt(error) * rng.normal(size=(50, p))
    M *= apart / np.sqrt(2 * p)
    y = np.repeat(np.arange(50), np.repeat([m // 40, n // 10], [40, 10]))
    names = np.array([f"class {i:02d}" for i in range(50)])
    table = pd.DataFrame(Z @ rng.normal(size=(10, 85)), index=names)
    X = M[y] + rng.normal(size=(len(y), p))
    return ZeroShotData("made-up", X, names[y], table, names[40:])


def draw_complexity(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Draw time against size on logarithmic scales, with the fitted exponent."""
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    if mine.empty:
        return None
    figure = new_figure(7.4, 4.0, 2, sharey=False)
    lines = {"m": "fit", "p": "fit", "d": "fit", "n": "adapt"}
    for number, (letter, what) in enumerate(lines.items()):
        for axes, measure in zip(figure.axes, (what, "predict"), strict=True):
            own = mine[(mine.measure == measure) & (mine.item == letter)]
            if own.empty:
                continue
            own = own.sort_values("round")
            sizes, times = own[["round", "seconds"]].to_numpy(float).T
            slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
            label: Any = (
                f"{what}, {letter} from {sizes[0]:,.0f}: ∝ {letter}^{slope:.2f}"
            )
            if measure == "predict":
                label, times = None, 1000 * times / own["value"].to_numpy(float)
            axes.plot(sizes / sizes[0], times, label=label, **line_style(number))
    left, right = figure.axes
    left.set_ylabel("seconds")
    right.set_ylabel("predict, milliseconds a row")
    right.axhline(0.01, color=INK, lw=0.8, ls=":")
    right.text(1, 0.0105, "the paper: 0.01", size=8, color=INK)
    for axes in figure.axes:
        axes.set(xscale="log", yscale="log", xlabel="size, times the smallest")
        axes.set_xticks([1, 2, 4, 8])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(ScalarFormatter())
            axis.set_minor_formatter(NullFormatter())
    finish(figure, 2)
    return figure


TASKS["complexity"] = complexity
DRAWINGS["complexity"] = draw_complexity

if __name__ == "__main__":
    from laboratory import main

    main("complexity")
