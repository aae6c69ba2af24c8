"""
When self-training helps, and when not
======================================

Self-training believes its own labels. From a good start it becomes better; from a start
near chance it learns its own mistakes. The same photos, described worse and worse, show
both.
"""

# %%
# From rich class tables to poor ones
# -----------------------------------
# The bundled photos are described by word vectors of 256 numbers per class. Take away
# columns at random, until two are left. The richest table has the places of the classes
# in WordNet beside the word vectors. Round 0 is JEDM adapted to the photos: it meets
# their mean and the lengths of the class scores, but does not train itself yet.
import matplotlib.pyplot as plt
import numpy as np

from unseen import JEDM, TSTD, load_data, per_class_accuracy

data = load_data("photos-200")
words = data.class_embeddings["words"]
order = np.random.default_rng(0).permutation(words.shape[1])
tables = {f"{n} columns": words.iloc[:, order[:n]] for n in (2, 8, 16, 32, 64, 128)}
tables |= {"256 columns": words, "words and WordNet": data.class_embeddings}


def accuracy_by_round(table):
    """Per-class accuracy of JEDM, then after every round of TSTD."""
    jedm, tstd = (
        kind()
        .fit(data.X_seen, data.y_seen, class_embeddings=table)
        .adapt(data.X_unseen)
        for kind in (JEDM, TSTD)
    )
    answers = [jedm.labels_, *(one.labels for one in tstd.rounds_)]
    return [100 * per_class_accuracy(data.y_unseen, labels) for labels in answers]


curves = {name: accuracy_by_round(table) for name, table in tables.items()}

# %%
# Round by round
# --------------
# Rich tables start well above chance, and every round adds something. Poor ones start
# near chance, and rounds go up or down by accident. Nothing in the unlabelled rows
# tells the two apart: the poor answers settle, too.
figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
rounds = ["JEDM", *(f"rate {rate:g}" for rate in TSTD().rates)]
height = -10.0
for name, curve in sorted(curves.items(), key=lambda item: item[1][-1]):
    color = "#0072b2" if curve[-1] > curve[0] + 2 else "#d55e00"
    ax.plot(rounds, curve, color=color, marker="o", ms=4)
    height = max(curve[-1], height + 4.5)  # names must not overlap
    ax.text(4.1, height, name, color=color, va="center")
ax.axhline(10, color="gray", ls=":")
ax.text(0, 8.5, "chance", color="gray", va="top")
ax.spines[["top", "right"]].set_visible(False)
ax.set(ylim=(0, 80), ylabel="per-class accuracy, %", xlim=(-0.2, 5.6))
plt.show()

# %%
# Two ways to report it
# ---------------------
# The honest number is that of the last round: nobody with unlabelled rows can know
# which round was best. Picking the best by true labels is an oracle, and flatters.
for name, curve in curves.items():
    first, *_, last = curve
    print(f"{name:18}JEDM {first:.0f}  last {last:.0f}  oracle {max(curve):.0f}")

# %%
# What to do about a poor start: describe the classes better, or correct a few labels
# (``unseen review``), which moves the start more than any method does.
