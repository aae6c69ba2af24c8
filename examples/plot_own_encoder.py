"""
An encoder of your own
======================

Any program that turns a photo into numbers will do. Here it is twenty lines of NumPy:
colours and edges of a small photo. They know nothing of names, so a few labelled photos
say where the classes are, and the unlabelled photos do the rest.
"""

# %%
# The encoder
# -----------
# How bright and how coloured each part of the photo is, and which way its edges run.
import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image

from unseen import GuidedMixture, load_data, per_class_accuracy
from unseen.photos.bundled import load_thumbnails


def encode(jpeg):
    """Return colours of 8 x 8 parts and edges of 4 x 4 parts as one row of numbers."""
    photo = Image.open(io.BytesIO(jpeg)).convert("RGB").resize((32, 32))
    pixels = np.asarray(photo, dtype=float) / 255
    colours = pixels.reshape(8, 4, 8, 4, 3).mean(axis=(1, 3))
    down, right = np.gradient(pixels.mean(axis=2))
    turn = (np.arctan2(down, right) % np.pi / np.pi * 6).astype(int).clip(0, 5)
    edges = np.hypot(down, right)[..., None] * np.eye(6)[turn]
    edges = np.sqrt(edges.reshape(4, 8, 4, 8, 6).mean(axis=(1, 3)))
    return np.concatenate([colours.ravel(), 4 * edges.ravel()])


data = load_data("photos")
thumbnails = load_thumbnails("photos")
own = np.array([encode(thumbnails[name]) for name in data.ids[data.to_label]])
rows = {"colours and edges": own, "a trained network": data.X_unseen.astype(float)}
truth = data.y_unseen

# %%
# Prototypes from a few labels
# ----------------------------
# Ten photos of each class get their label. Their mean is the prototype of the class,
# which is all that ``GuidedMixture`` needs. It then learns from the other photos.
labelled = np.concatenate([np.flatnonzero(truth == name)[:10] for name in data.unseen])
others = np.setdiff1d(np.arange(len(truth)), labelled)
found = {}
for name, X in rows.items():
    X = X - X.mean(axis=0)
    means = pd.DataFrame(X[labelled]).groupby(truth[labelled]).mean()
    distances = ((X[others, None] - means.to_numpy()) ** 2).sum(axis=2)
    nearest = means.index.to_numpy()[distances.argmin(axis=1)]
    model = GuidedMixture.from_prototypes(means).adapt(X[others])
    found[name] = [
        100 * per_class_accuracy(truth[others], labels)
        for labels in (nearest, model.labels_)
    ]
    print(name, *(f"{value:.1f}" for value in found[name]))

# %%
figure, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
places = np.arange(len(found))
for number, how in enumerate(("nearest mean", "learned from all photos")):
    values = [pair[number] for pair in found.values()]
    bars = ax.barh(places + 0.36 * number, values, 0.34, label=how)
    ax.bar_label(bars, fmt="%.1f", padding=3)
ax.axvline(10, ls=":", color="grey")
ax.set_yticks(places + 0.18, list(found))
ax.set(xlabel="per-class accuracy, %; dotted: chance", xlim=(0, 110))
ax.legend(frameon=False, loc="lower right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Handmade features do poorly, and no method mends that: choose the encoder first. How
# to plug one into ``unseen label`` is in :doc:`the guide </guide/own_encoder>`.
