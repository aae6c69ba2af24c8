"""How good the labels are: every class counts the same, however many rows it has."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from unseen.metrics.checks import check_labels, check_pair, check_scores, check_truth

__all__ = ["confusion", "per_class_accuracy", "top_k_accuracy"]


def per_class_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean recall over the classes of ``y_true``; large classes weigh no more.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
        True and predicted classes, both names or both numbers.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from unseen.metrics import per_class_accuracy
    >>> y_true = ["zebra", "zebra", "zebra", "okapi"]
    >>> per_class_accuracy(y_true, ["zebra", "zebra", "zebra", "zebra"])
    0.5
    """
    y_true, y_pred = check_pair(y_true, y_pred)
    return _mean_per_class(y_true, y_true == y_pred)


def top_k_accuracy(
    y_true: ArrayLike,
    scores: ArrayLike | pd.DataFrame,
    *,
    k: int = 5,
    classes: ArrayLike | None = None,
) -> float:
    """Share of rows whose class is among the ``k`` best scored, averaged per class.

    Of equal scores the earlier column comes first, as with ``argmax``, so that ``k=1``
    is the per-class accuracy of the predictions.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        True classes.
    scores : array or DataFrame of shape (n_samples, n_competing)
        One column per class, larger is better. One dimension, as scikit-learn gives for
        two classes, holds the scores of the second.
    k : int, default=5
        How many of the best classes count, at most as many as compete.
    classes : array of shape (n_competing,), optional
        The class of each column, such as ``competing_classes_``. Not needed for a
        DataFrame, whose columns are the classes.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen.metrics import top_k_accuracy
    >>> scores = np.array([[0.6, 0.3, 0.1], [0.5, 0.1, 0.4]])
    >>> names = ["zebra", "okapi", "tapir"]
    >>> top_k_accuracy(["zebra", "tapir"], scores, k=1, classes=names)
    0.5
    >>> top_k_accuracy(["zebra", "tapir"], scores, k=2, classes=names)
    1.0
    """
    scores, classes = check_scores(scores, classes)
    if not isinstance(k, int | np.integer) or not 1 <= k <= len(classes):
        raise ValueError(
            f"k is {k!r}, but {len(classes)} classes compete. "
            f"Give a whole number from 1 to {len(classes)}."
        )
    y_true, columns = check_truth(y_true, scores, classes)
    own = scores[np.arange(len(scores)), columns][:, None]
    earlier = np.arange(scores.shape[1]) < columns[:, None]
    n_ahead = ((scores > own) | ((scores == own) & earlier)).sum(axis=1)
    return _mean_per_class(y_true, n_ahead < k)


def confusion(
    y_true: ArrayLike, y_pred: ArrayLike, *, classes: Sequence | ArrayLike | None = None
) -> pd.DataFrame:
    """Count how often each true class (row) was given each label (column).

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
        True and predicted classes, both names or both numbers.
    classes : array, optional
        The classes to list and their order; it must hold every label that occurs. By
        default those that occur, sorted.

    Returns
    -------
    DataFrame of int
        Rows are true classes, columns predicted ones.

    Examples
    --------
    >>> from unseen.metrics import confusion
    >>> confusion(["zebra", "okapi", "okapi"], ["zebra", "okapi", "zebra"])
    predicted  okapi  zebra
    true
    okapi          1      1
    zebra          0      1
    """
    y_true, y_pred = check_pair(y_true, y_pred)
    found = np.unique(np.concatenate([y_true, y_pred]))
    labels = found if classes is None else check_labels("classes", classes)
    if len(np.unique(labels)) < len(labels):
        raise ValueError(f"classes names one twice: {labels.tolist()}. Name each once.")
    missing = found[~np.isin(found, labels)]
    if len(missing):
        raise ValueError(
            f"The labels hold {missing.tolist()[0]!r}, which is not among classes. "
            "List every class that occurs."
        )
    names, n = pd.Index(labels), len(labels)
    cells = names.get_indexer(pd.Index(y_true)) * n + names.get_indexer(
        pd.Index(y_pred)
    )
    return pd.DataFrame(
        np.bincount(cells, minlength=n * n).reshape(n, n),
        index=pd.Index(labels, name="true"),
        columns=pd.Index(labels, name="predicted"),
    )


def _mean_per_class(y_true: np.ndarray, hits: np.ndarray) -> float:
    _, codes = np.unique(y_true, return_inverse=True)
    return float(np.mean(np.bincount(codes, weights=hits) / np.bincount(codes)))
