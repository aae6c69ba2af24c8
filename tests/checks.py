"""Checks of our own that every zero-shot estimator must meet."""

from dataclasses import replace

import numpy as np

from unseen.data import ZeroShotData


def make_data(seed: int = 0, dtype=np.float64) -> ZeroShotData:
    """Twelve classes, nine seen; rows scatter around a map of the embeddings."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    names = np.array([f"class {i:02d}" for i in range(12)])
    A = rng.uniform(size=(12, 7))
    y = rng.permutation(np.repeat(np.arange(12), 14))
    X = (A @ rng.normal(size=(7, 16)))[y] + 0.5 * rng.normal(size=(len(y), 16)) + 1
    return ZeroShotData(
        name="made up",
        X=X.astype(dtype),
        y=names[y],
        class_embeddings=pd.DataFrame(A, index=names),
        unseen=names[9:],
    )


def scrambled(data: ZeroShotData) -> ZeroShotData:
    """The same data with the labels of unseen rows dealt anew."""
    y = data.y.copy()
    rows = np.isin(y, data.unseen)
    y[rows] = np.random.default_rng(7).permutation(y[rows])
    return replace(data, y=y)


def run_protocol(model, data: ZeroShotData):
    """Fit on the seen, adapt on the pile; return everything that could leak."""
    model.fit(data.X_seen, data.y_seen, class_embeddings=data.class_embeddings)
    inductive = model.predict(data.X_unseen)
    if not hasattr(model, "adapt"):
        return [inductive]
    model.adapt(data.X_unseen)
    inner = getattr(model, "best_estimator_", model)
    chosen = [str(getattr(model, "best_params_", ""))]
    return [inductive, inner.labels_, inner.reliability_, chosen]
