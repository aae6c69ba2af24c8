"""
A first fit
===========

The seen classes are the 1,000 of ImageNet, the unseen ones the ten of CIFAR-10. All are
described by word vectors of their names and by their places in WordNet. Learn from the
seen classes, label a thousand photos of the unseen ones, and teach the model on them.
"""

# %%
# Ten lines
# ---------
# ``fit`` meets rows of seen classes only: one for each, from the last layer of a neural
# network, which stands for the mean of the class. ``predict`` then takes the photos one
# by one. ``adapt`` takes them together: it labels them, learns from the most certain
# labels, then from more of them, and at last from all. No true label is used but
# for scoring. TSTD is the paper's method; AST, the default of this package, warns that
# the table explains little of how ImageNet's classes differ, and adapts all the same.
import io

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from unseen import TSTD, AnchoredSelfTraining, load_data, per_class_accuracy
from unseen.photos import NamedPhotos
from unseen.photos.bundled import load_photos

data = load_data("photos")
seen, table = (data.X_seen, data.y_seen), data.class_embeddings
model = TSTD().fit(*seen, class_embeddings=table)
before = model.predict(data.X_unseen)
answers = [before, *(step.labels for step in model.adapt(data.X_unseen).rounds_)]
curve = [f"{per_class_accuracy(data.y_unseen, labels):.1%}" for labels in answers]
print(*curve)  # 65.2% 73.7% 74.7% 75.1% 75.7%
ast = AnchoredSelfTraining().fit(*seen, class_embeddings=table).adapt(data.X_unseen)
print(f"{per_class_accuracy(data.y_unseen, ast.labels_):.1%}")  # 77.4%

# %%
# The same photos by their names alone, as ``unseen label`` takes them: it reads the
# names through the network that encoded the photos. No class table is needed, and none
# of your own would help.
photos = load_photos()
named = NamedPhotos(photos.image_encoder, photos.text_encoder).fit(photos.classes)
labels = named.adapt(photos.features).labels_
print(f"{per_class_accuracy(photos.truth, labels):.1%}")  # 85.2%

# %%
# What the data are
# -----------------
# The ten names are new to the model. The things are not quite new: ImageNet has 118
# kinds of dogs, and ships and frogs under names of their own.
print(data)

# %%
# Look at the answer
# ------------------
# For each label the photos from the most to the least reliable, evenly spaced. A wrong
# label is framed.
n_columns = 16
names = model.competing_classes_
figure, axes = plt.subplots(
    len(names), n_columns, figsize=(9, 5.8), layout="constrained"
)
for row, name in zip(axes, names, strict=True):
    rows = np.flatnonzero(model.labels_ == name)
    rows = rows[np.argsort(-model.reliability_[rows])]
    shown = rows[np.linspace(0, len(rows) - 1, n_columns).astype(int)]
    for ax, i in zip(row, shown, strict=True):
        ax.imshow(Image.open(io.BytesIO(photos.jpegs[i])))
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(visible=data.y_unseen[i] != name, color="#d55e00", lw=3)
    row[0].set_ylabel(name, rotation=0, ha="right", va="center")
figure.suptitle("most reliable  →  least reliable")
plt.show()

# %%
# Self-training gains here because the start is good. :doc:`plot_when_it_hurts` shows
# what becomes of a poor one, and :doc:`plot_anchored` what the default does about it.
