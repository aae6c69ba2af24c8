"""
Six methods on the same names
=============================

What other methods make of the same thousand photos and the same ten prototypes, without
a label.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import unseen
from unseen.photos import NamedPhotos
from unseen.photos.bundled import load_photos

photos = load_photos()
named = NamedPhotos(photos.image_encoder, photos.text_encoder).fit(photos.classes)
prototypes = pd.DataFrame(named.prototypes_, index=photos.classes)
X = photos.features.astype(np.float32)

methods = [
    unseen.CSLS,
    unseen.ZLaP,
    unseen.StatA,
    unseen.TransCLIP,
    unseen.EMDirichlet,
    unseen.GuidedMixture,
]
scores = {}
for method in methods:
    labels = method.from_prototypes(prototypes).adapt(X).labels_
    scores[method.__name__] = 100 * unseen.per_class_accuracy(photos.truth, labels)

# %%
order = sorted(scores, key=scores.get)
figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
bars = ax.barh(order, [scores[name] for name in order], color="#0064a0")
ax.bar_label(bars, fmt="%.1f", padding=3)
ax.set(xlabel="per-class accuracy, %", xlim=(0, 100))
plt.show()

# %%
# One set of photos decides nothing: :doc:`the results </guide/results>` have many.
