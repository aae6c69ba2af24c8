"""Draw README's picture: the demo's photos under the names they got.

    python docs/make_picture.py

For every name some of the photos that got it, evenly spaced from the most reliable to
the least, so mistakes show as often as they are made. Beside them the accuracy of every
class by the names alone and after adapting.
"""

from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from PIL import Image

from unseen.experiments.demo import DemoResult, run_demo

OUT = Path(__file__).parent / "_static" / "before_after.png"
BEFORE, AFTER, FAINT = "#b34d00", "#0064a0", "#8c8c8c"
SHOWN, SIDE = 14, 36


def main() -> None:
    """Run the demo, draw."""
    result = run_demo()
    figure, axes = plt.subplots(
        1, 2, figsize=(10.5, 5.2), width_ratios=[2.1, 1], layout="constrained"
    )
    draw_photos(axes[0], result)
    draw_classes(axes[1], result)
    figure.savefig(OUT, dpi=110)
    print(f"{OUT}: {result.before:.1%} -> {result.after:.1%}")


def draw_photos(ax: plt.Axes, result: DemoResult) -> None:
    """Draw a row per name; frames around photos that show something else."""
    labels = result.labels()
    truth = result.photos.truth
    names = result.photos.classes
    for place, name in enumerate(names):
        rows = labels.index[labels["label"] == name]
        rows = rows[np.argsort(-labels["reliability"][rows].to_numpy(), kind="stable")]
        chosen = rows[np.linspace(0, len(rows) - 1, SHOWN).round().astype(int)]
        for column, row in enumerate(chosen):
            x, y = column * SIDE, place * SIDE
            image = np.asarray(Image.open(BytesIO(result.photos.jpegs[row])))
            ax.imshow(image, extent=(x, x + 32, y + 32, y), interpolation="bilinear")
            if truth[row] != name:
                frame = Rectangle((x, y), 32, 32, fill=False, ec=BEFORE, lw=2.5)
                ax.add_patch(frame)
    ax.set_xlim(-2, SHOWN * SIDE)
    ax.set_ylim(len(names) * SIDE, -2)
    ax.set_yticks(np.arange(len(names)) * SIDE + 16, names)
    ax.set_xticks([16, (SHOWN - 1) * SIDE + 16], ["surest", "least sure"])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title("The name each photo got; framed if wrong", fontsize=11)


def draw_classes(ax: plt.Axes, result: DemoResult) -> None:
    """Draw the accuracy of every class before and after."""
    classes = result.by_class()
    places = np.arange(len(classes))
    ax.hlines(places, classes["before"], classes["after"], color=FAINT, lw=2)
    ax.plot(classes["before"], places, "D", color=BEFORE, label="names alone")
    ax.plot(classes["after"], places, "o", color=AFTER, label="adapted")
    ax.set_ylim(len(classes) - 0.5, -0.5)
    ax.set_yticks(places, classes.index)
    ax.set_xlim(0.5, 1.0)
    ax.set_xticks([0.5, 0.75, 1], ["50", "75", "100 %"])
    ax.tick_params(length=0)
    ax.grid(axis="x", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower left", frameon=False, fontsize=9)
    ax.set_title(
        f"Right: {result.before:.1%} by names, {result.after:.1%} adapted", fontsize=11
    )


if __name__ == "__main__":
    main()
