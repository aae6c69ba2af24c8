"""
Texts and a list of topics
==========================

Two hundred short texts of ten kinds, and ten names. No text has a label; then ten of
them get one.
"""

# %%
# By the names alone, and adapted
# -------------------------------
# Names and texts become vectors by the same word vectors. A text gets the nearest name,
# and then the names adapt to the texts. The truth is only used to score.
import matplotlib.pyplot as plt
import numpy as np

from unseen.texts import NamedTexts, load_demo_texts

demo = load_demo_texts()
model = NamedTexts().fit(demo.classes).adapt(demo.texts)
answers = {"names": model.projected_, "adapted": model.labels_}
print(model.message_)

# %%
# The least sure texts, and what else they might be.
for row in np.argsort(model.reliability_)[:5]:
    print(f"{model.labels_[row]} or {model.second_[row]}?  {demo.texts[row]}")

# %%
# A few labels
# ------------
# The first text of each class in the file gets its label: certain, and learned from.
first = {int(np.flatnonzero(demo.truth == name)[0]): name for name in demo.classes}
taught = NamedTexts().fit(demo.classes).adapt(demo.texts, given=first)
answers["ten labels"] = taught.labels_

# %%
# Texts of each class that got its label; those that were given are left out.
others = np.setdiff1d(np.arange(200), list(first))
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
places = np.arange(len(demo.classes))
for number, (label, labels) in enumerate(answers.items()):
    right = (labels == demo.truth)[others]
    shares = [right[demo.truth[others] == name].mean() for name in demo.classes]
    axes.barh(places + 0.27 * (1 - number), shares, 0.25, label=label)
    print(f"{label}: {100 * np.mean(shares):.1f} %")
axes.set_yticks(places, demo.classes)
axes.set_xlabel("share of the texts that got their label")
axes.legend()
plt.show()
