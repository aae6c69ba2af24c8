"""
Anchored self-training, round by round
======================================

The default method starts from prototypes that class embeddings predict, and lets
unlabelled rows correct them, only as far as the seen classes show them to be wrong.
First what the rounds do to the bundled photos, then what the anchor is worth.
"""

# %%
# What the rounds do
# ------------------
# The seen classes are the 1,000 of ImageNet, described by word vectors of their names
# alone. These explain little of how classes look, and the model says so before it
# starts.
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unseen import AnchoredSelfTraining, load_data, per_class_accuracy

data = load_data("photos", "words")
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
# How many photos of each class are right, before, halfway, and at the end.
half = model.rounds_[len(model.rounds_) // 2]
answers = {"before": before, "halfway": half.labels, "at the end": model.labels_}
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
places = np.arange(len(data.unseen))
for number, (when, labels) in enumerate(answers.items()):
    right = (labels == data.y_unseen).astype(float)
    shares = [100 * right[data.y_unseen == name].mean() for name in data.unseen]
    ax.bar(places + 0.27 * (number - 1), shares, 0.25, label=when)
    print(f"{when:11}{per_class_accuracy(data.y_unseen, labels):.1%}")
ax.set_xticks(places, data.unseen, rotation=30)
ax.set(ylabel="right, %", ylim=(0, 118))
ax.legend(frameon=False, ncols=3, loc="upper center")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
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
