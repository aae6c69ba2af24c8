"""
A first fit
===========

Seven digits have labelled images. Three have none, only a row of attributes each:
where the ink runs, how many loops. Learn from the seven, then label images of the
three, before and after self-training on those images.
"""

# %%
# The data
# --------
# A data set holds features, labels, one embedding per class, and who is unseen.
import matplotlib.pyplot as plt
import numpy as np

from unseen import TSTD, load_data, per_class_accuracy

data = load_data("digits").with_unseen(["2", "4", "6"])
print(data)

# %%
# The unseen classes are described like the seen ones:
data.class_embeddings.loc[["2", "4", "6"], "segments"]

# %%
# Fit, predict, adapt
# -------------------
# ``fit`` meets rows of seen classes only. ``predict`` then lets the unseen classes
# compete, by their embeddings alone.
model = TSTD().fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
before = model.predict(data.X_unseen)

# %%
# ``adapt`` reads the unlabelled images as a whole: it labels them, trusts the best
# scored share of each label, refits, and trusts a larger share. No true label is used.
model.adapt(data.X_unseen)
for one in model.rounds_:
    print(one)

# %%
# The true labels come out for scoring, and for nothing else.
for name, labels in {"before": before, "after": model.labels_}.items():
    print(f"{name:7}{per_class_accuracy(data.y_unseen, labels):.1%}")

# %%
# Look at the answer
# ------------------
# For each label the images from the most to the least reliable, evenly spaced.
# A wrong label is framed.
n_columns = 14
figure, axes = plt.subplots(3, n_columns, figsize=(9, 2.4), layout="constrained")
for row, name in zip(axes, model.competing_classes_, strict=True):
    images = np.flatnonzero(model.labels_ == name)
    images = images[np.argsort(-model.reliability_[images])]
    shown = images[np.linspace(0, len(images) - 1, n_columns).astype(int)]
    for ax, i in zip(row, shown, strict=True):
        ax.imshow(data.X_unseen[i].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(visible=data.y_unseen[i] != name, color="#d55e00", lw=3)
    row[0].set_ylabel(f"{name}?", rotation=0, size=16, labelpad=16, va="center")
figure.suptitle("most reliable  →  least reliable")
plt.show()

# %%
# These three digits are a kind choice. Over many choices self-training helps more
# often than it hurts, but it does hurt: see :doc:`plot_when_it_hurts`. The method here
# is the paper's; :doc:`plot_anchored` shows the default of the package.
