"""Draw docs/_static/before_after.png: the same digits, labelled before and after.

    python docs/make_picture.py

Each glyph is an image of an unseen digit, placed by its features; its colour is the
label it was given. True labels choose the plane that is drawn, and nothing else. On
the right is every choice of three unseen digits, as ``unseen demo`` runs them.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from matplotlib.ticker import PercentFormatter

from unseen import ZeroShotData, per_class_accuracy
from unseen.experiments.demo import DemoResult, SplitResult, run_demo

OUT = Path(__file__).parent / "_static" / "before_after.png"
COLORS = {"2": "#d55e00", "4": "#0072b2", "6": "#009e73"}
CLOSEST = 0.19  # glyphs nearer than this would hide each other


def main() -> None:
    """Run the demo, draw."""
    demo = run_demo()
    (shown,) = (split for split in demo.splits if split.unseen == tuple(COLORS))
    data = demo.data.with_unseen(list(COLORS))

    places = place_rows(data)
    rows = thin_out(places)
    widths = {"width_ratios": [1.2, 1.2, 1]}
    figure, axes = plt.subplots(
        1, 3, figsize=(13, 4.6), layout="constrained", gridspec_kw=widths
    )
    draw_choices(axes[2], demo, shown)
    titles = ("Before self-training", "After it")
    answers = (shown.labels_before, shown.labels)
    for ax, labels, title in zip(axes[:2], answers, titles, strict=True):
        accuracy = per_class_accuracy(data.y_unseen, labels)
        ax.set_title(f"{title}: {accuracy:.0%} right", size=13)
        draw_glyphs(ax, data, places, labels, rows)
    key = [
        plt.Line2D([], [], ls="", marker="s", ms=11, color=color, label=f"labelled {n}")
        for n, color in COLORS.items()
    ]
    figure.legend(handles=key, loc="outside lower left", ncols=3, frameon=False)
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, dpi=110, metadata={"Software": None})
    print(f"{OUT.name}: {OUT.stat().st_size / 1000:.0f} kB")


def place_rows(data: ZeroShotData) -> np.ndarray:
    """Project the unseen rows to the plane through the means of their classes."""
    X = data.X_unseen - data.X_unseen.mean(axis=0)
    means = [X[data.y_unseen == name].mean(axis=0) for name in data.unseen]
    plane = np.linalg.svd(np.array(means))[2][:2]
    return X @ plane.T


def thin_out(places: np.ndarray) -> list[int]:
    """Pick rows at random, leaving out those too close to one picked before."""
    picked: list[int] = []
    for row in np.random.default_rng(0).permutation(len(places)):
        gaps = np.linalg.norm(places[picked] - places[row], axis=1)
        if not (gaps < CLOSEST).any():
            picked.append(int(row))
    return picked


def draw_glyphs(
    ax: plt.Axes,
    data: ZeroShotData,
    places: np.ndarray,
    labels: np.ndarray,
    rows: list[int],
) -> None:
    """Draw rows as their own images, in the colour of their label."""
    for row in rows:
        glyph = np.empty((8, 8, 4))
        glyph[..., :3] = to_rgb(COLORS[labels[row]])
        glyph[..., 3] = data.X_unseen[row].reshape(8, 8)
        box = OffsetImage(glyph, zoom=2.6, interpolation="nearest")
        ax.add_artist(AnnotationBbox(box, places[row], frameon=False, pad=0))
    margin = 0.2
    ax.set_xlim(places[:, 0].min() - margin, places[:, 0].max() + margin)
    ax.set_ylim(places[:, 1].min() - margin, places[:, 1].max() + margin)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color("#cccccc")


def draw_choices(ax: plt.Axes, demo: DemoResult, shown: SplitResult) -> None:
    """Draw accuracy before and after for every choice of three unseen digits."""
    for split in demo.splits:
        color = "#0072b2" if split.gain > 0 else "#d55e00"
        ax.plot(split.before, split.after, "o", ms=5, mfc=color, mec="white", mew=0.4)
    place = shown.before, shown.after
    ax.plot(*place, "o", ms=13, mfc="none", mec="black", mew=1.5)
    arrow = {"arrowstyle": "-", "shrinkB": 7}
    ax.annotate("shown here", place, (0.06, 0.83), arrowprops=arrow)
    ax.plot([0, 1], [0, 1], color="gray", lw=1, zorder=0)
    ax.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")
    ax.set(xlabel="right before", ylabel="right after")
    percent = PercentFormatter(1, decimals=0)
    ax.xaxis.set_major_formatter(percent)
    ax.yaxis.set_major_formatter(percent)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(
        f"All {len(demo.splits)} choices of digits: {demo.before:.0%} → "
        f"{demo.after:.0%}",
        size=13,
    )


if __name__ == "__main__":
    main()
