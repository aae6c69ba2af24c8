"""
Texts by topics
===============

Two hundred short texts of ten kinds, written for this package, and ten topics. No text
comes with a label.
"""

# %%
# Names alone, then adapted
# -------------------------
# Word vectors read texts and topics alike, in a few milliseconds.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unseen import per_class_accuracy
from unseen.texts import NamedTexts, load_demo_texts

demo = load_demo_texts()
print(demo.texts[0])
model = NamedTexts().fit(demo.classes)
before = model.predict(demo.texts)
model.adapt(demo.texts)
for how, labels in {"names alone": before, "adapted": model.labels_}.items():
    print(f"{how:13}{per_class_accuracy(demo.truth, labels):.1%}")

# %%
# Which topics are mixed up
# -------------------------
# Rows are true topics, columns the labels they got.
table = pd.crosstab(demo.truth, model.labels_)
figure, ax = plt.subplots(figsize=(5.6, 4.8), layout="constrained")
ax.imshow(table, cmap="Blues")
ax.set_xticks(range(len(table.columns)), table.columns, rotation=60, ha="right")
ax.set_yticks(range(len(table)), table.index)
for i, row in enumerate(table.to_numpy()):
    for j, n in enumerate(row):
        if n:
            ax.text(j, i, n, ha="center", va="center", color="w" if n > 10 else "k")
plt.show()

# %%
# Texts to look at first
# ----------------------
doubt = pd.DataFrame(
    {
        "text": demo.texts,
        "label": model.labels_,
        "reliability": model.reliability_.round(2),
    }
)
print(doubt.sort_values("reliability").head(6).to_string(index=False))

# %%
# What adapting did
# -----------------
# Texts of each topic that got its label, by names alone and after adapting.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
places = np.arange(len(demo.classes))
for number, (how, labels) in enumerate(
    {"names": before, "adapted": model.labels_}.items()
):
    shares = [np.mean(labels[demo.truth == name] == name) for name in demo.classes]
    ax.barh(places + 0.4 * (0.5 - number), shares, 0.38, label=how)
ax.set_yticks(places, demo.classes)
ax.set(xlabel="share of the texts that got their label", xlim=(0, 1))
ax.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()

# %%
# With a file of your own: ``unseen label tickets.csv --classes topics.txt``.
# :doc:`The guide </guide/texts>` has all ways to give texts and topics.
