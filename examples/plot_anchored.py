"""
Anchored self-training, round by round
======================================

The default method starts from prototypes that class embeddings predict, and lets
unlabelled rows correct them, only as far as the seen classes show them to be wrong.
Here is what the rounds do to the bundled photos.
"""

# %%
# The seen classes are the 1,000 of ImageNet, described by word vectors of their names
# alone. These explain little of how classes look, and the model says so before it
# starts.
import warnings

import matplotlib.pyplot as plt
import numpy as np

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
# Every round tells what it did. Class means are anchored to their prototypes, so no
# class can run away.
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
# :doc:`The guide </guide/anchored>` has the formulas, and what the method decides.
