"""Images and texts of a model like CLIP, made up; run by ``transductive.py clip``.

No seen class at all: rows, one text prototype per class, and a gap between the two
kinds, as CLIP has it. Three piles: classes of one size, half of the classes absent, and
sizes by Zipf's law.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.base import clone
from table_six import relabelling

from unseen import AnchoredSelfTraining, per_class_accuracy

SEEDS = (0, 1, 2)


def make_clip_like(
    seed: int = 0, *, n_classes: int = 20, n_features: int = 64, n_rows: int = 1000
) -> tuple[np.ndarray, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Return prototypes, and the rows and labels of three piles.

    A class has a mean; its text lies some way off it. Images and texts are moved apart
    by one vector, and every row has unit length.
    """
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_classes, n_features))
    gap = 3 * rng.normal(size=n_features)
    texts = means + 1.5 * rng.normal(size=means.shape) - gap
    zipf = 1 / np.arange(1, n_classes + 1)
    shares = {
        "equal sizes": np.full(n_classes, 1 / n_classes),
        "half absent": (np.arange(n_classes) % 2 == 0) * 2 / n_classes,
        "sizes by Zipf's law": zipf / zipf.sum(),
    }
    piles = {}
    for name, share in shares.items():
        y = np.repeat(np.arange(n_classes), np.round(share * n_rows).astype(int))
        X = means[y] + 1.8 * rng.normal(size=(len(y), n_features)) + gap
        piles[name] = X / np.linalg.norm(X, axis=1, keepdims=True), y
    texts /= np.linalg.norm(texts, axis=1, keepdims=True)
    return texts, piles


def run_clip() -> pd.DataFrame:
    """Return accuracy before and after every method on every pile, means of seeds."""
    found = []
    methods = {
        "AST": AnchoredSelfTraining(),
        **relabelling(),
    }
    for seed in SEEDS:
        texts, piles = make_clip_like(seed)
        for pile, (X, y) in piles.items():
            before = 100 * per_class_accuracy(y, (X @ texts.T).argmax(axis=1))
            found.append({"method": "cosine", "pile": pile, "after": before})
            for name, method in methods.items():
                model = clone(method).set_params(prototypes=texts).adapt(X)
                after = 100 * per_class_accuracy(y, model.labels_)
                found.append({"method": name, "pile": pile, "after": after})
    frame = pd.DataFrame(found).pivot_table(
        index="method", columns="pile", values="after", sort=False
    )
    return frame
