"""
Photos by names alone
=====================

A thousand small photos, ten names, and not one label. This is what ``unseen label``
does, step by step.
"""

# %%
# Names become prototypes
# -----------------------
# The encoder knows a thousand classes by name. From their names to its features a map
# is learned, and the ten new names go through the same map. ``read_as_`` tells how each
# name was understood.
import io

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from unseen import per_class_accuracy
from unseen.photos import NamedPhotos
from unseen.photos.bundled import load_photos

photos = load_photos()
model = NamedPhotos(photos.image_encoder, photos.text_encoder).fit(photos.classes)
for name, how in zip(model.classes_, model.read_as_, strict=True):
    print(f"{name:12}{how}")

# %%
# Photos teach it
# ---------------
# ``adapt`` looks at all photos together. The true labels are for scoring only.
model.adapt(photos.features)
print(model.message_)
before, after = (
    per_class_accuracy(photos.truth, labels)
    for labels in (model.projected_, model.labels_)
)
print(f"by the names {before:.1%}, adapted {after:.1%}")

# %%
# The least reliable ones
# -----------------------
# Where a person's time is best spent: the photos with the lowest reliability. The
# caption is the label and the second choice; red ones are wrong.
doubtful = np.argsort(model.reliability_)[:21]
figure, axes = plt.subplots(3, 7, figsize=(9, 4.6), layout="constrained")
for ax, i in zip(axes.flat, doubtful, strict=True):
    ax.imshow(Image.open(io.BytesIO(photos.jpegs[i])))
    wrong = model.labels_[i] != photos.truth[i]
    ax.set_title(
        f"{model.labels_[i]}\nor {model.second_[i]}",
        size=7,
        color="#c23000" if wrong else "black",
    )
    ax.axis("off")
plt.show()

# %%
# To correct them in the browser: ``unseen review labels.csv``. :doc:`The guide
# </guide/review>` shows how, and what a few corrections change.
