"""
Anchored self-training, round by round
======================================

The default method starts from prototypes that class embeddings predict, and lets
unlabelled rows correct them, only as far as the seen classes show them to be wrong.
First what the rounds do to three unseen digits, then what the anchor is worth.
"""

# %%
# What the rounds do
# ------------------
# Seven digits have labelled images; 2, 4 and 6 have none. Seven classes teach little
# about class embeddings, and the model says so before it starts.
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unseen import AnchoredSelfTraining, load_data, per_class_accuracy

data = load_data("digits").with_unseen(["2", "4", "6"])
model = AnchoredSelfTraining()
model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
before = model.predict(data.X_unseen)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.adapt(data.X_unseen)
print(caught[0].message)

# %%
# Every round tells what it did. Class means are held within a radius of their
# prototypes, so no class can run away.
for one in model.rounds_:
    print(one)
print(model.stopped_because_)

# %%
# The mean image of the rows of each label, after every round. The right-most column is
# the mean image of the true class, which no model has seen.
answers = {"inductive": before}
answers |= {f"round {i}": one.labels for i, one in enumerate(model.rounds_, 1)}
answers |= {"truth": data.y_unseen}
figure, axes = plt.subplots(
    3, len(answers), figsize=(1.15 * len(answers), 3.9), layout="constrained"
)
for column, (title, labels) in zip(axes.T, answers.items(), strict=True):
    right = per_class_accuracy(data.y_unseen, labels)
    column[0].set_title(f"{title}\n{right:.0%}" if title != "truth" else title, size=10)
    for ax, name in zip(column, data.unseen, strict=True):
        image = data.X_unseen[labels == name].mean(axis=0)
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
for ax, name in zip(axes[:, 0], data.unseen, strict=True):
    ax.set_ylabel(f"{name}?", rotation=0, size=16, labelpad=16, va="center")
plt.show()

# %%
# A kind choice of digits. ``unseen demo`` runs all 120 choices of three; self-training
# helps in 55 of them.
#
# What the anchor is worth
# ------------------------
# Made-up rows around class means that embeddings explain in part: 30 seen classes, 10
# unseen ones. The pile grows from one row per class to a hundred.


def make_rows(seed, n_rows):
    """Return seen rows with labels, a pile with its truth, and the class table."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(40, 12)))
    means = table.to_numpy() @ rng.normal(size=(12, 50)) / 3
    means = means + 0.6 * rng.normal(size=(40, 50))
    y, truth = np.repeat(np.arange(30), 40), np.repeat(np.arange(30, 40), n_rows)
    X, pile = (means[c] + 2 * rng.normal(size=(len(c), 50)) for c in (y, truth))
    return X, y, pile, truth, table


unbound = {"kappa": 0.0, "radius": None}
methods = {
    "anchored": AnchoredSelfTraining(),
    "no anchor": AnchoredSelfTraining(**unbound),
}
sizes = [1, 2, 5, 10, 20, 50, 100]
found = {name: np.zeros(len(sizes)) for name in ("inductive", *methods)}
kept = np.zeros(len(sizes))
n_seeds = 10
for seed in range(n_seeds):
    for i, size in enumerate(sizes):
        X, y, pile, truth, table = make_rows(seed, size)
        for name, method in methods.items():
            method.fit(X, y, class_embeddings=table)
            if name == "anchored":
                start = per_class_accuracy(truth, method.predict(pile))
                found["inductive"][i] += start / n_seeds
            method.adapt(pile)
            right = per_class_accuracy(truth, method.labels_)
            found[name][i] += right / n_seeds
        kept[i] += not methods["anchored"].adapted_

# %%
# Without the anchor small piles do harm, but for a single row per class. With it the
# guard keeps the inductive answer until the rows have some weight, and the mean never
# falls below the start. Large piles of these rows, round by construction, need no
# anchor. Real features do: the user guide's results have the ablation.
colors = {"inductive": "gray", "anchored": "#0072b2", "no anchor": "#d55e00"}
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, curve in found.items():
    ax.semilogx(sizes, curve, color=colors[name], lw=2.5, marker="o", label=name)
ax.set_xticks(sizes, [str(size) for size in sizes], minor=False)
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.set(xlabel="rows of each unseen class in the pile", ylabel="per-class accuracy")
ax.legend(frameon=False)
plt.show()

for name, curve in found.items():
    print(f"{name:20}", "  ".join(f"{value:.2f}" for value in curve))
print(f"{'guard kept the start':20}", "  ".join(f"{int(k):2}/{n_seeds}" for k in kept))
