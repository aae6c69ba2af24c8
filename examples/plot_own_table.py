"""
Seven labelled classes, three described ones
============================================

The same photos, another question: seven classes have labelled photos, three have only
words. The class table is made of word vectors of the names.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from unseen import ESZSL, AnchoredSelfTraining, per_class_accuracy
from unseen.photos.bundled import load_photos

photos = load_photos()
vectors = photos.text_encoder.encode(photos.classes)
table = pd.DataFrame(vectors, index=photos.classes)
unseen = ["cat", "horse", "truck"]
hidden = np.isin(photos.truth, unseen)
X, y = photos.features.astype(np.float32), photos.truth

# %%
# Rows of the three classes have no label as far as the models know.
scores = {}
for model in (ESZSL(), AnchoredSelfTraining()):
    model.fit(X[~hidden], y[~hidden], class_embeddings=table)
    name = type(model).__name__
    scores[name] = per_class_accuracy(y[hidden], model.predict(X[hidden]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seven classes are few, and it says so
        model.adapt(X[hidden])
    scores[f"{name}, adapted"] = per_class_accuracy(y[hidden], model.labels_)

# %%
figure, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
bars = ax.barh(list(scores), [100 * score for score in scores.values()])
ax.bar_label(bars, fmt="%.1f", padding=3)
ax.axvline(100 / 3, ls=":", color="grey")
ax.set(xlabel="per-class accuracy on three unseen classes, %; dotted: chance")
ax.set_xlim(0, 110)
ax.invert_yaxis()
plt.show()
