"""When self-training helps: how far apart classes are, and how wrong prototypes.

python studies/separation.py separation --data ../shared/data
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from complexity import clusters

from unseen import RidgeToVisual
from unseen.core.linalg import to_unit
from unseen.data import ZeroShotData
from unseen.experiments.bench import Bench
from unseen.experiments.plan import Plan
from unseen.experiments.run import Finding, RunKey
from unseen.experiments.tasks import TASKS
from unseen.methods import METHODS
from unseen.report.figures import DRAWINGS, finish, found_in, line_style, plain
from unseen.report.page import FAINT, INK, new_figure
from unseen.trust.metrics import per_class_accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLANS = ("separation",)


def separation(bench: Bench | None, part: str, key: RunKey) -> Iterator[Finding]:
    """Score methods on clusters as wide and prototypes as wrong as is asked for.

    With a data set, measure where it lies instead.
    """
    if bench is not None:
        data = bench.data(part)
        if key.seed == 0:
            for measure, value in where_it_lies(data).items():
                yield Finding(measure, value=value)
        return
    settings = [("separation", x, 0.5) for x in (1, 1.5, 2, 3, 4, 6, 8, 12)]
    settings += [("error", 6, x) for x in (0, 0.1, 0.25, 0.5, 0.75, 0.9)]
    for what, apart, error in settings:
        data = clusters(apart=apart, error=error, seed=key.seed)
        for measure, value in where_it_lies(data).items():
            yield Finding(measure, f"{what} {apart:g} {error:g}", value=value)
        for name in COMPARED:
            model = METHODS[name].make()
            model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
            labels = model.adapt(data.X_unseen).labels_
            share = per_class_accuracy(data.y_unseen, labels)
            x = apart if what == "separation" else error
            yield Finding(what, f"{name} {x:g}", value=share)


COMPARED = ("cca-default", "cca-default-st", "eszsl-default", "eszsl-default-st",
            "jedm-authors", "tstd-authors", "ast")  # fmt: skip


def where_it_lies(data: ZeroShotData) -> dict[str, float]:
    """Measure, by the true labels, how far apart classes are and prototypes are off.

    distance  of a class from the one nearest to it: that of their means over the
              deviation of its rows along the line between them; root mean square
    off       1 - r², with r the correlation of the unseen classes' means, as a ridge
              from embeddings predicts them, with the means that they have
    """
    model = RidgeToVisual()
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    rows, truth = to_unit(np.asarray(data.X_unseen, dtype=float)), data.y_unseen
    names = np.unique(truth[truth != ""])
    groups = [rows[truth == name] for name in names]
    M = np.array([group.mean(axis=0) for group in groups])
    blur = np.array([group.var(axis=0).sum() / len(group) for group in groups])
    ratios = []
    for i, group in enumerate(groups):
        others = np.arange(len(M)) != i
        lines = (M - M[i])[others]
        squares = np.einsum("ij,ij->i", lines, lines)
        widths = ((group - M[i]) @ lines.T).var(axis=0) / squares
        # Means of few rows are further apart than those of many.
        ratios.append(((squares - blur[i] - blur[others]) / widths).min())
    P = to_unit(data.class_embeddings.loc[names].to_numpy(float))
    P = P @ model.coef_.T @ model.axes_.T
    P, M = P - P.mean(axis=0), M - M.mean(axis=0)
    r = np.vdot(P, M) / (np.linalg.norm(P) * np.linalg.norm(M))
    return {
        "distance": float(np.sqrt(max(np.mean(ratios), 0))),
        "off": float(1 - max(r, 0) ** 2),
    }


def draw_separation(plan: Plan, mine: pd.DataFrame) -> Figure | None:
    """Draw accuracy against measured separation and error, and where real sets lie."""
    made_up = mine[mine["data"] == "made-up"]
    if made_up.empty:
        return None
    figure = new_figure(8.6, 4.2, 2)
    means = made_up.groupby(["measure", "item"], sort=False)["value"].mean()
    sides = {"separation": "distance", "error": "off"}
    for axes, (what, measured) in zip(figure.axes, sides.items(), strict=True):
        settings = [item for item in means[measured].index if item.startswith(what)]
        places = [means[measured, item] for item in settings]
        shares = means[what]
        methods = dict.fromkeys(item.rsplit(" ", 1)[0] for item in shares.index)
        for number, method in enumerate(methods):
            own = [v for item, v in shares.items() if item.rsplit(" ", 1)[0] == method]
            pair = number // 2 if method != "ast" else 4
            style = line_style(pair) | {"ls": "-" if number % 2 or pair == 4 else ":"}
            style |= {"ms": 4, "lw": 1.6}
            style["mfc"] = style["color"] if number % 2 else "none"
            name = METHODS[method].label if what == "separation" else None
            axes.plot(places, 100 * np.array(own), label=name, **style)
        found = found_in(plan, mine[mine.measure == measured])
        real = sorted((one["value"].iloc[0], plain(c.head)) for c, one in found)
        words: dict[str, Any] = {"rotation": 90, "size": 7, "color": INK}
        height, side = (0.99, "top") if what == "separation" else (0.02, "bottom")
        words |= {"va": side, "transform": axes.get_xaxis_transform()}
        before = -np.inf
        for place, head in real:  # beside its line, and not on the name before
            axes.axvline(place, color=FAINT, lw=1)
            near = place - before < 0.1 * np.ptp(places)
            axes.text(place, height, head, ha="left" if near else "right", **words)
            before = place
    figure.axes[0].set_xlabel("separation: distance to the nearest class, in widths")
    figure.axes[0].set_ylabel("per-class accuracy, %")
    figure.axes[1].set(xlabel="how far prototypes are off (0 exact, 1 chance)")
    finish(figure, 4)
    return figure


TASKS["separation"] = separation
DRAWINGS["separation"] = draw_separation

if __name__ == "__main__":
    from laboratory import main

    main("separation")
