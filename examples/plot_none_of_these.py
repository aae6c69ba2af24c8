"""
None of these
=============

Piles are rarely clean. Here 800 photos are of eight classes that are on offer, and 200
of two that are not: they should be set apart, not get a wrong name.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from unseen.photos import NamedPhotos
from unseen.photos.bundled import load_photos

photos = load_photos()
offered = [name for name in photos.classes if name not in ("frog", "ship")]
model = NamedPhotos(photos.image_encoder, photos.text_encoder).fit(offered)
model.adapt(photos.features)
foreign = ~np.isin(photos.truth, offered)

# %%
# A reliability is the chance that a label is right *if one of the names is*. It drops
# for many foreign photos, but it was not made for them.
doubt = 1 - model.reliability_
scores = {"1 − reliability": doubt}
if hasattr(model, "novelty_"):
    scores["novelty"] = model.novelty_

figure, ax = plt.subplots(figsize=(4.4, 4), layout="constrained")
for name, score in scores.items():
    false, true, _ = roc_curve(foreign, score)
    ax.plot(false, true, label=f"{name}: {roc_auc_score(foreign, score):.2f}")
    print(f"{name}: area under the curve {roc_auc_score(foreign, score):.3f}")
ax.plot([0, 1], [0, 1], ":", color="grey")
ax.set(xlabel="own photos set apart", ylabel="foreign photos set apart")
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# On the command line: ``unseen label photos/ --classes … --unknown``.
