"""What metrics may be given: labels, pairs of them, and scores with class names."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


def check_truth(
    y_true: ArrayLike, scores: np.ndarray, classes: pd.Index
) -> tuple[np.ndarray, np.ndarray]:
    """Return the true classes and the columns of scores that stand for them."""
    y_true = check_labels("y_true", y_true)
    if len(y_true) != len(scores):
        raise ValueError(
            f"y_true has {len(y_true)} labels, but scores has {len(scores)} rows. "
            "Give one row of scores per label."
        )
    columns = classes.get_indexer(pd.Index(y_true))
    if (columns < 0).any():
        raise ValueError(
            f"y_true holds {y_true[columns < 0].tolist()[0]!r}, which no column of "
            f"scores stands for. The columns stand for {classes[:5].tolist()}"
            f"{'...' if len(classes) > 5 else ''}."
        )
    return y_true, columns


def check_pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return true and predicted labels as arrays of one kind and length."""
    true, pred = check_labels("y_true", y_true), check_labels("y_pred", y_pred)
    if len(true) != len(pred):
        raise ValueError(
            f"y_true has {len(true)} labels and y_pred {len(pred)}. "
            "Give one prediction per true label."
        )
    if (true.dtype.kind == "U") != (pred.dtype.kind == "U"):
        raise TypeError(
            f"y_true holds {true.tolist()[0]!r} and y_pred {pred.tolist()[0]!r}. "
            "Give class names in both or numbers in both."
        )
    return true, pred


def check_labels(name: str, labels: ArrayLike) -> np.ndarray:
    """Return labels as one dimension of names or of numbers."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"{name} has shape {labels.shape}. Give one dimension of labels, not empty."
        )
    if pd.isna(labels).any():
        raise ValueError(f"{name} holds a missing value. Give a class for every row.")
    if labels.dtype.kind == "O":
        texts = [isinstance(label, str) for label in labels]
        if any(texts) and not all(texts):
            raise TypeError(f"{name} mixes names and numbers. Give one kind of label.")
        return np.array(labels.tolist())
    return labels


def check_scores(
    scores: ArrayLike | pd.DataFrame, classes: ArrayLike | None
) -> tuple[np.ndarray, pd.Index]:
    """Return scores as a matrix, and the class of every column."""
    if classes is None:
        if not isinstance(scores, pd.DataFrame):
            raise ValueError(
                f"scores is a {type(scores).__name__} without class names. "
                "Give classes, one per column, or a DataFrame."
            )
        classes = scores.columns
    names = pd.Index(check_labels("classes", classes))
    values = np.asarray(scores)
    if values.ndim == 1 and len(names) == 2:
        values = np.column_stack([-values, values])
    if values.ndim != 2 or values.shape[1] != len(names):
        raise ValueError(
            f"scores has shape {values.shape}, but there are {len(names)} classes. "
            "Give one column per class."
        )
    if not names.is_unique:
        again = names[names.duplicated()][0]
        raise ValueError(f"Two columns of scores stand for {again!r}. Give one each.")
    if values.dtype.kind not in "fiub" or np.isnan(values).any():
        raise ValueError("scores holds NaN or something that is no number. Mend it.")
    return values, names
