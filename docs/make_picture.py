"""Draw docs/_static/before_after.png: the same digits, labelled before and after.

    python docs/make_picture.py

Each glyph is an image of an unseen digit, placed by its features; its colour is the
label it was given. True labels choose the plane that is drawn, and nothing else.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.offsetbox import AnnotationBbox, OffsetImage

from unseen import TSTD, ZeroShotData, load_data, per_class_accuracy

OUT = Path(__file__).parent / "_static" / "before_after.png"
COLORS = {"2": "#d55e00", "4": "#0072b2", "6": "#009e73"}
CLOSEST = 0.17  # glyphs nearer than this would hide each other


def main() -> None:
    """Fit, adapt, draw."""
    data = load_data("digits").with_unseen(list(COLORS))
    model = TSTD().fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    before = model.predict(data.X_unseen)
    after = model.adapt(data.X_unseen).labels_

    places = place_rows(data)
    rows = thin_out(places)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    titles = ("Before, from descriptions alone", "After self-training")
    for ax, labels, title in zip(axes, (before, after), titles, strict=True):
        accuracy = per_class_accuracy(data.y_unseen, labels)
        ax.set_title(f"{title}: {accuracy:.0%} right", size=13)
        draw_glyphs(ax, data, places, labels, rows)
    key = [
        plt.Line2D([], [], ls="", marker="s", ms=11, color=color, label=f"labelled {n}")
        for n, color in COLORS.items()
    ]
    figure.legend(handles=key, loc="outside lower center", ncols=3, frameon=False)
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
        box = OffsetImage(glyph, zoom=2.9, interpolation="nearest")
        ax.add_artist(AnnotationBbox(box, places[row], frameon=False, pad=0))
    margin = 0.2
    ax.set_xlim(places[:, 0].min() - margin, places[:, 0].max() + margin)
    ax.set_ylim(places[:, 1].min() - margin, places[:, 1].max() + margin)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color("#cccccc")


if __name__ == "__main__":
    main()
